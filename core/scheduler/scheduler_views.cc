// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/scheduler_views.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/state/sweep_record.h"

namespace concur {
namespace {

constexpr int kReuseHopsMax = 64;  // from a job that shares a result to the one that made it

}  // namespace

std::optional<SweepView> SchedulerViews::FindSweep(SweepId id) const {
  const auto it = book_.all().find(id);
  if (it == book_.all().end()) {
    return std::nullopt;
  }
  const SweepRecord& sweep = *it->second;
  return SweepView{.row = &sweep.row,
                   .expansion = sweep.expansion.get(),
                   .state = sweep.State(),
                   .counts = sweep.jobs.counts(),
                   .reused = sweep.jobs.reused(),
                   .queued = sweep.queued,
                   .running_done = places_.running.DoneOf(id),
                   .owner_use = owners().UseOf(sweep.row.owner),
                   .spent = sweep.spent.total(),
                   .recent = {}};
}

std::shared_ptr<const Expansion> SchedulerViews::SharedExpansion(SweepId id) const {
  return book_.all().at(id)->expansion;
}

std::vector<NamedSweep> SchedulerViews::SweepsNamed(const std::string& name) const {
  std::vector<NamedSweep> sweeps;
  for (const auto& [id, sweep] : book_.all()) {
    if (sweep->row.name == name) {
      sweeps.push_back({id, sweep->row.owner});
    }
  }
  for (const auto& [id, left] : book_.left_out()) {
    if (left.row.name == name) {
      sweeps.push_back({id, left.row.owner});
    }
  }
  std::sort(sweeps.begin(), sweeps.end(),
            [](const NamedSweep& a, const NamedSweep& b) { return a.id < b.id; });
  return sweeps;
}

std::vector<SweepId> SchedulerViews::ListSweeps() const {
  std::vector<SweepId> ids;
  for (const auto& [id, sweep] : book_.all()) {
    ids.push_back(id);
  }
  return ids;
}

JobView SchedulerViews::ViewJob(JobId id) const {
  const JobRow row = jobs_.RowOf(id);
  JobView view;
  view.id = id;
  view.state = row.state;
  view.attempt = row.attempt;
  if (const RunningJobs::Lease* lease = places_.running.Find(id)) {
    view.done = lease->done;
    view.of = lease->of;
  }
  view.failures = row.failures;
  view.lost = row.lost;
  view.deaths = row.deaths;
  view.failure = row.failure;
  view.not_before = row.not_before;
  view.worker = row.worker;
  view.reused_from = row.reused_from;
  view.system_collected = row.system_collected;
  view.checkpoint = row.checkpoint;
  const SweepRecord& own = book_.SweepOf(id);
  view.result = own.jobs.ResultOf(id.index);
  view.spent = own.spent.Of(id.index);
  if (const auto place = own.early_stop ? own.early_stop->Find(id.index) : std::nullopt) {
    const EarlyStop& rule = (*own.early_stop)[place->group];
    view.early_stop = rule.StateOf(place->setting);
    view.rung = rule.RungOf(place->setting);
  }
  if (const std::optional<JobId> reporter = ReporterOf(id)) {
    const SweepRecord& sweep = book_.SweepOf(*reporter);
    const auto steps = sweep.steps.find(reporter->index);
    view.steps = steps == sweep.steps.end() ? 0 : steps->second.total();
  }
  return view;
}

std::optional<JobId> SchedulerViews::ReporterOf(JobId id) const {
  JobId reporter = id;
  // A job that ran again without success may take its old result back from one that had it from
  // there: nobody in such a ring has the reports.
  for (int hops = 0; hops < kReuseHopsMax; ++hops) {
    const JobTable& jobs = book_.SweepOf(reporter).jobs;
    if (!jobs[reporter.index].reused()) {
      return reporter;
    }
    const JobId source = jobs.Find(reporter.index)->source;
    // Tells runs of one cell apart, as IsBetterSource does.
    const JobResult* const made =
        book_.HasJob(source) ? book_.SweepOf(source).jobs.ResultOf(source.index) : nullptr;
    if (made == nullptr || made->start_time != jobs.ResultOf(reporter.index)->start_time) {
      return std::nullopt;
    }
    reporter = source;
  }
  return std::nullopt;
}

std::vector<WorkerView> SchedulerViews::ListWorkers() const {
  std::vector<WorkerView> views;
  std::map<std::string, std::vector<WorkerView::Service>> services;  // by worker
  for (const auto& [id, instance] : book_.services().instances()) {
    const Services::Service& service = book_.services().Get(instance.service);
    services[instance.worker].push_back(
        {.approach = service.approach,
         .setting = service.setting,
         .state = instance.stopping ? "stopping"
                  : instance.ready  ? "ready"
                                    : "starting",
         .jobs = book_.services().UsersOn(instance.worker, instance.service),
         .start_time = instance.start_time.value_or(Services::TimeOf(id.attempt)),
         .failed_starts = service.failed_starts});
  }
  for (const auto& [name, worker] : workers_.roster()) {
    WorkerView view;
    view.info = worker->info;
    view.draining = worker->draining();
    view.lost = worker->lost;
    view.left = worker->left && !worker->drain_asked;
    view.called = worker->sequence.has_value();
    view.quarantine_reason = worker->quarantine_reason;
    view.quarantine_end = worker->quarantine_end;
    view.quarantine_span = worker->quarantine_span;
    const Assignments& assignments = worker->assignments;
    view.used = assignments.used();
    view.running = static_cast<uint32_t>(assignments.jobs() - assignments.ahead());
    view.queued = static_cast<uint32_t>(assignments.ahead());
    view.services = std::move(services[name]);
    view.succeeded = worker->succeeded;
    view.failed = worker->failed;
    view.last_seen = worker->last_seen;
    view.lease_expire = worker->lease_expire;
    view.end_time = worker->end_time;
    views.push_back(std::move(view));
  }
  return views;
}

std::vector<ResourceView> SchedulerViews::ListResources() const {
  const NamedResources& resources = book_.resources();
  std::map<std::string, uint64_t> waiting;
  const auto add = [&](const ReadyQueue::Lane& lane, size_t jobs) {
    for (const auto& [name, units] : resources.Get(lane.uses)) {
      waiting[name] += jobs;
    }
  };
  if (!resources.empty()) {
    places_.ready.ForEachLane(add);
    for (const JobId& id : places_.suspects.ready()) {
      add(book_.SweepOf(id).LaneOf(id.index), 1);
    }
  }
  for (const auto& [name, resource] : resources.all()) {
    waiting.try_emplace(name, 0);
  }
  std::vector<ResourceView> views;
  for (const auto& [name, jobs] : waiting) {
    const auto it = resources.all().find(name);
    const bool is_known = it != resources.all().end();
    const ResourceView view{.name = name,
                            .amount = is_known ? it->second.amount : std::nullopt,
                            .in_use = is_known ? it->second.in_use : 0,
                            .waiting = jobs,
                            .per_minute = is_known ? it->second.per_minute : 0};
    if (view.amount || view.in_use > 0 || view.waiting > 0) {
      views.push_back(view);
    }
  }
  return views;
}

std::vector<std::pair<JobId, Suspects::Deaths>> SchedulerViews::ListDeaths() const {
  std::vector<std::pair<JobId, Suspects::Deaths>> all;
  places_.suspects.ForEach(
      [&](JobId id, const Suspects::Deaths& deaths) { all.emplace_back(id, deaths); });
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return all;
}

Totals SchedulerViews::CountAll() const {
  Totals totals;
  totals.refused_results = refused_results();
  totals.job_memory = book_.job_memory();
  totals.job_memory_max = book_.job_memory_max();
  for (const auto& [id, sweep] : book_.all()) {
    ++totals.sweeps[static_cast<size_t>(sweep->State())];
    for (size_t state = 0; state < totals.jobs.size(); ++state) {
      totals.jobs[state] += sweep->jobs.counts()[state];
    }
  }
  for (const auto& [name, worker] : workers_.roster()) {
    if (worker->lost) {
      totals.workers_lost += worker->left ? 0 : 1;
      continue;
    }
    ++(worker->draining() ? totals.workers_draining : totals.workers_live);
    const auto add = [](const Resources& more, Resources* sum) {
      sum->cpu_millis += more.cpu_millis;
      sum->memory_bytes += more.memory_bytes;
      sum->gpus += more.gpus;
      sum->gpu_share += more.gpu_share;
    };
    add(worker->info.capacity, &totals.capacity);
    add(worker->assignments.used(), &totals.used);
  }
  return totals;
}

std::vector<DemandClass> SchedulerViews::Demand() const {
  using Key = std::tuple<int32_t, Resources, uint32_t, Durations::Rank>;
  std::map<Key, DemandClass> classes;
  const auto key_of = [&](const ReadyQueue::Lane& lane) -> Key {
    return {lane.priority, lane.resources, lane.labels, places_.durations.RankOf(lane.group)};
  };
  const auto class_of = [&](const ReadyQueue::Lane& lane) -> DemandClass& {
    DemandClass& demand = classes[key_of(lane)];
    demand.priority = lane.priority;
    demand.resources = lane.resources;
    demand.labels = book_.label_sets().Get(lane.labels);
    if (const auto expected = places_.durations.Expected(lane.group)) {
      demand.run_time = demand.run_time == absl::InfiniteDuration()
                            ? expected->mean
                            : std::max(demand.run_time, expected->mean);
    }
    return demand;
  };
  // By class: one whose jobs no worker can run leaves the units to the others.
  std::map<Key, std::map<std::string, int64_t>> free;
  std::set<uint32_t> asked;  // sets of services of which another instance is to be started
  const auto add = [&](ReadyQueue::Lane lane, size_t jobs) {
    size_t startable = jobs;
    if (lane.services != 0) {  // its jobs go where their services are
      const std::vector<uint32_t>& set = book_.services().SetOf(lane.services);
      const bool may_start = std::any_of(set.begin(), set.end(), [&](uint32_t service) {
        return workers_.MayStartService(lane, service);
      });
      startable = may_start && asked.insert(lane.services).second ? 1 : 0;
      lane.resources = workers_.RequestOf(lane);
    }
    if (lane.uses != 0) {
      const auto [units, is_new] = free.try_emplace(key_of(lane));
      if (is_new) {
        units->second = book_.resources().Free();
      }
      startable = book_.resources().TakeFrom(units->second, lane.uses, startable);
    }
    if (startable > 0) {
      class_of(lane).ready += startable;
    }
  };
  places_.ready.ForEachLane(add);
  for (const JobId& id : places_.suspects.ready()) {
    if (!book_.SweepOf(id).IsHeld()) {
      add(book_.SweepOf(id).LaneOf(id.index), 1);
    }
  }
  for (const auto& [name, worker] : workers_.roster()) {
    if (worker->draining()) {
      continue;
    }
    for (const auto& [id, assignment] : worker->assignments.all()) {
      const JobId job = id.job.ServedJob();  // the sweep of a service that runs may be gone
      if (!assignment.stopping && book_.HasJob(job)) {
        ReadyQueue::Lane lane = book_.SweepOf(job).LaneOf(job.index);
        lane.resources = assignment.resources;
        DemandClass& demand = class_of(lane);
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

}  // namespace concur
