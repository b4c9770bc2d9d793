// SPDX-License-Identifier: Apache-2.0
// Simulated score tables, and claims about concurrence made from them whose truths are known.
//
// Thread-safe (stateless).
#ifndef CONCUR_TESTS_ANALYSIS_SIMULATED_TABLES_H_
#define CONCUR_TESTS_ANALYSIS_SIMULATED_TABLES_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "analysis/score_table.h"
#include "base/random.h"
#include "tests/analysis/simulated_studies.h"

namespace concur::analysis {

// Scores by benchmark, then approach.
using Columns = std::vector<std::vector<double>>;
inline constexpr double kNoScore = std::numeric_limits<double>::quiet_NaN();

// A table of approaches "0a", "1a", … on benchmarks "b0", "b1", …; `families` has the family of
// each approach, or is empty.
ScoreTable SimulatedTable(const Columns& columns, const std::vector<size_t>& families);
// The family of each approach, in families of these sizes.
std::vector<size_t> FamiliesOfSizes(const std::vector<size_t>& sizes);
// A value for each approach, of unit variance, of which families share a part.
std::vector<double> DrawRelatives(const std::vector<size_t>& families, double shared,
                                  Random& random);
// Normal values of correlation rho with x, from others of unit variance.
std::vector<double> Mixed(const std::vector<double>& x, double rho, const std::vector<double>& z);

// A nominal 95 % interval about benchmarks that share one normal factor with correlations
// `loadings`; relatives share .85 of the variance.
struct ConcurrenceDesign {
  enum class Claim { kConcordance, kPartial, kDifference, kContrast, kTopK, kRbo, kTiesWithin };
  Claim claim = Claim::kConcordance;
  std::string name;
  std::vector<size_t> families;  // sizes; all 1: strangers
  std::vector<double> loadings;
  double step = 0;  // scores are rounded to it, in standard deviations; 0: not
};
std::vector<ConcurrenceDesign> ConcurrenceDesigns();
// Shares are of the trials that have an interval. The truth is the value of many approaches or, of
// what depends on their number (top-k overlap and rank-biased overlap), the mean value of studies
// with as many.
Coverage MeasureConcurrence(const ConcurrenceDesign& design, int64_t trials, int64_t replicates);

}  // namespace concur::analysis

#endif  // CONCUR_TESTS_ANALYSIS_SIMULATED_TABLES_H_
