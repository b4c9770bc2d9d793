// Removes artifacts that nothing needs any more, now and then.
//
// What lives is decided in one engine turn (core/retention.h), which also records which systems are
// about to go; only after that turn's commit are files removed, on the pool.
//
// Thread-safe. Public methods do not block.
#ifndef CONCUR_COORDINATOR_COLLECTOR_H_
#define CONCUR_COORDINATOR_COLLECTOR_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/thread_pool.h"
#include "coordinator/engine.h"
#include "core/retention.h"
#include "store/artifact_store.h"
#include "store/store.h"

namespace concur {

struct CollectorOptions {
  absl::Duration interval = absl::Minutes(10);
  // Artifacts are kept so long after they were last written, needed or not: further back than the
  // longest outage after which a worker may still hand in a result that names them.
  absl::Duration grace = absl::Hours(24);
};

class Collector {
 public:
  // All outlive the collector; `pool` ends before it. `store` is used on the engine's thread only.
  Collector(Clock& clock, Engine& engine, Store& store, ArtifactStore& artifacts, ThreadPool& pool,
            CollectorOptions options);

  // Collects after each interval from now on, until the pool ends.
  void Start();
  // Collects once; `done` gets how many bytes were freed, on some other thread.
  void Collect(std::function<void(absl::StatusOr<int64_t>)> done);

 private:
  Clock& clock_;
  Engine& engine_;
  Store& store_;
  ArtifactStore& artifacts_;
  ThreadPool& pool_;
  const CollectorOptions options_;
};

// The turn that comes before any file is removed: plans, records which systems are about to go, and
// gives the plan to `done`, on the engine's thread, once that is durable. Both outlive the turn.
void PlanCollection(Engine& engine, Store& store,
                    std::function<void(absl::StatusOr<RetentionPlan>)> done);

// What is live, over everything that the scheduler and the store know.
absl::StatusOr<RetentionPlan> PlanRetention(const Scheduler& scheduler, Store& store);

}  // namespace concur

#endif  // CONCUR_COORDINATOR_COLLECTOR_H_
