// SPDX-License-Identifier: Apache-2.0
// `concur next`: which cells to run next so that coefficients are known at least cost.
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "analysis/plan/plan.h"
#include "analysis/plan/plan_next.h"
#include "analysis/plan/plan_power.h"
#include "analysis/score_table.h"
#include "base/command/command.h"
#include "base/status_macros.h"
#include "cli/commands/commands.h"
#include "cli/commands/score_options.h"
#include "cli/output/table_output.h"
#include "cli/study/open_study.h"
#include "cli/study/study.h"
#include "concur/v1/coordinator.pb.h"
#include "core/fields.h"
#include "report/plan_tables.h"
#include "report/sweep_table.h"

namespace concur::cli {
namespace {

struct PlanFlags {
  std::string study;
  std::string scores;
  std::string metric;
  std::string select;
  std::string coefficient;
  bool power = false;
  analysis::PowerOptions precision;
  std::string costs;
  std::vector<std::string> columns;
  bool complete = false;
  uint64_t seed = 1;
  std::string format;
  ScoreFileFlags file;
};

// The part of a table that the flags choose.
absl::StatusOr<analysis::ScoreTable> ChosenTable(const PlanFlags& flags,
                                                 analysis::ScoreTable table) {
  CONCUR_ASSIGN_OR_RETURN(table, SelectColumns(std::move(table), flags.columns));
  return flags.complete ? table.CompleteCases() : table;
}

// The seconds that the succeeded jobs of each cell of `table` took: training on a benchmark and
// evaluation on it.
analysis::ScoreTable SecondsOfJobs(const Study& study, const analysis::ScoreTable& table) {
  analysis::ScoreTable seconds = table;
  std::map<std::string, size_t> rows;
  for (size_t i = 0; i < table.approaches().size(); ++i) {
    rows[table.approaches()[i].name] = i;
    for (size_t b = 0; b < table.benchmarks().size(); ++b) {
      seconds.cell(i, b) = analysis::ScoreCell();
    }
  }
  std::map<std::string, size_t> columns;
  for (size_t b = 0; b < table.benchmarks().size(); ++b) {
    columns[table.benchmarks()[b].name] = b;
  }
  for (const v1::Job& job : study.jobs) {
    const auto row = rows.find(job.approach());
    const auto column =
        columns.find(job.test_benchmark().empty() ? job.train_set() : job.test_benchmark());
    if (job.state() != v1::Job::STATE_SUCCEEDED || row == rows.end() || column == columns.end()) {
      continue;
    }
    analysis::ScoreCell& cell = seconds.cell(row->second, column->second);
    cell.state = analysis::CellState::kValue;
    const auto& took = job.result().run_time();
    cell.value += static_cast<double>(took.seconds()) + static_cast<double>(took.nanos()) / 1e9;
  }
  return seconds;
}

absl::Status RunNext(const PlanFlags& flags, CommandContext& context) {
  analysis::ScoreTable table;
  std::optional<Study> study;
  if (flags.study.empty()) {
    CONCUR_ASSIGN_OR_RETURN(table, ReadScores(flags.scores, flags.file, context));
    CONCUR_RETURN_IF_ERROR(ApplyMinimize(flags.file, table));
  } else {
    CONCUR_ASSIGN_OR_RETURN(OpenedStudy opened, OpenStudy(context, flags.study));
    CONCUR_ASSIGN_OR_RETURN(SweepTableOptions asked, TableOptionsOf(flags.file, flags.select));
    asked.divide = false;  // a job runs all parts
    CONCUR_ASSIGN_OR_RETURN(table, ScoreTableOf(opened.study, flags.metric, asked));
    study = std::move(opened.study);
  }
  CONCUR_ASSIGN_OR_RETURN(table, ChosenTable(flags, std::move(table)));
  CONCUR_ASSIGN_OR_RETURN(analysis::CellCosts costs, ReadCosts(flags.costs, table, context));
  if (study.has_value() && flags.costs.empty()) {
    // Before every benchmark has a finished job, all cells count alike.
    absl::StatusOr<analysis::CellCosts> measured =
        analysis::MatchCosts(table, SecondsOfJobs(*study, table));
    if (measured.ok()) {
      costs = *std::move(measured);
    } else {
      context.err << "warning: some benchmark has no finished job that took time: all cells count "
                     "as equally costly; --costs FILE says otherwise\n";
    }
  }
  analysis::NextOptions options;
  options.coefficient = flags.precision.coefficient;
  options.within = flags.precision.within;
  options.level = flags.precision.level;
  options.seed = flags.seed;
  // Scores that were computed elsewhere may still be computed there.
  options.empty_is_excluded = study.has_value() && !study->imported();
  CONCUR_ASSIGN_OR_RETURN(const analysis::NextCells next,
                          analysis::PlanNext(table, costs, options));
  return PrintTable(analysis::NextTable(next, table, costs, options), flags.format, context);
}

absl::Status RunPlan(PlanFlags flags, CommandContext& context) {
  CONCUR_RETURN_IF_ERROR(CheckFormat(flags.format));
  if ((flags.study.empty() ? 0 : 1) + (flags.scores.empty() ? 0 : 1) + (flags.power ? 1 : 0) != 1) {
    return absl::InvalidArgumentError("expected one of SWEEP, --scores FILE.csv and --power");
  }
  if (!flags.coefficient.empty()) {
    const auto coefficient = analysis::ParsePlannedCoefficient(flags.coefficient);
    CONCUR_RETURN_IF_ERROR(AtField(FieldPath("--coefficient"), coefficient.status()));
    flags.precision.coefficient = *coefficient;
  }
  if (flags.power) {
    CONCUR_ASSIGN_OR_RETURN(const analysis::Table table, analysis::PowerTable(flags.precision));
    return PrintTable(table, flags.format, context);
  }
  return RunNext(flags, context);
}

void AddPowerOptions(Command* command, PlanFlags& flags) {
  command->AddFlag("--power", flags.power, "How many approaches, seeds and examples it takes");
  command
      ->AddOption("--tau", flags.precision.value, "The coefficient that is expected, for --power")
      ->ShowDefault();
  command
      ->AddOption("--spread", flags.precision.spread,
                  "Standard deviation of true scores over approaches, in points, for --power")
      ->ShowDefault();
  command
      ->AddOption("--seed-spread", flags.precision.seed_spread,
                  "Standard deviation of scores over seeds, in points, for --power")
      ->ShowDefault();
  command
      ->AddOption("--accuracy", flags.precision.accuracy,
                  "Percentage of examples that a typical approach gets right, for --power")
      ->ShowDefault();
}

}  // namespace

void AddNextCommand(Command& app, CommandContext& context) {
  Command* command = app.AddSubcommand(
      "next", "Which cells to run next so that coefficients are known at least cost");
  const auto flags = std::make_shared<PlanFlags>();
  command->AddOption("sweep", flags->study, "A sweep, by name or id; or ./DIRECTORY of a bundle")
      ->TypeName("SWEEP");
  command
      ->AddOption("--scores", flags->scores,
                  "A scores CSV instead of a sweep; empty cells are what may be run")
      ->TypeName("FILE");
  command
      ->AddOption("--within", flags->precision.within,
                  "Half-width of an interval that is narrow enough")
      ->ShowDefault();
  command->AddOption("--coefficient", flags->coefficient, "kendall (tau-b), pearson or spearman")
      ->DefaultText("kendall");
  command->AddOption("--interval", flags->precision.level, "Level of the intervals")->ShowDefault();
  command
      ->AddOption("--costs", flags->costs,
                  "Costs of cells in any unit: a CSV like that of the scores, gaps allowed "
                  "(default: seconds of finished jobs; without a sweep, all alike)")
      ->TypeName("FILE");
  AddColumnsOption(command, flags->columns);
  command->AddOption("--metric", flags->metric, "A sweep's metric (default: each benchmark's own)")
      ->TypeName("NAME");
  AddSelectOption(command, flags->select,
                  "best, best-on-test, best-on-other-seeds, default or mean");
  command->AddOption("--seed", flags->seed, "Seed of the order")->ShowDefault();
  command->AddFlag("--complete", flags->complete, "Leave out approaches that lack a score");
  AddPowerOptions(command, *flags);
  AddScoreFileOptions(command, flags->file);
  AddFormatOption(command, flags->format, context);
  command->Footer(
      "Cells are run in an order that depends on costs and the seed alone: it can be stopped "
      "anywhere.\nIntervals are for what the whole table would give.\nExamples:\n"
      "  concur next demo --within 0.1\n"
      "  concur next --scores partial.csv --costs seconds.csv\n"
      "  concur next --power --within 0.1 --tau 0.5\n"
      "  concur next demo --coefficient spearman --within 0.1");
  OnRun(command, context, [flags, &context] { return RunPlan(*flags, context); });
}

}  // namespace concur::cli
