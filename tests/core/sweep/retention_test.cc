// SPDX-License-Identifier: Apache-2.0
#include "core/sweep/retention.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/testing/test.h"

namespace concur {
namespace {

Digest D(const std::string& name) { return Sha256Of(name); }

JobResult ResultWith(const std::vector<ArtifactKind>& kinds, const std::string& name) {
  JobResult result;
  for (const ArtifactKind kind : kinds) {
    result.artifacts.push_back({kind, D(absl::StrCat(ArtifactKindName(kind), " ", name)), 1});
  }
  return result;
}

JobResult TrainResult(const std::string& name) {
  return ResultWith({ArtifactKind::kSystem, ArtifactKind::kLog}, name);
}
JobResult EvalResult(const std::string& name) {
  return ResultWith({ArtifactKind::kPredictions, ArtifactKind::kExamples, ArtifactKind::kLog,
                     ArtifactKind::kMetrics},
                    name);
}

constexpr KeepPolicy kKeepNothing{.systems = false, .predictions = false, .logs = false};

RetainedJob Job(uint32_t index, JobState state) {
  RetainedJob job;
  job.id = JobId{SweepId{1}, index};
  job.state = state;
  return job;
}

TEST(RetentionTest, TheDefaultPolicyKeepsEverything) {
  RetentionPlanner planner;
  planner.AddJob({.keep = {}, .ended = true}, Job(0, JobState::kSucceeded), TrainResult("a"));
  planner.AddJob({.keep = {}, .ended = true}, Job(1, JobState::kSucceeded), EvalResult("a"));
  const RetentionPlan plan = planner.Finish();
  EXPECT_THAT(plan.live, UnorderedElementsAre(D("system a"), D("log a"), D("predictions a"),
                                              D("examples a"), D("metrics a")));
  EXPECT_THAT(plan.lost_systems, IsEmpty());
}

TEST(RetentionTest, KeepingNothingStillKeepsScores) {
  RetentionPlanner planner;
  const RetainedSweep sweep{.keep = kKeepNothing, .ended = true};
  planner.AddJob(sweep, Job(0, JobState::kSucceeded), TrainResult("a"));
  planner.AddJob(sweep, Job(1, JobState::kSucceeded), EvalResult("a"));
  const RetentionPlan plan = planner.Finish();
  EXPECT_THAT(plan.live, UnorderedElementsAre(D("metrics a")));
  EXPECT_THAT(plan.lost_systems, ElementsAre(JobId{SweepId{1}, 0}));
}

TEST(RetentionTest, EachPartOfThePolicyKeepsItsOwnKinds) {
  RetainedSweep sweep{.keep = kKeepNothing, .ended = true};
  sweep.keep.predictions = true;
  RetentionPlanner planner;
  planner.AddJob(sweep, Job(1, JobState::kSucceeded), EvalResult("a"));
  EXPECT_THAT(planner.Finish().live,
              UnorderedElementsAre(D("predictions a"), D("examples a"), D("metrics a")));
  sweep.keep = kKeepNothing;
  sweep.keep.logs = true;
  planner.AddJob(sweep, Job(1, JobState::kSucceeded), EvalResult("a"));
  EXPECT_THAT(planner.Finish().live, UnorderedElementsAre(D("log a"), D("metrics a")));
  sweep.keep = kKeepNothing;
  sweep.keep.outputs = true;
  const JobResult result = ResultWith({ArtifactKind::kMetrics, ArtifactKind::kOutputs}, "a");
  planner.AddJob(sweep, Job(1, JobState::kSucceeded), result);
  EXPECT_THAT(planner.Finish().live, UnorderedElementsAre(D("metrics a"), D("outputs a")));
  sweep.keep = {};
  planner.AddJob(sweep, Job(1, JobState::kSucceeded), result);
  EXPECT_THAT(planner.Finish().live, UnorderedElementsAre(D("metrics a")));
}

TEST(RetentionTest, ASystemLivesAsLongAsAnEvalJobOfItsCellMayNeedIt) {
  struct Case {
    const char* name;
    bool sweep_ended;
    bool dependents_ended;
    bool dependents_succeeded;
    bool system_lives;
  };
  for (const Case& c : {
           Case{"an eval job is unfinished", false, false, false, true},
           Case{"an eval job failed and may be retried", false, true, false, true},
           Case{"an eval job failed and the sweep has ended", true, true, false, false},
           Case{"all eval jobs succeeded, others of the sweep run", false, true, true, false},
           Case{"all has ended well", true, true, true, false},
       }) {
    RetainedJob job = Job(0, JobState::kSucceeded);
    job.dependents_ended = c.dependents_ended;
    job.dependents_succeeded = c.dependents_succeeded;
    RetentionPlanner planner;
    planner.AddJob({.keep = kKeepNothing, .ended = c.sweep_ended}, job, TrainResult("a"));
    const RetentionPlan plan = planner.Finish();
    EXPECT_EQ(plan.live.contains(D("system a")), c.system_lives) << c.name;
    EXPECT_EQ(plan.lost_systems.empty(), c.system_lives) << c.name;
  }
}

TEST(RetentionTest, ASharedSystemLivesWhileAnyOfItsCellsNeedsIt) {
  RetentionPlanner planner;
  RetainedJob needed = Job(7, JobState::kSucceeded);
  needed.id.sweep.number = 2;
  needed.dependents_ended = needed.dependents_succeeded = false;
  planner.AddJob({.keep = kKeepNothing, .ended = true}, Job(0, JobState::kSucceeded),
                 TrainResult("shared"));
  planner.AddJob({.keep = kKeepNothing, .ended = false}, needed, TrainResult("shared"));
  const RetentionPlan plan = planner.Finish();
  EXPECT_TRUE(plan.live.contains(D("system shared")));
  EXPECT_THAT(plan.lost_systems, IsEmpty());
}

TEST(RetentionTest, EveryJobThatSharesALostSystemIsNamedInOrder) {
  RetentionPlanner planner;
  for (const uint32_t index : {8, 4, 6}) {
    planner.AddJob({.keep = kKeepNothing, .ended = true}, Job(index, JobState::kSucceeded),
                   TrainResult("shared"));
  }
  EXPECT_THAT(planner.Finish().lost_systems,
              ElementsAre(JobId{SweepId{1}, 4}, JobId{SweepId{1}, 6}, JobId{SweepId{1}, 8}));
}

TEST(RetentionTest, ASystemThatIsGoneIsNeitherLiveNorLostAgain) {
  RetainedJob job = Job(0, JobState::kSucceeded);
  job.system_collected = true;
  RetentionPlanner planner;
  planner.AddJob({.keep = {}, .ended = false}, job, TrainResult("a"));
  const RetentionPlan plan = planner.Finish();
  EXPECT_THAT(plan.live, UnorderedElementsAre(D("log a")));
  EXPECT_THAT(plan.lost_systems, IsEmpty());
}

TEST(RetentionTest, LogsOfFailuresOutliveThePolicy) {
  RetentionPlanner planner;
  planner.AddJob({.keep = kKeepNothing, .ended = true}, Job(0, JobState::kFailed),
                 ResultWith({ArtifactKind::kPredictions, ArtifactKind::kLog}, "failed"));
  planner.AddAttempt(ResultWith({ArtifactKind::kSystem, ArtifactKind::kLog}, "attempt"));
  const RetentionPlan plan = planner.Finish();
  EXPECT_THAT(plan.live, UnorderedElementsAre(D("log failed"), D("log attempt")));
}

// A worker keeps what it can of a finished training whose system it has to refuse.
TEST(RetentionTest, TheSystemOfAFailedJobStays) {
  RetentionPlanner planner;
  planner.AddJob({.keep = kKeepNothing, .ended = true}, Job(0, JobState::kFailed),
                 ResultWith({ArtifactKind::kSystem}, "failed"));
  const RetentionPlan plan = planner.Finish();
  EXPECT_THAT(plan.live, UnorderedElementsAre(D("system failed")));
  EXPECT_THAT(plan.lost_systems, IsEmpty());
}

TEST(RetentionTest, NothingOfAnUnfinishedJobIsRemoved) {
  for (const JobState state :
       {JobState::kBlocked, JobState::kReady, JobState::kBackoff, JobState::kRunning}) {
    RetentionPlanner planner;
    planner.AddJob({.keep = kKeepNothing, .ended = true}, Job(0, state), EvalResult("a"));
    EXPECT_EQ(planner.Finish().live.size(), 4);
  }
}

TEST(RetentionTest, DataFilesLiveUntilTheirSweepHasEndedAndCodeAsLongAsItsSweep) {
  SweepSpec spec;
  spec.benchmarks.resize(3);
  spec.benchmarks[0].train = DataFile{.digest = D("train"), .bytes = 1, .path = "", .suffix = ""};
  spec.benchmarks[0].test = DataFile{.digest = D("test"), .bytes = 1, .path = "", .suffix = ""};
  spec.benchmarks[2].test = DataFile{.digest = D("test"), .bytes = 1, .path = "", .suffix = ""};
  spec.approaches.resize(2);
  spec.approaches[1].code = MakeCode(D("code"), 1, {});
  std::vector<Digest> digests;
  RetentionPlanner planner;
  for (const SweepFile& file : FilesOf(spec)) {
    digests.push_back(file.digest);
    planner.AddFile({.keep = {}, .ended = true}, file);
  }
  EXPECT_THAT(digests, UnorderedElementsAre(D("train"), D("test"), D("code")));
  planner.AddFile({.keep = {}, .ended = false}, {D("other"), 1, "", false});
  planner.AddLive(D("wanted"));
  EXPECT_THAT(planner.Finish().live, UnorderedElementsAre(D("code"), D("other"), D("wanted")));
}

TEST(RetentionTest, AFinishedPlannerStartsAnew) {
  RetentionPlanner planner;
  planner.AddLive(D("a"));
  planner.AddJob({.keep = kKeepNothing, .ended = true}, Job(0, JobState::kSucceeded),
                 TrainResult("a"));
  planner.Finish();
  const RetentionPlan plan = planner.Finish();
  EXPECT_THAT(plan.live, IsEmpty());
  EXPECT_THAT(plan.lost_systems, IsEmpty());
}

TEST(RetentionTest, AResultKeepsTheBytesThatThePolicyKeepsAndItsSystemUntilThatIsCollected) {
  JobResult result = EvalResult("a");
  result.succeeded = true;
  EXPECT_EQ(KeptBytesOf({}, result, false), 4);
  EXPECT_EQ(KeptBytesOf(kKeepNothing, result, false), 1) << "metrics are always kept";
  result.succeeded = false;
  EXPECT_EQ(KeptBytesOf(kKeepNothing, result, false), 2) << "and the log of a failure";
  EXPECT_EQ(KeptBytesOf(kKeepNothing, TrainResult("a"), false), 2);
  EXPECT_EQ(KeptBytesOf({}, TrainResult("a"), true), 1);
}

}  // namespace
}  // namespace concur
