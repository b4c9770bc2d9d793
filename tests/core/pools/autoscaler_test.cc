// SPDX-License-Identifier: Apache-2.0
#include "core/pools/autoscaler.h"

#include <string>
#include <vector>

#include "base/random.h"
#include "tests/testing/test.h"

namespace concur {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;

PoolSpec MakePool(const std::string& name, int cpus, int gpus, int min, int max) {
  PoolSpec spec;
  spec.name = name;
  spec.workers_min = min;
  spec.workers_max = max;
  spec.resources = {cpus * 1000, 16 * kGiB, gpus};
  return spec;
}

DemandClass Jobs(uint64_t ready, int cpus = 1, int gpus = 0,
                 absl::Duration run_time = absl::InfiniteDuration()) {
  DemandClass demand;
  demand.resources = {cpus * 1000, kGiB, gpus};
  demand.ready = ready;
  demand.run_time = run_time;
  return demand;
}

WorkerPlace PlaceOf(const std::string& name, int cpus, uint32_t running = 0) {
  WorkerPlace worker;
  worker.name = name;
  worker.capacity = {cpus * 1000, 16 * kGiB, 0};
  worker.running = running;
  return worker;
}

struct Case {
  const char* name;
  std::vector<DemandClass> demand;
  std::vector<WorkerPlace> workers;
  PoolSpec pool;
  PoolPlace place;  // its spec is set by the test
  int32_t start;
  int32_t waiting_needed;
};

TEST(AutoscalerTest, APoolGrowsByWhatJobsNeed) {
  const PoolSpec small = MakePool("small", 4, 0, 0, 10);
  const std::vector<Case> cases = {
      {"nothing waits", {}, {}, small, {nullptr, true, 0, 0}, 0, 0},
      {"one job", {Jobs(1)}, {}, small, {nullptr, true, 0, 0}, 1, 0},
      {"four jobs share a worker", {Jobs(4)}, {}, small, {nullptr, true, 0, 0}, 1, 0},
      {"a fifth takes another", {Jobs(5)}, {}, small, {nullptr, true, 0, 0}, 2, 0},
      {"many jobs stop at the maximum", {Jobs(1000)}, {}, small, {nullptr, true, 0, 0}, 10, 0},
      {"short jobs take few workers",
       {Jobs(10'000, 1, 0, absl::Milliseconds(100))},
       {},
       MakePool("p", 4, 0, 0, 100),
       {nullptr, true, 0, 0},
       5,  // 1,000 s of work, a minute for each of 17 places
       0},
      {"long jobs take a place each",
       {Jobs(12, 1, 0, absl::Hours(2))},
       {},
       small,
       {nullptr, true, 0, 0},
       3,
       0},
      {"pilots under way count", {Jobs(8)}, {}, small, {nullptr, true, 2, 2}, 0, 2},
      {"more pilots under way than needed", {Jobs(3)}, {}, small, {nullptr, true, 4, 4}, 0, 1},
      {"a live worker counts", {Jobs(4)}, {PlaceOf("w", 4)}, small, {nullptr, true, 0, 0}, 0, 0},
      {"a worker of any kind counts",
       {Jobs(6)},
       {PlaceOf("static", 4)},
       small,
       {nullptr, true, 0, 0},
       1,
       0},
      {"a closed pool starts nothing", {Jobs(6)}, {}, small, {nullptr, false, 0, 0}, 0, 0},
      {"pilots that leave take up room", {Jobs(100)}, {}, small, {nullptr, true, 9, 0}, 1, 0},
      {"the minimum stands without jobs",
       {},
       {},
       MakePool("p", 4, 0, 2, 5),
       {nullptr, true, 0, 0},
       2,
       0},
      {"the minimum counts those under way",
       {},
       {},
       MakePool("p", 4, 0, 2, 5),
       {nullptr, true, 1, 1},
       1,
       1},
      {"too large for the pool", {Jobs(3, 8)}, {}, small, {nullptr, true, 0, 0}, 0, 0},
  };
  for (const Case& c : cases) {
    PoolPlace place = c.place;
    place.spec = &c.pool;
    const ScalePlan plan = PlanPools(c.demand, c.workers, {place}, AutoscalePolicy());
    EXPECT_EQ(plan.pools[0].start, c.start) << c.name;
    EXPECT_EQ(plan.pools[0].waiting_needed, c.waiting_needed) << c.name;
  }
}

TEST(AutoscalerTest, JobsWithoutGpusGoWhereNoneAreWasted) {
  const PoolSpec gpu = MakePool("gpu", 8, 4, 0, 10);
  const PoolSpec cpu = MakePool("cpu", 8, 0, 0, 1);
  const ScalePlan plan =
      PlanPools({Jobs(12), Jobs(4, 1, 1)}, {}, {{&gpu}, {&cpu}}, AutoscalePolicy());
  EXPECT_EQ(plan.pools[0].start, 1) << "4 GPU jobs and the 4 CPU jobs that cpu's maximum left";
  EXPECT_EQ(plan.pools[1].start, 1);
}

TEST(AutoscalerTest, AsManySharesOfAGpuArePlannedAsItHolds) {
  DemandClass shares = Jobs(9);
  shares.resources.gpu_share = 40;
  const PoolSpec gpu = MakePool("gpu", 8, 2, 0, 10);
  EXPECT_EQ(FitCount(shares.resources, gpu.resources), 4u);
  const auto free = [](int32_t gpus, int32_t gpu_share) {
    return Resources{
        .cpu_millis = 9000, .memory_bytes = 9 * kGiB, .gpus = gpus, .gpu_share = gpu_share};
  };
  EXPECT_EQ(FitCount(shares.resources, free(1, 60)), 3u);
  EXPECT_EQ(FitCount(shares.resources, free(0, 39)), 0u);
  EXPECT_EQ(FitCount(shares.resources, free(-1, 0)), 0u);
  const ScalePlan plan = PlanPools({shares}, {}, {{&gpu}}, AutoscalePolicy());
  EXPECT_EQ(plan.pools[0].start, 3) << "four on each";
}

// 4 CPU jobs overflowed onto a pool with GPUs.
TEST(AutoscalerTest, APoolThatIsKeptForJobsWithGpusTakesNoOthers) {
  PoolSpec gpu = MakePool("gpu", 8, 4, 0, 10);
  gpu.gpus_min = 1;
  const PoolSpec cpu = MakePool("cpu", 8, 0, 0, 1);
  ScalePlan plan = PlanPools({Jobs(12), Jobs(4, 1, 1)}, {}, {{&gpu}, {&cpu}}, AutoscalePolicy());
  EXPECT_EQ(plan.pools[0].start, 1) << "4 GPU jobs";
  EXPECT_EQ(plan.pools[1].start, 1);
  plan = PlanPools({Jobs(12)}, {}, {{&gpu, true, 1, 1}, {&cpu}}, AutoscalePolicy());
  EXPECT_EQ(plan.pools[0].waiting_needed, 0) << "a pilot on its way is none for them, either";
  WorkerPlace worker = PlaceOf("gpu-1", 8);
  worker.labels = WorkerLabels(gpu);
  plan = PlanPools({Jobs(1)}, {worker}, {{&gpu, true, 1}}, AutoscalePolicy());
  EXPECT_FALSE(plan.workers_needed[0]);
  EXPECT_EQ(plan.impossible, std::vector<size_t>{0});
}

TEST(AutoscalerTest, PilotsThatMayNeverComeCountAfterThePoolsWithoutSuch) {
  const PoolSpec big = MakePool("big", 4, 0, 0, 3);
  const PoolSpec ok = MakePool("ok", 4, 0, 0, 2);
  const PoolPlace stuck = {&big, true, 3, 3, 3, true};
  ScalePlan plan = PlanPools({Jobs(12)}, {}, {stuck, {&ok}}, AutoscalePolicy());
  EXPECT_EQ(plan.pools[0].waiting_needed, 1) << "what ok's maximum left";
  EXPECT_EQ(plan.pools[1].start, 2);
  plan = PlanPools({Jobs(12)}, {}, {stuck}, AutoscalePolicy());
  EXPECT_EQ(plan.pools[0].waiting_needed, 3);
  EXPECT_EQ(plan.pools[0].start, 0);
  PoolSpec lasting = big;
  lasting.workers_min = 2;
  plan = PlanPools({}, {}, {{&lasting, true, 3, 3, 3, true}}, AutoscalePolicy());
  EXPECT_EQ(plan.pools[0].waiting_needed, 2) << "the minimum";
  EXPECT_EQ(plan.pools[0].start, 0);
}

TEST(AutoscalerTest, LabelsChooseAmongPools) {
  PoolSpec a = MakePool("a", 4, 0, 0, 5);
  PoolSpec b = MakePool("b", 4, 0, 0, 5);
  b.labels = {{"disk", "fast"}, {"rack", "b2"}};
  DemandClass picky = Jobs(4);
  picky.labels = {{"disk", "fast"}};
  DemandClass hopeless = Jobs(4);
  hopeless.labels = {{"disk", "slow"}};
  const ScalePlan plan = PlanPools({picky, hopeless}, {}, {{&a}, {&b}}, AutoscalePolicy());
  EXPECT_EQ(plan.pools[0].start, 0);
  EXPECT_EQ(plan.pools[1].start, 1);
  EXPECT_EQ(plan.impossible, std::vector<size_t>{1});
}

TEST(AutoscalerTest, APoolsNameIsALabelOfItsWorkers) {
  PoolSpec a = MakePool("a", 4, 0, 0, 5);
  PoolSpec b = MakePool("b", 4, 0, 0, 5);
  DemandClass there = Jobs(4);
  there.labels = {{"pool", "b"}};
  const ScalePlan plan = PlanPools({there}, {}, {{&a}, {&b}}, AutoscalePolicy());
  EXPECT_EQ(plan.pools[0].start, 0);
  EXPECT_EQ(plan.pools[1].start, 1);
}

TEST(AutoscalerTest, JobsThatTakeAnyWorkerLeaveTheLabeledOnesToThoseThatAskForThem) {
  PoolSpec pool = MakePool("p", 4, 0, 0, 5);
  WorkerPlace plain = PlaceOf("plain", 4);
  WorkerPlace fast = PlaceOf("fast", 4);
  fast.labels = {{"disk", "fast"}};
  fast.running = 3;  // busy workers are filled first
  DemandClass picky = Jobs(4);
  picky.labels = fast.labels;
  const ScalePlan plan = PlanPools({Jobs(4), picky}, {plain, fast}, {{&pool}}, AutoscalePolicy());
  EXPECT_EQ(plan.pools[0].start, 0);
  EXPECT_TRUE(plan.workers_needed[0] && plan.workers_needed[1]);
}

TEST(AutoscalerTest, AJobThatNoTimeLimitAllowsStartsNothing) {
  PoolSpec pool = MakePool("p", 4, 0, 0, 5);
  pool.time_limit = absl::Hours(1);
  const ScalePlan plan =
      PlanPools({Jobs(4, 1, 0, absl::Hours(3))}, {}, {{&pool}}, AutoscalePolicy());
  EXPECT_EQ(plan.pools[0].start, 0);
  EXPECT_EQ(plan.too_long, std::vector<size_t>{0});
}

TEST(AutoscalerTest, AWorkerNearItsEndIsNoPlaceForALongJob) {
  PoolSpec pool = MakePool("p", 4, 0, 0, 5);
  pool.time_limit = absl::Hours(4);
  WorkerPlace old = PlaceOf("old", 4);
  old.time_left = absl::Minutes(10);
  ScalePlan plan =
      PlanPools({Jobs(4, 1, 0, absl::Hours(3))}, {old}, {{&pool, true, 1}}, AutoscalePolicy());
  EXPECT_EQ(plan.pools[0].start, 1);
  EXPECT_FALSE(plan.workers_needed[0]);
  plan = PlanPools({Jobs(4, 1, 0, absl::Minutes(9))}, {old}, {{&pool, true, 1}}, AutoscalePolicy());
  EXPECT_EQ(plan.pools[0].start, 0);
  EXPECT_TRUE(plan.workers_needed[0]);
}

TEST(AutoscalerTest, IdleWorkersAreTheSurplusNotBusyOnes) {
  DemandClass running = Jobs(0);
  running.running = 3;
  const ScalePlan plan =
      PlanPools({running}, {PlaceOf("a", 4), PlaceOf("b", 4, 3)}, {}, AutoscalePolicy());
  EXPECT_FALSE(plan.workers_needed[0]);
  EXPECT_TRUE(plan.workers_needed[1]);
}

TEST(AutoscalerTest, RandomPlansKeepTheirPromises) {
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed, "autoscaler");
    std::vector<PoolSpec> specs;
    for (uint64_t i = 0, n = random.Below(4); i < n; ++i) {
      const int max = static_cast<int>(random.Between(1, 20));
      specs.push_back(MakePool("p" + std::to_string(i), static_cast<int>(random.Between(1, 16)),
                               static_cast<int>(random.Below(3)),
                               static_cast<int>(random.Between(0, max)), max));
    }
    std::vector<PoolPlace> pools;
    for (const PoolSpec& spec : specs) {
      const auto pilots = static_cast<int32_t>(random.Between(0, spec.workers_max));
      pools.push_back(
          {&spec, random.Chance(0.8), pilots, static_cast<int32_t>(random.Between(0, pilots))});
    }
    std::vector<WorkerPlace> workers;
    for (uint64_t i = 0, n = random.Below(5); i < n; ++i) {
      workers.push_back(PlaceOf("w" + std::to_string(i), static_cast<int>(random.Between(1, 8))));
    }
    std::vector<DemandClass> demand;
    for (uint64_t i = 0, n = random.Below(5); i < n; ++i) {
      demand.push_back(Jobs(random.Below(3000), static_cast<int>(random.Between(0, 20)),
                            static_cast<int>(random.Below(3)),
                            random.Chance(0.5) ? absl::Seconds(random.Between(0, 10'000))
                                               : absl::InfiniteDuration()));
    }
    const ScalePlan plan = PlanPools(demand, workers, pools, AutoscalePolicy());
    ASSERT_EQ(plan.pools.size(), pools.size());
    for (size_t i = 0; i < pools.size(); ++i) {
      const ScalePlan::Pool& pool = plan.pools[i];
      EXPECT_GE(pool.start, 0);
      EXPECT_LE(pools[i].pilots + pool.start, specs[i].workers_max);
      EXPECT_LE(pool.waiting_needed, pools[i].waiting);
      EXPECT_TRUE(pools[i].open || pool.start == 0);
      if (pools[i].open) {
        EXPECT_GE(pools[i].pilots + pool.start, specs[i].workers_min);
      }
    }
    // The same question has the same answer.
    const ScalePlan again = PlanPools(demand, workers, pools, AutoscalePolicy());
    for (size_t i = 0; i < pools.size(); ++i) {
      EXPECT_EQ(plan.pools[i].start, again.pools[i].start);
    }
    EXPECT_EQ(plan.workers_needed, again.workers_needed);
  }
}

// A pool whose pilots are of jobs' images: a part each, beside its own.
TEST(AutoscalerTest, PartsOfAPoolTakeJobsOfTheirImageAndShareItsMaximum) {
  PoolSpec own = MakePool("pods", 4, 0, 1, 3);
  own.kubernetes.job_images = true;
  const PoolSpec a = ForImage(own, "a");
  const PoolSpec b = ForImage(own, "b");
  const auto jobs_of = [](const std::string& image, uint64_t count) {
    DemandClass demand = Jobs(count);
    demand.labels = {{kImageLabel, image}};
    return demand;
  };
  const auto starts = [&](const std::vector<DemandClass>& demand, int32_t a_pilots,
                          int32_t a_waiting) {
    const ScalePlan plan =
        PlanPools(demand, {}, {{&own}, {&a, true, a_pilots, a_waiting}, {&b}}, AutoscalePolicy());
    EXPECT_TRUE(plan.impossible.empty());
    return std::vector<int32_t>{plan.pools[0].start, plan.pools[1].start, plan.pools[2].start,
                                plan.pools[1].waiting_needed, plan.pools[2].wanted};
  };
  EXPECT_EQ(starts({}, 0, 0), (std::vector<int32_t>{1, 0, 0, 0, 0})) << "the minimum is its own";
  EXPECT_EQ(starts({jobs_of("a", 4), jobs_of("b", 4)}, 0, 0),
            (std::vector<int32_t>{1, 1, 1, 0, 1}));
  EXPECT_EQ(starts({jobs_of("a", 4), jobs_of("b", 40)}, 0, 0),
            (std::vector<int32_t>{0, 1, 2, 0, 10}));
  EXPECT_EQ(starts({jobs_of("a", 4)}, 1, 1), (std::vector<int32_t>{1, 0, 0, 1, 0}));
  EXPECT_EQ(starts({jobs_of("b", 4)}, 1, 1), (std::vector<int32_t>{1, 0, 1, 0, 1}))
      << "what waits for one image is none of another's";
  EXPECT_EQ(starts({jobs_of("b", 4)}, 3, 1), (std::vector<int32_t>{0, 0, 0, 0, 1}));
  EXPECT_EQ(starts({Jobs(8)}, 0, 0), (std::vector<int32_t>{2, 0, 0, 0, 0}));
}

// Workers of a plain pool may turn out not to run images: they are asked for only if no pool is of
// the image, or if their pool says that they do.
TEST(AutoscalerTest, JobsOfAnImageGetThePoolOfThatImageBeforeOthers) {
  const PoolSpec plain = MakePool("a-plain", 4, 0, 0, 9);
  PoolSpec pods = MakePool("pods", 4, 0, 0, 2);
  pods.kubernetes.job_images = true;
  const PoolSpec of_image = ForImage(pods, "i");
  PoolSpec sandbox = MakePool("a-sandbox", 4, 0, 0, 9);
  sandbox.labels = {{kRootLabel, "yes"}, {kRegistryLabel, "yes"}};
  DemandClass demand = Jobs(40);
  demand.labels = {{kImageLabel, "i"}};
  const auto starts = [&](const std::vector<PoolPlace>& pools) {
    const ScalePlan plan = PlanPools({demand, Jobs(4)}, {}, pools, AutoscalePolicy());
    EXPECT_TRUE(plan.impossible.empty());
    std::vector<int32_t> counts;
    for (const ScalePlan::Pool& pool : plan.pools) {
      counts.push_back(pool.start);
    }
    return counts;
  };
  EXPECT_EQ(starts({{&plain}, {&pods}, {&of_image}}), (std::vector<int32_t>{1, 0, 2}));
  EXPECT_EQ(starts({{&plain, true, 1, 1}, {&pods}, {&of_image}}), (std::vector<int32_t>{0, 0, 2}))
      << "a worker that waits is the other jobs'";
  EXPECT_EQ(starts({{&sandbox}, {&of_image}}), (std::vector<int32_t>{9, 2}));
  EXPECT_EQ(starts({{&plain}}), (std::vector<int32_t>{9}));
  demand.resources.cpu_millis = 8000;
  const PoolSpec large = MakePool("large", 8, 0, 0, 3);
  EXPECT_EQ(starts({{&large}, {&of_image}}), (std::vector<int32_t>{3, 0})) << "pods are too small";
}

}  // namespace
}  // namespace concur
