// SPDX-License-Identifier: Apache-2.0
// `scripts/bench early-stop`: what a rule of early stopping would have done on recorded learning
// curves.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/command/command.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "bench/replays/commands.h"
#include "bench/replays/early_stop_replay.h"
#include "bench/replays/learning_curves.h"
#include "cli/app/context.h"
#include "cli/output/print.h"
#include "cli/output/table_output.h"
#include "core/early_stop/early_stop.h"
#include "report/table.h"

namespace concur::cli {
namespace {

constexpr int64_t kCurvesBytesMax = int64_t{1} << 26;  // reading them takes ten times as much

struct EarlyStopFlags {
  std::string curves;
  std::string method = "asha";
  std::string metric;
  bool minimize = false;
  int64_t min = 1;
  int64_t max = 0;  // the last step of all
  int64_t eta = 3;
  int64_t workers = 1;
  bool events = false;
  std::string format;
};

int64_t LastStep(const std::vector<CellCurves>& cells) {
  int64_t last = 1;
  for (const CellCurves& cell : cells) {
    for (const LearningCurve& curve : cell.curves) {
      last = std::max(last, curve.points.empty() ? 0 : curve.points.back().step);
    }
  }
  return last;
}

void PrintEvents(const std::vector<CellCurves>& cells, const std::vector<EarlyStopReplay>& replays,
                 CommandContext& context) {
  Listing listing(context,
                  {{"APPROACH"},
                   {"BENCHMARK"},
                   {"SEED"},
                   {.name = "TIME", .is_number = true},
                   {"EVENT"},
                   {.name = "SETTING", .is_number = true},
                   {.name = "STEP", .is_number = true},
                   {.name = "VALUE", .is_number = true}},
                  {{"approach", ""},
                   {"benchmark", ""},
                   {"seed", ""},
                   {"time", 0},
                   {"event", ""},
                   {"setting", 0},
                   {"step", 0},
                   {"value", nullptr}},
                  "No events.");
  for (size_t c = 0; c < cells.size(); ++c) {
    for (const EarlyStopEvent& event : replays[c].events) {
      const int64_t setting = cells[c].settings[event.setting];
      const bool has_value = event.kind == EarlyStopEvent::Kind::kReport;
      const std::string name(EarlyStopEventName(event.kind));
      listing.Add({cells[c].approach, cells[c].benchmark, cells[c].seed,
                   absl::StrFormat("%.2f", event.time), name, absl::StrCat(setting),
                   absl::StrCat(event.step), has_value ? absl::StrFormat("%.4f", event.value) : ""},
                  {{"approach", cells[c].approach},
                   {"benchmark", cells[c].benchmark},
                   {"seed", cells[c].seed},
                   {"time", event.time},
                   {"event", name},
                   {"setting", setting},
                   {"step", event.step},
                   {"value", has_value ? Json(event.value) : Json()}});
    }
  }
  listing.Print();
}

// False for a cell whose settings all failed: there is nothing to select.
bool IsAsGood(const EarlyStopReplay& replay) {
  return replay.selected.has_value() && replay.selected_value == replay.best_value;
}

analysis::Table TableOf(const std::vector<CellCurves>& cells,
                        const std::vector<EarlyStopReplay>& replays, const EarlyStopRule& rule,
                        int64_t workers) {
  analysis::Table table;
  table.title = absl::StrCat(
      "Early stopping by ", EarlyStopMethodName(rule.method), ", steps ", rule.min, " to ",
      rule.max, Halves(rule.method) ? absl::StrCat(", eta ", rule.eta) : "", ", ", workers,
      workers == 1 ? " worker" : " workers", ", on recorded learning curves");
  table.columns = {{"approach", "approach"},
                   {"benchmark", "benchmark"},
                   {"seed", "seed"},
                   {"settings", "settings", true},
                   {"finished", "finished", true},
                   {"best", "best", true},
                   {"selected", "selected", true},
                   {"best_value", "its score", true},
                   {"selected_value", "selected's", true},
                   {"as_good", "as good"},
                   {"training", "training", true, 3}};
  table.key_columns = 3;
  double full_cost = 0;
  double cost = 0;
  double loss = 0;
  size_t as_good = 0;
  for (size_t c = 0; c < cells.size(); ++c) {
    const EarlyStopReplay& replay = replays[c];
    full_cost += replay.full_cost;
    cost += replay.cost;
    loss += std::abs(replay.best_value - replay.selected_value);
    as_good += IsAsGood(replay) ? 1 : 0;
    table.rows.push_back({analysis::TextCell(cells[c].approach),
                          analysis::TextCell(cells[c].benchmark), analysis::TextCell(cells[c].seed),
                          analysis::IntegerCell(static_cast<int64_t>(cells[c].curves.size())),
                          analysis::IntegerCell(replay.finished),
                          analysis::IntegerCell(cells[c].settings[*replay.best]),
                          analysis::IntegerCell(cells[c].settings[*replay.selected]),
                          analysis::NumberCell(replay.best_value),
                          analysis::NumberCell(replay.selected_value),
                          analysis::YesNoCell(IsAsGood(replay)),
                          analysis::NumberCell(replay.cost / replay.full_cost)});
  }
  const auto count = static_cast<double>(cells.size());
  table.notes = {absl::StrFormat(
      "A setting as good as the best was selected in %d of %d cells (%.1f %%), with "
      "%.1f %% of the training; the score lost is %.4g in the mean.",
      as_good, cells.size(), 100 * static_cast<double>(as_good) / count, 100 * cost / full_cost,
      loss / count)};
  return table;
}

absl::Status RunEarlyStop(const EarlyStopFlags& flags, CommandContext& context) {
  CONCUR_RETURN_IF_ERROR(CheckFormat(flags.format));
  EarlyStopRule rule;
  const absl::StatusOr<EarlyStopMethod> method = EarlyStopMethodFromName(flags.method);
  if (!method.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("--method: ", method.status().message()));
  }
  rule.method = *method;
  CONCUR_ASSIGN_OR_RETURN(const std::string text, ReadFile(flags.curves, kCurvesBytesMax));
  CONCUR_ASSIGN_OR_RETURN(const std::vector<CellCurves> cells,
                          ParseCurves(text, flags.curves, flags.metric));
  rule.minimize = flags.minimize;
  rule.min = flags.min;
  rule.max = flags.max == 0 ? LastStep(cells) : flags.max;
  rule.eta = flags.eta;
  const absl::Status valid = CheckEarlyStopRule(rule);
  if (!valid.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("--", valid.message()));
  }
  std::vector<EarlyStopReplay> replays;
  for (const CellCurves& cell : cells) {
    replays.push_back(ReplayEarlyStop(rule, cell.curves, static_cast<uint32_t>(flags.workers)));
    if (!replays.back().best) {
      return absl::InvalidArgumentError(
          absl::StrCat(flags.curves, ": --max: expected a step that a setting of ", cell.approach,
                       " on ", cell.benchmark, " reports by then, got ", rule.max));
    }
  }
  if (flags.events) {
    PrintEvents(cells, replays, context);
    return absl::OkStatus();
  }
  return PrintTable(TableOf(cells, replays, rule, flags.workers), flags.format, context);
}

}  // namespace

void AddEarlyStopCommand(Command& app, CommandContext& context) {
  Command* const command = app.AddSubcommand(
      "early-stop", "What early stopping of settings would have done on recorded learning curves");
  const auto flags = std::make_shared<EarlyStopFlags>();
  command
      ->AddOption(
          "curves", flags->curves,
          "A CSV that concur sweep steps wrote, or one with the columns setting, step, value")
      ->TypeName("FILE")
      ->Required();
  command
      ->AddOption(
          "--method", flags->method,
          "asha (asynchronous successive halving), hyperband (the same in brackets of several "
          "--min) or median (the median stopping rule)")
      ->ShowDefault();
  command->AddOption("--metric", flags->metric, "The reported name that counts, of several")
      ->TypeName("NAME");
  command->AddFlag("--minimize", flags->minimize, "Less of it is better");
  command->AddOption("--min", flags->min, "Steps before a setting may stop")->ShowDefault();
  command->AddOption("--max", flags->max, "Steps of a whole training (default: the last of all)");
  command->AddOption("--eta", flags->eta, "For asha and hyperband: of so many settings one goes on")
      ->ShowDefault();
  command->AddOption("--workers", flags->workers, "That train the settings of a cell")
      ->ShowDefault()
      ->InRange(1, 100'000);
  command->AddFlag("--events", flags->events,
                   "Instead: what happened, in order, as it was decided");
  AddFormatOption(command, flags->format, context);
  command->Footer(
      "A setting's score is its best so far; it costs the seconds of its training, else its "
      "steps.\n"
      "Examples:\n"
      "  scripts/bench early-stop curves.csv --metric f1 --eta 3 --workers 4\n"
      "  concur sweep steps study -o csv > curves.csv\n"
      "  scripts/bench early-stop curves.csv --metric loss --minimize --method median --min 2");
  OnRun(command, context, [flags, &context] { return RunEarlyStop(*flags, context); });
}

}  // namespace concur::cli
