// SPDX-License-Identifier: Apache-2.0
// Runs attempts in the background, as the agent orders, and reports their ends.
//
// The agent's loop thread calls every function; none of them blocks on a job, the network or heavy
// work. The real one is SubprocessExecutor; tests and the simulation have fakes with state.
#ifndef CONCUR_WORKER_EXECUTOR_H_
#define CONCUR_WORKER_EXECUTOR_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/sync/job_order.h"
#include "core/sync/sync.h"

namespace concur::worker {

// Where the coordinator keeps its artifacts; a worker on the same disk uses them directly.
struct CoordinatorStore {
  std::string directory;
  std::string store_id;

  friend bool operator==(const CoordinatorStore&, const CoordinatorStore&) = default;
};

// Why an attempt is stopped; goes into the result's message.
enum class StopCause {
  kCanceled,
  kFenced,
  kPreempted,  // the worker leaves
  kEarlyStop,  // other settings do better, or may
  kLeaseEnds,  // its units of named resources may soon be another's
  kService,    // the service that it asks has ended
  kNotReady,   // a service that is not ready in time
};

// An attempt has ended. Its artifacts are durable on this machine; `published` says that the
// coordinator has them too. An attempt is reported once with published = false and then, after
// Publish, once with published = true; or at once with published = true.
struct ExecutorReport {
  FinishedAttempt finished;
  bool published = false;
};

// Names a step that says how far its attempt is: `step` of `value` parts of the work are done. No
// program can report a name with a control character.
inline constexpr char kProgressName[] = "\x01progress";

class Executor {
 public:
  virtual ~Executor() = default;

  // The agent tells this before the first Start, and again when it changes.
  virtual void SetCoordinatorStore(const CoordinatorStore& store) = 0;

  // Until then, on the agent's clock, this worker's attempts are certainly its own: no command may
  // begin after it, also not one that was ordered before. What cannot begin waits for a later end.
  virtual void SetLeaseEnd(absl::Time end) = 0;

  // Begins an attempt. Whatever goes wrong is in its report. REQUIRES: `order.id` was never
  // started.
  virtual void Start(const JobOrder& order) = 0;

  // Ends an attempt early: it will be reported soon, as preempted unless it had already ended by
  // itself. Repeats and unknown attempts are ignored. With `at_once` the processes get no time to
  // clean up. Once kCanceled or kFenced, also when it has ended, its checkpoint is not handed in.
  virtual void Stop(const AttemptId& id, StopCause cause, bool at_once) = 0;

  // Brings the artifacts of a result to the coordinator, however long that takes, and reports it
  // with published = true. When that can never work, the result is replaced by a failure; without
  // its checkpoint only when that one cannot be brought.
  virtual void Publish(const FinishedAttempt& finished) = 0;

  // Drops what is left of an ended attempt: its files and a Publish under way.
  virtual void Forget(const AttemptId& id) = 0;

  // Reports of what has happened since the last call, in order.
  virtual std::vector<ExecutorReport> Poll() = 0;
  // Steps and progress (kProgressName) that running attempts have reported since the last call, in
  // order. A Poll that gives the end of an attempt is followed by one of these with the last that
  // it reported.
  virtual std::vector<AttemptStep> PollSteps() { return {}; }
  // Services that have become ready since the last call.
  virtual std::vector<AttemptId> PollReady() { return {}; }
  // Attempts that were ordered and wait for others to end.
  virtual size_t waiting() const { return 0; }

  // Up to `bytes_max` bytes of the log of a started attempt from `offset` on; "" when there are no
  // more now or the attempt is unknown.
  virtual std::string ReadLog(const AttemptId& id, int64_t offset, size_t bytes_max) = 0;
};

}  // namespace concur::worker

#endif  // CONCUR_WORKER_EXECUTOR_H_
