// SPDX-License-Identifier: Apache-2.0
// Part of the change from one test set to another that follows from its mixture of examples: scores
// by stratum on the old set, re-weighted by the strata of the new one (Miller et al., ICML 2020).
//
// Thread-safe (stateless).
#ifndef CONCUR_ANALYSIS_COMPARISON_STRATA_H_
#define CONCUR_ANALYSIS_COMPARISON_STRATA_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "analysis/example_runs.h"
#include "analysis/statistics/intervals.h"

namespace concur::analysis {

// A test example: the stratum it is in, and what a system scored on it, a share from 0 to 1.
struct StratifiedExample {
  std::string stratum;
  std::optional<double> score;  // nothing where it is not known (new examples without scores)
};

struct Stratum {
  std::string name;
  int64_t n = 0;  // examples of the old set
  int64_t new_n = 0;
  std::optional<double> score;  // means, in percent
  std::optional<double> new_score;
};

struct StratifiedPrediction {
  std::string attribute;
  std::vector<Stratum> strata;  // by name
  double score = 0;             // on the old set, in percent
  // The old scores in the new mixture: sum over strata of new share * old mean. Strata of the new
  // set that the old one lacks are left out, and the shares of the others add up to 1 again;
  // `covered` is the share of new examples that count. Nothing when none does.
  std::optional<double> predicted;
  double covered = 0;
  // From what leaving out each cluster of old examples changes, with Student's t; the new mixture
  // counts as known. Nothing when a stratum that counts is in a single cluster.
  std::optional<Interval> interval;
  ExampleUnit unit = ExampleUnit::kExample;  // unit of the clusters
  size_t clusters = 0;                       // number of clusters of old examples
  std::optional<double> actual;  // the score on the new set, where every example of it has one
};

// `clusters` groups the old examples: passages or documents, which are usually of one difficulty.
// The variance is CR3's of the regression on strata, the degrees Satterthwaite's under equal
// scatter (as LineIntervals). REQUIRES: `clusters.of` has a group of each old example, or none.
// InvalidArgument when a set is empty, an old example has no score, a score is not finite, or
// `level` is not in (0, 1).
absl::StatusOr<StratifiedPrediction> PredictByStrata(
    const std::string& attribute, absl::Span<const StratifiedExample> examples,
    absl::Span<const StratifiedExample> new_examples, const ExampleClusters& clusters,
    double level);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_COMPARISON_STRATA_H_
