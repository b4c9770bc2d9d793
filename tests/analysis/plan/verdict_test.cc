// SPDX-License-Identifier: Apache-2.0
#include "analysis/plan/verdict.h"

#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analysis/score_table.h"
#include "base/random.h"
#include "tests/analysis/simulated_studies.h"
#include "tests/testing/test.h"

namespace concur::analysis {
namespace {

ScoreTable TableOf(size_t approaches, double noise) {
  std::vector<AxisEntry> rows;
  for (size_t i = 0; i < approaches; ++i) {
    rows.push_back({absl::StrCat("a", i), {}});
  }
  ScoreTable table = *ScoreTable::Create(std::move(rows), {{"new", {}}, {"reference", {}}});
  Random random(1, "verdict");
  for (size_t i = 0; i < approaches; ++i) {
    const double ability = random.Normal();
    for (size_t b = 0; b < 2; ++b) {
      table.cell(i, b).state = CellState::kValue;
      table.cell(i, b).value = ability + noise * random.Normal();
    }
  }
  return table;
}

TEST(VerdictTest, OptionsOutOfRangeAreRefusedByName) {
  for (const auto& [options, part] :
       std::vector<std::pair<VerdictOptions, std::string>>{{{.above = 1}, "above: expected"},
                                                           {{.above = NAN}, "above: expected"},
                                                           {{.within = 0}, "within: expected"},
                                                           {{.level = 1}, "level: expected"},
                                                           {{.looks = 0}, "looks: expected"}}) {
    EXPECT_THAT(JudgePair(TableOf(10, 1), {}, options),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(part)));
  }
}

TEST(VerdictTest, FourApproachesClaimNothing) {
  ASSERT_OK_AND_ASSIGN(const Verdict verdict, JudgePair(TableOf(4, 0), {}, {}));
  EXPECT_EQ(verdict.claim, Claim::kOpen);
}

TEST(VerdictTest, APerfectOrderOfFewIsOpenAndOfManyShown) {
  ASSERT_OK_AND_ASSIGN(const Verdict few, JudgePair(TableOf(6, 0), {}, {}));
  EXPECT_EQ(few.tau, 1);
  EXPECT_EQ(few.claim, Claim::kOpen) << "its bootstrap interval has no width";
  ASSERT_OK_AND_ASSIGN(const Verdict many, JudgePair(TableOf(30, 0), {}, {}));
  EXPECT_EQ(many.claim, Claim::kShown);
  EXPECT_LT(many.tau_interval->low, 1);
}

TEST(VerdictTest, UnrelatedBenchmarksAreRefutedUnlessNoiseMayBeWhy) {
  const ScoreTable table = TableOf(40, 3);
  ASSERT_OK_AND_ASSIGN(const Verdict verdict, JudgePair(table, {}, {}));
  EXPECT_EQ(verdict.claim, Claim::kRefuted);
  ASSERT_OK_AND_ASSIGN(const Verdict noisy, JudgePair(table, {.asked = true}, {}));
  EXPECT_EQ(noisy.claim, Claim::kOpen) << "most of the spread is noise";
  ASSERT_OK_AND_ASSIGN(
      const Verdict known,
      JudgePair(table, {.asked = true, .tau = 0.3, .interval = Interval{0.1, 0.5}}, {}));
  EXPECT_EQ(known.claim, Claim::kRefuted);
}

TEST(VerdictTest, MoreLooksMakeWiderIntervals) {
  const ScoreTable table = TableOf(20, 0.5);
  ASSERT_OK_AND_ASSIGN(const Verdict one, JudgePair(table, {}, {}));
  ASSERT_OK_AND_ASSIGN(const Verdict five, JudgePair(table, {}, {.looks = 5}));
  EXPECT_DOUBLE_EQ(five.level, 0.99);
  EXPECT_LT(five.tau_interval->low, one.tau_interval->low);
}

TEST(VerdictTest, ANearlyPerfectOrderOfFewIsNotPrecise) {
  // Stopped: "tau is known to ± 0.15", of ten approaches whose tau was 1 by chance.
  ASSERT_OK_AND_ASSIGN(const Verdict few, JudgePair(TableOf(10, 0), {}, {.within = 0.15}));
  EXPECT_LT(few.tau_interval->high - few.tau_interval->low, 0.15);
  EXPECT_FALSE(few.precise);
  VerdictOptions options = {.within = 0.2};
  options.bootstrap.replicates = 500;
  ASSERT_OK_AND_ASSIGN(const Verdict many, JudgePair(TableOf(60, 0.2), {}, options));
  EXPECT_TRUE(many.precise);
}

TEST(VerdictTest, AWidthIsClaimedOfNoPanelOfASimulationThatIsTooSmallForIt) {
  // 3 % of these reached ± 0.15, and none of them had the truth within it.
  const VerdictCoverage coverage = MeasureVerdicts({.approaches = 10, .tau = 0.7}, 100);
  EXPECT_EQ(coverage.precise, 0);
}

TEST(VerdictTest, WithStoppingAFalseShownComesInFewStudiesOfASimulation) {
  const VerdictCoverage coverage = MeasureVerdicts({.approaches = 20, .tau = 0.7}, 100);
  EXPECT_LE(coverage.shown, 0.05);
  EXPECT_GE(coverage.held, 0.93);
}

}  // namespace
}  // namespace concur::analysis
