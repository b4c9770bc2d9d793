// SPDX-License-Identifier: Apache-2.0
#include "qa/example_intervals.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/clustered_mean.h"

namespace concur {
namespace {

std::optional<analysis::Interval> InPercent(const absl::StatusOr<analysis::Interval>& fraction) {
  if (!fraction.ok()) {
    return std::nullopt;
  }
  return analysis::Interval{100 * fraction->low, 100 * fraction->high};
}

}  // namespace

analysis::ExamplePlaces PlacesOf(const std::vector<qa::ExampleScore>& examples) {
  analysis::ExamplePlaces places;
  for (const qa::ExampleScore& example : examples) {
    places.passages.push_back(example.passage);
    places.documents.push_back(example.document);
  }
  for (std::vector<int64_t>* list : {&places.passages, &places.documents}) {
    if (std::find(list->begin(), list->end(), -1) != list->end()) {
      list->clear();
    }
  }
  return places;
}

ExampleIntervals IntervalsOf(const qa::ScoreReport& report,
                             std::optional<analysis::ExampleUnit> unit, double level) {
  std::vector<double> exact_match;
  std::vector<double> f1;
  for (const qa::ExampleScore& example : report.examples) {
    exact_match.push_back(example.exact_match ? 1 : 0);
    f1.push_back(example.f1);
  }
  ExampleIntervals intervals;
  intervals.clusters =
      analysis::ClustersOf(PlacesOf(report.examples), report.examples.size(), unit);
  intervals.exact_match =
      InPercent(analysis::ShareInterval(exact_match, intervals.clusters, level));
  intervals.f1 = InPercent(analysis::ShareInterval(f1, intervals.clusters, level));
  return intervals;
}

}  // namespace concur
