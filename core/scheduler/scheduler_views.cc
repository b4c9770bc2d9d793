// SPDX-License-Identifier: Apache-2.0
// What people see of the scheduler's state.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/scheduler.h"
#include "core/sweep_record.h"

namespace concur {
namespace {

constexpr int kReuseHopsMax = 64;  // from a job that shares a result to the one that made it

}  // namespace

std::optional<SweepView> Scheduler::FindSweep(SweepId id) const {
  const auto it = sweeps_.find(id);
  if (it == sweeps_.end()) {
    return std::nullopt;
  }
  const SweepRecord& sweep = *it->second;
  return SweepView{.row = &sweep.row,
                   .expansion = sweep.expansion.get(),
                   .state = sweep.State(),
                   .counts = sweep.jobs.counts(),
                   .reused = sweep.jobs.reused(),
                   .queued = sweep.queued,
                   .owner_use = UseOf(sweep.row.owner),
                   .recent = {}};
}

std::shared_ptr<const Expansion> Scheduler::SharedExpansion(SweepId id) const {
  return sweeps_.at(id)->expansion;
}

std::optional<SweepId> Scheduler::FindSweepByName(const std::string& name) const {
  for (auto it = sweeps_.rbegin(); it != sweeps_.rend(); ++it) {
    if (it->second->row.name == name) {
      return it->first;
    }
  }
  return std::nullopt;
}

std::vector<SweepId> Scheduler::ListSweeps() const {
  std::vector<SweepId> ids;
  for (const auto& [id, sweep] : sweeps_) {
    ids.push_back(id);
  }
  return ids;
}

bool Scheduler::HasJob(JobId id) const {
  const auto it = sweeps_.find(id.sweep);
  return it != sweeps_.end() && id.index < it->second->jobs.size();
}

JobView Scheduler::ViewJob(JobId id) const {
  const JobRow row = RowOf(id);
  JobView view;
  view.id = id;
  view.state = row.state;
  view.attempt = row.attempt;
  view.failures = row.failures;
  view.lost = row.lost;
  view.deaths = row.deaths;
  view.failure = row.failure;
  view.not_before = row.not_before;
  view.worker = row.worker;
  view.reused_from = row.reused_from;
  view.system_collected = row.system_collected;
  view.checkpoint = row.checkpoint;
  const SweepRecord& own = SweepOf(id);
  view.result = own.jobs.ResultOf(id.index);
  if (const auto place = own.early_stop ? own.early_stop->Find(id.index) : std::nullopt) {
    const EarlyStop& rule = (*own.early_stop)[place->group];
    view.early_stop = rule.StateOf(place->setting);
    view.rung = rule.RungOf(place->setting);
  }
  if (const std::optional<JobId> reporter = ReporterOf(id)) {
    const SweepRecord& sweep = SweepOf(*reporter);
    const auto steps = sweep.steps.find(reporter->index);
    view.steps = steps == sweep.steps.end() ? 0 : steps->second.total();
  }
  return view;
}

std::optional<JobId> Scheduler::ReporterOf(JobId id) const {
  JobId reporter = id;
  // A job that ran again without success may take its old result back from one that had it from
  // there: nobody in such a ring has the reports.
  for (int hops = 0; hops < kReuseHopsMax; ++hops) {
    const JobTable& jobs = SweepOf(reporter).jobs;
    if (!jobs[reporter.index].reused()) {
      return reporter;
    }
    const JobId source = jobs.Find(reporter.index)->source;
    // Of runs of one cell, as IsBetterSource tells them apart.
    const JobResult* const made =
        HasJob(source) ? SweepOf(source).jobs.ResultOf(source.index) : nullptr;
    if (made == nullptr || made->start_time != jobs.ResultOf(reporter.index)->start_time) {
      return std::nullopt;
    }
    reporter = source;
  }
  return std::nullopt;
}

std::vector<WorkerView> Scheduler::ListWorkers() const {
  std::vector<WorkerView> views;
  for (const auto& [name, worker] : workers_) {
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
    view.running = static_cast<uint32_t>(assignments.size() - assignments.ahead());
    view.queued = static_cast<uint32_t>(assignments.ahead());
    view.succeeded = worker->succeeded;
    view.failed = worker->failed;
    view.last_seen = worker->last_seen;
    view.lease_expire = worker->lease_expire;
    view.end_time = worker->end_time;
    views.push_back(std::move(view));
  }
  return views;
}

std::vector<std::pair<JobId, Suspects::Deaths>> Scheduler::ListDeaths() const {
  std::vector<std::pair<JobId, Suspects::Deaths>> all;
  suspects_.ForEach(
      [&](JobId id, const Suspects::Deaths& deaths) { all.emplace_back(id, deaths); });
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return all;
}

std::vector<BlameRow> Scheduler::ListBlame() const {
  std::vector<BlameRow> rows;
  blame_.ForEach([&](const Blame::Kind& kind, const std::string& worker, const Blame::Cell& cell) {
    rows.push_back(RowOf(kind, worker, cell));
  });
  std::sort(rows.begin(), rows.end(),
            [](const BlameRow& a, const BlameRow& b) { return a.Key() < b.Key(); });
  return rows;
}

Digest Scheduler::ContentKeyOf(JobId id) const { return SweepOf(id).keys.KeyOf(id.index); }

Totals Scheduler::CountAll() const {
  Totals totals;
  totals.refused_results = refused_results_;
  for (const auto& [id, sweep] : sweeps_) {
    ++totals.sweeps[static_cast<size_t>(sweep->State())];
    for (size_t state = 0; state < totals.jobs.size(); ++state) {
      totals.jobs[state] += sweep->jobs.counts()[state];
    }
  }
  for (const auto& [name, worker] : workers_) {
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

}  // namespace concur
