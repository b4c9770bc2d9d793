// SPDX-License-Identifier: Apache-2.0
#include "analysis/plan_power.h"

#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analysis/coefficient.h"
#include "analysis/plan.h"
#include "analysis/table.h"
#include "base/decimal.h"
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

double HalfWidthOf(Coefficient coefficient, double value, int64_t n, double level) {
  // The variance for independent lists: Kendall's of tau; of r (normal scores) and rho, 1/(n - 1).
  // Elsewhere the interval has the same width on Fisher's scale, whose slope is 1 - value²; that of
  // rho is wider there (Bonett and Wright, 2000).
  const auto size = static_cast<double>(n);
  double variance = 1 / (size - 1);
  if (coefficient == Coefficient::kKendall) {
    variance = 2 * (2 * size + 5) / (9 * size * (size - 1));
  } else if (coefficient == Coefficient::kSpearman) {
    variance *= 1 + value * value / 2;
  }
  return NormalQuantile(level) * std::sqrt(variance) * (1 - value * value);
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

absl::StatusOr<Table> PowerTable(const PowerOptions& options) {
  CONCUR_RETURN_IF_ERROR(CheckPower(options));
  Table table;
  table.title = absl::StrFormat("What it takes to know %s of %g to ± %g",
                                PlannedTitle(options.coefficient), options.value, options.within);
  table.columns = {{"unit", "of"},
                   {"count", "count", true},
                   {"half_width", "half-width", true, 3},
                   {"shift", "shift by noise", true, 3},
                   {"needed", "needed"}};
  const auto add_approaches = [&](int64_t n, bool needed) {
    table.rows.push_back(
        {TextCell("approaches"), IntegerCell(n),
         NumberCell(HalfWidthOf(options.coefficient, options.value, n, options.level)), TableCell(),
         YesNoCell(needed)});
  };
  constexpr int64_t kApproachesMin = 5;
  const int64_t approaches = LeastCount(kApproachesMin, [&](int64_t n) {
    return HalfWidthOf(options.coefficient, options.value, n, options.level) <= options.within;
  });
  std::set<int64_t> counts = {5, 10, 20, 32, 50, 100, 200, 500, 1000};
  counts.insert(approaches);
  for (const int64_t n : counts) {
    add_approaches(n, n == approaches);
  }
  // Where 0 is expected, noise shifts nothing: the shift is then that of a coefficient of 0.5.
  const double shifted = options.value == 0 ? 0.5 : options.value;
  const auto add_noise = [&](const std::string& unit, double variance) {
    const auto shift = [&](int64_t count) {
      const double noise = variance / static_cast<double>(count);
      return ShiftByNoise(options.coefficient, shifted,
                          noise / (noise + options.spread * options.spread));
    };
    const int64_t count =
        LeastCount(1, [&](int64_t value) { return shift(value) <= options.within / 4; });
    table.rows.push_back({TextCell(unit), IntegerCell(count), TableCell(), NumberCell(shift(count)),
                          YesNoCell(true)});
  };
  add_noise("seeds", options.seed_spread * options.seed_spread);
  add_noise("examples", options.accuracy * (100 - options.accuracy));
  table.notes = {
      absl::StrCat("Approaches as a sample of more, without ties; half-widths of ",
                   ShortestDecimal(100 * options.level), " % intervals."),
      absl::StrFormat(
          "Seeds and examples, each alone, so that noise shifts one of %g by at most a quarter "
          "of ± %g: true scores with a standard deviation of %g points, seeds of %g, and %g %% of "
          "the examples right.",
          shifted, options.within, options.spread, options.seed_spread, options.accuracy)};
  return table;
}

}  // namespace concur::analysis
