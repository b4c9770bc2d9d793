// SPDX-License-Identifier: Apache-2.0
// `concur significance`: which approaches differ on a benchmark beyond the chance of its test
// examples.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analysis/comparison/comparison.h"
#include "base/command/command.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/suggest.h"
#include "cli/commands/commands.h"
#include "cli/commands/score_options.h"
#include "cli/output/print.h"
#include "cli/output/table_output.h"
#include "cli/study/example_runs.h"
#include "cli/study/open_study.h"
#include "cli/study/study.h"
#include "qa/example_scores.h"
#include "report/comparison_tables.h"
#include "report/sweep_table.h"

namespace concur::cli {
namespace {

struct SignificanceFlags {
  std::string sweep;
  std::vector<std::string> examples;    // NAME=FILE
  std::vector<std::string> benchmarks;  // names of columns
  std::string metric;
  std::string select;
  std::string baseline;
  std::string cluster;
  std::string format;
  IntervalFlags interval;
};

absl::StatusOr<analysis::ExampleRuns> ReadFiles(const SignificanceFlags& flags) {
  constexpr int64_t kExamplesBytesMax = int64_t{1} << 30;
  const std::string metric = flags.metric.empty() ? "exact_match" : flags.metric;
  std::vector<NamedExamples> approaches;
  for (const std::string& value : flags.examples) {
    const size_t sign = value.find('=');
    if (sign == std::string::npos || sign == 0 || sign + 1 == value.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--examples: expected NAME=FILE, got \"", value, "\""));
    }
    const std::string name = value.substr(0, sign);
    const std::string path = value.substr(sign + 1);
    CONCUR_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kExamplesBytesMax));
    CONCUR_ASSIGN_OR_RETURN(std::vector<qa::ExampleScore> run,
                            qa::ParseExampleScores(text, path, {metric, "score"}));
    const auto same = std::find_if(approaches.begin(), approaches.end(),
                                   [&](const NamedExamples& a) { return a.approach == name; });
    if (same == approaches.end()) {
      approaches.push_back({name, {std::move(run)}});
    } else {
      same->runs.push_back(std::move(run));
    }
  }
  if (flags.benchmarks.size() > 1) {
    return absl::InvalidArgumentError(
        "--benchmark: expected one name for the examples' test set, got several");
  }
  analysis::ExampleRuns runs;
  for (const NamedExamples& approach : approaches) {
    runs.approaches.push_back(approach.approach);
  }
  CONCUR_ASSIGN_OR_RETURN(
      analysis::BenchmarkRuns aligned,
      AlignRuns(flags.benchmarks.empty() ? "examples" : flags.benchmarks[0], metric, approaches));
  runs.benchmarks.push_back(std::move(aligned));
  return runs;
}

absl::StatusOr<analysis::ExampleRuns> LoadExamples(const SignificanceFlags& flags,
                                                   CommandContext& context) {
  if (flags.sweep.empty() == flags.examples.empty()) {
    return absl::InvalidArgumentError("expected either SWEEP or --examples NAME=FILE");
  }
  if (flags.sweep.empty()) {
    return ReadFiles(flags);
  }
  CONCUR_ASSIGN_OR_RETURN(const OpenedStudy opened, OpenStudy(context, flags.sweep));
  return ExampleRunsOf(opened.study, flags.metric, {.select = flags.select}, flags.benchmarks);
}

// Also where no benchmark has examples to compare.
absl::Status CheckBaseline(const std::string& baseline,
                           const std::vector<std::string>& approaches) {
  if (std::find(approaches.begin(), approaches.end(), baseline) != approaches.end()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "baseline: there is no approach \"", baseline, "\"", DidYouMean(baseline, approaches),
      "; the approaches are ", absl::StrJoin(approaches, ", ")));
}

absl::Status RunSignificance(SignificanceFlags& flags, CommandContext& context) {
  CONCUR_RETURN_IF_ERROR(CheckFormat(flags.format));
  analysis::ComparisonOptions options;
  CONCUR_ASSIGN_OR_RETURN(const std::optional<analysis::BootstrapOptions> bootstrap,
                          BootstrapOf(flags.interval));
  if (!bootstrap.has_value()) {
    return absl::InvalidArgumentError(
        "interval: expected a number strictly between 0 and 1, got 0");
  }
  options.bootstrap = *bootstrap;
  if (!flags.baseline.empty()) {
    options.baseline = flags.baseline;
  }
  CONCUR_ASSIGN_OR_RETURN(options.unit, UnitOf(flags.cluster));
  CONCUR_ASSIGN_OR_RETURN(const analysis::ExampleRuns runs, LoadExamples(flags, context));
  if (!flags.baseline.empty()) {
    CONCUR_RETURN_IF_ERROR(CheckBaseline(flags.baseline, runs.approaches));
  }
  CONCUR_ASSIGN_OR_RETURN(const std::vector<analysis::BenchmarkComparison> comparisons,
                          analysis::CompareAll(analysis::MeansOverRuns(runs), options));
  analysis::Table table = analysis::ComparisonTable(comparisons, options);
  if (!table.rows.empty()) {
    table.details.insert(table.details.end(), runs.choices.begin(), runs.choices.end());
  }
  return PrintTable(table, flags.format, context);
}

}  // namespace

void AddSignificanceCommand(Command& app, CommandContext& context) {
  Command* command = app.AddSubcommand(
      "significance",
      "Which approaches differ on a benchmark, beyond the chance of its test examples");
  const auto flags = std::make_shared<SignificanceFlags>();
  command->AddOption("sweep", flags->sweep, "A sweep, by name or id; or ./DIRECTORY of a bundle")
      ->TypeName("SWEEP");
  command
      ->AddOption("--examples", flags->examples,
                  "Per-example scores instead of a sweep, as \"concur data score --per-example\" "
                  "writes them; repeat for each approach, and for seeds of one")
      ->TypeName("NAME=FILE")
      ->OneValueEach();
  command
      ->AddOption("--benchmark", flags->benchmarks,
                  "Only this benchmark; may be repeated (with --examples: its name)")
      ->TypeName("NAME")
      ->OneValueEach();
  command
      ->AddOption("--metric", flags->metric, "Metric of the scores (default: the benchmark's own)")
      ->TypeName("NAME");
  AddSelectOption(command, flags->select, "best, best-on-test, default, mean or each");
  command
      ->AddOption("--baseline", flags->baseline,
                  "Compare the others with this approach only, instead of every pair")
      ->TypeName("NAME");
  AddClusterOption(command, flags->cluster);
  flags->interval.level = 0.95;
  AddIntervalOptions(command, flags->interval, "Level of the intervals, above 0 and below 1")
      ->DefaultText("0.95");
  AddFormatOption(command, flags->format, context);
  command->Footer(
      "Student's t and the paired permutation test over the test examples, and McNemar's exact "
      "test where\nscores are right or wrong; p-values with Holm's correction over all rows of the "
      "table.\n"
      "Examples:\n  concur significance demo\n  concur significance demo --benchmark cloze "
      "--baseline "
      "random-span\n  concur significance --examples bidaf=a.jsonl --examples bert=b.jsonl");
  OnRun(command, context, [flags, &context] { return RunSignificance(*flags, context); });
}

}  // namespace concur::cli
