// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/data/adapt_results.h"

#include <cstddef>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/command/command.h"
#include "base/metric_meaning.h"
#include "base/output_file.h"
#include "base/status_macros.h"
#include "cli/app/context.h"
#include "cli/output/print.h"
#include "qa/example_scores.h"
#include "qa/results/import.h"
#include "qa/results/imported.h"
#include "qa/results/reader.h"

namespace concur::cli {
namespace {

constexpr char kScore[] = "score";  // the metric that all tasks have

struct ResultsFlags {
  imports::ImportRequest request;
  std::string out;
  std::string examples;
};

// InvalidArgument unless the files are of one model, evaluated once on each task.
absl::Status CheckIsOneRun(const imports::ImportedResults& results) {
  if (results.models.size() == 1 && results.seeds == 1) {
    return absl::OkStatus();
  }
  const std::string remedy =
      "; name the files of one run, or write each run to a folder of its own";
  if (results.models.size() == 1) {
    return absl::InvalidArgumentError(absl::StrCat("expected one run, got up to ", results.seeds,
                                                   " of ", results.models[0].name, remedy));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("expected results of one model, got ", results.models.size(), ", such as ",
                   results.models[0].name, " and ", results.models[1].name, remedy));
}

// The task's metric, and `score`: the same, as a fraction where the file states a percentage.
nlohmann::json PartOf(const imports::ImportedAxis& task, const imports::Metric& metric) {
  nlohmann::json part = {{metric.name, metric.value}};
  if (task.meaning.goal == Goal::kMaximize) {
    part[kScore] =
        task.meaning.scale.kind == Scale::Kind::kPercent ? metric.value / 100 : metric.value;
  }
  if (metric.examples > 0) {
    part["n"] = metric.examples;
  }
  return part;
}

// Lines of per-example scores. NotFound, with the reason, where a task lacks them.
absl::StatusOr<std::string> ExampleLinesOf(const imports::ImportedResults& results) {
  std::string lines;
  for (const imports::ImportedCell& cell : results.cells) {
    const imports::ImportedAxis& task = results.tasks[cell.task];
    const imports::Run& run = results.runs[cell.run].run;
    if (task.meaning.goal == Goal::kMinimize) {
      continue;
    }
    if (run.examples.empty()) {
      return absl::NotFoundError(absl::StrCat(task.name, " has none"));
    }
    const imports::Metric& metric = run.metrics[0];
    const bool is_percent =
        task.meaning.scale.kind == Scale::Kind::kPercent &&
        qa::UnitOfMean(run.examples, metric.name, metric.value).value_or(1) == 1;
    for (const qa::ExampleScore& example : run.examples) {
      const nlohmann::json line = {{"id", example.id},
                                   {"part", task.name},
                                   {kScore, is_percent ? example.value / 100 : example.value}};
      absl::StrAppend(&lines, line.dump(), "\n");
    }
  }
  return lines;
}

absl::Status AdaptResults(ResultsFlags& flags, CommandContext& context) {
  CONCUR_ASSIGN_OR_RETURN(const imports::ImportedResults results, imports::Import(flags.request));
  CONCUR_RETURN_IF_ERROR(CheckIsOneRun(results));
  for (const auto& [reason, skipped] : results.skipped) {
    PrintNote(context, absl::StrCat("left out: ", reason, ", ", skipped.count,
                                    skipped.count == 1 ? " time (" : " times, first ",
                                    skipped.first_place, skipped.count == 1 ? ")" : ""));
  }
  nlohmann::json parts = nlohmann::json::object();
  double usd = 0;
  double score_sum = 0;
  size_t scored = 0;
  for (const imports::ImportedCell& cell : results.cells) {
    const imports::Run& run = results.runs[cell.run].run;
    const imports::ImportedAxis& task = results.tasks[cell.task];
    const nlohmann::json& part = parts[task.name] = PartOf(task, run.metrics[0]);
    if (part.contains(kScore)) {
      score_sum += part[kScore].get<double>();
      ++scored;
    }
    usd += run.cost_usd.value_or(0);
  }
  nlohmann::json metrics = nlohmann::json::object();
  if (scored > 0 && scored < parts.size()) {  // where all have one, the worker takes their mean
    metrics[kScore] = score_sum / static_cast<double>(scored);
  }
  metrics["parts"] = std::move(parts);
  if (usd > 0) {
    metrics["usd"] = usd;
  }
  if (!flags.examples.empty()) {
    const absl::StatusOr<std::string> examples = ExampleLinesOf(results);
    if (examples.ok()) {
      CONCUR_RETURN_IF_ERROR(WriteOutput(flags.examples, *examples));
    } else {
      PrintNote(context, absl::StrCat("no per-example scores: ", examples.status().message()));
    }
  }
  return WriteOutput(flags.out, metrics.dump(2) + "\n");
}

}  // namespace

void AddAdaptResults(Command& adapt, CommandContext& context) {
  const auto flags = std::make_shared<ResultsFlags>();
  flags->request.strict = true;
  Command* const command =
      adapt.AddSubcommand("results", "one run of an evaluation program: every task as a part");
  command->Footer(
      "Writes {\"parts\": {TASK: {METRIC: value, \"score\": value, \"n\": examples}}}. Every task\n"
      "has score but those of which less is better: name it as the benchmark's metric.\n"
      "Examples:\n  concur adapt results inspect \"{output}\" --out \"{metrics}\"");
  command
      ->AddOption("format", flags->request.format,
                  "One of: " + absl::StrJoin(imports::FormatNames(), ", "))
      ->TypeName("FORMAT")
      ->Required();
  command->AddOption("paths", flags->request.paths, "Its files, and folders with all in them")
      ->TypeName("PATH")
      ->Required();
  command->AddOption("--out", flags->out, "File to write")->Required()->TypeName("FILE");
  command
      ->AddOption("--metric", flags->request.metrics,
                  "A task's metric: the first of these that it has; may be repeated")
      ->TypeName("NAME")
      ->OneValueEach();
  command->AddOption("--examples", flags->examples, "File to write per-example scores to")
      ->TypeName("FILE");
  OnRun(command, context, [flags, &context] { return AdaptResults(*flags, context); });
}

}  // namespace concur::cli
