// SPDX-License-Identifier: Apache-2.0
// ReCoRD (Zhang et al., 2018): cloze questions with @placeholder; answers are entities of the
// passage, with inclusive positions in code points.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "qa/importers/importer.h"
#include "qa/importers/text_spans.h"
#include "qa/json_fields.h"
#include "qa/json_items.h"
#include "qa/utf8.h"

namespace concur::qa {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;

absl::Status TakeAnswer(const element& value, const JsonFields& json, const CodePointMap& map,
                        absl::string_view context, Question& question, ImportSink& sink) {
  std::optional<element> text;
  std::optional<element> start;
  std::optional<element> end;
  CONCUR_RETURN_IF_ERROR(
      json.Collect(value, "answers", {{"text", &text}, {"start", &start}, {"end", &end}}));
  CONCUR_ASSIGN_OR_RETURN(const std::string answer, json.Text(text, "answers.text"));
  CONCUR_ASSIGN_OR_RETURN(const int64_t first, json.Integer(start, "answers.start"));
  CONCUR_ASSIGN_OR_RETURN(const int64_t last, json.Integer(end, "answers.end"));
  const bool inside = first >= 0 && last >= first && last < map.size();
  const Span span = inside ? Span{map.ByteOf(first), map.ByteOf(last + 1)} : Span{};
  if (inside && TextOf(context, span) == answer) {
    AddSpan(span, question.spans);
    AddAnswer(answer, question.answers);
  } else {
    sink.Note("an answer that is not where it says is left out", json.place);
  }
  return absl::OkStatus();
}

absl::Status TakeRecordQuestion(const element& value, const JsonFields& json,
                                const CodePointMap& map, Passage& passage, ImportSink& sink) {
  std::optional<element> id;
  std::optional<element> text;
  std::optional<element> answers;
  CONCUR_RETURN_IF_ERROR(
      json.Collect(value, "question", {{"id", &id}, {"query", &text}, {"answers", &answers}}));
  Question question;
  CONCUR_ASSIGN_OR_RETURN(question.id, json.Id(id, "id"));
  CONCUR_ASSIGN_OR_RETURN(question.text, json.Text(text, "query"));
  if (!answers.has_value()) {
    return sink.Drop("no answer is given", json.place);
  }
  CONCUR_ASSIGN_OR_RETURN(const array list, json.List(answers, "answers"));
  for (const element answer : list) {
    CONCUR_RETURN_IF_ERROR(TakeAnswer(answer, json, map, passage.context, question, sink));
  }
  if (question.spans.empty()) {
    return sink.Drop(list.size() == 0 ? "no answer is given" : "no answer is where it says",
                     json.place);
  }
  passage.questions.push_back(std::move(question));
  return absl::OkStatus();
}

absl::Status TakeRecordPassage(const element& item, const std::string& place, ImportSink& sink) {
  JsonFields json;
  json.place = place;
  std::optional<element> id;
  std::optional<element> passage_value;
  std::optional<element> questions;
  std::optional<element> text;
  CONCUR_RETURN_IF_ERROR(json.Collect(
      item, "passage", {{"id", &id}, {"passage", &passage_value}, {"qas", &questions}}));
  if (!passage_value.has_value()) {
    return json.Invalid("passage: missing; expected an object");
  }
  CONCUR_RETURN_IF_ERROR(json.Collect(*passage_value, "passage", {{"text", &text}}));
  Passage passage;
  if (id.has_value()) {
    CONCUR_ASSIGN_OR_RETURN(passage.title, json.Id(id, "id"));
  }
  CONCUR_ASSIGN_OR_RETURN(passage.context, json.Text(text, "passage.text"));
  CONCUR_ASSIGN_OR_RETURN(const array list, json.List(questions, "qas"));
  const CodePointMap map(passage.context);
  size_t index = 0;
  for (const element question : list) {
    json.place = absl::StrCat(place, ".qas[", index++, "]");
    CONCUR_RETURN_IF_ERROR(TakeRecordQuestion(question, json, map, passage, sink));
  }
  return sink.Keep(std::move(passage), place);
}

absl::Status RunRecord(const ImporterInput& input) {
  for (const std::string& file : input.files) {
    CONCUR_RETURN_IF_ERROR(
        ForEachListItem(file, "data", [&](const element& item, const std::string& place) {
          return TakeRecordPassage(item, place, input.sink);
        }));
  }
  return absl::OkStatus();
}

}  // namespace

ImporterInfo RecordImporter() {
  ImporterInfo info;
  info.name = "record";
  info.summary = "ReCoRD as released";
  info.run = RunRecord;
  return info;
}

}  // namespace concur::qa
