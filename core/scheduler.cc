// SPDX-License-Identifier: Apache-2.0
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
#include "core/sweep_record.h"
#include "core/train_from.h"

namespace concur {
namespace {

// What was skipped or stopped with the job, or all that was made from its system.
void ChooseDependents(const SweepRecord& sweep, uint32_t job, bool all,
                      absl::btree_set<uint32_t>* chosen) {
  sweep.expansion->ForEachDependent(job, [&](uint32_t other) {
    const JobState state = sweep.jobs[other].state();
    // A train job is stopped by the scores of other settings, not with its source.
    const bool was_stopped = state == JobState::kStopped;
    const bool goes_along =
        was_stopped ? !sweep.expansion->Locate(other).is_train : all || state == JobState::kSkipped;
    if (goes_along && chosen->insert(other).second) {
      ChooseDependents(sweep, other, all, chosen);
    }
  });
}

// The jobs, and what goes with them: the train jobs that they wait for, unless these succeeded, and
// what was skipped, or is to be made again, because of a train job.
absl::btree_set<uint32_t> ChooseForRetry(const SweepRecord& sweep,
                                         const std::vector<uint32_t>& jobs, bool rerun_succeeded) {
  absl::btree_set<uint32_t> chosen;
  // First what is to be made again with a listed job: of a train job that is here only because one
  // waits for it, that is less.
  for (const uint32_t job : jobs) {
    if (chosen.insert(job).second) {
      ChooseDependents(sweep, job, rerun_succeeded, &chosen);
    }
  }
  for (const uint32_t job : jobs) {
    for (auto source = sweep.expansion->SourceOf(job);
         source && sweep.jobs[*source].state() != JobState::kSucceeded &&
         chosen.insert(*source).second;  // else it is there with all that goes with it
         source = sweep.expansion->SourceOf(*source)) {
      ChooseDependents(sweep, *source, /*all=*/false, &chosen);
    }
  }
  return chosen;
}

// When a job is to run again and the system that it reads was collected, its source runs again too,
// and that one's, if its system was collected: nothing else that reads them may be under way
// meanwhile. `quiet` has the sources of which this is known already, and gets those of the job.
absl::Status CheckSystemCanBeRemade(const SweepRecord& sweep, uint32_t job, bool rerun_succeeded,
                                    absl::btree_set<uint32_t>* quiet) {
  const JobState state = sweep.jobs[job].state();
  if (!IsTerminal(state) || (state == JobState::kSucceeded && !rerun_succeeded)) {
    return absl::OkStatus();
  }
  for (auto source = sweep.expansion->SourceOf(job);
       source && sweep.jobs[*source].state() == JobState::kSucceeded &&
       sweep.jobs[*source].system_collected && quiet->insert(*source).second;
       source = sweep.expansion->SourceOf(*source)) {
    std::optional<uint32_t> busy;
    sweep.expansion->ForEachDependent(*source, [&](uint32_t other) {
      if (!busy && !IsTerminal(sweep.jobs[other].state())) {
        busy = other;
      }
    });
    if (busy) {
      return absl::FailedPreconditionError(absl::StrCat(
          "job ", sweep.IdOf(job).ToString(), " needs its system trained again, but job ",
          sweep.IdOf(*busy).ToString(), ", which reads it, too, is ",
          JobStateName(sweep.jobs[*busy].state()), "; wait for its end"));
    }
  }
  return absl::OkStatus();
}

// The jobs in an order in which each comes after its source.
std::vector<uint32_t> SourcesFirst(const Expansion& expansion,
                                   const absl::btree_set<uint32_t>& jobs) {
  std::vector<std::vector<uint32_t>> by_stage(kStagesMax + 1);
  for (const uint32_t job : jobs) {
    by_stage[expansion.StageOf(job)].push_back(job);
  }
  std::vector<uint32_t> ordered = std::move(by_stage[0]);
  for (size_t stage = 1; stage < by_stage.size(); ++stage) {
    ordered.insert(ordered.end(), by_stage[stage].begin(), by_stage[stage].end());
  }
  return ordered;
}

}  // namespace

Scheduler::Scheduler(SchedulerPolicy policy) : policy_(std::move(policy)) {}

Scheduler::~Scheduler() = default;

// --- records and states
// ---------------------------------------------------------------------------

SweepRecord& Scheduler::SweepOf(JobId id) {
  const auto it = sweeps_.find(id.sweep);
  CONCUR_CHECK(it != sweeps_.end());
  return *it->second;
}

const SweepRecord& Scheduler::SweepOf(JobId id) const {
  const auto it = sweeps_.find(id.sweep);
  CONCUR_CHECK(it != sweeps_.end());
  return *it->second;
}

const JobTable::Job& Scheduler::JobOf(JobId id) const { return SweepOf(id).jobs[id.index]; }

JobState Scheduler::JobStateOf(JobId id) const { return JobOf(id).state(); }

bool Scheduler::HasSystem(JobId job) const { return SweepOf(job).HasSystem(job.index); }

// One that still has its system, since only such a one serves what reads it; of these the newest.
bool Scheduler::IsBetterSource(JobId job, JobId other) const {
  const bool has_system = HasSystem(job);
  return has_system != HasSystem(other) ? has_system
                                        : SweepOf(job).jobs.ResultOf(job.index)->start_time >
                                              SweepOf(other).jobs.ResultOf(other.index)->start_time;
}

void Scheduler::TouchSweep(const SweepRecord& sweep) { dirty_sweeps_.insert(sweep.row.id); }

// --- users
// ----------------------------------------------------------------------------------------

// The sweep of the owner's earlier submission with this request id; nullopt.
absl::StatusOr<std::optional<SweepId>> Scheduler::FindRequest(const Submission& submission) const {
  if (submission.request_id.empty()) {
    return std::nullopt;
  }
  const auto it = requests_.find(std::pair(submission.owner, submission.request_id));
  if (it == requests_.end()) {
    return std::nullopt;
  }
  const SweepRecord& earlier = *sweeps_.at(it->second);
  if (earlier.row.spec != submission.spec) {
    return absl::InvalidArgumentError(absl::StrCat("request_id: \"", submission.request_id,
                                                   "\" was used for sweep ", it->second.ToString(),
                                                   " with another spec"));
  }
  return it->second;
}

// Gives the sweep an id and a row; its jobs are in their initial states, and not in the queue.
absl::StatusOr<SweepId> Scheduler::AddNewSweep(Submission submission) {
  CONCUR_RETURN_IF_ERROR(
      CheckQuota(submission.owner, submission.expansion->spec(), submission.unclaimed_bytes));
  const SweepId id{next_sweep_number_++};
  pending_.batch.next_sweep_number = next_sweep_number_;
  SweepRow row;
  row.id = id;
  row.owner = submission.owner;
  row.name = submission.expansion->spec().name;
  row.request_id = submission.request_id;
  row.create_time = now_;
  row.spec = std::move(submission.spec);
  CONCUR_RETURN_IF_ERROR(AddSweep(std::move(row), std::move(submission.expansion)));
  TouchSweep(*sweeps_.at(id));
  pending_.changed_sweeps.insert(id);
  return id;
}

absl::StatusOr<SweepId> Scheduler::Submit(Submission submission) {
  CONCUR_CHECK(submission.expansion != nullptr);
  CONCUR_CHECK(!submission.expansion->spec().imported.has_value());
  CONCUR_ASSIGN_OR_RETURN(const std::optional<SweepId> earlier, FindRequest(submission));
  if (earlier) {
    return *earlier;
  }
  CONCUR_ASSIGN_OR_RETURN(const SweepId id, AddNewSweep(std::move(submission)));
  SweepRecord& sweep = *sweeps_.at(id);
  for (uint32_t group = 0; sweep.early_stop && group < sweep.early_stop->size(); ++group) {
    sweep.early_stop->LetGo(group);
  }
  for (uint32_t job = 0; job < sweep.jobs.size(); ++job) {
    if (sweep.jobs[job].state() == JobState::kReady) {
      ready_.Push(sweep.LaneOf(job), job);
    }
  }
  ReuseFinishedCells(sweep);
  UpdateEnd(sweep);
  return id;
}

// Puts a sweep with all jobs in their initial states into the tables, but not into the queue.
absl::Status Scheduler::AddSweep(SweepRow row, std::shared_ptr<const Expansion> expansion) {
  const SweepId id = row.id;
  auto owned = std::make_unique<SweepRecord>(std::move(row), std::move(expansion));
  SweepRecord& sweep = *owned;
  sweep.owner = owners_.Add(sweep.row.owner);
  const SweepSpec& spec = sweep.expansion->spec();
  owners_.AddData(sweep.owner, spec);
  sweep.expansion->ForEachKind([&](const Block& block, std::optional<uint32_t> test) {
    const std::string& approach = spec.approaches[block.approach].name;
    const std::string& benchmark =
        test ? spec.benchmarks[*test].name : spec.train_sets[block.train_set].name;
    const Durations::Group group = durations_.GroupOf(approach, benchmark, !test);
    sweep.groups.push_back(group);
    ready_.SetRank(group, durations_.RankOf(group));
    if (sweep.expansion->has_labels()) {
      sweep.label_sets.push_back(label_sets_.Add(sweep.expansion->LabelsOf(block, test)));
    }
  });
  if (!sweep.row.request_id.empty()) {
    requests_[{sweep.row.owner, sweep.row.request_id}] = id;
  }
  if (!sweeps_.emplace(id, std::move(owned)).second) {
    return absl::DataLossError(absl::StrCat("sweep ", id.ToString(), " stands twice"));
  }
  return absl::OkStatus();
}

absl::StatusOr<SweepRecord*> Scheduler::MutableSweep(SweepId id) {
  const auto it = sweeps_.find(id);
  if (it == sweeps_.end()) {
    return absl::NotFoundError(absl::StrCat("no sweep ", id.ToString()));
  }
  return it->second.get();
}

absl::Status Scheduler::PauseSweep(SweepId id) {
  CONCUR_ASSIGN_OR_RETURN(SweepRecord * sweep, MutableSweep(id));
  if (sweep->row.canceled || sweep->jobs.unfinished() == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("sweep ", id.ToString(), " has ended: ", SweepStateName(sweep->State())));
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
  if (sweep->row.canceled || sweep->jobs.unfinished() == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("sweep ", id.ToString(), " has ended: ", SweepStateName(sweep->State()),
                     "; concur sweep retry returns its unfinished jobs to the queue"));
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
  if (sweep->row.canceled || IsTerminal(sweep->State())) {
    return absl::OkStatus();
  }
  // The row says it for all jobs at once: restoring a canceled sweep cancels what has not ended.
  sweep->row.canceled = true;
  sweep->row.paused = false;
  TouchSweep(*sweep);
  pending_.changed_sweeps.insert(id);
  ready_.EraseSweep(id);
  for (uint32_t job = 0; job < sweep->jobs.size(); ++job) {
    if (EndCanceled(*sweep, job) == JobState::kRunning) {  // there may be a million others
      Announce(*sweep, job, "canceled");
    }
  }
  UpdateEnd(*sweep);
  return absl::OkStatus();
}

absl::Status Scheduler::CancelJob(JobId id) {
  CONCUR_ASSIGN_OR_RETURN(SweepRecord * sweep, MutableSweep(id.sweep));
  if (id.index >= sweep->jobs.size()) {
    return absl::NotFoundError(absl::StrCat("no job ", id.ToString()));
  }
  CancelWithDependents(*sweep, id.index, "canceled");
  UpdateEnd(*sweep);
  return absl::OkStatus();
}

// Cancels the job unless it has ended, and with it what waits for its system.
void Scheduler::CancelWithDependents(SweepRecord& sweep, uint32_t job, absl::string_view why) {
  if (IsTerminal(EndCanceled(sweep, job))) {
    return;
  }
  Announce(sweep, job, why);
  sweep.expansion->ForEachDependent(job, [&](uint32_t other) {
    CancelWithDependents(sweep, other, absl::StrCat(sweep.SourceText(other), " was canceled"));
  });
}

// Cancels the job unless it has ended, and returns the state that it was in.
JobState Scheduler::EndCanceled(SweepRecord& sweep, uint32_t job) {
  const JobId id = sweep.IdOf(job);
  const JobState before = sweep.jobs[job].state();
  if (IsTerminal(before)) {
    return before;
  }
  if (before == JobState::kRunning) {
    StopAttempt(id, StopReason::kCanceled, /*counted=*/true);
    sweep.jobs[job].failure = FailureClass::kNone;  // how this attempt ends is not waited for
  }
  SetState(sweep, job, JobState::kCanceled);
  if (before == JobState::kRunning) {
    ReleaseFollowers(id);
  }
  return before;
}

absl::Status Scheduler::DeleteSweep(SweepId id) {
  CONCUR_ASSIGN_OR_RETURN(SweepRecord * sweep, MutableSweep(id));
  if (!IsTerminal(sweep->State())) {
    return absl::FailedPreconditionError(
        absl::StrCat("sweep ", id.ToString(), " has not ended: ", SweepStateName(sweep->State()),
                     "; cancel it first"));
  }
  for (uint32_t job = 0; job < sweep->jobs.size(); ++job) {
    owners_.AddBytes(sweep->owner, -sweep->StoredBytesOf(job));
    if (sweep->jobs[job].state() == JobState::kSucceeded) {
      Unlearn(*sweep, job);
      RemoveFromIndex(*sweep, job);
    }
    leases_.RemoveLost({id, job});
  }
  owners_.RemoveData(sweep->owner, sweep->expansion->spec());
  blame_.ForgetSweep(id);
  requests_.erase({sweep->row.owner, sweep->row.request_id});
  ready_.EraseSweep(id);
  unjudged_.erase(unjudged_.lower_bound({id, 0}),
                  unjudged_.lower_bound({SweepId{id.number + 1}, 0}));
  sweeps_.erase(id);
  pending_.batch.delete_sweeps.push_back(id);
  pending_.changed_sweeps.insert(id);
  return absl::OkStatus();
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

absl::StatusOr<uint32_t> Scheduler::RetryJobs(SweepId id, const std::vector<uint32_t>& jobs,
                                              bool rerun_succeeded) {
  CONCUR_ASSIGN_OR_RETURN(SweepRecord * sweep, MutableSweep(id));
  if (sweep->State() == SweepState::kCanceling) {
    return absl::FailedPreconditionError(
        absl::StrCat("sweep ", id.ToString(), " is still stopping attempts; try again later"));
  }
  if (sweep->expansion->spec().imported) {
    return absl::FailedPreconditionError(
        absl::StrCat("sweep ", id.ToString(), " was imported: nothing of it can run"));
  }
  for (uint32_t job : jobs) {
    if (job >= sweep->jobs.size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "jobs: sweep ", id.ToString(), " has jobs 0 to ", sweep->jobs.size() - 1, ", not ", job));
    }
  }
  absl::btree_set<uint32_t> chosen = ChooseForRetry(*sweep, jobs, rerun_succeeded);
  if (jobs.empty()) {
    for (uint32_t job = 0; job < sweep->jobs.size(); ++job) {
      chosen.insert(chosen.end(), job);
    }
    rerun_succeeded = false;
  }
  if (rerun_succeeded) {
    for (uint32_t job : chosen) {
      const JobState state = sweep->jobs[job].state();
      if (!IsTerminal(state)) {
        return absl::FailedPreconditionError(
            absl::StrCat("job ", JobId{id, job}.ToString(), " is ", JobStateName(state),
                         "; only what has ended can be run again"));
      }
    }
  }
  absl::btree_set<uint32_t> quiet;
  for (uint32_t job : chosen) {
    CONCUR_RETURN_IF_ERROR(CheckSystemCanBeRemade(*sweep, job, rerun_succeeded, &quiet));
  }
  const bool was_canceled = sweep->row.canceled;
  uint32_t retried = 0;
  bool has_changed = false;
  for (uint32_t job : SourcesFirst(*sweep->expansion, chosen)) {
    if (RetryJob(*sweep, job, rerun_succeeded, !jobs.empty())) {
      has_changed = true;
      retried += sweep->jobs[job].state() == JobState::kStopped ? 0 : 1;  // that is all of it
    }
  }
  if (was_canceled && has_changed) {
    // What stays canceled can no longer be read off the sweep's row.
    sweep->row.canceled = false;
    for (uint32_t job = 0; job < sweep->jobs.size(); ++job) {
      if (sweep->jobs[job].state() == JobState::kCanceled) {
        Touch({id, job});
      }
    }
  }
  if (has_changed) {
    TouchSweep(*sweep);
    pending_.changed_sweeps.insert(id);
  }
  UpdateEnd(*sweep);
  return retried;
}

// REQUIRES: no unfinished job needs a system that would be made again for this one.
bool Scheduler::RetryJob(SweepRecord& sweep, uint32_t job, bool rerun_succeeded, bool is_listed) {
  JobTable::Job& record = sweep.jobs[job];
  const auto source = sweep.expansion->SourceOf(job);
  const bool is_train = sweep.expansion->Locate(job).is_train;
  const bool rerun = rerun_succeeded && record.state() == JobState::kSucceeded;
  const bool resumed = is_listed && record.state() == JobState::kStopped;
  if (!rerun && !resumed && record.state() != JobState::kFailed &&
      record.state() != JobState::kCanceled && record.state() != JobState::kSkipped) {
    return false;
  }
  const bool has_no_system = source && sweep.jobs[*source].state() == JobState::kStopped;
  if (has_no_system && (rerun || record.state() == JobState::kStopped)) {
    return false;  // nor will there be one
  }
  if (record.state() == JobState::kFailed) {
    blame_.Mend(sweep.keys.KindKeyOf(job));
  }
  if (rerun) {
    Unlearn(sweep, job);
    RemoveFromIndex(sweep, job);
    record.no_reuse = true;
  }
  DropResult(sweep, job);
  DropSteps(sweep, job);
  record.failures = 0;
  record.lost = 0;
  record.failure = FailureClass::kNone;
  record.settled = false;
  record.rung = 0;
  record.whole = record.whole || (sweep.early_stop && is_train && (rerun || resumed));
  if (has_no_system) {  // it ends as it would have, had it waited
    SetState(sweep, job, JobState::kBlocked);
    SetState(sweep, job, JobState::kStopped);
    Announce(sweep, job, "its train job was stopped");
    return true;
  }
  const bool runnable = !source || (sweep.jobs[*source].state() == JobState::kSucceeded &&
                                    !sweep.jobs[*source].system_collected);
  SetState(sweep, job, runnable ? JobState::kReady : JobState::kBlocked);
  if (!runnable && IsTerminal(sweep.jobs[*source].state())) {
    // Its system is gone, or this job had taken an equal one's result. Nobody asked to train it
    // anew: an equal job's system will do.
    const bool is_gone = sweep.jobs[*source].state() == JobState::kSucceeded;
    RetryJob(sweep, *source, /*rerun_succeeded=*/true, is_listed);
    sweep.jobs[*source].no_reuse = sweep.jobs[*source].no_reuse && !is_gone;
  }
  Announce(sweep, job, "retried");
  return true;
}

}  // namespace concur
