// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/run/sweep_submit_until.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "analysis/plan/plan.h"
#include "analysis/plan/plan_estimate.h"
#include "analysis/plan/plan_power.h"
#include "analysis/plan/plan_until.h"
#include "analysis/score_table.h"
#include "analysis/statistics/coefficient.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "cli/client/client.h"
#include "cli/commands/commands.h"
#include "cli/commands/score_options.h"
#include "cli/output/print.h"
#include "cli/output/render.h"
#include "cli/output/table_output.h"
#include "cli/study/open_study.h"
#include "core/fields.h"
#include "proto/rpc/convert_sweep.h"
#include "report/table.h"
#include "yaml/loaded_sweep.h"

namespace concur::cli {
namespace {

// Result of one look.
struct LookRecord {
  std::string sweep;
  size_t cells = 0;  // released by then
  double cost = 0;   // their share of all cells' cost
  analysis::Look look;
};

struct UntilRun {
  analysis::UntilRule rule;
  double level = 0;  // the intervals' level at each look
  bool known = false;
  std::vector<LookRecord> looks;
  std::vector<bool> released;
  v1::Sweep last;
};

absl::StatusOr<analysis::CellCosts> CostsOfGrid(const UntilFlags& flags, const UntilGrid& grid,
                                                CommandContext& context) {
  if (flags.costs.empty()) {
    return analysis::EqualCosts(grid.table);
  }
  CONCUR_ASSIGN_OR_RETURN(const analysis::ScoreTable costs, ReadScores(flags.costs, {}, context));
  return analysis::MatchCosts(grid.table, costs);
}

// The scores of the sweep in the places of the grid.
analysis::ScoreTable ScoresInGrid(const UntilGrid& grid, const analysis::ScoreTable& scores) {
  std::map<std::string, size_t> rows;
  for (size_t i = 0; i < scores.approaches().size(); ++i) {
    rows[scores.approaches()[i].name] = i;
  }
  analysis::ScoreTable placed = grid.table;
  for (size_t b = 0; b < scores.benchmarks().size(); ++b) {
    for (size_t column = 0; column < placed.benchmarks().size(); ++column) {
      if (placed.benchmarks()[column].name != scores.benchmarks()[b].name) {
        continue;
      }
      for (size_t i = 0; i < placed.approaches().size(); ++i) {
        const auto row = rows.find(placed.approaches()[i].name);
        if (row != rows.end()) {
          placed.cell(i, column) = scores.cell(row->second, b);
        }
      }
    }
  }
  return placed;
}

// Submits one batch and waits for its end.
absl::StatusOr<v1::Sweep> RunBatch(CommandContext& context, Client& client,
                                   const spec::LoadedSweep& batch, const SubmitFlags& submit,
                                   const WatchOptions& watch) {
  CONCUR_ASSIGN_OR_RETURN(
      const v1::Sweep submitted,
      SubmitBatch(context, client, batch, submit.request_id.empty() ? "until" : submit.request_id));
  CONCUR_ASSIGN_OR_RETURN(const v1::Sweep sweep,
                          FollowSweep(context, client, submitted.id(), watch));
  CONCUR_RETURN_IF_ERROR(CheckNotCanceled(sweep));
  return client.GetSweep(sweep.id(), Client::Include::kSpec);
}

std::string PairName(const UntilGrid& grid, const analysis::PairEstimate& pair) {
  return absl::StrCat(grid.table.benchmarks()[pair.a].name, " × ",
                      grid.table.benchmarks()[pair.b].name);
}

// The benchmarks of each approach that were left out.
std::vector<std::pair<std::string, std::vector<std::string>>> LeftOut(
    const UntilGrid& grid, const std::vector<bool>& released) {
  std::vector<std::pair<std::string, std::vector<std::string>>> left_out;
  const size_t columns = grid.benchmarks.size();
  for (size_t i = 0; i < grid.approaches.size(); ++i) {
    std::vector<std::string> benchmarks;
    for (size_t b = 0; b < columns; ++b) {
      if (grid.has_job[i * columns + b] && !released[i * columns + b]) {
        benchmarks.push_back(grid.table.benchmarks()[b].name);
      }
    }
    if (!benchmarks.empty()) {
      left_out.emplace_back(grid.table.approaches()[i].name, std::move(benchmarks));
    }
  }
  return left_out;
}

std::string WhyText(const UntilRun& run, size_t left_out) {
  if (run.known) {
    return absl::StrFormat(
        "Stopped: every %s of these approaches is known to ± %g; %d %s left out, as no more is "
        "needed for that.",
        analysis::PlannedTitle(run.rule.coefficient), run.rule.within, left_out,
        left_out == 1 ? "cell was" : "cells were");
  }
  return absl::StrFormat("Every cell was released; the widest interval is ± %.2f.",
                         run.looks.empty() ? 1 : run.looks.back().look.half_width);
}

analysis::Table LooksTable(const UntilGrid& grid, const UntilRun& run) {
  analysis::Table table;
  table.title = absl::StrFormat("Until every %s is known to ± %g",
                                analysis::PlannedTitle(run.rule.coefficient), run.rule.within);
  table.columns = {{"look", "look", true},       {"sweep", "sweep"},
                   {"cells", "cells", true},     {"cost", "cost", true, 3},
                   {"half_width", "±", true, 3}, {"widest", "widest"}};
  int64_t number = 0;
  for (const LookRecord& record : run.looks) {
    const bool has_pairs = !record.look.pairs.empty();
    table.rows.push_back(
        {analysis::IntegerCell(++number), analysis::TextCell(record.sweep),
         analysis::IntegerCell(static_cast<int64_t>(record.cells)),
         analysis::NumberCell(record.cost), analysis::NumberCell(record.look.half_width),
         analysis::TextCell(has_pairs ? PairName(grid, record.look.pairs[record.look.widest])
                                      : "")});
  }
  const auto left_out = LeftOut(grid, run.released);
  size_t cells = 0;
  for (const auto& [approach, benchmarks] : left_out) {
    cells += benchmarks.size();
  }
  table.notes.push_back(WhyText(run, cells));
  for (const auto& [approach, benchmarks] : left_out) {
    table.notes.push_back(
        absl::StrCat("Left out: ", approach, " on ", absl::StrJoin(benchmarks, ", "), "."));
  }
  table.notes.push_back(absl::StrFormat(
      "Intervals have the level %.2f %% at each look, so that those of all looks hold together.",
      100 * run.level));
  return table;
}

Json UntilJson(const UntilGrid& grid, const UntilRun& run) {
  Json looks = Json::array();
  for (const LookRecord& record : run.looks) {
    Json json;
    json["sweep"] = record.sweep;
    json["cells"] = record.cells;
    json["cost"] = record.cost;
    json["half_width"] = record.look.half_width;
    looks.push_back(std::move(json));
  }
  Json left_out = Json::array();
  size_t cells = 0;
  for (const auto& [approach, benchmarks] : LeftOut(grid, run.released)) {
    cells += benchmarks.size();
    left_out.push_back({{"approach", approach}, {"benchmarks", benchmarks}});
  }
  Json json;
  json["coefficient"] = analysis::CoefficientName(run.rule.coefficient);
  json["within"] = run.rule.within;
  json["level_of_looks"] = run.level;
  json["known"] = run.known;
  json["why"] = WhyText(run, cells);
  json["looks"] = std::move(looks);
  json["left_out"] = std::move(left_out);
  return json;
}

// The benchmarks that a block is evaluated on; validation sets go with theirs.
std::vector<uint32_t> TestsOf(const SweepSpec& spec, const Block& block) {
  std::vector<uint32_t> tests = block.tests;
  std::erase_if(tests,
                [&](uint32_t test) { return spec.benchmarks[test].validation_of.has_value(); });
  return tests;
}

absl::Status CheckUntil(const SubmitFlags& submit, const UntilFlags& flags, double within) {
  if (submit.dry_run || !submit.rerun.empty()) {
    return absl::InvalidArgumentError(
        "--until: expected neither --dry-run nor --rerun, since batches reuse what the ones before "
        "have finished");
  }
  return analysis::CheckPrecision(within, flags.level);
}

}  // namespace

absl::StatusOr<UntilGrid> GridOf(const Expansion& expansion) {
  const SweepSpec& spec = expansion.spec();
  if (spec.select == Selection::kEach) {
    return absl::InvalidArgumentError(
        "--until: expected one score of each approach on each benchmark, got select: each");
  }
  if (spec.search) {
    return absl::InvalidArgumentError(
        "--until: expected a sweep without settings.search, since each batch would search anew; "
        "write settings.random, or leave out --until");
  }
  if (spec.early_stop) {
    return absl::InvalidArgumentError(
        "--until: expected a sweep without early_stop, since each batch would train the settings "
        "again that the ones before have stopped; leave out early_stop or --until");
  }
  std::set<uint32_t> rows;
  std::set<uint32_t> columns;
  for (const Block& block : expansion.blocks()) {
    if (block.source) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--until: expected approaches without train_from, since a batch may leave out what \"",
          spec.approaches[block.approach].name, "\" starts from; leave out one of the two"));
    }
    const std::vector<uint32_t> tests = TestsOf(spec, block);
    const bool elsewhere =
        block.has_train && (spec.train_sets[block.train_set].IsMixture() || tests.size() != 1 ||
                            tests[0] != spec.train_sets[block.train_set].parts[0].benchmark);
    if (elsewhere) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--until: expected systems that are evaluated on the benchmark on which they were "
          "trained (evaluate_on: same, no mixtures), got \"",
          spec.approaches[block.approach].name, "\" trained on \"",
          spec.train_sets[block.train_set].name, "\""));
    }
    rows.insert(block.approach);
    columns.insert(tests.begin(), tests.end());
  }
  UntilGrid grid;
  grid.approaches.assign(rows.begin(), rows.end());
  grid.benchmarks.assign(columns.begin(), columns.end());
  std::vector<analysis::AxisEntry> approaches;
  for (const uint32_t approach : grid.approaches) {
    approaches.push_back({spec.approaches[approach].name, spec.approaches[approach].tags});
  }
  std::vector<analysis::AxisEntry> benchmarks;
  for (const uint32_t benchmark : grid.benchmarks) {
    benchmarks.push_back({spec.benchmarks[benchmark].name, spec.benchmarks[benchmark].tags,
                          spec.benchmarks[benchmark].meaning});
  }
  CONCUR_ASSIGN_OR_RETURN(
      grid.table, analysis::ScoreTable::Create(std::move(approaches), std::move(benchmarks)));
  grid.has_job.assign(rows.size() * columns.size(), false);
  const auto place = [](const std::vector<uint32_t>& list, uint32_t value) {
    return static_cast<size_t>(std::lower_bound(list.begin(), list.end(), value) - list.begin());
  };
  for (const Block& block : expansion.blocks()) {
    for (const uint32_t test : TestsOf(spec, block)) {
      grid.has_job[place(grid.approaches, block.approach) * columns.size() +
                   place(grid.benchmarks, test)] = true;
    }
  }
  return grid;
}

absl::StatusOr<SweepSpec> SpecOfReleased(const SweepSpec& spec, const UntilGrid& grid,
                                         const std::vector<bool>& released) {
  SweepSpec batch = spec;
  const size_t columns = grid.benchmarks.size();
  for (size_t i = 0; i < grid.approaches.size(); ++i) {
    std::vector<uint32_t> waiting;
    bool runs = false;
    for (size_t b = 0; b < columns; ++b) {
      if (grid.has_job[i * columns + b]) {
        runs = runs || released[i * columns + b];
        if (!released[i * columns + b]) {
          waiting.push_back(grid.benchmarks[b]);
        }
      }
    }
    if (!runs) {
      batch.exclude.push_back({grid.approaches[i], {}, {}});
      continue;
    }
    for (const uint32_t benchmark : waiting) {
      // A trained cell that has lost its test goes, too.
      batch.exclude.push_back({grid.approaches[i], {}, benchmark});
    }
  }
  if (batch.exclude.size() > kExcludeRulesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("--until: leaving out the cells that wait takes ", batch.exclude.size(),
                     " exclude rules, and a sweep has at most ", kExcludeRulesMax,
                     "; submit a part of its approaches or benchmarks"));
  }
  return batch;
}

absl::StatusOr<v1::Sweep> SubmitBatch(CommandContext& context, Client& client,
                                      const spec::LoadedSweep& batch, const std::string& prefix) {
  const std::string request_id =
      absl::StrCat(prefix, "-", Sha256Of(rpc::EncodeSpec(batch.spec)).ToHex().substr(0, 40));
  CONCUR_ASSIGN_OR_RETURN(const v1::CreateSweepResponse response,
                          SubmitLoaded(context, client, batch, request_id, /*dry_run=*/false));
  PrintNote(context,
            absl::StrCat(SubmittedText(response.sweep()), " (", batch.spec.description, ")"));
  return response.sweep();
}

absl::Status CheckNotCanceled(const v1::Sweep& sweep) {
  if (sweep.state() != v1::Sweep::STATE_CANCELED) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat(sweep.id(), " was canceled: nothing more is released; concur sweep retry ",
                   sweep.id(), " and the same command again go on"));
}

absl::Status SubmitUntil(CommandContext& context, const SubmitFlags& submit,
                         const UntilFlags& flags, const WatchOptions& watch) {
  UntilRun run;
  const absl::StatusOr<analysis::UntilRule> rule = analysis::ParseUntil(flags.until);
  CONCUR_RETURN_IF_ERROR(AtField(FieldPath("--until"), rule.status()));
  run.rule = *rule;
  CONCUR_RETURN_IF_ERROR(CheckUntil(submit, flags, run.rule.within));
  MadeFiles made;
  CONCUR_ASSIGN_OR_RETURN(const spec::LoadedSweep loaded,
                          LoadForSubmission(context, submit, &made));
  CONCUR_ASSIGN_OR_RETURN(const Expansion expansion, Expansion::Make(loaded.spec));
  CONCUR_ASSIGN_OR_RETURN(const UntilGrid grid, GridOf(expansion));
  CONCUR_ASSIGN_OR_RETURN(const analysis::CellCosts costs, CostsOfGrid(flags, grid, context));
  const analysis::CellPlan plan(costs, flags.seed);
  const std::vector<analysis::CellBatch> batches =
      analysis::BatchesOf(plan, grid.approaches.size());
  run.level = analysis::LevelOfLook(flags.level, batches.size());
  run.released.assign(grid.has_job.size(), false);
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  size_t next = 0;
  for (size_t number = 0; number < batches.size() && !run.known; ++number) {
    bool grows = false;
    for (; next < batches[number].cells; ++next) {
      const analysis::PlannedCell& cell = plan.cells()[next];
      const size_t at = cell.approach * grid.benchmarks.size() + cell.benchmark;
      run.released[at] = grid.has_job[at];
      grows = grows || grid.has_job[at];
    }
    if (!grows) {
      continue;  // the sweep has none of these cells
    }
    spec::LoadedSweep batch = loaded;
    CONCUR_ASSIGN_OR_RETURN(batch.spec, SpecOfReleased(loaded.spec, grid, run.released));
    batch.spec.description =
        absl::StrCat(loaded.spec.description, loaded.spec.description.empty() ? "" : "; ", "batch ",
                     number + 1, " of at most ", batches.size(), ", until ",
                     analysis::UntilText(run.rule), ", order ", flags.seed);
    CONCUR_ASSIGN_OR_RETURN(run.last, RunBatch(context, *client, batch, submit, watch));
    CONCUR_ASSIGN_OR_RETURN(const analysis::ScoreTable scores,
                            FetchScoreTable(*client, run.last, "", {.divide = false}));
    const analysis::ScoreTable placed = ScoresInGrid(grid, scores);
    std::vector<bool> scored(grid.has_job.size());
    for (size_t i = 0; i < scored.size(); ++i) {
      scored[i] = placed.cell(i / grid.benchmarks.size(), i % grid.benchmarks.size()).state ==
                  analysis::CellState::kValue;
    }
    LookRecord record{run.last.id(), batches[number].cells, batches[number].cost, {}};
    record.look =
        analysis::LookAt(analysis::RankedTable(placed.Oriented()), plan, batches[number].threshold,
                         scored, run.rule.coefficient, run.level);
    run.known = number + 1 < batches.size() && record.look.half_width <= run.rule.within;
    run.looks.push_back(std::move(record));
  }
  run.last.clear_spec();
  if (IsJson(context)) {
    Json json = SweepJson(run.last);
    json["until"] = UntilJson(grid, run);
    PrintDetails(context, {}, json);
  } else {
    PrintSweep(context, run.last);
    CONCUR_RETURN_IF_ERROR(PrintTable(LooksTable(grid, run), "", context));
  }
  ReportEnd(context, run.last);
  return absl::OkStatus();
}

}  // namespace concur::cli
