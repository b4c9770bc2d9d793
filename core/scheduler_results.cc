// What becomes of a job when an attempt ends, and which results are shared.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/random.h"
#include "core/scheduler.h"

namespace concur {
namespace {

// Attempts that ended for a reason outside the job: they count apart from its own failures.
bool IsOutside(FailureClass failure) {
  return failure == FailureClass::kLost || failure == FailureClass::kPreempted ||
         failure == FailureClass::kWorker || failure == FailureClass::kTemporary;
}

uint16_t Increment(uint16_t value) {
  return value == UINT16_MAX ? value : static_cast<uint16_t>(value + 1);
}

}  // namespace

void Scheduler::Succeed(SweepRecord& sweep, uint32_t job, JobResult result, uint32_t holder) {
  const JobId id{sweep.row.id, job};
  sweep.slots[job].flags |= kSettled;
  sweep.slots[job].flags &= static_cast<uint8_t>(~(kNoReuse | kSystemCollected));
  PutResult(sweep, job, std::move(result), holder);
  SetState(sweep, job, JobState::kSucceeded);
  Learn(sweep, job);
  IndexResult(sweep, job, sweep.keys->KeyOf(job));
  Announce(sweep, job);
  AfterSuccess(sweep, job);
  ReleaseFollowers(id);
}

// Makes the eval jobs that waited for a train job ready.
void Scheduler::AfterSuccess(SweepRecord& sweep, uint32_t job) {
  if (!sweep.expansion->Locate(job).is_train) {
    return;
  }
  for (uint32_t eval = job + 1; eval < sweep.expansion->EndOfCell(job); ++eval) {
    if (sweep.slots[eval].state == JobState::kBlocked) {
      SetState(sweep, eval, JobState::kReady);
    }
  }
}

void Scheduler::EndAttempt(SweepRecord& sweep, uint32_t job, const JobResult& result,
                           uint32_t holder) {
  pending_.batch.put_attempts.push_back(AttemptRow{.id = {sweep.row.id, job},
                                                   .attempt = {sweep.slots[job].attempt},
                                                   .worker = holders_[holder].worker,
                                                   .end_time = now_,
                                                   .result = result});
}

void Scheduler::Fail(SweepRecord& sweep, uint32_t job, JobResult result, uint32_t holder) {
  const JobId id{sweep.row.id, job};
  Slot& slot = sweep.slots[job];
  const FailureClass failure = result.failure;
  const std::string message = result.message;
  const RetryPolicy& retry = sweep.expansion->spec().retry;
  const auto running = running_.find(id);
  const uint64_t gpu_mask = running == running_.end() ? 0 : running->second.gpu_mask;
  EndAttempt(sweep, job, result, holder);
  slot.failure = failure;
  if (failure != FailureClass::kLost) {
    slot.flags |= kSettled;
  }
  bool give_up = failure == FailureClass::kConfig;
  if (IsOutside(failure)) {
    slot.lost = Increment(slot.lost);
    give_up = slot.lost > retry.lost_max;
  } else {
    slot.failures = Increment(slot.failures);
    give_up = give_up || slot.failures >= retry.failures_max;
  }
  if (give_up) {
    FailForGood(sweep, job, std::move(result), holder);
    return;
  }
  if (failure == FailureClass::kLost || failure == FailureClass::kPreempted) {
    SetState(sweep, job, JobState::kReady);
  } else {
    not_before_[id] = now_ + BackoffOf(sweep, job);
    SetState(sweep, job, JobState::kBackoff);
  }
  if (failure == FailureClass::kLost) {
    last_holder_[id] = {holder, gpu_mask};  // it may still come back with this attempt
  } else {
    last_holder_.erase(id);
  }
  Announce(sweep, job, message);
  ReleaseFollowers(id);
}

void Scheduler::FailForGood(SweepRecord& sweep, uint32_t job, JobResult result, uint32_t holder) {
  const JobId id{sweep.row.id, job};
  const std::string message = result.message;
  PutResult(sweep, job, std::move(result), holder);
  SetState(sweep, job, JobState::kFailed);
  Announce(sweep, job, message);
  SkipDependents(sweep, job);
  ReleaseFollowers(id);
  GiveUpEarly(sweep, job);
}

void Scheduler::SkipDependents(SweepRecord& sweep, uint32_t job) {
  if (!sweep.expansion->Locate(job).is_train) {
    return;
  }
  for (uint32_t eval = job + 1; eval < sweep.expansion->EndOfCell(job); ++eval) {
    if (sweep.slots[eval].state == JobState::kBlocked) {
      SetState(sweep, eval, JobState::kSkipped);
      Announce(sweep, eval, "its train job failed");
    }
  }
}

void Scheduler::LoseAttempt(JobId id, FailureClass failure, const std::string& message) {
  SweepRecord& sweep = SweepOf(id);
  const auto it = running_.find(id);
  CONCUR_CHECK(it != running_.end());
  JobResult result;
  result.failure = failure;
  result.exit_code = -1;
  result.message = message;
  result.start_time = now_;
  Fail(sweep, id.index, std::move(result), it->second.holder);
}

absl::Duration Scheduler::BackoffOf(const SweepRecord& sweep, uint32_t job) const {
  const Slot& slot = sweep.slots[job];
  const RetryPolicy& retry = sweep.expansion->spec().retry;
  absl::Duration backoff = retry.backoff_min;
  for (int i = 1; i < slot.failures + slot.lost && backoff < retry.backoff_max; ++i) {
    backoff *= 2;
  }
  Random jitter(policy_.seed,
                absl::StrCat("backoff ", JobId{sweep.row.id, job}.ToString(), " ", slot.attempt));
  return std::min(backoff, retry.backoff_max) *
         (kBackoffJitterMin + (kBackoffJitterMax - kBackoffJitterMin) * jitter.Uniform());
}

// --- sharing
// --------------------------------------------------------------------------------------

// REQUIRES: the job has succeeded and is not indexed.
void Scheduler::IndexResult(const SweepRecord& sweep, uint32_t job, const Digest& key) {
  const JobId id{sweep.row.id, job};
  const auto [it, inserted] = finished_.try_emplace(key, id);
  if (inserted) {
    ++finished_blocks_[sweep.keys->BlockKey(sweep.expansion->Locate(job).block)];
    return;
  }
  JobId other = id;
  if (SystemIsThere(id) && !SystemIsThere(it->second)) {
    std::swap(other, it->second);  // the better source: it can serve eval jobs too
  }
  auto& others = finished_others_[key];
  others.insert(std::lower_bound(others.begin(), others.end(), other), other);
}

// Another job with the same key takes the place of a source that goes away.
// REQUIRES: the job is indexed, and is as it was then.
void Scheduler::UnindexResult(const SweepRecord& sweep, uint32_t job) {
  const JobId id{sweep.row.id, job};
  const Digest key = sweep.keys->KeyOf(job);
  const auto source = finished_.find(key);
  CONCUR_CHECK(source != finished_.end());
  const auto found = finished_others_.find(key);
  if (found == finished_others_.end()) {
    CONCUR_CHECK(source->second == id);
    finished_.erase(source);
    const auto block =
        finished_blocks_.find(sweep.keys->BlockKey(sweep.expansion->Locate(job).block));
    CONCUR_CHECK(block != finished_blocks_.end());
    if (--block->second == 0) {
      finished_blocks_.erase(block);
    }
    return;
  }
  auto& others = found->second;
  auto leaving = others.end();
  if (source->second == id) {
    leaving = std::find_if(others.begin(), others.end(),
                           [this](JobId other) { return SystemIsThere(other); });
    if (leaving == others.end()) {
      leaving = others.begin();
    }
    source->second = *leaving;
  } else {
    leaving = std::lower_bound(others.begin(), others.end(), id);
    CONCUR_CHECK(leaving != others.end() && *leaving == id);
  }
  others.erase(leaving);
  if (others.empty()) {
    finished_others_.erase(found);
  }
}

bool Scheduler::SystemIsThere(JobId train_job) const {
  const SweepRecord& sweep = SweepOf(train_job);
  const Slot& slot = sweep.slots[train_job.index];
  const JobResult* result = ResultOf(sweep, train_job.index);
  return slot.state == JobState::kSucceeded && (slot.flags & kSystemCollected) == 0 &&
         result != nullptr && FindArtifact(*result, ArtifactKind::kSystem) != nullptr;
}

bool Scheduler::NeedsSystem(const SweepRecord& sweep, uint32_t train_job) const {
  for (uint32_t eval = train_job + 1; eval < sweep.expansion->EndOfCell(train_job); ++eval) {
    if (sweep.slots[eval].state != JobState::kSucceeded) {
      return true;
    }
  }
  return false;
}

// Takes the result of a finished job with this key, if there is one that can serve.
bool Scheduler::TryReuse(SweepRecord& sweep, uint32_t job, const Digest& key) {
  if ((sweep.slots[job].flags & kNoReuse) != 0) {
    return false;
  }
  const auto it = finished_.find(key);
  if (it == finished_.end()) {
    return false;
  }
  const JobId source = it->second;
  CONCUR_CHECK(source != (JobId{sweep.row.id, job}));
  const bool is_train = sweep.expansion->Locate(job).is_train;
  if (is_train && NeedsSystem(sweep, job) && !SystemIsThere(source)) {
    return false;
  }
  const SweepRecord& from = SweepOf(source);
  const Slot& source_slot = from.slots[source.index];
  CONCUR_CHECK(source_slot.result != kNone);
  StoredResult copy = from.results[source_slot.result];
  Slot& slot = sweep.slots[job];
  PutResult(sweep, job, std::move(copy.result), copy.holder);
  ChargeResult(sweep, job, -1);  // it counts where it was made
  sweep.results[slot.result].reused_from = source;
  slot.flags &= static_cast<uint8_t>(~kSystemCollected);
  slot.flags |= kReused | kSettled;
  slot.flags |= source_slot.flags & kSystemCollected;
  ++sweep.reused;
  SetState(sweep, job, JobState::kSucceeded);
  IndexResult(sweep, job, key);
  Announce(sweep, job);
  AfterSuccess(sweep, job);
  return true;
}

void Scheduler::ReuseCell(SweepRecord& sweep, uint32_t first_job, uint32_t end_job) {
  const bool has_train = sweep.expansion->Locate(first_job).is_train;
  for (uint32_t job = has_train ? first_job + 1 : first_job; job < end_job; ++job) {
    TryReuse(sweep, job, sweep.keys->KeyOf(job));
  }
  if (has_train) {
    TryReuse(sweep, first_job, sweep.keys->KeyOf(first_job));
  }
}

void Scheduler::ReuseFinishedCells(SweepRecord& sweep) {
  for (uint32_t index = 0; index < sweep.expansion->blocks().size(); ++index) {
    if (!finished_blocks_.contains(sweep.keys->BlockKey(index))) {
      continue;
    }
    const Block& block = sweep.expansion->blocks()[index];
    const uint32_t stride = block.JobsPerCell();
    for (uint32_t cell = 0; cell < block.cells; ++cell) {
      ReuseCell(sweep, block.first_job + cell * stride, block.first_job + (cell + 1) * stride);
    }
  }
}

// Jobs that waited for the running `leader` take its result, or may run themselves.
void Scheduler::ReleaseFollowers(JobId leader) {
  const auto it = followers_.find(leader);
  if (it == followers_.end()) {
    return;
  }
  const absl::btree_set<JobId> followers = std::move(it->second);
  followers_.erase(it);
  for (const JobId& id : followers) {
    SweepRecord& sweep = SweepOf(id);
    if (!TryReuse(sweep, id.index, sweep.keys->KeyOf(id.index))) {
      SetState(sweep, id.index, JobState::kReady);
    }
  }
  CONCUR_CHECK(!followers_.contains(leader));
}

void Scheduler::MarkSystemsCollected(const std::vector<JobId>& train_jobs) {
  for (const JobId& id : train_jobs) {
    if (!HasJob(id)) {
      continue;
    }
    SweepRecord& sweep = SweepOf(id);
    Slot& slot = sweep.slots[id.index];
    if (slot.state != JobState::kSucceeded || (slot.flags & kSystemCollected) != 0) {
      continue;
    }
    // Another job's result with the same key may still have its system: let it stand instead.
    UnindexResult(sweep, id.index);
    ChargeResult(sweep, id.index, -1);
    slot.flags |= kSystemCollected;
    ChargeResult(sweep, id.index, 1);
    IndexResult(sweep, id.index, sweep.keys->KeyOf(id.index));
    Touch(id);
    pending_.changed_sweeps.insert(id.sweep);  // its owner uses less
  }
}

absl::Status Scheduler::RecordForecast(SweepId id, absl::Duration makespan) {
  const auto it = sweeps_.find(id);
  if (it == sweeps_.end()) {
    return absl::NotFoundError(absl::StrCat("no sweep ", id.ToString()));
  }
  if (!it->second->row.forecast) {
    it->second->row.forecast = makespan;
    TouchSweep(*it->second);
    pending_.changed_sweeps.insert(id);
  }
  return absl::OkStatus();
}

}  // namespace concur
