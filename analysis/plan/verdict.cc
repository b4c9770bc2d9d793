// SPDX-License-Identifier: Apache-2.0
#include "analysis/plan/verdict.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "analysis/concurrence/matrix.h"
#include "analysis/families.h"
#include "analysis/plan/plan_until.h"
#include "analysis/score_table.h"
#include "analysis/statistics/coefficient.h"
#include "analysis/statistics/fisher.h"
#include "analysis/statistics/intervals.h"
#include "base/status_macros.h"

namespace concur::analysis {
namespace {

constexpr size_t kOutliersMax = 3;
// An approach that lowers tau by less is no outlier.
constexpr double kOutlierChange = 0.02;
// An interval is narrow also where few approaches have, by chance, a nearly perfect order. So the
// number that a width takes is that of this tau, whatever the estimate: for a lesser one, a few
// percent of small panels stopped with a tau that was wrong by more than the width
// (docs/coverage.md).
constexpr double kPrecisionTau = 0.5;
// Nearer to the bound than this, no affordable number of approaches settles the claim.
constexpr double kSettleDistanceMin = 0.02;

std::optional<Interval> IntervalOfPerfectOrder(double value, double families, double level) {
  const double n = std::floor(families);
  const double nearly = 1 - 2 / (n * (n - 1));
  const absl::StatusOr<Interval> interval = FisherInterval(
      Coefficient::kKendall, std::clamp(value, -nearly, nearly), static_cast<int64_t>(n), level);
  if (!interval.ok()) {
    return std::nullopt;
  }
  return Interval{value < 0 ? -1 : interval->low, value > 0 ? 1 : interval->high};
}

Claim ClaimOf(const Verdict& verdict, double above) {
  if (!verdict.tau_interval.has_value() || verdict.approaches < kIntervalApproachesMin) {
    return Claim::kOpen;
  }
  if (verdict.tau_interval->low > above) {
    return Claim::kShown;
  }
  const NoiseEstimate& noise_free = verdict.noise_free;
  const bool noise_may_explain =
      noise_free.asked && !(noise_free.interval.has_value() && noise_free.interval->high < above);
  return verdict.tau_interval->high < above && !noise_may_explain ? Claim::kRefuted : Claim::kOpen;
}

// Both ends are within ± `within` of tau, of as many families as that width takes at
// kPrecisionTau.
bool IsPrecise(const Verdict& verdict, double within) {
  if (!verdict.tau_interval.has_value() || verdict.approaches < kIntervalApproachesMin) {
    return false;
  }
  const absl::StatusOr<Interval> planned =
      FisherInterval(Coefficient::kKendall, kPrecisionTau,
                     static_cast<int64_t>(std::floor(verdict.families)), verdict.level);
  return planned.ok() && (planned->high - planned->low) / 2 <= within &&
         *verdict.tau - verdict.tau_interval->low <= within &&
         verdict.tau_interval->high - *verdict.tau <= within;
}

// Half-widths shrink with the root of the number of approaches.
std::optional<int64_t> MoreApproaches(const Verdict& verdict, double above) {
  if (verdict.claim != Claim::kOpen || !verdict.tau_interval.has_value()) {
    return std::nullopt;
  }
  const double distance = std::abs(*verdict.tau - above);
  const double reach = *verdict.tau > above ? *verdict.tau - verdict.tau_interval->low
                                            : verdict.tau_interval->high - *verdict.tau;
  if (distance < kSettleDistanceMin || reach <= distance) {
    return std::nullopt;
  }
  const auto now = static_cast<double>(verdict.approaches);
  return static_cast<int64_t>(std::ceil(now * std::pow(reach / distance, 2) - now));
}

}  // namespace

absl::Status ValidateVerdictOptions(const VerdictOptions& options) {
  if (!(options.above >= -1 && options.above < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("above: expected a coefficient from -1 to below 1, got ", options.above));
  }
  if (options.within.has_value() && !(*options.within > 0 && *options.within < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("within: expected a half-width between 0 and 1, got ", *options.within));
  }
  if (!(options.level > 0 && options.level < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("level: expected a number between 0 and 1, got ", options.level));
  }
  return options.looks >= 1 ? absl::OkStatus()
                            : absl::InvalidArgumentError("looks: expected at least 1, got 0");
}

double LevelOfVerdict(const VerdictOptions& options) {
  return LevelOfLook(options.level, options.looks + 1);
}

absl::StatusOr<Verdict> JudgePair(const ScoreTable& table, const NoiseEstimate& noise_free,
                                  const VerdictOptions& options) {
  CONCUR_RETURN_IF_ERROR(ValidateVerdictOptions(options));
  if (table.benchmarks().size() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("a verdict is on two benchmarks, the table has ", table.benchmarks().size()));
  }
  MatrixOptions matrix_options;
  matrix_options.bootstrap = options.bootstrap;
  matrix_options.bootstrap->level = LevelOfVerdict(options);
  matrix_options.families = options.bootstrap.families;
  matrix_options.parallel_for = options.bootstrap.parallel_for;
  matrix_options.p_values = false;
  matrix_options.influences = kOutliersMax;
  CONCUR_ASSIGN_OR_RETURN(const ConcurrenceMatrix taus, ComputeMatrix(table, matrix_options));
  matrix_options.coefficient = Coefficient::kPearson;
  matrix_options.influences = 0;
  CONCUR_ASSIGN_OR_RETURN(const ConcurrenceMatrix rs, ComputeMatrix(table, matrix_options));
  const MatrixPair& pair = taus.pairs[0];

  Verdict verdict;
  verdict.approaches = pair.correlation.n;
  const Families& families = taus.families;
  verdict.families = families.declared() ? SizesOfPair(table, families.members, 0, 1).effective
                                         : static_cast<double>(verdict.approaches);
  verdict.level = taus.level;
  verdict.tau = pair.correlation.OptionalValue();
  verdict.tau_interval = pair.interval;
  if (verdict.tau.has_value() && !DaggerOf(pair.interval).empty()) {
    verdict.tau_interval =
        IntervalOfPerfectOrder(*verdict.tau, verdict.families, LevelOfVerdict(options));
  }
  verdict.r = rs.pairs[0].correlation.OptionalValue();
  verdict.r_interval = rs.pairs[0].interval;
  verdict.noise_free = noise_free;
  verdict.claim = ClaimOf(verdict, options.above);
  verdict.precise = options.within.has_value() && IsPrecise(verdict, *options.within);
  for (const Influence& influence : pair.influences) {
    if (influence.without.has_value() && influence.change <= -kOutlierChange) {
      verdict.outliers.push_back(influence);
    }
  }
  verdict.more = MoreApproaches(verdict, options.above);
  verdict.warning = pair.warning;
  return verdict;
}

}  // namespace concur::analysis
