// SPDX-License-Identifier: Apache-2.0
// `scripts/bench plan`: what plans would have known of a complete table for part of its cost.
#include <cstddef>
#include <cstdint>
#include <filesystem>
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
#include "analysis/plan/plan.h"
#include "analysis/plan/plan_until.h"
#include "analysis/score_table.h"
#include "analysis/statistics/coefficient.h"
#include "base/command/command.h"
#include "base/status_macros.h"
#include "bench/replays/commands.h"
#include "bench/replays/plan_replay.h"
#include "bench/replays/replay_figure.h"
#include "bench/replays/until_replay.h"
#include "cli/app/context.h"
#include "cli/commands/score_options.h"
#include "cli/output/table_output.h"
#include "cli/study/bundle.h"
#include "cli/study/imported_study.h"
#include "cli/study/study.h"
#include "core/fields.h"
#include "qa/results/import.h"
#include "qa/results/imported.h"
#include "report/sweep_table.h"
#include "report/table.h"

namespace concur::cli {
namespace {

struct PlanReplayFlags {
  std::string table;
  std::string until;
  std::string coefficient;
  std::string costs;
  std::string metric;
  std::string select;
  std::vector<std::string> columns;
  std::vector<std::string> budgets;
  bool complete = false;
  analysis::ReplayOptions options;
  std::string format;
  ScoreFileFlags file;
};

absl::StatusOr<std::vector<double>> BudgetsOf(const PlanReplayFlags& flags) {
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

// The table to replay: a bundle, a leaderboard between tabs as `concur bundle convert` reads
// it, or a CSV.
absl::StatusOr<analysis::ScoreTable> ReplayedTable(const PlanReplayFlags& flags,
                                                   CommandContext& context) {
  analysis::ScoreTable whole;
  std::error_code error;
  const bool is_bundle = std::filesystem::is_directory(flags.table, error);
  if (is_bundle || absl::EndsWith(flags.table, ".tsv")) {
    Study study;
    if (is_bundle) {
      CONCUR_ASSIGN_OR_RETURN(study, LoadBundle(flags.table));
    } else {
      imports::ImportRequest request;
      request.format = "leaderboard";
      request.paths = {flags.table};
      CONCUR_ASSIGN_OR_RETURN(imports::ImportedResults results, imports::Import(request));
      CONCUR_ASSIGN_OR_RETURN(study, StudyOfImport(results, "replay"));
    }
    CONCUR_ASSIGN_OR_RETURN(const SweepTableOptions asked,
                            TableOptionsOf(flags.file, flags.select));
    CONCUR_ASSIGN_OR_RETURN(whole, ScoreTableOf(study, flags.metric, asked));
  } else {
    CONCUR_ASSIGN_OR_RETURN(whole, ReadScores(flags.table, flags.file, context));
    CONCUR_RETURN_IF_ERROR(ApplyMinimize(flags.file, whole));
  }
  CONCUR_ASSIGN_OR_RETURN(whole, SelectColumns(std::move(whole), flags.columns));
  return flags.complete ? whole.CompleteCases() : whole;
}

// Puts the coefficient that is asked for into the options. Returns the rule of --until, which names
// one, too.
absl::StatusOr<std::optional<analysis::UntilRule>> ReadCoefficient(PlanReplayFlags& flags) {
  if (!flags.coefficient.empty()) {
    const auto coefficient = analysis::ParsePlannedCoefficient(flags.coefficient);
    CONCUR_RETURN_IF_ERROR(AtField(FieldPath("--coefficient"), coefficient.status()));
    flags.options.coefficient = *coefficient;
  }
  if (flags.until.empty()) {
    return std::nullopt;
  }
  const absl::StatusOr<analysis::UntilRule> rule = analysis::ParseUntil(flags.until);
  CONCUR_RETURN_IF_ERROR(AtField(FieldPath("--until"), rule.status()));
  if (!flags.coefficient.empty() && rule->coefficient != flags.options.coefficient) {
    return absl::InvalidArgumentError(absl::StrCat("--coefficient: expected that of --until ",
                                                   flags.until, ", got \"", flags.coefficient,
                                                   "\"; leave it out"));
  }
  flags.options.coefficient = rule->coefficient;
  return *rule;
}

absl::Status RunPlanReplay(PlanReplayFlags flags, CommandContext& context) {
  CONCUR_RETURN_IF_ERROR(CheckFormat(flags.format, /*with_svg=*/true));
  CONCUR_ASSIGN_OR_RETURN(const std::optional<analysis::UntilRule> rule, ReadCoefficient(flags));
  CONCUR_ASSIGN_OR_RETURN(const analysis::ScoreTable table, ReplayedTable(flags, context));
  CONCUR_ASSIGN_OR_RETURN(const analysis::CellCosts costs, ReadCosts(flags.costs, table, context));
  analysis::ReplayOptions& options = flags.options;
  if (!flags.budgets.empty()) {
    CONCUR_ASSIGN_OR_RETURN(options.budgets, BudgetsOf(flags));
  }
  options.parallel_for = ThreadedFor;
  std::optional<analysis::ReplayedStop> stop;
  std::optional<analysis::Table> until;
  if (rule.has_value()) {
    const analysis::UntilOptions until_options = {*rule, options.level, options.replays,
                                                  options.seed, ThreadedFor};
    CONCUR_ASSIGN_OR_RETURN(const analysis::UntilReplay means,
                            analysis::ReplayUntil(table, costs, until_options));
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

}  // namespace

void AddPlanReplayCommand(Command& app, CommandContext& context) {
  Command* command = app.AddSubcommand(
      "plan", "What plans would have known of a complete table for part of its cost");
  const auto flags = std::make_shared<PlanReplayFlags>();
  command
      ->AddOption("--replay", flags->table,
                  "A complete table to try plans on: a scores CSV, a leaderboard (.tsv, read as by "
                  "concur bundle convert), or the directory of a bundle")
      ->TypeName("TABLE")
      ->Required();
  command->AddOption("--coefficient", flags->coefficient, "kendall (tau-b), pearson or spearman")
      ->DefaultText("kendall");
  command->AddOption("--interval", flags->options.level, "Level of the intervals")->ShowDefault();
  command
      ->AddOption("--costs", flags->costs,
                  "Costs of cells in any unit: a CSV like that of the scores, gaps allowed "
                  "(default: all alike)")
      ->TypeName("FILE");
  AddColumnsOption(command, flags->columns);
  command->AddOption("--metric", flags->metric, "Of a bundle (default: each benchmark's own)")
      ->TypeName("NAME");
  AddSelectOption(command, flags->select,
                  "best, best-on-test, best-on-other-seeds, default or mean");
  command->AddOption("--seed", flags->options.seed, "Seed of the order")->ShowDefault();
  command
      ->AddOption("--budgets", flags->budgets,
                  "Shares of the cost of the whole table (default: 0.1,0.2,0.3,0.5)")
      ->TypeName("SHARE[,...]")
      ->OneValueEach();
  command->AddOption("--replays", flags->options.replays, "How often each budget is tried")
      ->ShowDefault();
  command
      ->AddOption("--until", flags->until,
                  "What `sweep submit --until` would have done: \"tau ±0.1\", \"r ±0.1\" or "
                  "\"rho ±0.1\"")
      ->TypeName("'tau ±W'");
  command->AddFlag("--complete", flags->complete, "Leave out approaches that lack a score");
  AddScoreFileOptions(command, flags->file);
  AddFormatOption(command, flags->format, context, /*with_svg=*/true);
  command->Footer(
      "A replay compares coefficients from part of a complete table with those of all of it: the "
      "part\nthat is planned, random approaches, random cells.\nExamples:\n"
      "  scripts/bench plan --replay scores.csv --costs seconds.csv --budgets 0.2,0.3 -o json\n"
      "  scripts/bench plan --replay board.tsv --until 'tau ±0.1'");
  OnRun(command, context, [flags, &context] { return RunPlanReplay(*flags, context); });
}

}  // namespace concur::cli
