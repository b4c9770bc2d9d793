// SPDX-License-Identifier: Apache-2.0
#include "analysis/bootstrap.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "analysis/concurrence/matrix.h"
#include "analysis/families.h"
#include "analysis/resampling.h"
#include "base/random.h"
#include "report/writers.h"
#include "tests/testing/test.h"

namespace concur::analysis {
namespace {

// Scores of a common quality plus noise, on `levels` steps; every tenth cell missing if asked.
ScoreTable RandomTable(size_t approaches, size_t benchmarks, int levels, bool holes) {
  std::vector<AxisEntry> rows;
  std::vector<AxisEntry> columns;
  for (size_t i = 0; i < approaches; ++i) {
    rows.push_back({absl::StrCat("a", i), {}});
  }
  for (size_t b = 0; b < benchmarks; ++b) {
    columns.push_back({absl::StrCat("b", b), {}});
  }
  absl::StatusOr<ScoreTable> table = ScoreTable::Create(rows, columns);
  Random random(7, "bootstrap_test");
  for (size_t i = 0; i < approaches; ++i) {
    const double quality = random.Normal();
    for (size_t b = 0; b < benchmarks; ++b) {
      const double score = std::round((50 + 10 * quality + 8 * random.Normal()) * levels / 100);
      const bool hole = holes && b % 3 == 0 && random.Chance(0.1);
      table->cell(i, b).state = hole ? CellState::kFailed : CellState::kValue;
      table->cell(i, b).value = score * 0.1;
    }
  }
  return *std::move(table);
}

std::vector<Coefficient> AllCoefficients() {
  return {Coefficient::kKendall, Coefficient::kPearson, Coefficient::kSpearman};
}

// The plain definition: repeat each approach as often as its weight says.
Correlation Expanded(const ScoreTable& table, Coefficient coefficient, size_t a, size_t b,
                     const std::vector<int32_t>& weights) {
  std::vector<double> x;
  std::vector<double> y;
  for (size_t i = 0; i < weights.size(); ++i) {
    for (int32_t k = 0; k < weights[i]; ++k) {
      if (table.cell(i, a).state == CellState::kValue &&
          table.cell(i, b).state == CellState::kValue) {
        x.push_back(table.cell(i, a).value);
        y.push_back(table.cell(i, b).value);
      }
    }
  }
  return Correlate(coefficient, x, y);
}

TEST(ResamplingTest, WeightsMeanTheSameAsRepeatedApproaches) {
  const struct {
    size_t approaches;
    size_t benchmarks;
    int levels;
    bool holes;
  } cases[] = {{2, 3, 100, false}, {5, 33, 20, false},  {20, 32, 1000, false}, {20, 70, 10, true},
               {64, 8, 5, false},  {255, 3, 50, false}, {256, 3, 50, false},   {300, 4, 30, true}};
  for (const auto& test : cases) {
    const ScoreTable table = RandomTable(test.approaches, test.benchmarks, test.levels, test.holes);
    for (const Coefficient coefficient : AllCoefficients()) {
      const WeightedCoefficients evaluator(table, coefficient);
      WeightedCoefficients::Scratch scratch;
      Random random(3, "weights");
      for (int round = 0; round < 4; ++round) {
        std::vector<int32_t> weights(test.approaches, round == 0 ? 1 : 0);
        for (size_t draw = 0; round > 0 && draw < test.approaches; ++draw) {
          ++weights[random.Below(test.approaches)];
        }
        const size_t begin = round == 1 ? 1 : 0;
        std::vector<double> values(evaluator.PairCount(begin, test.benchmarks));
        evaluator.Evaluate(weights, begin, test.benchmarks, scratch, values.data());
        size_t at = 0;
        for (size_t a = begin; a < test.benchmarks; ++a) {
          for (size_t b = a + 1; b < test.benchmarks; ++b, ++at) {
            const Correlation expected = Expanded(table, coefficient, a, b, weights);
            ASSERT_EQ(std::isnan(values[at]), !expected.defined())
                << CoefficientName(coefficient) << " n=" << test.approaches << " " << a << "," << b;
            if (expected.defined()) {
              ASSERT_NEAR(values[at], expected.value, 1e-12)
                  << CoefficientName(coefficient) << " n=" << test.approaches << " " << a << ","
                  << b;
            }
          }
        }
      }
    }
  }
}

// p was .012 beside an interval that contained 0.
TEST(BootstrapTest, PValuesAndIntervalsAgree) {
  Random random(5, "p_values");
  for (const BootstrapMethod method : {BootstrapMethod::kPercentile, BootstrapMethod::kBca}) {
    for (const double units : {0.0, 6.0}) {
      for (const double shift : {-2.5, -1.5, 0.8, 1.0}) {
        std::vector<double> drawn(20'000);
        for (double& value : drawn) {
          const double normal = random.Normal();
          value = shift + normal + 0.2 * normal * normal;
        }
        std::vector<double> jackknife(12);
        for (double& value : jackknife) {
          value = shift + std::exp(random.Normal());
        }
        const double p = SignPValue(drawn, shift + 0.1, jackknife, method, units);
        const auto contains_zero = [&](double level) {
          std::vector<double> replicates = drawn;
          const double used = units > 0 ? ExpandedLevel(level, units) : level;
          const Interval interval =
              *IntervalFromReplicates(replicates, shift + 0.1, jackknife, used, method).interval;
          return interval.low <= 0 && interval.high >= 0;
        };
        EXPECT_FALSE(contains_zero(1 - 1.1 * p)) << p << " " << shift << " " << units;
        EXPECT_TRUE(contains_zero(1 - 0.9 * p)) << p << " " << shift << " " << units;
      }
    }
  }
}

BootstrapOptions Options(int64_t replicates = 1000) {
  BootstrapOptions options;
  options.replicates = replicates;
  return options;
}

std::string JsonWithIntervals(const ScoreTable& table, Coefficient coefficient,
                              const BootstrapOptions& bootstrap) {
  MatrixOptions options;
  options.coefficient = coefficient;
  options.bootstrap = bootstrap;
  absl::StatusOr<ConcurrenceMatrix> matrix = ComputeMatrix(table, options);
  EXPECT_OK(matrix);
  return WriteMatrix(*matrix, TableFormat::kJson);
}

TEST(BootstrapTest, TheSameBitsOnAnyNumberOfThreads) {
  const ScoreTable table = RandomTable(20, 12, 100, true);
  const auto threaded = [](size_t count, const std::function<void(size_t)>& body) {
    std::vector<std::thread> threads;
    for (size_t offset = 0; offset < 3; ++offset) {
      threads.emplace_back([&, offset] {
        for (size_t i = offset; i < count; i += 3) {
          body(i);
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
  };
  for (const Coefficient coefficient : AllCoefficients()) {
    BootstrapOptions options = Options();
    const std::string alone = JsonWithIntervals(table, coefficient, options);
    options.parallel_for = threaded;
    EXPECT_EQ(JsonWithIntervals(table, coefficient, options), alone);
    options.seed = 2;
    EXPECT_NE(JsonWithIntervals(table, coefficient, options), alone);
  }
}

TEST(BootstrapTest, OtherBenchmarksChangeNoInterval) {
  const ScoreTable table = RandomTable(6, 90, 100, false);
  ASSERT_OK_AND_ASSIGN(const ScoreTable two, table.SelectBenchmarks({"b3", "b89"}));
  // All pairs together exceed the room for replicates, so that they are computed in blocks.
  ASSERT_OK_AND_ASSIGN(const std::vector<BootstrapInterval> all,
                       BootstrapPairs(table, Coefficient::kKendall, Options(10'000)));
  ASSERT_OK_AND_ASSIGN(const std::vector<BootstrapInterval> alone,
                       BootstrapPairs(two, Coefficient::kKendall, Options(10'000)));
  ASSERT_EQ(all.size(), 90U * 89 / 2);
  const size_t at = 3 * (2 * 90 - 3 - 1) / 2 + (89 - 3 - 1);
  EXPECT_EQ(all[at].interval->low, alone[0].interval->low);
  EXPECT_EQ(all[at].interval->high, alone[0].interval->high);
}

TEST(BootstrapTest, IntervalsHoldTheEstimateAndNarrowWithMoreApproaches) {
  double width_before = 2;
  for (const size_t n : {10U, 40U, 160U}) {
    const ScoreTable table = RandomTable(n, 2, 1000, false);
    for (const BootstrapMethod method : {BootstrapMethod::kPercentile, BootstrapMethod::kBca}) {
      MatrixOptions options;
      options.bootstrap = Options();
      options.bootstrap->method = method;
      ASSERT_OK_AND_ASSIGN(const ConcurrenceMatrix matrix, ComputeMatrix(table, options));
      ASSERT_TRUE(matrix.pairs[0].interval.has_value());
      EXPECT_LT(matrix.pairs[0].interval->low, matrix.pairs[0].correlation.value);
      EXPECT_GT(matrix.pairs[0].interval->high, matrix.pairs[0].correlation.value);
    }
    const absl::StatusOr<std::vector<BootstrapInterval>> intervals =
        BootstrapPairs(table, Coefficient::kKendall, Options());
    const double width = (*intervals)[0].interval->high - (*intervals)[0].interval->low;
    EXPECT_LT(width, width_before);
    width_before = width;
  }
}

TEST(BootstrapTest, PercentilesInterpolateBetweenOrderStatistics) {
  std::vector<double> replicates;
  for (int i = 100; i >= 0; --i) {
    replicates.push_back(i / 100.0);
  }
  const BootstrapInterval result =
      IntervalFromReplicates(replicates, 0.5, {}, 0.95, BootstrapMethod::kPercentile);
  EXPECT_NEAR(result.interval->low, 0.025, 1e-15);
  EXPECT_NEAR(result.interval->high, 0.975, 1e-15);
  EXPECT_EQ(result.warning, "");
}

TEST(BootstrapTest, PerfectAgreementIsReportedAsBeyondResampling) {
  absl::StatusOr<ParsedScores> parsed =
      ParseScoresCsv("approach,A,B\nx,1,1\ny,2,2\nz,3,3\nv,4,4\nw,5,5\n", "s.csv");
  ASSERT_OK(parsed);
  ASSERT_OK_AND_ASSIGN(const std::vector<BootstrapInterval> intervals,
                       BootstrapPairs(parsed->table, Coefficient::kKendall, Options()));
  EXPECT_EQ(intervals[0].interval->low, 1);
  EXPECT_EQ(intervals[0].interval->high, 1);
  EXPECT_THAT(intervals[0].warning, HasSubstr("resampling cannot show the uncertainty"));
}

TEST(BootstrapTest, UndefinedReplicatesAreCountedAndNamed) {
  absl::StatusOr<ParsedScores> parsed =
      ParseScoresCsv("approach,A,B,C\nx,1,1,\ny,2,1,5\nz,3,2,\n", "s.csv");
  ASSERT_OK(parsed);
  ASSERT_OK_AND_ASSIGN(const std::vector<BootstrapInterval> intervals,
                       BootstrapPairs(parsed->table, Coefficient::kKendall, Options()));
  EXPECT_GT(intervals[0].undefined_replicates, 0);
  EXPECT_THAT(intervals[0].warning, HasSubstr("of the replicates"));
  EXPECT_FALSE(intervals[1].interval.has_value());
  EXPECT_EQ(intervals[1].undefined_replicates, 1000);
}

TEST(BootstrapTest, NoApproachesGiveNoIntervals) {
  absl::StatusOr<ParsedScores> parsed = ParseScoresCsv("approach,A,B\n", "s.csv");
  ASSERT_OK(parsed);
  ASSERT_OK_AND_ASSIGN(const std::vector<BootstrapInterval> intervals,
                       BootstrapPairs(parsed->table, Coefficient::kKendall, Options()));
  ASSERT_EQ(intervals.size(), 1U);
  EXPECT_FALSE(intervals[0].interval.has_value());
}

TEST(BootstrapTest, BadOptionsAreRefused) {
  const ScoreTable table = RandomTable(3, 2, 10, false);
  BootstrapOptions options = Options(99);
  EXPECT_THAT(BootstrapPairs(table, Coefficient::kKendall, options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("replicates: expected")));
  options = Options();
  for (const double level : {0.0, 1.0, 95.0, std::numeric_limits<double>::quiet_NaN()}) {
    options.level = level;
    EXPECT_THAT(BootstrapPairs(table, Coefficient::kKendall, options),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("interval: expected")));
  }
  EXPECT_THAT(ParseBootstrapMethod("BCa"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("bca or percentile")));
}

}  // namespace
}  // namespace concur::analysis
