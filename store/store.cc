// SPDX-License-Identifier: Apache-2.0
#include "store/store.h"

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"

namespace concur {

absl::StatusOr<Snapshot> Store::LoadPart(ChooseLeftOut choose) {
  CONCUR_ASSIGN_OR_RETURN(Snapshot snapshot, Load());
  const absl::btree_set<SweepId> left_out = choose(snapshot.sweeps);
  std::erase_if(snapshot.sweeps, [&](const SweepRow& row) { return left_out.contains(row.id); });
  const auto is_left_out = [&](const auto& row) { return left_out.contains(row.id.sweep); };
  std::erase_if(snapshot.jobs, is_left_out);
  std::erase_if(snapshot.results, is_left_out);
  std::erase_if(snapshot.steps, is_left_out);
  std::erase_if(snapshot.spent, is_left_out);
  return snapshot;
}

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
