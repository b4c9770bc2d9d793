// Workers: admitting them, settling what they report, and giving them work.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "core/scheduler.h"

namespace concur {
// --- time
// -----------------------------------------------------------------------------------------

void Scheduler::AdvanceTo(absl::Time now) {
  now_ = std::max(now_, now);
  while (!worker_deadlines_.empty() && worker_deadlines_.begin()->first <= now_) {
    const std::string name = worker_deadlines_.begin()->second;
    WorkerRecord& worker = *workers_.at(name);
    if (worker.lost) {
      if (worker.drain_asked) {  // still to be remembered, without a deadline
        worker_deadlines_.erase(worker_deadlines_.begin());
      } else {
        ForgetWorker(name);
      }
      continue;
    }
    LoseWorker(worker, FailureClass::kLost,
               absl::StrCat("worker ", name, " was not heard of for ",
                            absl::FormatDuration(policy_.lease)));
  }
  EndQuarantines();
  while (!backoffs_.empty() && backoffs_.begin()->first <= now_) {
    const JobId id = backoffs_.begin()->second;
    SetState(SweepOf(id), id.index, JobState::kReady);
  }
}

absl::Time Scheduler::NextDeadline() const {
  absl::Time next = absl::InfiniteFuture();
  if (!worker_deadlines_.empty()) {
    next = std::min(next, worker_deadlines_.begin()->first);
  }
  if (!backoffs_.empty()) {
    next = std::min(next, backoffs_.begin()->first);
  }
  if (!quarantines_.empty()) {
    next = std::min(next, quarantines_.begin()->first);
  }
  return next;
}

// --- what occupies a worker
// -----------------------------------------------------------------------

void Scheduler::Hold(WorkerRecord& worker, AttemptId id, Held held) {
  held.owner = HasJob(id.job) ? SweepOf(id.job).owner : kNone;
  if (held.ahead) {
    worker.ahead.insert(id);
    worker.ahead_cpu_micros += held.ahead_cpu_micros;
  }
  Occupy(worker, held, 1);
  CONCUR_CHECK(worker.held.emplace(id, held).second);
}

void Scheduler::Release(WorkerRecord& worker, AttemptId id) {
  const auto it = worker.held.find(id);
  if (it == worker.held.end()) {
    return;
  }
  const Held held = it->second;
  worker.held.erase(it);
  Occupy(worker, held, -1);
  if (held.ahead) {
    worker.ahead.erase(id);
    worker.ahead_cpu_micros -= held.ahead_cpu_micros;
  } else {
    StartAheadThatFits(worker);
  }
  if (held.counted) {
    // A sweep that waits for this is not deleted before.
    SweepRecord& sweep = SweepOf(id.job);
    CONCUR_CHECK(sweep.stopping > 0);
    if (--sweep.stopping == 0) {
      pending_.changed_sweeps.insert(id.job.sweep);
      UpdateEnd(sweep);
    }
  }
}

void Scheduler::StopHeld(JobId id, StopReason reason) {
  const auto running = running_.find(id);
  CONCUR_CHECK(running != running_.end());
  const auto worker = workers_.find(holders_[running->second.holder].worker);
  CONCUR_CHECK(worker != workers_.end());
  const auto held = worker->second->held.find(AttemptId{id, {SlotOf(id).attempt}});
  CONCUR_CHECK(held != worker->second->held.end());
  if (!held->second.stopping) {
    held->second.stopping = true;
    held->second.counted = true;
    held->second.reason = reason;
    held->second.told = false;
    ++SweepOf(id).stopping;
  }
}

// Everything that the worker held returns to the queue.
void Scheduler::LoseWorker(WorkerRecord& worker, FailureClass failure, const std::string& message) {
  worker.lost_gpus.clear();
  while (!worker.held.empty()) {
    const auto [id, held] = *worker.held.begin();
    if (held.gpu_mask != 0) {
      worker.lost_gpus[id] = held.gpu_mask;
    }
    if (!held.stopping) {
      LoseAttempt(id.job, failure, message);
    }
    Release(worker, id);
  }
  worker_deadlines_.erase({worker.lease_expire, worker.info.name});
  worker.lost = true;
  worker.listening = false;
  worker.forget.clear();
  worker.lease_expire = now_ + policy_.lost_worker_kept;
  worker_deadlines_.insert({worker.lease_expire, worker.info.name});
}

void Scheduler::ForgetWorker(const std::string& name) {
  const auto it = workers_.find(name);
  CONCUR_CHECK(it != workers_.end() && it->second->held.empty());
  worker_deadlines_.erase({it->second->lease_expire, name});
  EndQuarantine(*it->second);
  blame_.Forget(name);
  workers_.erase(it);
  std::erase_if(pending_.batch.put_workers, [&](const WorkerRow& row) { return row.name == name; });
  pending_.batch.delete_workers.push_back(name);
}

void Scheduler::SaveWorker(const WorkerRecord& worker) {
  std::erase(pending_.batch.delete_workers, worker.info.name);
  std::erase_if(pending_.batch.put_workers,
                [&](const WorkerRow& row) { return row.name == worker.info.name; });
  pending_.batch.put_workers.push_back(WorkerRow{.name = worker.info.name,
                                                 .incarnation = worker.info.incarnation,
                                                 .draining = worker.drain_asked,
                                                 .last_seen = worker.last_seen,
                                                 .quarantine_end = worker.quarantine_end,
                                                 .quarantine_span = worker.quarantine_span,
                                                 .quarantine_reason = worker.quarantine_reason});
}

// --- sync
// -----------------------------------------------------------------------------------------

absl::StatusOr<Scheduler::WorkerRecord*> Scheduler::Admit(const SyncRequest& request) {
  const WorkerInfo& info = request.worker;
  if (info.name.empty() || info.incarnation.empty()) {
    return absl::InvalidArgumentError("worker: expected a name and an incarnation");
  }
  const auto it = workers_.find(info.name);
  if (it == workers_.end() && workers_.size() >= policy_.workers_max) {
    return absl::ResourceExhaustedError(absl::StrCat("this coordinator knows ", workers_.size(),
                                                     " workers, its limits.workers_max"));
  }
  if (it == workers_.end()) {
    auto created = std::make_unique<WorkerRecord>();
    WorkerRecord* worker = created.get();
    workers_.emplace(info.name, std::move(created));
    worker->info = info;
    worker->holder = HolderOf(info.name, info.incarnation);
    worker->last_seen = now_;
    worker->lease_expire = now_;
    SaveWorker(*worker);
    return worker;
  }
  WorkerRecord* worker = it->second.get();
  if (worker->info.incarnation == info.incarnation) {
    if (worker->sequence && request.sequence <= *worker->sequence) {
      return absl::AbortedError(absl::StrCat("sync ", request.sequence, " of worker ", info.name,
                                             " came after sync ", *worker->sequence));
    }
    return worker;
  }
  if (!worker->lost && info.previous_incarnation != worker->info.incarnation) {
    return absl::AlreadyExistsError(
        absl::StrCat("a live worker is called \"", info.name, "\"; its lease ends at ",
                     FormatIsoTime(worker->lease_expire),
                     " unless it is heard of again; choose another --name"));
  }
  // A new incarnation: what the old one ran is lost, unless its result was saved and comes now.
  absl::flat_hash_set<AttemptId> reported;
  for (const FinishedAttempt& finished : request.finished) {
    reported.insert(finished.id);
  }
  std::vector<AttemptId> gone;
  for (const auto& [id, held] : worker->held) {
    if (held.stopping || !reported.contains(id)) {
      gone.push_back(id);
    }
  }
  for (const AttemptId& id : gone) {
    if (!worker->held.at(id).stopping) {
      LoseAttempt(id.job, FailureClass::kLost,
                  absl::StrCat("worker ", info.name, " was restarted"));
    }
    Release(*worker, id);
  }
  worker->info = info;
  worker->holder = HolderOf(info.name, info.incarnation);
  worker->sequence.reset();
  worker->drain_told = false;
  worker->lost_gpus.clear();  // those processes are gone
  SaveWorker(*worker);
  return worker;
}

absl::Status Scheduler::Sync(const SyncRequest& request) {
  CONCUR_ASSIGN_OR_RETURN(WorkerRecord * worker, Admit(request));
  worker_deadlines_.erase({worker->lease_expire, worker->info.name});
  worker->info = request.worker;
  worker->sequence = request.sequence;
  worker->last_seen = now_;
  worker->lost = false;
  worker->drain_self = request.draining;
  worker->lease_expire = now_ + policy_.lease;
  worker->end_time = now_ + request.time_left;
  worker->whole_time = std::max(worker->whole_time, request.time_left);
  worker_deadlines_.insert({worker->lease_expire, worker->info.name});
  worker->forget.clear();

  for (const FinishedAttempt& finished : request.finished) {
    ApplyFinished(*worker, finished);
  }
  for (auto& [id, held] : worker->held) {
    held.listed = false;
  }
  for (const AttemptId& id : request.running) {
    ApplyRunning(*worker, id);
  }
  worker->lost_gpus.clear();
  std::vector<AttemptId> gone;
  for (auto& [id, held] : worker->held) {
    if (held.listed) {
      continue;
    }
    if (held.stopping) {
      gone.push_back(id);
    } else {
      held.told = false;  // the answer that ordered it was lost or superseded
    }
  }
  for (const AttemptId& id : gone) {
    Release(*worker, id);
  }
  worker->listening = true;
  if (request.leaving) {
    const std::string name = worker->info.name;
    std::vector<ForgetOrder> forget = std::move(worker->forget);
    LoseWorker(*worker, FailureClass::kLost, absl::StrCat("worker ", name, " left"));
    worker->forget = std::move(forget);  // to be answered once more
    worker->lost_gpus.clear();           // it runs nothing any more
  }
  return absl::OkStatus();
}

void Scheduler::ApplyFinished(WorkerRecord& worker, const FinishedAttempt& finished) {
  const AttemptId id = finished.id;
  ForgetOrder order{id, false, ""};
  if (!HasJob(id.job)) {
    order.reason = "there is no such job";
  } else {
    SweepRecord& sweep = SweepOf(id.job);
    Slot& slot = sweep.slots[id.job.index];
    const auto running = running_.find(id.job);
    const auto last = last_holder_.find(id.job);
    const bool holds =
        running != running_.end() && holders_[running->second.holder].worker == worker.info.name;
    const bool held_last =
        last != last_holder_.end() && holders_[last->second.holder].worker == worker.info.name;
    if (id.attempt.number != slot.attempt) {
      order.reason = absl::StrCat("attempt ", slot.attempt, " is the latest one");
    } else if ((slot.flags & kSettled) != 0) {
      order.accepted = (slot.flags & kReused) == 0;
      order.reason = order.accepted ? "" : "the job took the result of an equal one";
    } else if (holds || (held_last && !IsTerminal(slot.state))) {
      if (!holds) {
        ReturnAttempt(sweep, id.job.index);
      }
      AcceptResult(sweep, id.job.index, worker, finished.result);
      order.accepted = true;
    } else {
      order.reason = absl::StrCat("the job is ", JobStateName(slot.state));
    }
  }
  if (!order.accepted) {
    ++refused_results_;
  }
  Release(worker, id);
  worker.forget.push_back(std::move(order));
}

void Scheduler::AcceptResult(SweepRecord& sweep, uint32_t job, WorkerRecord& worker,
                             JobResult result) {
  const JobCoordinates at = sweep.expansion->Locate(job);
  if (result.succeeded && at.is_train && !sweep.expansion->blocks()[at.block].tests.empty() &&
      FindArtifact(result, ArtifactKind::kSystem) == nullptr) {
    result.succeeded = false;
    result.failure = FailureClass::kInvalidOutput;
    result.message = "the worker reported no trained system";
  }
  if (result.succeeded) {
    result.failure = FailureClass::kNone;
    ++worker.succeeded;
    NoteSuccess(sweep, job, worker);
    Succeed(sweep, job, std::move(result), worker.holder);
    if (at.is_train) {
      NoteLocal(sweep, job, worker);
    }
  } else {
    if (result.failure == FailureClass::kNone) {
      result.failure = FailureClass::kFailed;
    } else if (result.failure == FailureClass::kLost) {
      // Only the scheduler declares an attempt lost: one that is reported has ended for good.
      result.failure = FailureClass::kWorker;
    }
    ++worker.failed;
    NoteFailure(sweep, job, worker, result.failure);
    Fail(sweep, job, std::move(result), worker.holder);
  }
}

bool Scheduler::MayAdopt(const WorkerRecord& worker, AttemptId id) const {
  if (!HasJob(id.job)) {
    return false;
  }
  const Slot& slot = SlotOf(id.job);
  const auto last = last_holder_.find(id.job);
  return slot.attempt == id.attempt.number && (slot.flags & kSettled) == 0 &&
         slot.state == JobState::kReady && last != last_holder_.end() &&
         last->second.holder == worker.holder;
}

// An attempt was not lost after all: it does not count as such.
void Scheduler::ReturnAttempt(SweepRecord& sweep, uint32_t job) {
  Slot& slot = sweep.slots[job];
  if (slot.lost > 0) {
    --slot.lost;
  }
  slot.failure = FailureClass::kNone;
  Touch({sweep.row.id, job});
}

// The GPUs that an attempt has which the worker lists but was not known to hold; 0 when unknown.
uint64_t Scheduler::GpusOfReturned(const WorkerRecord& worker, AttemptId id) const {
  uint64_t mask = 0;
  if (const auto it = worker.lost_gpus.find(id); it != worker.lost_gpus.end()) {
    mask = it->second;
  } else if (const auto last = last_holder_.find(id.job);
             last != last_holder_.end() && MayAdopt(worker, id)) {
    mask = last->second.gpu_mask;
  }
  return (mask & worker.gpus_used) == 0 ? mask : 0;
}

void Scheduler::ApplyRunning(WorkerRecord& worker, AttemptId id) {
  if (const auto it = worker.held.find(id); it != worker.held.end()) {
    it->second.listed = true;
    return;
  }
  Held held;
  held.listed = true;
  held.resources = Resources{.cpu_millis = 0};
  held.gpu_mask = GpusOfReturned(worker, id);
  if (MayAdopt(worker, id)) {
    // It came back before its job was given to anybody else: the attempt goes on.
    SweepRecord& sweep = SweepOf(id.job);
    held.resources = LaneOf(sweep, id.job.index).resources;
    ReturnAttempt(sweep, id.job.index);
    StartRunning(sweep, id.job.index, worker, held.gpu_mask, sweep.keys->KeyOf(id.job.index));
    held.told = true;
  } else {
    if (HasJob(id.job)) {
      held.resources = LaneOf(SweepOf(id.job), id.job.index).resources;
    } else {
      held.resources.gpus = std::popcount(held.gpu_mask);
    }
    held.stopping = true;
    held.reason = HasJob(id.job) && SlotOf(id.job).state == JobState::kCanceled
                      ? StopReason::kCanceled
                      : StopReason::kFenced;
  }
  Hold(worker, id, held);
}

void Scheduler::StartRunning(SweepRecord& sweep, uint32_t job, WorkerRecord& worker,
                             uint64_t gpu_mask, const Digest& key) {
  const JobId id{sweep.row.id, job};
  SetState(sweep, job, JobState::kRunning);
  running_[id] = Running{worker.holder, gpu_mask, key};
  in_flight_.try_emplace(key, id);
  Touch(id);
  Announce(sweep, job);
}

// --- orders
// ---------------------------------------------------------------------------------------

bool Scheduler::HasOrders(const std::string& name) const {
  const auto it = workers_.find(name);
  if (it == workers_.end()) {
    return false;
  }
  const WorkerRecord& worker = *it->second;
  if (!worker.forget.empty() || worker.drain_asked != worker.drain_told) {
    return true;
  }
  return std::any_of(worker.held.begin(), worker.held.end(), [](const auto& entry) {
    return !entry.second.told && (entry.second.stopping || !entry.second.listed);
  });
}

WorkerOrders Scheduler::TakeOrders(const std::string& name) {
  WorkerOrders orders;
  const auto it = workers_.find(name);
  if (it == workers_.end()) {
    return orders;
  }
  WorkerRecord& worker = *it->second;
  for (auto& [id, held] : worker.held) {
    if (held.stopping) {
      orders.stop.push_back({id, held.reason});
      held.told = true;
    } else if (!held.listed && orders.start.size() < kSyncStartsMax) {
      WorkerOrders::Start start;
      start.id = id;
      start.gpu_mask = held.gpu_mask;
      const SweepRecord& sweep = SweepOf(id.job);
      if (const auto train = sweep.expansion->TrainJobOf(id.job.index)) {
        const JobResult* result = ResultOf(sweep, *train);
        const ArtifactRef* system =
            result == nullptr ? nullptr : FindArtifact(*result, ArtifactKind::kSystem);
        if (system != nullptr) {
          start.system = system->digest;
          start.system_bytes = system->bytes;
        }
      }
      orders.start.push_back(start);
      held.told = true;
    }
  }
  orders.forget = std::move(worker.forget);
  worker.forget.clear();
  orders.drain = worker.drain_asked;
  worker.drain_told = worker.drain_asked;
  worker.listening = false;
  return orders;
}

void Scheduler::StopListening(const std::string& name) {
  if (const auto it = workers_.find(name); it != workers_.end()) {
    it->second->listening = false;
  }
}

}  // namespace concur
