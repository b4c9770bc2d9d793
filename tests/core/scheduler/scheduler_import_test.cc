// SPDX-License-Identifier: Apache-2.0
// Imported results: counted once, kept, never run, and apart from what ran.

#include <limits>
#include <set>
#include <string>
#include <vector>

#include "base/check.h"
#include "core/scheduler/reason_text.h"
#include "core/scheduler/scheduler.h"
#include "core/sweep/content_key.h"
#include "core/sweep/imported_results.h"
#include "tests/core/scheduler/scheduler_harness.h"
#include "tests/core/sweep/sweep_builder.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

class SchedulerImportTest : public ::testing::Test {
 protected:
  SchedulerHarness harness_{SchedulerPolicy{.lease = absl::Seconds(30), .quotas = {}}};
};

TEST_F(SchedulerImportTest, AnImportHasEndedKeepsItsScoresAndShowsItsGaps) {
  ASSERT_OK_AND_ASSIGN(const SweepId id,
                       harness_.Import(ImportedSweep(), "a", ImportedScores({0, 2, 3})));
  harness_.EndTurn();  // compares with what a restart gives
  const Scheduler& scheduler = harness_.scheduler();
  const SweepView sweep = *scheduler.views().FindSweep(id);
  EXPECT_EQ(sweep.state, SweepState::kSucceeded);
  EXPECT_TRUE(sweep.row->end_time.has_value());
  EXPECT_EQ(sweep.counts[static_cast<size_t>(JobState::kSucceeded)], 3u);
  EXPECT_EQ(sweep.counts[static_cast<size_t>(JobState::kCanceled)], 3u);
  const JobView score = scheduler.views().ViewJob({id, 2});
  EXPECT_EQ(score.state, JobState::kSucceeded);
  EXPECT_EQ(score.result->metrics[0].value, 0.52);
  EXPECT_EQ(score.attempt.number, 0u);
  EXPECT_THAT(ReasonText(scheduler.views().ReasonOf({id, 2})),
              HasSubstr("imported, not run here: {\"file\""));
  EXPECT_THAT(ReasonText(scheduler.views().ReasonOf({id, 1})), HasSubstr("no score was imported"));
  harness_.RestartCoordinator();
  EXPECT_EQ(harness_.scheduler().views().FindSweep(id)->state, SweepState::kSucceeded);
  EXPECT_EQ(harness_.scheduler().views().ViewJob({id, 2}).result->message,
            "{\"file\":\"board.tsv\"}");
}

TEST_F(SchedulerImportTest, ARepeatedRequestImportsOnceAndOtherResultsAreRefused) {
  ASSERT_OK_AND_ASSIGN(const SweepId id,
                       harness_.Import(ImportedSweep(), "a", ImportedScores({0, 1}), "r"));
  harness_.EndTurn();
  EXPECT_EQ(harness_.Import(ImportedSweep(), "a", ImportedScores({0, 1}), "r").value_or(SweepId{}),
            id);
  harness_.RestartCoordinator();
  EXPECT_EQ(harness_.Import(ImportedSweep(), "a", ImportedScores({0, 1}), "r").value_or(SweepId{}),
            id);
  EXPECT_EQ(harness_.scheduler().views().sweep_count(), 1u);
  SweepSpec other = ImportedSweep();
  other.imported = Sha256Of("other results");
  EXPECT_THAT(harness_.Import(other, "b", ImportedScores({0}), "r"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("with another spec")));
}

TEST_F(SchedulerImportTest, NothingOfAnImportRunsAgain) {
  ASSERT_OK_AND_ASSIGN(const SweepId id,
                       harness_.Import(ImportedSweep(), "a", ImportedScores({0, 1})));
  harness_.EndTurn();
  for (const bool rerun : {false, true}) {
    EXPECT_THAT(harness_.scheduler().RetryJobs(
                    id, rerun ? std::vector<uint32_t>{0} : std::vector<uint32_t>{}, rerun),
                StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("was imported")));
  }
  EXPECT_OK(harness_.scheduler().CancelSweep(id));
  EXPECT_EQ(harness_.scheduler().views().FindSweep(id)->state, SweepState::kSucceeded);
  EXPECT_EQ(harness_.scheduler().views().CountAll().jobs[static_cast<size_t>(JobState::kReady)],
            0u);
  harness_.EndTurn();
  EXPECT_OK(harness_.scheduler().DeleteSweep(id));
  harness_.EndTurn();
}

// The same names, and a time of a thousand seconds: neither shows in what runs.
TEST_F(SchedulerImportTest, WhatRunsTakesNothingFromAnImportAndLearnsNothing) {
  ASSERT_OK(harness_.Import(ImportedSweep(), "a", ImportedScores({0, 1, 2, 3, 4, 5})));
  ASSERT_OK(harness_.Import(ImportedSweep(2), "b", ImportedScores({0, 1})));
  harness_.EndTurn();
  SweepSpec runs = SmallSweep();
  runs.approaches[1].name = "m1";
  runs.benchmarks[0].name = "t2";
  runs.train_sets[0].name = "t2";
  ASSERT_OK_AND_ASSIGN(const SweepId id, harness_.Submit(runs, "c"));
  harness_.EndTurn();
  EXPECT_EQ(harness_.scheduler().views().FindSweep(id)->reused, 0u);
  EXPECT_THAT(ReasonText(harness_.scheduler().views().ReasonOf({id, 0})),
              HasSubstr("waits for a worker"));
  size_t known = 0;
  const Durations& durations = harness_.scheduler().views().durations();
  for (Durations::Group group = 0; group < durations.size(); ++group) {
    known += durations.TotalOf(group).second;
  }
  EXPECT_EQ(known, 0u);
}

// Each turn adds two to three of the six jobs.
class SlicedImportTest : public ::testing::Test {
 protected:
  SweepId Begin() {
    const absl::StatusOr<SweepId> id =
        harness_.Import(ImportedSweep(), "a", ImportedScores({0, 1, 5}), "r");
    CONCUR_CHECK_OK(id.status());
    harness_.EndTurn(/*compare=*/false);  // a restart gives something else
    CONCUR_CHECK(harness_.scheduler().IsImporting(*id));
    return *id;
  }
  void FinishImport(SweepId id) {
    for (int turn = 0; harness_.scheduler().IsImporting(id) && turn < 10; ++turn) {
      harness_.Advance(absl::Milliseconds(1));
      harness_.EndTurn(/*compare=*/!harness_.scheduler().IsImporting(id));
    }
  }
  SchedulerHarness harness_{SchedulerPolicy{.slice_jobs = 32, .quotas = {}}};
};

TEST_F(SlicedImportTest, NothingOfAnImportRunsOrChangesUntilAllIsThere) {
  const SweepId id = Begin();
  Scheduler& scheduler = harness_.scheduler();
  EXPECT_EQ(scheduler.views().FindSweep(id)->state, SweepState::kActive);
  EXPECT_EQ(scheduler.views().CountAll().jobs[static_cast<size_t>(JobState::kReady)], 0u);
  EXPECT_THAT(ReasonText(scheduler.views().ReasonOf({id, 5})),
              HasSubstr("waits for its sweep to be imported"));
  EXPECT_THAT(scheduler.CancelJob({id, 5}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("is being imported")));
  EXPECT_EQ(scheduler.DeleteSweep(id).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(scheduler.NextDeadline(), harness_.now());
  EXPECT_EQ(
      harness_.Import(ImportedSweep(), "a", ImportedScores({0, 1, 5}), "r").value_or(SweepId{}),
      id);
  FinishImport(id);
  EXPECT_EQ(scheduler.views().FindSweep(id)->state, SweepState::kSucceeded);
  EXPECT_EQ(scheduler.views().ViewJob({id, 5}).result->metrics[0].value, 0.55);
  EXPECT_EQ(scheduler.views().ViewJob({id, 4}).state, JobState::kCanceled);
}

TEST_F(SlicedImportTest, ARestartDeletesAnImportThatItCutsOff) {
  const SweepId id = Begin();
  harness_.RestartCoordinator();
  EXPECT_EQ(harness_.scheduler().views().sweep_count(), 0u);
  harness_.EndTurn();
  ASSERT_OK_AND_ASSIGN(const Snapshot saved, harness_.store().Load());
  EXPECT_THAT(saved.sweeps, IsEmpty());
  EXPECT_THAT(saved.jobs, IsEmpty());
  EXPECT_THAT(saved.results, IsEmpty());
  EXPECT_GT(Begin(), id);
}

TEST_F(SlicedImportTest, ACancelEndsAnImport) {
  const SweepId id = Begin();
  ASSERT_OK(harness_.scheduler().CancelSweep(id));
  EXPECT_FALSE(harness_.scheduler().IsImporting(id));
  harness_.EndTurn();
  harness_.Advance(absl::Milliseconds(1));
  harness_.EndTurn();
  EXPECT_EQ(harness_.scheduler().views().FindSweep(id)->state, SweepState::kCanceled);
  harness_.RestartCoordinator();
  EXPECT_EQ(harness_.scheduler().views().FindSweep(id)->state, SweepState::kCanceled);
  EXPECT_OK(harness_.scheduler().DeleteSweep(id));
  harness_.EndTurn();
}

TEST(ImportedResultsTest, ABadResultIsNamed) {
  const Expansion expansion = *Expansion::Make(ImportedSweep());
  const auto refused = [&](const std::vector<ImportedResult>& results, const std::string& why) {
    EXPECT_THAT(ValidateImportedResults(expansion, results, FieldPath()),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(why)));
  };
  refused({}, "results: expected at least one");
  refused(ImportedScores({6}), "results[0].job: expected");
  refused(ImportedScores({1, 1}), "expected each job once and in order, got 1 after 1");
  std::vector<ImportedResult> bad = ImportedScores({0, 1});
  bad[1].result.metrics.clear();
  refused(bad, "results[1].result.metrics: expected at least one");
  bad = ImportedScores({0});
  bad[0].result.message.clear();
  refused(bad, "results[0].result.message: expected where the score came from");
  bad = ImportedScores({0});
  bad[0].result.metrics[0].value = std::numeric_limits<double>::quiet_NaN();
  refused(bad, "results[0].result.metrics[0].value: expected a finite number");
  bad = ImportedScores({0});
  bad[0].result.succeeded = false;
  bad[0].result.failure = FailureClass::kFailed;
  refused(bad, "expected results of success alone");
  bad = ImportedScores({0});
  bad[0].result.artifacts = {{ArtifactKind::kSystem, Sha256Of("s"), 1}};
  refused(bad, "expected per-example scores alone, got system");
}

TEST(ImportedSpecTest, WhatCouldRunIsRefusedInASweepOfImportedResults) {
  const auto refused = [](const SweepSpec& spec, const std::string& why) {
    EXPECT_THAT(ValidateSweepSpec(spec),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(why)));
  };
  ASSERT_OK(ValidateSweepSpec(ImportedSweep()));
  SweepSpec spec = ImportedSweep();
  spec.approaches[0].predict_command = {"rm", "-rf", "/"};
  refused(spec, "approaches[0]: expected a name and tags, and nothing that could run");
  spec = ImportedSweep();
  spec.benchmarks[1].test = FileOf("data");
  refused(spec, "benchmarks[1]: expected a name, format file and no data");
  spec = ImportedSweep();
  spec.benchmarks[1].name = spec.benchmarks[0].name;
  refused(spec, "stands twice");
  spec = ImportedSweep();
  spec.approaches[0].name = "a\nb";
  refused(spec, "approaches[0].name: expected one line");
  spec = ImportedSweep();
  spec.random_settings = 3;
  refused(spec, "expected approaches, benchmarks and seeds");
}

TEST(ImportedSpecTest, ContentKeysDifferBetweenTasksModelsRunsAndImports) {
  const Expansion one = *Expansion::Make(ImportedSweep(2));
  SweepSpec again = ImportedSweep(2);
  again.imported = Sha256Of("other results");
  const Expansion two = *Expansion::Make(again);
  std::set<Digest> keys;
  for (const Expansion* expansion : {&one, &two}) {
    const ContentKeys of(*expansion);
    for (uint32_t job = 0; job < expansion->job_count(); ++job) {
      keys.insert(of.KeyOf(job));
    }
  }
  EXPECT_EQ(keys.size(), 24u);
}

TEST(ImportedSpecTest, TheDigestOfResultsCoversAllOfThem) {
  const std::vector<ImportedResult> results = ImportedScores({0, 1});
  EXPECT_EQ(DigestOfResults(results), DigestOfResults(ImportedScores({0, 1})));
  std::set<Digest> digests = {DigestOfResults(results)};
  const auto changed = [&](auto change) {
    std::vector<ImportedResult> other = results;
    change(other[1]);
    EXPECT_TRUE(digests.insert(DigestOfResults(other)).second);
  };
  changed([](ImportedResult& r) { r.job = 2; });
  changed([](ImportedResult& r) { r.result.message += " "; });
  changed([](ImportedResult& r) { r.result.metrics[0].value += 1e-15; });
  changed([](ImportedResult& r) { r.result.metrics[0].examples = 101; });
  changed([](ImportedResult& r) { r.result.metrics[0].name = "acc"; });
  changed([](ImportedResult& r) { r.result.run_time += absl::Microseconds(1); });
  changed([](ImportedResult& r) {
    r.result.artifacts = {{ArtifactKind::kExamples, Sha256Of("e"), 1}};
  });
}

}  // namespace
}  // namespace concur::testing
