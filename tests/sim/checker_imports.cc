// SPDX-License-Identifier: Apache-2.0
// Checks of imported results: all or none of an import is there, as it was sent, and none of it
// runs or stands for the result of a job that runs.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/strings/str_cat.h"
#include "tests/sim/checker.h"

namespace concur::sim {
namespace {

// Null for a gap.
const ImportedResult* ImportedResultOf(const PlannedSweep& import, uint32_t job) {
  const auto found = std::find_if(import.imported.begin(), import.imported.end(),
                                  [&](const ImportedResult& result) { return result.job == job; });
  return found == import.imported.end() ? nullptr : &*found;
}

}  // namespace

const PlannedSweep* Checker::ImportOf(SweepId id) const {
  const auto planned = planned_.find(id);
  return planned == planned_.end() || workload_.sweeps[planned->second].imported.empty()
             ? nullptr
             : &workload_.sweeps[planned->second];
}

void Checker::CheckImportRow(const PlannedSweep& import, const JobRow& row) {
  const bool scored = ImportedResultOf(import, row.id.index) != nullptr;
  if (row.state != (scored ? JobState::kSucceeded : JobState::kCanceled) ||
      row.attempt.number != 0 || row.reused_from || !row.worker.empty()) {
    world_.Fail(absl::StrCat("imported job ", row.id.ToString(), " is ", JobStateName(row.state),
                             ", attempt ", row.attempt.number,
                             row.reused_from ? ", with another's result" : ""));
  }
}

void Checker::CheckImportIsWhole(SweepId id, const PlannedSweep& import) {
  for (uint32_t job = 0; job < import.expansion->job_count(); ++job) {
    if (!rows_.contains({id, job})) {
      world_.Fail(
          absl::StrCat("import ", id.ToString(), " was answered before job ", job, " was saved"));
      return;
    }
  }
  ++imports_;
}

void Checker::CheckImports(const Scheduler& scheduler) {
  for (const auto& [id, planned] : planned_) {
    const PlannedSweep* const import = ImportOf(id);
    const std::optional<SweepView> sweep = scheduler.views().FindSweep(id);
    if (import == nullptr || !sweep || scheduler.IsImporting(id)) {
      continue;  // one that is gone is acknowledged or not: CheckAcknowledged
    }
    if (sweep->state != SweepState::kSucceeded) {
      world_.Fail(absl::StrCat("import ", id.ToString(), " is ", SweepStateName(sweep->state)));
    }
    for (uint32_t job = 0; job < sweep->expansion->job_count(); ++job) {
      const JobView view = scheduler.views().ViewJob({id, job});
      const ImportedResult* const sent = ImportedResultOf(*import, job);
      const bool same = sent == nullptr
                            ? view.state == JobState::kCanceled && view.result == nullptr
                            : view.state == JobState::kSucceeded && view.result != nullptr &&
                                  view.result->metrics == sent->result.metrics &&
                                  view.result->message == sent->result.message;
      if (!same) {
        world_.Fail(absl::StrCat("imported job ", view.id.ToString(), " is ",
                                 JobStateName(view.state), " and is not what was sent"));
        return;
      }
    }
  }
}

}  // namespace concur::sim
