// SPDX-License-Identifier: Apache-2.0
// The life of a job: its states, what becomes of it when an attempt ends, which results are shared,
// and which jobs are given up early.
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "core/scheduler.h"
#include "core/sweep_record.h"

namespace concur {
namespace {

// Attempts that ended for a reason outside the job: they count apart from its own failures.
bool IsOutside(FailureClass failure) {
  return failure == FailureClass::kLost || failure == FailureClass::kPreempted ||
         failure == FailureClass::kWorker || failure == FailureClass::kTemporary;
}

// Judging takes time by the number of jobs in the scope: one that has failed so many times its
// limit is judged only at every further multiple.
constexpr uint32_t kLimitsJudgedMax = 4;

uint16_t Increment(uint16_t value) {
  return value == UINT16_MAX ? value : static_cast<uint16_t>(value + 1);
}

}  // namespace

// --- states
// ---------------------------------------------------------------------------------------

// Takes a job out of everything that its present state put it into.
void Scheduler::LeaveState(SweepRecord& sweep, uint32_t job) {
  const JobId id = sweep.IdOf(job);
  switch (sweep.jobs[job].state()) {
    case JobState::kReady: {
      const ReadyQueue::Lane lane = sweep.LaneOf(job);
      if (!suspects_.RemoveReady(id) && ready_.Contains(lane, job)) {  // else Dispatch popped it
        ready_.Erase(lane, job);
      }
      break;
    }
    case JobState::kBackoff:
      backoffs_.Remove(id);
      break;
    case JobState::kBlocked:
      reuse_.RemoveFollower(id);
      break;
    case JobState::kRunning:
      reuse_.RemoveRunning(leases_.End(id).key, id);
      break;
    default:
      break;
  }
}

// BACKOFF and RUNNING are entered by EnterBackoff and EnterRunning.
void Scheduler::SetState(SweepRecord& sweep, uint32_t job, JobState state) {
  const JobTable::Job& record = sweep.jobs[job];
  const JobState before = record.state();
  const JobId id = sweep.IdOf(job);
  CONCUR_CHECK(record.state() == state || IsLegalTransition(record.state(), state));
  // What a restart derives needs no row: that an untouched job is READY or BLOCKED, as its
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
    leases_.RemoveLost(id);
    suspects_.Acquit(id);
    DropCheckpoint(sweep, job);
  }
  if (!is_derived) {
    Touch(id);
  }
  if (sweep.early_stop) {
    NoteChange(sweep, job, before);
  }
  pending_.changed_sweeps.insert(id.sweep);
  UpdateEnd(sweep);
}

// Into the queue; a suspect waits apart for a worker of its own.
void Scheduler::EnterReady(SweepRecord& sweep, uint32_t job) {
  if (suspects_.MustRunAlone(sweep.IdOf(job))) {
    suspects_.AddReady(sweep.IdOf(job));
  } else {
    ready_.Push(sweep.LaneOf(job), job);
  }
}

void Scheduler::EnterBackoff(SweepRecord& sweep, uint32_t job, absl::Time not_before) {
  SetState(sweep, job, JobState::kBackoff);
  backoffs_.Add(sweep.IdOf(job), not_before);
}

void Scheduler::EnterRunning(SweepRecord& sweep, uint32_t job, const Leases::Lease& lease) {
  const JobId id = sweep.IdOf(job);
  SetState(sweep, job, JobState::kRunning);
  leases_.Begin(id, lease);
  reuse_.AddRunning(lease.key, id);
  Touch(id);
  Announce(sweep, job);
}

void Scheduler::UpdateEnd(SweepRecord& sweep) {
  if (sweep.row.paused && sweep.jobs.unfinished() == 0) {  // a retry goes on, as after any end
    sweep.row.paused = false;
    ready_.Resume(sweep.row.id);
    TouchSweep(sweep);
  }
  const bool ended = IsTerminal(sweep.State());
  if (ended && !sweep.row.end_time) {
    sweep.row.end_time = now_;
    TouchSweep(sweep);
  } else if (!ended && sweep.row.end_time) {
    sweep.row.end_time.reset();
    TouchSweep(sweep);
  }
}

void Scheduler::Announce(const SweepRecord& sweep, uint32_t job, absl::string_view message) {
  const JobTable::Job& record = sweep.jobs[job];
  JobEvent event;
  event.id = sweep.IdOf(job);
  event.state = record.state();
  event.attempt = {record.attempt};
  event.failure = record.failure;
  event.message = std::string(message);
  event.reused = record.reused();
  if (const Leases::Lease* lease = leases_.Find(event.id)) {
    event.worker = leases_.WorkerOf(lease->holder);
  } else if (const JobTable::Result* result = sweep.jobs.Find(job);
             result != nullptr && result->holder != kNoHolder) {
    event.worker = leases_.WorkerOf(result->holder);
  }
  pending_.events.push_back(std::move(event));
}

void Scheduler::PutResult(SweepRecord& sweep, uint32_t job, JobResult result, uint32_t holder) {
  DropResult(sweep, job);
  sweep.jobs.PutResult(job, std::move(result), holder);
  owners_.AddBytes(sweep.owner, sweep.StoredBytesOf(job));
  dirty_results_.insert(sweep.IdOf(job));
}

void Scheduler::DropResult(SweepRecord& sweep, uint32_t job) {
  if (sweep.jobs[job].has_result()) {
    owners_.AddBytes(sweep.owner, -sweep.StoredBytesOf(job));
    sweep.jobs.DropResult(job);
    dirty_results_.insert(sweep.IdOf(job));
  }
}

// --- ends of attempts
// -----------------------------------------------------------------------------

void Scheduler::Succeed(SweepRecord& sweep, uint32_t job, JobResult result, uint32_t holder) {
  const JobId id = sweep.IdOf(job);
  sweep.jobs[job].settled = true;
  sweep.jobs[job].no_reuse = false;
  sweep.jobs[job].system_collected = false;
  PutResult(sweep, job, std::move(result), holder);
  SetState(sweep, job, JobState::kSucceeded);
  Learn(sweep, job);
  AddToIndex(sweep, job, sweep.keys.KeyOf(job));
  Announce(sweep, job);
  AfterSuccess(sweep, job);
  ReleaseFollowers(id);
}

// Makes the jobs that waited for a train job's system ready.
void Scheduler::AfterSuccess(SweepRecord& sweep, uint32_t job) {
  sweep.expansion->ForEachDependent(job, [&](uint32_t other) {
    if (sweep.jobs[other].state() == JobState::kBlocked && HasLetGo(sweep, other)) {
      SetState(sweep, other, JobState::kReady);
    }
  });
}

void Scheduler::Fail(SweepRecord& sweep, uint32_t job, JobResult result, uint32_t holder,
                     bool is_charged) {
  const JobId id = sweep.IdOf(job);
  JobTable::Job& record = sweep.jobs[job];
  const FailureClass failure = result.failure;
  const std::string message = result.message;
  const RetryPolicy& retry = sweep.expansion->spec().retry;
  const Leases::Lease* lease = leases_.Find(id);
  const uint64_t gpu_mask = lease == nullptr ? 0 : lease->gpu_mask;
  pending_.batch.put_attempts.push_back(AttemptRow{.id = id,
                                                   .attempt = {record.attempt},
                                                   .worker = leases_.WorkerOf(holder),
                                                   .end_time = now_,
                                                   .result = result});
  record.failure = failure;
  const bool is_poison = failure == FailureClass::kPoison;
  if (failure != FailureClass::kLost && !is_poison) {
    record.settled = true;
    suspects_.Acquit(id);
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
  if (failure == FailureClass::kLost || failure == FailureClass::kPreempted) {
    SetState(sweep, job, JobState::kReady);
  } else {
    EnterBackoff(sweep, job,
                 now_ + Backoffs::WaitAfter(retry, record.failures + record.lost,
                                            AttemptId{id, {record.attempt}}, policy_.seed));
  }
  if (failure == FailureClass::kLost) {
    leases_.AddLost(id, {holder, gpu_mask});  // it may still come back with this attempt
  } else {
    leases_.RemoveLost(id);
  }
  Announce(sweep, job, message);
  ReleaseFollowers(id);
}

void Scheduler::FailForGood(SweepRecord& sweep, uint32_t job, JobResult result, uint32_t holder) {
  const JobId id = sweep.IdOf(job);
  const std::string message = result.message;
  PutResult(sweep, job, std::move(result), holder);
  SetState(sweep, job, JobState::kFailed);
  Announce(sweep, job, message);
  SkipDependents(sweep, job);
  ReleaseFollowers(id);
  GiveUpEarly(sweep, job);
}

// What waited for the system of a job that failed or was skipped.
void Scheduler::SkipDependents(SweepRecord& sweep, uint32_t job) {
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

// What an attempt without success left is where the next one begins; one that left nothing changes
// nothing. An attempt that went on from a checkpoint and failed by itself may have found it
// damaged: the next one begins anew, unless it came further and left a new one. The last attempt
// that the job has begins anew all the same, except after a time-out.
void Scheduler::TakeCheckpoint(SweepRecord& sweep, uint32_t job, const FinishedAttempt& finished) {
  const JobResult& result = finished.result;
  if (result.succeeded || !sweep.expansion->Locate(job).is_train) {
    return;
  }
  const auto before = sweep.checkpoints.find(job);
  const bool is_new = finished.checkpoint && (before == sweep.checkpoints.end() ||
                                              before->second.digest != finished.checkpoint->digest);
  const bool next_is_last =
      sweep.jobs[job].failures + 2u >= sweep.expansion->spec().retry.failures_max;
  if (result.resumed_from > 0 && !IsOutside(result.failure) &&
      (!is_new || (next_is_last && result.failure != FailureClass::kTimeout))) {
    DropCheckpoint(sweep, job);
  } else if (is_new) {
    Checkpoint left = *finished.checkpoint;
    left.attempt = finished.id.attempt.number;
    PutCheckpoint(sweep, job, left);
  }
}

void Scheduler::PutCheckpoint(SweepRecord& sweep, uint32_t job, const Checkpoint& checkpoint) {
  DropCheckpoint(sweep, job);
  sweep.checkpoints.emplace(job, checkpoint);
  owners_.AddCheckpointBytes(sweep.owner, checkpoint.bytes);
  Touch(sweep.IdOf(job));
  pending_.changed_sweeps.insert(sweep.row.id);  // its owner uses more
}

void Scheduler::DropCheckpoint(SweepRecord& sweep, uint32_t job) {
  if (const auto it = sweep.checkpoints.find(job); it != sweep.checkpoints.end()) {
    owners_.AddCheckpointBytes(sweep.owner, -it->second.bytes);
    sweep.checkpoints.erase(it);
    Touch(sweep.IdOf(job));
    pending_.changed_sweeps.insert(sweep.row.id);
  }
}

void Scheduler::LoseAttempt(JobId id, FailureClass failure, const std::string& message) {
  SweepRecord& sweep = SweepOf(id);
  const Leases::Lease* lease = leases_.Find(id);
  CONCUR_CHECK(lease != nullptr);
  JobResult result;
  result.failure = failure;
  result.exit_code = -1;
  result.message = message;
  result.start_time = now_;
  Fail(sweep, id.index, std::move(result), lease->holder);
}

void Scheduler::LoseAttemptByDeath(JobId id, bool shared, const std::string& message) {
  const Leases::Lease* lease = leases_.Find(id);
  CONCUR_CHECK(lease != nullptr);
  JobResult result;
  result.failure = FailureClass::kLost;
  result.exit_code = -1;
  result.message = message;
  result.start_time = now_;
  if (suspects_.AddDeath(id, shared)) {
    const uint32_t deaths = suspects_.Of(id).in_a_row;
    const uint32_t last = JobOf(id).attempt;
    result.failure = FailureClass::kPoison;
    result.message = absl::StrCat(
        "its worker died ", deaths, " times in a row while it ran (attempts ", last - deaths + 1,
        " to ", last, "; `concur job get ", id.ToString(),
        "` names the workers), the last time with no other job beside it: it may take more memory ",
        "than the machine has; after that is mended, `concur sweep retry` tries it again (",
        message, ")");
  }
  Fail(SweepOf(id), id.index, std::move(result), lease->holder, /*is_charged=*/!shared);
}

// --- sharing
// --------------------------------------------------------------------------------------

// REQUIRES: the job has succeeded and is not in the index.
void Scheduler::AddToIndex(const SweepRecord& sweep, uint32_t job, const Digest& key) {
  reuse_.AddFinished(key, sweep.BlockKeyOf(job), sweep.IdOf(job),
                     [this](JobId a, JobId b) { return IsBetterSource(a, b); });
}

// REQUIRES: the job is in the index, and is as it was when it was added.
void Scheduler::RemoveFromIndex(const SweepRecord& sweep, uint32_t job) {
  reuse_.RemoveFinished(sweep.keys.KeyOf(job), sweep.BlockKeyOf(job), sweep.IdOf(job),
                        [this](JobId a, JobId b) { return IsBetterSource(a, b); });
}

// Takes the result of a finished job with this key, if there is one that can serve.
bool Scheduler::TryReuse(SweepRecord& sweep, uint32_t job, const Digest& key) {
  if (!sweep.MayTakeResult(job)) {
    return false;
  }
  const std::optional<JobId> found = reuse_.SourceOf(key);
  if (!found) {
    return false;
  }
  const JobId source = *found;
  CONCUR_CHECK(source != sweep.IdOf(job));
  const bool is_train = sweep.expansion->Locate(job).is_train;
  if (is_train && sweep.NeedsSystem(job) && !HasSystem(source)) {
    return false;
  }
  const JobTable& from = SweepOf(source).jobs;
  JobTable::Result copy = *from.Find(source.index);
  PutResult(sweep, job, std::move(copy.result), copy.holder);
  owners_.AddBytes(sweep.owner, -sweep.StoredBytesOf(job));  // it counts where it was made
  sweep.jobs.MarkReused(job, source);
  JobTable::Job& record = sweep.jobs[job];
  record.settled = true;
  record.system_collected = from[source.index].system_collected;
  SetState(sweep, job, JobState::kSucceeded);
  AddToIndex(sweep, job, key);
  Announce(sweep, job);
  AfterSuccess(sweep, job);
  return true;
}

void Scheduler::ReuseFinishedCells(SweepRecord& sweep) {
  const std::vector<Block>& blocks = sweep.expansion->blocks();
  std::vector<uint32_t> order;
  for (uint32_t index = 0; index < blocks.size(); ++index) {
    if (reuse_.HasFinished(sweep.keys.BlockKey(index))) {
      order.push_back(index);
    }
  }
  // Whether the result of a train job must have a system depends on the jobs that read it: these
  // come first, last stages before their sources and eval jobs before their train job.
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return blocks[a].stage > blocks[b].stage; });
  for (const uint32_t index : order) {
    const Block& block = blocks[index];
    const uint32_t stride = block.JobsPerCell();
    for (uint32_t cell = 0; cell < block.cells; ++cell) {
      const uint32_t first = block.first_job + cell * stride;
      for (uint32_t job = block.has_train ? first + 1 : first; job < first + stride; ++job) {
        TryReuse(sweep, job, sweep.keys.KeyOf(job));
      }
      if (block.has_train) {
        TryReuse(sweep, first, sweep.keys.KeyOf(first));
      }
    }
  }
}

// Jobs that waited for the running `leader` take its result, or may run themselves.
void Scheduler::ReleaseFollowers(JobId leader) {
  for (const JobId& id : reuse_.TakeFollowers(leader)) {
    SweepRecord& sweep = SweepOf(id);
    if (!TryReuse(sweep, id.index, sweep.keys.KeyOf(id.index))) {
      SetState(sweep, id.index, JobState::kReady);
    }
  }
}

void Scheduler::MarkSystemsCollected(const std::vector<JobId>& train_jobs) {
  for (const JobId& id : train_jobs) {
    if (!HasJob(id)) {
      continue;
    }
    SweepRecord& sweep = SweepOf(id);
    JobTable::Job& record = sweep.jobs[id.index];
    if (record.state() != JobState::kSucceeded || record.system_collected) {
      continue;
    }
    // Another job's result with the same key may still have its system: let it stand instead.
    RemoveFromIndex(sweep, id.index);
    owners_.AddBytes(sweep.owner, -sweep.StoredBytesOf(id.index));
    record.system_collected = true;
    owners_.AddBytes(sweep.owner, sweep.StoredBytesOf(id.index));
    AddToIndex(sweep, id.index, sweep.keys.KeyOf(id.index));
    Touch(id);
    pending_.changed_sweeps.insert(id.sweep);  // its owner uses less
  }
}

// --- giving up early
// ------------------------------------------------------------------------------

// REQUIRES: the scope has failed.
bool Scheduler::IsHopeless(const SweepRecord& sweep, const FailureTallies::Scope& scope) const {
  const Expansion& expansion = *sweep.expansion;
  const uint32_t limit = expansion.spec().failures_max_per_block;
  if (scope.failed / limit >= kLimitsJudgedMax && scope.failed % limit != 0) {
    return false;
  }
  const auto seeds = static_cast<uint32_t>(expansion.spec().seeds.size());
  std::set<std::string> workers;                      // that failed
  std::set<std::pair<uint32_t, uint32_t>> settings;   // in which jobs failed, by approach
  std::map<uint32_t, uint32_t> settings_of_approach;  // in the scope
  sweep.tallies.ForEachKind(scope, [&](const Block& block, uint32_t kind) {
    uint32_t& settings_here = settings_of_approach[block.approach];
    settings_here = std::max(settings_here, block.settings);
    for (uint32_t cell = 0; sweep.tallies.failed(kind) > 0 && cell < block.cells; ++cell) {
      const uint32_t job = block.JobOf(cell, kind);
      if (sweep.jobs[job].state() == JobState::kFailed) {
        const uint32_t holder = sweep.jobs.Find(job)->holder;
        workers.insert(holder == kNoHolder ? "" : leases_.WorkerOf(holder));
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
  return workers.size() > 1 ||
         std::none_of(workers_.begin(), workers_.end(), [&](const auto& entry) {
           return !entry.second->lost && !workers.contains(entry.first);
         });
}

void Scheduler::Skip(SweepRecord& sweep, const FailureTallies::Scope& scope) {
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
void Scheduler::GiveUpEarly(SweepRecord& sweep, uint32_t job) {
  for (const FailureTallies::Scope& scope : sweep.tallies.FailedScopesOf(job)) {
    if (IsHopeless(sweep, scope)) {
      Skip(sweep, scope);
    }
  }
}

}  // namespace concur
