// SPDX-License-Identifier: Apache-2.0
// Pools whose pilots are of the images that jobs ask for.

#include "absl/strings/str_cat.h"
#include "core/pools/pools.h"
#include "core/scheduler/reason_text.h"
#include "tests/core/pools/pool_simulation.h"
#include "tests/core/pools/pool_specs.h"
#include "tests/testing/test.h"

namespace concur {
namespace {

using ::concur::testing::AddPool;
using ::concur::testing::ExplanationOf;
using ::concur::testing::ImageOf;
using ::concur::testing::MakePods;
using ::concur::testing::PoolSimulation;

TEST(PoolsImagesTest, AnImageOfJobsIsAPartOfItsPool) {
  const PoolSpec part = ForImage(MakePods(3), ImageOf("a"));
  EXPECT_EQ(part.kubernetes.image, ImageOf("a"));
  EXPECT_EQ(part.kubernetes.worker_image, "registry/concur:1");
  EXPECT_EQ(WorkerLabels(part), (Labels{{"environment.image", ImageOf("a")}, {"pool", "pods"}}));
  EXPECT_OK(ValidatePoolSpec(part));
  PoolSpec pods = MakePods(3);
  EXPECT_TRUE(LabelsMatch({{kImageLabel, ImageOf("a")}}, WorkerLabels(pods)));
  EXPECT_TRUE(LabelsMatch({}, WorkerLabels(pods)));
  pods.workers_min = 3;
  EXPECT_THAT(ValidatePoolSpec(pods),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("expected workers.min below workers.max")));
  pods.workers_min = 0;
  pods.worker_program = "/opt/concur-worker";
  EXPECT_THAT(ValidatePoolSpec(pods), StatusIs(absl::StatusCode::kInvalidArgument,
                                               HasSubstr("worker_program: expected none unless")));
  pods.kubernetes.worker_image = "registry/concur:1";
  EXPECT_OK(ValidatePoolSpec(pods));
  pods.labels = {{kImageLabel, ImageOf("a")}};
  EXPECT_THAT(ValidatePoolSpec(pods), StatusIs(absl::StatusCode::kInvalidArgument,
                                               HasSubstr("kubernetes.job_images: expected no")));
  pods.kubernetes.job_images = false;
  EXPECT_OK(ValidatePoolSpec(pods));
  pods.labels = {{kImageLabel, "python:3"}};
  EXPECT_THAT(ValidatePoolSpec(pods),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("labels.environment.image: expected an image with its digest")));
}

TEST(PoolsImagesTest, JobsOfEachImageGetPilotsOfItAndOthersThePoolsOwn) {
  PoolSimulation sim(1, {});
  AddPool(sim, MakePods(10));
  sim.AddJobs(8, absl::Minutes(10), ImageOf("a"));
  sim.AddJobs(4, absl::Minutes(10), ImageOf("b"));
  sim.AddJobs(4, absl::Minutes(10));
  sim.Steps(20);
  EXPECT_EQ(sim.alive_of(ImageOf("a")), 2);  // four jobs each
  EXPECT_EQ(sim.alive_of(ImageOf("b")), 1);
  EXPECT_EQ(sim.alive_of(""), 1);
  EXPECT_EQ(sim.pools().Find("pods")->working, 4);
  sim.Restart();
  sim.Steps(60);
  EXPECT_EQ(sim.started(), 4);
  EXPECT_TRUE(sim.RunToEnd(0));
}

// Sweeps that were stored before such labels were refused.
TEST(PoolsImagesTest, WhatIsNoImageWithADigestStartsNoPods) {
  for (const char* image : {"evil:latest", "none", "any"}) {
    PoolSimulation sim(1, {});
    AddPool(sim, MakePods(10));
    sim.AddJobs(8, absl::Minutes(10), image);
    sim.Steps(20);
    EXPECT_EQ(sim.started(), 0) << image;
  }
}

// Three images, and room for one pilot: none waits for another one's idle time to be over.
TEST(PoolsImagesTest, AnIdleWorkerOfAnImageMakesRoomForAnother) {
  PoolSimulation sim(1, {});
  AddPool(sim, MakePods(1));
  for (const char* name : {"a", "b", "c"}) {
    sim.AddJobs(4, absl::Seconds(20), ImageOf(name));
  }
  EXPECT_TRUE(sim.RunToEnd(1, 150)) << ExplanationOf(sim.pools(), "pods");
  EXPECT_EQ(sim.started(), 3);
  EXPECT_EQ(sim.most_alive(), 1);
  // With nobody else waiting it keeps its idle time.
  sim.Steps(60);
  EXPECT_EQ(sim.alive(), 1);
  EXPECT_TRUE(sim.RunToEnd(0, 500));
}

TEST(PoolsImagesTest, AnIdleWorkerStaysWhileThereIsRoomForWhatIsNotStartedAtOnce) {
  PoolSimulation sim(1, {});
  AddPool(sim, MakePods(500));
  sim.SetSlots(500);
  sim.AddJobs(4, absl::Seconds(20), ImageOf("a"));
  EXPECT_TRUE(sim.RunToEnd(1, 150));
  sim.AddJobs(1200, absl::Minutes(10), ImageOf("b"));  // for 300 workers
  sim.Steps(20);
  EXPECT_EQ(sim.alive_of(ImageOf("b")), 300);
  EXPECT_EQ(sim.alive_of(ImageOf("a")), 1);
}

TEST(PoolsImagesTest, AnImageThatNeverStartsStopsNeitherOthersNorThePool) {
  PoolSimulation sim(1, {});
  AddPool(sim, MakePods(2));
  sim.SetStuck({ImageOf("bad")}, /*impossible=*/true);
  sim.AddJobs(40, absl::Seconds(20), ImageOf("bad"));
  sim.AddJobs(8, absl::Seconds(20), ImageOf("good"));
  sim.AddJobs(8, absl::Seconds(20));
  sim.Steps(400);
  EXPECT_EQ(sim.jobs_left(), 40);
  EXPECT_FALSE(sim.pools().Find("pods")->paused);
  EXPECT_LE(sim.started(), 30) << "it is tried again less and less often";
  EXPECT_THAT(ExplanationOf(sim.pools(), "pods"),
              HasSubstr("starts nothing of image registry/bad"));
  EXPECT_THAT(ReasonText(sim.pools().ReasonFor({1000, 0, 0}, {{kImageLabel, ImageOf("bad")}})),
              HasSubstr("pool pods tries again at"));
  EXPECT_THAT(ReasonText(sim.pools().ReasonFor({1000, 0, 0}, {{kImageLabel, ImageOf("good")}})),
              Not(HasSubstr("tries again")));
  sim.SetStuck({}, false);
  ASSERT_OK(sim.pools().Resume("pods"));
  EXPECT_TRUE(sim.RunToEnd(0));
}

}  // namespace
}  // namespace concur
