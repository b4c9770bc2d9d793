// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/sweep_requests.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "core/spent.h"
#include "core/state/sweep_record.h"
#include "core/sweep/train_from.h"

namespace concur {
namespace {

constexpr int64_t kJobsPerRow = 10;  // as SchedulerPolicy::slice_jobs says

bool EndedWithoutSuccess(JobState state) {
  return state == JobState::kFailed || state == JobState::kCanceled || state == JobState::kSkipped;
}

// Number of jobs that a retry of the whole sweep returns to the queue. One whose train job was
// stopped by early_stop ends as that did.
uint32_t CountRetried(const SweepRecord& sweep) {
  uint32_t count = sweep.jobs.count(JobState::kFailed) + sweep.jobs.count(JobState::kCanceled) +
                   sweep.jobs.count(JobState::kSkipped);
  for (uint32_t job = 0; sweep.jobs.count(JobState::kStopped) > 0 && job < sweep.jobs.size();
       ++job) {
    const auto source = sweep.expansion->SourceOf(job);
    const bool has_no_system = source && sweep.jobs[*source].state() == JobState::kStopped;
    count -= has_no_system && EndedWithoutSuccess(sweep.jobs[job].state()) ? 1 : 0;
  }
  return count;
}

// Chooses the jobs that were skipped or stopped with the job, or all that read its system.
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

absl::StatusOr<SweepId> SweepRequests::Submit(SweepBook::Submission submission) {
  CONCUR_CHECK(submission.expansion != nullptr);
  CONCUR_CHECK(!submission.expansion->spec().imported.has_value());
  CONCUR_ASSIGN_OR_RETURN(const std::optional<SweepId> earlier, book_.FindRequest(submission));
  if (earlier) {
    return *earlier;
  }
  CONCUR_ASSIGN_OR_RETURN(SweepRecord * added, book_.AddNew(std::move(submission)));
  SweepRecord& sweep = *added;
  groups_.Begin(sweep);
  for (uint32_t job = 0; job < sweep.jobs.size(); ++job) {
    if (sweep.jobs[job].state() == JobState::kReady) {
      jobs_.EnterReady(sweep, job);
    }
  }
  jobs_.ReuseFinishedCells(sweep);
  book_.UpdateEnd(sweep);
  return sweep.row.id;
}

absl::StatusOr<SweepId> SweepRequests::Import(SweepBook::Submission submission,
                                              ImportedResults results) {
  CONCUR_CHECK(submission.expansion != nullptr);
  CONCUR_CHECK(submission.expansion->spec().imported.has_value());
  CONCUR_ASSIGN_OR_RETURN(const std::optional<SweepId> earlier, book_.FindRequest(submission));
  if (earlier) {
    return *earlier;
  }
  CONCUR_ASSIGN_OR_RETURN(SweepRecord * added, book_.AddNew(std::move(submission)));
  const SweepId id = added->row.id;
  added->jobs.ReserveResults(results->size());
  imports_[id].results = std::move(results);
  open_.insert(id);
  Continue(*added);
  return id;
}

absl::Status SweepRequests::Pause(SweepId id) {
  CONCUR_ASSIGN_OR_RETURN(SweepRecord * sweep, book_.Get(id));
  if (sweep->IsOver()) {
    return absl::FailedPreconditionError(
        absl::StrCat("sweep ", id.ToString(), " has ended: ", SweepStateName(sweep->State())));
  }
  if (!sweep->row.paused) {
    book_.SetPaused(*sweep, true);
    turn_.AnnounceSweep(id);
  }
  return absl::OkStatus();
}

absl::Status SweepRequests::Resume(SweepId id) {
  CONCUR_ASSIGN_OR_RETURN(SweepRecord * sweep, book_.Get(id));
  if (sweep->IsOver()) {
    return absl::FailedPreconditionError(
        absl::StrCat("sweep ", id.ToString(), " has ended: ", SweepStateName(sweep->State()),
                     "; concur sweep retry returns its unfinished jobs to the queue"));
  }
  if (!sweep->row.paused && sweep->row.over_budget) {
    return absl::FailedPreconditionError(absl::StrCat(
        "sweep ", id.ToString(), " is paused by its budget: ", UsdText(sweep->spent.total().usd()),
        " of ", UsdText(UsdOf(sweep->BudgetUsdMicros())),
        " are spent, and its next job would pass it; `concur sweep set ", id.ToString(),
        " --budget-usd N` raises it"));
  }
  if (sweep->row.paused) {
    book_.SetPaused(*sweep, false);
    turn_.AnnounceSweep(id);
  }
  return absl::OkStatus();
}

absl::Status SweepRequests::SetPriority(SweepId id, int32_t priority) {
  CONCUR_ASSIGN_OR_RETURN(SweepRecord * sweep, book_.Get(id));
  CONCUR_RETURN_IF_ERROR(CheckRange(FieldPath("priority"), priority, -kPriorityMax, kPriorityMax));
  if (sweep->Priority() != priority) {
    book_.SetPriority(*sweep, priority);
    turn_.AnnounceSweep(id);
  }
  return absl::OkStatus();
}

absl::Status SweepRequests::SetBudget(SweepId id, int64_t usd_micros) {
  CONCUR_ASSIGN_OR_RETURN(SweepRecord * sweep, book_.Get(id));
  CONCUR_RETURN_IF_ERROR(CheckRange(FieldPath("budget_usd_micros"), usd_micros, 1, kSpentMax));
  book_.SetBudget(*sweep, usd_micros);
  turn_.AnnounceSweep(id);
  return absl::OkStatus();
}

absl::Status SweepRequests::Cancel(SweepId id) {
  CONCUR_ASSIGN_OR_RETURN(SweepRecord * sweep, book_.Get(id));
  if (sweep->row.canceled || IsTerminal(sweep->State())) {
    return absl::OkStatus();
  }
  // The row says it for all jobs at once: restoring a canceled sweep cancels what has not ended.
  sweep->row.canceled = true;
  sweep->row.paused = false;
  sweep->row.over_budget = false;
  sweep->row.retry.reset();
  imports_.erase(id);
  turn_.TouchSweep(id);
  turn_.AnnounceSweep(id);
  book_.UpdateHold(*sweep);
  for (const uint32_t job : places_.running.RunningOf(id)) {
    jobs_.CancelWithSweep(*sweep, job);
  }
  sweep->next_canceled = 0;
  open_.insert(id);
  Continue(*sweep);
  return absl::OkStatus();
}

absl::Status SweepRequests::CheckNoneIsOpen(const SweepRecord& sweep) const {
  const bool is_importing = IsImporting(sweep.row.id);
  return !sweep.row.retry && !is_importing
             ? absl::OkStatus()
             : absl::FailedPreconditionError(
                   absl::StrCat("sweep ", sweep.row.id.ToString(), " is being ",
                                is_importing ? "imported" : "retried",
                                ": its jobs cannot be changed one by one until ",
                                is_importing ? "all are there" : "all are back in the queue",
                                "; try again in some seconds"));
}

void SweepRequests::Restore() {
  for (const auto& [id, sweep] : book_.all()) {
    if (sweep->row.retry) {
      open_.insert(id);
    }
  }
}

void SweepRequests::Continue() {
  left_ = policy_.slice_jobs;
  const std::vector<SweepId> open(open_.begin(), open_.end());
  for (size_t i = 0; i < open.size() && left_ > 0; ++i) {
    Continue(*book_.all().at(open[i]));
  }
  ContinueDeletes();
}

void SweepRequests::Continue(SweepRecord& sweep) {
  if (sweep.row.canceled) {
    ContinueCancel(sweep);
  } else if (const auto import = imports_.find(sweep.row.id); import != imports_.end()) {
    ContinueImport(sweep, import->second);
  } else {
    ContinueRetry(sweep);
  }
  turn_.AnnounceSweep(sweep.row.id);
  book_.UpdateEnd(sweep);
}

// Does `work` for a job; false, with nothing done, when the turn has done enough.
template <typename Work>
bool SweepRequests::DoInSlice(Work work) {
  if (left_ <= 0) {
    return false;
  }
  const size_t before = turn_.touched();
  work();
  left_ -= 1 + kJobsPerRow * static_cast<int64_t>(turn_.touched() - before);
  return true;
}

void SweepRequests::ContinueCancel(SweepRecord& sweep) {
  for (uint32_t& job = sweep.next_canceled; job < sweep.jobs.size(); ++job) {
    if (!DoInSlice([&] { jobs_.CancelWithSweep(sweep, job); })) {
      return;
    }
  }
  groups_.EndSlices(sweep);
  open_.erase(sweep.row.id);
}

// Sources come before what starts from them.
void SweepRequests::ContinueRetry(SweepRecord& sweep) {
  turn_.TouchSweep(sweep.row.id);
  uint64_t& next = sweep.row.retry->next;
  for (uint32_t stage = 0; stage <= kStagesMax; ++stage) {
    for (const Block& block : sweep.expansion->blocks()) {
      const uint32_t end = block.stage == stage ? block.first_job + block.JobCount() : 0;
      if (end == 0 || SweepRecord::PlaceInRetry(stage, end) <= next) {
        continue;
      }
      for (next = std::max(next, SweepRecord::PlaceInRetry(stage, block.first_job));
           next < SweepRecord::PlaceInRetry(stage, end); ++next) {
        const auto job = static_cast<uint32_t>(next);
        if (!DoInSlice([&] { RetryJob(sweep, job, false, /*is_listed=*/false); })) {
          return;
        }
      }
    }
  }
  sweep.row.retry.reset();
  groups_.EndSlices(sweep);
  book_.UpdateHold(sweep);
  open_.erase(sweep.row.id);
}

void SweepRequests::ContinueImport(SweepRecord& sweep, OpenImport& import) {
  std::vector<ImportedResult>& results = *import.results;
  const auto add = [&] {
    const uint32_t job = import.jobs_done++;
    if (import.results_done < results.size() && results[import.results_done].job == job) {
      jobs_.Succeed(sweep, job, std::move(results[import.results_done++].result), kNoHolder);
    } else {
      jobs_.SetState(sweep, job, JobState::kCanceled);  // a gap: nothing will ever fill it
    }
  };
  while (import.jobs_done < sweep.jobs.size()) {
    if (!DoInSlice(add)) {
      return;
    }
  }
  open_.erase(sweep.row.id);
  imports_.erase(sweep.row.id);
}

// Nobody sees the sweeps any more; their owners use less with every turn.
void SweepRequests::ContinueDeletes() {
  while (!book_.erased().empty()) {
    SweepRecord& sweep = *book_.erased().begin()->second;
    const auto other = std::find_if(book_.all().begin(), book_.all().end(), [&](const auto& entry) {
      return entry.second->owner == sweep.owner;
    });
    if (other != book_.all().end()) {
      turn_.AnnounceSweep(other->first);
    }
    for (uint32_t& job = sweep.next_erased; job < sweep.jobs.size(); ++job) {
      if (!DoInSlice([&] { jobs_.Forget(sweep, job); })) {
        return;
      }
    }
    while (left_ > 0 && sweep.jobs.FreeResult()) {
      --left_;
    }
    if (left_ <= 0) {
      return;
    }
    book_.erased().erase(sweep.row.id);
  }
}

void SweepRequests::CheckInvariants() const {
  for (const auto& [id, sweep] : book_.all()) {
    const bool is_importing =
        sweep->expansion->spec().imported && !sweep->row.canceled && sweep->jobs.unfinished() > 0;
    const bool is_open =
        sweep->row.retry || is_importing || (sweep->row.canceled && sweep->jobs.unfinished() > 0);
    CONCUR_CHECK(is_importing == IsImporting(id));
    CONCUR_CHECK(!is_open || open_.contains(id));
    CONCUR_CHECK(!open_.contains(id) || sweep->row.retry || sweep->row.canceled || is_importing);
    for (uint32_t job = 0; sweep->row.canceled && job < sweep->next_canceled; ++job) {
      CONCUR_CHECK(IsTerminal(sweep->jobs[job].state()));
    }
  }
}

absl::Status SweepRequests::CancelJob(JobId id) {
  CONCUR_ASSIGN_OR_RETURN(SweepRecord * sweep, book_.Get(id.sweep));
  if (id.index >= sweep->jobs.size()) {
    return absl::NotFoundError(absl::StrCat("no job ", id.ToString()));
  }
  CONCUR_RETURN_IF_ERROR(CheckNoneIsOpen(*sweep));
  jobs_.CancelWithDependents(*sweep, id.index, "canceled");
  book_.UpdateEnd(*sweep);
  return absl::OkStatus();
}

absl::Status SweepRequests::Delete(SweepId id) {
  const auto left_out = book_.left_out().find(id);
  if (left_out != book_.left_out().end() && left_out->second.row.end_time) {
    workers_.blame().ForgetSweep(id);
    book_.Erase(id);
    return absl::OkStatus();
  }
  CONCUR_ASSIGN_OR_RETURN(SweepRecord * sweep, book_.Get(id));
  if (!IsTerminal(sweep->State())) {
    return absl::FailedPreconditionError(
        absl::StrCat("sweep ", id.ToString(), " has not ended: ", SweepStateName(sweep->State()),
                     "; cancel it first"));
  }
  workers_.blame().ForgetSweep(id);
  groups_.Forget(id);
  open_.erase(id);  // the turns of a cancel may go on though all jobs have ended
  book_.Erase(id);
  ContinueDeletes();
  return absl::OkStatus();
}

absl::Status SweepRequests::SetResource(const std::string& name, int64_t amount,
                                        int64_t per_minute) {
  CONCUR_RETURN_IF_ERROR(CheckNamedResource(FieldPath(), name, amount, per_minute));
  NamedResources& resources = book_.resources();
  if (!resources.AmountOf(name) && resources.count() >= kNamedResourcesMax) {
    return absl::ResourceExhaustedError(
        absl::StrCat("this coordinator has ", kNamedResourcesMax,
                     " named resources, the most that it keeps: delete one first"));
  }
  resources.Set(name, amount, per_minute, turn_.now());
  turn_.batch().put_resources.push_back({name, amount, per_minute});
  std::erase(turn_.batch().delete_resources, name);
  return absl::OkStatus();
}

absl::Status SweepRequests::DeleteResource(const std::string& name) {
  if (!book_.resources().AmountOf(name)) {
    return absl::NotFoundError(absl::StrCat("no resource \"", name, "\""));
  }
  for (const auto& [id, sweep] : book_.all()) {
    const bool uses =
        std::any_of(sweep->use_sets.begin(), sweep->use_sets.end(),
                    [&](uint32_t set) { return book_.resources().Get(set).contains(name); });
    if (uses && !IsTerminal(sweep->State())) {
      return absl::FailedPreconditionError(absl::StrCat(
          "sweep ", id.ToString(), " uses \"", name, "\" and has not ended; `concur resource set ",
          name, " 0` lets none of its jobs start"));
    }
  }
  for (const auto& [id, left] : book_.left_out()) {
    if (left.MayHoldUnits()) {
      return book_.CheckLoaded(id);
    }
  }
  book_.resources().Unset(name);
  std::erase_if(turn_.batch().put_resources,
                [&](const ResourceRow& row) { return row.name == name; });
  turn_.batch().delete_resources.push_back(name);
  return absl::OkStatus();
}

absl::Status SweepRequests::RecordForecast(SweepId id, absl::Duration makespan) {
  CONCUR_ASSIGN_OR_RETURN(SweepRecord * sweep, book_.Get(id));
  if (!sweep->row.forecast) {
    sweep->row.forecast = makespan;
    turn_.TouchSweep(id);
    turn_.AnnounceSweep(id);
  }
  return absl::OkStatus();
}

absl::StatusOr<uint32_t> SweepRequests::Retry(SweepId id, const std::vector<uint32_t>& jobs,
                                              bool rerun_succeeded) {
  CONCUR_ASSIGN_OR_RETURN(SweepRecord * sweep, book_.Get(id));
  const bool is_being_canceled = sweep->row.canceled && open_.contains(id);
  if (sweep->State() == SweepState::kCanceling || is_being_canceled) {
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
  if (jobs.empty()) {
    return RetryAll(*sweep);
  }
  CONCUR_RETURN_IF_ERROR(CheckNoneIsOpen(*sweep));
  const absl::btree_set<uint32_t> chosen = ChooseForRetry(*sweep, jobs, rerun_succeeded);
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
    if (RetryJob(*sweep, job, rerun_succeeded, /*is_listed=*/true)) {
      has_changed = true;
      retried += sweep->jobs[job].state() == JobState::kStopped ? 0 : 1;  // that is all of it
    }
  }
  if (was_canceled && has_changed) {
    // The sweep's row no longer says of a job that it stays canceled.
    sweep->row.canceled = false;
    for (uint32_t job = 0; job < sweep->jobs.size(); ++job) {
      if (sweep->jobs[job].state() == JobState::kCanceled) {
        turn_.Touch({id, job});
      }
    }
    book_.UpdateHold(*sweep);
  }
  if (has_changed) {
    turn_.TouchSweep(sweep->row.id);
    turn_.AnnounceSweep(id);
  }
  book_.UpdateEnd(*sweep);
  return retried;
}

absl::StatusOr<uint32_t> SweepRequests::RetryAll(SweepRecord& sweep) {
  bool some_collected = false;
  for (uint32_t job = 0; job < sweep.jobs.size() && !some_collected; ++job) {
    some_collected = sweep.jobs[job].system_collected;
  }
  absl::btree_set<uint32_t> quiet;
  for (uint32_t job = 0; some_collected && job < sweep.jobs.size(); ++job) {
    CONCUR_RETURN_IF_ERROR(CheckSystemCanBeRemade(sweep, job, /*rerun_succeeded=*/false, &quiet));
  }
  if (sweep.jobs.count(JobState::kFailed) + sweep.jobs.count(JobState::kCanceled) +
          sweep.jobs.count(JobState::kSkipped) ==
      0) {
    return 0;
  }
  const uint32_t retried = CountRetried(sweep);
  if (!sweep.row.retry) {
    sweep.row.retry = SweepRow::Retry{.was_canceled = sweep.row.canceled};
  }
  sweep.row.retry->next = 0;
  sweep.row.canceled = false;
  book_.UpdateHold(sweep);
  open_.insert(sweep.row.id);
  Continue(sweep);
  return retried;
}

// REQUIRES: no unfinished job needs a system that would be made again for this one.
bool SweepRequests::RetryJob(SweepRecord& sweep, uint32_t job, bool rerun_succeeded,
                             bool is_listed) {
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
  workers_.blame().Mend(sweep.IdOf(job));
  const JobCoordinates at = sweep.expansion->Locate(job);
  for (const uint32_t service : book_.services().SetOf(sweep.ServicesOf(at))) {
    book_.services().Forgive(service);
  }
  const auto own = sweep.services.find(at.first_job_of_cell);
  if (is_train && own != sweep.services.end()) {
    book_.services().Forgive(own->second);
    if (rerun) {
      workers_.StopService(own->second);  // it has loaded the system that is made anew
    }
  }
  if (rerun) {
    results_.RemoveSuccess(sweep, job);
    record.no_reuse = true;
  }
  results_.Drop(sweep, job);
  results_.DropSteps(sweep, job);
  record.failures = 0;
  record.lost = 0;
  record.failure = FailureClass::kNone;
  record.settled = false;
  record.rung = 0;
  record.whole = record.whole || (sweep.early_stop && is_train && (rerun || resumed));
  if (has_no_system) {  // it ends as it would have, had it waited
    jobs_.SetState(sweep, job, JobState::kBlocked);
    jobs_.SetState(sweep, job, JobState::kStopped);
    jobs_.Announce(sweep, job, "its train job was stopped");
    return true;
  }
  const bool has_source = !source || (sweep.jobs[*source].state() == JobState::kSucceeded &&
                                      !sweep.jobs[*source].system_collected);
  const bool runnable = has_source && !sweep.AwaitsSetting(job);
  jobs_.SetState(sweep, job, runnable ? JobState::kReady : JobState::kBlocked);
  if (!has_source && IsTerminal(sweep.jobs[*source].state())) {
    // Its system is gone, or this job had taken an equal one's result. Nobody asked to train it
    // anew: an equal job's system will do.
    const bool is_gone = sweep.jobs[*source].state() == JobState::kSucceeded;
    RetryJob(sweep, *source, /*rerun_succeeded=*/true, is_listed);
    sweep.jobs[*source].no_reuse = sweep.jobs[*source].no_reuse && !is_gone;
  }
  jobs_.Announce(sweep, job, "retried");
  return true;
}

}  // namespace concur
