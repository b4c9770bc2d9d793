// SPDX-License-Identifier: Apache-2.0
// `concur uncertainty`: how sure each coefficient of a matrix is, and what would make it surer.
#include "analysis/concurrence/uncertainty.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/command/command.h"
#include "base/status_macros.h"
#include "cli/client/client.h"
#include "cli/commands/commands.h"
#include "cli/commands/score_options.h"
#include "cli/output/table_output.h"
#include "cli/study/example_runs.h"
#include "cli/study/open_study.h"
#include "cli/study/study.h"
#include "report/sweep_table.h"
#include "report/writers.h"

namespace concur::cli {
namespace {

struct UncertaintyFlags {
  std::string sweep;
  std::string examples;
  std::string repeats;
  std::string coefficient = "kendall";
  std::string metric;
  std::string select;
  std::vector<std::string> columns;
  std::string format;
  std::string cluster;
  size_t top = analysis::kTopDefault;
  ScoreFileFlags file;
  IntervalFlags interval;
};

absl::StatusOr<analysis::ExampleRuns> LoadRuns(const UncertaintyFlags& flags,
                                               CommandContext& context) {
  if ((flags.sweep.empty() ? 0 : 1) + (flags.examples.empty() ? 0 : 1) +
          (flags.repeats.empty() ? 0 : 1) !=
      1) {
    return absl::InvalidArgumentError("expected SWEEP, --examples DIR or --repeats FILE.csv");
  }
  CONCUR_ASSIGN_OR_RETURN(std::vector<std::string> columns,
                          SplitAllNames("--columns", flags.columns));
  if (flags.sweep.empty()) {
    absl::StatusOr<analysis::ExampleRuns> runs =
        flags.repeats.empty()
            ? ReadExampleFolder(flags.examples, std::move(columns),
                                flags.metric.empty() ? "exact_match" : flags.metric)
            : ReadRepeats(flags.repeats, std::move(columns));
    CONCUR_RETURN_IF_ERROR(runs.status());
    CONCUR_RETURN_IF_ERROR(ApplyMinimize(flags.file, *runs));
    return runs;
  }
  CONCUR_ASSIGN_OR_RETURN(const OpenedStudy opened, OpenStudy(context, flags.sweep));
  CONCUR_ASSIGN_OR_RETURN(const SweepTableOptions asked, TableOptionsOf(flags.file, flags.select));
  if (!HasExamples(opened.study)) {
    return RepeatsOf(opened.study, flags.metric, asked, columns);
  }
  return ExampleRunsOf(opened.study, flags.metric, asked, columns);
}

absl::Status RunUncertainty(const UncertaintyFlags& flags, CommandContext& context) {
  CONCUR_RETURN_IF_ERROR(CheckFormat(flags.format));
  analysis::UncertaintyOptions options;
  CONCUR_ASSIGN_OR_RETURN(options.coefficient, analysis::ParseCoefficient(flags.coefficient));
  CONCUR_ASSIGN_OR_RETURN(const std::optional<analysis::BootstrapOptions> bootstrap,
                          BootstrapOf(flags.interval));
  if (!bootstrap.has_value()) {
    return absl::InvalidArgumentError(
        "interval: expected a number strictly between 0 and 1, got 0");
  }
  options.bootstrap = *bootstrap;
  options.bootstrap.top = flags.top;
  CONCUR_ASSIGN_OR_RETURN(options.unit, UnitOf(flags.cluster));
  CONCUR_ASSIGN_OR_RETURN(analysis::ExampleRuns runs, LoadRuns(flags, context));
  const std::vector<std::string> choices = runs.choices;
  CONCUR_ASSIGN_OR_RETURN(const analysis::Uncertainty uncertainty,
                          analysis::ComputeUncertainty(std::move(runs), options));
  analysis::Table table = analysis::UncertaintyTable(uncertainty);
  table.details.insert(table.details.end(), choices.begin(), choices.end());
  return PrintTable(table, flags.format, context);
}

}  // namespace

void AddUncertaintyCommand(Command& app, CommandContext& context) {
  Command* command =
      app.AddSubcommand("uncertainty",
                        "How sure each coefficient is, and whether more seeds, test examples or "
                        "approaches would help");
  const auto flags = std::make_shared<UncertaintyFlags>();
  command->AddOption("sweep", flags->sweep, "A sweep, by name or id")->TypeName("SWEEP");
  command
      ->AddOption("--examples", flags->examples,
                  "Per-example scores instead of a sweep: DIR/APPROACH/BENCHMARK/RUN.jsonl, each "
                  "as \"concur data score --per-example\" writes it, a run being a seed")
      ->TypeName("DIR");
  command
      ->AddOption("--repeats", flags->repeats,
                  "Repeated scores instead of a sweep: a CSV with the columns approach, benchmark, "
                  "repeat and a score")
      ->TypeName("FILE");
  command
      ->AddOption("--coefficient", flags->coefficient,
                  "kendall (tau-b), pearson, spearman, weighted-kendall, top-k or rbo")
      ->ShowDefault();
  command->AddOption("--top", flags->top, "Number of best approaches, for top-k")
      ->Positive()
      ->ShowDefault();
  command
      ->AddOption("--metric", flags->metric, "Metric of the scores (default: the benchmark's own)")
      ->TypeName("NAME");
  AddSelectOption(command, flags->select,
                  "best, best-on-test, default or mean, of which all settings count as seeds");
  AddColumnsOption(command, flags->columns);
  AddMinimizeOption(command, flags->file);
  AddClusterOption(command, flags->cluster);
  flags->interval.level = 0.95;
  flags->interval.replicates = 2000;
  AddIntervalOptions(command, flags->interval)->DefaultText("0.95");
  AddFormatOption(command, flags->format, context);
  command->Footer(
      "Hierarchical bootstrap over approaches, seeds and test examples. The shares say which of "
      "them\ncauses the variance of a pair; \"floor\" is the standard deviation that no number of "
      "seeds or test\nexamples can remove; \"shift by noise\" is how far noise moves the value on "
      "average; \"noise-free\" is the value corrected for it.\n"
      "Examples:\n  concur uncertainty demo\n  concur uncertainty --examples runs/ --coefficient "
      "pearson");
  OnRun(command, context, [flags, &context] { return RunUncertainty(*flags, context); });
}

}  // namespace concur::cli
