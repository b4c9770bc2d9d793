// SPDX-License-Identifier: Apache-2.0
// Makes an attempt's result from the end of its process and its output files.
//
// Thread-safe (stateless).
#ifndef CONCUR_WORKER_EXECUTION_FINISH_H_
#define CONCUR_WORKER_EXECUTION_FINISH_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/digest.h"
#include "base/process/process_watcher.h"
#include "core/result.h"
#include "core/sync/job_order.h"
#include "core/sync/sync.h"
#include "worker/execution/scorer.h"
#include "worker/executor.h"
#include "worker/inputs/inputs.h"
#include "worker/inputs/run_dir.h"

namespace concur::worker {

// "handed back: the worker is shutting down", …
absl::string_view StopCauseText(StopCause cause);

// A result without success. The message is made UTF-8 and cut to kMessageBytesMax.
JobResult FailedResult(FailureClass failure, absl::string_view message);

// Replacement of a result whose artifacts could not be `done`, for good: a failure of the worker.
JobResult WithoutArtifacts(const JobResult& result, absl::string_view done,
                           const absl::Status& status);

// Result that remains when the small artifacts that it put may be gone. A result of which only the
// log was small stays, without the log; of others the attempt failed. `status` is the failure;
// OK: an earlier one.
JobResult AfterFailedSync(JobResult result, const absl::Status& status);

// A line about a link in the folder at `model` with which the training will fail, to be read before
// it ends; "": there is none.
std::string WarningOfModel(const std::string& model);

// The class of a failure before or after the command itself: what the user can fix is kConfig, a
// disk or a store that does not do its part kWorker.
FailureClass ClassOfWorkerError(const absl::Status& status);

// True if a transfer may succeed later: all errors but damage and refusals of the request itself. A
// result is not given up for a wrong password, which can be corrected.
bool MayWorkLater(const absl::Status& status);

// Digests of a result's artifacts, and of the checkpoint that the attempt left.
std::vector<Digest> DigestsOf(const FinishedAttempt& finished);

// The result by the end of the process alone; after success, CollectOutputs checks the output.
JobResult ClassifyEnd(const JobOrder& order, const process::ProcessEnd& end,
                      std::optional<StopCause> stopped);

// The same of a service, which never succeeds.
JobResult ClassifyServiceEnd(const JobOrder& order, const process::ProcessEnd& end,
                             std::optional<StopCause> stopped);

// The result of an attempt that ran while an input was changed: never a success. It is the fault of
// this job where the bytes are others and no other job read them; else each of them is tried again,
// as is a job whose input cannot be verified.
JobResult WithChangedInput(const ChangedInput& changed, JobResult result);

// Types and sizes of what lies where a job leaves its outputs, links not followed.
struct Outputs {
  enum class Type { kMissing, kFile, kDirectory, kOther };
  Type model = Type::kMissing;  // a train job's; the others, those of one that predicts
  Type predictions = Type::kMissing;
  Type metrics = Type::kMissing;
  Type examples = Type::kMissing;
  bool has_output = false;      // there is something in {output}, and it is to be kept
  int64_t file_bytes = 0;       // sum over all of them but directories
  bool has_checkpoint = false;  // a train job's: there is something but an empty directory

  // True if CollectOutputs and CollectCheckpoint take in at most `bytes_max` bytes, with the log.
  // A directory may have any number, and so may what a link at {model} leads to.
  bool AreSmall(const process::ProcessEnd& end, int64_t bytes_max) const;
};
Outputs LookAtOutputs(const JobOrder& order, const RunPaths& paths);

// Completes `result`, which ClassifyEnd made: takes in the log, and after success the system, or
// predictions and metrics, and what lies in {output}, as `outputs` tells. What is missing or
// malformed turns success into failure, and so does a system that is a directory of more than
// `bytes_max` (0: no limit). Artifacts are durable as Artifacts::PutStart says. `gold` is null
// unless the job is scored by the worker.
JobResult CollectOutputs(const JobOrder& order, const RunPaths& paths, const Outputs& outputs,
                         const process::ProcessEnd& end, int64_t bytes_max, JobResult result,
                         const Scorer::Gold& gold, Artifacts& artifacts);

// Stores what an attempt without success left in its checkpoint's directory. One that cannot be
// kept, or has more than `bytes_max` (0: no limit), is dropped, and the result's message says so.
// REQUIRES: Outputs::has_checkpoint; whoever left nothing has nothing to be told.
std::optional<Checkpoint> CollectCheckpoint(const JobOrder& order, const RunPaths& paths,
                                            int64_t bytes_max, Artifacts& artifacts,
                                            JobResult& result);

// Adds to the result's message that `what` ("its checkpoint") was not kept.
void AddLoss(absl::string_view what, const absl::Status& status, JobResult& result);

}  // namespace concur::worker

#endif  // CONCUR_WORKER_EXECUTION_FINISH_H_
