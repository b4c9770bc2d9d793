// SPDX-License-Identifier: Apache-2.0
#include "analysis/concurrence/suite.h"

#include <string>
#include <vector>

#include "analysis/concurrence/matrix.h"
#include "analysis/score_table.h"
#include "report/claim_tables.h"
#include "report/table.h"
#include "tests/testing/test.h"

namespace concur::analysis {
namespace {

ScoreTable ParseSuite(const std::string& csv) {
  auto parsed = ParseScoresCsv(csv, "test.csv");
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  return parsed->table;
}

constexpr char kSuite[] =
    "approach,A,B,C\n#goal,maximize,minimize,maximize\n"
    "m,1,4,10\nn,2,3,20\no,3,1,\np,4,2,20\n";

TEST(SuiteTest, TwoBenchmarksAreNoSuite) {
  EXPECT_THAT(
      CompareWithSuite(ParseSuite("approach,A,B\nm,1,2\nn,2,1\n"), {}),
      StatusIs(absl::StatusCode::kInvalidArgument, "suite: expected at least 3 benchmarks, got 2"));
}

// B, of which less is better, ranks m, n, p, o; C m, then n and p.
TEST(SuiteTest, ABenchmarkMeetsTheMeanRankOfTheOthersAlone) {
  ASSERT_OK_AND_ASSIGN(const ScoreTable pair, AgainstOthers(ParseSuite(kSuite), 0));
  EXPECT_EQ(pair.cell(0, 0).value, 1);
  EXPECT_NEAR(pair.cell(0, 1).value, (0.5 / 4 + 0.5 / 3) / 2, 1e-15);
  EXPECT_NEAR(pair.cell(1, 1).value, (1.5 / 4 + 2.0 / 3) / 2, 1e-15);
  EXPECT_NEAR(pair.cell(2, 1).value, 3.5 / 4, 1e-15) << "without C";
  EXPECT_NEAR(pair.cell(3, 1).value, (2.5 / 4 + 2.0 / 3) / 2, 1e-15);
  // Order m, n, p, o on the others against m, n, o, p on A: one of six pairs turned round.
  ASSERT_OK_AND_ASSIGN(const std::vector<ConcurrenceMatrix> members,
                       CompareWithSuite(ParseSuite(kSuite), {}));
  EXPECT_NEAR(members[0].pairs[0].correlation.value, 4 / 6.0, 1e-15);
  EXPECT_EQ(members[2].pairs[0].correlation.n, 3);
  const std::string text = WriteTable(SuiteTable(ParseSuite(kSuite), members), TableFormat::kText);
  EXPECT_THAT(text,
              HasSubstr("Kendall's tau-b of each benchmark with the mean rank on the other 2"));
  EXPECT_THAT(text,
              HasSubstr("A           4   0.67\nB           4   0.67\nC          3*   0.82\n"));
  EXPECT_THAT(text, HasSubstr("Less is better on B."));
}

// A benchmark that nobody else was scored on has nothing to be compared with.
TEST(SuiteTest, WithoutOtherScoresThereIsNoMeanRank) {
  ASSERT_OK_AND_ASSIGN(const ScoreTable pair,
                       AgainstOthers(ParseSuite("approach,A,B,C\nm,1,,\nn,2,1,1\no,3,2,2\n"), 0));
  EXPECT_EQ(pair.cell(0, 1).state, CellState::kMissing);
}

}  // namespace
}  // namespace concur::analysis
