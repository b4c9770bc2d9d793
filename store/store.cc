// SPDX-License-Identifier: Apache-2.0
#include "store/store.h"

#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "base/status_macros.h"

namespace concur {

absl::Status AddReports(Store& store,
                        const std::vector<std::shared_ptr<const Expansion>>& expansions,
                        Snapshot& snapshot) {
  std::map<SweepId, std::string> metrics;
  for (size_t i = 0; i < expansions.size(); ++i) {
    if (expansions[i]->spec().early_stop) {
      metrics[snapshot.sweeps[i].id] = expansions[i]->spec().early_stop->metric;
    }
  }
  snapshot.reports.clear();
  const StepSeriesRow* previous = nullptr;
  for (const StepSeriesRow& series : snapshot.steps) {
    const auto metric = metrics.find(series.id.sweep);
    if (metric != metrics.end() && (previous == nullptr || previous->id != series.id)) {
      CONCUR_ASSIGN_OR_RETURN(std::vector<StepRow> steps, store.ListSteps(series.id));
      for (StepRow& row : steps) {
        if (row.step.name == metric->second) {
          snapshot.reports.push_back(std::move(row));
        }
      }
    }
    previous = &series;
  }
  return absl::OkStatus();
}

}  // namespace concur
