// SPDX-License-Identifier: Apache-2.0
// Plans a state of pools once: which pilots to request, which to drain, call off or forget.
#ifndef CONCUR_CORE_POOLS_POOLS_PLAN_H_
#define CONCUR_CORE_POOLS_POOLS_PLAN_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "core/pools/pool_state.h"

namespace concur {

class PoolPlanner {
 public:
  // At the time `state.time`. Both outlive this.
  PoolPlanner(PoolState& state, const PoolWorld& world)
      : state_(state), world_(world), now_(state.time) {}
  void Run();

 private:
  // A pool's own pilots, or those of one image.
  struct Part {
    Pool* pool = nullptr;
    std::string image;  // "": its own
    PoolSpec spec;      // describes each of them

    bool Has(const Pilot& pilot) const {
      return pilot.row.pool == pool->spec.name && pilot.row.image == image;
    }
  };

  void FollowWorkers();
  void CheckTimeouts();
  std::vector<WorkerPlace> PlacesOf() const;
  std::vector<Part> PartsOf(Pool& pool) const;
  PoolPlace PlaceOf(Part& part) const;
  void Plan();
  void StartPilots(const Part& part, int32_t count);
  int32_t Undrain(const Part& part, int32_t count);
  void ShrinkWaiting(const Part& part, int32_t needed, int32_t in_queue);
  void ShrinkWorking(const Pool& pool, const std::set<std::string>& needed, int32_t lacking);
  void EmptyRemovedPools();
  void AskProviders();
  void ForgetGone();

  PoolState& state_;
  const PoolWorld& world_;
  const absl::Time now_;
};

}  // namespace concur

#endif  // CONCUR_CORE_POOLS_POOLS_PLAN_H_
