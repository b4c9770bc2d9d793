// SPDX-License-Identifier: Apache-2.0
// `concur strata`: how much of a shift follows from the new test set's mixture of examples.
#include "analysis/strata.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/suggest.h"
#include "cli/commands/commands.h"
#include "cli/output/table_output.h"
#include "command/command.h"
#include "qa/attributes.h"
#include "qa/dataset_io.h"
#include "qa/example_scores.h"

namespace concur::cli {
namespace {

struct StrataFlags {
  std::string data;
  std::string examples;
  std::string new_data;
  std::string new_examples;
  std::vector<std::string> by;
  std::string metric = "f1";
  std::string format;
  double level = 0.95;
};

using Scores = absl::flat_hash_map<std::string, double>;

absl::StatusOr<Scores> ReadScoresById(const std::string& path, const std::string& metric) {
  constexpr int64_t kExamplesBytesMax = int64_t{1} << 30;
  CONCUR_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kExamplesBytesMax));
  CONCUR_ASSIGN_OR_RETURN(const std::vector<qa::ExampleScore> examples,
                          qa::ParseExampleScores(text, path));
  Scores scores;
  for (const qa::ExampleScore& example : examples) {
    scores[example.id] = metric == "f1" ? example.f1 : example.exact_match ? 1 : 0;
  }
  return scores;
}

// `scores` null: the examples count, their scores are not known.
absl::StatusOr<std::vector<analysis::StratifiedExample>> Stratify(const qa::Dataset& dataset,
                                                                  qa::Attribute attribute,
                                                                  const Scores* scores,
                                                                  const std::string& scores_path) {
  std::vector<analysis::StratifiedExample> examples;
  for (const qa::Passage& passage : dataset.passages) {
    for (const qa::Question& question : passage.questions) {
      analysis::StratifiedExample& example = examples.emplace_back();
      example.stratum = qa::StratumOf(attribute, passage, question);
      if (scores != nullptr) {
        const auto found = scores->find(question.id);
        if (found == scores->end()) {
          return absl::InvalidArgumentError(absl::StrCat(
              scores_path, ": no score of the question \"", question.id,
              "\"; expected those of every question, as \"concur score --per-example\" writes "
              "them"));
        }
        example.score = found->second;
      }
    }
  }
  return examples;
}

absl::Status RunStrata(const StrataFlags& flags, CommandContext& context) {
  CONCUR_RETURN_IF_ERROR(CheckFormat(flags.format));
  if (flags.metric != "f1" && flags.metric != "exact_match") {
    return absl::InvalidArgumentError(
        absl::StrCat("metric: ", ExpectedOneOf({"f1", "exact_match"}, flags.metric)));
  }
  std::vector<qa::Attribute> attributes;
  for (const std::string& name : flags.by) {
    CONCUR_ASSIGN_OR_RETURN(const qa::Attribute attribute, qa::ParseAttribute(name));
    attributes.push_back(attribute);
  }
  if (attributes.empty()) {
    attributes = {qa::Attribute::kQuestionLength, qa::Attribute::kPassageLength,
                  qa::Attribute::kAnswerType, qa::Attribute::kAgreement};
  }
  CONCUR_ASSIGN_OR_RETURN(const qa::Dataset data, qa::ReadDataset(flags.data));
  CONCUR_ASSIGN_OR_RETURN(const qa::Dataset new_data, qa::ReadDataset(flags.new_data));
  CONCUR_ASSIGN_OR_RETURN(const Scores scores, ReadScoresById(flags.examples, flags.metric));
  std::optional<Scores> new_scores;
  if (!flags.new_examples.empty()) {
    CONCUR_ASSIGN_OR_RETURN(new_scores, ReadScoresById(flags.new_examples, flags.metric));
  }
  std::vector<analysis::StratifiedPrediction> predictions;
  for (const qa::Attribute attribute : attributes) {
    CONCUR_ASSIGN_OR_RETURN(const std::vector<analysis::StratifiedExample> examples,
                            Stratify(data, attribute, &scores, flags.examples));
    CONCUR_ASSIGN_OR_RETURN(
        const std::vector<analysis::StratifiedExample> new_examples,
        Stratify(new_data, attribute, new_scores ? &*new_scores : nullptr, flags.new_examples));
    CONCUR_ASSIGN_OR_RETURN(analysis::StratifiedPrediction prediction,
                            analysis::PredictByStrata(std::string(qa::AttributeName(attribute)),
                                                      examples, new_examples, flags.level));
    predictions.push_back(std::move(prediction));
  }
  return PrintTable(analysis::StrataTable(predictions, flags.level), flags.format, context);
}

}  // namespace

void AddStrataCommand(Command& app, CommandContext& context) {
  Command* command = app.AddSubcommand(
      "strata", "How much of a shift follows from the new test set's mixture of examples");
  const auto flags = std::make_shared<StrataFlags>();
  command->AddOption("--data", flags->data, "The old test set: SQuAD v1.1 JSON or MRQA lines")
      ->TypeName("FILE")
      ->Required();
  command
      ->AddOption("--examples", flags->examples,
                  "A system's per-example scores on it, as \"concur score --per-example\" writes "
                  "them")
      ->TypeName("FILE")
      ->Required();
  command->AddOption("--new-data", flags->new_data, "The new test set")
      ->TypeName("FILE")
      ->Required();
  command
      ->AddOption("--new-examples", flags->new_examples,
                  "The system's per-example scores on the new set, to compare the prediction with")
      ->TypeName("FILE");
  command
      ->AddOption("--by", flags->by,
                  "question-length, passage-length, answer-type or agreement (of annotators); may "
                  "be repeated (default: each)")
      ->TypeName("ATTRIBUTE")
      ->OneValueEach();
  command->AddOption("--metric", flags->metric, "f1 or exact_match")->ShowDefault();
  command->AddOption("--interval", flags->level, "Level of the prediction's interval")
      ->ShowDefault();
  AddFormatOption(command, flags->format);
  command->Footer(
      "Examples:\n  concur strata --data old.json --examples old.jsonl --new-data new.json");
  OnRun(command, context, [flags, &context] { return RunStrata(*flags, context); });
}

}  // namespace concur::cli
