// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/job_lifecycle.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "core/state/roster.h"
#include "core/state/sweep_record.h"

namespace concur {
namespace {

// Judging takes time by the number of jobs in the scope: one that has failed so many times its
// limit is judged only at every further multiple.
constexpr uint32_t kLimitsJudgedMax = 4;

uint16_t Increment(uint16_t value) {
  return value == UINT16_MAX ? value : static_cast<uint16_t>(value + 1);
}

// REQUIRES: the scope has failed.
bool IsHopeless(const SweepRecord& sweep, const FailureTallies::Scope& scope,
                const RunningJobs& running, const Roster& workers) {
  const Expansion& expansion = *sweep.expansion;
  const uint32_t limit = expansion.spec().failures_max_per_block;
  if (scope.failed / limit >= kLimitsJudgedMax && scope.failed % limit != 0) {
    return false;
  }
  const auto seeds = static_cast<uint32_t>(expansion.spec().seeds.size());
  std::set<std::string> failed;                       // workers that did
  std::set<std::pair<uint32_t, uint32_t>> settings;   // in which jobs failed, by approach
  std::map<uint32_t, uint32_t> settings_of_approach;  // in the scope
  sweep.tallies.ForEachKind(scope, [&](const Block& block, uint32_t kind) {
    uint32_t& settings_here = settings_of_approach[block.approach];
    settings_here = std::max(settings_here, block.settings);
    for (uint32_t cell = 0; sweep.tallies.failed(kind) > 0 && cell < block.cells; ++cell) {
      const uint32_t job = block.JobOf(cell, kind);
      if (sweep.jobs[job].state() == JobState::kFailed) {
        const uint32_t holder = sweep.jobs.Find(job)->holder;
        failed.insert(holder == kNoHolder ? "" : running.WorkerOf(holder));
        settings.insert({block.approach, cell / seeds});
      }
    }
  });
  size_t settings_of_all = 0;
  for (const auto& [approach, count] : settings_of_approach) {
    settings_of_all += count;
  }
  if (settings.size() < std::min<size_t>(limit, settings_of_all)) {
    return false;  // another setting may do
  }
  // Blame before action: one worker's failures say nothing while there are others to try.
  return failed.size() > 1 || std::none_of(workers.begin(), workers.end(), [&](const auto& entry) {
           return !entry.second->lost && !failed.contains(entry.first);
         });
}

}  // namespace

// --- states
// Takes a job out of everything that its present state put it into.
void JobLifecycle::LeaveState(SweepRecord& sweep, uint32_t job) {
  const JobId id = sweep.IdOf(job);
  switch (sweep.jobs[job].state()) {
    case JobState::kReady: {
      const ReadyQueue::Lane lane = sweep.LaneOf(job);
      if (!places_.suspects.RemoveReady(id) &&
          places_.ready.Contains(lane, job)) {  // else Dispatch popped it
        places_.ready.Erase(lane, job);
      }
      break;
    }
    case JobState::kBackoff:
      places_.backoffs.Remove(id);
      break;
    case JobState::kBlocked:
      places_.reuse.RemoveFollower(id);
      break;
    case JobState::kRunning:
      places_.reuse.RemoveRunning(places_.running.End(id).key, id);
      book_.SetOverBudget(sweep, false);  // it may have cost less than was expected
      break;
    default:
      break;
  }
}

// BACKOFF and RUNNING are entered by EnterBackoff and EnterRunning.
void JobLifecycle::SetState(SweepRecord& sweep, uint32_t job, JobState state) {
  const JobTable::Job& record = sweep.jobs[job];
  const JobState before = record.state();
  const JobId id = sweep.IdOf(job);
  CONCUR_CHECK(record.state() == state || IsLegalTransition(record.state(), state));
  // No row is needed for what a restart derives: that an untouched job is READY or BLOCKED, as its
  // expansion and its train job say, or was canceled with its sweep.
  const auto is_waiting = [](JobState which) {
    return which == JobState::kBlocked || which == JobState::kReady;
  };
  const bool is_derived =
      record.IsUntouched() && ((is_waiting(record.state()) && is_waiting(state)) ||
                               (state == JobState::kCanceled && sweep.row.canceled));
  LeaveState(sweep, job);
  sweep.SetState(job, state);
  if (state == JobState::kReady) {
    EnterReady(sweep, job);
  }
  if (IsTerminal(state)) {
    places_.running.RemoveLost(id);
    places_.suspects.Acquit(id);
    results_.DropCheckpoint(sweep, job);
  }
  if (!is_derived) {
    turn_.Touch(id);
  }
  if (sweep.early_stop) {
    groups_.NoteChange(sweep, job, before);
  }
  if (sweep.expansion->spec().search && IsTerminal(before) != IsTerminal(state)) {
    places_.searches.emplace(id.sweep, sweep.expansion->Locate(job).block);
  }
  turn_.AnnounceSweep(id.sweep);
  book_.UpdateEnd(sweep);
}

void JobLifecycle::EnterReady(SweepRecord& sweep, uint32_t job) {
  if (places_.suspects.MustRunAlone(sweep.IdOf(job))) {
    places_.suspects.AddReady(sweep.IdOf(job));
  } else {
    places_.ready.Push(sweep.LaneOf(job), job);
  }
}

void JobLifecycle::EnterBackoff(SweepRecord& sweep, uint32_t job, absl::Time not_before) {
  SetState(sweep, job, JobState::kBackoff);
  places_.backoffs.Add(sweep.IdOf(job), not_before);
}

void JobLifecycle::EnterRunning(SweepRecord& sweep, uint32_t job, const RunningJobs::Lease& lease) {
  const JobId id = sweep.IdOf(job);
  SetState(sweep, job, JobState::kRunning);
  places_.running.Begin(id, lease);
  places_.reuse.AddRunning(lease.key, id);
  turn_.Touch(id);
  Announce(sweep, job);
}

void JobLifecycle::TakeReady(JobId id) {
  if (!places_.suspects.RemoveReady(id)) {
    places_.ready.Erase(book_.SweepOf(id).LaneOf(id.index), id.index);
  }
}

void JobLifecycle::Follow(SweepRecord& sweep, uint32_t job, JobId leader) {
  SetState(sweep, job, JobState::kBlocked);
  places_.reuse.AddFollower(leader, sweep.IdOf(job));
}

void JobLifecycle::EndBackoffs() {
  while (const std::optional<JobId> id = places_.backoffs.FirstEnded(turn_.now())) {
    SetState(book_.SweepOf(*id), id->index, JobState::kReady);
  }
}

void JobLifecycle::Announce(const SweepRecord& sweep, uint32_t job, absl::string_view message) {
  const JobTable::Job& record = sweep.jobs[job];
  JobEvent event;
  event.id = sweep.IdOf(job);
  event.state = record.state();
  event.attempt = {record.attempt};
  event.failure = record.failure;
  event.message = std::string(message);
  event.reused = record.reused();
  if (const RunningJobs::Lease* lease = places_.running.Find(event.id)) {
    event.worker = places_.running.WorkerOf(lease->holder);
  } else if (const JobTable::Result* result = sweep.jobs.Find(job);
             result != nullptr && result->holder != kNoHolder) {
    event.worker = places_.running.WorkerOf(result->holder);
  }
  turn_.Announce(std::move(event));
}

JobRow JobLifecycle::RowOf(JobId id) const {
  const SweepRecord& sweep = book_.SweepOf(id);
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
  const Suspects::Deaths deaths = places_.suspects.Of(id);
  row.deaths = deaths.in_a_row;
  row.death_shared = deaths.last_shared;
  row.update_time = turn_.now();
  if (record.state() == JobState::kBackoff) {
    row.not_before = *places_.backoffs.EndOf(id);
  }
  uint32_t holder = kNoHolder;
  if (const RunningJobs::Lease* lease = places_.running.Find(id)) {
    holder = lease->holder;
    row.gpu_mask = lease->gpu_mask;
  } else if (const RunningJobs::Lost* lost = places_.running.FindLost(id)) {
    holder = lost->holder;
    row.gpu_mask = lost->gpu_mask;
  } else if (const JobTable::Result* result = sweep.jobs.Find(id.index)) {
    holder = result->holder;
  }
  if (holder != kNoHolder) {
    row.worker = places_.running.holder(holder).worker;
    row.incarnation = places_.running.holder(holder).incarnation;
  }
  if (record.reused()) {
    row.reused_from = sweep.jobs.Find(id.index)->source;
  }
  return row;
}

void JobLifecycle::Succeed(SweepRecord& sweep, uint32_t job, JobResult result, uint32_t holder) {
  const JobId id = sweep.IdOf(job);
  sweep.jobs[job].settled = true;
  sweep.jobs[job].no_reuse = false;
  sweep.jobs[job].system_collected = false;
  results_.Put(sweep, job, std::move(result), holder);
  SetState(sweep, job, JobState::kSucceeded);
  results_.AddSuccess(sweep, job, sweep.keys.KeyOf(job));
  Announce(sweep, job);
  AfterSuccess(sweep, job);
  ReleaseFollowers(id);
}

// Makes the jobs that waited for a train job's system ready.
void JobLifecycle::AfterSuccess(SweepRecord& sweep, uint32_t job) {
  sweep.expansion->ForEachDependent(job, [&](uint32_t other) {
    if (sweep.jobs[other].state() == JobState::kBlocked && groups_.HasLetGo(sweep, other) &&
        !sweep.AwaitsSetting(other)) {
      SetState(sweep, other, JobState::kReady);
    }
  });
}

void JobLifecycle::Fail(SweepRecord& sweep, uint32_t job, JobResult result, uint32_t holder,
                        bool is_charged) {
  const JobId id = sweep.IdOf(job);
  JobTable::Job& record = sweep.jobs[job];
  const FailureClass failure = result.failure;
  const std::string message = result.message;
  const RetryPolicy& retry = sweep.expansion->spec().retry;
  const RunningJobs::Lease* lease = places_.running.Find(id);
  const uint64_t gpu_mask = lease == nullptr ? 0 : lease->gpu_mask;
  turn_.batch().put_attempts.push_back(AttemptRow{.id = id,
                                                  .attempt = {record.attempt},
                                                  .worker = places_.running.WorkerOf(holder),
                                                  .end_time = turn_.now(),
                                                  .result = result});
  record.failure = failure;
  const bool is_poison = failure == FailureClass::kPoison;
  if (failure != FailureClass::kLost && !is_poison) {
    record.settled = true;
    places_.suspects.Acquit(id);
  }
  bool give_up = failure == FailureClass::kConfig || is_poison;
  if (IsOutside(failure) || is_poison) {
    record.lost = is_charged ? Increment(record.lost) : record.lost;
    give_up = give_up || record.lost > retry.lost_max;
  } else {
    record.failures = Increment(record.failures);
    give_up = give_up || record.failures >= retry.failures_max;
  }
  if (give_up) {
    FailForGood(sweep, job, std::move(result), holder);
    return;
  }
  if (failure == FailureClass::kLost || failure == FailureClass::kPreempted ||
      failure == FailureClass::kService) {
    SetState(sweep, job, JobState::kReady);
  } else {
    EnterBackoff(sweep, job,
                 turn_.now() + Backoffs::WaitAfter(retry, record.failures + record.lost,
                                                   AttemptId{id, {record.attempt}}, policy_.seed));
  }
  if (failure == FailureClass::kLost) {
    places_.running.AddLost(id, {holder, gpu_mask});  // it may still come back with this attempt
  } else {
    places_.running.RemoveLost(id);
  }
  Announce(sweep, job, message);
  ReleaseFollowers(id);
}

void JobLifecycle::FailUnstarted(SweepRecord& sweep, uint32_t job, JobResult result) {
  JobTable::Job& record = sweep.jobs[job];
  ++record.attempt;
  record.settled = true;
  record.failure = result.failure;
  turn_.batch().put_attempts.push_back(AttemptRow{.id = sweep.IdOf(job),
                                                  .attempt = {record.attempt},
                                                  .worker = "",
                                                  .end_time = turn_.now(),
                                                  .result = result});
  FailForGood(sweep, job, std::move(result), kNoHolder);
}

void JobLifecycle::FailForGood(SweepRecord& sweep, uint32_t job, JobResult result,
                               uint32_t holder) {
  const JobId id = sweep.IdOf(job);
  const std::string message = result.message;
  results_.Put(sweep, job, std::move(result), holder);
  SetState(sweep, job, JobState::kFailed);
  Announce(sweep, job, message);
  SkipDependents(sweep, job);
  ReleaseFollowers(id);
  GiveUpEarly(sweep, job);
}

// Skips the jobs that waited for the system of a job that failed or was skipped.
void JobLifecycle::SkipDependents(SweepRecord& sweep, uint32_t job) {
  const bool failed = sweep.jobs[job].state() == JobState::kFailed;
  sweep.expansion->ForEachDependent(job, [&](uint32_t other) {
    if (sweep.jobs[other].state() == JobState::kBlocked) {
      SetState(sweep, other, JobState::kSkipped);
      Announce(sweep, other,
               absl::StrCat(sweep.SourceText(other), failed ? " failed" : " was skipped"));
      SkipDependents(sweep, other);
    }
  });
}

void JobLifecycle::LoseAttempt(JobId id, FailureClass failure, const std::string& message) {
  SweepRecord& sweep = book_.SweepOf(id);
  const RunningJobs::Lease* lease = places_.running.Find(id);
  CONCUR_CHECK(lease != nullptr);
  JobResult result;
  result.failure = failure;
  result.exit_code = -1;
  result.message = message;
  result.start_time = turn_.now();
  Fail(sweep, id.index, std::move(result), lease->holder);
}

void JobLifecycle::LoseAttemptByDeath(JobId id, bool shared, const std::string& message) {
  const RunningJobs::Lease* lease = places_.running.Find(id);
  CONCUR_CHECK(lease != nullptr);
  JobResult result;
  result.failure = FailureClass::kLost;
  result.exit_code = -1;
  result.message = message;
  result.start_time = turn_.now();
  if (places_.suspects.AddDeath(id, shared)) {
    const uint32_t deaths = places_.suspects.Of(id).in_a_row;
    const uint32_t last = book_.JobOf(id).attempt;
    result.failure = FailureClass::kPoison;
    result.message = absl::StrCat(
        "its worker died ", deaths, " times in a row while it ran (attempts ", last - deaths + 1,
        " to ", last, "; `concur job get ", id.ToString(),
        "` names the workers), the last time with no other job beside it: it may take more memory ",
        "than the machine has; after that is mended, `concur sweep retry` tries it again (",
        message, ")");
  }
  Fail(book_.SweepOf(id), id.index, std::move(result), lease->holder, /*is_charged=*/!shared);
}

void JobLifecycle::ReturnAttempt(SweepRecord& sweep, uint32_t job) {
  JobTable::Job& record = sweep.jobs[job];
  const bool was_charged = !places_.suspects.TakeBackDeath(sweep.IdOf(job));
  if (was_charged && record.lost > 0) {
    --record.lost;
  }
  record.failure = FailureClass::kNone;
  turn_.Touch(sweep.IdOf(job));
}

void JobLifecycle::AcquitPaused(SweepRecord& sweep, uint32_t job) {
  const JobId id = sweep.IdOf(job);
  if (places_.suspects.Of(id).in_a_row == 0) {
    return;
  }
  const bool waits = places_.suspects.RemoveReady(id);
  places_.suspects.Acquit(id);
  if (waits) {
    EnterReady(sweep, job);
  }
  turn_.Touch(id);
}

bool JobLifecycle::TryReuse(SweepRecord& sweep, uint32_t job, const Digest& key) {
  if (!sweep.MayTakeResult(job)) {
    return false;
  }
  const std::optional<JobId> found = results_.SourceOf(key);
  if (!found) {
    return false;
  }
  const JobId source = *found;
  CONCUR_CHECK(source != sweep.IdOf(job));
  const bool is_train = sweep.expansion->Locate(job).is_train;
  if (is_train && sweep.NeedsSystem(job) && !book_.SweepOf(source).HasSystem(source.index)) {
    return false;
  }
  results_.PutReused(sweep, job, source);
  JobTable::Job& record = sweep.jobs[job];
  record.settled = true;
  record.system_collected = book_.JobOf(source).system_collected;
  SetState(sweep, job, JobState::kSucceeded);
  results_.AddSuccess(sweep, job, key);
  Announce(sweep, job);
  AfterSuccess(sweep, job);
  return true;
}

void JobLifecycle::ReuseFinishedCells(SweepRecord& sweep) {
  ForEachBeforeSources(sweep, /*finished_only=*/true,
                       [&](uint32_t job) { TryReuse(sweep, job, sweep.keys.KeyOf(job)); });
}

void JobLifecycle::ForEachBeforeSources(const SweepRecord& sweep, bool finished_only,
                                        absl::FunctionRef<void(uint32_t job)> visit) const {
  const std::vector<Block>& blocks = sweep.expansion->blocks();
  std::vector<uint32_t> order;
  for (uint32_t index = 0; index < blocks.size(); ++index) {
    if (!finished_only || places_.reuse.HasFinished(sweep.keys.BlockKey(index))) {
      order.push_back(index);
    }
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return blocks[a].stage > blocks[b].stage; });
  for (const uint32_t index : order) {
    const Block& block = blocks[index];
    const uint32_t stride = block.JobsPerCell();
    for (uint32_t cell = 0; cell < block.cells; ++cell) {
      const uint32_t first = block.first_job + cell * stride;
      for (uint32_t job = block.has_train ? first + 1 : first; job < first + stride; ++job) {
        visit(job);
      }
      if (block.has_train) {
        visit(first);
      }
    }
  }
}

void JobLifecycle::ReleaseFollowers(JobId leader) {
  for (const JobId& id : places_.reuse.TakeFollowers(leader)) {
    SweepRecord& sweep = book_.SweepOf(id);
    if (!TryReuse(sweep, id.index, sweep.keys.KeyOf(id.index))) {
      SetState(sweep, id.index, JobState::kReady);
    }
  }
}

void JobLifecycle::Skip(SweepRecord& sweep, const FailureTallies::Scope& scope) {
  const std::string reason = sweep.tallies.Describe(scope);
  std::vector<uint32_t> skipped;
  sweep.tallies.ForEachKind(scope, [&](const Block& block, uint32_t kind) {
    for (uint32_t cell = 0; cell < block.cells; ++cell) {
      const uint32_t job = block.JobOf(cell, kind);
      const JobState state = sweep.jobs[job].state();
      if (state == JobState::kReady || state == JobState::kBlocked || state == JobState::kBackoff) {
        SetState(sweep, job, JobState::kSkipped);
        Announce(sweep, job, reason);
        skipped.push_back(job);
      }
    }
  });
  for (const uint32_t job : skipped) {  // other approaches may start from it
    SkipDependents(sweep, job);
  }
}

// After the job failed for good.
void JobLifecycle::GiveUpEarly(SweepRecord& sweep, uint32_t job) {
  if (sweep.row.retry) {
    return;  // others that failed are still to be returned to the queue
  }
  for (const FailureTallies::Scope& scope : sweep.tallies.FailedScopesOf(job)) {
    if (IsHopeless(sweep, scope, places_.running, workers_.roster())) {
      Skip(sweep, scope);
    }
  }
}

// Has the job's attempt stop, if it runs, and ends the job. Returns true if it ran.
bool JobLifecycle::Halt(SweepRecord& sweep, uint32_t job, JobState state, StopReason reason) {
  const bool runs = sweep.jobs[job].state() == JobState::kRunning;
  if (runs) {
    workers_.StopAttempt(sweep.IdOf(job), reason, /*counted=*/reason == StopReason::kCanceled);
    sweep.jobs[job].failure = FailureClass::kNone;  // this attempt's outcome is not waited for
  }
  SetState(sweep, job, state);
  return runs;
}

// Cancels the job unless it has ended, and returns the state that it was in.
JobState JobLifecycle::Cancel(SweepRecord& sweep, uint32_t job) {
  const JobState before = sweep.jobs[job].state();
  if (!IsTerminal(before) && Halt(sweep, job, JobState::kCanceled, StopReason::kCanceled)) {
    ReleaseFollowers(sweep.IdOf(job));
  }
  return before;
}

void JobLifecycle::CancelWithDependents(SweepRecord& sweep, uint32_t job, absl::string_view why) {
  if (IsTerminal(Cancel(sweep, job))) {
    return;
  }
  Announce(sweep, job, why);
  sweep.expansion->ForEachDependent(job, [&](uint32_t other) {
    CancelWithDependents(sweep, other, absl::StrCat(sweep.SourceText(other), " was canceled"));
  });
}

void JobLifecycle::CancelWithSweep(SweepRecord& sweep, uint32_t job) {
  if (Cancel(sweep, job) == JobState::kRunning) {  // there may be a million others
    Announce(sweep, job, "canceled");
  }
}

// Neither a failure nor a lost attempt.
void JobLifecycle::EndTraining(SweepRecord& sweep, uint32_t job, JobState state,
                               absl::string_view why) {
  const bool ran = Halt(sweep, job, state, StopReason::kEarlyStop);
  Announce(sweep, job, why);
  if (ran) {
    ReleaseFollowers(sweep.IdOf(job));
  }
}

void JobLifecycle::PauseTraining(SweepRecord& sweep, uint32_t job) {
  places_.running.RemoveLost(sweep.IdOf(job));
  EndTraining(sweep, job, JobState::kBlocked, "early_stop: it waits until it goes on");
}

void JobLifecycle::StopTraining(SweepRecord& sweep, uint32_t job) {
  EndTraining(sweep, job, JobState::kStopped, "early_stop: other settings do better");
  sweep.expansion->ForEachDependent(job, [&](uint32_t eval) {  // no stage: EarlyStopCells
    if (sweep.jobs[eval].state() == JobState::kBlocked) {
      SetState(sweep, eval, JobState::kStopped);
      Announce(sweep, eval, "its train job was stopped");
    }
  });
}

void JobLifecycle::Forget(SweepRecord& sweep, uint32_t job) {
  book_.owners().AddBytes(sweep.owner, -sweep.StoredBytesOf(job));
  if (sweep.jobs[job].state() == JobState::kSucceeded) {
    results_.RemoveSuccess(sweep, job);
  }
  sweep.steps.erase(job);
}

void JobLifecycle::CheckInvariants() const {
  StateCounts totals{};
  for (const auto& [id, sweep] : book_.all()) {
    for (uint32_t job = 0; job < sweep->jobs.size(); ++job) {
      CheckJob(*sweep, job);
    }
    for (size_t state = 0; state < totals.size(); ++state) {
      totals[state] += sweep->jobs.counts()[state];
    }
  }
  const auto total = [&](JobState state) { return totals[static_cast<size_t>(state)]; };
  CONCUR_CHECK(total(JobState::kReady) == places_.ready.size() + places_.suspects.ready().size());
  CONCUR_CHECK(total(JobState::kBackoff) == places_.backoffs.size());
  CONCUR_CHECK(total(JobState::kRunning) == places_.running.size());
  CheckPlaces();
}

void JobLifecycle::CheckPlaces() const {
  places_.suspects.CheckInvariants();
  places_.suspects.ForEach([this](JobId id, const Suspects::Deaths&) {
    CONCUR_CHECK(book_.HasJob(id) && !IsTerminal(book_.JobOf(id).state()));
  });
  places_.backoffs.CheckInvariants();
  places_.running.CheckInvariants();
  places_.running.ForEachLost([this](JobId id) {
    CONCUR_CHECK(book_.HasJob(id));
    const JobTable::Job& record = book_.JobOf(id);
    CONCUR_CHECK(record.state() == JobState::kReady || record.state() == JobState::kBlocked);
    CONCUR_CHECK(record.attempt > 0 && !record.settled);
  });
}

void JobLifecycle::CheckJob(const SweepRecord& sweep, uint32_t job) const {
  const JobState state = sweep.jobs[job].state();
  const JobId id = sweep.IdOf(job);
  CONCUR_CHECK((state == JobState::kRunning) == (places_.running.Find(id) != nullptr));
  CONCUR_CHECK((state == JobState::kBackoff) == places_.backoffs.EndOf(id).has_value());
  if (state == JobState::kReady) {
    CONCUR_CHECK(places_.suspects.IsReady(id) == places_.suspects.MustRunAlone(id));
    CONCUR_CHECK(places_.suspects.IsReady(id) != places_.ready.Contains(sweep.LaneOf(job), job));
    CONCUR_CHECK(!sweep.AwaitsSource(job));
    CONCUR_CHECK(!sweep.AwaitsSetting(job));
  } else if (state == JobState::kBlocked) {
    CONCUR_CHECK(places_.reuse.LeaderOf(id) || !groups_.HasLetGo(sweep, job) ||
                 sweep.AwaitsSource(job) || sweep.AwaitsSetting(job) ||
                 EarlyStopGroups::IsInSlices(sweep) || sweep.expansion->spec().imported);
    CONCUR_CHECK(!sweep.AwaitsSource(job) || sweep.row.canceled ||
                 !IsTerminal(sweep.jobs[*sweep.expansion->SourceOf(job)].state()));
  }
}

}  // namespace concur
