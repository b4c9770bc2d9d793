// SPDX-License-Identifier: Apache-2.0
#include "analysis/concurrence/difference.h"

#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "analysis/concurrence/matrix.h"
#include "analysis/score_table.h"
#include "analysis/statistics/fisher.h"
#include "report/writers.h"
#include "tests/analysis/reference_scores.h"
#include "tests/testing/test.h"

namespace concur::analysis {
namespace {

ScoreTable ParseDifference(const std::string& csv) {
  absl::StatusOr<ParsedScores> parsed = ParseScoresCsv(csv, "s.csv");
  EXPECT_OK(parsed);
  return parsed.ok() ? parsed->table : ScoreTable();
}

constexpr char kScores[] =
    "approach,A,B,C\na,1,2,9\nb,2,1,3\nc,3,4,8\nd,4,3,5\ne,5,6,1\nf,6,5,2\ng,7,8,7\nh,8,7,4\n";

TEST(DifferenceTest, IsTheDifferenceOfTheCoefficients) {
  const ScoreTable table = ParseDifference(kScores);
  BootstrapOptions options;
  options.replicates = 500;
  ASSERT_OK_AND_ASSIGN(const std::vector<PairDifference> differences,
                       BootstrapDifferences(table, Coefficient::kKendall,
                                            {{"A", "B", "A", "C"}, {"A", "B", "B", "A"}}, options));
  ASSERT_OK_AND_ASSIGN(const ConcurrenceMatrix matrix, ComputeMatrix(table, {}));
  EXPECT_NEAR(*differences[0].value,
              matrix.pair(0, 1).correlation.value - matrix.pair(0, 2).correlation.value, 1e-12);
  EXPECT_LT(differences[0].interval->low, *differences[0].value);
  EXPECT_GT(differences[0].interval->high, *differences[0].value);
  // Values that are the same in every replicate cancel wholly.
  EXPECT_EQ(*differences[1].value, 0);
  EXPECT_EQ(differences[1].interval->low, 0);
  EXPECT_EQ(differences[1].interval->high, 0);
}

TEST(DifferenceTest, BitsDoNotDependOnThreads) {
  const ScoreTable table = ParseDifference(kScores);
  BootstrapOptions options;
  options.replicates = 1000;
  const auto run = [&] {
    return *BootstrapDifferences(table, Coefficient::kPearson, {{"A", "B", "A", "C"}}, options);
  };
  const PairDifference alone = run()[0];
  options.parallel_for = [](size_t count, const std::function<void(size_t)>& body) {
    std::thread other([&] {
      for (size_t i = 1; i < count; i += 2) {
        body(i);
      }
    });
    for (size_t i = 0; i < count; i += 2) {
      body(i);
    }
    other.join();
  };
  const PairDifference shared = run()[0];
  EXPECT_EQ(alone.interval->low, shared.interval->low);
  EXPECT_EQ(alone.interval->high, shared.interval->high);
}

TEST(DifferenceTest, BadQueriesAreRefused) {
  const ScoreTable table = ParseDifference(kScores);
  EXPECT_THAT(BootstrapDifferences(table, Coefficient::kKendall, {{"A", "A", "A", "C"}}, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("pairs of two benchmarks")));
  EXPECT_THAT(BootstrapDifferences(table, Coefficient::kKendall, {{"A", "B", "A", "X"}}, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("\"X\"")));
  MatrixOptions options;
  options.differences = {{"A", "B", "A", "C"}};
  EXPECT_THAT(ComputeMatrix(table, options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--interval")));
}

TEST(DifferenceTest, UndefinedOnesSaySoAndNoApproachIsNoCrash) {
  BootstrapOptions options;
  options.replicates = 100;
  ASSERT_OK_AND_ASSIGN(
      const std::vector<PairDifference> constant,
      BootstrapDifferences(ParseDifference("approach,A,B,C\na,1,2,3\nb,2,2,4\n"),
                           Coefficient::kKendall, {{"A", "B", "A", "C"}}, options));
  EXPECT_FALSE(constant[0].value.has_value());
  EXPECT_THAT(constant[0].warning, HasSubstr("undefined"));
  ASSERT_OK_AND_ASSIGN(
      const std::vector<PairDifference> empty,
      BootstrapDifferences(ParseDifference("approach,A,B,C\n"), Coefficient::kKendall,
                           {{"A", "B", "A", "C"}}, options));
  EXPECT_FALSE(empty[0].value.has_value());
}

TEST(DifferenceTest, EveryFormWithAPlaceForThemShowsThem) {
  MatrixOptions options;
  options.bootstrap.emplace().replicates = 200;
  options.differences = {{"A", "B", "A", "C"}};
  ASSERT_OK_AND_ASSIGN(const ConcurrenceMatrix matrix,
                       ComputeMatrix(ParseDifference(kScores), options));
  EXPECT_THAT(WriteMatrix(matrix, TableFormat::kText),
              HasSubstr("(A – B) less (A – C): 1.00 [0.36, 1.65]"));
  EXPECT_THAT(WriteMatrix(matrix, TableFormat::kJson),
              HasSubstr(R"("less_a":"A","less_b":"C","n":8,"less_n":8)"));
  EXPECT_THAT(WriteMatrix(matrix, TableFormat::kJsonLines), HasSubstr(R"("difference":0.99)"));
}

TEST(DifferenceTest, OfTheConcurrenceStudy) {
  CONCUR_LOAD_REFERENCE(table, "concurrence-em.csv");
  BootstrapOptions options;
  options.replicates = 2000;
  ASSERT_OK_AND_ASSIGN(
      const std::vector<PairDifference> differences,
      BootstrapDifferences(table, Coefficient::kKendall,
                           {{"SQuAD", "MRQA NewsQA", "SQuAD", "MRQA DROP"}}, options));
  EXPECT_NEAR(*differences[0].value, 0.10, 0.011);
  EXPECT_LT(differences[0].interval->low, 0.10);
}

TEST(FisherTest, IntervalsAreThoseOfTheFormulas) {
  ASSERT_OK_AND_ASSIGN(const Interval r, FisherInterval(Coefficient::kPearson, 0.5, 28, 0.95));
  EXPECT_NEAR(r.low, std::tanh(std::atanh(0.5) - 1.959963984540054 / 5), 1e-15);
  EXPECT_NEAR(r.high, std::tanh(std::atanh(0.5) + 1.959963984540054 / 5), 1e-15);
  ASSERT_OK_AND_ASSIGN(const Interval rho, FisherInterval(Coefficient::kSpearman, 0.5, 28, 0.95));
  EXPECT_LT(rho.low, r.low);
  ASSERT_OK_AND_ASSIGN(const Interval tau, FisherInterval(Coefficient::kKendall, 0.5, 29, 0.95));
  EXPECT_NEAR(tau.high, std::tanh(std::atanh(0.5) + 1.959963984540054 * std::sqrt(0.437) / 5),
              1e-15);
}

TEST(FisherTest, WhereThereIsNoneTheReasonIsGiven) {
  EXPECT_THAT(FisherInterval(Coefficient::kPearson, 0.5, 3, 0.95),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("fewer than 4")));
  EXPECT_THAT(FisherInterval(Coefficient::kKendall, 1, 30, 0.95),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("perfect")));
  EXPECT_THAT(FisherInterval(Coefficient::kRbo, 0.5, 30, 0.95),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("rbo")));
  EXPECT_THAT(FisherInterval(Coefficient::kTopK, 0.5, 30, 0.95),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("top-k")));
  EXPECT_THAT(FisherInterval(Coefficient::kPearson, 0.5, 30, 1),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("between 0 and 1")));
  MatrixOptions options;
  options.fisher_level = 0.95;
  ASSERT_OK_AND_ASSIGN(
      const ConcurrenceMatrix matrix,
      ComputeMatrix(ParseDifference("approach,A,B\na,1,1\nb,2,2\nc,3,3\n"), options));
  EXPECT_THAT(matrix.pairs[0].warning, HasSubstr("no analytic interval"));
}

}  // namespace
}  // namespace concur::analysis
