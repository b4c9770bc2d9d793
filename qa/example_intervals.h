// SPDX-License-Identifier: Apache-2.0
// Confidence intervals of exact match and F1 from the scores of the questions: what workers report
// with a score and what `concur data score` prints.
//
// Thread-safe (stateless). Intervals are in percent. Formulas: docs/statistics.md.
#ifndef CONCUR_QA_EXAMPLE_INTERVALS_H_
#define CONCUR_QA_EXAMPLE_INTERVALS_H_

#include <optional>
#include <vector>

#include "analysis/example_runs.h"
#include "analysis/statistics/intervals.h"
#include "qa/score.h"

namespace concur {

// The passages and documents of examples; known where every example has one.
analysis::ExamplePlaces PlacesOf(const std::vector<qa::ExampleScore>& examples);

struct ExampleIntervals {
  analysis::ExampleClusters clusters;
  // Unset where they are not defined: F1 between 0 and 1 of a single question or cluster.
  std::optional<analysis::Interval> exact_match;
  std::optional<analysis::Interval> f1;
};

// analysis::ShareInterval, with the questions in clusters by `unit`, by default the one that
// analysis::ClustersOf chooses. REQUIRES: 0 < level < 1.
ExampleIntervals IntervalsOf(const qa::ScoreReport& report,
                             std::optional<analysis::ExampleUnit> unit, double level);

}  // namespace concur

#endif  // CONCUR_QA_EXAMPLE_INTERVALS_H_
