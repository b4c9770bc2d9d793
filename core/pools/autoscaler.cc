// SPDX-License-Identifier: Apache-2.0
#include "core/pools/autoscaler.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace concur {
namespace {

constexpr uint64_t kFitMax = 100'000;
constexpr size_t kNone = std::numeric_limits<size_t>::max();

// Something that jobs are packed into.
struct Bin {
  Resources free;
  const Labels* labels = nullptr;
  absl::Duration time_left;
  size_t worker = kNone;
  size_t pool = kNone;  // a waiting or new pilot's
  bool is_new = false;
  bool used = false;
};

// Shares of the GPU that others share, then of further ones.
void TakeShares(int32_t share, int64_t count, Resources* free) {
  const int64_t beside = std::min<int64_t>(count, free->gpu_share / share);
  free->gpu_share -= static_cast<int32_t>(beside * share);
  const int64_t rest = count - beside;
  const int64_t per_gpu = kGpuShares / share;
  const int64_t gpus = (rest + per_gpu - 1) / per_gpu;
  if (gpus > 0) {
    free->gpus -= static_cast<int32_t>(gpus);
    const auto on_last = static_cast<int32_t>(rest - (gpus - 1) * per_gpu);
    free->gpu_share = std::max(free->gpu_share, kGpuShares - on_last * share);
  }
}

void Take(const Resources& request, uint64_t count, Resources* free) {
  const auto n = static_cast<int64_t>(count);
  free->cpu_millis -= request.cpu_millis * n;
  free->memory_bytes -= request.memory_bytes * n;
  free->gpus -= static_cast<int32_t>(request.gpus * n);
  if (request.gpu_share > 0) {
    TakeShares(request.gpu_share, n, free);
  }
}

// True if jobs of the class have time enough there. Nothing is known of an unknown run time.
bool HasTime(const DemandClass& demand, absl::Duration time_left) {
  return demand.run_time == absl::InfiniteDuration() ? time_left > absl::ZeroDuration()
                                                     : demand.run_time <= time_left;
}

class Planner {
 public:
  Planner(const std::vector<DemandClass>& demand, const std::vector<WorkerPlace>& workers,
          const std::vector<PoolPlace>& pools, const AutoscalePolicy& policy)
      : demand_(demand), workers_(workers), pools_(pools), policy_(policy) {
    plan_.pools.resize(pools.size());
    plan_.workers_needed.resize(workers.size());
    for (const PoolPlace& pool : pools) {
      pool_labels_.push_back(WorkerLabels(*pool.spec));
      if (pool.spec->kubernetes.job_images) {
        pool_labels_.back()[kImageLabel] = kNoImage;  // jobs of an image have a part of their own
      }
      rooms_.try_emplace(pool.spec->name, pool.spec->workers_max).first->second -= pool.pilots;
    }
  }

  ScalePlan Make() {
    AddBins();
    for (const size_t index : ClassOrder()) {
      Place(index);
    }
    for (size_t i = 0; i < pools_.size(); ++i) {
      KeepMinimum(i);
    }
    for (const Bin& bin : bins_) {
      if (!bin.used) {
        continue;
      }
      if (bin.worker != kNone) {
        plan_.workers_needed[bin.worker] = true;
      } else if (!bin.is_new) {
        ++plan_.pools[bin.pool].waiting_needed;
      }
    }
    for (ScalePlan::Pool& pool : plan_.pools) {
      pool.start = std::min(pool.start, policy_.start_max);
    }
    return std::move(plan_);
  }

 private:
  // Busy workers first, so that what is surplus is idle.
  void AddBins() {
    std::vector<size_t> order(workers_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [this](size_t a, size_t b) {
      return workers_[a].running > workers_[b].running;
    });
    for (const size_t index : order) {
      const WorkerPlace& worker = workers_[index];
      bins_.push_back({worker.capacity, &worker.labels, worker.time_left, index});
    }
    for (size_t i = 0; i < pools_.size(); ++i) {
      doubtful_left_.push_back(pools_[i].doubtful);
      for (int32_t n = pools_[i].doubtful; n < pools_[i].waiting; ++n) {
        AddPilot(i, false);
      }
    }
  }

  void AddPilot(size_t pool, bool is_new) {
    const PoolSpec& spec = *pools_[pool].spec;
    bins_.push_back(
        {PlannedCapacity(spec), &pool_labels_[pool], UsableTime(spec), kNone, pool, is_new});
  }

  bool Takes(const Labels& has, const DemandClass& demand) const {
    return TakesRequest(has, demand.resources, demand.labels) &&
           !(only_known_ && has.contains(kAnyEnvironmentLabel));
  }

  bool PoolFits(const DemandClass& demand, size_t pool) const {
    return demand.resources.FitsIn(PlannedCapacity(*pools_[pool].spec)) &&
           Takes(pool_labels_[pool], demand);
  }

  bool HasTimeIn(const DemandClass& demand, size_t pool) const {
    return HasTime(demand, UsableTime(*pools_[pool].spec));
  }

  // True if the pool's workers run in the image that the jobs ask for.
  bool IsOfImage(const DemandClass& demand, size_t pool) const {
    const auto wants = demand.labels.find(kImageLabel);
    const auto has = pool_labels_[pool].find(kImageLabel);
    return wants != demand.labels.end() && has != pool_labels_[pool].end() &&
           wants->second == has->second;
  }

  bool HasPoolOfImage(const DemandClass& demand) const {
    for (size_t i = 0; i < pools_.size(); ++i) {
      if (IsOfImage(demand, i) && PoolFits(demand, i) && HasTimeIn(demand, i)) {
        return true;
      }
    }
    return false;
  }

  // Classes of jobs that ask for labels come first: the others can take any worker that is left.
  std::vector<size_t> ClassOrder() const {
    std::vector<size_t> order(demand_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [this](size_t a, size_t b) {
      const DemandClass& x = demand_[a];
      const DemandClass& y = demand_[b];
      const auto rank = [](const DemandClass& one) {
        return std::tuple(one.priority, one.resources.GpuAmount(), one.labels.size(),
                          one.resources.cpu_millis, one.resources.memory_bytes);
      };
      return rank(y) < rank(x);
    });
    return order;
  }

  // The pools for a class: those that are not doubted first, then those of its image, then those
  // with the fewest unneeded GPUs, then as they were listed.
  std::vector<size_t> PoolOrder(const DemandClass& demand) const {
    std::vector<size_t> order;
    for (size_t i = 0; i < pools_.size(); ++i) {
      if (PoolFits(demand, i) && HasTimeIn(demand, i)) {
        order.push_back(i);
      }
    }
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      const auto rank = [&](size_t pool) {
        return std::tuple(pools_[pool].doubted, !IsOfImage(demand, pool),
                          pools_[pool].spec->resources.gpus);
      };
      return rank(a) < rank(b);
    });
    return order;
  }

  void Place(size_t index) {
    const DemandClass& demand = demand_[index];
    uint64_t wanted = PlacesWanted(demand, policy_);
    if (wanted == 0) {
      return;
    }
    only_known_ = false;
    only_known_ = HasPoolOfImage(demand);
    NotePossibility(index);
    for (Bin& bin : bins_) {
      if (wanted == 0) {
        return;
      }
      Fill(demand, bin, &wanted);
    }
    for (const size_t pool : PoolOrder(demand)) {
      if (wanted == 0) {
        return;
      }
      Grow(demand, pool, &wanted);
    }
  }

  void Fill(const DemandClass& demand, Bin& bin, uint64_t* wanted) {
    if (!Takes(*bin.labels, demand) || !HasTime(demand, bin.time_left)) {
      return;
    }
    const uint64_t count = std::min(*wanted, FitCount(demand.resources, bin.free));
    if (count > 0) {
      Take(demand.resources, count, &bin.free);
      *wanted -= count;
      bin.used = true;
    }
  }

  void Grow(const DemandClass& demand, size_t pool, uint64_t* wanted) {
    for (; doubtful_left_[pool] > 0 && *wanted > 0; --doubtful_left_[pool]) {
      AddPilot(pool, false);
      Fill(demand, bins_.back(), wanted);
    }
    if (*wanted == 0) {
      return;
    }
    const PoolPlace& place = pools_[pool];
    ScalePlan::Pool& plan = plan_.pools[pool];
    const uint64_t each = FitCount(demand.resources, PlannedCapacity(*place.spec));
    const uint64_t more = (*wanted + each - 1) / each;
    plan.wanted = static_cast<int32_t>(
        std::min<uint64_t>(static_cast<uint64_t>(plan.wanted) + more, kFitMax));
    if (!place.open) {
      return;
    }
    int32_t& room = rooms_.at(place.spec->name);
    const auto count =
        static_cast<int32_t>(std::min<uint64_t>(more, static_cast<uint64_t>(std::max(0, room))));
    for (int32_t n = 0; n < count; ++n) {
      AddPilot(pool, true);
      Fill(demand, bins_.back(), wanted);
    }
    plan.start += count;
    room -= count;
  }

  void NotePossibility(size_t index) {
    const DemandClass& demand = demand_[index];
    bool fits = false;
    for (const WorkerPlace& worker : workers_) {
      if (demand.resources.FitsIn(worker.capacity) &&
          TakesRequest(worker.labels, demand.resources, demand.labels)) {
        if (worker.time_left == absl::InfiniteDuration()) {
          return;
        }
        fits = true;
      }
    }
    for (size_t i = 0; i < pools_.size(); ++i) {
      if (PoolFits(demand, i)) {
        if (HasTimeIn(demand, i)) {
          return;
        }
        fits = true;
      }
    }
    (fits ? plan_.too_long : plan_.impossible).push_back(index);
  }

  // The minimum holds whatever the demand: pilots that are there first, then new ones.
  void KeepMinimum(size_t index) {
    const PoolPlace& place = pools_[index];
    ScalePlan::Pool& plan = plan_.pools[index];
    int32_t missing = place.spec->workers_min - (place.pilots - place.waiting) - plan.start;
    for (; doubtful_left_[index] > 0 && missing > 0; --doubtful_left_[index]) {
      AddPilot(index, false);
    }
    for (Bin& bin : bins_) {
      if (missing <= 0) {
        break;
      }
      if (bin.pool == index && !bin.is_new) {
        bin.used = true;
        --missing;
      }
    }
    plan.wanted = std::max(plan.wanted, std::max(missing, 0));
    int32_t& room = rooms_.at(place.spec->name);
    const int32_t more = std::min(missing, room);
    if (more > 0 && place.open) {
      plan.start += more;
      room -= more;
    }
  }

  const std::vector<DemandClass>& demand_;
  const std::vector<WorkerPlace>& workers_;
  const std::vector<PoolPlace>& pools_;
  const AutoscalePolicy& policy_;
  std::vector<Labels> pool_labels_;       // labels of each pool's workers; Bin points into it
  std::map<std::string, int32_t> rooms_;  // for new pilots, by the name of the pool
  std::vector<Bin> bins_;
  std::vector<int32_t> doubtful_left_;  // each pool's pilots that have no bin yet
  // A pool is of the image that is wanted: others whose workers may or may not run it are not
  // asked, or those that cannot would be asked for ever.
  bool only_known_ = false;
  ScalePlan plan_;
};

}  // namespace

uint64_t PlacesWanted(const DemandClass& demand, const AutoscalePolicy& policy) {
  const uint64_t jobs = demand.ready + demand.running;
  if (demand.run_time == absl::InfiniteDuration()) {
    return jobs;
  }
  // Jobs that run are half done on average.
  const double work =
      (static_cast<double>(demand.ready) + static_cast<double>(demand.running) / 2) *
      absl::FDivDuration(demand.run_time, policy.worth);
  const double places = std::ceil(std::max(work, jobs > 0 ? 1e-9 : 0.0));
  return std::min(jobs, places >= 1e18 ? jobs : static_cast<uint64_t>(places));
}

uint64_t FitCount(const Resources& request, const Resources& free) {
  const auto count = [](int64_t need, int64_t have) {
    if (have < 0) {
      return uint64_t{0};
    }
    return need <= 0 ? kFitMax : static_cast<uint64_t>(have / need);
  };
  const uint64_t shares =
      request.gpu_share <= 0
          ? kFitMax
          : static_cast<uint64_t>(std::max(free.gpus, 0) * (kGpuShares / request.gpu_share) +
                                  std::max(free.gpu_share, 0) / request.gpu_share);
  return std::min({kFitMax, count(request.cpu_millis, free.cpu_millis),
                   count(request.memory_bytes, free.memory_bytes), count(request.gpus, free.gpus),
                   shares});
}

ScalePlan PlanPools(const std::vector<DemandClass>& demand, const std::vector<WorkerPlace>& workers,
                    const std::vector<PoolPlace>& pools, const AutoscalePolicy& policy) {
  return Planner(demand, workers, pools, policy).Make();
}

}  // namespace concur
