// SPDX-License-Identifier: Apache-2.0
// Reports of jobs that the coordinator has not confirmed yet. A Sync carries each an interval after
// it came, or with the end of its attempt, and again until one Sync is answered.
//
// Thread-compatible.
#ifndef CONCUR_WORKER_AGENT_STEP_OUTBOX_H_
#define CONCUR_WORKER_AGENT_STEP_OUTBOX_H_

#include <cstddef>
#include <deque>
#include <map>
#include <vector>

#include "absl/time/time.h"
#include "core/ids.h"
#include "core/sync/sync.h"

namespace concur::worker {

class StepOutbox {
 public:
  // Number of reports of each attempt that a Sync carries.
  using Sent = std::map<AttemptId, size_t>;

  explicit StepOutbox(absl::Duration interval) : interval_(interval) {}

  void Add(AttemptStep step, absl::Time now);
  // Fills an empty `steps` with the oldest of each attempt, at most kSyncStepsMax of all.
  Sent Fill(std::vector<AttemptStep>& steps);
  // True if a Sync that carries `sent` says all that the attempt has reported.
  bool HasAll(const AttemptId& id, const Sent& sent) const;
  // The Sync was answered.
  void Confirm(const Sent& sent, absl::Time now);
  // The Sync that had some may have been lost: they are due again.
  void Fail(absl::Time now);
  // The coordinator wants to hear no more of the attempt.
  void Forget(const AttemptId& id) { steps_.erase(id); }
  // When they are to be sent though there is nothing else to say; InfiniteFuture when there are
  // none, or a Sync has them.
  absl::Time due() const { return due_; }

 private:
  const absl::Duration interval_;
  std::map<AttemptId, std::deque<ReportedStep>> steps_;  // none empty
  absl::Time due_ = absl::InfiniteFuture();
};

}  // namespace concur::worker

#endif  // CONCUR_WORKER_AGENT_STEP_OUTBOX_H_
