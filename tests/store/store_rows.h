// SPDX-License-Identifier: Apache-2.0
// Rows, batches and comparisons that the store's tests share.
#ifndef CONCUR_TESTS_STORE_STORE_ROWS_H_
#define CONCUR_TESTS_STORE_STORE_ROWS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/random.h"
#include "core/rows.h"
#include "store/store.h"

namespace concur::testing {

inline JobId MakeJobId(uint64_t sweep, uint32_t index) { return JobId{SweepId{sweep}, index}; }

// Rows with every field away from its default.
SweepRow FullSweep(uint64_t number);
JobRow FullJob(JobId id);
JobResult FullResult();
ResultRow FullResultRow(JobId id);
AttemptRow FullAttempt(JobId id, uint32_t attempt);
StepRow FullStep(JobId id, uint64_t arrival);
PilotRow FullPilot(const std::string& name);
WorkerRow FullWorker(const std::string& name);
WorkerRow QuarantinedWorker(const std::string& name);
BlameRow FullBlame(const std::string& worker);

// A submission, jobs that run, fail, succeed and are deleted, workers that come and go: some twenty
// batches, each of which changes something.
std::vector<Batch> ScriptOfBatches();

// A batch of random changes over few sweeps, jobs and workers, so that they often meet.
Batch RandomBatch(Random& random);

// All that a store holds, as text: equal texts, equal stores. "ERROR: …" when it cannot be read.
std::string Describe(Store& store);

}  // namespace concur::testing

#endif  // CONCUR_TESTS_STORE_STORE_ROWS_H_
