// SPDX-License-Identifier: Apache-2.0
// Which job goes to which parked worker, what jobs are expected to take, and what they ask for.
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/check.h"
#include "core/scheduler.h"
#include "core/sweep_record.h"

namespace concur {
namespace {

// Eval jobs remembered of a worker that made their systems, and probed when one is chosen.
constexpr size_t kLocalJobsMax = 4'096;
constexpr int kLocalProbesMax = 8;

// A job is given only where it may take so many times its mean.
constexpr double kTimeCare = 1.5;
// But one that fits in a whole worker's time is given in the first part of it.
constexpr double kWholeShare = 0.9;

// In microseconds of one CPU.
int64_t CpuMicros(absl::Duration time, int64_t cpu_millis) {
  return absl::ToInt64Microseconds(time) * std::max<int64_t>(cpu_millis, 1) / 1000;
}

}  // namespace

// --- durations
// ------------------------------------------------------------------------------------

// REQUIRES: the job has succeeded. What it took over from another one says nothing new.
void Scheduler::Learn(const SweepRecord& sweep, uint32_t job) {
  if (sweep.TaughtDuration(job)) {
    durations_.Add(
        sweep.GroupOf(job), sweep.jobs.ResultOf(job)->run_time,
        [this](Durations::Group group, Durations::Rank rank) { ready_.SetRank(group, rank); });
  }
}

void Scheduler::Unlearn(const SweepRecord& sweep, uint32_t job) {
  if (sweep.TaughtDuration(job)) {
    durations_.Remove(
        sweep.GroupOf(job), sweep.jobs.ResultOf(job)->run_time,
        [this](Durations::Group group, Durations::Rank rank) { ready_.SetRank(group, rank); });
  }
}

void Scheduler::SetExpectedDurations(
    absl::FunctionRef<absl::Duration(absl::string_view, absl::string_view, bool)> expected) {
  for (Durations::Group group = 0; group < durations_.size(); ++group) {
    durations_.SetPrior(
        group,
        expected(durations_.approach(group), durations_.benchmark(group),
                 durations_.is_train(group)),
        [this](Durations::Group changed, Durations::Rank rank) { ready_.SetRank(changed, rank); });
  }
}

// --- dispatch
// -------------------------------------------------------------------------------------

bool Scheduler::RunsSuspect(const Worker& worker) const {
  const auto& all = worker.assignments.all();
  return all.size() == 1 && suspects_.MustRunAlone(all.begin()->first.job);
}

// The worker that is, or soonest will be, free for a suspect: of those that could run it, the one
// that holds the fewest attempts. Null when there is none.
Worker* Scheduler::WorkerForSuspect(const SweepRecord& sweep, uint32_t job,
                                    const absl::flat_hash_set<const Worker*>& taken) {
  const ReadyQueue::Lane lane = sweep.LaneOf(job);
  Worker* best = nullptr;
  for (auto& [name, worker] : workers_) {
    if (worker->TakesJobs(now_) && !taken.contains(worker.get()) && !RunsSuspect(*worker) &&
        lane.resources.FitsIn(worker->info.capacity) &&
        lane.resources.GpuCount() >= GpusMin(worker->info.labels) &&
        label_sets_.Match(lane.labels, worker->info.labels) && HasTimeFor(*worker, lane.group) &&
        (best == nullptr || worker->assignments.size() < best->assignments.size())) {
      best = worker.get();
    }
  }
  return best;
}

// Starts suspects on workers that have nothing else. Returns the workers that get no other job now:
// those, and others that are to become empty. At most half of the workers serve suspects.
absl::flat_hash_set<const Worker*> Scheduler::DispatchSuspects() {
  absl::flat_hash_set<const Worker*> taken;
  size_t able = 0;
  for (const auto& [name, worker] : workers_) {
    if (worker->TakesJobs(now_)) {
      ++able;
      if (RunsSuspect(*worker)) {
        taken.insert(worker.get());
      }
    }
  }
  const std::vector<JobId> ready(suspects_.ready().begin(), suspects_.ready().end());
  for (const JobId& id : ready) {
    if (taken.size() >= std::max<size_t>(1, able / 2)) {
      break;
    }
    const SweepRecord& sweep = SweepOf(id);
    if (!suspects_.IsReady(id) || sweep.row.paused || !owners_.MayStart(sweep.owner)) {
      continue;
    }
    Worker* worker = WorkerForSuspect(sweep, id.index, taken);
    if (worker == nullptr) {
      continue;
    }
    taken.insert(worker);
    if (worker->parked && worker->assignments.empty()) {
      suspects_.RemoveReady(id);
      StartOn(*worker, id, /*ahead=*/false);
    }
  }
  return taken;
}

void Scheduler::Dispatch() {
  do {
    JudgeSettings();
    GiveOut();
  } while (!unjudged_.empty());  // a job took an equal one's result
}

void Scheduler::GiveOut() {
  absl::flat_hash_set<const Worker*> taken;
  if (suspects_.size() > 0) {
    taken = DispatchSuspects();
  }
  if (ready_.size() == 0) {
    return;
  }
  std::vector<Worker*> open;
  for (auto& [name, worker] : workers_) {
    if (worker->parked && worker->TakesJobs(now_) && !taken.contains(worker.get())) {
      open.push_back(worker.get());
    }
  }
  // Turns are taken, beginning after the worker that was served last, so that work spreads.
  const auto after = std::find_if(open.begin(), open.end(), [&](const Worker* worker) {
    return worker->info.name > last_served_;
  });
  std::rotate(open.begin(), after, open.end());
  std::vector<Worker*> busy = open;
  while (!open.empty() && ready_.size() > 0) {
    std::erase_if(open, [&](Worker* worker) { return !DispatchOne(*worker); });
  }
  // Only when nobody has room for it is anything given ahead.
  while (!busy.empty() && ready_.size() > 0) {
    std::erase_if(busy, [&](Worker* worker) { return !DispatchAhead(*worker); });
  }
}

bool Scheduler::DispatchOne(Worker& worker) {
  const Resources free = worker.Free();
  const int32_t gpus_min = GpusMin(worker.info.labels);
  const LabelSets::Matcher matches = label_sets_.MatcherOf(worker.info.labels);
  // Most workers are full most of the time: they are not compared with every lane.
  return ready_.cpu_millis_min() <= free.cpu_millis &&
         Give(
             worker,
             [&](const ReadyQueue::Lane& lane) {
               return lane.resources.FitsIn(free) && lane.resources.GpuCount() >= gpus_min &&
                      matches(lane.labels) && HasTimeFor(worker, lane.group) &&
                      owners_.MayStart(lane.owner);
             },
             /*ahead=*/false);
}

bool Scheduler::IsShort(Durations::Group group) const {
  return durations_.RankOf(group) <= Durations::RankOf(policy_.ahead_job_max);
}

// What is given ahead must have room once the short attempts end: it would wait for a long one's
// end, while other workers become free.
bool Scheduler::DispatchAhead(Worker& worker) {
  const Resources& shortly = worker.assignments.used_shortly();
  if (GpusMin(worker.info.labels) != 0 ||  // what is given ahead asks for no GPU
      worker.assignments.ahead() >= worker.info.queue_max ||
      worker.assignments.ahead_cpu_micros() >= CpuMicros(policy_.ahead, shortly.cpu_millis) ||
      ready_.rank_min() > Durations::RankOf(policy_.ahead_job_max)) {
    return false;
  }
  Resources room = worker.Free();
  room.cpu_millis += shortly.cpu_millis;
  room.memory_bytes += shortly.memory_bytes;
  const LabelSets::Matcher matches = label_sets_.MatcherOf(worker.info.labels);
  return Give(
      worker,
      [&](const ReadyQueue::Lane& lane) {
        return IsShort(lane.group) && lane.resources.GpuCount() == 0 &&
               lane.resources.FitsIn(room) && matches(lane.labels) &&
               HasTimeFor(worker, lane.group) && owners_.MayStart(lane.owner);
      },
      /*ahead=*/true);
}

// An eval job of the same sweep as `like` whose system the worker made: it need not be fetched.
std::optional<JobId> Scheduler::LocalChoice(Worker& worker, const ReadyQueue::Lane& like,
                                            ReadyQueue::Accept accept) {
  auto it = worker.local.lower_bound(JobId{like.sweep, 0});
  for (int probes = 0;
       probes < kLocalProbesMax && it != worker.local.end() && it->sweep == like.sweep; ++probes) {
    if (!HasJob(*it) || JobOf(*it).state() != JobState::kReady || suspects_.IsReady(*it)) {
      it = worker.local.erase(it);  // somebody else has it, it has ended, or it must run alone
      continue;
    }
    const ReadyQueue::Lane lane = SweepOf(*it).LaneOf(it->index);
    if (accept(lane)) {
      return *it;
    }
    ++it;
  }
  return std::nullopt;
}

// Takes a job out of the queue.
std::optional<JobId> Scheduler::Choose(Worker& worker, ReadyQueue::Accept accept) {
  const auto first =
      ready_.First(accept, [this](uint32_t owner) { return owners_.ShareOf(owner); });
  if (!first) {
    return std::nullopt;
  }
  JobId id{first->lane.sweep, first->job};
  if (!first->lane.is_train) {
    id = LocalChoice(worker, first->lane, accept).value_or(id);
  }
  ready_.Erase(SweepOf(id).LaneOf(id.index), id.index);
  return id;
}

bool Scheduler::Give(Worker& worker, ReadyQueue::Accept accept, bool ahead) {
  if (worker.assignments.size() >= kSyncAttemptsMax) {
    return false;  // it could not list more, which matters to jobs that claim no resources
  }
  while (const std::optional<JobId> id = Choose(worker, accept)) {
    if (StartOn(worker, *id, ahead)) {
      return true;
    }
  }
  return false;
}

// Gives a job that was taken out of the queue to the worker. False when it took another one's
// result, or waits for that. REQUIRES: the worker has room.
bool Scheduler::StartOn(Worker& worker, JobId id, bool ahead) {
  SweepRecord& sweep = SweepOf(id);
  JobTable::Job& record = sweep.jobs[id.index];
  const Digest key = sweep.keys.KeyOf(id.index);
  if (TryReuse(sweep, id.index, key)) {
    return false;
  }
  if (const std::optional<JobId> leader = reuse_.RunningWith(key);
      leader && sweep.MayTakeResult(id.index)) {
    // Equal work is running: wait for its result.
    SetState(sweep, id.index, JobState::kBlocked);
    reuse_.AddFollower(*leader, id);
    return false;
  }
  const ReadyQueue::Lane lane = sweep.LaneOf(id.index);
  Assignment assignment;
  assignment.resources = lane.resources;
  assignment.time_max = TimeMaxOf(sweep, id.index);
  assignment.time_left = policy_.overdue_grace;
  if (ahead) {
    assignment.ahead = true;
    assignment.ahead_cpu_micros =
        CpuMicros(durations_.Expected(lane.group).value_or(Durations::Mean{}).mean,
                  lane.resources.cpu_millis);
  } else {
    assignment.gpu_mask = worker.assignments.GpusFor(lane.resources);
  }
  // A worker may list attempts that were never given to it, as after a restored backup: a new one
  // is none of those.
  do {
    ++record.attempt;
  } while (worker.assignments.Contains(AttemptId{id, {record.attempt}}));
  record.settled = false;
  EnterRunning(sweep, id.index, {worker.holder, assignment.gpu_mask, key});
  Assign(worker, AttemptId{id, {record.attempt}}, assignment);
  last_served_ = worker.info.name;
  return true;
}

void Scheduler::AddLocalJobs(const SweepRecord& sweep, uint32_t train_job, Worker& worker) {
  for (uint32_t eval = train_job + 1; eval < sweep.expansion->EndOfCell(train_job); ++eval) {
    if (sweep.jobs[eval].state() == JobState::kReady) {
      worker.local.insert(sweep.IdOf(eval));
    }
  }
  while (worker.local.size() > kLocalJobsMax) {
    worker.local.erase(worker.local.begin());  // the oldest sweep's first jobs
  }
}

// --- demand
// ---------------------------------------------------------------------------------------

std::vector<DemandClass> Scheduler::Demand() const {
  std::map<std::tuple<int32_t, Resources, uint32_t, Durations::Rank>, DemandClass> classes;
  const auto class_of = [&](const ReadyQueue::Lane& lane) -> DemandClass& {
    DemandClass& demand =
        classes[{lane.priority, lane.resources, lane.labels, durations_.RankOf(lane.group)}];
    demand.priority = lane.priority;
    demand.resources = lane.resources;
    demand.labels = label_sets_.Get(lane.labels);
    if (const auto expected = durations_.Expected(lane.group)) {
      demand.run_time = demand.run_time == absl::InfiniteDuration()
                            ? expected->mean
                            : std::max(demand.run_time, expected->mean);
    }
    return demand;
  };
  ready_.ForEachLane(
      [&](const ReadyQueue::Lane& lane, size_t jobs) { class_of(lane).ready += jobs; });
  for (const JobId& id : suspects_.ready()) {
    if (!SweepOf(id).row.paused) {
      ++class_of(SweepOf(id).LaneOf(id.index)).ready;
    }
  }
  for (const auto& [name, worker] : workers_) {
    if (worker->draining()) {
      continue;
    }
    for (const auto& [id, assignment] : worker->assignments.all()) {
      if (!assignment.stopping) {
        DemandClass& demand = class_of(SweepOf(id.job).LaneOf(id.job.index));
        ++(assignment.ahead ? demand.ready : demand.running);
      }
    }
  }
  std::vector<DemandClass> demand;
  demand.reserve(classes.size());
  for (auto& [key, one] : classes) {
    demand.push_back(std::move(one));
  }
  return demand;
}

// Whether a job of the group is likely to end before the worker's machine is taken away.
bool Scheduler::HasTimeFor(const Worker& worker, Durations::Group group) const {
  if (worker.end_time == absl::InfiniteFuture()) {
    return true;
  }
  const absl::Duration left = worker.end_time - now_;
  const auto expected = durations_.Expected(group);
  if (!expected) {
    return left > absl::ZeroDuration();  // somebody must find out
  }
  const absl::Duration careful = std::min(
      kTimeCare * expected->mean, std::max(expected->mean, kWholeShare * worker.whole_time));
  return careful <= left;
}

}  // namespace concur
