// SPDX-License-Identifier: Apache-2.0
#include "analysis/concurrence/above.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "analysis/concurrence/matrix.h"
#include "analysis/statistics/fisher.h"
#include "analysis/statistics/intervals.h"

namespace concur::analysis {
namespace {

std::optional<double> LeastShown(const ConcurrenceMatrix& matrix, const MatrixPair& pair,
                                 double threshold) {
  // As many unrelated approaches as the pair's are worth.
  const double worth =
      matrix.families.declared()
          ? matrix.families.approaches / static_cast<double>(matrix.approaches.size())
          : 1;
  const auto n = static_cast<int64_t>(std::floor(worth * static_cast<double>(pair.correlation.n)));
  const absl::StatusOr<Interval> interval =
      FisherInterval(matrix.coefficient, threshold, n, matrix.level);
  if (!interval.ok() || matrix.ties_within > 0) {
    return std::nullopt;
  }
  double least = interval->high;
  double most = 1;
  if (matrix.coefficient == Coefficient::kKendall) {
    const double step = 4 / static_cast<double>(n * (n - 1));  // change from one pair turned round
    least = 1 - std::floor((1 - least) / step) * step;
    most = 1 - 1.5 * step;
  }
  return least < most ? std::optional(least) : std::nullopt;
}

}  // namespace

absl::string_view ClaimName(Claim claim) {
  switch (claim) {
    case Claim::kOpen:
      return "open";
    case Claim::kShown:
      return "shown";
    case Claim::kRefuted:
      return "refuted";
  }
  return "";
}

AboveClaim JudgeAbove(const ConcurrenceMatrix& matrix, const MatrixPair& pair, double threshold) {
  AboveClaim judged;
  judged.least = LeastShown(matrix, pair, threshold);
  if (pair.interval.has_value() && DaggerOf(pair.interval).empty()) {
    judged.claim = pair.interval->low > threshold     ? Claim::kShown
                   : pair.interval->high <= threshold ? Claim::kRefuted
                                                      : Claim::kOpen;
  }
  return judged;
}

}  // namespace concur::analysis
