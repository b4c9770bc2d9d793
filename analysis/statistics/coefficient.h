// SPDX-License-Identifier: Apache-2.0
// The coefficients of agreement between two lists of scores, by name, and what each results in.
//
// Thread-safe (stateless).
#ifndef CONCUR_ANALYSIS_STATISTICS_COEFFICIENT_H_
#define CONCUR_ANALYSIS_STATISTICS_COEFFICIENT_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace concur::analysis {

enum class Coefficient { kKendall, kPearson, kSpearman, kWeightedKendall, kTopK, kRbo };
// "kendall", "pearson", "spearman", "weighted-kendall", "top-k", "rbo"; InvalidArgument for
// anything else.
absl::StatusOr<Coefficient> ParseCoefficient(absl::string_view name);
absl::string_view CoefficientName(Coefficient coefficient);

// Why a coefficient has no value.
enum class Undefined {
  kNo,             // it has one
  kTooFew,         // fewer than two pairs
  kFirstConstant,  // all values of the first list are equal
  kSecondConstant,
  kBothConstant,
  kAllOnTop,  // top-k overlap of no more than k values
};
// E.g. "fewer than 2 approaches have both scores"; "" for kNo.
absl::string_view UndefinedReason(Undefined undefined);

struct Correlation {
  int64_t n = 0;
  double value = 0;  // in [-1, 1]; 0 when undefined
  Undefined undefined = Undefined::kNo;
  // Two-sided, for the hypothesis of independence; NaN when it is undefined (as for Spearman with
  // n = 2, or any undefined coefficient).
  double p_value = 0;

  bool defined() const { return undefined == Undefined::kNo; }
  std::optional<double> OptionalValue() const {
    return defined() ? std::optional(value) : std::nullopt;
  }
};

// The least value that the coefficient may have, -1 or, of shares of the top, 0.
double LeastValue(Coefficient coefficient);

// Number of approaches that are "on top" for kTopK, unless one says otherwise.
inline constexpr size_t kTopDefault = 5;

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_STATISTICS_COEFFICIENT_H_
