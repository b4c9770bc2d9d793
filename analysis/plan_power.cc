// SPDX-License-Identifier: Apache-2.0
#include "analysis/plan_power.h"

#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analysis/table.h"
#include "base/status_macros.h"

namespace concur::analysis {
namespace {

absl::Status CheckPower(const PowerOptions& options) {
  CONCUR_RETURN_IF_ERROR(CheckPrecision(options.within, options.level));
  if (!(options.tau > -1 && options.tau < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("tau: expected a number between -1 and 1, got ", options.tau));
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

double TauHalfWidth(double tau, int64_t n, double level) {
  // Kendall's variance of tau of independent lists; elsewhere the interval has the same width on
  // Fisher's scale, whose slope is 1 - tau².
  const auto size = static_cast<double>(n);
  const double variance = 2 * (2 * size + 5) / (9 * size * (size - 1));
  return NormalQuantile(level) * std::sqrt(variance) * (1 - tau * tau);
}

double TauShift(double tau, double noise_share) {
  const double seen = std::sin(std::numbers::pi / 2 * tau) * (1 - noise_share);
  return std::abs(tau - 2 / std::numbers::pi * std::asin(seen));
}

absl::StatusOr<Table> PowerTable(const PowerOptions& options) {
  CONCUR_RETURN_IF_ERROR(CheckPower(options));
  Table table;
  table.title =
      absl::StrFormat("What it takes to know a tau-b of %g to ± %g", options.tau, options.within);
  table.columns = {{"unit", "of"},
                   {"count", "count", true},
                   {"half_width", "half-width", true, 3},
                   {"shift", "shift by noise", true, 3},
                   {"needed", "needed"}};
  const auto add_approaches = [&](int64_t n, bool needed) {
    table.rows.push_back({TextCell("approaches"), IntegerCell(n),
                          NumberCell(TauHalfWidth(options.tau, n, options.level)), TableCell(),
                          YesNoCell(needed)});
  };
  constexpr int64_t kApproachesMin = 5;
  const int64_t approaches = LeastCount(kApproachesMin, [&](int64_t n) {
    return TauHalfWidth(options.tau, n, options.level) <= options.within;
  });
  for (const int64_t n : {5, 10, 20, 32, 50, 100, 200, 500, 1000}) {
    if (n != approaches) {
      add_approaches(n, false);
    }
  }
  add_approaches(approaches, true);
  // Where the expected tau is 0, noise shifts nothing: the shift is then that of a tau of 0.5.
  const double shifted = options.tau == 0 ? 0.5 : options.tau;
  const auto add_noise = [&](const std::string& unit, double variance) {
    const auto shift = [&](int64_t count) {
      const double noise = variance / static_cast<double>(count);
      return TauShift(shifted, noise / (noise + options.spread * options.spread));
    };
    const int64_t count =
        LeastCount(1, [&](int64_t value) { return shift(value) <= options.within / 4; });
    table.rows.push_back({TextCell(unit), IntegerCell(count), TableCell(), NumberCell(shift(count)),
                          YesNoCell(true)});
  };
  add_noise("seeds", options.seed_spread * options.seed_spread);
  add_noise("examples", options.accuracy * (100 - options.accuracy));
  table.notes = {
      absl::StrFormat("Approaches as a sample of more, without ties; half-widths of %.0f %% "
                      "intervals.",
                      100 * options.level),
      absl::StrFormat(
          "Seeds and examples, each alone, so that noise shifts a tau of %g by at most a quarter "
          "of ± %g: true scores with a standard deviation of %g points, seeds of %g, and %g %% of "
          "the examples right.",
          shifted, options.within, options.spread, options.seed_spread, options.accuracy)};
  return table;
}

}  // namespace concur::analysis
