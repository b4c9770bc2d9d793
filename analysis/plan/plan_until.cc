// SPDX-License-Identifier: Apache-2.0
#include "analysis/plan/plan_until.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "analysis/plan/plan.h"
#include "analysis/plan/plan_estimate.h"
#include "analysis/statistics/coefficient.h"

namespace concur::analysis {

absl::StatusOr<UntilRule> ParseUntil(absl::string_view text) {
  absl::string_view rest = absl::StripAsciiWhitespace(text);
  UntilRule rule;
  bool is_known = false;
  // "r" is the beginning of "rho".
  for (const Coefficient coefficient :
       {Coefficient::kKendall, Coefficient::kSpearman, Coefficient::kPearson}) {
    if (!is_known && absl::ConsumePrefix(&rest, PlannedSymbol(coefficient))) {
      rule.coefficient = coefficient;
      is_known = true;
    }
  }
  rest = absl::StripLeadingAsciiWhitespace(rest);
  if (!absl::ConsumePrefix(&rest, "±")) {
    absl::ConsumePrefix(&rest, "+-");
  }
  if (!is_known || !absl::SimpleAtod(rest, &rule.within) || !(rule.within > 0 && rule.within < 1)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected \"tau ±W\", \"r ±W\" or \"rho ±W\" with a half-width W between 0 and "
        "1, such as \"tau ±0.1\", got \"",
        text, "\""));
  }
  return rule;
}

std::string UntilText(const UntilRule& rule) {
  return absl::StrCat(PlannedSymbol(rule.coefficient), " ±", rule.within);
}

std::vector<CellBatch> BatchesOf(const CellPlan& plan, size_t approaches) {
  constexpr double kFirstShare = 0.1;
  constexpr double kApproachesFirst = 8;  // fewer say too little for an interval
  constexpr double kGrowth = 4.0 / 3;
  const std::vector<PlannedCell>& cells = plan.cells();
  std::vector<CellBatch> batches;
  double next = std::max(kFirstShare, kApproachesFirst / static_cast<double>(approaches));
  double cost = 0;
  for (size_t i = 0; i < cells.size(); ++i) {
    cost += plan.CostOf(cells[i]);
    const bool is_last = i + 1 == cells.size();
    if (!is_last && (cells[i + 1].key == cells[i].key || cost < next * plan.total_cost())) {
      continue;
    }
    batches.push_back({is_last ? std::numeric_limits<double>::infinity() : cells[i + 1].key, i + 1,
                       is_last ? 1 : cost / plan.total_cost()});
    while (cost >= next * plan.total_cost()) {
      next *= kGrowth;
    }
  }
  return batches;
}

double LevelOfLook(double level, size_t looks) {
  return looks < 2 ? level : 1 - (1 - level) / static_cast<double>(looks - 1);
}

Look LookAt(const RankedTable& table, const CellPlan& plan, double threshold,
            const std::vector<bool>& scored, Coefficient coefficient, double level) {
  CellSample sample = plan.Below(threshold);
  for (size_t i = 0; i < scored.size(); ++i) {
    sample.has[i] = sample.has[i] && scored[i];
  }
  PairEstimateOptions options;
  options.coefficient = coefficient;
  options.level = level;
  options.pool = false;
  Look look;
  look.pairs = EstimatePairs(table, sample, options);
  for (size_t p = 0; p < look.pairs.size(); ++p) {
    const double width = (look.pairs[p].interval.high - look.pairs[p].interval.low) / 2;
    if (width > look.half_width) {
      look.half_width = width;
      look.widest = p;
    }
  }
  return look;
}

}  // namespace concur::analysis
