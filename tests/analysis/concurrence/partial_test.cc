// SPDX-License-Identifier: Apache-2.0
#include "analysis/concurrence/partial.h"

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analysis/bootstrap.h"
#include "analysis/concurrence/matrix.h"
#include "analysis/score_table.h"
#include "base/random.h"
#include "report/claim_tables.h"
#include "report/table.h"
#include "tests/analysis/simulated_tables.h"
#include "tests/testing/test.h"

namespace concur::analysis {
namespace {

ScoreTable ParseGiven(const std::string& csv, const std::vector<std::string>& tags = {}) {
  ScoresCsvOptions options;
  options.tag_columns = tags;
  auto parsed = ParseScoresCsv(csv, "test.csv", options);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  return parsed->table;
}

MatrixOptions WithBootstrap() {
  MatrixOptions options;
  options.bootstrap.emplace();
  options.bootstrap->replicates = 500;
  return options;
}

// Siegel, Nonparametric Statistics for the Behavioral Sciences, 1956, p. 225: authoritarianism,
// status strivings and conformity of twelve students; tau .67, .36 and .39, partial tau .62.
constexpr char kSiegel[] =
    "approach,X,Y,Z\nA,2,3,1.5\nB,6,4,1.5\nC,5,2,3.5\nD,1,1,3.5\nE,10,8,5\nF,9,11,6\n"
    "G,8,10,7\nH,3,6,8\nI,4,7,9\nJ,12,12,10.5\nK,7,5,10.5\nL,11,9,12\n";

TEST(PartialTest, EqualsSiegelsExample) {
  ASSERT_OK_AND_ASSIGN(const ConcurrenceMatrix matrix, ComputeMatrix(ParseGiven(kSiegel), {}));
  EXPECT_NEAR(matrix.pair(0, 1).correlation.value, 0.67, 0.005);
  EXPECT_NEAR(matrix.pair(0, 2).correlation.value, 0.36, 0.005);
  EXPECT_NEAR(matrix.pair(1, 2).correlation.value, 0.39, 0.005);
  EXPECT_NEAR(PartialTau(0.67, 0.36, 0.39), 0.62, 0.005) << "from rounded values, as there";
  ASSERT_OK_AND_ASSIGN(const PartialMatrix partial,
                       ComputePartial(ParseGiven(kSiegel), "Z", WithBootstrap()));
  ASSERT_EQ(partial.pairs.size(), 1);
  EXPECT_EQ(partial.plain.pairs[0].correlation.value, matrix.pair(0, 1).correlation.value);
  EXPECT_NEAR(*partial.pairs[0].value, 0.61357, 0.00001);
  EXPECT_LT(partial.pairs[0].interval->low, *partial.pairs[0].value);
  EXPECT_GT(partial.pairs[0].interval->high, *partial.pairs[0].value);
}

// The correlation of residuals: of the signs of all pairs of approaches, as tau-b is that of signs.
TEST(PartialTest, IsThePartialCorrelationOfSigns) {
  Random random(1, "partial_test");
  Columns columns(3, std::vector<double>(15));
  for (std::vector<double>& column : columns) {
    for (double& score : column) {
      score = static_cast<double>(random.Below(6));
    }
  }
  std::vector<std::vector<double>> signs(3);
  for (size_t b = 0; b < 3; ++b) {
    for (size_t i = 0; i < 15; ++i) {
      for (size_t j = 0; j < 15; ++j) {
        signs[b].push_back(
            static_cast<double>((columns[b][i] > columns[b][j]) - (columns[b][i] < columns[b][j])));
      }
    }
  }
  const auto product = [](const std::vector<double>& x, const std::vector<double>& y) {
    double sum = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      sum += x[i] * y[i];
    }
    return sum;
  };
  for (size_t b = 0; b < 2; ++b) {
    const double slope = product(signs[b], signs[2]) / product(signs[2], signs[2]);
    for (size_t i = 0; i < signs[b].size(); ++i) {
      signs[b][i] -= slope * signs[2][i];
    }
  }
  ASSERT_OK_AND_ASSIGN(const PartialMatrix partial,
                       ComputePartial(SimulatedTable(columns, {}), "b2", {}));
  EXPECT_NEAR(*partial.pairs[0].value,
              product(signs[0], signs[1]) /
                  std::sqrt(product(signs[0], signs[0]) * product(signs[1], signs[1])),
              1e-12);
  EXPECT_FALSE(partial.pairs[0].interval.has_value()) << "none was asked for";
}

// Each pair uses the approaches that have both scores and the given one, for all three tau-b.
TEST(PartialTest, GapsAreThoseOfThePairAndTheGivenColumn) {
  const std::string csv =
      "approach,A,B,C,size\nm,1,2,3,1\nn,2,1,1,3\no,3,4,,2\np,4,3,2,5\nq,5,6,9,4\nr,6,5,4,\n"
      "s,7,8,5,6\n";
  ASSERT_OK_AND_ASSIGN(const PartialMatrix partial,
                       ComputePartial(ParseGiven(csv), "size", WithBootstrap()));
  EXPECT_THAT(partial.left_out, ElementsAre("r"));
  EXPECT_EQ(partial.plain.pairs[0].correlation.n, 6);
  EXPECT_EQ(partial.plain.pairs[1].correlation.n, 5);
  ASSERT_OK_AND_ASSIGN(
      const PartialMatrix complete,
      ComputePartial(ParseGiven("approach,A,C,size\nm,1,3,1\nn,2,1,3\np,4,2,5\nq,5,9,4\ns,7,5,6\n"),
                     "size", WithBootstrap()));
  EXPECT_EQ(*partial.pairs[1].value, *complete.pairs[0].value);
  EXPECT_FALSE(partial.pairs[1].interval.has_value());
  EXPECT_EQ(partial.pairs[1].warning, "fewer than 12 approaches: no interval");
  const std::string text = WriteTable(PartialTable(partial), TableFormat::kText);
  EXPECT_THAT(text, HasSubstr("Partial tau-b given size over 6 approaches, 3 benchmarks; 95 % "));
  EXPECT_THAT(text, HasSubstr("Left out, for they have no size: r."));
  EXPECT_THAT(text, HasSubstr("5*"));
}

TEST(PartialTest, ATagOfNumbersIsGivenAsABenchmarkIs) {
  const std::string csv = "approach,A,B,size\nm,1,2,1e3\nn,2,1,70\no,3,4,8\np,4,3,500\nq,5,6,13\n";
  ASSERT_OK_AND_ASSIGN(const PartialMatrix benchmark,
                       ComputePartial(ParseGiven(csv), "size", WithBootstrap()));
  ASSERT_OK_AND_ASSIGN(const PartialMatrix tag,
                       ComputePartial(ParseGiven(csv, {"size"}), "size", WithBootstrap()));
  EXPECT_EQ(*benchmark.pairs[0].value, *tag.pairs[0].value);
  EXPECT_THAT(ComputePartial(ParseGiven("approach,A,B,size\nm,1,2,7B\nn,2,1,8\n"), "size", {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "given: expected a number as the tag size of \"m\", got \"7B\""));
  EXPECT_THAT(ComputePartial(ParseGiven(csv), "seize", {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no benchmark or tag")));
  EXPECT_THAT(ComputePartial(ParseGiven(csv), "A", {}).value().pairs.size(), 1);
  EXPECT_THAT(
      ComputePartial(ParseGiven("approach,A,B\nm,1,2\n"), "B", {}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("two benchmarks beside \"B\"")));
}

TEST(PartialTest, IsUndefinedWhereTheGivenColumnTellsAll) {
  const std::string csv = "approach,A,B,size\nm,1,2,1\nn,2,1,2\no,3,4,3\np,4,3,4\n";
  ASSERT_OK_AND_ASSIGN(const PartialMatrix partial,
                       ComputePartial(ParseGiven(csv), "size", WithBootstrap()));
  EXPECT_FALSE(partial.pairs[0].value.has_value());
  EXPECT_FALSE(partial.pairs[0].interval.has_value());
  const std::string text = WriteTable(PartialTable(partial), TableFormat::kText);
  EXPECT_THAT(text, HasSubstr("one benchmark ranks wholly as size does"));
  EXPECT_TRUE(std::isnan(PartialTau(0.5, 1, 0.5)));
}

// The goal of a benchmark turns its order round, and that of the given column changes nothing.
TEST(PartialTest, IsOfOrientedScores) {
  const std::string up = "approach,A,B,C\n#goal,maximize,maximize,maximize\n";
  const std::string down = "approach,A,B,C\n#goal,maximize,minimize,minimize\n";
  const std::string rows = "m,1,2,1\nn,2,1,3\no,3,4,2\np,4,3,5\nq,5,6,4\n";
  ASSERT_OK_AND_ASSIGN(const PartialMatrix plain, ComputePartial(ParseGiven(up + rows), "C", {}));
  ASSERT_OK_AND_ASSIGN(const PartialMatrix turned,
                       ComputePartial(ParseGiven(down + rows), "C", {}));
  EXPECT_EQ(*plain.pairs[0].value, -*turned.pairs[0].value);
}

}  // namespace
}  // namespace concur::analysis
