// SPDX-License-Identifier: Apache-2.0
#include "bench/replays/plan_replay.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analysis/plan/plan.h"
#include "analysis/plan/plan_estimate.h"
#include "analysis/score_table.h"
#include "analysis/statistics/intervals.h"
#include "base/status_macros.h"
#include "report/json_text.h"
#include "report/notes.h"
#include "report/table.h"

namespace concur::analysis {
namespace {

// One replay of one policy at one budget.
PolicyResult Judge(const std::vector<PairEstimate>& truth, const std::vector<PairEstimate>& pairs,
                   double cost) {
  constexpr double kRounding = 1e-9;
  PolicyResult result;
  result.cost = cost;
  for (size_t p = 0; p < pairs.size(); ++p) {
    const double value = truth[p].value;
    result.mean_abs_error += std::abs(pairs[p].pooled - value);
    result.coverage +=
        pairs[p].interval.low <= value + kRounding && value <= pairs[p].interval.high + kRounding
            ? 1
            : 0;
    result.half_width += (pairs[p].interval.high - pairs[p].interval.low) / 2;
    result.undefined += pairs[p].defined ? 0 : 1;
  }
  const auto count = static_cast<double>(pairs.size());
  result.mean_abs_error /= count;
  result.coverage /= count;
  result.half_width /= count;
  result.undefined /= count;
  return result;
}

PolicyResult MeanResult(const std::vector<PolicyResult>& results) {
  PolicyResult mean;
  std::vector<double> errors;
  for (const PolicyResult& result : results) {
    errors.push_back(result.mean_abs_error);
    mean.coverage += result.coverage;
    mean.half_width += result.half_width;
    mean.cost += result.cost;
    mean.undefined += result.undefined;
  }
  const Moments moments = ComputeMoments(errors);
  const auto count = static_cast<double>(results.size());
  mean.mean_abs_error = moments.mean;
  mean.standard_error = moments.standard_deviation / std::sqrt(count);
  mean.coverage /= count;
  mean.half_width /= count;
  mean.cost /= count;
  mean.undefined /= count;
  return mean;
}

Json PolicyJson(const PolicyResult& result) {
  Json json;
  json["mean_abs_error"] = result.mean_abs_error;
  json["standard_error"] = result.standard_error;
  json["coverage"] = result.coverage;
  json["half_width"] = result.half_width;
  json["cost"] = result.cost;
  json["undefined"] = result.undefined;
  return json;
}

}  // namespace

absl::Status CheckReplay(const ScoreTable& table, const ReplayOptions& options) {
  const size_t approaches = table.approaches().size();
  const size_t benchmarks = table.benchmarks().size();
  constexpr size_t kApproachesMin = 5;
  if (approaches < kApproachesMin || benchmarks < 2) {
    return absl::InvalidArgumentError(absl::StrCat("replay: expected at least ", kApproachesMin,
                                                   " approaches and 2 benchmarks, got ", approaches,
                                                   " and ", benchmarks));
  }
  if (benchmarks * (benchmarks - 1) / 2 * approaches > kPlanSizeMax) {
    return absl::InvalidArgumentError(absl::StrCat(
        "replay: expected at most ", kPlanSizeMax, " pairs of benchmarks times approaches, got ",
        approaches, " approaches and ", benchmarks, " benchmarks; choose some with --columns"));
  }
  for (size_t i = 0; i < approaches; ++i) {
    for (size_t b = 0; b < benchmarks; ++b) {
      if (table.cell(i, b).state != CellState::kValue) {
        return absl::InvalidArgumentError(
            absl::StrCat("replay: approach \"", table.approaches()[i].name, "\" has no score on \"",
                         table.benchmarks()[b].name,
                         "\"; expected a complete table: drop approaches with --complete, or "
                         "choose benchmarks with --columns"));
      }
    }
  }
  if (options.replays < 1 || options.replays > 100'000) {
    return absl::InvalidArgumentError(
        absl::StrCat("replays: expected a number from 1 to 100000, got ", options.replays));
  }
  if (!(options.level > 0 && options.level < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("interval: expected a number strictly between 0 and 1, got ", options.level));
  }
  for (const double budget : options.budgets) {
    if (!(budget > 0 && budget <= 1)) {
      return absl::InvalidArgumentError(
          absl::StrCat("budgets: expected shares above 0, up to 1, got ", budget));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<ReplayPoint>> ReplayPlans(const ScoreTable& table,
                                                     const CellCosts& costs,
                                                     const ReplayOptions& options) {
  CONCUR_RETURN_IF_ERROR(CheckReplay(table, options));
  const RankedTable ranked(table.Oriented());
  const CellPlan whole(costs, options.seed);
  PairEstimateOptions plain;
  plain.coefficient = options.coefficient;
  plain.level = options.level;
  plain.pool = false;
  PairEstimateOptions pooled = plain;
  pooled.pool = true;
  const std::vector<PairEstimate> truth =
      EstimatePairs(ranked, whole.Within(whole.total_cost()), plain);
  const size_t budgets = options.budgets.size();
  const auto replays = static_cast<size_t>(options.replays);
  // By budget, policy and replay.
  std::vector<std::vector<PolicyResult>> results(3 * budgets, std::vector<PolicyResult>(replays));
  options.parallel_for(replays, [&](size_t replay) {
    const uint64_t seed = options.seed + replay;
    const CellPlan plan(costs, seed);
    for (size_t k = 0; k < budgets; ++k) {
      const double cost = options.budgets[k] * whole.total_cost();
      const CellSample samples[] = {plan.Within(cost), RandomRows(costs, cost, seed),
                                    RandomCells(costs, cost, seed)};
      for (size_t policy = 0; policy < 3; ++policy) {
        results[3 * k + policy][replay] =
            Judge(truth, EstimatePairs(ranked, samples[policy], policy == 0 ? pooled : plain),
                  samples[policy].cost / whole.total_cost());
      }
    }
  });
  std::vector<ReplayPoint> points;
  for (size_t k = 0; k < budgets; ++k) {
    points.push_back({options.budgets[k], MeanResult(results[3 * k]),
                      MeanResult(results[3 * k + 1]), MeanResult(results[3 * k + 2])});
  }
  return points;
}

Table ReplayTable(const std::vector<ReplayPoint>& points, const ScoreTable& scores,
                  const CellCosts& costs, const ReplayOptions& options) {
  Table table;
  table.title = absl::StrCat(
      PlannedTitle(options.coefficient), " from part of a table of ", scores.approaches().size(),
      " approaches and ", scores.benchmarks().size(), " benchmarks: ", options.replays, " replays");
  table.columns = {{"budget", "budget", true, 2},
                   {"policy", "run"},
                   {"cost", "cost", true, 3},
                   {"mean_abs_error", "mean |error|", true, 3},
                   {"standard_error", "se", true, 4},
                   {"coverage", "coverage", true, 3},
                   {"half_width", "half-width", true, 3},
                   {"undefined", "undefined", true, 3}};
  for (const ReplayPoint& point : points) {
    const std::pair<const char*, const PolicyResult&> policies[] = {
        {"planned", point.planned}, {"random rows", point.rows}, {"random cells", point.cells}};
    for (const auto& [name, result] : policies) {
      table.rows.push_back({NumberCell(point.budget), TextCell(name), NumberCell(result.cost),
                            NumberCell(result.mean_abs_error), NumberCell(result.standard_error),
                            NumberCell(result.coverage), NumberCell(result.half_width),
                            NumberCell(result.undefined)});
    }
  }
  table.notes.push_back(absl::StrFormat(
      "Budgets and costs are shares of the whole table's; coverage is that of %.0f %% intervals, "
      "over replays and pairs.",
      100 * options.level));
  if (costs.estimated > 0) {
    table.notes.push_back(absl::StrCat("Costs of ", costs.estimated,
                                       " cells are not in the file and were estimated."));
  }
  for (std::string& choice : ChoiceNotes(scores.benchmarks())) {
    table.notes.push_back(std::move(choice));
  }
  return table;
}

std::string ReplayJson(const std::vector<ReplayPoint>& points, const std::optional<Table>& until) {
  Json list = Json::array();
  for (const ReplayPoint& point : points) {
    Json json;
    json["budget"] = point.budget;
    json["planned"] = PolicyJson(point.planned);
    json["rows"] = PolicyJson(point.rows);
    json["cells"] = PolicyJson(point.cells);
    list.push_back(std::move(json));
  }
  Json json;
  json["points"] = std::move(list);
  if (until.has_value()) {
    json["until"] = RowsJson(*until)[0];
  }
  return IndentedJson(json);
}

}  // namespace concur::analysis
