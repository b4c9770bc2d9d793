// SPDX-License-Identifier: Apache-2.0
#include "coordinator/engine/fleet_history.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace concur {
namespace {

uint64_t JobsIn(const Totals& totals, JobState state) {
  return totals.jobs[static_cast<size_t>(state)];
}

}  // namespace

void FleetHistory::Begin(const std::vector<WorkerView>& workers) {
  MutexLock lock(mutex_);
  for (const WorkerView& worker : workers) {
    if (!worker.quarantine_reason.empty() && !present_.contains(worker.info.name)) {
      SetQuarantine(worker.info.name, absl::InfinitePast(), worker.quarantine_end,
                    worker.quarantine_reason);
    }
  }
}

void FleetHistory::OnTurn(const Turn& /*turn*/, const Effects& effects) {
  const Batch& batch = effects.batch;
  if (batch.put_workers.empty() && batch.delete_workers.empty()) {
    return;
  }
  const absl::Time now = clock_.Now();
  MutexLock lock(mutex_);
  for (const WorkerRow& row : batch.put_workers) {
    if (row.quarantine_end == absl::InfinitePast()) {
      EndQuarantine(row.name, now);
      continue;
    }
    const auto known = present_.find(row.name);
    if (known == present_.end() || known->second.end != row.quarantine_end) {
      EndQuarantine(row.name, now);
      SetQuarantine(row.name, now, row.quarantine_end, row.quarantine_reason);
    }
  }
  for (const std::string& worker : batch.delete_workers) {
    EndQuarantine(worker, now);
  }
}

void FleetHistory::SetQuarantine(const std::string& worker, absl::Time begin, absl::Time end,
                                 const std::string& reason) {
  present_[worker] = QuarantineRecord{worker, begin, end, reason};
}

void FleetHistory::EndQuarantine(const std::string& worker, absl::Time now) {
  const auto ended = present_.find(worker);
  if (ended == present_.end()) {
    return;
  }
  ended->second.end = std::min(ended->second.end, now);
  quarantines_.push_back(std::move(ended->second));
  present_.erase(ended);
  if (quarantines_.size() > options_.quarantines_max) {
    quarantines_.pop_front();
  }
}

FleetSample FleetHistory::Take(const Scheduler& scheduler, const Pools& pools, absl::Time now) {
  const Totals totals = scheduler.views().CountAll();
  FleetSample sample;
  sample.time = now;
  sample.jobs_ready = JobsIn(totals, JobState::kReady);
  sample.jobs_running = JobsIn(totals, JobState::kRunning);
  sample.workers_live = totals.workers_live;
  sample.workers_draining = totals.workers_draining;
  for (const PoolView& pool : pools.List()) {
    sample.pools[pool.spec->name] = {pool.wanted, pool.pending, pool.starting, pool.working,
                                     pool.draining};
  }
  return sample;
}

void FleetHistory::Add(FleetSample sample) {
  MutexLock lock(mutex_);
  // Timers are a little late, and never early.
  if (!samples_.empty() && sample.time - samples_.back().time < interval_ * 0.9) {
    return;
  }
  for (const auto& [worker, quarantine] : present_) {
    sample.workers_quarantined += quarantine.end > sample.time ? 1 : 0;
  }
  samples_.push_back(std::move(sample));
  if (samples_.size() <= options_.samples_max) {
    return;
  }
  if (interval_ * 2 > options_.interval_max) {
    samples_.pop_front();
    return;
  }
  interval_ *= 2;
  std::deque<FleetSample> kept;
  for (size_t i = samples_.size() % 2 == 0 ? 1 : 0; i < samples_.size(); i += 2) {
    kept.push_back(std::move(samples_[i]));  // the newest is among them
  }
  samples_ = std::move(kept);
}

FleetHistory::Contents FleetHistory::Get() const {
  MutexLock lock(mutex_);
  Contents contents;
  contents.samples.assign(samples_.begin(), samples_.end());
  contents.quarantines.assign(quarantines_.begin(), quarantines_.end());
  for (const auto& [worker, quarantine] : present_) {
    contents.quarantines.push_back(quarantine);
  }
  std::stable_sort(
      contents.quarantines.begin(), contents.quarantines.end(),
      [](const QuarantineRecord& a, const QuarantineRecord& b) { return a.begin > b.begin; });
  if (contents.quarantines.size() > options_.quarantines_max) {
    contents.quarantines.resize(options_.quarantines_max);
  }
  return contents;
}

}  // namespace concur
