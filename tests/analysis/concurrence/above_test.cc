// SPDX-License-Identifier: Apache-2.0
#include "analysis/concurrence/above.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "analysis/concurrence/matrix.h"
#include "analysis/statistics/intervals.h"
#include "report/claim_tables.h"
#include "report/table.h"
#include "tests/testing/test.h"

namespace concur::analysis {
namespace {

// A pair of n approaches with this interval, of 90 %.
ConcurrenceMatrix PairWith(int64_t n, std::optional<Interval> interval) {
  ConcurrenceMatrix matrix;
  matrix.level = LevelOfBounds(0.95);
  matrix.benchmarks = {"A", "B"};
  matrix.approaches.assign(static_cast<size_t>(n), "a");
  matrix.pairs.resize(1);
  matrix.pairs[0].b = 1;
  matrix.pairs[0].correlation.n = n;
  matrix.pairs[0].interval = interval;
  return matrix;
}

AboveClaim Judge(const ConcurrenceMatrix& matrix, double threshold = 0.8) {
  return JudgeAbove(matrix, matrix.pairs[0], threshold);
}

TEST(AboveTest, WithoutAnIntervalOrItsWidthAClaimStaysOpen) {
  EXPECT_EQ(Judge(PairWith(20, std::nullopt)).claim, Claim::kOpen);
  EXPECT_EQ(Judge(PairWith(5, Interval{1, 1})).claim, Claim::kOpen) << "a perfect order";
}

TEST(AboveTest, BoundsShowRefuteOrLeaveOpen) {
  EXPECT_EQ(Judge(PairWith(20, Interval{0.81, 0.95})).claim, Claim::kShown);
  EXPECT_EQ(Judge(PairWith(20, Interval{0.8, 0.95})).claim, Claim::kOpen);
  EXPECT_EQ(Judge(PairWith(20, Interval{0.5, 0.81})).claim, Claim::kOpen);
  EXPECT_EQ(Judge(PairWith(20, Interval{0.5, 0.8})).claim, Claim::kRefuted);
}

// Python: math.tanh(math.atanh(.8) + 1.6448536269514722 * (.437 / (n - 4)) ** .5) is .878794 for
// n = 20 and .856441 for n = 40, rounded up to the next 1 - 4 k / (n (n - 1)).
TEST(AboveTest, TheLeastTauThatCanBeShownIsOneThatTauTakes) {
  EXPECT_NEAR(*Judge(PairWith(20, std::nullopt)).least, 1 - 11 * 4 / 380.0, 1e-12);
  EXPECT_NEAR(*Judge(PairWith(40, std::nullopt)).least, 1 - 55 * 4 / 1560.0, 1e-12);
  EXPECT_EQ(Judge(PairWith(8, std::nullopt)).least, std::nullopt) << "of one pair turned round";
  EXPECT_EQ(Judge(PairWith(4, std::nullopt)).least, std::nullopt);
  ConcurrenceMatrix relatives = PairWith(40, std::nullopt);
  relatives.families.tag = "family";
  relatives.families.approaches = 20;
  EXPECT_EQ(Judge(relatives).least, Judge(PairWith(20, std::nullopt)).least);
  ConcurrenceMatrix pearson = PairWith(20, std::nullopt);
  pearson.coefficient = Coefficient::kPearson;
  // tanh(atanh(.8) + 1.6448536 / sqrt(17)).
  EXPECT_NEAR(*Judge(pearson).least, 0.904704, 1e-6);
  pearson.coefficient = Coefficient::kTopK;
  EXPECT_EQ(Judge(pearson).least, std::nullopt);
}

TEST(AboveTest, TheTableCountsVerdictsAndSaysHowOftenTheyErr) {
  const std::string text =
      WriteTable(AboveTable(PairWith(20, Interval{0.81, 0.95}), 0.8, 0.95), TableFormat::kText);
  EXPECT_THAT(text,
              HasSubstr("Kendall's tau-b > 0.8? 20 approaches, 2 benchmarks; one-sided 95 %"));
  EXPECT_THAT(text, HasSubstr("1 shown, 0 refuted, 0 open; each is wrong in 5 %"));
}

}  // namespace
}  // namespace concur::analysis
