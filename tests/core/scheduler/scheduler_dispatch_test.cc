// SPDX-License-Identifier: Apache-2.0
// Which job goes to which worker, when durations, owners and systems make the difference.

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "core/scheduler/reason_text.h"
#include "tests/core/scheduler/scheduler_harness.h"
#include "tests/core/sweep/sweep_builder.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

constexpr absl::Duration kShort = absl::Milliseconds(10);

class DispatchTest : public ::testing::Test {
 protected:
  FakeWorker& AddWorker(const std::string& name, int64_t cpus = 1, uint32_t queue_max = 0) {
    auto worker = std::make_unique<FakeWorker>(name, Resources{.cpu_millis = 1000 * cpus});
    worker->info().queue_max = queue_max;
    return *(workers_[name] = std::move(worker));
  }
  SweepId Submit(SweepSpec spec, const std::string& owner = "me") {
    absl::StatusOr<SweepId> id =
        harness_.Submit(std::move(spec), absl::StrCat("spec ", submitted_++), owner);
    CONCUR_CHECK_OK(id.status());
    return *id;
  }
  uint64_t ReadyJobs() {
    return harness_.scheduler().views().CountAll().jobs[static_cast<size_t>(JobState::kReady)];
  }
  // One Sync of each of these workers; returns what was started, by worker.
  std::map<std::string, std::vector<std::string>> Sync(const std::vector<std::string>& names) {
    harness_.Advance(absl::Seconds(1));
    std::map<std::string, uint64_t> sequences;
    for (const std::string& name : names) {
      const SyncRequest request = workers_.at(name)->MakeRequest();
      CONCUR_CHECK_OK(harness_.scheduler().Sync(request));
      harness_.parked().insert(name);
      sequences[name] = request.sequence;
    }
    std::map<std::string, std::vector<std::string>> started;
    for (const auto& [name, orders] : harness_.EndTurn().answers) {
      workers_.at(name)->TakeAnswer(sequences.at(name), orders);
      for (const WorkerOrders::Start& start : orders.start) {
        started[name].push_back(ShortText(start.id));
      }
    }
    return started;
  }
  // Ends everything that a worker runs, each after `run_time`.
  void FinishAll(const std::string& name, absl::Duration run_time = kShort) {
    FakeWorker& worker = *workers_.at(name);
    for (const AttemptId& id : std::set<AttemptId>(worker.running())) {
      const bool is_train = harness_.scheduler()
                                .views()
                                .FindSweep(id.job.sweep)
                                ->expansion->Locate(id.job.index)
                                .is_train;
      JobResult result = SuccessOf(id, is_train);
      result.run_time = run_time;
      worker.Finish(id, std::move(result));
    }
  }
  // Untrained approach "r" on `benchmarks`, `seeds` seeds: one eval job each, seeds outside.
  static SweepSpec Evals(std::vector<std::string> benchmarks, int seeds) {
    SweepSpec spec;
    spec.name = "evals";
    spec.approaches = {UntrainedApproach("r")};
    for (const std::string& name : benchmarks) {
      spec.benchmarks.push_back(Benchmark(name, /*train=*/false));
    }
    spec.seeds.clear();
    for (int i = 1; i <= seeds; ++i) {
      spec.seeds.push_back(i);
    }
    return spec;
  }

  SchedulerHarness harness_{SchedulerPolicy{}};
  std::map<std::string, std::unique_ptr<FakeWorker>> workers_;
  int submitted_ = 0;
};

TEST_F(DispatchTest, WhatIsExpectedToTakeLongestGoesFirst) {
  AddWorker("w1");
  Submit(Evals({"quick", "slow"}, 1));
  for (const auto& [seconds, job] : {std::pair(1, "s1/0#1"), std::pair(60, "s1/1#1")}) {
    EXPECT_THAT(Sync({"w1"})["w1"], ElementsAre(job));
    FinishAll("w1", absl::Seconds(seconds));
  }
  Sync({"w1"});
  SweepSpec next = Evals({"quick", "slow"}, 1);
  next.seeds = {7, 8};  // jobs 0 and 2 are of "quick", 1 and 3 of "slow"
  Submit(next);
  std::vector<std::string> order;
  for (int i = 0; i < 4; ++i) {
    const std::vector<std::string> started = Sync({"w1"})["w1"];
    order.insert(order.end(), started.begin(), started.end());
    FinishAll("w1", absl::Seconds(30));
  }
  EXPECT_THAT(order, ElementsAre("s2/1#1", "s2/3#1", "s2/0#1", "s2/2#1"));
}

TEST_F(DispatchTest, DurationsAreKnownAfterARestart) {
  AddWorker("w1");
  Submit(Evals({"quick", "slow"}, 1));
  Sync({"w1"});
  FinishAll("w1", absl::Seconds(1));
  Sync({"w1"});
  FinishAll("w1", absl::Seconds(60));
  Sync({"w1"});
  harness_.RestartCoordinator();
  const Durations& durations = harness_.scheduler().views().durations();
  ASSERT_EQ(durations.size(), 2u);
  EXPECT_EQ(durations.Expected(0)->mean, absl::Seconds(1));
  EXPECT_EQ(durations.Expected(1)->mean, absl::Seconds(60));
  harness_.scheduler().CheckInvariants();
}

TEST_F(DispatchTest, OwnersOfEqualPriorityShareTheMachines) {
  AddWorker("w1", /*cpus=*/4);
  Submit(Evals({"x"}, 9), "ann");
  Submit(Evals({"y"}, 9), "bob");
  EXPECT_THAT(Sync({"w1"})["w1"], UnorderedElementsAre("s1/0#1", "s1/1#1", "s2/0#1", "s2/1#1"));
}

// A container has the programs of its image, and no others.
TEST_F(DispatchTest, AWorkerInAnImageTakesTheJobsOfThatImageAlone) {
  const auto submit = [this](char name) {
    SweepSpec spec = Evals({absl::StrCat("of-", std::string(1, name))}, 9);
    Environment& image = spec.approaches[0].environment.emplace();
    image.kind = EnvironmentKind::kImage;
    image.reference = absl::StrCat("registry/i@sha256:", std::string(64, name));
    Submit(std::move(spec));
    return image.reference;
  };
  const std::string image = submit('a');
  submit('b');
  Submit(Evals({"plain"}, 1));
  AddWorker("in-image").info().labels = {{"environment.image", image}};
  EXPECT_THAT(Sync({"in-image"})["in-image"], ElementsAre("s1/0#1"));
  EXPECT_THAT(ReasonText(harness_.scheduler().views().ReasonOf({SweepId{2}, 0})),
              HasSubstr("waits for a worker with environment.image=registry/i@sha256:bb"));
  AddWorker("plain", /*cpus=*/9);
  EXPECT_THAT(Sync({"plain"})["plain"], ElementsAre("s3/0#1"));
  AddWorker("sandbox", /*cpus=*/30).info().labels = {{"environment.root", "yes"},
                                                     {"environment.registry", "yes"}};
  EXPECT_THAT(Sync({"sandbox"})["sandbox"], SizeIs(8 + 9));
}

TEST_F(DispatchTest, AHigherPriorityGoesBeforeAFairShare) {
  AddWorker("w1", /*cpus=*/3);
  Submit(Evals({"x"}, 2), "ann");
  SweepSpec urgent = Evals({"y"}, 5);
  urgent.priority = 1;
  Submit(urgent, "bob");
  EXPECT_THAT(Sync({"w1"})["w1"], ElementsAre("s2/0#1", "s2/1#1", "s2/2#1"));
}

TEST_F(DispatchTest, AnEvalJobGoesToTheWorkerThatMadeItsSystem) {
  AddWorker("w1");
  AddWorker("w2");
  SweepSpec spec;
  spec.name = "s";
  spec.approaches = {TrainedApproach("a")};
  spec.benchmarks = {Benchmark("x")};
  spec.train_sets = {PlainTrainSet(spec, 0)};
  spec.seeds = {1, 2};  // train jobs 0 and 2, their eval jobs 1 and 3
  Submit(spec);
  auto started = Sync({"w1", "w2"});
  EXPECT_THAT(started["w1"], ElementsAre("s1/0#1"));
  EXPECT_THAT(started["w2"], ElementsAre("s1/2#1"));
  FinishAll("w1");
  FinishAll("w2");
  started = Sync({"w1", "w2"});
  EXPECT_THAT(started["w1"], ElementsAre("s1/1#1"));
  EXPECT_THAT(started["w2"], ElementsAre("s1/3#1"));
}

TEST_F(DispatchTest, ABusyWorkerIsGivenShortJobsAhead) {
  AddWorker("w1", 1, /*queue_max=*/3);
  Submit(Evals({"x"}, 20));
  EXPECT_THAT(Sync({"w1"})["w1"], SizeIs(1)) << "nobody knows yet how long they take";
  FinishAll("w1");
  EXPECT_THAT(Sync({"w1"})["w1"], SizeIs(4));
  const WorkerView view = harness_.scheduler().views().ListWorkers()[0];
  EXPECT_EQ(view.running, 1u);
  EXPECT_EQ(view.queued, 3u);
  EXPECT_EQ(view.used.cpu_millis, 1000);
  EXPECT_THAT(ReasonText(harness_.scheduler().views().ReasonOf(JobId{{1}, 4})),
              HasSubstr("waits for something to end on worker w1"));
  // As one ends another one takes its room, and one more is given.
  workers_["w1"]->Finish(AttemptId{{{1}, 1}, {1}}, SuccessOf(AttemptId{{{1}, 1}, {1}}, false));
  EXPECT_THAT(Sync({"w1"})["w1"], SizeIs(1));
  EXPECT_EQ(harness_.scheduler().views().ListWorkers()[0].running, 1u);
  EXPECT_EQ(harness_.scheduler().views().ListWorkers()[0].queued, 3u);
}

// "251 running" was said of two workers with one CPU each.
TEST_F(DispatchTest, ASweepTellsJobsThatWereGivenAheadFromThoseThatRun) {
  AddWorker("w1", 1, /*queue_max=*/3);
  Submit(Evals({"x"}, 20));
  Sync({"w1"});
  FinishAll("w1");
  Sync({"w1"});
  const auto counts = [this] {
    const SweepView sweep = *harness_.scheduler().views().FindSweep({1});
    return std::make_pair(sweep.counts[static_cast<size_t>(JobState::kRunning)], sweep.queued);
  };
  EXPECT_EQ(counts(), std::make_pair(4u, 3u));
  harness_.scheduler().TakeEffects();
  workers_["w1"]->Finish(AttemptId{{{1}, 1}, {1}}, SuccessOf(AttemptId{{{1}, 1}, {1}}, false));
  Sync({"w1"});
  EXPECT_EQ(counts(), std::make_pair(4u, 3u));
  ASSERT_OK(harness_.scheduler().CancelSweep({1}));
  EXPECT_EQ(counts(), std::make_pair(0u, 0u));
  harness_.scheduler().CheckInvariants();
}

TEST_F(DispatchTest, NothingIsGivenAheadWhileSomebodyHasRoom) {
  AddWorker("w1", 1, /*queue_max=*/10);
  AddWorker("w2", 2);
  Submit(Evals({"x"}, 4));
  Sync({"w1"});
  FinishAll("w1");
  auto started = Sync({"w1", "w2"});
  EXPECT_THAT(started["w1"], SizeIs(1));
  EXPECT_THAT(started["w2"], SizeIs(2));
}

TEST_F(DispatchTest, OnlyAsMuchIsGivenAheadAsKeepsAWorkerBusyForAMoment) {
  AddWorker("w1", 1, /*queue_max=*/1000);
  Submit(Evals({"x"}, 500));
  Sync({"w1"});
  FinishAll("w1", absl::Milliseconds(20));
  EXPECT_THAT(Sync({"w1"})["w1"], SizeIs(1 + 10));  // 200 ms of work
}

TEST_F(DispatchTest, OfJobsOfASecondOneIsGivenAhead) {
  AddWorker("w1", 2, /*queue_max=*/10);
  Submit(Evals({"x"}, 8));
  Sync({"w1"});
  FinishAll("w1", absl::Seconds(1.2));
  EXPECT_THAT(Sync({"w1"})["w1"], SizeIs(2 + 1));
}

// It would wait there until one of them ends, while others become free.
TEST_F(DispatchTest, NothingIsGivenAheadToAWorkerThatRunsLongJobsAlone) {
  AddWorker("w1", 1, /*queue_max=*/10);
  SweepSpec trains = Evals({"y"}, 1);
  trains.approaches[0].name = "long";
  Submit(trains);
  EXPECT_THAT(Sync({"w1"})["w1"], SizeIs(1));  // nobody knows how long it takes
  AddWorker("w2", 1, /*queue_max=*/10);
  Submit(Evals({"x"}, 10));
  Sync({"w2"});
  FinishAll("w2");
  auto started = Sync({"w1", "w2"});
  EXPECT_THAT(started["w1"], IsEmpty());
  EXPECT_THAT(started["w2"], SizeIs(::testing::Gt(1u)));
}

TEST_F(DispatchTest, WhatIsGivenAheadHasRoomOnceTheShortJobsEnd) {
  AddWorker("w1", 4, /*queue_max=*/100);
  SweepSpec longs = Evals({"y"}, 3);
  longs.approaches[0].name = "long";
  Submit(longs);
  EXPECT_THAT(Sync({"w1"})["w1"], SizeIs(3));
  Submit(Evals({"x"}, 100));
  Sync({"w1"});
  for (const AttemptId& id : std::set<AttemptId>(workers_["w1"]->running())) {
    if (id.job.sweep.number == 2) {
      JobResult result = SuccessOf(id, false);
      result.run_time = absl::Milliseconds(20);
      workers_["w1"]->Finish(id, std::move(result));
    }
  }
  EXPECT_THAT(Sync({"w1"})["w1"], SizeIs(1 + 10));  // 200 ms of one CPU, not of four
  SweepSpec wide = Evals({"x"}, 100);
  wide.priority = 1;
  wide.approaches[0].predict_resources.cpu_millis = 2000;
  Submit(wide);
  harness_.scheduler().CheckInvariants();
  EXPECT_THAT(Sync({"w1"})["w1"], IsEmpty());
  ASSERT_OK(harness_.scheduler().CancelSweep({2}));  // nothing short that goes on is left
  EXPECT_THAT(Sync({"w1"})["w1"], IsEmpty());
  harness_.scheduler().CheckInvariants();
}

TEST_F(DispatchTest, LongJobsAndThoseWithGpusAreNotGivenAhead) {
  AddWorker("w1", 1, /*queue_max=*/10);
  workers_["w1"]->info().capacity.gpus = 1;
  SweepSpec gpus = Evals({"y"}, 5);
  gpus.approaches[0].name = "g";
  gpus.approaches[0].predict_resources = {.cpu_millis = 1000, .memory_bytes = 0, .gpus = 1};
  for (const SweepSpec& spec : {Evals({"x"}, 5), gpus}) {
    const SweepId id = Submit(spec);
    EXPECT_THAT(Sync({"w1"})["w1"], SizeIs(1));
    FinishAll("w1", id.number == 1 ? absl::Seconds(3) : kShort);
    EXPECT_THAT(Sync({"w1"})["w1"], SizeIs(1));
    CONCUR_CHECK_OK(harness_.scheduler().CancelSweep(id));
    for (const AttemptId& attempt : std::set<AttemptId>(workers_["w1"]->running())) {
      workers_["w1"]->Drop(attempt);
    }
    Sync({"w1"});
  }
}

TEST_F(DispatchTest, JobsShareAGpuUntilItIsFull) {
  FakeWorker& worker = AddWorker("w1", 8);
  worker.info().capacity.gpus = 2;
  SweepSpec shares = Evals({"x"}, 6);
  shares.approaches[0].predict_resources = {
      .cpu_millis = 1000, .memory_bytes = 0, .gpus = 0, .gpu_share = 40};
  Submit(shares);
  Sync({"w1"});
  std::vector<int> on_gpu(2);
  for (const AttemptId& id : worker.running()) {
    const uint64_t gpus = worker.GpusOf(id);
    ASSERT_TRUE(gpus == 1 || gpus == 2) << gpus;
    ++on_gpu[gpus - 1];
  }
  EXPECT_THAT(on_gpu, ElementsAre(2, 2));
  SweepSpec whole = Evals({"y"}, 1);
  whole.approaches[0].predict_resources = {.cpu_millis = 1000, .memory_bytes = 0, .gpus = 1};
  const SweepId waits = Submit(whole);
  EXPECT_THAT(Sync({"w1"})["w1"], IsEmpty());
  EXPECT_THAT(ReasonText(harness_.scheduler().views().ReasonOf({waits, 0})),
              HasSubstr("waits for room"));
}

TEST_F(DispatchTest, WhatWasGivenAheadReturnsToTheQueueWhenItsWorkerIsLost) {
  AddWorker("w1", 1, /*queue_max=*/3);
  Submit(Evals({"x"}, 20));
  Sync({"w1"});
  FinishAll("w1");
  Sync({"w1"});
  EXPECT_EQ(ReadyJobs(), 15u);
  harness_.Advance(absl::Minutes(2));
  harness_.EndTurn();
  EXPECT_EQ(ReadyJobs(), 19u);
}

// As after a backup was restored: the worker goes on with attempts that came later.
TEST_F(DispatchTest, ANewAttemptIsNoneThatItsWorkerListsAlready) {
  FakeWorker& worker = AddWorker("w1", /*cpus=*/4);
  const SweepId id = Submit(Evals({"b"}, 1));
  SyncRequest request = worker.MakeRequest();
  request.running = {AttemptId{{id, 0}, {1}}, AttemptId{{id, 0}, {2}}};
  ASSERT_OK(harness_.scheduler().Sync(request));
  harness_.parked().insert("w1");
  const SchedulerHarness::Turn turn = harness_.EndTurn();
  const WorkerOrders& orders = turn.answers.at("w1");
  EXPECT_THAT(orders.stop, SizeIs(2));
  ASSERT_THAT(orders.start, SizeIs(1));
  EXPECT_EQ(orders.start[0].id, (AttemptId{{id, 0}, {3}}));
}

}  // namespace
}  // namespace concur::testing
