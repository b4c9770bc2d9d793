// SPDX-License-Identifier: Apache-2.0
// Number of workers that each pool should have: a pure function of the waiting jobs, the workers
// there are and the pools' limits.
//
// Jobs are counted by class (resources, labels, priority, expected run time). A class wants as many
// places at once as keep each busy for AutoscalePolicy::worth, so that ten thousand short jobs ask
// for a few workers and ten long ones for ten. Places are packed, most important and largest class
// first, into the live workers, then into pilots that were requested and have not come, then into
// new pilots of the pool that wastes least. A pilot that may never come counts only after the pools
// without such pilots. Workers and pilots that remain empty are surplus.
//
// Deterministic; stateless.
#ifndef CONCUR_CORE_POOLS_AUTOSCALER_H_
#define CONCUR_CORE_POOLS_AUTOSCALER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "core/pools/pool.h"
#include "core/resources.h"

namespace concur {

// Jobs that are alike to a worker.
struct DemandClass {
  Resources resources;  // one job's
  Labels labels;        // that its worker must carry
  int32_t priority = 0;
  uint64_t ready = 0;
  uint64_t running = 0;  // on workers that go on taking jobs
  // Run time of one job, as learned; infinite when nothing is known.
  absl::Duration run_time = absl::InfiniteDuration();
};

// A worker that lives and takes jobs.
struct WorkerPlace {
  std::string name;
  Resources capacity;
  Labels labels;
  absl::Duration time_left = absl::InfiniteDuration();
  uint32_t running = 0;
};

// A pool, or the part of it whose pods are of one image (ForImage). Parts share the pool's name and
// maximum.
struct PoolPlace {
  const PoolSpec* spec = nullptr;
  bool open = true;     // new pilots may be asked for
  int32_t pilots = 0;   // all that are not known to have ended
  int32_t waiting = 0;  // those of `pilots` that were asked for and do not work yet
  // Pilots of `waiting` that may never come. They count only for jobs that no pool above takes.
  int32_t doubtful = 0;
  bool doubted = false;  // had such pilots lately: comes after the pools that had none
};

struct AutoscalePolicy {
  // A place is worth having when there is this much work for it.
  absl::Duration worth = absl::Minutes(1);
  // New pilots of a pool in one plan.
  int32_t start_max = 100;
};

struct ScalePlan {
  struct Pool {
    int32_t start = 0;           // new pilots to ask for
    int32_t waiting_needed = 0;  // waiting pilots that are needed
    int32_t wanted = 0;          // pilots that jobs want here, whatever the pool's maximum
  };
  std::vector<Pool> pools;           // as in the call
  std::vector<bool> workers_needed;  // as in the call
  // Classes, by index, that fit no pool and no worker at all.
  std::vector<size_t> impossible;
  // Classes that fit only where their expected run time does not: longer than any time limit.
  std::vector<size_t> too_long;
};

// Number of jobs of a class that should run at once.
uint64_t PlacesWanted(const DemandClass& demand, const AutoscalePolicy& policy);

// Number of jobs with this request that fit into `free` at once, at most 100,000.
uint64_t FitCount(const Resources& request, const Resources& free);

// REQUIRES: every pool's spec is set.
ScalePlan PlanPools(const std::vector<DemandClass>& demand, const std::vector<WorkerPlace>& workers,
                    const std::vector<PoolPlace>& pools, const AutoscalePolicy& policy);

}  // namespace concur

#endif  // CONCUR_CORE_POOLS_AUTOSCALER_H_
