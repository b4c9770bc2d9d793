// From rows to state and back: what a commit saves, and what a restart makes of it.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "core/scheduler.h"

namespace concur {

Effects Scheduler::TakeEffects() {
  std::vector<JobId> jobs(dirty_jobs_.begin(), dirty_jobs_.end());
  std::sort(jobs.begin(), jobs.end());
  for (const JobId& id : jobs) {
    if (HasJob(id)) {
      pending_.batch.put_jobs.push_back(RowOf(id));
    }
  }
  std::vector<JobId> results(dirty_results_.begin(), dirty_results_.end());
  std::sort(results.begin(), results.end());
  for (const JobId& id : results) {
    if (!HasJob(id)) {
      continue;
    }
    if (const JobResult* result = ResultOf(SweepOf(id), id.index)) {
      pending_.batch.put_results.push_back({id, *result});
    } else {
      pending_.batch.delete_results.push_back(id);
    }
  }
  for (const SweepId& id : dirty_sweeps_) {
    if (const auto it = sweeps_.find(id); it != sweeps_.end()) {
      pending_.batch.put_sweeps.push_back(it->second->row);
    }
  }
  for (const auto& [group, worker] : blame_.TakeChanged()) {
    pending_.batch.put_blames.push_back(BlameRowOf(group, worker));
  }
  dirty_jobs_.clear();
  dirty_results_.clear();
  dirty_sweeps_.clear();
  return std::exchange(pending_, Effects{});
}

JobRow Scheduler::RowOf(JobId id) const {
  const SweepRecord& sweep = SweepOf(id);
  const Slot& slot = sweep.slots[id.index];
  JobRow row;
  row.id = id;
  row.state = slot.state;
  row.attempt = {slot.attempt};
  row.failures = slot.failures;
  row.lost = slot.lost;
  row.failure = slot.failure;
  row.system_collected = (slot.flags & kSystemCollected) != 0;
  row.no_reuse = (slot.flags & kNoReuse) != 0;
  row.update_time = now_;
  if (const auto it = not_before_.find(id); it != not_before_.end()) {
    row.not_before = it->second;
  }
  uint32_t holder = kNone;
  if (const auto it = running_.find(id); it != running_.end()) {
    holder = it->second.holder;
    row.gpu_mask = it->second.gpu_mask;
  } else if (const auto last = last_holder_.find(id); last != last_holder_.end()) {
    holder = last->second.holder;
    row.gpu_mask = last->second.gpu_mask;
  } else if (slot.result != kNone) {
    holder = sweep.results[slot.result].holder;
  }
  if (holder != kNone) {
    row.worker = holders_[holder].worker;
    row.incarnation = holders_[holder].incarnation;
  }
  if ((slot.flags & kReused) != 0) {
    row.reused_from = sweep.results[slot.result].reused_from;
  }
  return row;
}

absl::StatusOr<std::unique_ptr<Scheduler>> Scheduler::Restore(
    SchedulerPolicy policy, Snapshot snapshot,
    std::vector<std::shared_ptr<const Expansion>> expansions, absl::Time now) {
  CONCUR_CHECK(snapshot.sweeps.size() == expansions.size());
  auto scheduler = std::make_unique<Scheduler>(std::move(policy));
  scheduler->now_ = now;
  scheduler->next_sweep_number_ = snapshot.next_sweep_number;
  for (size_t i = 0; i < expansions.size(); ++i) {
    CONCUR_RETURN_IF_ERROR(
        scheduler->RestoreSweep(std::move(snapshot.sweeps[i]), std::move(expansions[i])));
  }
  for (const WorkerRow& row : snapshot.workers) {
    CONCUR_RETURN_IF_ERROR(scheduler->RestoreWorker(row));
  }
  for (const BlameRow& row : snapshot.blames) {
    CONCUR_RETURN_IF_ERROR(scheduler->RestoreBlame(row));
  }
  // Results come in the order of their jobs: room is made for each sweep's at once.
  for (auto begin = snapshot.results.begin(); begin != snapshot.results.end();) {
    const SweepId sweep = begin->id.sweep;
    const auto end =
        std::upper_bound(begin, snapshot.results.end(), sweep,
                         [](SweepId id, const ResultRow& row) { return id < row.id.sweep; });
    if (const auto it = scheduler->sweeps_.find(sweep); it != scheduler->sweeps_.end()) {
      it->second->results.reserve(static_cast<size_t>(end - begin));
    }
    begin = end;
  }
  scheduler->finished_.reserve(snapshot.results.size());
  for (ResultRow& row : snapshot.results) {
    CONCUR_RETURN_IF_ERROR(scheduler->RestoreResult(std::move(row)));
  }
  const JobRow* previous = nullptr;
  for (const JobRow& row : snapshot.jobs) {
    if (previous != nullptr && row.id <= previous->id) {
      return absl::DataLossError(absl::StrCat("the row of job ", row.id.ToString(),
                                              " comes after that of job ", previous->id.ToString(),
                                              ": expected one row a job, in order"));
    }
    CONCUR_RETURN_IF_ERROR(scheduler->RestoreJob(row));
    previous = &row;
  }
  CONCUR_RETURN_IF_ERROR(scheduler->FinishRestore());
  for (const WorkerRow& row : snapshot.workers) {
    const WorkerRecord& worker = *scheduler->workers_.at(row.name);
    if (worker.quarantine_end != row.quarantine_end) {
      scheduler->SaveWorker(worker);  // else every restart would begin the same span anew
    }
  }
  return scheduler;
}

absl::Status Scheduler::RestoreSweep(SweepRow row, std::shared_ptr<const Expansion> expansion) {
  if (row.id.number >= next_sweep_number_) {
    return absl::DataLossError(absl::StrCat(
        "sweep ", row.id.ToString(), " is newer than the counter of sweeps, ", next_sweep_number_));
  }
  auto owned = std::make_unique<SweepRecord>();
  owned->row = std::move(row);
  return AddSweep(std::move(owned), std::move(expansion));
}

absl::Status Scheduler::RestoreWorker(const WorkerRow& row) {
  if ((row.quarantine_end != absl::InfinitePast()) == row.quarantine_reason.empty()) {
    return absl::DataLossError(absl::StrCat("worker ", row.name,
                                            " is in quarantine without a reason, or has a reason ",
                                            "without being in quarantine"));
  }
  auto worker = std::make_unique<WorkerRecord>();
  worker->info.name = row.name;
  worker->info.incarnation = row.incarnation;
  worker->info.capacity = Resources{.cpu_millis = 0};
  worker->holder = HolderOf(row.name, row.incarnation);
  worker->drain_asked = row.draining;
  worker->last_seen = row.last_seen;
  worker->lease_expire = now_ + policy_.lease;
  worker_deadlines_.insert({worker->lease_expire, row.name});
  worker->quarantine_span = row.quarantine_span;
  if (row.quarantine_end != absl::InfinitePast()) {
    // This process may have a clock that was set back: none is longer than it was meant to be.
    worker->quarantine_end = std::min(row.quarantine_end, now_ + row.quarantine_span);
    worker->quarantine_reason = row.quarantine_reason;
    quarantines_.insert({worker->quarantine_end, row.name});
  }
  workers_.emplace(row.name, std::move(worker));
  return absl::OkStatus();
}

absl::Status Scheduler::RestoreBlame(const BlameRow& row) {
  const Durations::Group group = durations_.GroupOf(row.approach, row.benchmark, row.is_train);
  if (!workers_.contains(row.worker) ||
      !blame_.Restore(group, row.worker, {row.failures, row.success_time})) {
    return absl::DataLossError(absl::StrCat("what worker \"", row.worker, "\" did of approach \"",
                                            row.approach, "\" on benchmark \"", row.benchmark,
                                            "\" contradicts other rows"));
  }
  return absl::OkStatus();
}

void Scheduler::GrantLeases(absl::Time now) {
  now_ = std::max(now_, now);
  for (auto& [name, worker] : workers_) {
    if (!worker->lost) {
      worker_deadlines_.erase({worker->lease_expire, name});
      worker->lease_expire = now_ + policy_.lease;
      worker_deadlines_.insert({worker->lease_expire, name});
    }
  }
}

absl::Status Scheduler::RestoreResult(ResultRow row) {
  if (!HasJob(row.id)) {
    return absl::DataLossError(
        absl::StrCat("a result stands for job ", row.id.ToString(), ", which does not exist"));
  }
  SweepRecord& sweep = SweepOf(row.id);
  Slot& slot = sweep.slots[row.id.index];
  if (slot.result != kNone) {
    return absl::DataLossError(
        absl::StrCat("two results stand for job ", row.id.ToString(), ": expected one"));
  }
  // Its owner is charged for it when the job's row says what it is.
  slot.result = static_cast<uint32_t>(sweep.results.size());
  sweep.results.push_back(StoredResult{std::move(row.result), kNone, JobId{}});
  return absl::OkStatus();
}

absl::Status Scheduler::RestoreJob(const JobRow& row) {
  if (!HasJob(row.id)) {
    return absl::DataLossError(
        absl::StrCat("a row stands for job ", row.id.ToString(), ", which does not exist"));
  }
  SweepRecord& sweep = SweepOf(row.id);
  Slot& slot = sweep.slots[row.id.index];
  const bool has_result = slot.result != kNone;
  if (has_result != (row.state == JobState::kSucceeded || row.state == JobState::kFailed)) {
    return absl::DataLossError(absl::StrCat("job ", row.id.ToString(), " is ",
                                            JobStateName(row.state),
                                            has_result ? " but has" : " but lacks", " a result"));
  }
  if (has_result &&
      sweep.results[slot.result].result.succeeded != (row.state == JobState::kSucceeded)) {
    return absl::DataLossError(absl::StrCat("job ", row.id.ToString(), " is ",
                                            JobStateName(row.state),
                                            ", but its result says otherwise"));
  }
  --sweep.counts[static_cast<size_t>(slot.state)];
  slot.state = row.state;
  ++sweep.counts[static_cast<size_t>(slot.state)];
  slot.attempt = row.attempt.number;
  slot.failures = static_cast<uint16_t>(std::min<uint32_t>(row.failures, UINT16_MAX));
  slot.lost = static_cast<uint16_t>(std::min<uint32_t>(row.lost, UINT16_MAX));
  slot.failure = row.failure;
  slot.flags = static_cast<uint8_t>((row.system_collected ? kSystemCollected : 0) |
                                    (row.no_reuse ? kNoReuse : 0));
  const bool ended_by_report =
      row.state == JobState::kSucceeded ||
      (row.failure != FailureClass::kNone && row.failure != FailureClass::kLost);
  if (ended_by_report && row.state != JobState::kRunning) {
    slot.flags |= kSettled;
  }
  const uint32_t holder = row.worker.empty() ? kNone : HolderOf(row.worker, row.incarnation);
  if (has_result) {
    StoredResult& stored = sweep.results[slot.result];
    stored.holder = holder;
    if (row.reused_from) {
      stored.reused_from = *row.reused_from;
      slot.flags |= kReused | kSettled;
      ++sweep.reused;
    }
  }
  ChargeResult(sweep, row.id.index, 1);
  if (sweep.row.canceled) {
    return absl::OkStatus();  // FinishRestore cancels what has not ended
  }
  if (row.state == JobState::kBackoff) {
    // This process may have a clock that was set back: no wait is longer than the longest back-off.
    const absl::Time not_before = std::min(
        row.not_before, now_ + sweep.expansion->spec().retry.backoff_max * kBackoffJitterMax);
    not_before_[row.id] = not_before;
    backoffs_.insert({not_before, row.id});
  }
  if (row.state == JobState::kRunning) {
    return RestoreRunning(row, sweep, holder);
  }
  if (holder != kNone && !IsTerminal(row.state) && (slot.flags & kSettled) == 0) {
    last_holder_[row.id] = {holder, row.gpu_mask};
  }
  return absl::OkStatus();
}

absl::Status Scheduler::RestoreRunning(const JobRow& row, SweepRecord& sweep, uint32_t holder) {
  const auto worker = workers_.find(row.worker);
  if (holder == kNone || worker == workers_.end()) {
    return absl::DataLossError(absl::StrCat(
        "job ", row.id.ToString(), " runs on a worker that is not known, \"", row.worker, "\""));
  }
  if (row.attempt.number == 0) {
    return absl::DataLossError(
        absl::StrCat("job ", row.id.ToString(), " runs, but never had an attempt"));
  }
  const Digest key = sweep.keys->KeyOf(row.id.index);
  running_[row.id] = Running{holder, row.gpu_mask, key};
  in_flight_.try_emplace(key, row.id);
  Held held;
  held.resources = LaneOf(sweep, row.id.index).resources;
  held.gpu_mask = row.gpu_mask;
  Hold(*worker->second, AttemptId{row.id, row.attempt}, held);
  return absl::OkStatus();
}

absl::Status Scheduler::FinishRestore() {
  for (auto& [id, owned] : sweeps_) {
    SweepRecord& sweep = *owned;
    if (sweep.row.paused) {
      ready_.Pause(id);
    }
    for (uint32_t job = 0; job < sweep.slots.size(); ++job) {
      CONCUR_RETURN_IF_ERROR(FinishRestoreOf(sweep, job));
    }
  }
  dirty_jobs_.clear();
  dirty_results_.clear();
  dirty_sweeps_.clear();
  pending_ = Effects{};
  for (auto& [id, sweep] : sweeps_) {
    UpdateEnd(*sweep);
  }
  return absl::OkStatus();
}

// Derives what has no row: ready and blocked jobs, cancellation, the index of results.
absl::Status Scheduler::FinishRestoreOf(SweepRecord& sweep, uint32_t job) {
  Slot& slot = sweep.slots[job];
  const JobId id{sweep.row.id, job};
  const auto move_to = [&](JobState state) {
    --sweep.counts[static_cast<size_t>(slot.state)];
    slot.state = state;
    ++sweep.counts[static_cast<size_t>(state)];
  };
  if (slot.result != kNone && slot.state != JobState::kSucceeded &&
      slot.state != JobState::kFailed) {
    return absl::DataLossError(
        absl::StrCat("job ", id.ToString(), " is ", JobStateName(slot.state), " but has a result"));
  }
  if (sweep.row.canceled && !IsTerminal(slot.state)) {
    move_to(JobState::kCanceled);
    return absl::OkStatus();
  }
  if (slot.state == JobState::kBlocked || slot.state == JobState::kReady) {
    const auto train = sweep.expansion->TrainJobOf(job);
    const bool runnable = !train || sweep.slots[*train].state == JobState::kSucceeded;
    if (!runnable && IsTerminal(sweep.slots[*train].state)) {
      return absl::DataLossError(absl::StrCat("job ", id.ToString(), " waits, but its train job ",
                                              JobId{sweep.row.id, *train}.ToString(), " is ",
                                              JobStateName(sweep.slots[*train].state)));
    }
    move_to(runnable ? JobState::kReady : JobState::kBlocked);
    if (runnable) {
      ready_.Push(LaneOf(sweep, job), job);
    }
  } else if (slot.state == JobState::kSucceeded) {
    ++TallyOf(sweep, job).succeeded;
    Learn(sweep, job);
    IndexResult(sweep, job, sweep.keys->KeyOf(job));
  } else if (slot.state == JobState::kFailed) {
    ++TallyOf(sweep, job).failed;
  }
  return absl::OkStatus();
}

}  // namespace concur
