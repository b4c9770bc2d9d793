// SPDX-License-Identifier: Apache-2.0
#include "core/pools/pools.h"

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/core/pools/pool_simulation.h"
#include "tests/core/pools/pool_specs.h"
#include "tests/testing/test.h"

namespace concur {
namespace {

using ::concur::testing::AddPool;
using ::concur::testing::ExplanationOf;
using ::concur::testing::ImageOf;
using ::concur::testing::MakePods;
using ::concur::testing::MakeSpec;
using ::concur::testing::PoolBug;
using ::concur::testing::PoolFaults;
using ::concur::testing::PoolSimulation;

struct PoolsBadSpec {
  const char* message;
  void (*spoil)(PoolSpec&);
};

TEST(PoolsTest, BadPoolsAreRefusedByField) {
  const std::vector<PoolsBadSpec> cases = {
      {"name: ", [](PoolSpec& s) { s.name = "a b"; }},
      {"name: expected at most 40 bytes", [](PoolSpec& s) { s.name = std::string(41, 'a'); }},
      {"workers.max: expected 1 to 10000, got 0", [](PoolSpec& s) { s.workers_max = 0; }},
      {"workers.min: expected 0 to workers.max", [](PoolSpec& s) { s.workers_min = 11; }},
      {"resources: expected some CPU", [](PoolSpec& s) { s.resources.cpu_millis = 0; }},
      {"resources.gpus: expected 0 to 64", [](PoolSpec& s) { s.resources.gpus = 65; }},
      {"time_limit: expected at least 1m", [](PoolSpec& s) { s.time_limit = absl::Seconds(59); }},
      {"drain_margin: expected at most half",
       [](PoolSpec& s) {
         s.time_limit = absl::Minutes(10);
         s.drain_margin = absl::Minutes(6);
       }},
      {"idle_timeout: expected at least 1s", [](PoolSpec& s) { s.idle_timeout = {}; }},
      {"labels: expected names without \"=\"",
       [](PoolSpec& s) {
         s.labels = {{"a=b", "c"}};
       }},
      {"labels.a: expected at most 200 bytes",
       [](PoolSpec& s) {
         s.labels = {{"a", std::string(201, 'b')}};
       }},
      {"drain_margin: expected",
       [](PoolSpec& s) {
         s.time_limit = absl::InfiniteDuration();
         s.drain_margin = absl::Hours(24 * 365 * 11);
       }},
      {"setup[0]: expected one line", [](PoolSpec& s) { s.setup = {"a\nb"}; }},
      {"slurm.arguments[1]: expected no --job-name",
       [](PoolSpec& s) {
         s.slurm.arguments = {"--mem=1G", "--job-name=mine"};
       }},
      {"kubernetes.node_selector: expected a label such as nvidia.com/gpu.product: A100, got \"a b",
       [](PoolSpec& s) {
         s.kubernetes.node_selector = {{"nvidia.com/gpu.product", "A100"}, {"a b", "c"}};
       }},
      {"kubernetes.tolerations[0].effect: expected NoSchedule",
       [](PoolSpec& s) {
         s.kubernetes.tolerations = {{"a", "b", "Never"}};
       }},
      {"kubernetes.tolerations[0].key: expected the key whose value is \"b\"",
       [](PoolSpec& s) {
         s.kubernetes.tolerations = {{"", "b", ""}};
       }},
      {"kubernetes.tolerations: expected at most 100, got 101",
       [](PoolSpec& s) { s.kubernetes.tolerations.resize(101); }},
      {"kubernetes.volumes[0].path: expected an absolute path",
       [](PoolSpec& s) {
         s.kubernetes.volumes = {{VolumeKind::kClaim, "c", 0, "data", "", false}};
       }},
      {"kubernetes.volumes[0].path: expected a place where nothing else is mounted, got \"/tmp\"",
       [](PoolSpec& s) {
         s.kubernetes.volumes = {{VolumeKind::kClaim, "c", 0, "/tmp", "", false}};
       }},
      {"kubernetes.volumes[1].path: expected a place where nothing else",
       [](PoolSpec& s) {
         s.kubernetes.volumes.assign(2, {VolumeKind::kClaim, "c", 0, "/data", "", false});
       }},
      {"kubernetes.volumes[0].claim: expected its name",
       [](PoolSpec& s) {
         s.kubernetes.volumes = {{VolumeKind::kClaim, "", 0, "/data", "", false}};
       }},
      {"kubernetes.volumes[0].memory: expected how much memory",
       [](PoolSpec& s) {
         s.kubernetes.volumes = {{VolumeKind::kMemory, "", 0, "/dev/shm", "", false}};
       }},
      {"kubernetes.volumes[0].host_path: expected an absolute path of the node, got \"../x\"",
       [](PoolSpec& s) {
         s.kubernetes.volumes = {{VolumeKind::kHostPath, "../x", 0, "/data", "", false}};
       }},
      {"kubernetes.volumes[0].sub_path: expected a path within the volume",
       [](PoolSpec& s) {
         s.kubernetes.volumes = {{VolumeKind::kClaim, "c", 0, "/data", "/etc", false}};
       }},
      {"kubernetes.image_pull_secrets[0]: expected one line",
       [](PoolSpec& s) { s.kubernetes.image_pull_secrets = {"a\nb"}; }},
      {"accept.gpus_min: expected 0 to the GPUs of a worker, 0, got 1",
       [](PoolSpec& s) { s.gpus_min = 1; }},
      {"env_pass[1]: expected the name of a variable",
       [](PoolSpec& s) {
         s.env_pass = {"A*", "*"};
       }},
      {"env_pass[0]: expected no variable of Concur's own",
       [](PoolSpec& s) { s.env_pass = {"CONCUR_*"}; }},
      {"kubernetes.affinity: expected one line",
       [](PoolSpec& s) { s.kubernetes.affinity = "{\n}"; }},
      {"slurm.array_max: expected 1 to 1000", [](PoolSpec& s) { s.slurm.array_max = 0; }},
  };
  for (const PoolsBadSpec& bad : cases) {
    PoolSpec spec = MakeSpec();
    bad.spoil(spec);
    Pools pools{PoolsPolicy()};
    EXPECT_THAT(pools.Add(spec, "x"),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(bad.message)));
    EXPECT_TRUE(pools.empty());
  }
}

TEST(PoolsTest, APoolIsAddedOnce) {
  Pools pools{PoolsPolicy()};
  EXPECT_OK(pools.Add(MakeSpec(), "x"));
  EXPECT_OK(pools.Add(MakeSpec(), "x")) << "the call was repeated";
  EXPECT_THAT(pools.Add(MakeSpec("cpu", 1), "y"),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("remove it first")));
  EXPECT_THAT(pools.Pause("gpu", ""), StatusIs(absl::StatusCode::kNotFound, HasSubstr("no pool")));
  EXPECT_THAT(pools.ReasonsOf("gpu"), StatusIs(absl::StatusCode::kNotFound, HasSubstr("no pool")));
}

TEST(PoolsTest, APoolOfTheOptionsIsNotRemoved) {
  Pools pools{PoolsPolicy()};
  ASSERT_OK(pools.AddFromOptions(MakeSpec()));
  EXPECT_THAT(pools.Remove("cpu", false),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("options")));
}

TEST(PoolsTest, ItGrowsRunsAndShrinksToNothing) {
  PoolSimulation sim(1, {});
  AddPool(sim, MakeSpec("cpu", 0, 30));
  sim.AddJobs(100, absl::Seconds(20));
  sim.Step();
  EXPECT_EQ(sim.started(), 9) << "2,000 s of work in places of a minute, 4 a worker";
  ASSERT_TRUE(sim.RunToEnd(0)) << ExplanationOf(sim.pools());
  EXPECT_LE(sim.started(), 12) << "a few more while run times are guessed";
}

TEST(PoolsTest, ALastingTrickleOfJobsStartsFewWorkers) {
  PoolSimulation sim(1, {});
  AddPool(sim, MakeSpec());
  for (int i = 0; i < 360; ++i) {
    sim.AddJobs(1, absl::Seconds(5));
    sim.Steps(10);
  }
  EXPECT_LE(sim.started(), 2) << "workers that come and go cost more than they do";
}

TEST(PoolsTest, TheMinimumStaysAndTheRestGoes) {
  PoolSimulation sim(1, {});
  AddPool(sim, MakeSpec("cpu", 2, 10));
  sim.AddJobs(40, absl::Minutes(2));
  ASSERT_TRUE(sim.RunToEnd(2));
  sim.Steps(2000);
  EXPECT_EQ(sim.alive(), 2);
}

TEST(PoolsTest, WhatWaitsInVainIsCalledOff) {
  PoolSimulation sim(1, {});
  sim.SetSlots(1);  // the cluster is full
  AddPool(sim, MakeSpec());
  sim.AddJobs(40, absl::Seconds(10));
  sim.Steps(10);
  EXPECT_THAT(ExplanationOf(sim.pools()), HasSubstr("1 worker waits: Priority"));
  ASSERT_TRUE(sim.RunToEnd(0));
}

TEST(PoolsTest, RefusalsBackOffAndThenPauseThePoolWithTheReason) {
  PoolSimulation sim(1, {.refuse = 1});
  AddPool(sim, MakeSpec());
  sim.AddJobs(4, absl::Seconds(10));
  sim.Steps(3);
  EXPECT_THAT(ExplanationOf(sim.pools()), HasSubstr("starts nothing before"));
  EXPECT_THAT(ExplanationOf(sim.pools()), HasSubstr("invalid account"));
  sim.Steps(600);
  EXPECT_THAT(ExplanationOf(sim.pools()),
              HasSubstr("paused: 5 starts in a row failed, the last one: invalid account"));
  EXPECT_EQ(sim.started(), 5) << "one worker each time";
  sim.Steps(3600);
  EXPECT_EQ(sim.started(), 5) << "a paused pool stays paused";
  sim.SetFaults({});
  ASSERT_OK(sim.pools().Resume("cpu"));
  EXPECT_TRUE(sim.RunToEnd(0));
}

// Workers that live for some seconds each: a pool whose workers leave by themselves is paused, one
// whose cluster takes its nodes back is not.
TEST(PoolsTest, WorkersThatTheirProviderTakesBackAreNoFailuresOfThePool) {
  for (const bool taken_back : {false, true}) {
    PoolSimulation sim(1, {.leave = 0.3, .taken_back = taken_back});
    AddPool(sim, MakeSpec());
    sim.AddJobs(4, absl::Hours(1));
    sim.Steps(3600);
    const std::optional<PoolView> pool = sim.pools().Find("cpu");
    ASSERT_TRUE(pool.has_value());
    EXPECT_EQ(pool->paused, !taken_back);
    EXPECT_EQ(pool->failures, taken_back ? 0 : 5);
    sim.SetFaults({});
    if (pool->paused) {
      ASSERT_OK(sim.pools().Resume("cpu"));
    }
    EXPECT_TRUE(sim.RunToEnd(0));
  }
}

TEST(PoolsTest, ABatchThatFailsTogetherCountsOnce) {
  PoolSimulation sim(1, {.refuse = 1});
  AddPool(sim, MakeSpec());
  sim.AddJobs(40, absl::Hours(1));
  sim.Steps(3);
  EXPECT_EQ(sim.pools().Find("cpu")->failures, 1);
  EXPECT_EQ(sim.started(), 10);
}

TEST(PoolsTest, AWorkerThatNeverComesIsStoppedAndSaidSo) {
  PoolSimulation sim(1, {.never_join = 1});
  AddPool(sim, MakeSpec());
  sim.AddJobs(4, absl::Seconds(10));
  sim.Steps(700);
  EXPECT_THAT(ExplanationOf(sim.pools()), HasSubstr("its worker has not called within 10m"));
  sim.SetFaults({});
  EXPECT_TRUE(sim.RunToEnd(0));
}

TEST(PoolsTest, APilotThatItsProviderForgotIsReplaced) {
  PoolSimulation sim(1, {});
  sim.SetSlots(0);
  AddPool(sim, MakeSpec());
  sim.AddJobs(4, absl::Seconds(10));
  sim.Steps(20);
  EXPECT_EQ(sim.alive(), 1);
  sim.ForgetQueue();
  EXPECT_EQ(sim.alive(), 0);
  sim.SetSlots(10);
  EXPECT_TRUE(sim.RunToEnd(0));
  EXPECT_EQ(sim.started(), 2);
}

TEST(PoolsTest, ALostAnswerIsNoSecondStart) {
  PoolSimulation sim(1, {.lose_answer = 1});
  AddPool(sim, MakeSpec());
  sim.AddJobs(4, absl::Minutes(5));
  ASSERT_TRUE(sim.RunToEnd(0));
  EXPECT_EQ(sim.started(), 1);
}

TEST(PoolsTest, AnUnreachableProviderStartsNothingAndKeepsWhatRuns) {
  PoolSimulation sim(1, {});
  AddPool(sim, MakeSpec());
  sim.AddJobs(4, absl::Minutes(30));
  sim.Steps(30);
  sim.SetFaults({.blind = 1});
  sim.Steps(10);
  sim.AddJobs(4, absl::Minutes(1));
  sim.Steps(600);
  EXPECT_EQ(sim.alive(), 1);
  EXPECT_THAT(ExplanationOf(sim.pools()), HasSubstr("has not answered since"));
  sim.SetFaults({});
  EXPECT_TRUE(sim.RunToEnd(0));
}

TEST(PoolsTest, ARestartAdoptsWhatWasStarted) {
  PoolSimulation sim(1, {});
  AddPool(sim, MakeSpec());
  sim.AddJobs(40, absl::Minutes(5));
  sim.Steps(2);
  sim.Restart();
  sim.Steps(2);
  sim.Restart();
  sim.Steps(60);
  sim.Restart();
  ASSERT_TRUE(sim.RunToEnd(0));
  EXPECT_EQ(sim.started(), 10);
}

TEST(PoolsTest, WorkersThatDoNotCallAreNamed) {
  PoolSimulation sim(1, {});
  AddPool(sim, MakeSpec());
  sim.AddJobs(8, absl::Hours(1));
  sim.Steps(200);
  EXPECT_THAT(ExplanationOf(sim.pools()), Not(HasSubstr("not call")));
  sim.Restart();
  EXPECT_THAT(
      ExplanationOf(sim.pools()),
      HasSubstr("cpu-1, cpu-2 are silent, but their provider still has them: they are stopped 5m "
                "after the last lease, unless they call again"));
  sim.Step();
  EXPECT_THAT(ExplanationOf(sim.pools()), Not(HasSubstr("not call")));
}

TEST(PoolsTest, WorkersThatEndedBeforeARestartStayEnded) {
  PoolSimulation sim(1, {});
  AddPool(sim, MakeSpec());
  sim.AddJobs(40, absl::Seconds(30));
  ASSERT_TRUE(sim.RunToEnd(0));
  sim.Steps(30);
  sim.Restart();
  sim.Steps(3);
  EXPECT_THAT(ExplanationOf(sim.pools()), HasSubstr("0 workers of 0 to 10"));
}

TEST(PoolsTest, ARestartStartsNoWorkersBesideThoseThatHaveNotCalledYet) {
  PoolSimulation sim(1, {});
  AddPool(sim, MakeSpec());
  sim.AddJobs(8, absl::Minutes(5));
  sim.AddJobs(20, absl::Minutes(6));
  sim.Steps(60);
  const int started = sim.started();
  sim.Restart();
  sim.Steps(10);
  EXPECT_EQ(sim.started(), started);
  EXPECT_TRUE(sim.RunToEnd(0));
}

TEST(PoolsTest, JobsDoNotWaitForWorkersThatCannotComeWhileAnotherPoolTakesThem) {
  for (const bool impossible : {true, false}) {
    PoolSimulation sim(1, {});
    sim.SetStuck({"big"}, impossible);
    AddPool(sim, MakeSpec("big"));
    AddPool(sim, MakeSpec("ok"));
    sim.AddJobs(39, absl::Minutes(1));
    sim.Steps(impossible ? 60 : 360);
    EXPECT_GE(sim.pools().Find("ok")->working, 5) << impossible;
    EXPECT_TRUE(sim.RunToEnd(0)) << impossible;
    EXPECT_LE(sim.started(), 20) << "big is not asked again and again";
  }
}

TEST(PoolsTest, WorkersThatWaitForLongKeepTheirPlacesUntilOthersWork) {
  PoolSimulation sim(1, {});
  sim.SetStuck({"big", "ok"}, /*impossible=*/false);
  AddPool(sim, MakeSpec("big"));
  AddPool(sim, MakeSpec("ok"));
  sim.AddJobs(40, absl::Hours(1));
  sim.Steps(400);
  EXPECT_EQ(sim.pools().Find("big")->pending, 10);
  EXPECT_EQ(sim.pools().Find("ok")->pending, 10);
  sim.Steps(4000);
  EXPECT_EQ(sim.pools().Find("big")->pending, 10) << "both are in their queues";
  EXPECT_EQ(sim.started(), 20);
  sim.SetStuck({"big"}, false);
  sim.Steps(100);
  EXPECT_EQ(sim.pools().Find("ok")->working, 10);
  EXPECT_EQ(sim.pools().Find("big")->pending, 0) << "called off";
}

TEST(PoolsTest, APausedPoolDoesNotHoldBackWhatAnotherOneCanDo) {
  PoolSimulation sim(1, {});
  sim.SetStuck({"big"}, /*impossible=*/false);
  AddPool(sim, MakeSpec("big"));
  AddPool(sim, MakeSpec("ok"));
  sim.AddJobs(40, absl::Minutes(1));
  sim.Steps(10);
  EXPECT_EQ(sim.pools().Find("ok")->working, 0);
  ASSERT_OK(sim.pools().Pause("big", "its partition is closed"));
  sim.Steps(20);
  EXPECT_EQ(sim.pools().Find("ok")->working, 10);
  EXPECT_TRUE(sim.RunToEnd(0));
}

TEST(PoolsTest, APoolWhoseWorkersDidNotComeIsAskedAgainWhenNothingElseIsLeft) {
  PoolSimulation sim(1, {});
  sim.SetStuck({"big"}, /*impossible=*/true);
  AddPool(sim, MakeSpec("big"));
  AddPool(sim, MakeSpec("ok", 0, 2));
  sim.AddJobs(40, absl::Minutes(20));
  sim.Steps(120);
  EXPECT_EQ(sim.pools().Find("ok")->working, 2);
  const int pending = sim.pools().Find("big")->pending;
  EXPECT_GE(pending, 6) << "no other pool has room";
  sim.SetStuck({}, false);
  sim.Steps(60);
  EXPECT_EQ(sim.pools().Find("big")->working, pending);
}

TEST(PoolsTest, APausedPoolIsStillPausedAfterARestart) {
  PoolSimulation sim(1, {});
  AddPool(sim, MakeSpec());
  ASSERT_OK(sim.pools().Pause("cpu", "for maintenance"));
  sim.Steps(2);
  sim.Restart();
  sim.AddJobs(4, absl::Minutes(5));
  sim.Steps(100);
  EXPECT_EQ(sim.started(), 0);
  EXPECT_THAT(ExplanationOf(sim.pools()), HasSubstr("paused: for maintenance"));
}

TEST(PoolsTest, ARemovedPoolLetsItsWorkersFinish) {
  PoolSimulation sim(1, {});
  AddPool(sim, MakeSpec());
  sim.AddJobs(4, absl::Minutes(5));
  sim.Steps(60);
  ASSERT_OK(sim.pools().Remove("cpu", false));
  sim.Steps(10);
  EXPECT_EQ(sim.alive(), 1);
  EXPECT_THAT(ExplanationOf(sim.pools()), HasSubstr("is being removed"));
  sim.Steps(600);
  EXPECT_EQ(sim.jobs_left(), 0);
  EXPECT_TRUE(sim.pools().List().empty());
}

TEST(PoolsTest, AStrangerOfOursIsStopped) {
  Pools pools{PoolsPolicy()};
  ASSERT_OK(pools.AddFromOptions(MakeSpec()));
  absl::Time now = absl::FromUnixSeconds(1'700'000'000);
  int stops = 0;
  for (int i = 0; i < 300; ++i) {
    now += absl::Seconds(1);
    pools.Advance(now, {});
    for (const PoolActions actions = pools.TakeActions(); ProviderKind kind : actions.observe) {
      pools.Observed(kind, {{{"cpu-99", PilotReport::State::kRunning, "7", ""}}}, now, now);
    }
    for (const PoolActions::Stop& stop : pools.TakeActions().stop) {
      EXPECT_EQ(stop.pilots, std::vector<std::string>{"cpu-99"});
      ++stops;
    }
  }
  EXPECT_GE(stops, 1);
}

// Describes what is wrong in a world in which one pool's workers never come, the cluster takes
// workers back, and the coordinator is killed; "" when nothing is.
std::string WrongInWorld(uint64_t seed, PoolBug bug) {
  Random random(seed, "worlds");
  PoolSimulation sim(seed, {.leave = random.Chance(0.5) ? 0.3 : 0.0, .taken_back = true}, bug);
  sim.SetStuck({"big"}, /*impossible=*/random.Chance(0.5));
  AddPool(sim, MakeSpec("big"));
  AddPool(sim, MakeSpec("ok"));
  AddPool(sim, MakePods(3));
  sim.AddJobs(static_cast<int>(random.Between(1, 20)), absl::Seconds(30), ImageOf("a"));
  sim.AddJobs(static_cast<int>(random.Between(1, 20)), absl::Seconds(30), ImageOf("b"));
  const int jobs = static_cast<int>(random.Between(20, 40));
  sim.AddJobs(jobs, absl::Seconds(random.Between(5, 60)));
  sim.Steps(static_cast<int>(random.Between(1, 600)));
  if (sim.pools().Find("ok")->paused) {
    return absl::StrCat("ok is paused: ", sim.pools().Find("ok")->pause_reason);
  }
  // They end in good order, all that is left is to forget them.
  sim.SetFaults({});
  if (!sim.RunToEnd(0, 1'500)) {
    return absl::StrCat(sim.jobs_left(), " jobs stand still: ", ExplanationOf(sim.pools(), "ok"));
  }
  sim.Restart();
  sim.Steps(3);
  if (!sim.OfAnotherImage().empty()) {
    return absl::StrCat(sim.OfAnotherImage()[0], " counts for another image");
  }
  int counted = 0;
  for (const char* pool : {"big", "ok", "pods"}) {
    counted += sim.pools().Find(pool)->working;
  }
  return counted <= sim.working()
             ? ""
             : absl::StrCat(counted, " workers count after the restart, and there are ",
                            sim.working());
}

TEST(PoolsTest, NothingIsWrongInAnyWorldAndEachPlantedBugIsFound) {
  for (const auto& [bug, sign] :
       {std::pair(PoolBug::kNone, ""), std::pair(PoolBug::kSupplyIsCertain, "jobs stand still"),
        std::pair(PoolBug::kRestoredIsLive, "workers count after the restart"),
        std::pair(PoolBug::kTakenBackFails, "ok is paused"),
        std::pair(PoolBug::kImageForgotten, "counts for another image")}) {
    std::string found;
    for (uint64_t seed = 1; seed <= 40 && found.empty(); ++seed) {
      found = WrongInWorld(seed, bug);
    }
    if (bug == PoolBug::kNone) {
      EXPECT_EQ(found, "");
    } else {
      EXPECT_THAT(found, HasSubstr(sign));
    }
  }
}

// Whatever goes wrong: never more than the maximum, every job done once faults end, nothing left.
TEST(PoolsTest, RandomFaultsAreSurvived) {
  const char* seeds = std::getenv("CONCUR_POOL_SEEDS");  // NOLINT(concurrency-mt-unsafe)
  const uint64_t last = seeds == nullptr ? 60 : std::strtoull(seeds, nullptr, 10);
  for (uint64_t seed = 1; seed <= last; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed, "faults");
    PoolFaults faults;
    faults.refuse = random.Uniform() * 0.3;
    faults.lose_answer = random.Uniform() * 0.3;
    faults.lose_pilot = random.Uniform() * 0.3;
    faults.blind = random.Uniform() * 0.5;
    faults.die = random.Uniform() * 0.01;
    faults.never_join = random.Uniform() * 0.3;
    PoolSimulation sim(seed, faults);
    const int max = static_cast<int>(random.Between(1, 12));
    const int min = static_cast<int>(random.Between(0, max / 2));
    sim.SetSlots(static_cast<int>(random.Between(1, 12)));
    AddPool(sim, MakeSpec("cpu", min, max));
    // One that never gets a worker must not keep jobs from the other, nor begin them anew for ever.
    AddPool(sim, MakeSpec("broken", 0, 3));
    AddPool(sim, MakePods(3));
    sim.SetStuck({"broken"}, random.Chance(0.5));
    for (int i = 0; i < 1500; ++i) {
      if (random.Chance(0.01)) {
        sim.AddJobs(static_cast<int>(random.Between(1, 60)), absl::Seconds(random.Between(1, 200)));
      }
      if (random.Chance(0.01)) {
        sim.AddJobs(static_cast<int>(random.Between(1, 20)), absl::Seconds(random.Between(1, 200)),
                    ImageOf(absl::StrCat("i", random.Between(1, 5))));
      }
      if (random.Chance(0.003)) {
        sim.Restart();
      }
      if (random.Chance(0.002)) {
        sim.ForgetQueue();
      }
      if (random.Chance(0.01)) {
        ASSERT_OK(sim.pools().Resume("cpu"));
        ASSERT_OK(sim.pools().Resume("pods"));
      }
      sim.Step();
      if (i % 50 == 0) {
        ASSERT_THAT(sim.OfAnotherImage(), IsEmpty());
      }
    }
    sim.SetFaults({});
    sim.SetSlots(100);
    ASSERT_OK(sim.pools().Resume("cpu"));
    ASSERT_OK(sim.pools().Resume("pods"));
    EXPECT_TRUE(sim.RunToEnd(min, 100'000)) << sim.jobs_left() << " jobs and " << sim.alive()
                                            << " pilots are left; " << ExplanationOf(sim.pools());
    // A pilot that was given up may turn out to live: by no more than that is the maximum exceeded.
    EXPECT_LE(sim.most_alive(), max + 3 + 3 + 4);
  }
}

}  // namespace
}  // namespace concur
