// SPDX-License-Identifier: Apache-2.0
// `concur curve`: concurrence as a function of the number of approaches, of the training-set size
// and of the tuning budget, and the expected best of k settings.
#include "analysis/concurrence/curve.h"

#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "analysis/score_table.h"
#include "base/command/command.h"
#include "base/decimal.h"
#include "base/status_macros.h"
#include "base/suggest.h"
#include "cli/client/client.h"
#include "cli/commands/commands.h"
#include "cli/commands/score_options.h"
#include "cli/output/table_output.h"
#include "cli/study/open_study.h"
#include "cli/study/study.h"
#include "report/curve_tables.h"
#include "report/notes.h"
#include "report/sweep_table.h"

namespace concur::cli {
namespace {

struct CurveFlags {
  std::string sweep;
  std::string scores;
  ScoreFileFlags file;
  std::string by = "approaches";
  std::string coefficient = "kendall";
  std::string metric;
  std::string tag = "train_examples";
  std::vector<std::string> points;  // NAME=SIZE
  std::vector<std::string> with;
  std::vector<std::string> columns;
  std::vector<std::string> where;
  std::string format;
  analysis::CurveOptions options;
  IntervalFlags interval;
};

// A file of scores. With `each`, it has a row for each approach and setting.
absl::StatusOr<analysis::ScoreTable> ReadScoresOf(const CurveFlags& flags, bool each,
                                                  CommandContext& context) {
  ScoreFileFlags file = flags.file;
  if (each) {
    file.keys.insert(file.keys.begin(), "setting");
  }
  absl::StatusOr<analysis::ScoreTable> table = ReadScores(flags.scores, file, context);
  if (each && absl::IsInvalidArgument(table.status())) {
    return absl::InvalidArgumentError(
        absl::StrCat(table.status().message(), "; --by ", flags.by,
                     " needs a row for each approach and setting: approach,setting,BENCHMARK,…"));
  }
  return table;
}

// Budgets need every setting by itself.
absl::StatusOr<analysis::ScoreTable> LoadScores(const CurveFlags& flags, CommandContext& context) {
  if (flags.sweep.empty() == flags.scores.empty()) {
    return absl::InvalidArgumentError("expected either SWEEP or --scores FILE.csv");
  }
  const bool each = flags.by == "budget" || flags.by == "best";
  analysis::ScoreTable table;
  if (flags.sweep.empty()) {
    CONCUR_ASSIGN_OR_RETURN(table, ReadScoresOf(flags, each, context));
    CONCUR_RETURN_IF_ERROR(ApplyMinimize(flags.file, table));
  } else {
    CONCUR_ASSIGN_OR_RETURN(const OpenedStudy opened, OpenStudy(context, flags.sweep));
    CONCUR_ASSIGN_OR_RETURN(const SweepTableOptions asked,
                            TableOptionsOf(flags.file, each ? "each" : "",
                                           analysis::Layout::kTrainInColumns, flags.columns));
    CONCUR_ASSIGN_OR_RETURN(table, ScoreTableOf(opened.study, flags.metric, asked));
  }
  CONCUR_ASSIGN_OR_RETURN(table, SelectColumns(std::move(table), flags.columns));
  return table.Where(flags.where);
}

absl::StatusOr<size_t> BenchmarkNamed(const analysis::ScoreTable& table, const std::string& name) {
  for (size_t b = 0; b < table.benchmarks().size(); ++b) {
    if (table.benchmarks()[b].name == name) {
      return b;
    }
  }
  return absl::InvalidArgumentError(absl::StrCat("no benchmark is named \"", name, "\""));
}

absl::StatusOr<std::vector<analysis::SizedBenchmark>> SizesOf(const CurveFlags& flags,
                                                              const analysis::ScoreTable& table) {
  if (flags.points.empty()) {
    return analysis::SizesByTag(table, flags.tag);
  }
  std::vector<analysis::SizedBenchmark> sized;
  for (const std::string& value : flags.points) {
    const size_t sign = value.rfind('=');
    analysis::SizedBenchmark point;
    if (sign == std::string::npos || !absl::SimpleAtod(value.substr(sign + 1), &point.size)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--point: expected NAME=SIZE, got \"", value, "\""));
    }
    CONCUR_ASSIGN_OR_RETURN(point.benchmark, BenchmarkNamed(table, value.substr(0, sign)));
    sized.push_back(point);
  }
  return sized;
}

absl::StatusOr<analysis::Table> BySize(const CurveFlags& flags, const analysis::ScoreTable& table,
                                       const std::vector<std::string>& names) {
  CONCUR_ASSIGN_OR_RETURN(const std::vector<analysis::SizedBenchmark> sized, SizesOf(flags, table));
  std::vector<size_t> targets;
  CONCUR_ASSIGN_OR_RETURN(const std::vector<std::string> with, SplitAllNames("--with", flags.with));
  for (const std::string& name : with) {
    CONCUR_ASSIGN_OR_RETURN(const size_t target, BenchmarkNamed(table, name));
    targets.push_back(target);
  }
  for (size_t b = 0; with.empty() && b < names.size(); ++b) {
    bool is_sized = false;
    for (const analysis::SizedBenchmark& benchmark : sized) {
      is_sized = is_sized || benchmark.benchmark == b;
    }
    if (!is_sized) {
      targets.push_back(b);
    }
  }
  CONCUR_ASSIGN_OR_RETURN(const std::optional<analysis::BootstrapOptions> bootstrap,
                          BootstrapOf(flags.interval));
  CONCUR_ASSIGN_OR_RETURN(const std::vector<analysis::CurvePoint> points,
                          analysis::SizeCurve(table, sized, targets, flags.options, bootstrap));
  return analysis::CurveTable(points, names, flags.options, "train_examples",
                              "Concurrence by training-set size; intervals: bootstrap over "
                              "approaches",
                              analysis::ChoiceNotes(table.benchmarks()));
}

absl::Status RunCurve(CurveFlags& flags, CommandContext& context) {
  CONCUR_RETURN_IF_ERROR(CheckFormat(flags.format));
  CONCUR_ASSIGN_OR_RETURN(flags.options.coefficient, analysis::ParseCoefficient(flags.coefficient));
  CONCUR_ASSIGN_OR_RETURN(const std::optional<analysis::BootstrapOptions> interval,
                          BootstrapOf(flags.interval));
  flags.options.seed = flags.interval.seed;
  if (interval.has_value()) {
    flags.options.level = interval->level;
  }
  const std::string central =
      absl::StrCat("the range of the central ", ShortestDecimal(flags.options.level * 100), " %");
  if (flags.by != "approaches" && flags.by != "size" && flags.by != "budget" &&
      flags.by != "best") {
    return absl::InvalidArgumentError(
        absl::StrCat("by: ", ExpectedOneOf({"approaches", "size", "budget", "best"}, flags.by)));
  }
  CONCUR_ASSIGN_OR_RETURN(const analysis::ScoreTable table, LoadScores(flags, context));
  std::vector<std::string> names;
  for (const analysis::AxisEntry& benchmark : table.benchmarks()) {
    names.push_back(benchmark.name);
  }
  if (flags.by == "size") {
    CONCUR_ASSIGN_OR_RETURN(const analysis::Table result, BySize(flags, table, names));
    return PrintTable(result, flags.format, context);
  }
  if (flags.by == "approaches") {
    CONCUR_ASSIGN_OR_RETURN(const std::vector<analysis::CurvePoint> points,
                            analysis::ApproachCurve(table, flags.options));
    return PrintTable(
        analysis::CurveTable(points, names, flags.options, "approaches",
                             absl::StrCat("Concurrence by number of approaches: mean over subsets, "
                                          "and ",
                                          central),
                             analysis::ChoiceNotes(table.benchmarks())),
        flags.format, context);
  }
  CONCUR_ASSIGN_OR_RETURN(const analysis::SettingScores scores, analysis::GroupSettings(table));
  if (flags.by == "best") {
    return PrintTable(analysis::ExpectedBestTable(analysis::ExpectedBestCurve(scores), scores),
                      flags.format, context);
  }
  CONCUR_ASSIGN_OR_RETURN(const std::vector<analysis::CurvePoint> points,
                          analysis::BudgetCurve(scores, flags.options));
  return PrintTable(
      analysis::CurveTable(points, names, flags.options, "settings",
                           absl::StrCat("Concurrence by tuning budget: mean over draws of so many "
                                        "settings, and ",
                                        central),
                           {analysis::kBestOnTestNote}),
      flags.format, context);
}

}  // namespace

void AddCurveCommand(Command& app, CommandContext& context) {
  Command* command = app.AddSubcommand(
      "curve", "Concurrence by number of approaches, training-set size or tuning budget");
  const auto flags = std::make_shared<CurveFlags>();
  command->AddOption("sweep", flags->sweep, "A sweep, by name or id")->TypeName("SWEEP");
  command
      ->AddOption("--scores", flags->scores,
                  "A scores CSV instead of a sweep; for budget and best with a row for each "
                  "setting: approach,setting,BENCHMARK,..., or as \"concur scores SWEEP --select "
                  "each -o csv\" writes it")
      ->TypeName("FILE");
  AddScoreFileOptions(command, flags->file);
  command
      ->AddOption("--by", flags->by,
                  "approaches; size (of the training set); budget (settings tried); best (the "
                  "expected best score of k settings)")
      ->ShowDefault();
  command
      ->AddOption("--coefficient", flags->coefficient,
                  "kendall (tau-b), pearson, spearman, weighted-kendall, top-k or rbo")
      ->ShowDefault();
  command->AddOption("--top", flags->options.top, "Number of best approaches, for top-k")
      ->Positive()
      ->ShowDefault();
  command->AddOption("--metric", flags->metric, "Default: each benchmark's own")->TypeName("NAME");
  command->AddOption("--tag", flags->tag, "For size: the benchmarks' tag that holds it")
      ->ShowDefault();
  command
      ->AddOption("--point", flags->points,
                  "For size: the size of a benchmark, instead of a tag; repeat for each")
      ->TypeName("NAME=SIZE")
      ->OneValueEach();
  command
      ->AddOption("--with", flags->with,
                  "For size: the benchmarks to compare with (default: those without a size)")
      ->TypeName("A,B")
      ->OneValueEach();
  AddColumnsOption(command, flags->columns);
  AddWhereOption(command, flags->where);
  command->AddOption("--draws", flags->options.draws, "Random subsets behind each point")
      ->ShowDefault();
  flags->interval.level = 0.95;
  AddIntervalOptions(command, flags->interval)->DefaultText("0.95");
  AddFormatOption(command, flags->format, context);
  command->Footer(
      "Examples:\n  concur curve demo\n  concur curve demo --by budget\n"
      "  concur curve --scores s.csv --by size --point 1K=1000 --with dev");
  OnRun(command, context, [flags, &context] { return RunCurve(*flags, context); });
}

}  // namespace concur::cli
