#include "qa/dataset_io.h"

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "qa/json_fields.h"
#include "qa/json_text.h"
#include "qa/raw_bytes.h"
#include "qa/utf8.h"

namespace concur::qa {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

constexpr char kJsonSpace[] = " \t\r\n";

// Reads one file.
class Reader {
 public:
  Reader(const std::string& path, const std::function<absl::Status(Passage)>& on_passage,
         const std::function<absl::Status(Header)>& on_header)
      : path_(path), on_passage_(on_passage), on_header_(on_header) {}

  absl::Status Read();

 private:
  absl::Status ReadLines(absl::string_view text);
  absl::Status ReadLine(absl::string_view line, const element& value, bool first);
  absl::Status ReadHeader(const element& value);
  absl::Status ReadMrqaQuestion(const element& value, const CodePointMap& map, Passage& passage);
  absl::Status ReadSpans(const element& detected, const CodePointMap& map, Question& question);
  absl::Status ReadSquad(const element& document);
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
  simdjson::dom::parser parser_;
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
  CONCUR_ASSIGN_OR_RETURN(const std::string bytes, ReadRawBytes(path_));
  absl::string_view text(bytes.data(), bytes.size() - kRawPadding);
  json_.place = path_;
  if (absl::StartsWith(text, "\xFF\xFE") || absl::StartsWith(text, "\xFE\xFF")) {
    return json_.Invalid("expected UTF-8, found UTF-16; convert the file");
  }
  if (absl::StartsWith(text, "\xEF\xBB\xBF")) {
    text.remove_prefix(3);
  }
  const size_t start = text.find_first_not_of(kJsonSpace);
  if (start == absl::string_view::npos) {
    return json_.Invalid("the file is empty; expected SQuAD JSON or MRQA JSON lines");
  }
  // A first line that is one whole object tells the form; SQuAD files may also be spread over
  // many lines.
  const absl::string_view first = text.substr(start, text.find('\n', start) - start);
  element document;
  simdjson::error_code code =
      parser_.parse(first.data(), first.size(), /*realloc_if_needed=*/false).get(document);
  const bool one_line = text.find_first_not_of(kJsonSpace, start + first.size()) == text.npos;
  if (code != simdjson::SUCCESS && !one_line) {
    const simdjson::error_code whole =
        parser_.parse(text.data() + start, text.size() - start, false).get(document);
    if (whole == simdjson::SUCCESS) {
      return ReadSquad(document);
    }
    // Neither. Formatted SQuAD files start with a line that holds no field.
    if (first.size() < 16 && first.find("\"context\"") == first.npos) {
      return json_.BadJson(text, whole);
    }
  }
  if (code == simdjson::SUCCESS && document.is_object()) {
    const simdjson::error_code has_data = document.at_key("data").error();
    if (has_data == simdjson::SUCCESS) {
      if (!one_line) {
        return json_.Invalid("expected nothing after the SQuAD object, found more lines");
      }
      return ReadSquad(document);
    }
  }
  return ReadLines(text);
}

absl::Status Reader::ReadLines(absl::string_view text) {
  bool first = true;
  for (int64_t number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    const absl::string_view line = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    if (line.find_first_not_of(kJsonSpace) == line.npos) {
      continue;
    }
    json_.place = absl::StrCat(path_, ":", number);
    element value;
    const simdjson::error_code code =
        parser_.parse(line.data(), line.size(), /*realloc_if_needed=*/false).get(value);
    if (code != simdjson::SUCCESS) {
      return json_.BadJson(line, code);
    }
    CONCUR_RETURN_IF_ERROR(ReadLine(line, value, first));
    first = false;
  }
  return absl::OkStatus();
}

absl::Status Reader::ReadLine(absl::string_view line, const element& value, bool first) {
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
                     Shown(line)));
  }
  Passage passage;
  CONCUR_ASSIGN_OR_RETURN(passage.context, json_.Text(context, "context"));
  if (title.has_value()) {
    CONCUR_ASSIGN_OR_RETURN(passage.title, json_.Text(title, "title"));
  }
  CONCUR_ASSIGN_OR_RETURN(const array list, json_.List(questions, "qas"));
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

absl::Status Reader::ReadSquad(const element& document) {
  std::optional<element> data;
  CONCUR_RETURN_IF_ERROR(json_.Collect(document, "file", {{"data", &data}}));
  CONCUR_ASSIGN_OR_RETURN(const array articles, json_.List(data, "data"));
  size_t article_index = 0;
  for (const element article : articles) {
    const std::string article_place = absl::StrCat(path_, ": data[", article_index++, "]");
    json_.place = article_place;
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
      json_.place = absl::StrCat(article_place, ".paragraphs[", index++, "]");
      CONCUR_RETURN_IF_ERROR(ReadParagraph(paragraph, title));
    }
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
  absl::StrAppend(&json_.place, " (id ", Shown(question.id), ")");
  CONCUR_ASSIGN_OR_RETURN(question.text, json_.Text(text, "question"));
  CONCUR_ASSIGN_OR_RETURN(const array list, json_.List(answers, "answers"));
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
