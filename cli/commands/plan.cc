// SPDX-License-Identifier: Apache-2.0
// `concur plan`: which cells to run next so that coefficients are known at least cost.
#include "analysis/plan.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "analysis/plan_next.h"
#include "analysis/plan_power.h"
#include "analysis/plan_replay.h"
#include "analysis/plan_until.h"
#include "analysis/replay_figure.h"
#include "analysis/score_table.h"
#include "base/status_macros.h"
#include "cli/commands/commands.h"
#include "cli/commands/score_options.h"
#include "cli/output/table_output.h"
#include "cli/study/bundle.h"
#include "cli/study/imported_study.h"
#include "cli/study/open_study.h"
#include "cli/study/study.h"
#include "command/command.h"
#include "concur/v1/coordinator.pb.h"
#include "core/fields.h"
#include "imports/import.h"
#include "imports/imported.h"
#include "scores/sweep_table.h"

namespace concur::cli {
namespace {

struct PlanFlags {
  std::string study;
  std::string scores;
  std::string metric;
  std::string select;
  std::string replay;
  std::string until;
  std::string coefficient;
  bool power = false;
  analysis::PowerOptions precision;
  std::string costs;
  std::vector<std::string> columns;
  std::vector<std::string> budgets;
  int64_t replays = 200;
  bool complete = false;
  uint64_t seed = 1;
  std::string format;
  ScoreFileFlags file;
};

absl::StatusOr<std::vector<double>> BudgetsOf(const PlanFlags& flags) {
  std::vector<double> budgets;
  CONCUR_ASSIGN_OR_RETURN(const std::vector<std::string> parts,
                          SplitAllNames("--budgets", flags.budgets));
  for (const std::string& part : parts) {
    if (!absl::SimpleAtod(part, &budgets.emplace_back())) {
      return absl::InvalidArgumentError(
          absl::StrCat("--budgets: expected shares such as 0.2,0.3, got \"", part, "\""));
    }
  }
  return budgets;
}

// What is chosen of a table.
absl::StatusOr<analysis::ScoreTable> ChosenTable(const PlanFlags& flags,
                                                 analysis::ScoreTable table) {
  CONCUR_ASSIGN_OR_RETURN(table, SelectColumns(std::move(table), flags.columns));
  return flags.complete ? table.CompleteCases() : table;
}

absl::StatusOr<analysis::CellCosts> LoadCosts(const PlanFlags& flags,
                                              const analysis::ScoreTable& table,
                                              CommandContext& context) {
  if (flags.costs.empty()) {
    return analysis::EqualCosts(table);
  }
  CONCUR_ASSIGN_OR_RETURN(const analysis::ScoreTable costs, ReadScores(flags.costs, {}, context));
  return analysis::MatchCosts(table, costs);
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
    CONCUR_ASSIGN_OR_RETURN(const SweepTableOptions asked,
                            TableOptionsOf(flags.file, flags.select));
    CONCUR_ASSIGN_OR_RETURN(table, ScoreTableOf(opened.study, flags.metric, asked));
    study = std::move(opened.study);
  }
  CONCUR_ASSIGN_OR_RETURN(table, ChosenTable(flags, std::move(table)));
  CONCUR_ASSIGN_OR_RETURN(analysis::CellCosts costs, LoadCosts(flags, table, context));
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

// What --until would have done; `options` is what was asked for.
absl::StatusOr<analysis::UntilReplay> ReplayedUntil(const PlanFlags& flags,
                                                    const analysis::UntilRule& rule,
                                                    const analysis::ScoreTable& table,
                                                    const analysis::CellCosts& costs,
                                                    analysis::UntilOptions& options) {
  options.rule = rule;
  options.level = flags.precision.level;
  options.replays = flags.replays;
  options.seed = flags.seed;
  options.parallel_for = ThreadedFor;
  return analysis::ReplayUntil(table, costs, options);
}

// The table to replay: a bundle, a leaderboard between tabs as `concur import` reads it, or a CSV.
absl::StatusOr<analysis::ScoreTable> ReplayedTable(const PlanFlags& flags,
                                                   CommandContext& context) {
  analysis::ScoreTable whole;
  std::error_code error;
  const bool is_bundle = std::filesystem::is_directory(flags.replay, error);
  if (is_bundle || absl::EndsWith(flags.replay, ".tsv")) {
    Study study;
    if (is_bundle) {
      CONCUR_ASSIGN_OR_RETURN(study, LoadBundle(flags.replay));
    } else {
      imports::ImportRequest request;
      request.format = "leaderboard";
      request.paths = {flags.replay};
      CONCUR_ASSIGN_OR_RETURN(imports::ImportedResults results, imports::Import(request));
      CONCUR_ASSIGN_OR_RETURN(study, StudyOfImport(results, "replay"));
    }
    CONCUR_ASSIGN_OR_RETURN(const SweepTableOptions asked,
                            TableOptionsOf(flags.file, flags.select));
    CONCUR_ASSIGN_OR_RETURN(whole, ScoreTableOf(study, flags.metric, asked));
  } else {
    CONCUR_ASSIGN_OR_RETURN(whole, ReadScores(flags.replay, flags.file, context));
    CONCUR_RETURN_IF_ERROR(ApplyMinimize(flags.file, whole));
  }
  return ChosenTable(flags, std::move(whole));
}

absl::Status RunReplay(const PlanFlags& flags, const std::optional<analysis::UntilRule>& rule,
                       CommandContext& context) {
  CONCUR_ASSIGN_OR_RETURN(const analysis::ScoreTable table, ReplayedTable(flags, context));
  CONCUR_ASSIGN_OR_RETURN(const analysis::CellCosts costs, LoadCosts(flags, table, context));
  analysis::ReplayOptions options;
  options.coefficient = flags.precision.coefficient;
  if (!flags.budgets.empty()) {
    CONCUR_ASSIGN_OR_RETURN(options.budgets, BudgetsOf(flags));
  }
  options.replays = flags.replays;
  options.seed = flags.seed;
  options.level = flags.precision.level;
  options.parallel_for = ThreadedFor;
  std::optional<analysis::ReplayedStop> stop;
  std::optional<analysis::Table> until;
  if (rule.has_value()) {
    analysis::UntilOptions until_options;
    CONCUR_ASSIGN_OR_RETURN(const analysis::UntilReplay means,
                            ReplayedUntil(flags, *rule, table, costs, until_options));
    stop = {*rule, means};
    until = analysis::UntilTable(means, until_options);
  }
  const analysis::TableFormat form = FormatOf(flags.format, context);
  const bool is_figure = flags.format == "svg";
  if (until.has_value() && form != analysis::TableFormat::kJson && flags.budgets.empty() &&
      !is_figure) {
    return PrintTable(*until, flags.format, context);
  }
  CONCUR_ASSIGN_OR_RETURN(const std::vector<analysis::ReplayPoint> points,
                          analysis::ReplayPlans(table, costs, options));
  if (is_figure) {
    context.out << analysis::ReplaySvg(
        points, options.coefficient,
        absl::StrCat(analysis::PlannedTitle(options.coefficient), " of ", table.benchmarks().size(),
                     " benchmarks from part of ", table.approaches().size(), " approaches' cells"),
        stop);
    return absl::OkStatus();
  }
  if (form == analysis::TableFormat::kJson) {
    PrintAs(form, analysis::ReplayJson(points, until), context);
    return absl::OkStatus();
  }
  if (until.has_value()) {
    CONCUR_RETURN_IF_ERROR(PrintTable(*until, flags.format, context));
    context.out << "\n";
  }
  return PrintTable(analysis::ReplayTable(points, table, costs, options), flags.format, context);
}

// The coefficient that is asked for, and the rule of --until, which names one, too.
absl::StatusOr<std::optional<analysis::UntilRule>> ReadCoefficient(PlanFlags& flags) {
  if (!flags.coefficient.empty()) {
    const auto coefficient = analysis::ParsePlannedCoefficient(flags.coefficient);
    CONCUR_RETURN_IF_ERROR(AtField(FieldPath("--coefficient"), coefficient.status()));
    flags.precision.coefficient = *coefficient;
  }
  if (flags.until.empty()) {
    return std::nullopt;
  }
  const absl::StatusOr<analysis::UntilRule> rule = analysis::ParseUntil(flags.until);
  CONCUR_RETURN_IF_ERROR(AtField(FieldPath("--until"), rule.status()));
  if (!flags.coefficient.empty() && rule->coefficient != flags.precision.coefficient) {
    return absl::InvalidArgumentError(absl::StrCat("--coefficient: expected that of --until ",
                                                   flags.until, ", got \"", flags.coefficient,
                                                   "\"; leave it out"));
  }
  flags.precision.coefficient = rule->coefficient;
  return *rule;
}

absl::Status RunPlan(PlanFlags flags, CommandContext& context) {
  CONCUR_RETURN_IF_ERROR(CheckFormat(flags.format, /*with_svg=*/!flags.replay.empty()));
  if ((flags.study.empty() ? 0 : 1) + (flags.scores.empty() ? 0 : 1) +
          (flags.replay.empty() ? 0 : 1) + (flags.power ? 1 : 0) !=
      1) {
    return absl::InvalidArgumentError(
        "expected one of SWEEP, --scores FILE.csv, --replay TABLE and --power");
  }
  if (!flags.until.empty() && flags.replay.empty()) {
    return absl::InvalidArgumentError(
        "--until: expected --replay TABLE beside it; concur sweep submit --until runs cells");
  }
  CONCUR_ASSIGN_OR_RETURN(const std::optional<analysis::UntilRule> rule, ReadCoefficient(flags));
  if (flags.power) {
    CONCUR_ASSIGN_OR_RETURN(const analysis::Table table, analysis::PowerTable(flags.precision));
    return PrintTable(table, flags.format, context);
  }
  return flags.replay.empty() ? RunNext(flags, context) : RunReplay(flags, rule, context);
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

void AddPlanCommand(Command& app, CommandContext& context) {
  Command* command = app.AddSubcommand(
      "plan", "Which cells to run next so that coefficients are known at least cost");
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
  command->AddOption("--metric", flags->metric, "Of a sweep (default: each benchmark's own)")
      ->TypeName("NAME");
  AddSelectOption(command, flags->select,
                  "best, best-on-test, best-on-other-seeds, default or mean");
  command->AddOption("--seed", flags->seed, "Seed of the order")->ShowDefault();
  command
      ->AddOption("--replay", flags->replay,
                  "A complete table to try plans on: a scores CSV, a leaderboard (.tsv, read as by "
                  "concur import), or the directory of a bundle")
      ->TypeName("TABLE");
  command
      ->AddOption("--budgets", flags->budgets,
                  "Shares of the cost of the whole table, for --replay (default: 0.1,0.2,0.3,0.5)")
      ->TypeName("SHARE[,...]")
      ->OneValueEach();
  command->AddOption("--replays", flags->replays, "How often each budget is tried")->ShowDefault();
  command
      ->AddOption(
          "--until", flags->until,
          "What `sweep submit --until` would have done, for --replay: \"tau ±0.1\", \"r ±0.1\" "
          "or \"rho ±0.1\"")
      ->TypeName("'tau ±W'");
  command->AddFlag("--complete", flags->complete, "Leave out approaches that lack a score");
  AddPowerOptions(command, *flags);
  AddScoreFileOptions(command, flags->file);
  AddFormatOption(command, flags->format, /*with_svg=*/true);
  command->Footer(
      "Cells are run in an order that depends on costs and the seed alone: it can be stopped "
      "anywhere.\nIntervals are for what the whole table would give. A replay compares "
      "coefficients from part of a\ncomplete table with those of all of it: the part that is "
      "planned, random approaches, random cells.\nExamples:\n"
      "  concur plan demo --within 0.1\n"
      "  concur plan --scores partial.csv --costs seconds.csv\n"
      "  concur plan --power --within 0.1 --tau 0.5\n"
      "  concur plan demo --coefficient spearman --within 0.1\n"
      "  concur plan --replay scores.csv --costs seconds.csv --budgets 0.2,0.3 -o json");
  OnRun(command, context, [flags, &context] { return RunPlan(*flags, context); });
}

}  // namespace concur::cli
