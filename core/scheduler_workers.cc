// SPDX-License-Identifier: Apache-2.0
// Workers: what they hold, their leases and deadlines, and quarantine.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "core/scheduler.h"
#include "core/sweep_record.h"

namespace concur {

// --- time
// -----------------------------------------------------------------------------------------

void Scheduler::AdvanceTo(absl::Time now) {
  now_ = std::max(now_, now);
  while (Worker* worker = workers_.FirstOverdue(now_)) {
    if (!worker->lost) {
      LoseWorker(*worker, /*died=*/true,
                 absl::StrCat("worker ", worker->info.name, " was not heard of for ",
                              absl::FormatDuration(policy_.lease)));
    } else if (worker->drain_asked) {
      workers_.DropDeadline(*worker);
    } else {
      ForgetWorker(*worker);
    }
  }
  while (Worker* worker = workers_.FirstQuarantineEnded(now_)) {
    EndQuarantine(*worker);
  }
  while (const std::optional<JobId> id = backoffs_.FirstEnded(now_)) {
    SetState(SweepOf(*id), id->index, JobState::kReady);
  }
}

void Scheduler::GrantLeases(absl::Time now) {
  now_ = std::max(now_, now);
  for (const auto& [name, worker] : workers_) {
    if (!worker->lost) {
      workers_.SetDeadline(*worker, now_ + policy_.lease);
    }
  }
}

absl::Time Scheduler::NextDeadline() const {
  return std::min(backoffs_.NextEnd(), workers_.NextDeadline());
}

// --- what occupies a worker
// -----------------------------------------------------------------------

void Scheduler::Assign(Worker& worker, AttemptId id, Assignment assignment) {
  if (HasJob(id.job)) {
    assignment.owner = SweepOf(id.job).owner;
    owners_.AddAttempt(*assignment.owner, assignment.resources);
    assignment.is_short = IsShort(SweepOf(id.job).LaneOf(id.job.index).group);
  }
  if (assignment.ahead) {
    ++SweepOf(id.job).queued;
  }
  assignment.time_left_at = now_;
  worker.assignments.Add(id, assignment);
}

void Scheduler::Unassign(Worker& worker, AttemptId id) {
  const std::optional<Assignment> removed = worker.assignments.Remove(
      id, worker.info.capacity, [this](AttemptId started, const Assignment& assignment) {
        LeaveQueue(started.job, assignment);
      });
  if (!removed) {
    return;
  }
  if (removed->ahead) {
    LeaveQueue(id.job, *removed);
  }
  Release(id, *removed);
}

// Its owner and its sweep no longer wait for an attempt.
void Scheduler::Release(AttemptId id, const Assignment& released) {
  if (released.owner) {
    owners_.RemoveAttempt(*released.owner, released.resources);
  }
  if (released.counted) {
    // A sweep that waits for this is not deleted before.
    SweepRecord& sweep = SweepOf(id.job);
    CONCUR_CHECK(sweep.stopping > 0);
    if (--sweep.stopping == 0) {
      pending_.changed_sweeps.insert(id.job.sweep);
      UpdateEnd(sweep);
    }
  }
}

// An attempt that was given ahead starts, or goes.
void Scheduler::LeaveQueue(JobId id, const Assignment& assignment) {
  if (!assignment.stopping) {  // else it left when that was ordered
    SweepRecord& sweep = SweepOf(id);
    CONCUR_CHECK(sweep.queued > 0);
    --sweep.queued;
    pending_.changed_sweeps.insert(id.sweep);
  }
}

// Has the worker stop the job's attempt, which its sweep waits for if it is `counted`.
// REQUIRES: the job runs.
void Scheduler::StopAttempt(JobId id, StopReason reason, bool counted) {
  const Leases::Lease* lease = leases_.Find(id);
  CONCUR_CHECK(lease != nullptr);
  Worker* worker = workers_.Find(leases_.WorkerOf(lease->holder));
  CONCUR_CHECK(worker != nullptr);
  SweepRecord& sweep = SweepOf(id);
  const AttemptId attempt{id, {sweep.jobs[id.index].attempt}};
  const Assignment assignment = *worker->assignments.Find(attempt);
  if (worker->assignments.Stop(attempt, reason, policy_.overdue_grace, counted)) {
    sweep.stopping += counted ? 1 : 0;
    if (assignment.ahead) {
      LeaveQueue(id, assignment);
    }
  }
}

// --- what takes too long
// --------------------------------------------------------------------------

// How long a worker may have an attempt of the job once it has taken it.
absl::Duration Scheduler::TimeMaxOf(const SweepRecord& sweep, uint32_t job) const {
  return sweep.ApproachOf(job).TimeoutOf(sweep.expansion->Locate(job).is_train) +
         policy_.overdue_grace;
}

// The worker calls, but an attempt is overdue there: its job returns to the queue, and the worker
// is blamed, unless it had the attempt ahead. It keeps its room until the worker drops it. One that
// was already to stop is no longer waited for.
void Scheduler::TakeBack(Worker& worker, AttemptId id) {
  const Assignment assignment = *worker.assignments.Find(id);
  if (assignment.stopping) {
    Release(id, worker.assignments.Abandon(id));
    return;
  }
  SweepRecord& sweep = SweepOf(id.job);
  if (assignment.ahead) {
    LeaveQueue(id.job, assignment);
  } else {
    RecordFailure(sweep, id.job.index, worker.info.name, FailureClass::kWorker);
  }
  worker.assignments.Stop(id, StopReason::kFenced, policy_.overdue_grace, /*counted=*/false);
  ++worker.failed;
  LoseAttempt(
      id.job, FailureClass::kWorker,
      assignment.taken
          ? absl::StrCat("worker ", worker.info.name, " still calls, but reported no result ",
                         "within the time-out and ", absl::FormatDuration(policy_.overdue_grace),
                         " (overdue_grace)")
          : absl::StrCat("worker ", worker.info.name, " still calls, but did not start it ",
                         "within ", absl::FormatDuration(policy_.overdue_grace),
                         " (overdue_grace)"));
}

// Everything that the worker held returns to the queue.
void Scheduler::LoseWorker(Worker& worker, bool died, const std::string& message) {
  worker.lost_attempts.clear();
  const size_t started = worker.assignments.started();
  while (!worker.assignments.empty()) {
    const auto [id, assignment] = *worker.assignments.all().begin();
    worker.lost_attempts[id] = {assignment.gpu_mask, assignment.resources.gpu_share,
                                assignment.time_left};
    if (!assignment.stopping && died && assignment.MayHaveStarted()) {
      LoseAttemptByDeath(id.job, /*shared=*/started > 1, message);
    } else if (!assignment.stopping) {
      LoseAttempt(id.job, FailureClass::kLost, message);
    }
    Unassign(worker, id);
  }
  worker.lost = true;
  worker.parked = false;
  worker.forget.clear();
  workers_.SetDeadline(worker, now_ + policy_.lost_worker_kept);
}

void Scheduler::ForgetWorker(Worker& worker) {
  CONCUR_CHECK(worker.assignments.empty());
  const std::string name = worker.info.name;
  blame_.Forget(name);
  workers_.Erase(name);
  std::erase_if(pending_.batch.put_workers, [&](const WorkerRow& row) { return row.name == name; });
  pending_.batch.delete_workers.push_back(name);
}

void Scheduler::SaveWorker(const Worker& worker) {
  std::erase(pending_.batch.delete_workers, worker.info.name);
  std::erase_if(pending_.batch.put_workers,
                [&](const WorkerRow& row) { return row.name == worker.info.name; });
  pending_.batch.put_workers.push_back(worker.Row());
}

absl::Status Scheduler::DrainWorker(const std::string& name, bool drain) {
  Worker* worker = workers_.Find(name);
  if (worker == nullptr) {
    return absl::NotFoundError(absl::StrCat("no worker \"", name, "\""));
  }
  if (!drain) {
    EndQuarantine(*worker);
    worker->quarantine_span = absl::ZeroDuration();
    SaveWorker(*worker);
  }
  if (worker->drain_asked != drain) {
    worker->drain_asked = drain;
    SaveWorker(*worker);
    if (worker->lost && !drain && !workers_.HasDeadline(*worker)) {
      // It was kept for the drain's sake.
      workers_.SetDeadline(*worker, now_ + policy_.lost_worker_kept);
    }
  }
  return absl::OkStatus();
}

// --- quarantine
// -----------------------------------------------------------------------------------

Blame::Kind Scheduler::KindOf(const SweepRecord& sweep, uint32_t job) const {
  const Durations::Group group = sweep.GroupOf(job);
  return {.key = sweep.keys.KindKeyOf(job),
          .approach = durations_.approach(group),
          .benchmark = durations_.benchmark(group),
          .is_train = durations_.is_train(group)};
}

void Scheduler::RecordSuccess(const SweepRecord& sweep, uint32_t job, const std::string& worker) {
  for (const std::string& suspect :
       blame_.AddSuccess(KindOf(sweep, job), worker, sweep.row.id, now_)) {
    JudgeWorker(suspect);
  }
}

void Scheduler::RecordFailure(const SweepRecord& sweep, uint32_t job, const std::string& worker,
                              FailureClass failure) {
  if (CountsForBlame(failure)) {
    blame_.AddFailure(KindOf(sweep, job), worker, sweep.row.id);
    JudgeWorker(worker);
  }
}

// A worker is given nothing new for a while when others succeed at what it fails. Not the last one
// that takes jobs: a bad worker is better than none.
void Scheduler::JudgeWorker(const std::string& name) {
  Worker* worker = workers_.Find(name);
  if (worker == nullptr || policy_.quarantine_failures == 0 ||
      worker->quarantine_end != absl::InfinitePast()) {
    return;
  }
  const Blame::Suspicion suspicion = blame_.SuspicionOf(name);
  if (suspicion.failures < policy_.quarantine_failures ||
      !workers_.HasOtherThatTakesJobs(name, now_)) {
    return;
  }
  const Blame::Kind& example = suspicion.kinds.front();
  const size_t others = suspicion.kinds.size() - 1;
  worker->quarantine_span = worker->quarantine_span == absl::ZeroDuration()
                                ? policy_.quarantine_min
                                : std::min(worker->quarantine_span * 2, policy_.quarantine_max);
  workers_.BeginQuarantine(
      *worker, now_ + worker->quarantine_span,
      absl::StrCat("failed ", suspicion.failures, " times at what succeeds on ",
                   absl::StrJoin(suspicion.succeeded, ", "), ": ",
                   example.is_train ? "train" : "eval", " jobs of ", example.approach, " on ",
                   example.benchmark,
                   others > 0 ? absl::StrCat(" and ", others, " other kinds") : ""));
  SaveWorker(*worker);
}

// The worker may try again: its failures are forgotten, but not that it was in quarantine.
void Scheduler::EndQuarantine(Worker& worker) {
  blame_.Pardon(worker.info.name);
  if (workers_.EndQuarantine(worker)) {
    SaveWorker(worker);
  }
}

}  // namespace concur
