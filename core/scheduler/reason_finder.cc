// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/reason_finder.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "core/scheduler/budget.h"
#include "core/scheduler/setting_search.h"
#include "core/state/sweep_record.h"

namespace concur {
namespace {

using ReasonCode = JobReason::Code;
using KeyFields = std::vector<std::pair<std::string, std::string>>;

std::optional<std::string> ValueOf(const KeyFields& fields, const std::string& name) {
  const auto it = std::find_if(fields.begin(), fields.end(),
                               [&](const auto& field) { return field.first == name; });
  return it == fields.end() ? std::nullopt : std::optional(it->second);
}

// The fields in which two keys differ.
std::vector<NoReuse::Field> DifferingFields(const KeyFields& here, const KeyFields& there) {
  std::vector<NoReuse::Field> differing;
  for (const auto& [name, value] : here) {
    if (std::optional<std::string> other = ValueOf(there, name); other != value) {
      differing.push_back({name, value, std::move(other)});
    }
  }
  for (const auto& [name, value] : there) {
    if (!ValueOf(here, name)) {
      differing.push_back({name, std::nullopt, value});
    }
  }
  return differing;
}

// True when some worker that takes jobs can run the image, or is in it.
bool HasImage(const Roster& workers, absl::Time now, const std::string& image) {
  return std::any_of(workers.begin(), workers.end(), [&](const auto& entry) {
    return entry.second->TakesJobs(now) &&
           LabelsMatch({{kImageLabel, image}}, entry.second->info.labels);
  });
}

std::optional<JobReason::Unanswered> UnansweredOf(const JobResult* result) {
  const Metric* metric = FindMetric(result, kUnansweredMetric);
  return metric == nullptr ? std::nullopt
                           : std::optional(JobReason::Unanswered{metric->value, metric->examples});
}

}  // namespace

JobReason ReasonFinder::Find(JobId id) const {
  const SweepRecord& sweep = book_.SweepOf(id);
  const JobTable::Job& record = sweep.jobs[id.index];
  const JobRow row = jobs_.RowOf(id);
  const JobResult* result = sweep.jobs.ResultOf(id.index);
  const RetryPolicy& retry = sweep.expansion->spec().retry;
  const bool is_imported = sweep.expansion->spec().imported.has_value();
  JobReason reason;
  reason.job = id;
  reason.attempt = record.attempt;
  reason.failures = record.failures;
  reason.failures_max = retry.failures_max;
  reason.lost = record.lost;
  reason.lost_max = retry.lost_max;
  reason.failure = record.failure;
  reason.not_before = row.not_before;
  reason.worker = row.worker;
  reason.message = result == nullptr ? "" : result->message;
  if (const auto source = sweep.expansion->SourceOf(id.index)) {
    reason.source = {id.sweep, *source};
    reason.starts_from_source = sweep.expansion->Locate(id.index).is_train;
  }
  if (sweep.early_stop) {
    reason.metric = sweep.expansion->spec().early_stop->metric;
  }
  switch (record.state()) {
    case JobState::kBlocked:
      FindBlocked(sweep, reason);
      break;
    case JobState::kReady:
      FindReady(sweep, reason);
      FindNoReuse(id, reason.no_reuse);
      break;
    case JobState::kBackoff:
      reason.code = ReasonCode::kBackoff;
      break;
    case JobState::kRunning: {
      const Worker& worker = *workers_.roster().Find(row.worker);
      const bool ahead = worker.assignments.Find({id, {record.attempt}})->ahead;
      reason.code = ahead ? ReasonCode::kAhead : ReasonCode::kRuns;
      FindNoReuse(id, reason.no_reuse);
      break;
    }
    case JobState::kSucceeded:
      if (row.reused_from) {
        reason.code = ReasonCode::kReused;
        reason.other = *row.reused_from;
      } else if (is_imported) {
        reason.code = ReasonCode::kImported;
      } else {
        reason.code = ReasonCode::kSucceeded;
        reason.unanswered = UnansweredOf(result);
        FindNoReuse(id, reason.no_reuse);
      }
      break;
    case JobState::kFailed:
      reason.code = ReasonCode::kFailed;
      break;
    case JobState::kCanceled:
      reason.code = is_imported          ? ReasonCode::kGap
                    : sweep.row.canceled ? ReasonCode::kCanceledWithSweep
                                         : ReasonCode::kCanceled;
      break;
    case JobState::kSkipped:
      FindSkipped(sweep, reason);
      break;
    case JobState::kStopped:
      reason.code = sweep.expansion->Locate(id.index).is_train ? ReasonCode::kStopped
                                                               : ReasonCode::kSourceStopped;
      break;
  }
  return reason;
}

void ReasonFinder::FindBlocked(const SweepRecord& sweep, JobReason& reason) const {
  const uint32_t job = reason.job.index;
  if (const std::optional<JobId> leader = places_.reuse.LeaderOf(reason.job)) {
    reason.code = ReasonCode::kAwaitsEqual;
    reason.other = *leader;
  } else if (sweep.AwaitsSetting(job)) {
    reason.code = ReasonCode::kAwaitsTrials;
    reason.trials = PendingTrials(TrialsOf(sweep, sweep.expansion->Locate(job).block));
  } else if (sweep.expansion->spec().imported) {
    reason.code = ReasonCode::kAwaitsImport;
  } else if (sweep.AwaitsSource(job)) {
    reason.code = ReasonCode::kAwaitsSource;
  } else {
    const EarlyStopCells::Place place = *sweep.early_stop->Find(job);
    const EarlyStop& rule = (*sweep.early_stop)[place.group];
    const EarlyStopRule& spec = sweep.expansion->spec().early_stop->rule;
    reason.code = ReasonCode::kPaused;
    reason.rung = {.until = rule.UntilOf(place.setting),
                   .max = spec.max,
                   .reached = rule.ReachedRungOf(place.setting),
                   .eta = spec.eta,
                   .has_brackets = spec.method == EarlyStopMethod::kHyperband};
  }
}

void ReasonFinder::FindReady(const SweepRecord& sweep, JobReason& reason) const {
  const ReadyQueue::Lane lane = sweep.LaneOf(reason.job.index);
  reason.resources = workers_.RequestOf(lane);
  reason.labels = book_.label_sets().Get(lane.labels);
  reason.ready = places_.ready.size();
  reason.priority = sweep.Priority();
  reason.owner = sweep.row.owner;
  reason.owner_use = book_.owners().UseOf(reason.owner);
  const OwnerLedger::Limit reached = book_.owners().LimitReached(sweep.owner);
  Budget budget;
  if (sweep.BudgetUsdMicros() > 0) {
    budget = BudgetOf(sweep, places_.running);
    reason.budget = budget.usd_micros;
    reason.spent = budget.spent;
    reason.promised = budget.promised;
    reason.cost = Budget::CostOf(sweep, reason.job.index);
  }
  if (sweep.IsHeld()) {
    reason.code = sweep.row.canceled ? ReasonCode::kSweepCanceled
                  : sweep.row.paused ? ReasonCode::kSweepPaused
                  : sweep.row.retry  ? ReasonCode::kSweepRetried
                                     : ReasonCode::kOverBudget;
  } else if (reached != OwnerLedger::Limit::kNone) {
    reason.code = reached == OwnerLedger::Limit::kRunningJobs ? ReasonCode::kRunningJobsMax
                                                              : ReasonCode::kStoredBytesMax;
  } else if (!budget.MayProbe(lane.is_train)) {
    reason.code = ReasonCode::kAwaitsCost;
  } else if (reason.use = FindUse(lane.uses); reason.use) {
    reason.code = ReasonCode::kNoUnits;
  } else if (reason.service =
                 FindService(lane, sweep.ApproachOf(reason.job.index).name, reason.code);
             reason.service) {
    return;
  } else if (places_.suspects.IsReady(reason.job)) {
    reason.code = ReasonCode::kMustRunAlone;
    reason.deaths = places_.suspects.Of(reason.job).in_a_row;
  } else {
    FindByFleet(lane, reason);
  }
}

// The resource that keeps the job from starting; nullopt when none does.
std::optional<JobReason::Use> ReasonFinder::FindUse(uint32_t uses) const {
  const NamedResources& resources = book_.resources();
  if (uses == 0) {
    return std::nullopt;
  }
  const std::string* lacking = resources.Lacking(uses);
  const Worker* silent = workers_.FindSilent();
  const bool has_units = lacking == nullptr && silent == nullptr && !resources.has_unknown();
  if (has_units) {
    lacking = resources.Paced(uses, turn_.now());
  }
  if (has_units && lacking == nullptr) {
    return std::nullopt;
  }
  const auto& [name, units] =
      lacking == nullptr ? *resources.Get(uses).begin() : *resources.Get(uses).find(*lacking);
  JobReason::Use use{
      .name = name, .units = units, .amount = {}, .in_use = 0, .per_minute = 0, .silent = {}};
  if (const auto it = resources.all().find(name); it != resources.all().end()) {
    use.amount = it->second.amount;
    use.in_use = it->second.in_use;
    use.per_minute = has_units ? it->second.per_minute : 0;
  }
  use.silent = silent == nullptr ? "" : silent->info.name;
  return use;
}

// The first service of the lane that keeps the job of `own` waiting; nullopt when each has a place,
// or is to be started.
std::optional<JobReason::Service> ReasonFinder::FindService(const ReadyQueue::Lane& lane,
                                                            const std::string& own,
                                                            JobReason::Code& code) const {
  const Services& services = book_.services();
  for (const uint32_t number : services.SetOf(lane.services)) {
    const Services::Service& service = services.Get(number);
    JobReason::Service found{.name = service.approach == own ? "" : service.approach,
                             .worker = "",
                             .time = std::nullopt,
                             .load = service.load,
                             .serves = service.spec.serves,
                             .failed_starts = service.failed_starts,
                             .next_start = service.next_start - turn_.now()};
    bool has_place = false;
    code = ReasonCode::kServiceFailed;
    for (const auto& [worker, id] : service.live) {
      has_place = has_place || services.HasPlace(worker, number);
      const Services::Instance& instance = *services.Find(worker, id);
      found.worker = worker;
      code = instance.ready ? ReasonCode::kServiceBusy : ReasonCode::kServiceLoads;
      if (instance.start_time) {
        found.time = turn_.now() - *instance.start_time;
      }
    }
    if (!has_place && (!service.live.empty() || service.next_start > turn_.now())) {
      return found;
    }
  }
  return std::nullopt;
}

// The first thing that keeps every worker from taking the job; its turn, when
// nothing does.
void ReasonFinder::FindByFleet(const ReadyQueue::Lane& lane, JobReason& reason) const {
  FleetCounts& fleet = reason.fleet;
  uint32_t has_time = 0;
  for (const auto& [name, worker] : workers_.roster()) {
    if (worker->drain_asked) {
      fleet.drained.push_back(name);
    }
    if (worker->lost) {
      continue;
    }
    if (worker->draining()) {
      ++fleet.draining;
      continue;
    }
    if (worker->in_quarantine(turn_.now())) {
      ++fleet.quarantined;
      continue;
    }
    ++fleet.live;
    if (!book_.label_sets().Match(lane.labels, worker->info.labels)) {
      continue;
    }
    ++fleet.labeled;
    if (reason.resources.GpuCount() < GpusMin(worker->info.labels)) {
      ++fleet.reserved;
      continue;
    }
    fleet.fits_empty += reason.resources.FitsIn(worker->info.capacity) ? 1 : 0;
    if (Together(lane.resources, book_.services().ResourcesOf(lane.services, name))
            .FitsIn(worker->Free())) {
      ++fleet.fits_free;
      has_time += workers_.HasTimeFor(*worker, lane.group) ? 1 : 0;
    }
  }
  const auto expected = places_.durations.Expected(lane.group);
  reason.expected = expected ? expected->mean : absl::ZeroDuration();
  if (fleet.live == 0) {
    reason.code = ReasonCode::kNoWorker;
  } else if (fleet.labeled == 0) {
    FindLabels(reason);
  } else if (fleet.fits_empty == 0) {
    reason.code = fleet.reserved > 0 ? ReasonCode::kReserved : ReasonCode::kTooLarge;
  } else if (fleet.fits_free == 0) {
    reason.code = ReasonCode::kNoRoom;
  } else {
    reason.code = has_time == 0 ? ReasonCode::kNoTime : ReasonCode::kNotItsTurn;
  }
}

// REQUIRES: some worker takes jobs, and none of these carries all labels that
// are wanted.
void ReasonFinder::FindLabels(JobReason& reason) const {
  const absl::Time now = turn_.now();
  for (const auto& [name, value] : reason.labels) {
    std::set<std::string> values;
    for (const auto& [worker_name, worker] : workers_.roster()) {
      const auto it = worker->info.labels.find(name);
      if (worker->TakesJobs(now) && it != worker->info.labels.end()) {
        values.insert(it->second);
      }
    }
    if (!values.contains(value) &&
        !(name == kImageLabel && HasImage(workers_.roster(), now, value))) {
      reason.missing.emplace(name, value);
      reason.present = reason.missing.size() == 1 ? std::move(values) : std::move(reason.present);
    }
  }
  if (reason.missing.empty()) {
    reason.code = ReasonCode::kLabelsOnNoneAtOnce;
  } else if (absl::StartsWith(reason.missing.begin()->first, kEnvironmentLabelPrefix)) {
    reason.code = ReasonCode::kNoEnvironment;
  } else {
    reason.code = ReasonCode::kNoLabel;
  }
}

void ReasonFinder::FindSkipped(const SweepRecord& sweep, JobReason& reason) const {
  const auto source = sweep.expansion->SourceOf(reason.job.index);
  const auto source_is = [&](JobState state) {
    return source && sweep.jobs[*source].state() == state;
  };
  if (source_is(JobState::kFailed)) {
    reason.code = ReasonCode::kSkippedSourceFailed;
    return;
  }
  // As far as it can still be seen.
  const auto scopes = sweep.tallies.FailedScopesOf(reason.job.index);
  reason.message = scopes.empty() ? "" : sweep.tallies.Describe(scopes.front());
  if (scopes.empty() && source_is(JobState::kSkipped)) {
    reason.code = ReasonCode::kSkippedWithSource;
    reason.source_reason.push_back(Find(reason.source));
  } else if (scopes.empty() && source_is(JobState::kSucceeded)) {
    reason.code = ReasonCode::kSkippedSourceFailedOnce;
  } else {
    reason.code = ReasonCode::kSkipped;
  }
}

void ReasonFinder::FindNoReuse(JobId id, NoReuse& reason) const {
  const SweepRecord& sweep = book_.SweepOf(id);
  reason.same_work = places_.reuse.AllOf(sweep.keys.KeyOf(id.index));
  std::erase_if(reason.same_work, [&](JobId other) {
    return other == id || !book_.HasJob(other) || book_.JobOf(other).reused();
  });
  if (reason.same_work.empty()) {
    FindNearest(sweep, id.index, reason);
    return;
  }
  std::sort(reason.same_work.rbegin(), reason.same_work.rend());
  reason.asked_to_run = !sweep.MayTakeResult(id.index);
}

std::vector<PlannedJob> ReasonFinder::Plan(std::shared_ptr<const Expansion> expansion) const {
  constexpr int kExplainedMax = 20;  // comparing with earlier jobs takes milliseconds
  SweepRow row;
  row.id.number = std::numeric_limits<uint64_t>::max();  // later than all others
  SweepRecord sweep(std::move(row), std::move(expansion));
  std::vector<PlannedJob> plan(sweep.jobs.size());
  std::map<Digest, uint32_t> own;  // by what they do, the jobs that run
  jobs_.ForEachBeforeSources(sweep, /*finished_only=*/false, [&](uint32_t job) {
    PlannedJob& planned = plan[job];
    const JobCoordinates at = sweep.expansion->Locate(job);
    planned.awaits_setting = !sweep.expansion->HasSetting(at.block, at.setting);
    if (planned.awaits_setting) {
      planned.runs = false;
      return;
    }
    const Digest key = sweep.keys.KeyOf(job);
    planned.equal = places_.reuse.SourceOf(key);
    if (planned.equal && !book_.HasJob(*planned.equal)) {
      planned.equal.reset();  // its sweep was deleted
    }
    planned.asked_to_run = !sweep.MayTakeResult(job);
    const bool has_no_system = planned.equal && at.is_train && sweep.NeedsSystem(job) &&
                               !book_.SweepOf(*planned.equal).HasSystem(planned.equal->index);
    if (!planned.equal) {
      planned.equal = places_.reuse.RunningWith(key);
      planned.equal_runs = planned.equal.has_value();
    }
    if (!planned.equal && !planned.asked_to_run) {
      const auto [first, is_new] = own.emplace(key, job);
      if (!is_new) {
        planned.equal = sweep.IdOf(first->second);
        planned.equal_runs = true;
        planned.equal_is_own = true;
      }
    }
    planned.runs = !planned.equal || planned.asked_to_run || has_no_system;
    if (!planned.runs && !planned.equal_runs) {
      sweep.SetState(job, JobState::kSucceeded);
    }
  });
  int explained = 0;
  std::set<std::pair<uint32_t, bool>> seen;  // approaches, and whether they train
  for (uint32_t job = 0; job < plan.size() && explained < kExplainedMax; ++job) {
    const JobCoordinates at = sweep.expansion->Locate(job);
    if (!plan[job].equal && !plan[job].awaits_setting &&
        seen.insert({sweep.expansion->blocks()[at.block].approach, at.is_train}).second) {
      FindNearest(sweep, job, plan[job].not_reused);
      ++explained;
    }
  }
  return plan;
}

void ReasonFinder::FindNearest(const SweepRecord& sweep, uint32_t own_job, NoReuse& reason) const {
  constexpr size_t kComparedMax = 2'000;  // the newest sweeps first: this is for people
  constexpr size_t kDifferencesMax = 3;   // a job that differs in more is not like it
  const JobCoordinates at = sweep.expansion->Locate(own_job);
  const Block& own = sweep.expansion->blocks()[at.block];
  const std::string& approach = sweep.expansion->spec().approaches[own.approach].name;
  const KeyFields fields = sweep.keys.FieldsOf(own_job);
  size_t seen = 0;
  const auto compare = [&](const SweepRecord& other, uint32_t job) {
    std::vector<NoReuse::Field> differing = DifferingFields(fields, other.keys.FieldsOf(job));
    if (!differing.empty() && differing.size() <= kDifferencesMax &&
        (!reason.nearest || differing.size() < reason.fields.size())) {
      reason.fields = std::move(differing);
      reason.nearest = other.IdOf(job);
    }
  };
  for (auto it = book_.all().rbegin(); it != book_.all().rend() && seen < kComparedMax; ++it) {
    const SweepRecord& other = *it->second;
    if (it->first >= sweep.row.id) {
      continue;
    }
    for (const Block& block : other.expansion->blocks()) {
      if (other.expansion->spec().approaches[block.approach].name != approach ||
          block.has_train != own.has_train) {
        continue;
      }
      const uint32_t end = block.first_job + block.JobCount();
      for (uint32_t job = block.first_job; job < end && seen < kComparedMax; ++job) {
        if (other.expansion->Locate(job).is_train == at.is_train &&
            other.jobs[job].state() == JobState::kSucceeded) {
          ++seen;
          compare(other, job);
        }
      }
    }
  }
  if (reason.nearest) {
    const ApproachSpec& here = sweep.ApproachOf(own_job);
    const ApproachSpec& there = book_.SweepOf(*reason.nearest).ApproachOf(reason.nearest->index);
    const auto key_of = [](const std::optional<Code>& code) { return code ? code->key : Digest(); };
    const bool is_predicts = key_of(here.code) == key_of(there.code) && !at.is_train;
    const std::optional<Code>& here_code = here.CodeOf(!is_predicts);
    const std::optional<Code>& there_code = there.CodeOf(!is_predicts);
    reason.code_here = here_code.has_value();
    reason.code_there = there_code.has_value();
    if (here_code && there_code) {
      reason.code_files = CodeDifferences(here_code->files, there_code->files);
    }
  }
}

}  // namespace concur
