// SPDX-License-Identifier: Apache-2.0
#include "analysis/plan/plan_power.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "analysis/bootstrap.h"
#include "analysis/plan/plan.h"
#include "analysis/score_table.h"
#include "analysis/statistics/coefficient.h"
#include "base/check.h"
#include "base/random.h"
#include "base/status_macros.h"

namespace concur::analysis {
namespace {

absl::Status CheckPower(const PowerOptions& options) {
  CONCUR_RETURN_IF_ERROR(CheckPrecision(options.within, options.level));
  if (!(options.value > -1 && options.value < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("tau: expected a number between -1 and 1, got ", options.value));
  }
  if (!(options.spread > 0 && options.spread <= 100)) {
    return absl::InvalidArgumentError(
        absl::StrCat("spread: expected points above 0, up to 100, got ", options.spread));
  }
  if (!(options.seed_spread >= 0 && options.seed_spread <= 100)) {
    return absl::InvalidArgumentError(
        absl::StrCat("seed-spread: expected points from 0 to 100, got ", options.seed_spread));
  }
  if (!(options.accuracy > 0 && options.accuracy < 100)) {
    return absl::InvalidArgumentError(
        absl::StrCat("accuracy: expected a percentage between 0 and 100, got ", options.accuracy));
  }
  return absl::OkStatus();
}

// The least count from `least` on for which `holds`, which stays true once it is.
template <typename Holds>
int64_t LeastCount(int64_t least, const Holds& holds) {
  constexpr int64_t kCountMax = int64_t{1} << 40;
  int64_t high = least;
  while (high < kCountMax && !holds(high)) {
    high *= 2;
  }
  int64_t low = least;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (holds(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return high;
}

// The mean half-width of a matrix's intervals over simulated studies of so many approaches.
double Simulated(Coefficient coefficient, double value, size_t size, double level) {
  constexpr uint64_t kStudies = 40;
  constexpr double kPi = std::numbers::pi;
  const double r = coefficient == Coefficient::kPearson    ? value
                   : coefficient == Coefficient::kSpearman ? 2 * std::sin(kPi / 6 * value)
                                                           : std::sin(kPi / 2 * value);
  std::vector<AxisEntry> approaches;
  for (size_t i = 0; i < size; ++i) {
    approaches.push_back({absl::StrCat(i), {}});
  }
  absl::StatusOr<ScoreTable> table = ScoreTable::Create(approaches, {{"x", {}}, {"y", {}}});
  CONCUR_CHECK_OK(table.status());
  BootstrapOptions options;
  options.level = level;
  options.replicates = 400;
  double sum = 0;
  for (options.seed = 1; options.seed <= kStudies; ++options.seed) {
    Random random(options.seed, "plan/power");
    for (size_t i = 0; i < size; ++i) {
      const double x = random.Normal();
      const double y = r * x + std::sqrt(1 - r * r) * random.Normal();
      table->cell(i, 0) = {.state = CellState::kValue, .value = x};
      table->cell(i, 1) = {.state = CellState::kValue, .value = y};
    }
    const absl::StatusOr<std::vector<BootstrapInterval>> intervals =
        BootstrapPairs(*table, coefficient, options);
    CONCUR_CHECK_OK(intervals.status());
    const std::optional<Interval>& interval = intervals->front().interval;
    // An interval without width, as of a perfect order, says nothing.
    const double width = interval.has_value() ? interval->high - interval->low : 0;
    sum += width > 0 ? width / 2 : 1;
  }
  return sum / static_cast<double>(kStudies);
}

}  // namespace

absl::Status CheckPrecision(double within, double level) {
  if (!(within > 0 && within < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("within: expected a half-width between 0 and 1, got ", within));
  }
  if (!(level > 0 && level < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("interval: expected a number strictly between 0 and 1, got ", level));
  }
  return absl::OkStatus();
}

double NormalQuantile(double level) {
  return boost::math::quantile(boost::math::normal_distribution<double>(), (1 + level) / 2);
}

double HalfWidths::Of(int64_t n) {
  constexpr int64_t kSimulatedMax = 50;  // beyond, widths fall with the root of the number
  const int64_t size = std::min(n, kSimulatedMax);
  const auto [known, is_new] = simulated_.emplace(size, 0.0);
  if (is_new) {
    known->second = Simulated(coefficient_, value_, static_cast<size_t>(size), level_);
  }
  return known->second * std::sqrt(static_cast<double>(size) / static_cast<double>(n));
}

double ShiftByNoise(Coefficient coefficient, double value, double noise_share) {
  constexpr double kPi = std::numbers::pi;
  const double kept = 1 - noise_share;
  switch (coefficient) {
    case Coefficient::kPearson:
      return std::abs(value) * noise_share;
    case Coefficient::kSpearman:
      return std::abs(value - 6 / kPi * std::asin(std::sin(kPi / 6 * value) * kept));
    default:
      return std::abs(value - 2 / kPi * std::asin(std::sin(kPi / 2 * value) * kept));
  }
}

absl::StatusOr<PowerNeeds> ComputePower(const PowerOptions& options) {
  CONCUR_RETURN_IF_ERROR(CheckPower(options));
  PowerNeeds needs;
  constexpr int64_t kApproachesMin = 5;
  HalfWidths widths(options.coefficient, options.value, options.level);
  needs.approaches =
      LeastCount(kApproachesMin, [&](int64_t n) { return widths.Of(n) <= options.within; });
  needs.shifted = options.value == 0 ? 0.5 : options.value;
  const auto of_noise = [&](double variance) {
    const auto shift = [&](int64_t count) {
      const double noise = variance / static_cast<double>(count);
      return ShiftByNoise(options.coefficient, needs.shifted,
                          noise / (noise + options.spread * options.spread));
    };
    const int64_t count =
        LeastCount(1, [&](int64_t value) { return shift(value) <= options.within / 4; });
    return NoiseNeed{count, shift(count)};
  };
  needs.seeds = of_noise(options.seed_spread * options.seed_spread);
  needs.examples = of_noise(options.accuracy * (100 - options.accuracy));
  return needs;
}

}  // namespace concur::analysis
