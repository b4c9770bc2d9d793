// SPDX-License-Identifier: Apache-2.0
// `concur report`: one HTML page about a sweep or a table of scores.
#include "report/html/report.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "analysis/comparison/comparison.h"
#include "analysis/comparison/generalization.h"
#include "analysis/score_table.h"
#include "base/command/command.h"
#include "base/decimal.h"
#include "base/digest.h"
#include "base/output_file.h"
#include "base/status_macros.h"
#include "base/version.h"
#include "cli/commands/commands.h"
#include "cli/commands/score_options.h"
#include "cli/output/print.h"
#include "cli/output/render.h"
#include "cli/study/example_runs.h"
#include "cli/study/open_study.h"
#include "cli/study/step_figure.h"
#include "cli/study/study.h"
#include "concur/v1/coordinator.pb.h"
#include "proto/rpc/convert_sweep.h"
#include "qa/score.h"
#include "report/ranking_tables.h"
#include "report/sweep_table.h"
#include "report/table.h"
#include "report/writers.h"

namespace concur::cli {
namespace {

struct ReportFlags {
  std::string sweep;
  std::string scores;
  ScoreFileFlags file;
  std::string out;
  std::string title;
  std::string metric;
  std::string select;
  std::string group_by;
  std::vector<std::string> where;
  std::vector<std::string> columns;
  bool no_comparisons = false;
  std::string curves;
  IntervalFlags interval;
  bool interval_asked = false;
};

// Unless they are asked for, intervals are left out beyond this many approaches × benchmarks².
constexpr size_t kDefaultIntervalWork = 400'000;

absl::StatusOr<analysis::ScoreTable> Narrow(analysis::ScoreTable table, const ReportFlags& flags) {
  CONCUR_ASSIGN_OR_RETURN(table, SelectColumns(std::move(table), flags.columns));
  return table.Where(flags.where);
}

// True if something was scored on another benchmark than that which it was trained on.
bool HasTransfer(const analysis::ScoreTable& cross) {
  for (size_t b = 0; b < cross.benchmarks().size(); ++b) {
    for (size_t row = 0; row < cross.approaches().size(); ++row) {
      const std::string train = analysis::TagValue(cross.approaches()[row], "train");
      if (cross.cell(row, b).state == analysis::CellState::kValue && !train.empty() &&
          train != cross.benchmarks()[b].name) {
        return true;
      }
    }
  }
  return false;
}

// Adds the tables that need a sweep's jobs, not only its scores.
absl::Status AddStudyTables(const Study& study, const ReportFlags& flags,
                            analysis::ReportOptions& options) {
  CONCUR_ASSIGN_OR_RETURN(
      const SweepTableOptions asked,
      TableOptionsOf(flags.file, flags.select, analysis::Layout::kTrainInColumns, flags.columns));
  if (study.spec.evaluate_on != EvaluateOn::kSame) {
    SweepTableOptions in_rows = asked;
    in_rows.layout = analysis::Layout::kTrainInRows;
    CONCUR_ASSIGN_OR_RETURN(const analysis::ScoreTable cross,
                            ScoreTableOf(study, flags.metric, in_rows));
    if (HasTransfer(cross)) {
      CONCUR_ASSIGN_OR_RETURN(analysis::Table table, analysis::CrossTable(cross));
      options.tables.emplace_back("Train sets and test sets", std::move(table));
    }
  }
  if (flags.no_comparisons) {
    return absl::OkStatus();
  }
  analysis::ComparisonOptions comparison;
  comparison.bootstrap.replicates = flags.interval.replicates;
  comparison.bootstrap.seed = flags.interval.seed;
  CONCUR_ASSIGN_OR_RETURN(const analysis::ExampleRuns runs,
                          ExampleRunsOf(study, flags.metric, asked, {}));
  CONCUR_ASSIGN_OR_RETURN(options.comparisons,
                          analysis::CompareAll(analysis::MeansOverRuns(runs), comparison));
  options.comparison = comparison;
  return absl::OkStatus();
}

void AddStudyFacts(const Study& study, const ReportFlags& flags, analysis::ReportOptions& options) {
  const v1::Sweep& sweep = study.sweep;
  std::vector<std::string> seeds;
  for (const int64_t seed : study.spec.seeds) {
    seeds.push_back(absl::StrCat(seed));
  }
  const auto add = [&](const char* name, std::string value) {
    options.facts.emplace_back(name, std::move(value));
  };
  add("sweep", absl::StrCat(study.Name(), " of ", sweep.owner()));
  add("submitted",
      absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", TimeOf(sweep.create_time()), absl::UTCTimeZone()));
  add("jobs", CountsText(sweep.counts()));
  add("seeds", absl::StrJoin(seeds, ", "));
  add("settings", SettingsText(study.spec));
  if (study.spec.early_stop) {
    add("early stopping", EarlyStopText(*study.spec.early_stop));
  }
  add("selection", flags.select.empty()
                       ? std::string(analysis::SelectName(SelectionOptionsOf(study.spec).select))
                       : flags.select);
  add("metric", flags.metric.empty() ? "each benchmark's own" : flags.metric);
  const std::vector<BenchmarkSpec>& benchmarks = study.spec.benchmarks;
  if (std::any_of(benchmarks.begin(), benchmarks.end(),
                  [](const BenchmarkSpec& benchmark) { return IsQa(benchmark.format); })) {
    add("scorer", qa::kScorerVersion);
  }
  add("specification", absl::StrCat("sha256 ", Sha256Of(rpc::EncodeSpec(study.spec)).ToHex()));
}

// Curves of the approaches and train sets that are rows and columns of `opened`'s `table`.
absl::StatusOr<std::optional<analysis::StepFigure>> CurvesOf(const OpenedStudy& opened,
                                                             const ReportFlags& flags,
                                                             const analysis::ScoreTable& table) {
  const Study& study = opened.study;
  if (std::none_of(study.jobs.begin(), study.jobs.end(), HasReported)) {
    return std::optional<analysis::StepFigure>();
  }
  StepFigureOptions options;
  options.metric = flags.curves;
  CONCUR_ASSIGN_OR_RETURN(SweepTableOptions in_rows, TableOptionsOf(flags.file, flags.select));
  in_rows.layout = analysis::Layout::kTrainInRows;
  CONCUR_ASSIGN_OR_RETURN(const analysis::ScoreTable systems,
                          ScoreTableOf(study, flags.metric, in_rows));
  for (size_t row = 0; row < systems.approaches().size(); ++row) {
    const analysis::AxisEntry& system = systems.approaches()[row];
    const std::string train = analysis::TagValue(system, "train");
    const std::string approach(absl::StripSuffix(system.name, absl::StrCat(" ← ", train)));
    for (size_t b = 0; b < systems.benchmarks().size(); ++b) {
      if (systems.cell(row, b).setting >= 0) {
        options.selected[{approach, train}] = systems.cell(row, b).setting;
      }
    }
  }
  const auto stands_for = [](const std::string& name, const std::string& whole,
                             absl::string_view more) {
    return name == whole || absl::StartsWith(name, absl::StrCat(whole, more));
  };
  options.is_shown = [&](const std::string& approach, const std::string& train) {
    const std::vector<analysis::AxisEntry>& rows = table.approaches();
    const std::vector<analysis::AxisEntry>& columns = table.benchmarks();
    const std::vector<TrainSet>& train_sets = study.spec.train_sets;
    const auto evaluated =
        std::count_if(train_sets.begin(), train_sets.end(),
                      [](const TrainSet& train_set) { return !train_set.source_only; });
    return std::any_of(rows.begin(), rows.end(),
                       [&](const analysis::AxisEntry& row) {
                         return stands_for(row.name, approach, " #");
                       }) &&
           (evaluated == 1 ||
            std::any_of(columns.begin(), columns.end(), [&](const analysis::AxisEntry& column) {
              return stands_for(column.name, train, " → ");
            }));
  };
  return StepFigureOf(opened, options);
}

absl::Status RunReport(ReportFlags& flags, CommandContext& context) {
  if (flags.sweep.empty() == flags.scores.empty()) {
    return absl::InvalidArgumentError("expected either SWEEP or --scores FILE.csv");
  }
  if (!flags.scores.empty() && !flags.curves.empty()) {
    return absl::InvalidArgumentError(
        "--curves: a file of scores has no learning curves; expected SWEEP or ./DIRECTORY of a "
        "bundle");
  }
  analysis::ReportOptions options;
  options.group_by = flags.group_by;
  CONCUR_ASSIGN_OR_RETURN(options.bootstrap, BootstrapOf(flags.interval));
  analysis::ScoreTable table;
  OpenedStudy opened;
  if (flags.scores.empty()) {
    CONCUR_ASSIGN_OR_RETURN(opened, OpenStudy(context, flags.sweep));
    CONCUR_ASSIGN_OR_RETURN(
        const SweepTableOptions asked,
        TableOptionsOf(flags.file, flags.select, analysis::Layout::kTrainInColumns, flags.columns));
    CONCUR_ASSIGN_OR_RETURN(table, ScoreTableOf(opened.study, flags.metric, asked));
    CONCUR_RETURN_IF_ERROR(AddStudyTables(opened.study, flags, options));
    options.title = opened.study.Name();
    AddStudyFacts(opened.study, flags, options);
  } else {
    CONCUR_ASSIGN_OR_RETURN(table, ReadScores(flags.scores, flags.file, context));
    CONCUR_RETURN_IF_ERROR(ApplyMinimize(flags.file, table));
    options.title = flags.scores.substr(flags.scores.rfind('/') + 1);
    options.facts.emplace_back("scores", flags.scores);
  }
  CONCUR_ASSIGN_OR_RETURN(table, Narrow(std::move(table), flags));
  if (flags.scores.empty()) {
    CONCUR_ASSIGN_OR_RETURN(options.curves, CurvesOf(opened, flags, table));
  }
  const size_t benchmarks = std::min(table.benchmarks().size(), options.benchmarks_max);
  if (options.bootstrap.has_value() && !flags.interval_asked &&
      benchmarks * benchmarks * table.approaches().size() > kDefaultIntervalWork) {
    PrintNote(context,
              "no intervals, which take long for a table of this size; --interval 0.95 computes "
              "them");
    options.bootstrap.reset();
  }
  if (!flags.title.empty()) {
    options.title = flags.title;
  }
  options.facts.emplace_back(
      "score table",
      absl::StrCat("sha256 ",
                   Sha256Of(analysis::WriteScores(table, analysis::TableFormat::kJson)).ToHex()));
  options.facts.emplace_back(
      "intervals", options.bootstrap.has_value()
                       ? absl::StrCat(ShortestDecimal(options.bootstrap->level * 100), " %, ",
                                      options.bootstrap->replicates, " replicates, seed ",
                                      options.bootstrap->seed)
                       : "none");
  options.facts.emplace_back("concur", std::string(kVersion));
  CONCUR_ASSIGN_OR_RETURN(const std::string html, analysis::ReportHtml(table, options));
  CONCUR_RETURN_IF_ERROR(WriteOutput(flags.out, html));
  const auto bytes = static_cast<int64_t>(html.size());
  if (context.output == OutputMode::kTable) {
    PrintNote(context, absl::StrCat(flags.out, ": ", BytesText(bytes)));
  } else {
    Json record = {{"path", flags.out}, {"bytes", bytes}};
    PrintDetails(context, {{"path", flags.out}, {"bytes", absl::StrCat(bytes)}}, record);
  }
  return absl::OkStatus();
}

}  // namespace

void AddReportCommand(Command& app, CommandContext& context) {
  Command* command = app.AddSubcommand(
      "report", "Write one HTML page: concurrence, scores, comparisons, and what is missing");
  const auto flags = std::make_shared<ReportFlags>();
  command->AddOption("sweep", flags->sweep, "A sweep, by name or id; or ./DIRECTORY of a bundle")
      ->TypeName("SWEEP");
  command
      ->AddOption("--scores", flags->scores,
                  "A scores CSV instead of a sweep: one row per approach, first column its name")
      ->TypeName("FILE");
  command->AddOption("--out", flags->out, "The page to write")->TypeName("FILE")->Required();
  AddScoreFileOptions(command, flags->file);
  command->AddOption("--title", flags->title, "Its heading (default: the sweep, or the file)");
  AddWhereOption(command, flags->where);
  AddColumnsOption(command, flags->columns);
  command
      ->AddOption("--group-by", flags->group_by,
                  "A tag of approaches whose values get markers and matrices of their own "
                  "(default: the first tag with two to six values)")
      ->TypeName("TAG");
  command->AddOption("--metric", flags->metric, "A sweep's metric (default: each benchmark's own)")
      ->TypeName("NAME");
  AddSelectOption(command, flags->select);
  command->AddFlag("--no-comparisons", flags->no_comparisons,
                   "Leave out the paired comparisons, which read every per-example score");
  command
      ->AddOption("--curves", flags->curves,
                  "The reported name whose learning curves are shown (default: early_stop's "
                  "metric, else the one that most trainings report)")
      ->TypeName("NAME");
  flags->interval.level = 0.95;
  Option* interval = AddIntervalOptions(command, flags->interval)->DefaultText("0.95");
  command->Footer(
      "The page is one file that opens without a network.\n"
      "Examples:\n  concur report demo --out report.html\n"
      "  concur report --scores em.csv --group-by pretrained --out report.html");
  OnRun(command, context, [flags, interval, &context] {
    flags->interval_asked = interval->Count() > 0;
    return RunReport(*flags, context);
  });
}

}  // namespace concur::cli
