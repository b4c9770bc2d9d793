// SPDX-License-Identifier: Apache-2.0
#include "core/sync/sync.h"

#include <cstddef>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "base/status_macros.h"
#include "core/sweep/sweep.h"

namespace concur {
namespace {

// An answer may stop or forget all that a request listed.
constexpr size_t kSyncOrdersMax = kSyncAttemptsMax + kSyncFinishedMax;

absl::Status CheckWorkerInfo(const FieldPath& path, const WorkerInfo& worker) {
  CONCUR_RETURN_IF_ERROR(CheckName(path.Field("worker"), worker.name));
  CONCUR_RETURN_IF_ERROR(CheckName(path.Field("incarnation"), worker.incarnation));
  const FieldPath previous = path.Field("previous_incarnation");
  CONCUR_RETURN_IF_ERROR(CheckLine(previous, worker.previous_incarnation));
  if (worker.previous_incarnation == worker.incarnation) {
    return FieldError(previous, "expected another incarnation than the present one");
  }
  CONCUR_RETURN_IF_ERROR(CheckLine(path.Field("host"), worker.host));
  CONCUR_RETURN_IF_ERROR(CheckLine(path.Field("version"), worker.version));
  CONCUR_RETURN_IF_ERROR(CheckCapacity(path.Field("capacity"), worker.capacity));
  CONCUR_RETURN_IF_ERROR(
      CheckRange(path.Field("queue_max"), worker.queue_max, 0, kSyncAttemptsMax));
  CONCUR_RETURN_IF_ERROR(CheckRange(path.Field("slots"), worker.slots, 0, kSyncAttemptsMax));
  CONCUR_RETURN_IF_ERROR(CheckCount(path.Field("labels"), worker.labels.size(), kTagsMax));
  for (const auto& [name, value] : worker.labels) {
    CONCUR_RETURN_IF_ERROR(CheckName(path.Field("labels"), name));
    CONCUR_RETURN_IF_ERROR(CheckLine(path.Entry("labels", name), value));
  }
  CONCUR_RETURN_IF_ERROR(CheckCount(path.Field("notices"), worker.notices.size(), kNoticesMax));
  for (size_t i = 0; i < worker.notices.size(); ++i) {
    CONCUR_RETURN_IF_ERROR(CheckLine(path.Field("notices", i), worker.notices[i], kNoticeBytesMax));
  }
  CONCUR_RETURN_IF_ERROR(
      CheckCount(path.Field("containment"), worker.containment.size(), kContainmentMax));
  for (size_t i = 0; i < worker.containment.size(); ++i) {
    CONCUR_RETURN_IF_ERROR(CheckName(path.Field("containment", i), worker.containment[i]));
  }
  return absl::OkStatus();
}

absl::Status CheckAttempts(const FieldPath& path, const SyncRequest& request) {
  CONCUR_RETURN_IF_ERROR(
      CheckCount(path.Field("running"), request.running.size(), kSyncAttemptsMax));
  CONCUR_RETURN_IF_ERROR(
      CheckCount(path.Field("finished"), request.finished.size(), kSyncFinishedMax));
  absl::flat_hash_set<AttemptId> seen;
  const auto check = [&seen](const FieldPath& here, const AttemptId& id) {
    CONCUR_RETURN_IF_ERROR(CheckAttemptId(here, id));
    return seen.insert(id).second
               ? absl::OkStatus()
               : FieldError(here, "expected each attempt once, running or finished");
  };
  for (size_t i = 0; i < request.running.size(); ++i) {
    CONCUR_RETURN_IF_ERROR(check(path.Field("running", i), request.running[i]));
    if (request.running[i].job.IsService()) {
      return FieldError(path.Field("running", i), "expected a job, got a service");
    }
  }
  CONCUR_RETURN_IF_ERROR(
      CheckCount(path.Field("services"), request.services.size(), kSyncAttemptsMax));
  for (size_t i = 0; i < request.services.size(); ++i) {
    CONCUR_RETURN_IF_ERROR(check(path.Field("services", i), request.services[i].id));
    if (!request.services[i].id.job.IsService()) {
      return FieldError(path.Field("services", i), "expected a service, got a job");
    }
  }
  for (size_t i = 0; i < request.finished.size(); ++i) {
    const FieldPath here = path.Field("finished", i);
    CONCUR_RETURN_IF_ERROR(check(here.Field("id"), request.finished[i].id));
    CONCUR_RETURN_IF_ERROR(ValidateJobResult(request.finished[i].result, here.Field("result")));
    if (const auto& checkpoint = request.finished[i].checkpoint) {
      CONCUR_RETURN_IF_ERROR(ValidateCheckpoint(*checkpoint, here.Field("checkpoint")));
    }
  }
  return absl::OkStatus();
}

// The attempts of orders, and how many orders there are.
template <typename Order>
absl::Status CheckOrders(const FieldPath& path, absl::string_view field,
                         const std::vector<Order>& orders, size_t count_max) {
  CONCUR_RETURN_IF_ERROR(CheckCount(path.Field(field), orders.size(), count_max));
  for (size_t i = 0; i < orders.size(); ++i) {
    CONCUR_RETURN_IF_ERROR(CheckAttemptId(path.Field(field, i).Field("id"), orders[i].id));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidateSyncRequest(const SyncRequest& request, const FieldPath& path) {
  CONCUR_RETURN_IF_ERROR(CheckWorkerInfo(path, request.worker));
  CONCUR_RETURN_IF_ERROR(CheckAttempts(path, request));
  CONCUR_RETURN_IF_ERROR(CheckOrders(path, "log_chunks", request.log_chunks, kSyncLogsMax));
  for (size_t i = 0; i < request.log_chunks.size(); ++i) {
    const FieldPath here = path.Field("log_chunks", i);
    const LogChunk& chunk = request.log_chunks[i];
    CONCUR_RETURN_IF_ERROR(CheckRange(here.Field("offset"), chunk.offset, 0, kArtifactBytesMax));
    CONCUR_RETURN_IF_ERROR(CheckCount(here.Field("data"), chunk.data.size(), kLogChunkBytesMax));
  }
  CONCUR_RETURN_IF_ERROR(CheckOrders(path, "progress", request.progress, kSyncAttemptsMax));
  for (size_t i = 0; i < request.progress.size(); ++i) {
    const FieldPath here = path.Field("progress", i);
    const AttemptProgress& progress = request.progress[i];
    CONCUR_RETURN_IF_ERROR(CheckRange(here.Field("of"), progress.of, 1, kStepMax));
    CONCUR_RETURN_IF_ERROR(CheckRange(here.Field("done"), progress.done, 0, progress.of));
  }
  CONCUR_RETURN_IF_ERROR(CheckOrders(path, "steps", request.steps, kSyncStepsMax));
  for (size_t i = 0; i < request.steps.size(); ++i) {
    CONCUR_RETURN_IF_ERROR(CheckReportedStep(path.Field("steps", i), request.steps[i].step));
  }
  CONCUR_RETURN_IF_ERROR(
      CheckTimeLimit(path.Field("time_left"), request.time_left, absl::ZeroDuration()));
  return CheckSpan(path.Field("wait"), request.wait, absl::ZeroDuration(), kSyncWaitMax);
}

absl::Status ValidateSyncResponse(const SyncResponse& response, const FieldPath& path) {
  CONCUR_RETURN_IF_ERROR(CheckCount(path.Field("start"), response.start.size(), kSyncStartsMax));
  for (size_t i = 0; i < response.start.size(); ++i) {
    CONCUR_RETURN_IF_ERROR(ValidateJobOrder(response.start[i], path.Field("start", i)));
  }
  CONCUR_RETURN_IF_ERROR(CheckOrders(path, "stop", response.stop, kSyncOrdersMax));
  CONCUR_RETURN_IF_ERROR(CheckOrders(path, "forget", response.forget, kSyncOrdersMax));
  for (size_t i = 0; i < response.forget.size(); ++i) {
    CONCUR_RETURN_IF_ERROR(CheckText(path.Field("forget", i).Field("reason"),
                                     response.forget[i].reason, kMessageBytesMax));
  }
  CONCUR_RETURN_IF_ERROR(CheckOrders(path, "logs", response.logs, kSyncLogsMax));
  for (size_t i = 0; i < response.logs.size(); ++i) {
    CONCUR_RETURN_IF_ERROR(CheckRange(path.Field("logs", i).Field("offset"),
                                      response.logs[i].offset, 0, kArtifactBytesMax));
  }
  CONCUR_RETURN_IF_ERROR(CheckSpan(path.Field("lease"), response.lease, absl::Nanoseconds(1)));
  CONCUR_RETURN_IF_ERROR(
      CheckText(path.Field("artifact_directory"), response.artifact_directory, kPathBytesMax));
  return CheckLine(path.Field("artifact_store_id"), response.artifact_store_id);
}

}  // namespace concur
