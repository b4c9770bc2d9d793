#include "core/scheduler.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"

namespace concur {

Scheduler::Scheduler(SchedulerPolicy policy) : policy_(std::move(policy)) {}

// --- records and states
// ---------------------------------------------------------------------------

Scheduler::SweepRecord& Scheduler::SweepOf(JobId id) {
  const auto it = sweeps_.find(id.sweep);
  CONCUR_CHECK(it != sweeps_.end());
  return *it->second;
}

const Scheduler::SweepRecord& Scheduler::SweepOf(JobId id) const {
  const auto it = sweeps_.find(id.sweep);
  CONCUR_CHECK(it != sweeps_.end());
  return *it->second;
}

ReadyQueue::Lane Scheduler::LaneOf(const SweepRecord& sweep, uint32_t job) const {
  const Expansion& expansion = *sweep.expansion;
  const JobCoordinates at = expansion.Locate(job);
  const ApproachSpec& approach = expansion.spec().approaches[expansion.blocks()[at.block].approach];
  return ReadyQueue::Lane{
      .priority = expansion.spec().priority,
      .owner = sweep.owner,
      .sweep = sweep.row.id,
      .is_train = at.is_train,
      .resources = at.is_train ? approach.train_resources : approach.predict_resources,
      .labels = LabelSetOf(sweep, at),
      .group = GroupOf(sweep, at)};
}

SweepState Scheduler::StateOf(const SweepRecord& sweep) const {
  if (sweep.row.canceled) {
    return sweep.stopping > 0 ? SweepState::kCanceling : SweepState::kCanceled;
  }
  uint32_t unfinished = 0;
  for (int state = 0; state < kJobStates; ++state) {
    if (!IsTerminal(static_cast<JobState>(state))) {
      unfinished += sweep.counts[static_cast<size_t>(state)];
    }
  }
  if (unfinished > 0) {
    return sweep.row.paused ? SweepState::kPaused : SweepState::kActive;
  }
  const uint32_t succeeded = sweep.counts[static_cast<size_t>(JobState::kSucceeded)];
  return succeeded == sweep.slots.size() ? SweepState::kSucceeded : SweepState::kFailed;
}

// Takes a job out of everything that its present state put it into.
void Scheduler::LeaveState(SweepRecord& sweep, uint32_t job) {
  const JobId id{sweep.row.id, job};
  switch (sweep.slots[job].state) {
    case JobState::kReady: {
      const ReadyQueue::Lane lane = LaneOf(sweep, job);
      if (ready_.Contains(lane, job)) {  // Dispatch has popped it already
        ready_.Erase(lane, job);
      }
      break;
    }
    case JobState::kBackoff: {
      const auto it = not_before_.find(id);
      CONCUR_CHECK(it != not_before_.end());
      backoffs_.erase({it->second, id});
      not_before_.erase(it);
      break;
    }
    case JobState::kBlocked: {
      const auto it = leader_.find(id);
      if (it != leader_.end()) {
        const auto followers = followers_.find(it->second);
        if (followers != followers_.end()) {
          followers->second.erase(id);
          if (followers->second.empty()) {
            followers_.erase(followers);
          }
        }
        leader_.erase(it);
      }
      break;
    }
    case JobState::kRunning: {
      const auto it = running_.find(id);
      CONCUR_CHECK(it != running_.end());
      const auto flight = in_flight_.find(it->second.key);
      if (flight != in_flight_.end() && flight->second == id) {
        in_flight_.erase(flight);
      }
      running_.erase(it);
      break;
    }
    case JobState::kFailed: {
      uint32_t& failed = TallyOf(sweep, job).failed;
      CONCUR_CHECK(failed > 0);
      --failed;
      break;
    }
    case JobState::kSucceeded: {
      uint32_t& succeeded = TallyOf(sweep, job).succeeded;
      CONCUR_CHECK(succeeded > 0);
      --succeeded;
      break;
    }
    default:
      break;
  }
}

// Callers set not_before_ before entering BACKOFF, running_ after entering RUNNING.
void Scheduler::SetState(SweepRecord& sweep, uint32_t job, JobState state) {
  Slot& slot = sweep.slots[job];
  const JobId id{sweep.row.id, job};
  CONCUR_CHECK(slot.state == state || IsLegalTransition(slot.state, state));
  const bool derived = slot.attempt == 0 && slot.failures == 0 && slot.lost == 0 &&
                       slot.flags == 0 &&
                       (slot.state == JobState::kBlocked || slot.state == JobState::kReady) &&
                       (state == JobState::kBlocked || state == JobState::kReady);
  // Nor does one that never left that state before its sweep was canceled: the sweep's row says it.
  const bool canceled_unseen = state == JobState::kCanceled && sweep.row.canceled &&
                               slot.attempt == 0 && slot.flags == 0 && slot.failures == 0 &&
                               slot.lost == 0;
  absl::Time not_before = absl::InfinitePast();
  if (state == JobState::kBackoff) {
    const auto it = not_before_.find(id);
    CONCUR_CHECK(it != not_before_.end());
    not_before = it->second;
  }
  LeaveState(sweep, job);
  --sweep.counts[static_cast<size_t>(slot.state)];
  slot.state = state;
  ++sweep.counts[static_cast<size_t>(state)];
  if (state == JobState::kReady) {
    ready_.Push(LaneOf(sweep, job), job);
  } else if (state == JobState::kBackoff) {
    not_before_[id] = not_before;
    backoffs_.insert({not_before, id});
  } else if (state == JobState::kSucceeded) {
    ++TallyOf(sweep, job).succeeded;
  } else if (state == JobState::kFailed) {
    ++TallyOf(sweep, job).failed;
  }
  if (state == JobState::kRunning || IsTerminal(state)) {
    last_holder_.erase(id);
  }
  // A job that is ready or blocked as its expansion and its train job say needs no row.
  if (!derived && !canceled_unseen) {
    Touch(id);
  }
  pending_.changed_sweeps.insert(id.sweep);
  UpdateEnd(sweep);
}

void Scheduler::UpdateEnd(SweepRecord& sweep) {
  const bool ended = IsTerminal(StateOf(sweep));
  if (ended && !sweep.row.end_time) {
    sweep.row.end_time = now_;
    TouchSweep(sweep);
    if (sweep.row.paused) {  // a retry goes on, as after any other end
      sweep.row.paused = false;
      ready_.Resume(sweep.row.id);
    }
  } else if (!ended && sweep.row.end_time) {
    sweep.row.end_time.reset();
    TouchSweep(sweep);
  }
}

void Scheduler::Announce(const SweepRecord& sweep, uint32_t job, absl::string_view message) {
  const Slot& slot = sweep.slots[job];
  JobEvent event;
  event.id = {sweep.row.id, job};
  event.state = slot.state;
  event.attempt = {slot.attempt};
  event.failure = slot.failure;
  event.message = std::string(message);
  event.reused = (slot.flags & kReused) != 0;
  if (const auto it = running_.find(event.id); it != running_.end()) {
    event.worker = holders_[it->second.holder].worker;
  } else if (slot.result != kNone && sweep.results[slot.result].holder != kNone) {
    event.worker = holders_[sweep.results[slot.result].holder].worker;
  }
  pending_.events.push_back(std::move(event));
}

const JobResult* Scheduler::ResultOf(const SweepRecord& sweep, uint32_t job) const {
  const uint32_t index = sweep.slots[job].result;
  return index == kNone ? nullptr : &sweep.results[index].result;
}

void Scheduler::PutResult(SweepRecord& sweep, uint32_t job, JobResult result, uint32_t holder) {
  DropResult(sweep, job);
  uint32_t index;
  if (sweep.free_results.empty()) {
    index = static_cast<uint32_t>(sweep.results.size());
    sweep.results.emplace_back();
  } else {
    index = sweep.free_results.back();
    sweep.free_results.pop_back();
  }
  sweep.results[index] = StoredResult{std::move(result), holder, JobId{}};
  sweep.slots[job].result = index;
  ChargeResult(sweep, job, 1);
  dirty_results_.insert({sweep.row.id, job});
}

void Scheduler::DropResult(SweepRecord& sweep, uint32_t job) {
  Slot& slot = sweep.slots[job];
  if (slot.result == kNone) {
    return;
  }
  ChargeResult(sweep, job, -1);
  if ((slot.flags & kReused) != 0) {
    slot.flags &= static_cast<uint8_t>(~kReused);
    --sweep.reused;
  }
  sweep.results[slot.result] = StoredResult{};
  sweep.free_results.push_back(slot.result);
  slot.result = kNone;
  dirty_results_.insert({sweep.row.id, job});
}

uint32_t Scheduler::HolderOf(const std::string& worker, const std::string& incarnation) {
  const auto [it, inserted] =
      holder_index_.try_emplace({worker, incarnation}, static_cast<uint32_t>(holders_.size()));
  if (inserted) {
    holders_.push_back({worker, incarnation});
  }
  return it->second;
}

// --- users
// ----------------------------------------------------------------------------------------

absl::StatusOr<SweepId> Scheduler::Submit(Submission submission) {
  CONCUR_CHECK(submission.expansion != nullptr);
  const std::pair<std::string, std::string> request{submission.owner, submission.request_id};
  if (!submission.request_id.empty()) {
    if (const auto it = requests_.find(request); it != requests_.end()) {
      const SweepRecord& earlier = *sweeps_.at(it->second);
      if (earlier.row.spec != submission.spec) {
        return absl::InvalidArgumentError(
            absl::StrCat("request_id: \"", submission.request_id, "\" was used for sweep ",
                         it->second.ToString(), " with another spec"));
      }
      return it->second;
    }
  }
  CONCUR_RETURN_IF_ERROR(CheckQuota(submission.owner, submission.expansion->spec()));
  const SweepId id{next_sweep_number_++};
  pending_.batch.next_sweep_number = next_sweep_number_;
  auto owned = std::make_unique<SweepRecord>();
  SweepRecord& sweep = *owned;
  sweep.row = SweepRow{.id = id,
                       .owner = submission.owner,
                       .name = submission.expansion->spec().name,
                       .request_id = submission.request_id,
                       .create_time = now_,
                       .spec = std::move(submission.spec),
                       .paused = false,
                       .canceled = false,
                       .end_time = std::nullopt,
                       .forecast = std::nullopt};
  CONCUR_RETURN_IF_ERROR(AddSweep(std::move(owned), std::move(submission.expansion)));
  for (uint32_t job = 0; job < sweep.slots.size(); ++job) {
    if (sweep.slots[job].state == JobState::kReady) {
      ready_.Push(LaneOf(sweep, job), job);
    }
  }
  ReuseFinishedCells(sweep);
  TouchSweep(sweep);
  pending_.changed_sweeps.insert(id);
  UpdateEnd(sweep);
  return id;
}

// Puts a sweep with all jobs in their initial states into the tables, but not into the queue.
absl::Status Scheduler::AddSweep(std::unique_ptr<SweepRecord> owned,
                                 std::shared_ptr<const Expansion> expansion) {
  SweepRecord& sweep = *owned;
  const SweepId id = sweep.row.id;
  sweep.expansion = std::move(expansion);
  sweep.keys = std::make_unique<ContentKeys>(*sweep.expansion);
  sweep.slots.resize(sweep.expansion->job_count());
  sweep.owner = OwnerOf(sweep.row.owner);
  FindGroups(sweep);
  FindLabels(sweep);
  ChargeData(sweep, 1);
  for (const Block& block : sweep.expansion->blocks()) {
    if (!block.has_train) {
      continue;
    }
    const uint32_t stride = block.JobsPerCell();
    for (uint32_t cell = 0; cell < block.cells; ++cell) {
      const uint32_t train = block.first_job + cell * stride;
      for (uint32_t eval = train + 1; eval < train + stride; ++eval) {
        sweep.slots[eval].state = JobState::kBlocked;
      }
    }
  }
  for (const Slot& slot : sweep.slots) {
    ++sweep.counts[static_cast<size_t>(slot.state)];
  }
  if (!sweep.row.request_id.empty()) {
    requests_[{sweep.row.owner, sweep.row.request_id}] = id;
  }
  if (!sweeps_.emplace(id, std::move(owned)).second) {
    return absl::DataLossError(absl::StrCat("sweep ", id.ToString(), " stands twice"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Scheduler::SweepRecord*> Scheduler::MutableSweep(SweepId id) {
  const auto it = sweeps_.find(id);
  if (it == sweeps_.end()) {
    return absl::NotFoundError(absl::StrCat("no sweep ", id.ToString()));
  }
  return it->second.get();
}

absl::Status Scheduler::PauseSweep(SweepId id) {
  CONCUR_ASSIGN_OR_RETURN(SweepRecord * sweep, MutableSweep(id));
  if (sweep->row.canceled || IsTerminal(StateOf(*sweep))) {
    return absl::FailedPreconditionError(
        absl::StrCat("sweep ", id.ToString(), " has ended: ", SweepStateName(StateOf(*sweep))));
  }
  if (!sweep->row.paused) {
    sweep->row.paused = true;
    ready_.Pause(id);
    TouchSweep(*sweep);
    pending_.changed_sweeps.insert(id);
  }
  return absl::OkStatus();
}

absl::Status Scheduler::ResumeSweep(SweepId id) {
  CONCUR_ASSIGN_OR_RETURN(SweepRecord * sweep, MutableSweep(id));
  if (sweep->row.canceled || IsTerminal(StateOf(*sweep))) {
    return absl::FailedPreconditionError(
        absl::StrCat("sweep ", id.ToString(), " has ended: ", SweepStateName(StateOf(*sweep)),
                     "; RetryJobs returns its unfinished jobs to the queue"));
  }
  if (sweep->row.paused) {
    sweep->row.paused = false;
    ready_.Resume(id);
    TouchSweep(*sweep);
    pending_.changed_sweeps.insert(id);
  }
  return absl::OkStatus();
}

absl::Status Scheduler::CancelSweep(SweepId id) {
  CONCUR_ASSIGN_OR_RETURN(SweepRecord * sweep, MutableSweep(id));
  if (sweep->row.canceled || IsTerminal(StateOf(*sweep))) {
    return absl::OkStatus();
  }
  // The row says it for all jobs at once: restoring a canceled sweep cancels what has not ended.
  sweep->row.canceled = true;
  sweep->row.paused = false;
  TouchSweep(*sweep);
  ready_.EraseSweep(id);
  for (uint32_t job = 0; job < sweep->slots.size(); ++job) {
    const JobState state = sweep->slots[job].state;
    if (IsTerminal(state)) {
      continue;
    }
    if (state == JobState::kRunning) {
      StopHeld({id, job}, StopReason::kCanceled);
      sweep->slots[job].failure = FailureClass::kNone;  // how this attempt ends is not waited for
    }
    SetState(*sweep, job, JobState::kCanceled);
    if (state == JobState::kRunning) {
      ReleaseFollowers({id, job});
      Announce(*sweep, job, "canceled");
    }
  }
  UpdateEnd(*sweep);
  return absl::OkStatus();
}

absl::Status Scheduler::DeleteSweep(SweepId id) {
  CONCUR_ASSIGN_OR_RETURN(SweepRecord * sweep, MutableSweep(id));
  if (!IsTerminal(StateOf(*sweep))) {
    return absl::FailedPreconditionError(
        absl::StrCat("sweep ", id.ToString(), " has not ended: ", SweepStateName(StateOf(*sweep)),
                     "; cancel it first"));
  }
  for (uint32_t job = 0; job < sweep->slots.size(); ++job) {
    ChargeResult(*sweep, job, -1);
    if (sweep->slots[job].state == JobState::kSucceeded) {
      Unlearn(*sweep, job);
      UnindexResult(*sweep, job);
    }
    last_holder_.erase({id, job});
  }
  ChargeData(*sweep, -1);
  requests_.erase({sweep->row.owner, sweep->row.request_id});
  ready_.EraseSweep(id);
  sweeps_.erase(id);
  pending_.batch.delete_sweeps.push_back(id);
  pending_.changed_sweeps.insert(id);
  return absl::OkStatus();
}

absl::StatusOr<uint32_t> Scheduler::RetryJobs(SweepId id, const std::vector<uint32_t>& jobs,
                                              bool rerun_succeeded) {
  CONCUR_ASSIGN_OR_RETURN(SweepRecord * sweep, MutableSweep(id));
  if (StateOf(*sweep) == SweepState::kCanceling) {
    return absl::FailedPreconditionError(
        absl::StrCat("sweep ", id.ToString(), " is still stopping attempts; try again later"));
  }
  absl::btree_set<uint32_t> chosen;
  for (uint32_t job : jobs) {
    if (job >= sweep->slots.size()) {
      return absl::InvalidArgumentError(absl::StrCat("jobs: sweep ", id.ToString(),
                                                     " has jobs 0 to ", sweep->slots.size() - 1,
                                                     ", not ", job));
    }
    ChooseForRetry(*sweep, job, rerun_succeeded, &chosen);
  }
  if (jobs.empty()) {
    for (uint32_t job = 0; job < sweep->slots.size(); ++job) {
      chosen.insert(chosen.end(), job);
    }
    rerun_succeeded = false;
  }
  if (rerun_succeeded) {
    for (uint32_t job : chosen) {
      const JobState state = sweep->slots[job].state;
      if (!IsTerminal(state)) {
        return absl::FailedPreconditionError(
            absl::StrCat("job ", JobId{id, job}.ToString(), " is ", JobStateName(state),
                         "; only what has ended can be run again"));
      }
    }
  }
  for (uint32_t job : chosen) {
    CONCUR_RETURN_IF_ERROR(CheckSystemCanBeRemade(*sweep, job, rerun_succeeded));
  }
  const bool was_canceled = sweep->row.canceled;
  uint32_t retried = 0;
  for (uint32_t job : chosen) {
    retried += RetryJob(*sweep, job, rerun_succeeded) ? 1 : 0;
  }
  if (was_canceled && retried > 0) {
    // What stays canceled can no longer be read off the sweep's row.
    sweep->row.canceled = false;
    for (uint32_t job = 0; job < sweep->slots.size(); ++job) {
      if (sweep->slots[job].state == JobState::kCanceled) {
        Touch({id, job});
      }
    }
  }
  if (retried > 0) {
    TouchSweep(*sweep);
    pending_.changed_sweeps.insert(id);
  }
  UpdateEnd(*sweep);
  return retried;
}

// The job, and what goes with it: an eval job's train job unless that succeeded, and what was
// skipped, or is to be made again, because of a train job.
void Scheduler::ChooseForRetry(const SweepRecord& sweep, uint32_t job, bool rerun_succeeded,
                               absl::btree_set<uint32_t>* chosen) {
  chosen->insert(job);
  const auto train = sweep.expansion->TrainJobOf(job);
  const bool is_train = sweep.expansion->Locate(job).is_train;
  if (!is_train && (!train || sweep.slots[*train].state == JobState::kSucceeded)) {
    return;
  }
  const uint32_t cause = is_train ? job : *train;
  chosen->insert(cause);
  for (uint32_t eval = cause + 1; eval < sweep.expansion->EndOfCell(cause); ++eval) {
    if ((is_train && rerun_succeeded) || sweep.slots[eval].state == JobState::kSkipped) {
      chosen->insert(eval);
    }
  }
}

// When an eval job is to run again whose train job's system was collected, the train job runs again
// too: nothing else of that cell may be under way meanwhile.
absl::Status Scheduler::CheckSystemCanBeRemade(const SweepRecord& sweep, uint32_t job,
                                               bool rerun_succeeded) const {
  const JobState state = sweep.slots[job].state;
  const auto train = sweep.expansion->TrainJobOf(job);
  const bool collected = train && sweep.slots[*train].state == JobState::kSucceeded &&
                         (sweep.slots[*train].flags & kSystemCollected) != 0;
  if (!collected || !IsTerminal(state) || (state == JobState::kSucceeded && !rerun_succeeded)) {
    return absl::OkStatus();
  }
  for (uint32_t other = *train + 1; other < sweep.expansion->EndOfCell(job); ++other) {
    if (!IsTerminal(sweep.slots[other].state)) {
      return absl::FailedPreconditionError(absl::StrCat(
          "job ", JobId{sweep.row.id, job}.ToString(), " needs its system trained again, but job ",
          JobId{sweep.row.id, other}.ToString(), " of the same cell is ",
          JobStateName(sweep.slots[other].state), "; wait for its end"));
    }
  }
  return absl::OkStatus();
}

// REQUIRES: when the job is an eval job, no unfinished job of its cell needs a collected system.
bool Scheduler::RetryJob(SweepRecord& sweep, uint32_t job, bool rerun_succeeded) {
  Slot& slot = sweep.slots[job];
  const bool rerun = rerun_succeeded && slot.state == JobState::kSucceeded;
  if (!rerun && slot.state != JobState::kFailed && slot.state != JobState::kCanceled &&
      slot.state != JobState::kSkipped) {
    return false;
  }
  if (rerun) {
    Unlearn(sweep, job);
    UnindexResult(sweep, job);
    slot.flags |= kNoReuse;
  }
  DropResult(sweep, job);
  slot.failures = 0;
  slot.lost = 0;
  slot.failure = FailureClass::kNone;
  slot.flags &= static_cast<uint8_t>(~kSettled);
  const auto train = sweep.expansion->TrainJobOf(job);
  const bool runnable = !train || (sweep.slots[*train].state == JobState::kSucceeded &&
                                   (sweep.slots[*train].flags & kSystemCollected) == 0);
  SetState(sweep, job, runnable ? JobState::kReady : JobState::kBlocked);
  if (train && !runnable && sweep.slots[*train].state == JobState::kSucceeded) {
    // Its system is gone. Nobody asked to train it anew: an equal job's system will do.
    RetryJob(sweep, *train, /*rerun_succeeded=*/true);
    sweep.slots[*train].flags &= static_cast<uint8_t>(~kNoReuse);
  }
  Announce(sweep, job, "retried");
  return true;
}

absl::Status Scheduler::DrainWorker(const std::string& name, bool drain) {
  const auto it = workers_.find(name);
  if (it == workers_.end()) {
    return absl::NotFoundError(absl::StrCat("no worker \"", name, "\""));
  }
  WorkerRecord& worker = *it->second;
  if (!drain) {
    EndQuarantine(worker);
    worker.quarantine_span = absl::ZeroDuration();
    SaveWorker(worker);
  }
  if (worker.drain_asked != drain) {
    worker.drain_asked = drain;
    SaveWorker(worker);
    if (worker.lost && !drain && !worker_deadlines_.contains({worker.lease_expire, name})) {
      worker.lease_expire = now_ + policy_.lost_worker_kept;  // it was kept for the drain's sake
      worker_deadlines_.insert({worker.lease_expire, name});
    }
  }
  return absl::OkStatus();
}

}  // namespace concur
