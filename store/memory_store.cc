// SPDX-License-Identifier: Apache-2.0
#include "store/memory_store.h"

#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "core/sweep/sweep.h"
#include "store/row_codec.h"
#include "store/row_rules.h"

namespace concur {

absl::StatusOr<Snapshot> MemoryStore::Load() {
  Snapshot snapshot;
  snapshot.next_sweep_number = next_sweep_number_;
  for (const auto& [id, row] : sweeps_) {
    snapshot.sweeps.push_back(row);
  }
  snapshot.jobs.reserve(jobs_.size());
  for (const auto& [id, row] : jobs_) {
    snapshot.jobs.push_back(row);
  }
  snapshot.results.reserve(results_.size());
  for (const auto& [id, result] : results_) {
    snapshot.results.push_back(ResultRow{id, result});
  }
  for (const auto& [key, row] : steps_) {
    AddStep(row, snapshot.steps);
  }
  for (const auto& [key, row] : spent_) {
    snapshot.spent.push_back(row);
  }
  for (const auto& [name, row] : workers_) {
    snapshot.workers.push_back(row);
  }
  for (const auto& [key, row] : blames_) {
    snapshot.blames.push_back(row);
  }
  for (const auto& [name, row] : resources_) {
    snapshot.resources.push_back(row);
  }
  snapshot.next_pilot_number = next_pilot_number_;
  snapshot.last_service_number = last_service_number_;
  for (const auto& [name, row] : pools_) {
    snapshot.pools.push_back(row);
  }
  for (const auto& [name, row] : pilots_) {
    snapshot.pilots.push_back(row);
  }
  return snapshot;
}

absl::Status MemoryStore::Commit(const Batch& batch) {
  // Nothing below can fail: all or nothing.
  CONCUR_RETURN_IF_ERROR(CheckBatch(batch));
  if (batch.next_sweep_number) {
    next_sweep_number_ = *batch.next_sweep_number;
  }
  for (const SweepRow& row : batch.put_sweeps) {
    sweeps_.insert_or_assign(row.id, Canonical(row));
  }
  for (const JobRow& row : batch.put_jobs) {
    jobs_.insert_or_assign(row.id, Canonical(row));
  }
  for (const ResultRow& row : batch.put_results) {
    results_.insert_or_assign(row.id, Canonical(row.result));
  }
  for (const JobId& id : batch.delete_results) {
    results_.erase(id);
  }
  for (const AttemptRow& row : batch.put_attempts) {
    attempts_.insert_or_assign(std::pair(row.id, row.attempt), Canonical(row));
  }
  for (const StepRow& row : batch.put_steps) {
    steps_.insert_or_assign(std::pair(row.id, row.arrival), Canonical(row));
  }
  for (const auto& [id, before] : batch.delete_steps) {
    steps_.erase(steps_.lower_bound(std::pair(id, uint64_t{0})),
                 steps_.lower_bound(std::pair(id, before)));
  }
  for (SpentRow row : batch.put_spent) {
    row.time = TimeOfInt(TimeToInt(row.time));
    spent_.insert_or_assign(std::pair(row.id, row.attempt), row);
  }
  for (const WorkerRow& row : batch.put_workers) {
    workers_.insert_or_assign(row.name, Canonical(row));
  }
  for (const std::string& name : batch.delete_workers) {
    workers_.erase(name);
  }
  for (const BlameRow& row : batch.put_blames) {
    if (row.empty()) {
      blames_.erase(row.Key());
    } else {
      blames_.insert_or_assign(row.Key(), Canonical(row));
    }
  }
  for (const ResourceRow& row : batch.put_resources) {
    resources_.insert_or_assign(row.name, row);
  }
  for (const std::string& name : batch.delete_resources) {
    resources_.erase(name);
  }
  next_pilot_number_ = batch.next_pilot_number.value_or(next_pilot_number_);
  last_service_number_ = batch.last_service_number.value_or(last_service_number_);
  for (const PoolRow& row : batch.put_pools) {
    pools_.insert_or_assign(row.name, row);
  }
  for (const std::string& name : batch.delete_pools) {
    pools_.erase(name);
  }
  for (const PilotRow& row : batch.put_pilots) {
    pilots_.insert_or_assign(row.name, Canonical(row));
  }
  for (const std::string& name : batch.delete_pilots) {
    pilots_.erase(name);
  }
  for (const SweepId& id : batch.delete_sweeps) {
    const JobId first{id, 0};
    const JobId end{SweepId{id.number + 1}, 0};
    sweeps_.erase(id);
    jobs_.erase(jobs_.lower_bound(first), jobs_.lower_bound(end));
    results_.erase(results_.lower_bound(first), results_.lower_bound(end));
    attempts_.erase(attempts_.lower_bound(std::pair(first, Attempt())),
                    attempts_.lower_bound(std::pair(end, Attempt())));
    steps_.erase(steps_.lower_bound(std::pair(first, uint64_t{0})),
                 steps_.lower_bound(std::pair(end, uint64_t{0})));
    spent_.erase(spent_.lower_bound(std::pair(first, Attempt())),
                 spent_.lower_bound(std::pair(end, Attempt())));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<AttemptRow>> MemoryStore::ListAttempts(JobId job) {
  std::vector<AttemptRow> attempts;
  for (auto it = attempts_.lower_bound(std::pair(job, Attempt()));
       it != attempts_.end() && it->first.first == job; ++it) {
    attempts.push_back(it->second);
  }
  return attempts;
}

absl::StatusOr<std::vector<StepRow>> MemoryStore::ListSteps(JobId job) {
  std::vector<StepRow> steps;
  for (auto it = steps_.lower_bound(std::pair(job, uint64_t{0}));
       it != steps_.end() && it->first.first == job; ++it) {
    steps.push_back(it->second);
  }
  return steps;
}

absl::StatusOr<std::vector<AttemptRow>> MemoryStore::ListSweepAttempts(SweepId sweep) {
  return AttemptsFrom({sweep, 0}, {sweep, kServiceBit - 1});
}

absl::StatusOr<std::vector<AttemptRow>> MemoryStore::ListServiceUse(SweepId sweep) {
  return AttemptsFrom({sweep, kServiceBit}, {sweep, UINT32_MAX});
}

std::vector<AttemptRow> MemoryStore::AttemptsFrom(JobId first, JobId last) const {
  std::vector<AttemptRow> attempts;
  for (auto it = attempts_.lower_bound(std::pair(first, Attempt()));
       it != attempts_.end() && it->first.first <= last; ++it) {
    attempts.push_back(it->second);
  }
  return attempts;
}

}  // namespace concur
