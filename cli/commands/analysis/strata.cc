// SPDX-License-Identifier: Apache-2.0
// `concur strata`: how much of a shift follows from the new test set's mixture of examples.
#include "analysis/comparison/strata.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "analysis/example_runs.h"
#include "base/command/command.h"
#include "base/csv.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/suggest.h"
#include "cli/commands/commands.h"
#include "cli/commands/score_options.h"
#include "cli/output/table_output.h"
#include "qa/attributes.h"
#include "qa/dataset_io.h"
#include "qa/example_intervals.h"
#include "qa/example_scores.h"
#include "report/comparison_tables.h"

namespace concur::cli {
namespace {

struct StrataFlags {
  std::string data;
  std::string examples;
  std::string new_data;
  std::string new_examples;
  std::vector<std::string> by;
  std::string labels;
  std::string new_labels;
  std::string metric = "f1";
  std::string cluster;
  std::string format;
  double level = 0.95;
};

using Scores = absl::flat_hash_map<std::string, qa::ExampleScore>;

absl::StatusOr<Scores> ReadScoresById(const std::string& path, const std::string& metric) {
  constexpr int64_t kExamplesBytesMax = int64_t{1} << 30;
  CONCUR_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kExamplesBytesMax));
  CONCUR_ASSIGN_OR_RETURN(const std::vector<qa::ExampleScore> examples,
                          qa::ParseExampleScores(text, path));
  Scores scores;
  for (const qa::ExampleScore& example : examples) {
    qa::ExampleScore& score = scores[example.id] = example;
    score.value = metric == "f1" ? example.f1 : example.exact_match ? 1 : 0;
  }
  return scores;
}

// Division of the examples of a data set: by an attribute of the text, or by a column of labels.
using StratumFunction =
    std::function<std::string(const qa::Passage& passage, const qa::Question& question)>;

// `scores` null: the examples count, their scores are not known.
absl::StatusOr<std::vector<analysis::StratifiedExample>> Stratify(const qa::Dataset& dataset,
                                                                  const StratumFunction& stratum,
                                                                  const Scores* scores,
                                                                  const std::string& scores_path) {
  std::vector<analysis::StratifiedExample> examples;
  for (const qa::Passage& passage : dataset.passages) {
    for (const qa::Question& question : passage.questions) {
      analysis::StratifiedExample& example = examples.emplace_back();
      example.stratum = stratum(passage, question);
      if (scores != nullptr) {
        const auto found = scores->find(question.id);
        if (found == scores->end()) {
          return absl::InvalidArgumentError(absl::StrCat(
              scores_path, ": no score of the question \"", question.id,
              "\"; expected those of every question, as \"concur data score --per-example\" writes "
              "them"));
        }
        example.score = found->second.value;
      }
    }
  }
  return examples;
}

// The old questions in the clusters that their scores tell, in the order of Stratify, which has
// found a score of each.
analysis::ExampleClusters ClustersOfQuestions(const qa::Dataset& dataset, const Scores& scores,
                                              std::optional<analysis::ExampleUnit> unit) {
  std::vector<qa::ExampleScore> examples;
  for (const qa::Passage& passage : dataset.passages) {
    for (const qa::Question& question : passage.questions) {
      examples.push_back(scores.at(question.id));
    }
  }
  return analysis::ClustersOf(PlacesOf(examples), examples.size(), unit);
}

// A CSV of labels: the id of a question, then a column for each way to divide the examples.
struct LabelFile {
  std::vector<std::string> columns;
  std::vector<absl::flat_hash_map<std::string, std::string>> by_id;  // [column]

  // The stratum by a column; "(no label)" for questions that the file does not name.
  StratumFunction By(size_t column) const {
    return [labels = &by_id[column]](const qa::Passage& /*passage*/, const qa::Question& question) {
      const auto found = labels->find(question.id);
      return found == labels->end() || found->second.empty() ? "(no label)" : found->second;
    };
  }
};

absl::StatusOr<LabelFile> ReadLabels(const std::string& path) {
  constexpr int64_t kLabelsBytesMax = int64_t{1} << 28;
  CONCUR_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kLabelsBytesMax));
  CONCUR_ASSIGN_OR_RETURN(const std::vector<CsvRecord> records, ParseCsv(text, path));
  if (records.empty() || records[0].fields.size() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ":1: expected a header with two columns or more: id,LABEL[,LABEL…]"));
  }
  LabelFile labels;
  labels.columns.assign(records[0].fields.begin() + 1, records[0].fields.end());
  labels.by_id.resize(labels.columns.size());
  for (size_t i = 1; i < records.size(); ++i) {
    const std::vector<std::string>& fields = records[i].fields;
    if (fields.size() != records[0].fields.size()) {
      return absl::InvalidArgumentError(absl::StrCat(path, ":", records[i].line, ": expected ",
                                                     records[0].fields.size(), " fields, got ",
                                                     fields.size()));
    }
    for (size_t column = 0; column < labels.columns.size(); ++column) {
      if (!labels.by_id[column].emplace(fields[0], fields[column + 1]).second) {
        return absl::InvalidArgumentError(absl::StrCat(path, ":", records[i].line,
                                                       ": expected each question once, got \"",
                                                       fields[0], "\" again"));
      }
    }
  }
  return labels;
}

// A way to divide both test sets.
struct Division {
  std::string name;
  StratumFunction of_old;
  StratumFunction of_new;
};

// By the labels of both sets, which have the same columns, and by the attributes that are asked
// for; by all attributes without either. `labels` and `new_labels` outlive the result.
absl::StatusOr<std::vector<Division>> DivisionsOf(const StrataFlags& flags, const LabelFile& labels,
                                                  const LabelFile& new_labels) {
  std::vector<Division> divisions;
  for (size_t column = 0; column < labels.columns.size(); ++column) {
    const auto same =
        std::find(new_labels.columns.begin(), new_labels.columns.end(), labels.columns[column]);
    if (same == new_labels.columns.end()) {
      return absl::InvalidArgumentError(absl::StrCat(flags.new_labels,
                                                     ":1: expected the columns of ", flags.labels,
                                                     ", got no \"", labels.columns[column], "\""));
    }
    divisions.push_back({labels.columns[column], labels.By(column),
                         new_labels.By(static_cast<size_t>(same - new_labels.columns.begin()))});
  }
  std::vector<qa::Attribute> attributes;
  for (const std::string& name : flags.by) {
    CONCUR_ASSIGN_OR_RETURN(const qa::Attribute attribute, qa::ParseAttribute(name));
    attributes.push_back(attribute);
  }
  if (attributes.empty() && divisions.empty()) {
    attributes = qa::AllAttributes();
  }
  for (const qa::Attribute attribute : attributes) {
    const auto stratum = [attribute](const qa::Passage& passage, const qa::Question& question) {
      return qa::StratumOf(attribute, passage, question);
    };
    divisions.push_back({std::string(qa::AttributeName(attribute)), stratum, stratum});
  }
  return divisions;
}

absl::Status RunStrata(const StrataFlags& flags, CommandContext& context) {
  CONCUR_RETURN_IF_ERROR(CheckFormat(flags.format));
  if (flags.metric != "f1" && flags.metric != "exact_match") {
    return absl::InvalidArgumentError(
        absl::StrCat("metric: ", ExpectedOneOf({"f1", "exact_match"}, flags.metric)));
  }
  if (flags.labels.empty() != flags.new_labels.empty()) {
    return absl::InvalidArgumentError("--labels and --new-labels: expected both, or neither");
  }
  LabelFile labels;
  LabelFile new_labels;
  if (!flags.labels.empty()) {
    CONCUR_ASSIGN_OR_RETURN(labels, ReadLabels(flags.labels));
    CONCUR_ASSIGN_OR_RETURN(new_labels, ReadLabels(flags.new_labels));
  }
  CONCUR_ASSIGN_OR_RETURN(const std::vector<Division> divisions,
                          DivisionsOf(flags, labels, new_labels));
  CONCUR_ASSIGN_OR_RETURN(const qa::Dataset data, qa::ReadDataset(flags.data));
  CONCUR_ASSIGN_OR_RETURN(const qa::Dataset new_data, qa::ReadDataset(flags.new_data));
  CONCUR_ASSIGN_OR_RETURN(const Scores scores, ReadScoresById(flags.examples, flags.metric));
  std::optional<Scores> new_scores;
  if (!flags.new_examples.empty()) {
    CONCUR_ASSIGN_OR_RETURN(new_scores, ReadScoresById(flags.new_examples, flags.metric));
  }
  CONCUR_ASSIGN_OR_RETURN(const std::optional<analysis::ExampleUnit> unit, UnitOf(flags.cluster));
  std::vector<analysis::StratifiedPrediction> predictions;
  for (const Division& division : divisions) {
    CONCUR_ASSIGN_OR_RETURN(const std::vector<analysis::StratifiedExample> examples,
                            Stratify(data, division.of_old, &scores, flags.examples));
    CONCUR_ASSIGN_OR_RETURN(const std::vector<analysis::StratifiedExample> new_examples,
                            Stratify(new_data, division.of_new, new_scores ? &*new_scores : nullptr,
                                     flags.new_examples));
    CONCUR_ASSIGN_OR_RETURN(
        analysis::StratifiedPrediction prediction,
        analysis::PredictByStrata(division.name, examples, new_examples,
                                  ClustersOfQuestions(data, scores, unit), flags.level));
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
      ->AddOption(
          "--examples", flags->examples,
          "A system's per-example scores on it, as \"concur data score --per-example\" writes "
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
                  "question-length, passage-length, answer-type, answer-form, question-word, "
                  "overlap (of question and passage) or agreement (of annotators); may be repeated "
                  "(default: each, without labels)")
      ->TypeName("ATTRIBUTE")
      ->OneValueEach();
  command
      ->AddOption("--labels", flags->labels,
                  "A CSV of your labels of the old test set: id,LABEL[,LABEL...], each column "
                  "divides the examples")
      ->TypeName("FILE");
  command->AddOption("--new-labels", flags->new_labels, "The same of the new test set")
      ->TypeName("FILE");
  command->AddOption("--metric", flags->metric, "f1 or exact_match")->ShowDefault();
  command->AddOption("--interval", flags->level, "Level of the prediction's interval")
      ->ShowDefault();
  AddClusterOption(command, flags->cluster);
  AddFormatOption(command, flags->format, context);
  command->Footer(
      "Examples:\n  concur strata --data old.json --examples old.jsonl --new-data new.json");
  OnRun(command, context, [flags, &context] { return RunStrata(*flags, context); });
}

}  // namespace concur::cli
