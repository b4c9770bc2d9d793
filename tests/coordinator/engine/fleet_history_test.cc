// SPDX-License-Identifier: Apache-2.0
#include "coordinator/engine/fleet_history.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/coordinator/engine/engine_fixture.h"
#include "tests/testing/test.h"

namespace concur {
namespace {

class FleetHistoryTest : public ::testing::Test {
 protected:
  // Has the history see a worker's row.
  static void Put(FleetHistory& history, const std::string& worker, absl::Time quarantine_end,
                  const std::string& reason = "") {
    Effects effects;
    WorkerRow row;
    row.name = worker;
    row.quarantine_end = quarantine_end;
    row.quarantine_reason = reason;
    effects.batch.put_workers.push_back(row);
    history.OnTurn({}, effects);
  }
  FleetSample Sample(uint64_t ready) {
    FleetSample sample;
    sample.time = clock_.Now();
    sample.jobs_ready = ready;
    return sample;
  }

  SimulatedClock clock_;
};

TEST_F(FleetHistoryTest, AQuarantineIsKeptWithItsReasonFromBeginToEnd) {
  FleetHistory history(clock_);
  const absl::Time begin = clock_.Now();
  Put(history, "w", begin + absl::Minutes(10), "it fails");
  Put(history, "other", absl::InfinitePast());
  auto quarantines = history.Get().quarantines;
  ASSERT_THAT(quarantines, SizeIs(1));
  EXPECT_EQ(quarantines[0].worker, "w");
  EXPECT_EQ(quarantines[0].reason, "it fails");
  EXPECT_EQ(quarantines[0].begin, begin);
  EXPECT_EQ(quarantines[0].end, begin + absl::Minutes(10));

  clock_.Advance(absl::Minutes(1));
  Put(history, "w", begin + absl::Minutes(10), "it fails");  // nothing new
  Put(history, "w", absl::InfinitePast());                   // somebody undid it
  EXPECT_EQ(history.Get().quarantines[0].end, begin + absl::Minutes(1));

  clock_.Advance(absl::Minutes(1));
  Put(history, "w", clock_.Now() + absl::Minutes(20), "again");
  quarantines = history.Get().quarantines;
  ASSERT_THAT(quarantines, SizeIs(2));
  EXPECT_EQ(quarantines[0].reason, "again") << "the latest first";

  clock_.Advance(absl::Hours(1));
  Effects gone;
  gone.batch.delete_workers.push_back("w");
  history.OnTurn({}, gone);
  EXPECT_EQ(history.Get().quarantines[0].end, begin + absl::Minutes(22)) << "as it was to end";
}

TEST_F(FleetHistoryTest, OfARestartOnlyTheBeginIsUnknown) {
  FleetHistory history(clock_);
  WorkerView view;
  view.info.name = "w";
  view.quarantine_reason = "it fails";
  view.quarantine_end = clock_.Now() + absl::Minutes(5);
  WorkerView well;
  well.info.name = "well";
  history.Begin({view, well});
  Put(history, "w", view.quarantine_end, "it fails");
  const auto quarantines = history.Get().quarantines;
  ASSERT_THAT(quarantines, SizeIs(1));
  EXPECT_EQ(quarantines[0].begin, absl::InfinitePast());
  EXPECT_EQ(quarantines[0].end, view.quarantine_end);
}

TEST_F(FleetHistoryTest, OldQuarantinesAreForgotten) {
  FleetHistory history(clock_, {.quarantines_max = 3});
  for (int i = 0; i < 10; ++i) {
    Put(history, absl::StrCat("w", i), clock_.Now() + absl::Seconds(1), "r");
    clock_.Advance(absl::Seconds(2));
    Put(history, absl::StrCat("w", i), absl::InfinitePast());
  }
  const auto quarantines = history.Get().quarantines;
  ASSERT_THAT(quarantines, SizeIs(3));
  EXPECT_EQ(quarantines[0].worker, "w9");
  EXPECT_EQ(quarantines[2].worker, "w7");
}

TEST_F(FleetHistoryTest, ASampleCountsTheWorkersInQuarantine) {
  FleetHistory history(clock_);
  Put(history, "w", clock_.Now() + absl::Seconds(30), "r");
  history.Add(Sample(1));
  clock_.Advance(absl::Minutes(1));
  history.Add(Sample(2));
  const auto samples = history.Get().samples;
  ASSERT_THAT(samples, SizeIs(2));
  EXPECT_EQ(samples[0].workers_quarantined, 1u);
  EXPECT_EQ(samples[1].workers_quarantined, 0u);
}

TEST_F(FleetHistoryTest, SamplesBecomeSparserUntilTheOldestAreDropped) {
  FleetHistory history(
      clock_, {.samples_max = 8, .interval = absl::Seconds(10), .interval_max = absl::Seconds(40)});
  std::vector<uint64_t> first;
  for (uint64_t i = 0; i < 100; ++i) {
    history.Add(Sample(i));
    const auto samples = history.Get().samples;
    ASSERT_LE(samples.size(), 8u);
    if (i == 8) {
      for (const FleetSample& sample : samples) {
        first.push_back(sample.jobs_ready);
      }
    }
    clock_.Advance(absl::Seconds(10));
  }
  EXPECT_THAT(first, ElementsAre(0, 2, 4, 6, 8)) << "every second one, when there were nine";
  const auto samples = history.Get().samples;
  ASSERT_THAT(samples, SizeIs(8));
  for (size_t i = 1; i < samples.size(); ++i) {
    EXPECT_EQ(samples[i].time - samples[i - 1].time, absl::Seconds(40));
  }
  EXPECT_GE(samples.back().jobs_ready, 96u);
}

TEST_F(FleetHistoryTest, ASampleCountsJobsAndPools) {
  Scheduler scheduler{SchedulerPolicy()};
  Pools pools{PoolsPolicy()};
  EXPECT_THAT(FleetHistory::Take(scheduler, pools, clock_.Now()).pools, IsEmpty());
  PoolSpec spec;
  spec.name = "cpu";
  spec.workers_max = 3;
  spec.resources.cpu_millis = 1000;
  ASSERT_OK(pools.AddFromOptions(spec));
  scheduler.AdvanceTo(clock_.Now());
  ASSERT_OK(scheduler.Submit(SubmissionOf(3)));
  const FleetSample sample = FleetHistory::Take(scheduler, pools, clock_.Now());
  EXPECT_EQ(sample.jobs_ready, 3u) << "train jobs; the others wait for them";
  EXPECT_EQ(sample.jobs_running, 0u);
  EXPECT_THAT(sample.pools, ElementsAre(::testing::Key("cpu")));
}

}  // namespace
}  // namespace concur
