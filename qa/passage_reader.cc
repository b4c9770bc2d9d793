// SPDX-License-Identifier: Apache-2.0
#include "qa/passage_reader.h"

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "qa/json_fields.h"
#include "qa/json_items.h"
#include "qa/json_text.h"
#include "qa/utf8.h"

namespace concur::qa {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

// So many rows at most make a passage, which is held in memory.
constexpr size_t kRowsMax = 10'000;

// The way to a form of Hugging Face's rows that is read.
constexpr absl::string_view kForms =
    " are not read; write a row a line, as Dataset.to_json does, or {\"data\": [rows]}";

// A row of Hugging Face's SQuAD: {"id", "title", "context", "question", "answers"}.
bool IsRow(const element& value) {
  return value.is_object() && value["question"].error() == simdjson::SUCCESS &&
         value["qas"].error() != simdjson::SUCCESS;
}

// Reads the items of one file.
class PassageReader {
 public:
  PassageReader(const ReadPolicy& policy, const OnPassage& on_passage)
      : policy_(policy),
        refuses_(policy.bad_records == ReadPolicy::BadRecords::kRefuse),
        on_passage_(on_passage) {}

  absl::Status ReadArticle(const element& article, const std::string& place);
  absl::Status ReadLine(const element& line, const std::string& place,
                        const std::function<absl::Status(Header)>& on_header);
  // Passes on the passage of the last rows. Call at the end.
  absl::Status EndRows();

 private:
  using ReadQuestion = absl::Status (PassageReader::*)(const element& value,
                                                       const CodePointMap& map, Passage& passage);

  absl::Status ReadParagraph(const element& value, const std::string& title);
  // A question with its context. Rows in succession with the same context are one passage.
  absl::Status ReadRow(const element& value);
  // `passage` has its title and context.
  absl::Status ReadPassage(const std::optional<element>& questions, absl::string_view separator,
                           ReadQuestion read_question, Passage passage);
  absl::Status CutContext(const std::optional<element>& tokens, std::string& context);
  absl::Status ReadHeader(const element& value,
                          const std::function<absl::Status(Header)>& on_header);
  absl::Status ReadId(const std::optional<element>& value, absl::string_view field,
                      Question& question);
  absl::Status ReadSquadQuestion(const element& value, const CodePointMap& map, Passage& passage);
  absl::Status ReadSquadAnswers(const std::optional<element>& value, const CodePointMap& map,
                                const Passage& passage, Question& question);
  absl::Status ReadSquadAnswer(const std::optional<element>& text,
                               const std::optional<element>& start, const CodePointMap& map,
                               const Passage& passage, Question& question);
  absl::Status ReadMrqaQuestion(const element& value, const CodePointMap& map, Passage& passage);
  absl::Status ReadMrqaSpans(const std::optional<element>& detected, const CodePointMap& map,
                             Question& question);

  const ReadPolicy& policy_;
  const bool refuses_;
  const OnPassage& on_passage_;
  JsonFields json_;
  bool first_line_ = true;
  int64_t uncut_size_ = 0;  // in code points, of a context that was cut; else 0
  absl::flat_hash_set<std::string> ids_;
  std::optional<Passage> rows_;
  std::string rows_place_;  // the first row's
};

absl::Status PassageReader::ReadArticle(const element& article, const std::string& place) {
  json_.place = place;
  if (IsRow(article)) {
    return ReadRow(article);
  }
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

absl::Status PassageReader::ReadParagraph(const element& value, const std::string& title) {
  std::optional<element> context;
  std::optional<element> questions;
  CONCUR_RETURN_IF_ERROR(
      json_.Collect(value, "paragraph", {{"context", &context}, {"qas", &questions}}));
  Passage passage;
  passage.title = title;
  CONCUR_ASSIGN_OR_RETURN(passage.context, json_.Text(context, "context"));
  return ReadPassage(questions, ".", &PassageReader::ReadSquadQuestion, std::move(passage));
}

absl::Status PassageReader::ReadRow(const element& value) {
  if (refuses_) {
    return json_.Invalid(
        "this is a question a row, as Hugging Face writes SQuAD; concur data import squad reads "
        "it");
  }
  std::optional<element> title;
  std::optional<element> context;
  CONCUR_RETURN_IF_ERROR(json_.Collect(value, "row", {{"title", &title}, {"context", &context}}));
  if (context.has_value() && context->is_array()) {
    return json_.Invalid(absl::StrCat("context: expected a string, got a list: columns", kForms));
  }
  Passage passage;
  if (title.has_value()) {
    CONCUR_ASSIGN_OR_RETURN(passage.title, json_.Text(title, "title"));
  }
  CONCUR_ASSIGN_OR_RETURN(passage.context, json_.Text(context, "context"));
  if (!rows_ || rows_->context != passage.context || rows_->title != passage.title ||
      rows_->questions.size() >= kRowsMax) {
    CONCUR_RETURN_IF_ERROR(EndRows());
    rows_ = std::move(passage);
    rows_place_ = json_.place;
  }
  return ReadSquadQuestion(value, CodePointMap(rows_->context), *rows_);
}

absl::Status PassageReader::EndRows() {
  std::optional<Passage> passage = std::exchange(rows_, std::nullopt);
  return passage ? on_passage_(*std::move(passage), rows_place_) : absl::OkStatus();
}

absl::Status PassageReader::ReadLine(const element& line, const std::string& place,
                                     const std::function<absl::Status(Header)>& on_header) {
  json_.place = place;
  const bool first = std::exchange(first_line_, false);
  if (IsRow(line)) {
    return ReadRow(line);
  }
  std::optional<element> header;
  std::optional<element> title;
  std::optional<element> context;
  std::optional<element> tokens;
  std::optional<element> questions;
  CONCUR_RETURN_IF_ERROR(json_.Collect(line, "line",
                                       {{"header", &header},
                                        {"title", &title},
                                        {"context", &context},
                                        {"context_tokens", &tokens},
                                        {"qas", &questions}}));
  if (header.has_value() && !context.has_value()) {
    if (!refuses_) {
      return absl::OkStatus();
    }
    return first ? ReadHeader(*header, on_header)
                 : json_.Invalid("header: expected on the first line only");
  }
  if (!context.has_value() && !questions.has_value() && refuses_) {
    return json_.Invalid(
        absl::StrCat("expected an MRQA passage {\"context\": …, \"qas\": […]} or a SQuAD object "
                     "{\"data\": […]}, got ",
                     Shown(simdjson::minify(line))));
  }
  Passage passage;
  // Imports of MRQA's raw files leave titles out, so that the digests of their output stay.
  if (title.has_value() && refuses_) {
    CONCUR_ASSIGN_OR_RETURN(passage.title, json_.Text(title, "title"));
  }
  CONCUR_ASSIGN_OR_RETURN(passage.context, json_.Text(context, "context"));
  uncut_size_ = 0;
  if (policy_.context_tokens_max > 0) {
    CONCUR_RETURN_IF_ERROR(CutContext(tokens, passage.context));
  }
  return ReadPassage(questions, ": ", &PassageReader::ReadMrqaQuestion, std::move(passage));
}

// context_tokens are [text, place] with places in code points. The context ends where the first
// token that is not kept begins, less the white space before it: so it does not matter how a
// token's text is written.
absl::Status PassageReader::CutContext(const std::optional<element>& tokens, std::string& context) {
  CONCUR_ASSIGN_OR_RETURN(const array list, json_.List(tokens, "context_tokens"));
  element token;
  if (list.at(policy_.context_tokens_max).get(token) != simdjson::SUCCESS) {
    return absl::OkStatus();  // there are no more
  }
  const CodePointMap map(context);
  array parts;
  int64_t place = 0;
  if (token.get(parts) != simdjson::SUCCESS || parts.size() != 2 ||
      parts.at(1).get(place) != simdjson::SUCCESS || place < 0 || place > map.size()) {
    return json_.Invalid(
        absl::StrCat("context_tokens[", policy_.context_tokens_max,
                     "]: expected [token, place] with a place within the context's ", map.size(),
                     " characters, got ", Shown(simdjson::minify(token))));
  }
  uncut_size_ = map.size();
  context.resize(static_cast<size_t>(map.ByteOf(place)));
  absl::StripTrailingAsciiWhitespace(&context);
  return absl::OkStatus();
}

absl::Status PassageReader::ReadPassage(const std::optional<element>& questions,
                                        absl::string_view separator, ReadQuestion read_question,
                                        Passage passage) {
  CONCUR_ASSIGN_OR_RETURN(const array list, json_.List(questions, "qas"));
  passage.questions.reserve(list.size());
  const CodePointMap map(passage.context);
  const size_t place = json_.place.size();
  size_t index = 0;
  for (const element question : list) {
    json_.place.resize(place);
    absl::StrAppend(&json_.place, separator, "qas[", index++, "]");
    CONCUR_RETURN_IF_ERROR((this->*read_question)(question, map, passage));
  }
  json_.place.resize(place);
  return on_passage_(std::move(passage), json_.place);
}

absl::Status PassageReader::ReadHeader(const element& value,
                                       const std::function<absl::Status(Header)>& on_header) {
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
  return on_header ? on_header(std::move(header)) : absl::OkStatus();
}

absl::Status PassageReader::ReadId(const std::optional<element>& value, absl::string_view field,
                                   Question& question) {
  CONCUR_ASSIGN_OR_RETURN(question.id, json_.Id(value, field));
  if (!refuses_) {
    return absl::OkStatus();
  }
  if (question.id.empty()) {
    return json_.Invalid(absl::StrCat(field, ": expected an id, got \"\""));
  }
  if (!ids_.insert(question.id).second) {
    return json_.Invalid(absl::StrCat(field, ": ", Shown(question.id),
                                      " appears twice; ids must be unique in a data set"));
  }
  return absl::OkStatus();
}

absl::Status PassageReader::ReadSquadQuestion(const element& value, const CodePointMap& map,
                                              Passage& passage) {
  std::optional<element> id;
  std::optional<element> text;
  std::optional<element> answers;
  CONCUR_RETURN_IF_ERROR(
      json_.Collect(value, "question", {{"id", &id}, {"question", &text}, {"answers", &answers}}));
  Question question;
  CONCUR_RETURN_IF_ERROR(ReadId(id, "id", question));
  json_.id = question.id;
  const absl::Cleanup forget_id = [this] { json_.id = {}; };
  CONCUR_ASSIGN_OR_RETURN(question.text, json_.Text(text, "question"));
  if (answers.has_value() || refuses_) {
    CONCUR_RETURN_IF_ERROR(ReadSquadAnswers(answers, map, passage, question));
  }
  if (question.answers.empty() && refuses_) {
    return json_.Invalid(
        "answers: expected at least one answer, got none (unanswerable questions, as in SQuAD "
        "v2.0, are not supported)");
  }
  passage.questions.push_back(std::move(question));
  return absl::OkStatus();
}

// A list of {"text", "answer_start"}, or one object with a list of each.
absl::Status PassageReader::ReadSquadAnswers(const std::optional<element>& value,
                                             const CodePointMap& map, const Passage& passage,
                                             Question& question) {
  std::optional<element> text;
  std::optional<element> start;
  if (value.has_value() && value->is_object()) {
    CONCUR_RETURN_IF_ERROR(
        json_.Collect(*value, "answers", {{"text", &text}, {"answer_start", &start}}));
    CONCUR_ASSIGN_OR_RETURN(const array texts, json_.List(text, "answers.text"));
    CONCUR_ASSIGN_OR_RETURN(const array starts, json_.List(start, "answers.answer_start"));
    if (texts.size() != starts.size()) {
      return json_.Invalid(absl::StrCat("answers: expected as many places as texts, got ",
                                        starts.size(), " and ", texts.size()));
    }
    auto place = starts.begin();
    for (const element answer : texts) {
      CONCUR_RETURN_IF_ERROR(ReadSquadAnswer(answer, *place, map, passage, question));
      ++place;
    }
    return absl::OkStatus();
  }
  CONCUR_ASSIGN_OR_RETURN(const array list, json_.List(value, "answers"));
  question.answers.reserve(list.size());
  for (const element answer : list) {
    text.reset();
    start.reset();
    CONCUR_RETURN_IF_ERROR(
        json_.Collect(answer, "answers", {{"text", &text}, {"answer_start", &start}}));
    CONCUR_RETURN_IF_ERROR(ReadSquadAnswer(text, start, map, passage, question));
  }
  return absl::OkStatus();
}

absl::Status PassageReader::ReadSquadAnswer(const std::optional<element>& text,
                                            const std::optional<element>& start,
                                            const CodePointMap& map, const Passage& passage,
                                            Question& question) {
  CONCUR_ASSIGN_OR_RETURN(std::string answer, json_.Text(text, "answers.text"));
  if (start.has_value()) {
    int64_t first = 0;
    const bool is_number = start->get(first) == simdjson::SUCCESS;
    const bool inside = is_number && first >= 0 && first <= map.size();
    if (!is_number || (!inside && refuses_)) {
      return json_.Wrong("answers.answer_start",
                         absl::StrCat("a place within the context's ", map.size(), " characters"),
                         *start);
    }
    const int64_t begin = inside ? map.ByteOf(first) : 0;
    if (inside && !answer.empty() &&
        passage.context.compare(static_cast<size_t>(begin), answer.size(), answer) == 0) {
      AddSpan({begin, begin + static_cast<int64_t>(answer.size())}, question.spans);
    } else if (!refuses_) {
      policy_.note("an answer is not where answer_start says; the text counts, the place does not",
                   json_.place);
    }
  } else if (!refuses_) {
    return json_.Invalid("answers.answer_start: missing; expected a whole number");
  }
  question.answers.push_back(std::move(answer));
  return absl::OkStatus();
}

absl::Status PassageReader::ReadMrqaQuestion(const element& value, const CodePointMap& map,
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
  CONCUR_RETURN_IF_ERROR(qid.has_value() || !id.has_value() ? ReadId(qid, "qid", question)
                                                            : ReadId(id, "id", question));
  CONCUR_ASSIGN_OR_RETURN(question.text, json_.Text(text, "question"));
  CONCUR_ASSIGN_OR_RETURN(const array list, json_.List(answers, "answers"));
  question.answers.reserve(list.size());
  for (const element answer : list) {
    CONCUR_ASSIGN_OR_RETURN(std::string one, json_.Text(answer, "answers"));
    question.answers.push_back(std::move(one));
  }
  if (question.answers.empty()) {
    if (refuses_) {
      return json_.Invalid("answers: expected at least one answer, got none");
    }
  } else if (!refuses_ || (detected.has_value() && !detected->is_null())) {
    CONCUR_RETURN_IF_ERROR(ReadMrqaSpans(detected, map, question));
  }
  passage.questions.push_back(std::move(question));
  return absl::OkStatus();
}

// char_spans are [first, last] in code points, both included.
absl::Status PassageReader::ReadMrqaSpans(const std::optional<element>& detected,
                                          const CodePointMap& map, Question& question) {
  CONCUR_ASSIGN_OR_RETURN(const array entries, json_.List(detected, "detected_answers"));
  for (const element entry : entries) {
    std::optional<element> char_spans;
    CONCUR_RETURN_IF_ERROR(json_.Collect(entry, "detected_answers", {{"char_spans", &char_spans}}));
    CONCUR_ASSIGN_OR_RETURN(const array pairs,
                            json_.List(char_spans, "detected_answers.char_spans"));
    for (const element pair : pairs) {
      array ends;
      int64_t first = 0;
      int64_t last = 0;
      const bool is_pair = pair.get(ends) == simdjson::SUCCESS && ends.size() == 2 &&
                           ends.at(0).get(first) == simdjson::SUCCESS &&
                           ends.at(1).get(last) == simdjson::SUCCESS;
      const bool inside = is_pair && first >= 0 && last >= first && last < map.size();
      if (!is_pair || (!inside && refuses_)) {
        return json_.Invalid(
            absl::StrCat("detected_answers.char_spans: expected [first, last] within "
                         "the context's ",
                         map.size(), " characters, got ", simdjson::minify(pair)));
      }
      if (inside) {
        AddSpan({map.ByteOf(first), map.ByteOf(last + 1)}, question.spans);
      } else {
        const bool was_cut_off = first >= 0 && last >= first && last < uncut_size_;
        policy_.note(was_cut_off ? kSpanOutsideCut : kSpanWithoutAnswer, json_.place);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ReadSquad(const std::string& path, const ReadPolicy& policy,
                       const OnPassage& on_passage) {
  CONCUR_ASSIGN_OR_RETURN(const bool is_document, FirstObjectHas(path, "data"));
  if (!is_document) {
    CONCUR_ASSIGN_OR_RETURN(const bool is_row, FirstObjectHas(path, "context"));
    if (is_row) {
      return ReadMrqa(path, policy, on_passage);
    }
  }
  PassageReader reader(policy, on_passage);
  const absl::Status status =
      ForEachListItem(path, "data", [&](const element& article, const std::string& place) {
        return reader.ReadArticle(article, place);
      });
  if (!is_document && absl::EndsWith(status.message(), "the list \"data\"") &&
      policy.bad_records != ReadPolicy::BadRecords::kRefuse) {
    return absl::InvalidArgumentError(absl::StrCat(status.message(), ": other forms", kForms));
  }
  CONCUR_RETURN_IF_ERROR(status);
  return reader.EndRows();
}

absl::Status ReadMrqa(const std::string& path, const ReadPolicy& policy,
                      const OnPassage& on_passage,
                      const std::function<absl::Status(Header)>& on_header) {
  PassageReader reader(policy, on_passage);
  CONCUR_RETURN_IF_ERROR(ForEachJsonLine(
      path,
      [&](const element& line, const std::string& place) {
        return reader.ReadLine(line, place, on_header);
      },
      policy.line_bytes_max));
  return reader.EndRows();
}

}  // namespace concur::qa
