#include "qa/dataset_io.h"

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "qa/json_fields.h"
#include "qa/json_items.h"
#include "qa/json_text.h"
#include "qa/raw_bytes.h"
#include "qa/utf8.h"

namespace concur::qa {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

// Reads one file.
class Reader {
 public:
  Reader(const std::string& path, const std::function<absl::Status(Passage)>& on_passage,
         const std::function<absl::Status(Header)>& on_header)
      : path_(path), on_passage_(on_passage), on_header_(on_header) {}

  absl::Status Read();

 private:
  absl::Status ReadLine(const element& value, bool first);
  absl::Status ReadHeader(const element& value);
  absl::Status ReadMrqaQuestion(const element& value, const CodePointMap& map, Passage& passage);
  absl::Status ReadSpans(const element& detected, const CodePointMap& map, Question& question);
  absl::Status ReadArticle(const element& article, const std::string& place);
  absl::Status ReadParagraph(const element& value, const std::string& title);
  absl::Status ReadSquadQuestion(const element& value, const CodePointMap& map, Passage& passage);
  absl::Status ReadSquadAnswer(const element& value, const CodePointMap& map,
                               const Passage& passage, Question& question);
  absl::Status TakeId(const std::optional<element>& value, absl::string_view field,
                      Question& question);

  const std::string& path_;
  const std::function<absl::Status(Passage)>& on_passage_;
  const std::function<absl::Status(Header)>& on_header_;
  JsonFields json_;
  absl::flat_hash_set<std::string> ids_;
};

absl::Status Reader::TakeId(const std::optional<element>& value, absl::string_view field,
                            Question& question) {
  CONCUR_ASSIGN_OR_RETURN(question.id, json_.Text(value, field));
  if (question.id.empty()) {
    return json_.Invalid(absl::StrCat(field, ": expected an id, got \"\""));
  }
  if (!ids_.insert(question.id).second) {
    return json_.Invalid(absl::StrCat(field, ": ", Shown(question.id),
                                      " appears twice; ids must be unique in a data set"));
  }
  return absl::OkStatus();
}

absl::Status Reader::Read() {
  CONCUR_ASSIGN_OR_RETURN(const bool squad, FirstObjectHas(path_, "data"));
  if (squad) {
    return ForEachListItem(path_, "data", [this](const element& article, const std::string& place) {
      return ReadArticle(article, place);
    });
  }
  bool first = true;
  const auto read_line = [&](const element& line, const std::string& place) {
    json_.place = place;
    absl::Status status = ReadLine(line, first);
    first = false;
    return status;
  };
  CONCUR_RETURN_IF_ERROR(ForEachJsonLine(path_, read_line, kRawBytesMax));
  if (first) {
    json_.place = path_;
    return json_.Invalid("the file is empty; expected SQuAD JSON or MRQA JSON lines");
  }
  return absl::OkStatus();
}

absl::Status Reader::ReadLine(const element& value, bool first) {
  std::optional<element> header;
  std::optional<element> title;
  std::optional<element> context;
  std::optional<element> questions;
  CONCUR_RETURN_IF_ERROR(json_.Collect(
      value, "line",
      {{"header", &header}, {"title", &title}, {"context", &context}, {"qas", &questions}}));
  if (header.has_value() && !context.has_value()) {
    if (!first) {
      return json_.Invalid("header: expected on the first line only");
    }
    return ReadHeader(*header);
  }
  if (!context.has_value() && !questions.has_value()) {
    return json_.Invalid(
        absl::StrCat("expected an MRQA passage {\"context\": …, \"qas\": […]} or a SQuAD object "
                     "{\"data\": […]}, got ",
                     Shown(simdjson::minify(value))));
  }
  Passage passage;
  CONCUR_ASSIGN_OR_RETURN(passage.context, json_.Text(context, "context"));
  if (title.has_value()) {
    CONCUR_ASSIGN_OR_RETURN(passage.title, json_.Text(title, "title"));
  }
  CONCUR_ASSIGN_OR_RETURN(const array list, json_.List(questions, "qas"));
  passage.questions.reserve(list.size());
  const CodePointMap map(passage.context);
  const std::string line_place = json_.place;
  size_t index = 0;
  for (const element question : list) {
    json_.place = absl::StrCat(line_place, ": qas[", index++, "]");
    CONCUR_RETURN_IF_ERROR(ReadMrqaQuestion(question, map, passage));
  }
  json_.place = line_place;
  return on_passage_(std::move(passage));
}

absl::Status Reader::ReadHeader(const element& value) {
  if (!value.is_object()) {
    return json_.Wrong("header", "an object", value);
  }
  Header header;
  for (const auto& [key, field] : object(value)) {
    const std::string text =
        field.is_string() ? std::string(std::string_view(field)) : simdjson::minify(field);
    if (!header.emplace(std::string(key), text).second) {
      return json_.Invalid(absl::StrCat("header: ", Shown(std::string(key)), " appears twice"));
    }
  }
  return on_header_ ? on_header_(std::move(header)) : absl::OkStatus();
}

absl::Status Reader::ReadMrqaQuestion(const element& value, const CodePointMap& map,
                                      Passage& passage) {
  std::optional<element> qid;
  std::optional<element> id;
  std::optional<element> text;
  std::optional<element> answers;
  std::optional<element> detected;
  CONCUR_RETURN_IF_ERROR(json_.Collect(value, "question",
                                       {{"qid", &qid},
                                        {"id", &id},
                                        {"question", &text},
                                        {"answers", &answers},
                                        {"detected_answers", &detected}}));
  Question question;
  CONCUR_RETURN_IF_ERROR(qid.has_value() || !id.has_value() ? TakeId(qid, "qid", question)
                                                            : TakeId(id, "id", question));
  CONCUR_ASSIGN_OR_RETURN(question.text, json_.Text(text, "question"));
  CONCUR_ASSIGN_OR_RETURN(const array list, json_.List(answers, "answers"));
  for (const element answer : list) {
    CONCUR_ASSIGN_OR_RETURN(std::string one, json_.Text(answer, "answers"));
    question.answers.push_back(std::move(one));
  }
  if (question.answers.empty()) {
    return json_.Invalid("answers: expected at least one answer, got none");
  }
  if (detected.has_value() && !detected->is_null()) {
    CONCUR_RETURN_IF_ERROR(ReadSpans(*detected, map, question));
  }
  passage.questions.push_back(std::move(question));
  return absl::OkStatus();
}

// char_spans are [first, last] in code points, both included.
absl::Status Reader::ReadSpans(const element& detected, const CodePointMap& map,
                               Question& question) {
  CONCUR_ASSIGN_OR_RETURN(const array entries, json_.List(detected, "detected_answers"));
  for (const element entry : entries) {
    std::optional<element> char_spans;
    CONCUR_RETURN_IF_ERROR(json_.Collect(entry, "detected_answers", {{"char_spans", &char_spans}}));
    CONCUR_ASSIGN_OR_RETURN(const array pairs,
                            json_.List(char_spans, "detected_answers.char_spans"));
    for (const element pair : pairs) {
      int64_t ends[2];
      size_t found = 0;
      if (pair.is_array()) {
        for (const element end : array(pair)) {
          if (found < 2 && end.get(ends[found]) != simdjson::SUCCESS) {
            found = 3;
          }
          ++found;
        }
      }
      if (found != 2 || ends[0] < 0 || ends[1] < ends[0] || ends[1] >= map.size()) {
        return json_.Invalid(
            absl::StrCat("detected_answers.char_spans: expected [first, last] within "
                         "the context's ",
                         map.size(), " characters, got ", simdjson::minify(pair)));
      }
      const Span span{map.ByteOf(ends[0]), map.ByteOf(ends[1] + 1)};
      bool known = false;
      for (const Span& other : question.spans) {
        known = known || other == span;
      }
      if (!known) {
        question.spans.push_back(span);
      }
    }
  }
  return absl::OkStatus();
}

absl::Status Reader::ReadArticle(const element& article, const std::string& place) {
  json_.place = place;
  std::optional<element> title_value;
  std::optional<element> paragraphs;
  CONCUR_RETURN_IF_ERROR(
      json_.Collect(article, "article", {{"title", &title_value}, {"paragraphs", &paragraphs}}));
  std::string title;
  if (title_value.has_value()) {
    CONCUR_ASSIGN_OR_RETURN(title, json_.Text(title_value, "title"));
  }
  CONCUR_ASSIGN_OR_RETURN(const array list, json_.List(paragraphs, "paragraphs"));
  size_t index = 0;
  for (const element paragraph : list) {
    json_.place = absl::StrCat(place, ".paragraphs[", index++, "]");
    CONCUR_RETURN_IF_ERROR(ReadParagraph(paragraph, title));
  }
  return absl::OkStatus();
}

absl::Status Reader::ReadParagraph(const element& value, const std::string& title) {
  std::optional<element> context;
  std::optional<element> questions;
  CONCUR_RETURN_IF_ERROR(
      json_.Collect(value, "paragraph", {{"context", &context}, {"qas", &questions}}));
  Passage passage;
  passage.title = title;
  CONCUR_ASSIGN_OR_RETURN(passage.context, json_.Text(context, "context"));
  CONCUR_ASSIGN_OR_RETURN(const array list, json_.List(questions, "qas"));
  passage.questions.reserve(list.size());
  const CodePointMap map(passage.context);
  const size_t place = json_.place.size();
  size_t index = 0;
  for (const element question : list) {
    json_.place.resize(place);
    absl::StrAppend(&json_.place, ".qas[", index++, "]");
    CONCUR_RETURN_IF_ERROR(ReadSquadQuestion(question, map, passage));
  }
  json_.place.resize(place);
  return on_passage_(std::move(passage));
}

absl::Status Reader::ReadSquadQuestion(const element& value, const CodePointMap& map,
                                       Passage& passage) {
  std::optional<element> id;
  std::optional<element> text;
  std::optional<element> answers;
  CONCUR_RETURN_IF_ERROR(
      json_.Collect(value, "question", {{"id", &id}, {"question", &text}, {"answers", &answers}}));
  Question question;
  CONCUR_RETURN_IF_ERROR(TakeId(id, "id", question));
  json_.id = question.id;
  const absl::Cleanup forget_id = [this] { json_.id = {}; };
  CONCUR_ASSIGN_OR_RETURN(question.text, json_.Text(text, "question"));
  CONCUR_ASSIGN_OR_RETURN(const array list, json_.List(answers, "answers"));
  question.answers.reserve(list.size());
  for (const element answer : list) {
    CONCUR_RETURN_IF_ERROR(ReadSquadAnswer(answer, map, passage, question));
  }
  if (question.answers.empty()) {
    return json_.Invalid(
        "answers: expected at least one answer, got none (unanswerable questions, as in SQuAD "
        "v2.0, are not supported)");
  }
  passage.questions.push_back(std::move(question));
  return absl::OkStatus();
}

// A place that does not hold the answer's text marks no span; the answer itself counts.
absl::Status Reader::ReadSquadAnswer(const element& value, const CodePointMap& map,
                                     const Passage& passage, Question& question) {
  std::optional<element> text;
  std::optional<element> start;
  CONCUR_RETURN_IF_ERROR(
      json_.Collect(value, "answers", {{"text", &text}, {"answer_start", &start}}));
  CONCUR_ASSIGN_OR_RETURN(std::string answer, json_.Text(text, "answers.text"));
  if (start.has_value()) {
    int64_t first = 0;
    if (start->get(first) != simdjson::SUCCESS || first < 0 || first > map.size()) {
      return json_.Wrong("answers.answer_start",
                         absl::StrCat("a place within the context's ", map.size(), " characters"),
                         *start);
    }
    const int64_t begin = map.ByteOf(first);
    const Span span{begin, begin + static_cast<int64_t>(answer.size())};
    bool useful = !answer.empty() &&
                  passage.context.compare(static_cast<size_t>(begin), answer.size(), answer) == 0;
    for (const Span& other : question.spans) {
      useful = useful && !(other == span);
    }
    if (useful) {
      question.spans.push_back(span);
    }
  }
  question.answers.push_back(std::move(answer));
  return absl::OkStatus();
}

}  // namespace

absl::Status ForEachPassage(const std::string& path,
                            const std::function<absl::Status(Passage)>& on_passage,
                            const std::function<absl::Status(Header)>& on_header) {
  return Reader(path, on_passage, on_header).Read();
}

absl::StatusOr<Dataset> ReadDataset(const std::string& path) {
  Dataset dataset;
  CONCUR_RETURN_IF_ERROR(ForEachPassage(
      path,
      [&](Passage passage) {
        dataset.passages.push_back(std::move(passage));
        return absl::OkStatus();
      },
      [&](Header header) {
        dataset.header = std::move(header);
        return absl::OkStatus();
      }));
  if (dataset.QuestionCount() == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": expected at least one question, found none"));
  }
  return dataset;
}

}  // namespace concur::qa
