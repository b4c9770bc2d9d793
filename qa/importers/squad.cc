// SQuAD v1.1 JSON, and the sets that are released in its form: SquadShifts (Miller et al., 2020),
// AdversarialQA (Bartolo et al., 2020), AddSent and AddOneSent (Jia and Liang, 2017; the ids of
// altered passages are ORIGINAL-SUFFIX, see ScoreWorstOfVariants).
#include <cstddef>
#include <cstdint>
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
#include "qa/utf8.h"

namespace concur::qa {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;

class SquadImport {
 public:
  explicit SquadImport(ImportSink& sink) : sink_(sink) {}

  absl::Status TakeArticle(const element& article, const std::string& place);

 private:
  absl::Status TakeParagraph(const element& paragraph, const std::string& title);
  absl::Status TakeQuestion(const element& value, const CodePointMap& map, Passage& passage);
  // Whether the answer is where it says it is.
  absl::StatusOr<bool> TakeAnswer(const element& value, const CodePointMap& map,
                                  absl::string_view context, Question& question);

  ImportSink& sink_;
  JsonFields json_;
};

absl::Status SquadImport::TakeArticle(const element& article, const std::string& place) {
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
    CONCUR_RETURN_IF_ERROR(TakeParagraph(paragraph, title));
  }
  return absl::OkStatus();
}

absl::Status SquadImport::TakeParagraph(const element& paragraph, const std::string& title) {
  std::optional<element> context;
  std::optional<element> questions;
  CONCUR_RETURN_IF_ERROR(
      json_.Collect(paragraph, "paragraph", {{"context", &context}, {"qas", &questions}}));
  Passage passage;
  passage.title = title;
  CONCUR_ASSIGN_OR_RETURN(passage.context, json_.Text(context, "context"));
  CONCUR_ASSIGN_OR_RETURN(const array list, json_.List(questions, "qas"));
  const CodePointMap map(passage.context);
  const std::string place = json_.place;
  size_t index = 0;
  for (const element question : list) {
    json_.place = absl::StrCat(place, ".qas[", index++, "]");
    CONCUR_RETURN_IF_ERROR(TakeQuestion(question, map, passage));
  }
  json_.place = place;
  return sink_.Keep(std::move(passage), place);
}

absl::Status SquadImport::TakeQuestion(const element& value, const CodePointMap& map,
                                       Passage& passage) {
  std::optional<element> id;
  std::optional<element> text;
  std::optional<element> answers;
  CONCUR_RETURN_IF_ERROR(
      json_.Collect(value, "question", {{"id", &id}, {"question", &text}, {"answers", &answers}}));
  Question question;
  CONCUR_ASSIGN_OR_RETURN(question.id, json_.Text(id, "id"));
  CONCUR_ASSIGN_OR_RETURN(question.text, json_.Text(text, "question"));
  if (!answers.has_value()) {
    return sink_.Drop("no answer is given", json_.place);
  }
  CONCUR_ASSIGN_OR_RETURN(const array list, json_.List(answers, "answers"));
  if (list.size() == 0) {
    return sink_.Drop("no answer is given", json_.place);
  }
  for (const element answer : list) {
    CONCUR_ASSIGN_OR_RETURN(const bool held, TakeAnswer(answer, map, passage.context, question));
    if (!held) {
      sink_.Note("an answer is not where answer_start says; the text counts, the place does not",
                 json_.place);
    }
  }
  if (question.spans.empty()) {
    return sink_.Drop("no answer is where answer_start says", json_.place);
  }
  passage.questions.push_back(std::move(question));
  return absl::OkStatus();
}

absl::StatusOr<bool> SquadImport::TakeAnswer(const element& value, const CodePointMap& map,
                                             absl::string_view context, Question& question) {
  std::optional<element> text;
  std::optional<element> start;
  CONCUR_RETURN_IF_ERROR(
      json_.Collect(value, "answers", {{"text", &text}, {"answer_start", &start}}));
  CONCUR_ASSIGN_OR_RETURN(std::string answer, json_.Text(text, "answers.text"));
  CONCUR_ASSIGN_OR_RETURN(const int64_t first, json_.Integer(start, "answers.answer_start"));
  const auto size = static_cast<int64_t>(answer.size());
  bool held = first >= 0 && first <= map.size() && !answer.empty();
  if (held) {
    const int64_t begin = map.ByteOf(first);
    held = context.substr(static_cast<size_t>(begin), answer.size()) == answer;
    if (held) {
      AddSpan(Span{begin, begin + size}, question.spans);
    }
  }
  question.answers.push_back(std::move(answer));
  return held;
}

absl::Status RunSquad(const ImporterInput& input) {
  SquadImport import(input.sink);
  for (const std::string& file : input.files) {
    CONCUR_RETURN_IF_ERROR(
        ForEachListItem(file, "data", [&](const element& article, const std::string& place) {
          return import.TakeArticle(article, place);
        }));
  }
  return absl::OkStatus();
}

ImporterInfo SquadForm(std::string name, std::string summary) {
  ImporterInfo info;
  info.name = std::move(name);
  info.summary = std::move(summary);
  info.run = RunSquad;
  return info;
}

}  // namespace

std::vector<ImporterInfo> SquadImporters() {
  return {
      SquadForm("squad", "SQuAD v1.1 JSON"),
      SquadForm("squadshifts", "SquadShifts: New Wikipedia, New York Times, Reddit, Amazon"),
      SquadForm("adversarialqa", "AdversarialQA: D_BiDAF, D_BERT, D_RoBERTa"),
      SquadForm("addsent", "AddSent; score with concur score --worst-of-variants"),
      SquadForm("addonesent", "AddOneSent; score with concur score --worst-of-variants"),
  };
}

}  // namespace concur::qa
