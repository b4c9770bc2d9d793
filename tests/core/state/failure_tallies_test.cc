// SPDX-License-Identifier: Apache-2.0
#include "core/state/failure_tallies.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "tests/core/sweep/sweep_builder.h"
#include "tests/testing/test.h"

namespace concur {
namespace {

// Approaches a and b, trained on x and on y, each evaluated on x and y: in the order of kinds, a on
// x: train, x, y; a on y: train, x, y; and the same of b. One job of each kind, whose number is the
// kind's.
Expansion TwoByTwo(uint32_t failures_max) {
  SweepSpec spec;
  spec.name = "two";
  spec.approaches = {testing::TrainedApproach("a"), testing::TrainedApproach("b")};
  spec.benchmarks = {testing::Benchmark("x"), testing::Benchmark("y")};
  spec.train_sets = {testing::PlainTrainSet(spec, 0), testing::PlainTrainSet(spec, 1)};
  spec.evaluate_on = EvaluateOn::kAll;
  spec.seeds = {1};
  spec.failures_max_per_block = failures_max;
  absl::StatusOr<Expansion> expansion = Expansion::Make(std::move(spec));
  CONCUR_CHECK_OK(expansion.status());
  CONCUR_CHECK(expansion->kind_count() == 12 && expansion->job_count() == 12);
  return *std::move(expansion);
}

std::vector<std::string> FailedOf(const FailureTallies& tallies, uint32_t job) {
  std::vector<std::string> texts;
  for (const FailureTallies::Scope& scope : tallies.FailedScopesOf(job)) {
    texts.push_back(tallies.Describe(scope));
  }
  return texts;
}

TEST(FailureTalliesTest, ABlockHasFailedOnceEnoughOfItFailedAndNothingSucceeded) {
  const Expansion expansion = TwoByTwo(2);
  FailureTallies tallies(expansion);
  tallies.Add(0, JobState::kFailed);
  EXPECT_THAT(FailedOf(tallies, 0), IsEmpty());
  tallies.Add(0, JobState::kFailed);
  EXPECT_THAT(FailedOf(tallies, 0),
              ElementsAre("approach a fails on train set x: 2 jobs failed and none succeeded "
                          "(failures_max_per_block 2)"));
  tallies.Add(2, JobState::kSucceeded);
  EXPECT_THAT(FailedOf(tallies, 0), IsEmpty());
  tallies.Remove(2, JobState::kSucceeded);
  tallies.Remove(0, JobState::kFailed);
  EXPECT_THAT(FailedOf(tallies, 0), IsEmpty());
}

TEST(FailureTalliesTest, OnlyEndsForGoodCount) {
  const Expansion expansion = TwoByTwo(1);
  FailureTallies tallies(expansion);
  for (const JobState state : {JobState::kBlocked, JobState::kReady, JobState::kBackoff,
                               JobState::kRunning, JobState::kCanceled, JobState::kSkipped}) {
    tallies.Add(0, state);
    tallies.Remove(0, state);
  }
  EXPECT_TRUE(tallies == FailureTallies(expansion));
  tallies.Add(0, JobState::kFailed);
  EXPECT_EQ(tallies.failed(0), 1u);
  EXPECT_FALSE(tallies == FailureTallies(expansion));
}

TEST(FailureTalliesTest, AnApproachHasFailedOnlyWhenItFailsOnTwoTrainSets) {
  const Expansion expansion = TwoByTwo(2);
  FailureTallies tallies(expansion);
  tallies.Add(0, JobState::kFailed);
  tallies.Add(3, JobState::kFailed);
  EXPECT_THAT(FailedOf(tallies, 0), ElementsAre(HasSubstr("approach a fails everywhere: 2 jobs")));
  tallies.Add(4, JobState::kSucceeded);
  EXPECT_THAT(FailedOf(tallies, 0), IsEmpty());
}

TEST(FailureTalliesTest, ATrainSetHasFailedOnlyWhenTwoApproachesFailOnIt) {
  const Expansion expansion = TwoByTwo(2);
  FailureTallies tallies(expansion);
  tallies.Add(0, JobState::kFailed);
  tallies.Add(6, JobState::kFailed);
  EXPECT_THAT(FailedOf(tallies, 6),
              ElementsAre(HasSubstr("train set x fails with every approach: 2 jobs")));
}

TEST(FailureTalliesTest, ATestOfABlockAndABenchmarkFailByThemselves) {
  const Expansion expansion = TwoByTwo(2);
  FailureTallies tallies(expansion);
  for (const uint32_t kind : {0, 1, 6, 7}) {
    tallies.Add(kind, JobState::kSucceeded);
  }
  tallies.Add(2, JobState::kFailed);
  tallies.Add(2, JobState::kFailed);
  EXPECT_THAT(FailedOf(tallies, 2),
              ElementsAre(HasSubstr("approach a on train set x fails on benchmark y: 2 jobs")));
  tallies.Add(8, JobState::kFailed);
  EXPECT_THAT(FailedOf(tallies, 8),
              ElementsAre(HasSubstr("benchmark y fails with every approach: 3 jobs")));
  const std::vector<FailureTallies::Scope> scopes = tallies.FailedScopesOf(8);
  std::vector<uint32_t> kinds;
  tallies.ForEachKind(scopes.front(), [&](const Block&, uint32_t kind) { kinds.push_back(kind); });
  EXPECT_THAT(kinds, ElementsAre(2, 5, 8, 11));
}

TEST(FailureTalliesTest, WithoutALimitNothingHasFailed) {
  const Expansion expansion = TwoByTwo(0);
  FailureTallies tallies(expansion);
  tallies.Add(0, JobState::kFailed);
  tallies.Add(3, JobState::kFailed);
  EXPECT_THAT(FailedOf(tallies, 0), IsEmpty());
}

}  // namespace
}  // namespace concur
