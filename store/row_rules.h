// SPDX-License-Identifier: Apache-2.0
// Checks of rows before they are saved, and their canonical form: the same for every store.
//
// Pure functions.
#ifndef CONCUR_STORE_ROW_RULES_H_
#define CONCUR_STORE_ROW_RULES_H_

#include <vector>

#include "absl/status/status.h"
#include "core/rows.h"

namespace concur {

// InvalidArgument, naming the row, when a batch holds what no Load would accept: a number out of
// range, or an enum value that does not exist. Nothing that a worker or user can send is refused
// here; only a bug upstream is.
absl::Status CheckBatch(const Batch& batch);

// The row as it comes back from disk: times to the nanosecond, metrics by name, artifacts by kind
// and the last of each kind only.
JobRow Canonical(JobRow row);
SweepRow Canonical(SweepRow row);
WorkerRow Canonical(WorkerRow row);
BlameRow Canonical(BlameRow row);
PilotRow Canonical(PilotRow row);
JobResult Canonical(JobResult result);
AttemptRow Canonical(AttemptRow row);
StepRow Canonical(StepRow row);

// Adds a report to those of its job and name. REQUIRES: rows come by job, and then as they arrived.
void AddStep(const StepRow& row, std::vector<StepSeriesRow>& steps);

}  // namespace concur

#endif  // CONCUR_STORE_ROW_RULES_H_
