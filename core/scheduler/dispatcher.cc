// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/dispatcher.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "core/state/sweep_record.h"

namespace concur {
namespace {

// Between owners who hold an equal part of a named resource, the share of the machines decides.
constexpr int64_t kMachineShareMax = 100'000'000'000;

constexpr int kLocalProbesMax = 8;  // probes of jobs whose systems a worker made, for one choice

// In microseconds of one CPU.
int64_t CpuMicros(absl::Duration time, int64_t cpu_millis) {
  return absl::ToInt64Microseconds(time) * std::max<int64_t>(cpu_millis, 1) / 1000;
}

// True if a start of a service of the set has failed on the worker, which has no instance of it.
bool HasFailedOn(const std::string& worker, const Services& services, uint32_t set) {
  const auto& all = services.SetOf(set);
  return std::any_of(all.begin(), all.end(), [&](uint32_t service) {
    return services.Get(service).failed_on.contains(worker) &&
           !services.InstanceOn(worker, service);
  });
}

}  // namespace

void Dispatcher::Dispatch() {
  do {
    judge_.JudgeSettings();
    while (search_.HasDue()) {  // a setting may be done at once: its results are known
      search_.ChooseSettings();
    }
    FailServices();
    GiveOut();
    StopServices();
  } while (groups_.HasUnjudged() || search_.HasDue());  // a job took an equal one's result
}

void Dispatcher::GiveOut() {
  budgets_.clear();
  if (!gives_units_ && !book_.resources().empty()) {
    gives_units_ = workers_.FindSilent() == nullptr;
  }
  absl::flat_hash_set<const Worker*> taken;
  if (places_.suspects.size() > 0) {
    taken = DispatchSuspects();
  }
  if (places_.ready.size() == 0) {
    return;
  }
  std::vector<Worker*> open;
  for (auto& [name, worker] : workers_.roster()) {
    if (worker->parked && worker->TakesJobs(turn_.now()) && !taken.contains(worker.get())) {
      open.push_back(worker.get());
    }
  }
  // Turns are taken, beginning after the worker that was served last, so that work spreads.
  const auto after = std::find_if(open.begin(), open.end(), [&](const Worker* worker) {
    return worker->info.name > last_served_;
  });
  std::rotate(open.begin(), after, open.end());
  std::vector<Worker*> busy = open;
  while (!open.empty() && places_.ready.size() > 0) {
    std::erase_if(open, [&](Worker* worker) { return !DispatchOne(*worker, Repeats::kNo); });
  }
  // Then what a worker has failed itself, if nobody else takes it now.
  open = busy;
  std::erase_if(open,
                [&](Worker* worker) { return !workers_.blame().HasFailed(worker->info.name); });
  while (!open.empty() && places_.ready.size() > 0) {
    std::erase_if(open, [&](Worker* worker) { return !DispatchOne(*worker, Repeats::kYes); });
  }
  // Only when nobody has room for it is anything given ahead.
  while (!busy.empty() && places_.ready.size() > 0) {
    std::erase_if(busy, [&](Worker* worker) { return !DispatchAhead(*worker); });
  }
}

// Starts suspects on workers that have nothing else. Returns the workers that get no other job now:
// those, and others that are to become empty. At most half of the workers serve suspects.
absl::flat_hash_set<const Worker*> Dispatcher::DispatchSuspects() {
  absl::flat_hash_set<const Worker*> taken;
  size_t able = 0;
  for (const auto& [name, worker] : workers_.roster()) {
    if (worker->TakesJobs(turn_.now())) {
      ++able;
      if (RunsSuspect(*worker)) {
        taken.insert(worker.get());
      }
    }
  }
  const std::vector<JobId> ready(places_.suspects.ready().begin(), places_.suspects.ready().end());
  for (const JobId& id : ready) {
    if (taken.size() >= std::max<size_t>(1, able / 2)) {
      break;
    }
    const SweepRecord& sweep = book_.SweepOf(id);
    if (!places_.suspects.IsReady(id) || sweep.IsHeld() || !book_.owners().MayStart(sweep.owner) ||
        !HasUnits(sweep.LaneOf(id.index)) || !MayProbe(sweep.LaneOf(id.index))) {
      continue;
    }
    Worker* worker = WorkerForSuspect(sweep, id.index, taken);
    if (worker == nullptr) {
      continue;
    }
    taken.insert(worker);
    if (!worker->parked || worker->assignments.jobs() > 0) {
      continue;
    }
    if (FitsOn(*worker, worker->Free(), sweep.LaneOf(id.index))) {
      jobs_.TakeReady(id);
      StartOn(*worker, id, /*ahead=*/false);
    } else {
      StopIdleServicesOn(*worker, sweep.LaneOf(id.index).services);
    }
  }
  return taken;
}

// The worker that is, or soonest will be, free for a suspect: of those that could run it, the one
// that holds the fewest jobs; of equals, one that loads or has its services. Null when there is
// none.
Worker* Dispatcher::WorkerForSuspect(const SweepRecord& sweep, uint32_t job,
                                     const absl::flat_hash_set<const Worker*>& taken) {
  const ReadyQueue::Lane lane = sweep.LaneOf(job);
  Worker* best = nullptr;
  std::pair<size_t, bool> best_rank;
  for (auto& [name, worker] : workers_.roster()) {
    if (taken.contains(worker.get()) || RunsSuspect(*worker) || !workers_.CouldRun(*worker, lane)) {
      continue;
    }
    const bool has_services = lane.services != 0 && book_.services().HasAll(name, lane.services);
    const std::pair rank(worker->assignments.jobs(), !has_services);
    if ((has_services || ServiceStateOn(*worker, lane) != ServiceState::kAway) &&
        (best == nullptr || rank < best_rank)) {
      best = worker.get();
      best_rank = rank;
    }
  }
  return best;
}

// After a restart nothing is given out of named resources until every worker that may hold some has
// called, or its lease has ended.
bool Dispatcher::HasUnits(const ReadyQueue::Lane& lane) const {
  return lane.uses == 0 || (gives_units_ && book_.resources().HasUnits(lane.uses) &&
                            book_.resources().Paced(lane.uses, turn_.now()) == nullptr);
}

// Null for a sweep without one.
Budget* Dispatcher::FindBudget(SweepId sweep) {
  if (!book_.budgets().contains(sweep)) {
    return nullptr;
  }
  const auto [it, is_new] = budgets_.try_emplace(sweep);
  if (is_new) {
    it->second = BudgetOf(book_.SweepOf({sweep, 0}), places_.running);
  }
  return &it->second;
}

// False for jobs of unknown cost while another one of their sweep runs.
bool Dispatcher::MayProbe(const ReadyQueue::Lane& lane) {
  const Budget* budget = FindBudget(lane.sweep);
  return budget == nullptr || budget->MayProbe(lane.is_train);
}

Dispatcher::ServiceState Dispatcher::ServiceStateOn(const Worker& worker,
                                                    const ReadyQueue::Lane& lane) const {
  const Services& services = book_.services();
  bool has_places = true;
  bool starts = false;
  for (const uint32_t service : services.SetOf(lane.services)) {
    if (services.InstanceOn(worker.info.name, service)) {
      has_places = has_places && services.HasPlace(worker.info.name, service);
    } else if (worker.info.takes_services && workers_.MayStartService(lane, service) &&
               !IsStartForOthers(worker, lane, service)) {
      starts = true;
    } else {
      return ServiceState::kAway;
    }
  }
  if (starts) {
    return IsBetterElsewhere(worker, lane) ? ServiceState::kAway : ServiceState::kMayStart;
  }
  return has_places ? ServiceState::kReady : ServiceState::kAway;
}

// True if another worker has more of the lane's services, and room for the rest, none of which has
// failed there: two that each have one would load the other's.
bool Dispatcher::IsBetterElsewhere(const Worker& worker, const ReadyQueue::Lane& lane) const {
  const auto& roster = workers_.roster();
  const Services& services = book_.services();
  return services.SetOf(lane.services).size() > 1 &&
         std::any_of(roster.begin(), roster.end(), [&](const auto& entry) {
           const Worker& other = *entry.second;
           return services.CountOn(other.info.name, lane.services) >
                      services.CountOn(worker.info.name, lane.services) &&
                  !services.HasAll(other.info.name, lane.services) &&
                  !HasFailedOn(other.info.name, services, lane.services) &&
                  workers_.CouldRun(other, lane) &&
                  Together(lane.resources, services.ResourcesOf(lane.services, other.info.name))
                      .FitsIn(other.Free());
         });
}

// A service whose start has failed on this worker is another's to start, on which none of the
// lane's services has failed.
bool Dispatcher::IsStartForOthers(const Worker& worker, const ReadyQueue::Lane& lane,
                                  uint32_t service) const {
  const Services& services = book_.services();
  const auto& roster = workers_.roster();
  return services.Get(service).failed_on.contains(worker.info.name) &&
         std::any_of(roster.begin(), roster.end(), [&](const auto& entry) {
           return !HasFailedOn(entry.first, services, lane.services) &&
                  workers_.CouldRun(*entry.second, lane);
         });
}

// True if the lane's jobs may be given to the worker, or a service of theirs started there.
bool Dispatcher::FitsOn(const Worker& worker, const Resources& free,
                        const ReadyQueue::Lane& lane) const {
  if (!lane.resources.FitsIn(free)) {
    return false;
  }
  const ServiceState state = ServiceStateOn(worker, lane);
  return state == ServiceState::kReady ||
         (state == ServiceState::kMayStart &&
          Together(lane.resources, book_.services().ResourcesOf(lane.services, worker.info.name))
              .FitsIn(free));
}

// The first service of the job that is not there; the job waits until all are ready.
void Dispatcher::StartService(Worker& worker, JobId job, const ReadyQueue::Lane& lane) {
  Services& services = book_.services();
  const SweepRecord& sweep = book_.SweepOf(job);
  uint32_t place = 0;
  uint32_t service = 0;
  for (;
       !services.Contains(lane.services, service) || services.InstanceOn(worker.info.name, service);
       ++place) {
    CONCUR_CHECK(place < kServicePlacesMax);
    service = sweep.ServiceOf(job.Service(place));
  }
  const AttemptId id = services.NewAttempt(job.Service(place - 1), turn_.now());
  turn_.batch().last_service_number = id.attempt.number;
  Assignment assignment;
  assignment.resources = services.Get(service).spec.resources;
  assignment.gpu_mask = worker.assignments.GpusFor(assignment.resources);
  assignment.time_left = policy_.overdue_grace;
  services.AddInstance(id, {.service = service,
                            .worker = worker.info.name,
                            .start_time = turn_.now(),
                            .idle_since = turn_.now()});
  workers_.Assign(worker, id, assignment);
  turn_.AnnounceSweep(job.sweep);
}

// Jobs that wait for services of which one's starts have failed.
void Dispatcher::FailServices() {
  const Services& services = book_.services();
  if (!services.HasDelayed()) {
    return;
  }
  const auto has_failed = [&](const ReadyQueue::Lane& lane) {
    return services.FailureOf(lane.services, turn_.now()) != nullptr;
  };
  const std::vector<JobId> alone(places_.suspects.ready().begin(), places_.suspects.ready().end());
  for (const JobId& id : alone) {
    SweepRecord& sweep = book_.SweepOf(id);
    if (const ReadyQueue::Lane lane = sweep.LaneOf(id.index); has_failed(lane)) {
      jobs_.FailUnstarted(sweep, id.index, *services.FailureOf(lane.services, turn_.now()));
    }
  }
  while (const std::optional<ReadyQueue::Choice> choice =
             places_.ready.First(has_failed, [](uint32_t) { return int64_t{0}; })) {
    const JobId id{choice->lane.sweep, choice->job};
    jobs_.FailUnstarted(book_.SweepOf(id), id.index,
                        *services.FailureOf(choice->lane.services, turn_.now()));
  }
}

// True when the lane's jobs may be given to the worker once it has room.
bool Dispatcher::MayComeTo(const Worker& worker, const ReadyQueue::Lane& lane) const {
  return workers_.CouldRun(worker, lane) && HasUnits(lane) && book_.owners().MayStart(lane.owner) &&
         (book_.services().HasAll(worker.info.name, lane.services) ||
          ServiceStateOn(worker, lane) != ServiceState::kAway);
}

// True when a job that waits for the service may be given to the worker, sooner or later.
bool Dispatcher::IsAwaited(const Worker& worker, uint32_t service) const {
  const auto may_come = [&](const ReadyQueue::Lane& lane) {
    return book_.services().Contains(lane.services, service) && MayComeTo(worker, lane);
  };
  const auto& alone = places_.suspects.ready();
  return workers_.WaitingFor(service) > 0 &&
         (std::any_of(alone.begin(), alone.end(),
                      [&](const JobId& id) {
                        const SweepRecord& sweep = book_.SweepOf(id);
                        return !sweep.IsHeld() && may_come(sweep.LaneOf(id.index));
                      }) ||
          places_.ready.First(may_come, [](uint32_t) { return int64_t{0}; }));
}

// True when a job that waits would fit without the instance, and does not now.
bool Dispatcher::IsInTheWay(const Worker& worker, const Resources& instance) const {
  const Resources present = worker.Free();
  if (!worker.parked || present.cpu_millis < 0) {  // no slot is free
    return false;
  }
  Resources free = present;
  free.cpu_millis += instance.cpu_millis;
  free.memory_bytes += instance.memory_bytes;
  free.gpus += instance.gpus;
  free.gpu_share = std::max(free.gpu_share, instance.gpu_share);
  return places_.ready
      .First(
          [&](const ReadyQueue::Lane& lane) {
            return !FitsOn(worker, present, lane) && FitsOn(worker, free, lane) &&
                   workers_.CouldRun(worker, lane) && HasUnits(lane) &&
                   book_.owners().MayStart(lane.owner);
          },
          [](uint32_t) { return int64_t{0}; })
      .has_value();
}

// True when the worker runs and loads nothing, and could take the first job that waits if instances
// were gone that this one does not ask, as is the service. Jobs wait for these, too, and would keep
// the room from each other for ever.
bool Dispatcher::IsStuck(const Worker& worker, uint32_t service) const {
  if (!worker.parked || worker.assignments.jobs() > 0) {
    return false;
  }
  for (const auto& [id, assignment] : worker.assignments.all()) {
    const Services::Instance* instance = book_.services().Find(worker.info.name, id);
    if (instance == nullptr || !instance->ready || instance->stopping) {
      return false;
    }
  }
  const auto first =
      places_.ready.First([&](const ReadyQueue::Lane& lane) { return MayComeTo(worker, lane); },
                          [this](uint32_t owner) { return book_.owners().ShareOf(owner); });
  return first && !book_.services().Contains(first->lane.services, service) &&
         !FitsOn(worker, worker.Free(), first->lane);
}

// Ends instances that nobody asks and that have been idle for long, or are in the way.
void Dispatcher::StopServices() {
  Services& services = book_.services();
  for (const auto& [id, instance] : services.instances()) {
    if (instance.stopping) {
      continue;
    }
    Worker& worker = *workers_.roster().Find(instance.worker);
    const ServiceSpec& spec = services.Get(instance.service).spec;
    const bool is_lost = !book_.HasJob(id.job.ServedJob()) &&
                         !worker.assignments.Find(id)->listed;  // it cannot be started any more
    const bool is_asked = services.UsersOn(instance.worker, instance.service) > 0;
    bool stops = is_lost || (!is_asked && worker.draining());
    if (!stops && !is_asked && IsAwaited(worker, instance.service) &&
        !IsStuck(worker, instance.service)) {
      services.Find(instance.worker, id)->idle_since = turn_.now();
    } else if (!stops && !is_asked) {
      stops = turn_.now() >= instance.idle_since + spec.idle ||
              IsInTheWay(worker, spec.resources) || IsStuck(worker, instance.service);
    }
    if (stops) {
      workers_.Stop(worker, id, StopReason::kCanceled, /*counted=*/false);
    }
  }
}

// Makes room for a suspect, which waits for an empty worker.
void Dispatcher::StopIdleServicesOn(Worker& worker, uint32_t but) {
  const Services& services = book_.services();
  for (const auto& [id, instance] : services.instances()) {
    if (instance.worker == worker.info.name && !services.Contains(but, instance.service) &&
        !instance.stopping && services.UsersOn(instance.worker, instance.service) == 0) {
      workers_.Stop(worker, id, StopReason::kCanceled, /*counted=*/false);
    }
  }
}

// The last attempt of a job that this worker has failed belongs to another machine that could run
// it and has not failed it, even if that is busy: one broken worker fails no job for good.
bool Dispatcher::IsForOthers(const Worker& worker, JobId id) const {
  const SweepRecord& sweep = book_.SweepOf(id);
  if (sweep.jobs[id.index].failures + 1u < sweep.expansion->spec().retry.failures_max) {
    return false;
  }
  const ReadyQueue::Lane lane = sweep.LaneOf(id.index);
  const auto& roster = workers_.roster();
  return std::any_of(roster.begin(), roster.end(), [&](const auto& entry) {
    const Worker& other = *entry.second;
    return (other.info.host.empty() || other.info.host != worker.info.host) &&
           !workers_.blame().HasFailed(other.info.name, id) && workers_.CouldRun(other, lane) &&
           ServiceStateOn(other, lane) != ServiceState::kAway;
  });
}

bool Dispatcher::RunsSuspect(const Worker& worker) const {
  const auto& all = worker.assignments.all();
  return worker.assignments.jobs() == 1 &&
         std::any_of(all.begin(), all.end(), [this](const auto& entry) {
           return places_.suspects.MustRunAlone(entry.first.job);
         });
}

bool Dispatcher::DispatchOne(Worker& worker, Repeats repeats) {
  const Resources free = worker.Free();
  const int32_t gpus_min = GpusMin(worker.info.labels);
  const LabelSets::Matcher matches = book_.label_sets().MatcherOf(worker.info.labels);
  // Most workers are full most of the time: they are not compared with every lane.
  return places_.ready.cpu_millis_min() <= free.cpu_millis &&
         Give(
             worker,
             [&](const ReadyQueue::Lane& lane) {
               return FitsOn(worker, free, lane) &&
                      workers_.RequestOf(lane).GpuCount() >= gpus_min && matches(lane.labels) &&
                      workers_.HasTimeFor(worker, lane.group) && HasUnits(lane) && MayProbe(lane) &&
                      book_.owners().MayStart(lane.owner);
             },
             repeats, /*ahead=*/false);
}

// A job given ahead must have room once the short attempts end: it would wait for a long one's
// end, while other workers become free.
bool Dispatcher::DispatchAhead(Worker& worker) {
  const Resources& shortly = worker.assignments.used_shortly();
  if (GpusMin(worker.info.labels) != 0 ||  // jobs given ahead ask for no GPU
      worker.assignments.ahead() >= worker.info.queue_max ||
      worker.assignments.ahead_cpu_micros() >= CpuMicros(policy_.ahead, shortly.cpu_millis) ||
      places_.ready.rank_min() > Durations::RankOf(policy_.ahead_job_max)) {
    return false;
  }
  const Resources room = worker.assignments.FreeShortly(worker.info.capacity, worker.info.slots);
  const LabelSets::Matcher matches = book_.label_sets().MatcherOf(worker.info.labels);
  return Give(
      worker,
      [&](const ReadyQueue::Lane& lane) {
        return lane.services == 0 && workers_.IsShort(lane.group) &&
               lane.resources.GpuCount() == 0 && lane.resources.FitsIn(room) &&
               matches(lane.labels) && workers_.HasTimeFor(worker, lane.group) && HasUnits(lane) &&
               MayProbe(lane) && book_.owners().MayStart(lane.owner);
      },
      Repeats::kNo, /*ahead=*/true);
}

bool Dispatcher::Give(Worker& worker, ReadyQueue::Accept accept, Repeats repeats, bool ahead) {
  if (worker.assignments.size() >= kSyncAttemptsMax) {
    return false;  // it could not list more, which matters to jobs that claim no resources
  }
  while (const std::optional<JobId> id = Choose(worker, accept, repeats)) {
    if (StartOn(worker, *id, ahead)) {
      return true;
    }
  }
  return false;
}

// The first job that may start. Owners who wait for the same named resource take turns by what they
// hold of it: one that uses much of the machines else would get none of it.
std::optional<ReadyQueue::Choice> Dispatcher::First(ReadyQueue::Accept accept,
                                                    ReadyQueue::AcceptJob may_start) const {
  const auto share = [this](uint32_t owner) { return book_.owners().ShareOf(owner); };
  std::optional<ReadyQueue::Choice> first = places_.ready.First(accept, share, may_start);
  if (!first || first->lane.uses == 0) {
    return first;
  }
  const NamedResources& resources = book_.resources();
  return places_.ready.First(
      [&](const ReadyQueue::Lane& lane) {
        return lane.priority == first->lane.priority &&
               resources.Overlap(lane.uses, first->lane.uses) && accept(lane);
      },
      [&](uint32_t owner) {
        return resources.ShareHeldBy(owner, first->lane.uses) * kMachineShareMax +
               std::min(share(owner), kMachineShareMax - 1);
      },
      may_start);
}

// Takes a job out of the queue.
std::optional<JobId> Dispatcher::Choose(Worker& worker, ReadyQueue::Accept accept,
                                        Repeats repeats) {
  // A job that it has failed is another's to try first: only that tells a broken worker from a job
  // that fails anywhere.
  const bool may_repeat = repeats == Repeats::kYes ||
                          !workers_.blame().HasFailed(worker.info.name) ||
                          !workers_.roster().HasOtherThatTakesJobs(worker.info.name, turn_.now());
  const auto may_start = [&](JobId id) {
    return !workers_.blame().HasFailed(worker.info.name, id) ||
           (may_repeat && !IsForOthers(worker, id));
  };
  const auto first = First(accept, may_start);
  if (!first) {
    return std::nullopt;
  }
  JobId id{first->lane.sweep, first->job};
  if (!first->lane.is_train) {
    id = LocalChoice(worker, first->lane, accept).value_or(id);
  }
  jobs_.TakeReady(id);
  return id;
}

// An eval job of the same sweep as `like` whose system the worker made: it need not be fetched.
std::optional<JobId> Dispatcher::LocalChoice(Worker& worker, const ReadyQueue::Lane& like,
                                             ReadyQueue::Accept accept) {
  auto it = worker.local.lower_bound(JobId{like.sweep, 0});
  for (int probes = 0;
       probes < kLocalProbesMax && it != worker.local.end() && it->sweep == like.sweep; ++probes) {
    if (!book_.HasJob(*it) || book_.JobOf(*it).state() != JobState::kReady ||
        places_.suspects.IsReady(*it)) {
      it = worker.local.erase(it);  // somebody else has it, it has ended, or it must run alone
      continue;
    }
    const ReadyQueue::Lane lane = book_.SweepOf(*it).LaneOf(it->index);
    if (accept(lane) && !workers_.blame().HasFailed(worker.info.name, *it)) {
      return *it;
    }
    ++it;
  }
  return std::nullopt;
}

// Gives a job that was taken out of the queue to the worker. False when it took another one's
// result, waits for that, or would pass its sweep's budget, which then is held. REQUIRES: the
// worker has room.
bool Dispatcher::StartOn(Worker& worker, JobId id, bool ahead) {
  SweepRecord& sweep = book_.SweepOf(id);
  JobTable::Job& record = sweep.jobs[id.index];
  const Digest key = sweep.keys.KeyOf(id.index);
  if (jobs_.TryReuse(sweep, id.index, key)) {
    return false;
  }
  if (const std::optional<JobId> leader = places_.reuse.RunningWith(key);
      leader && sweep.MayTakeResult(id.index)) {
    // Equal work is running: wait for its result.
    jobs_.Follow(sweep, id.index, *leader);
    return false;
  }
  Budget* budget = FindBudget(id.sweep);
  if (budget != nullptr && !budget->Fits(sweep, id.index)) {
    jobs_.EnterReady(sweep, id.index);
    book_.SetOverBudget(sweep, true);
    return false;
  }
  const ReadyQueue::Lane lane = sweep.LaneOf(id.index);
  if (ServiceStateOn(worker, lane) != ServiceState::kReady) {
    jobs_.EnterReady(sweep, id.index);
    StartService(worker, id, lane);
    last_served_ = worker.info.name;
    return true;
  }
  Assignment assignment;
  assignment.resources = lane.resources;
  assignment.time_max = workers_.TimeMaxOf(sweep, id.index);
  assignment.time_left = policy_.overdue_grace;
  if (ahead) {
    assignment.ahead = true;
    assignment.ahead_cpu_micros =
        CpuMicros(places_.durations.Expected(lane.group).value_or(Durations::Mean{}).mean,
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
  if (budget != nullptr) {
    budget->Add(sweep, id.index);
  }
  jobs_.EnterRunning(sweep, id.index, {worker.holder, assignment.gpu_mask, key});
  book_.resources().CountStart(lane.uses, turn_.now());
  workers_.Assign(worker, AttemptId{id, {record.attempt}}, assignment);
  last_served_ = worker.info.name;
  return true;
}

}  // namespace concur
