// SPDX-License-Identifier: Apache-2.0
// The engine's pools: the scheduler's state as they see it, and the actions that they plan.
#include <utility>

#include "coordinator/engine/engine.h"

namespace concur {
namespace {

PoolWorld MakePoolWorld(const Scheduler& scheduler, absl::Time now) {
  PoolWorld world;
  world.demand = scheduler.views().Demand();
  for (WorkerView& worker : scheduler.views().ListWorkers()) {
    PoolWorld::Worker seen;
    seen.place.name = std::move(worker.info.name);
    seen.place.capacity = worker.info.capacity;
    seen.place.labels = std::move(worker.info.labels);
    seen.place.time_left = worker.end_time - now;
    seen.place.running = worker.running;
    seen.live = !worker.lost;
    seen.called = worker.called;
    seen.draining = worker.draining;
    world.workers.push_back(std::move(seen));
  }
  return world;
}

}  // namespace

void Engine::ConnectPools(PoolCarrier carry, PoolTrier try_pool) {
  Post({[this, carry = std::move(carry), try_pool = std::move(try_pool)](Scheduler&) {
          carry_ = carry;
          try_pool_ = try_pool;
        },
        [] {}, [](const absl::Status&) {}});
}

void Engine::TryPool(PoolSpec pool, PoolTryDone done) {
  PostRead({[this, pool = std::move(pool), done](const Scheduler&) {
              if (try_pool_) {
                try_pool_(pool, done);
              } else {
                done(absl::UnavailableError("the coordinator is still starting"));
              }
            },
            [done](const absl::Status& status) { done(status); }});
}

// Drain orders go into this turn's commit; the other actions are carried out after it.
PoolActions Engine::AdvancePools() {
  if (!carry_ || pools_.empty()) {
    return {};
  }
  if (now_ >= pools_.NextDeadline()) {
    pools_.Advance(now_, MakePoolWorld(*scheduler_, now_));
  }
  PoolActions actions = pools_.TakeActions();
  for (const auto& [worker, drain] : std::exchange(actions.drain, {})) {
    // An unknown worker needs no order.
    scheduler_->DrainWorker(worker, drain).IgnoreError();
  }
  return actions;
}

}  // namespace concur
