// SPDX-License-Identifier: Apache-2.0
// A Store in memory: for tests, for simulation, and for forecasts that need no disk.
//
// Gives back exactly what the SQLite store would.
//
// Thread-compatible.
#ifndef CONCUR_STORE_MEMORY_STORE_H_
#define CONCUR_STORE_MEMORY_STORE_H_

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/rows.h"
#include "store/store.h"

namespace concur {

class MemoryStore : public Store {
 public:
  absl::StatusOr<Snapshot> Load() override;
  absl::Status Commit(const Batch& batch) override;
  absl::StatusOr<std::vector<AttemptRow>> ListAttempts(JobId job) override;
  absl::StatusOr<std::vector<AttemptRow>> ListSweepAttempts(SweepId sweep) override;
  absl::StatusOr<std::vector<AttemptRow>> ListServiceUse(SweepId sweep) override;
  absl::StatusOr<std::vector<StepRow>> ListSteps(JobId job) override;

 private:
  std::vector<AttemptRow> AttemptsFrom(JobId first, JobId last) const;

  uint64_t next_sweep_number_ = 1;
  uint64_t next_pilot_number_ = 1;
  uint32_t last_service_number_ = 0;
  absl::btree_map<SweepId, SweepRow> sweeps_;
  absl::btree_map<JobId, JobRow> jobs_;
  absl::btree_map<JobId, JobResult> results_;
  absl::btree_map<std::pair<JobId, Attempt>, AttemptRow> attempts_;
  absl::btree_map<std::pair<JobId, uint64_t>, StepRow> steps_;  // by job and arrival
  absl::btree_map<std::pair<JobId, Attempt>, SpentRow> spent_;
  absl::btree_map<std::string, WorkerRow> workers_;
  absl::btree_map<std::tuple<std::string, Digest>, BlameRow> blames_;  // as BlameRow::Key
  absl::btree_map<std::string, ResourceRow> resources_;
  absl::btree_map<std::string, PoolRow> pools_;
  absl::btree_map<std::string, PilotRow> pilots_;
};

}  // namespace concur

#endif  // CONCUR_STORE_MEMORY_STORE_H_
