// SPDX-License-Identifier: Apache-2.0
// The messages between a worker and the coordinator: one idempotent exchange, current state in,
// desired state out.
//
// Rules that make loss, repetition, delay and reordering harmless:
//  - A worker has one call that counts: the one with the highest `sequence`. It ignores the answers
//    to earlier ones, and the coordinator refuses requests with a lower one, or the same one again
//    (Aborted: send the next). So once a Sync has been applied, nothing that an earlier answer
//    ordered and this Sync does not list will ever start.
//  - A worker starts an attempt at most once in its life, and lists every attempt that it knows,
//    running or finished, in every Sync until the coordinator orders it to forget it.
//  - The coordinator repeats every order until a Sync shows its effect.
//
// Values.
#ifndef CONCUR_CORE_SYNC_SYNC_H_
#define CONCUR_CORE_SYNC_SYNC_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "core/fields.h"
#include "core/ids.h"
#include "core/reported_step.h"
#include "core/resources.h"
#include "core/result.h"
#include "core/sync/job_order.h"

namespace concur {

struct WorkerInfo {
  std::string name;         // unique among live workers
  std::string incarnation;  // chosen at the worker's start
  // The incarnation that this one is known to replace: the worker holds the lock of the work
  // directory in which it found this name, so that the older process is dead. "" when unknown.
  std::string previous_incarnation;
  std::string host;
  std::string version;
  Resources capacity;
  // Attempts that it takes beyond what its capacity holds, and starts in the order of their orders
  // as others end. None of them may ask for GPUs.
  uint32_t queue_max = 0;
  // Attempts that it runs at a time, whatever they ask for; the rest waits. 0: as many as fit.
  uint32_t slots = 0;
  bool takes_services = false;  // it can run services
  std::map<std::string, std::string> labels;
  // Problems that somebody should look after on its machine, a line each; at most kNoticesMax.
  std::vector<std::string> notices;
  // Means that bound a job on it: first "cgroup-v2", "cgroup-v1" or "processes" (no control
  // group), then what is controlled or the job's own: "memory", "pids", "cpu", "shm", "tmp". Empty
  // when unknown; at most kContainmentMax.
  std::vector<std::string> containment;
};

struct FinishedAttempt {
  AttemptId id;
  JobResult result;
  // Checkpoint that a train job without success left, if any.
  std::optional<Checkpoint> checkpoint = {};
};

// A piece of the log of a running attempt, sent only while somebody reads it. One that is shorter
// than kLogChunkBytesMax, perhaps empty, reaches to where the log ends for now.
struct LogChunk {
  AttemptId id;
  int64_t offset = 0;  // in bytes from the log's start
  std::string data;
};

// Step that a running attempt has reported, or one that this Sync says has finished. It is sent
// again until a Sync that has it is answered.
struct AttemptStep {
  AttemptId id;
  ReportedStep step;
};

// Instance of a service that the worker runs.
struct RunningService {
  AttemptId id;
  bool ready = false;
  uint64_t gpu_mask = 0;
};

// Parts of its work that a running attempt says are done, of so many.
struct AttemptProgress {
  AttemptId id;
  int64_t done = 0;  // 0 to `of`
  int64_t of = 1;    // 1 to kStepMax
};

struct SyncRequest {
  WorkerInfo worker;
  uint64_t sequence = 0;           // grows with every call of one incarnation
  bool draining = false;           // wants no new work
  bool shutting_down = false;      // the last Sync of this incarnation: it runs nothing any more
  std::vector<AttemptId> running;  // without services
  std::vector<RunningService> services;
  std::vector<FinishedAttempt> finished;
  std::vector<LogChunk> log_chunks;
  std::vector<AttemptProgress> progress;  // in every Sync
  std::vector<AttemptStep> steps;  // those of one attempt in the order in which it reported them
  // Until this worker hands back what still runs, for its machine is taken away then.
  absl::Duration time_left = absl::InfiniteDuration();
  absl::Duration wait;  // longest that the coordinator may park this call while it has no orders
};

enum class StopReason {
  kCanceled,   // the job was canceled or its sweep deleted
  kFenced,     // a later attempt exists, the coordinator does not know this one, or it was overdue
  kEarlyStop,  // other settings do better, or may
};

struct StopOrder {
  AttemptId id;
  StopReason reason = StopReason::kCanceled;
};

// The coordinator has dealt with a finished attempt for good: the worker drops it and its files.
struct ForgetOrder {
  AttemptId id;
  bool accepted = false;  // counted (now or before); else refused
  std::string reason;     // why it was refused
};

// Asks for the log of a running attempt from `offset` on, until an answer no longer asks.
struct LogOrder {
  AttemptId id;
  int64_t offset = 0;
};

struct SyncResponse {
  std::vector<JobOrder> start;
  std::vector<StopOrder> stop;
  std::vector<ForgetOrder> forget;
  std::vector<LogOrder> logs;
  bool drain = false;  // finish what runs, take nothing new; exit when nothing is left
  // The worker's leases end so long after the Sync that this answers was received.
  absl::Duration lease;
  // Directory and id of the coordinator's artifact store: a worker that finds a store with this id
  // there shares the coordinator's disk.
  std::string artifact_directory;
  std::string artifact_store_id;
};

// Limits on one exchange.
inline constexpr size_t kNoticesMax = 8;
inline constexpr size_t kNoticeBytesMax = 1'000;
inline constexpr size_t kContainmentMax = 16;
inline constexpr size_t kSyncAttemptsMax = 20'000;
inline constexpr size_t kSyncFinishedMax = 5'000;      // a worker with more sends several Syncs
inline constexpr size_t kSyncPartMetricsMax = 50'000;  // likewise; one result may pass it
inline constexpr size_t kSyncStartsMax = 500;          // orders in one answer
inline constexpr size_t kSyncLogsMax = 1'000;          // chunks, and orders for them
// One attempt never has more of these, beside its amounts (core/spent.h).
inline constexpr size_t kSyncStepsMax = 10'000;
static_assert(kSyncStepsMax >= kStepsOfJobMax);
inline constexpr size_t kLogChunkBytesMax = size_t{64} * 1024;
inline constexpr absl::Duration kSyncWaitMax = absl::Seconds(60);

// InvalidArgument, naming the field within `path`, when a value is beyond its limit, or an attempt
// is listed twice.
absl::Status ValidateSyncRequest(const SyncRequest& request, const FieldPath& path);
absl::Status ValidateSyncResponse(const SyncResponse& response, const FieldPath& path);

}  // namespace concur

#endif  // CONCUR_CORE_SYNC_SYNC_H_
