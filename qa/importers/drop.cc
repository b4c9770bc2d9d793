// SPDX-License-Identifier: Apache-2.0
// DROP (Dua et al., 2019) as released: {"PASSAGE_ID": {"passage": …, "qa_pairs": […]}}. Questions
// whose answer is a single span of the passage are kept.
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "qa/importers/importer.h"
#include "qa/importers/text_spans.h"
#include "qa/json_fields.h"
#include "qa/json_items.h"

namespace concur::qa {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

struct DropAnswer {
  absl::string_view reason;  // why it is no single span; "" when it is
  std::string span;
};

absl::StatusOr<DropAnswer> ReadAnswer(const std::optional<element>& value, const JsonFields& json) {
  if (!value.has_value()) {
    return DropAnswer{"no answer is given", ""};
  }
  std::optional<element> number;
  std::optional<element> spans;
  CONCUR_RETURN_IF_ERROR(json.Collect(*value, "answer", {{"number", &number}, {"spans", &spans}}));
  if (number.has_value() && number->is_string() && !std::string_view(*number).empty()) {
    return DropAnswer{"the answer is a number", ""};
  }
  if (!spans.has_value()) {
    return DropAnswer{"the answer is a date", ""};
  }
  CONCUR_ASSIGN_OR_RETURN(const array list, json.List(spans, "answer.spans"));
  if (list.size() != 1) {
    return DropAnswer{list.size() == 0 ? "the answer is a date" : "the answer is several spans",
                      ""};
  }
  CONCUR_ASSIGN_OR_RETURN(std::string span, json.Text(list.at(0).value(), "answer.spans"));
  return DropAnswer{"", std::move(span)};
}

absl::Status TakeDropQuestion(const element& value, const JsonFields& json, Passage& passage,
                              ImportSink& sink) {
  std::optional<element> id;
  std::optional<element> text;
  std::optional<element> answer_value;
  std::optional<element> validated;
  CONCUR_RETURN_IF_ERROR(json.Collect(value, "question",
                                      {{"query_id", &id},
                                       {"question", &text},
                                       {"answer", &answer_value},
                                       {"validated_answers", &validated}}));
  Question question;
  CONCUR_ASSIGN_OR_RETURN(question.id, json.Id(id, "query_id"));
  CONCUR_ASSIGN_OR_RETURN(question.text, json.Text(text, "question"));
  CONCUR_ASSIGN_OR_RETURN(const DropAnswer answer, ReadAnswer(answer_value, json));
  if (!answer.reason.empty()) {
    return sink.Drop(answer.reason, json.place);
  }
  question.spans = FindAllWords(passage.context, answer.span);
  if (question.spans.empty()) {
    return sink.Drop("the answer is not in the passage", json.place);
  }
  question.answers.push_back(answer.span);
  if (validated.has_value()) {
    CONCUR_ASSIGN_OR_RETURN(const array others, json.List(validated, "validated_answers"));
    for (const element other_value : others) {
      CONCUR_ASSIGN_OR_RETURN(const DropAnswer other, ReadAnswer(other_value, json));
      const std::vector<Span> spans = FindAllWords(passage.context, other.span);
      if (!spans.empty()) {
        AddAnswer(other.span, question.answers);
      }
      for (const Span& span : spans) {
        AddSpan(span, question.spans);
      }
    }
  }
  passage.questions.push_back(std::move(question));
  return absl::OkStatus();
}

absl::Status TakeDropPassage(const element& member, const std::string& place, ImportSink& sink) {
  const auto entry = *object(member).begin();
  JsonFields json;
  Passage passage;
  passage.title = std::string(entry.key);
  json.place = absl::StrCat(place, ": ", passage.title.substr(0, 100));
  std::optional<element> text;
  std::optional<element> questions;
  CONCUR_RETURN_IF_ERROR(
      json.Collect(entry.value, "passage", {{"passage", &text}, {"qa_pairs", &questions}}));
  CONCUR_ASSIGN_OR_RETURN(passage.context, json.Text(text, "passage"));
  CONCUR_ASSIGN_OR_RETURN(const array list, json.List(questions, "qa_pairs"));
  const std::string passage_place = json.place;
  size_t index = 0;
  for (const element question : list) {
    json.place = absl::StrCat(passage_place, ".qa_pairs[", index++, "]");
    CONCUR_RETURN_IF_ERROR(TakeDropQuestion(question, json, passage, sink));
  }
  return sink.Keep(std::move(passage), passage_place);
}

absl::Status RunDrop(const ImporterInput& input) {
  for (const std::string& file : input.files) {
    CONCUR_RETURN_IF_ERROR(
        ForEachMember(file, [&](const element& member, const std::string& place) {
          return TakeDropPassage(member, place, input.sink);
        }));
  }
  return absl::OkStatus();
}

}  // namespace

ImporterInfo DropImporter() {
  ImporterInfo info;
  info.name = "drop-raw";
  info.summary = "DROP as released; questions with one span of the passage as answer";
  info.run = RunDrop;
  return info;
}

}  // namespace concur::qa
