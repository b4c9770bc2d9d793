// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/command/command.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/output_file.h"
#include "base/status_macros.h"
#include "cli/commands/commands.h"
#include "cli/commands/data/adapt_results.h"
#include "cli/data/adapters.h"
#include "cli/data/input_option.h"
#include "cli/output/print.h"
#include "qa/dataset_io.h"
#include "qa/example.h"
#include "qa/json_text.h"

namespace concur::cli {
namespace {

constexpr int64_t kInputBytesMax = int64_t{1} << 30;

struct AdaptOptions {
  std::string in;
  std::string out;
  std::string data;
  bool allow_missing = false;
  bool drop_unknown = false;
  std::string id_field = "id";
  std::string answer_field = "best_span_str";
  MetricsSelection selection;
  HarnessSelection harness;
  std::string examples;  // file to write
  std::string samples;
};

// The ids of a data set's questions, in their order; empty without a data set.
absl::StatusOr<std::vector<std::string>> QuestionIds(const std::string& path) {
  std::vector<std::string> ids;
  if (path.empty()) {
    return ids;
  }
  CONCUR_RETURN_IF_ERROR(qa::ForEachPassage(path, [&](const qa::Passage& passage) {
    for (const qa::Question& question : passage.questions) {
      ids.push_back(question.id);
    }
    return absl::OkStatus();
  }));
  return ids;
}

absl::Status WriteAnswers(const AdaptOptions& options, const std::vector<std::string>& ids,
                          AnswersById answers, CommandContext& context) {
  const std::set<std::string> known(ids.begin(), ids.end());
  if (!options.data.empty()) {
    const auto unknown = std::find_if(answers.begin(), answers.end(), [&](const auto& answer) {
      return known.count(answer.first) == 0;
    });
    if (unknown != answers.end() && !options.drop_unknown) {
      return absl::InvalidArgumentError(absl::StrCat(
          options.in, ": expected answers to questions of ", options.data, ", got one to ",
          qa::Shown(unknown->first), "; --drop-unknown leaves such out"));
    }
    const size_t dropped =
        std::erase_if(answers, [&](const auto& answer) { return known.count(answer.first) == 0; });
    if (dropped > 0) {
      PrintNote(context, absl::StrCat(dropped, " answers to questions that ", options.data,
                                      " does not have are left out"));
    }
  }
  std::string first_missing;
  size_t missing = 0;
  for (const std::string& id : known) {
    if (answers.count(id) == 0) {
      first_missing = missing++ == 0 ? id : first_missing;
    }
  }
  const std::string what =
      absl::StrCat(missing, " of ", known.size(), " questions of ", options.data,
                   " have no answer, such as ", qa::Shown(first_missing));
  if (missing > 0 && !options.allow_missing) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.in, ": ", what, "; with --allow-missing they count 0"));
  }
  if (missing > 0) {
    PrintNote(context, what);
  }
  std::string out = "{";
  const char* separator = "\n";
  for (const auto& [id, answer] : answers) {
    out.append(std::exchange(separator, ",\n"));
    AppendJsonString(id, out);
    out.append(": ");
    AppendJsonString(answer, out);
  }
  out.append("\n}\n");
  return WriteOutput(options.out, out);
}

absl::Status WriteMetrics(const AdaptOptions& options, const MetricsByName& metrics) {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [name, value] : metrics) {
    json[name] = value;
  }
  return WriteOutput(options.out, json.dump(2) + "\n");
}

absl::Status CheckExamplesFlags(const AdaptOptions& options) {
  if (options.examples.empty() && !(options.samples.empty() && options.harness.metric.empty())) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.samples.empty() ? "--metric" : "--samples",
                     ": expected --examples FILE beside it"));
  }
  return absl::OkStatus();
}

absl::Status WriteExamples(const AdaptOptions& options, const AdapterInput& input) {
  if (options.examples.empty()) {
    return absl::OkStatus();
  }
  CONCUR_ASSIGN_OR_RETURN(const std::string lines,
                          AdaptHarnessSamples(input, options.harness, options.samples));
  return WriteOutput(options.examples, lines);
}

using AnswersOf = absl::StatusOr<AnswersById> (*)(const AdapterInput&, const AdaptOptions&,
                                                  const std::vector<std::string>&);
using MetricsOf = absl::StatusOr<MetricsByName> (*)(const AdapterInput&, const AdaptOptions&);

Command* AddForm(Command* group, const char* name, const char* about, const char* example,
                 const std::shared_ptr<AdaptOptions>& options) {
  Command* const command = group->AddSubcommand(name, about);
  command->Footer(absl::StrCat("Examples:\n  concur adapt ", name, " ", example));
  AddInput(*command, options->in, "The file that the program wrote");
  command->AddOption("--out", options->out, "File to write")->Required()->TypeName("FILE");
  return command;
}

Command* AddAnswers(Command* group, CommandContext& context, const char* name, const char* about,
                    const char* example, const std::shared_ptr<AdaptOptions>& options,
                    AnswersOf adapt) {
  Command* const command = AddForm(group, name, about, example, options);
  command->AddOption("--data", options->data, "The test set: every question needs one answer")
      ->TypeName("FILE");
  command->AddFlag("--allow-missing", options->allow_missing,
                   "Questions without an answer are a note, not an error");
  command->AddFlag(
      "--drop-unknown", options->drop_unknown,
      "Answers to questions that the test set does not have are left out, not an error");
  OnRun(command, context, [options, adapt, &context]() -> absl::Status {
    CONCUR_ASSIGN_OR_RETURN(const std::string text, ReadFile(options->in, kInputBytesMax));
    CONCUR_ASSIGN_OR_RETURN(const std::vector<std::string> ids, QuestionIds(options->data));
    CONCUR_ASSIGN_OR_RETURN(AnswersById answers, adapt({options->in, text}, *options, ids));
    return WriteAnswers(*options, ids, std::move(answers), context);
  });
  return command;
}

Command* AddMetrics(Command* group, CommandContext& context, const char* name, const char* about,
                    const char* example, const std::shared_ptr<AdaptOptions>& options,
                    MetricsOf adapt) {
  Command* const command = AddForm(group, name, about, example, options);
  OnRun(command, context, [options, adapt]() -> absl::Status {
    CONCUR_RETURN_IF_ERROR(CheckExamplesFlags(*options));
    CONCUR_ASSIGN_OR_RETURN(const std::string text, ReadFile(options->in, kInputBytesMax));
    CONCUR_ASSIGN_OR_RETURN(const MetricsByName metrics, adapt({options->in, text}, *options));
    CONCUR_RETURN_IF_ERROR(WriteExamples(*options, {options->in, text}));
    return WriteMetrics(*options, metrics);
  });
  return command;
}

void AddAnswerForms(Command* group, CommandContext& context) {
  AddAnswers(group, context, "predictions", "{\"id\": \"answer\"}: checked against the test set",
             "answers.json --data dev.json --out predictions.json",
             std::make_shared<AdaptOptions>(),
             [](const AdapterInput& input, const AdaptOptions&, const std::vector<std::string>&) {
               return AdaptPredictions(input);
             });
  AddAnswers(
      group, context, "nbest",
      "{\"id\": [{\"text\", \"probability\"}]} or {\"id\": [[\"text\", score]]}: the best answer",
      "nbest.json --data dev.json --out predictions.json", std::make_shared<AdaptOptions>(),
      [](const AdapterInput& input, const AdaptOptions&, const std::vector<std::string>&) {
        return AdaptNbest(input);
      });
  const auto options = std::make_shared<AdaptOptions>();
  Command* const lines = AddAnswers(
      group, context, "lines",
      "one JSON object a line, with an id or in the order of the test set's questions",
      "answers.jsonl --data dev.json --out predictions.json", options,
      [](const AdapterInput& input, const AdaptOptions& o, const std::vector<std::string>& ids) {
        return AdaptLines(input, ids, o.id_field, o.answer_field);
      });
  lines->AddOption("--id-field", options->id_field, "Where the question's id stands")
      ->ShowDefault();
  lines->AddOption("--answer-field", options->answer_field, "Where the answer stands")
      ->ShowDefault();
}

void AddMetricForms(Command* group, CommandContext& context) {
  const auto bare = std::make_shared<AdaptOptions>();
  Command* const metrics = AddMetrics(group, context, "metrics", "an object of numbers",
                                      "all_results.json --strip eval_ --out metrics.json", bare,
                                      [](const AdapterInput& input, const AdaptOptions& options) {
                                        return AdaptMetrics(input, options.selection);
                                      });
  metrics->AddOption("--at", bare->selection.at, "Where the object stands: results/squad")
      ->TypeName("PATH");
  metrics->AddOption("--only", bare->selection.only, "A metric to take; may be repeated")
      ->TypeName("NAME")
      ->OneValueEach();
  metrics->AddOption("--strip", bare->selection.strip, "A prefix that names lose: eval_")
      ->TypeName("PREFIX");
  const auto harness = std::make_shared<AdaptOptions>();
  Command* const lm_eval =
      AddMetrics(group, context, "lm-eval", "results of the Language Model Evaluation Harness",
                 "results_1.json --task piqa --out metrics.json\n"
                 "  concur adapt lm-eval results_1.json --examples examples.jsonl --out m.json",
                 harness, [](const AdapterInput& input, const AdaptOptions& options) {
                   return AdaptHarness(input, options.harness);
                 });
  lm_eval
      ->AddOption("--task", harness->harness.task, "Whose metrics, where there are several tasks")
      ->TypeName("NAME");
  lm_eval
      ->AddOption("--filter", harness->harness.filter,
                  "Which metrics, where there are several filters")
      ->TypeName("NAME");
  lm_eval
      ->AddOption("--examples", harness->examples,
                  "File to write per-example scores to, from the samples that lm_eval "
                  "--log_samples writes beside its results")
      ->TypeName("FILE");
  lm_eval
      ->AddOption("--metric", harness->harness.metric,
                  "Whose per-example scores, where a task has several metrics")
      ->TypeName("NAME");
  lm_eval->AddOption("--samples", harness->samples, "The samples, when they are elsewhere")
      ->TypeName("FILE");
}

}  // namespace

void AddAdaptCommand(Command& app, CommandContext& context) {
  Command* const group = app.AddSubcommand(
      "adapt", "Turn what an evaluation program wrote into predictions or metrics");
  group->RequireSubcommand();
  AddAnswerForms(group, context);
  AddMetricForms(group, context);
  AddAdaptResults(*group, context);
}

}  // namespace concur::cli
