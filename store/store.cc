// SPDX-License-Identifier: Apache-2.0
#include "store/store.h"

#include <cstddef>
#include <iterator>
#include <set>

#include "base/status_macros.h"

namespace concur {

absl::Status AddReports(Store& store,
                        const std::vector<std::shared_ptr<const Expansion>>& expansions,
                        Snapshot& snapshot) {
  std::set<SweepId> sweeps;
  for (size_t i = 0; i < expansions.size(); ++i) {
    if (expansions[i]->spec().early_stop) {
      sweeps.insert(snapshot.sweeps[i].id);
    }
  }
  snapshot.reports.clear();
  const StepSeriesRow* previous = nullptr;
  for (const StepSeriesRow& series : snapshot.steps) {
    if (sweeps.contains(series.id.sweep) && (previous == nullptr || previous->id != series.id)) {
      CONCUR_ASSIGN_OR_RETURN(std::vector<StepRow> steps, store.ListSteps(series.id));
      snapshot.reports.insert(snapshot.reports.end(), std::make_move_iterator(steps.begin()),
                              std::make_move_iterator(steps.end()));
    }
    previous = &series;
  }
  return absl::OkStatus();
}

}  // namespace concur
