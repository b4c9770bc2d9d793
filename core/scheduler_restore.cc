// SPDX-License-Identifier: Apache-2.0
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
#include "core/sweep_record.h"

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
    if (const JobResult* result = SweepOf(id).jobs.ResultOf(id.index)) {
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
  blame_.TakeChanged(
      [&](const Blame::Kind& kind, const std::string& worker, const Blame::Cell& cell) {
        pending_.batch.put_blames.push_back(RowOf(kind, worker, cell));
      });
  dirty_jobs_.clear();
  dirty_results_.clear();
  dirty_sweeps_.clear();
  return std::exchange(pending_, Effects{});
}

BlameRow Scheduler::RowOf(const Blame::Kind& kind, const std::string& worker,
                          const Blame::Cell& cell) {
  return BlameRow{.worker = worker,
                  .kind = kind.key,
                  .sweep = cell.sweep,
                  .approach = kind.approach,
                  .benchmark = kind.benchmark,
                  .is_train = kind.is_train,
                  .failures = cell.failures,
                  .success_time = cell.success_time};
}

JobRow Scheduler::RowOf(JobId id) const {
  const SweepRecord& sweep = SweepOf(id);
  const JobTable::Job& record = sweep.jobs[id.index];
  JobRow row;
  row.id = id;
  row.state = record.state();
  row.attempt = {record.attempt};
  row.failures = record.failures;
  row.lost = record.lost;
  row.failure = record.failure;
  row.system_collected = record.system_collected;
  row.no_reuse = record.no_reuse;
  row.rung = record.rung;
  row.whole = record.whole;
  if (const auto it = sweep.checkpoints.find(id.index); it != sweep.checkpoints.end()) {
    row.checkpoint = it->second;
  }
  const Suspects::Deaths deaths = suspects_.Of(id);
  row.deaths = deaths.in_a_row;
  row.death_shared = deaths.last_shared;
  row.update_time = now_;
  if (record.state() == JobState::kBackoff) {
    row.not_before = *backoffs_.EndOf(id);
  }
  uint32_t holder = kNoHolder;
  if (const Leases::Lease* lease = leases_.Find(id)) {
    holder = lease->holder;
    row.gpu_mask = lease->gpu_mask;
  } else if (const Leases::Lost* lost = leases_.FindLost(id)) {
    holder = lost->holder;
    row.gpu_mask = lost->gpu_mask;
  } else if (const JobTable::Result* result = sweep.jobs.Find(id.index)) {
    holder = result->holder;
  }
  if (holder != kNoHolder) {
    row.worker = leases_.holder(holder).worker;
    row.incarnation = leases_.holder(holder).incarnation;
  }
  if (record.reused()) {
    row.reused_from = sweep.jobs.Find(id.index)->source;
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
      it->second->jobs.ReserveResults(static_cast<size_t>(end - begin));
    }
    begin = end;
  }
  scheduler->reuse_.Reserve(snapshot.results.size());
  for (ResultRow& row : snapshot.results) {
    CONCUR_RETURN_IF_ERROR(scheduler->RestoreResult(std::move(row)));
  }
  for (StepSeriesRow& row : snapshot.steps) {
    CONCUR_RETURN_IF_ERROR(scheduler->RestoreSteps(std::move(row)));
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
  for (const auto& [id, sweep] : scheduler->sweeps_) {
    if (sweep->early_stop) {
      CONCUR_RETURN_IF_ERROR(scheduler->RestoreEarlyStop(*sweep, snapshot.reports));
    }
  }
  CONCUR_RETURN_IF_ERROR(scheduler->FinishRestore());
  for (const WorkerRow& row : snapshot.workers) {
    const Worker& worker = *scheduler->workers_.Find(row.name);
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
  return AddSweep(std::move(row), std::move(expansion));
}

absl::Status Scheduler::RestoreWorker(const WorkerRow& row) {
  if ((row.quarantine_end != absl::InfinitePast()) == row.quarantine_reason.empty()) {
    return absl::DataLossError(absl::StrCat("worker ", row.name,
                                            " is in quarantine without a reason, or has a reason ",
                                            "without being in quarantine"));
  }
  if (workers_.Find(row.name) != nullptr) {
    return absl::DataLossError(absl::StrCat("worker ", row.name, " stands twice"));
  }
  WorkerInfo info;
  info.name = row.name;
  info.incarnation = row.incarnation;
  info.capacity = Resources{.cpu_millis = 0};
  Worker& worker = workers_.Add(std::move(info));
  worker.holder = leases_.AddHolder(row.name, row.incarnation);
  worker.drain_asked = row.draining;
  worker.last_seen = row.last_seen;
  workers_.SetDeadline(worker, now_ + policy_.lease);
  worker.quarantine_span = row.quarantine_span;
  if (row.quarantine_end != absl::InfinitePast()) {
    // The clock may have been set back: no quarantine lasts longer than its span.
    workers_.BeginQuarantine(worker, std::min(row.quarantine_end, now_ + row.quarantine_span),
                             row.quarantine_reason);
  }
  return absl::OkStatus();
}

absl::Status Scheduler::RestoreBlame(const BlameRow& row) {
  if (workers_.Find(row.worker) == nullptr || !sweeps_.contains(row.sweep) ||
      !blame_.Restore({row.kind, row.approach, row.benchmark, row.is_train}, row.worker,
                      {row.failures, row.success_time, row.sweep})) {
    return absl::DataLossError(absl::StrCat("what worker \"", row.worker, "\" did of approach \"",
                                            row.approach, "\" on benchmark \"", row.benchmark,
                                            "\" contradicts other rows"));
  }
  return absl::OkStatus();
}

absl::Status Scheduler::RestoreResult(ResultRow row) {
  if (!HasJob(row.id)) {
    return absl::DataLossError(
        absl::StrCat("a result stands for job ", row.id.ToString(), ", which does not exist"));
  }
  SweepRecord& sweep = SweepOf(row.id);
  if (sweep.jobs[row.id.index].has_result()) {
    return absl::DataLossError(
        absl::StrCat("two results stand for job ", row.id.ToString(), ": expected one"));
  }
  // Its owner is charged for it when the job's row says what it is.
  sweep.jobs.PutResult(row.id.index, std::move(row.result), kNoHolder);
  return absl::OkStatus();
}

absl::Status Scheduler::RestoreSteps(StepSeriesRow row) {
  if (!HasJob(row.id)) {
    return absl::DataLossError(
        absl::StrCat("a report stands for job ", row.id.ToString(), ", which does not exist"));
  }
  SweepRecord& sweep = SweepOf(row.id);
  sweep.next_arrival = std::max(sweep.next_arrival, row.last_arrival + 1);
  const absl::Status restored = sweep.steps[row.id.index].Restore(std::move(row.series));
  return restored.ok() ? restored
                       : absl::DataLossError(
                             absl::StrCat("job ", row.id.ToString(), ": ", restored.message()));
}

absl::Status Scheduler::RestoreJob(const JobRow& row) {
  if (!HasJob(row.id)) {
    return absl::DataLossError(
        absl::StrCat("a row stands for job ", row.id.ToString(), ", which does not exist"));
  }
  SweepRecord& sweep = SweepOf(row.id);
  JobTable::Job& record = sweep.jobs[row.id.index];
  const JobResult* result = sweep.jobs.ResultOf(row.id.index);
  const bool has_result = result != nullptr;
  if (has_result != (row.state == JobState::kSucceeded || row.state == JobState::kFailed)) {
    return absl::DataLossError(absl::StrCat("job ", row.id.ToString(), " is ",
                                            JobStateName(row.state),
                                            has_result ? " but has" : " but lacks", " a result"));
  }
  if (has_result && result->succeeded != (row.state == JobState::kSucceeded)) {
    return absl::DataLossError(absl::StrCat("job ", row.id.ToString(), " is ",
                                            JobStateName(row.state),
                                            ", but its result says otherwise"));
  }
  sweep.SetState(row.id.index, row.state);
  record.attempt = row.attempt.number;
  record.failures = static_cast<uint16_t>(std::min<uint32_t>(row.failures, UINT16_MAX));
  record.lost = static_cast<uint16_t>(std::min<uint32_t>(row.lost, UINT16_MAX));
  record.failure = row.failure;
  record.system_collected = row.system_collected;
  record.no_reuse = row.no_reuse;
  record.rung = static_cast<uint8_t>(std::min<uint32_t>(row.rung, UINT8_MAX));
  record.whole = row.whole;
  const bool ended_by_report =
      row.state == JobState::kSucceeded ||
      (row.failure != FailureClass::kNone && row.failure != FailureClass::kLost &&
       row.failure != FailureClass::kPoison);
  if (ended_by_report && row.state != JobState::kRunning) {
    record.settled = true;
  }
  const uint32_t holder =
      row.worker.empty() ? kNoHolder : leases_.AddHolder(row.worker, row.incarnation);
  if (has_result) {
    sweep.jobs.SetHolder(row.id.index, holder);
    if (row.reused_from) {
      sweep.jobs.MarkReused(row.id.index, *row.reused_from);
      record.settled = true;
    }
  }
  owners_.AddBytes(sweep.owner, sweep.StoredBytesOf(row.id.index));
  if (row.checkpoint) {
    CONCUR_RETURN_IF_ERROR(RestoreCheckpoint(row, sweep));
  }
  if (sweep.row.canceled) {
    return absl::OkStatus();  // FinishRestore cancels what has not ended
  }
  if (row.deaths > 0 && !IsTerminal(row.state)) {
    suspects_.Restore(row.id, {row.deaths, row.death_shared});
  }
  if (row.state == JobState::kBackoff) {
    // This process may have a clock that was set back: no wait is longer than the longest back-off.
    const absl::Time not_before =
        std::min(row.not_before, now_ + Backoffs::LongestWait(sweep.expansion->spec().retry));
    backoffs_.Add(row.id, not_before);
  }
  if (row.state == JobState::kRunning) {
    return RestoreRunning(row, sweep, holder);
  }
  if (holder != kNoHolder && !IsTerminal(row.state) && !record.settled) {
    leases_.AddLost(row.id, {holder, row.gpu_mask});
  }
  return absl::OkStatus();
}

absl::Status Scheduler::RestoreCheckpoint(const JobRow& row, SweepRecord& sweep) {
  if (IsTerminal(row.state) || !sweep.expansion->Locate(row.id.index).is_train ||
      row.checkpoint->attempt == 0 || row.checkpoint->attempt > row.attempt.number) {
    return absl::DataLossError(absl::StrCat(
        "job ", row.id.ToString(), " has a checkpoint of attempt ", row.checkpoint->attempt,
        ": expected one of an earlier attempt of a train job that has not ended"));
  }
  if (!sweep.row.canceled) {  // else FinishRestore ends the job
    sweep.checkpoints.emplace(row.id.index, *row.checkpoint);
    owners_.AddCheckpointBytes(sweep.owner, row.checkpoint->bytes);
  }
  return absl::OkStatus();
}

absl::Status Scheduler::RestoreRunning(const JobRow& row, SweepRecord& sweep, uint32_t holder) {
  Worker* worker = workers_.Find(row.worker);
  if (holder == kNoHolder || worker == nullptr) {
    return absl::DataLossError(absl::StrCat(
        "job ", row.id.ToString(), " runs on a worker that is not known, \"", row.worker, "\""));
  }
  if (row.attempt.number == 0) {
    return absl::DataLossError(
        absl::StrCat("job ", row.id.ToString(), " runs, but never had an attempt"));
  }
  const Digest key = sweep.keys.KeyOf(row.id.index);
  leases_.Begin(row.id, {holder, row.gpu_mask, key});
  reuse_.AddRunning(key, row.id);
  Assignment assignment;
  assignment.resources = sweep.LaneOf(row.id.index).resources;
  assignment.gpu_mask = row.gpu_mask;
  // What has passed of its time-out has passed; the clock may have been set, back or forward.
  const absl::Duration timeout =
      sweep.ApproachOf(row.id.index).TimeoutOf(sweep.expansion->Locate(row.id.index).is_train);
  assignment.time_max = TimeMaxOf(sweep, row.id.index) -
                        (timeout == absl::InfiniteDuration()
                             ? absl::ZeroDuration()
                             : std::clamp(now_ - row.update_time, absl::ZeroDuration(), timeout));
  assignment.time_left = policy_.overdue_grace;
  Assign(*worker, AttemptId{row.id, row.attempt}, assignment);
  return absl::OkStatus();
}

absl::Status Scheduler::FinishRestore() {
  for (auto& [id, owned] : sweeps_) {
    SweepRecord& sweep = *owned;
    if (sweep.row.paused) {
      ready_.Pause(id);
    }
    for (uint32_t job = 0; job < sweep.jobs.size(); ++job) {
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
  const JobState state = sweep.jobs[job].state();
  const JobId id = sweep.IdOf(job);
  if (sweep.jobs[job].has_result() && state != JobState::kSucceeded && state != JobState::kFailed) {
    return absl::DataLossError(
        absl::StrCat("job ", id.ToString(), " is ", JobStateName(state), " but has a result"));
  }
  if (sweep.row.canceled && !IsTerminal(state)) {
    sweep.SetState(job, JobState::kCanceled);
    return absl::OkStatus();
  }
  if (state == JobState::kBlocked || state == JobState::kReady) {
    const bool awaits = sweep.AwaitsSource(job);
    if (awaits) {
      const uint32_t source = *sweep.expansion->SourceOf(job);
      const JobState source_state = sweep.jobs[source].state();
      if (IsTerminal(source_state)) {
        return absl::DataLossError(
            absl::StrCat("job ", id.ToString(), " waits, but ", sweep.SourceText(job), " ",
                         sweep.IdOf(source).ToString(), " is ", JobStateName(source_state)));
      }
    }
    const bool runnable = !awaits && HasLetGo(sweep, job);
    sweep.SetState(job, runnable ? JobState::kReady : JobState::kBlocked);
    if (runnable) {
      EnterReady(sweep, job);
    }
  } else if (state == JobState::kSucceeded) {
    Learn(sweep, job);
    AddToIndex(sweep, job, sweep.keys.KeyOf(job));
  }
  return absl::OkStatus();
}

}  // namespace concur
