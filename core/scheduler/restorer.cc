// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/restorer.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "core/state/sweep_record.h"

namespace concur {

absl::Status Restorer::Restore(Snapshot snapshot,
                               std::vector<std::shared_ptr<const Expansion>> expansions) {
  CONCUR_CHECK(snapshot.sweeps.size() == expansions.size());
  book_.RestoreNextNumber(snapshot.next_sweep_number);
  book_.services().RestoreLastAttempt(snapshot.last_service_number);
  for (size_t i = 0; i < expansions.size(); ++i) {
    CONCUR_RETURN_IF_ERROR(book_.Restore(std::move(snapshot.sweeps[i]), std::move(expansions[i])));
  }
  for (const ResourceRow& row : snapshot.resources) {
    book_.resources().Set(row.name, row.amount, row.per_minute, turn_.now());
  }
  for (const WorkerRow& row : snapshot.workers) {
    CONCUR_RETURN_IF_ERROR(workers_.Restore(row));
  }
  for (const BlameRow& row : snapshot.blames) {
    CONCUR_RETURN_IF_ERROR(workers_.RestoreBlame(row));
  }
  CONCUR_RETURN_IF_ERROR(RestoreResults(std::move(snapshot.results)));
  for (StepSeriesRow& row : snapshot.steps) {
    CONCUR_RETURN_IF_ERROR(RestoreSteps(std::move(row)));
  }
  CONCUR_RETURN_IF_ERROR(RestoreJobs(snapshot.jobs));
  for (const SpentRow& row : snapshot.spent) {
    CONCUR_RETURN_IF_ERROR(RestoreSpent(row));
  }
  for (const auto& [id, sweep] : book_.all()) {
    if (sweep->early_stop) {
      CONCUR_RETURN_IF_ERROR(groups_.Restore(*sweep, snapshot.reports));
    }
  }
  CONCUR_RETURN_IF_ERROR(Finish());
  for (const WorkerRow& row : snapshot.workers) {
    const Worker& worker = *workers_.roster().Find(row.name);
    if (worker.quarantine_end != row.quarantine_end) {
      workers_.Save(worker);  // else every restart would begin the same span anew
    }
  }
  return absl::OkStatus();
}

absl::Status Restorer::RestoreResults(std::vector<ResultRow> rows) {
  // Results come in the order of their jobs: room is made for each sweep's at once.
  for (auto begin = rows.begin(); begin != rows.end();) {
    const SweepId sweep = begin->id.sweep;
    const auto end =
        std::upper_bound(begin, rows.end(), sweep,
                         [](SweepId id, const ResultRow& row) { return id < row.id.sweep; });
    if (const auto it = book_.all().find(sweep); it != book_.all().end()) {
      it->second->jobs.ReserveResults(static_cast<size_t>(end - begin));
    }
    begin = end;
  }
  places_.reuse.Reserve(rows.size());
  for (ResultRow& row : rows) {
    if (!book_.HasJob(row.id)) {
      return absl::DataLossError(
          absl::StrCat("a result stands for job ", row.id.ToString(), ", which does not exist"));
    }
    JobTable& jobs = book_.SweepOf(row.id).jobs;
    if (jobs[row.id.index].has_result()) {
      return absl::DataLossError(
          absl::StrCat("two results stand for job ", row.id.ToString(), ": expected one"));
    }
    // Its owner is charged for it when the job's row says what it is.
    jobs.PutResult(row.id.index, std::move(row.result), kNoHolder);
  }
  return absl::OkStatus();
}

absl::Status Restorer::RestoreJobs(const std::vector<JobRow>& rows) {
  const JobRow* previous = nullptr;
  for (const JobRow& row : rows) {
    if (previous != nullptr && row.id <= previous->id) {
      return absl::DataLossError(absl::StrCat("the row of job ", row.id.ToString(),
                                              " comes after that of job ", previous->id.ToString(),
                                              ": expected one row a job, in order"));
    }
    CONCUR_RETURN_IF_ERROR(RestoreJob(row));
    previous = &row;
  }
  return absl::OkStatus();
}

absl::Status Restorer::RestoreSteps(StepSeriesRow row) {
  if (!book_.HasJob(row.id)) {
    return absl::DataLossError(
        absl::StrCat("a report stands for job ", row.id.ToString(), ", which does not exist"));
  }
  SweepRecord& sweep = book_.SweepOf(row.id);
  sweep.next_arrival = std::max(sweep.next_arrival, row.last_arrival + 1);
  const absl::Status restored = sweep.steps[row.id.index].Restore(std::move(row.series));
  return restored.ok() ? restored
                       : absl::DataLossError(
                             absl::StrCat("job ", row.id.ToString(), ": ", restored.message()));
}

absl::Status Restorer::RestoreSpent(const SpentRow& row) {
  if (!book_.HasJob(row.id) || row.attempt.number == 0 ||
      row.attempt.number > book_.JobOf(row.id).attempt ||
      book_.SweepOf(row.id).spent.Report(row.id.index, row.attempt.number, row.spent, row.time) ==
          nullptr) {
    return absl::DataLossError(absl::StrCat("attempt ", row.attempt.number, " of job ",
                                            row.id.ToString(),
                                            " has spent something, but does not exist, or twice"));
  }
  return absl::OkStatus();
}

absl::Status Restorer::RestoreJob(const JobRow& row) {
  if (!book_.HasJob(row.id)) {
    return absl::DataLossError(
        absl::StrCat("a row stands for job ", row.id.ToString(), ", which does not exist"));
  }
  SweepRecord& sweep = book_.SweepOf(row.id);
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
  if (sweep.AwaitsSetting(row.id.index) &&
      (row.attempt.number > 0 || row.state == JobState::kSucceeded)) {
    return absl::DataLossError(absl::StrCat("job ", row.id.ToString(), " is ",
                                            JobStateName(row.state),
                                            ", but its search has no setting for it"));
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
      row.worker.empty() ? kNoHolder : places_.running.AddHolder(row.worker, row.incarnation);
  if (has_result) {
    sweep.jobs.SetHolder(row.id.index, holder);
    if (row.reused_from) {
      sweep.jobs.MarkReused(row.id.index, *row.reused_from);
      record.settled = true;
    }
  }
  book_.owners().AddBytes(sweep.owner, sweep.StoredBytesOf(row.id.index));
  if (row.checkpoint) {
    CONCUR_RETURN_IF_ERROR(RestoreCheckpoint(row, sweep));
  }
  if (sweep.IsCanceled(row.id.index)) {
    return absl::OkStatus();  // FinishRestore cancels what has not ended
  }
  if (row.deaths > 0 && !IsTerminal(row.state)) {
    places_.suspects.Restore(row.id, {row.deaths, row.death_shared});
  }
  if (row.state == JobState::kBackoff) {
    // This process may have a clock that was set back: no wait is longer than the longest back-off.
    const absl::Time not_before = std::min(
        row.not_before, turn_.now() + Backoffs::LongestWait(sweep.expansion->spec().retry));
    places_.backoffs.Add(row.id, not_before);
  }
  if (HasLostWorker(row)) {
    sweep.row.over_budget = false;  // as after any end
    sweep.SetState(row.id.index, JobState::kReady);
  } else if (row.state == JobState::kRunning) {
    return RestoreRunning(row, sweep, holder);
  }
  if (holder != kNoHolder && !IsTerminal(row.state) && !record.settled) {
    places_.running.AddLost(row.id, {holder, row.gpu_mask});
  }
  return absl::OkStatus();
}

absl::Status Restorer::RestoreCheckpoint(const JobRow& row, SweepRecord& sweep) {
  if (IsTerminal(row.state) || row.checkpoint->attempt == 0 ||
      row.checkpoint->attempt > row.attempt.number) {
    return absl::DataLossError(absl::StrCat(
        "job ", row.id.ToString(), " has a checkpoint of attempt ", row.checkpoint->attempt,
        ": expected one of an earlier attempt of a job that has not ended"));
  }
  if (!sweep.IsCanceled(row.id.index)) {  // else FinishRestore ends the job
    sweep.checkpoints.emplace(row.id.index, *row.checkpoint);
    book_.owners().AddCheckpointBytes(sweep.owner, row.checkpoint->bytes);
  }
  return absl::OkStatus();
}

// True when the worker left or was restarted while the sweep was left on disk.
bool Restorer::HasLostWorker(const JobRow& row) const {
  const Worker* worker = workers_.roster().Find(row.worker);
  return row.state == JobState::kRunning && !row.worker.empty() && row.attempt.number > 0 &&
         (worker == nullptr || worker->info.incarnation != row.incarnation);
}

absl::Status Restorer::RestoreRunning(const JobRow& row, SweepRecord& sweep, uint32_t holder) {
  Worker* worker = workers_.roster().Find(row.worker);
  if (holder == kNoHolder || worker == nullptr) {
    return absl::DataLossError(absl::StrCat(
        "job ", row.id.ToString(), " runs on a worker that is not known, \"", row.worker, "\""));
  }
  if (row.attempt.number == 0) {
    return absl::DataLossError(
        absl::StrCat("job ", row.id.ToString(), " runs, but never had an attempt"));
  }
  const Digest key = sweep.keys.KeyOf(row.id.index);
  places_.running.Begin(row.id, {holder, row.gpu_mask, key});
  places_.reuse.AddRunning(key, row.id);
  Assignment assignment;
  assignment.resources = sweep.LaneOf(row.id.index).resources;
  assignment.gpu_mask = row.gpu_mask;
  // The part of its time-out before the restart has passed; the clock may have been set since.
  const absl::Duration timeout =
      sweep.ApproachOf(row.id.index).TimeoutOf(sweep.expansion->Locate(row.id.index).is_train);
  assignment.time_max =
      workers_.TimeMaxOf(sweep, row.id.index) -
      (timeout == absl::InfiniteDuration()
           ? absl::ZeroDuration()
           : std::clamp(turn_.now() - row.update_time, absl::ZeroDuration(), timeout));
  assignment.time_left = policy_.overdue_grace;
  workers_.Assign(*worker, AttemptId{row.id, row.attempt}, assignment);
  return absl::OkStatus();
}

absl::Status Restorer::Finish() {
  for (auto& [id, owned] : book_.all()) {
    SweepRecord& sweep = *owned;
    book_.UpdateHold(sweep);
    for (uint32_t job = 0; job < sweep.jobs.size(); ++job) {
      CONCUR_RETURN_IF_ERROR(FinishJob(sweep, job));
    }
    sweep.next_canceled = sweep.row.canceled ? sweep.jobs.size() : 0;
  }
  turn_.Discard();
  std::vector<SweepRecord*> cut_off;
  for (auto& [id, sweep] : book_.all()) {
    book_.UpdateEnd(*sweep);
    // An import that a restart cut off: nobody was told that it was there.
    if (sweep->expansion->spec().imported && sweep->jobs.unfinished() > 0) {
      cut_off.push_back(sweep.get());
    }
  }
  for (SweepRecord* sweep : cut_off) {
    book_.Erase(sweep->row.id);
  }
  return absl::OkStatus();
}

// Derives what has no row: ready and blocked jobs, cancellation, the index of results.
absl::Status Restorer::FinishJob(SweepRecord& sweep, uint32_t job) {
  const JobState state = sweep.jobs[job].state();
  const JobId id = sweep.IdOf(job);
  if (sweep.jobs[job].has_result() && state != JobState::kSucceeded && state != JobState::kFailed) {
    return absl::DataLossError(
        absl::StrCat("job ", id.ToString(), " is ", JobStateName(state), " but has a result"));
  }
  if (!IsTerminal(state) && sweep.IsCanceled(job)) {
    sweep.SetState(job, JobState::kCanceled);
    return absl::OkStatus();
  }
  const bool waits = state == JobState::kBlocked || state == JobState::kReady;
  if (waits && !sweep.expansion->spec().imported) {
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
    const bool runnable = !awaits && groups_.HasLetGo(sweep, job) && !sweep.AwaitsSetting(job);
    sweep.SetState(job, runnable ? JobState::kReady : JobState::kBlocked);
    if (runnable) {
      jobs_.EnterReady(sweep, job);
    }
  } else if (state == JobState::kSucceeded) {
    results_.AddSuccess(sweep, job, sweep.keys.KeyOf(job));
  }
  return absl::OkStatus();
}

}  // namespace concur
