// SPDX-License-Identifier: Apache-2.0
// Garbage collection of artifacts, at intervals.
//
// One engine turn decides which artifacts are live (core/sweep/retention.h), and records which
// systems are about to be removed. After that turn's commit, the pool removes the files.
//
// Thread-safe. Public methods do not block.
#ifndef CONCUR_COORDINATOR_ENGINE_COLLECTOR_H_
#define CONCUR_COORDINATOR_ENGINE_COLLECTOR_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/thread_pool.h"
#include "coordinator/engine/engine.h"
#include "core/sweep/retention.h"
#include "store/artifacts/artifact_store.h"
#include "store/store.h"

namespace concur {

struct CollectorOptions {
  absl::Duration interval = absl::Minutes(10);
  // Artifacts are kept for this long after they were last written, live or not: longer than any
  // outage after which a worker may still hand in a result that names them.
  absl::Duration grace = absl::Hours(24);
  // While another process holds the lock of this file nothing is removed: a backup still copies
  // what deleted sweeps had.
  std::string lock;
};

class Collector {
 public:
  // All outlive the collector; `pool` ends before it. `store` is used on the engine's thread only.
  Collector(Clock& clock, Engine& engine, Store& store, ArtifactStore& artifacts, ThreadPool& pool,
            CollectorOptions options);

  // Collects after each interval from now on, until the pool ends.
  void Start();
  // Collects once; `done` gets the number of bytes freed, on another thread.
  void Collect(std::function<void(absl::StatusOr<int64_t>)> done);

 private:
  Clock& clock_;
  Engine& engine_;
  Store& store_;
  ArtifactStore& artifacts_;
  ThreadPool& pool_;
  const CollectorOptions options_;
};

// The engine turn before any file is removed: plans, records which systems are about to be removed,
// and calls `done` on the engine's thread once that is durable. Both outlive the turn.
void PlanCollection(Engine& engine, Store& store,
                    std::function<void(absl::StatusOr<RetentionPlan>)> done);

// The live artifacts of everything in the scheduler and the store.
absl::StatusOr<RetentionPlan> PlanRetention(const Scheduler& scheduler, Store& store);

}  // namespace concur

#endif  // CONCUR_COORDINATOR_ENGINE_COLLECTOR_H_
