// SPDX-License-Identifier: Apache-2.0
#include "analysis/statistics/coefficient.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/suggest.h"

namespace concur::analysis {

absl::StatusOr<Coefficient> ParseCoefficient(absl::string_view name) {
  for (const Coefficient coefficient :
       {Coefficient::kKendall, Coefficient::kPearson, Coefficient::kSpearman,
        Coefficient::kWeightedKendall, Coefficient::kTopK, Coefficient::kRbo}) {
    if (CoefficientName(coefficient) == name) {
      return coefficient;
    }
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "coefficient: ",
      ExpectedOneOf({"kendall", "pearson", "spearman", "weighted-kendall", "top-k", "rbo"}, name)));
}

absl::string_view CoefficientName(Coefficient coefficient) {
  switch (coefficient) {
    case Coefficient::kKendall:
      return "kendall";
    case Coefficient::kPearson:
      return "pearson";
    case Coefficient::kSpearman:
      return "spearman";
    case Coefficient::kWeightedKendall:
      return "weighted-kendall";
    case Coefficient::kTopK:
      return "top-k";
    case Coefficient::kRbo:
      return "rbo";
  }
  return "kendall";
}

double LeastValue(Coefficient coefficient) {
  return coefficient == Coefficient::kTopK || coefficient == Coefficient::kRbo ? 0 : -1;
}

absl::string_view UndefinedReason(Undefined undefined) {
  switch (undefined) {
    case Undefined::kNo:
      return "";
    case Undefined::kTooFew:
      return "fewer than 2 approaches have both scores";
    case Undefined::kFirstConstant:
      return "all scores on the first benchmark are equal";
    case Undefined::kSecondConstant:
      return "all scores on the second benchmark are equal";
    case Undefined::kBothConstant:
      return "all scores on both benchmarks are equal";
    case Undefined::kAllOnTop:
      return "no more approaches have both scores than count as the top";
  }
  return "";
}

}  // namespace concur::analysis
