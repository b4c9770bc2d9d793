// SPDX-License-Identifier: Apache-2.0
#include "analysis/concurrence/bounds.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "analysis/concurrence/matrix.h"
#include "analysis/score_table.h"
#include "base/random.h"
#include "report/writers.h"
#include "tests/testing/sanitizers.h"
#include "tests/testing/test.h"

namespace concur::analysis {
namespace {

constexpr Coefficient kAll[] = {Coefficient::kKendall,  Coefficient::kPearson,
                                Coefficient::kSpearman, Coefficient::kWeightedKendall,
                                Coefficient::kTopK,     Coefficient::kRbo};

ScoreTable Parse(const std::string& csv) {
  absl::StatusOr<ParsedScores> parsed = ParseScoresCsv(csv, "s.csv");
  EXPECT_OK(parsed);
  return parsed.ok() ? parsed->table : ScoreTable();
}

std::optional<CoefficientBounds> BoundsOf(const ScoreTable& table, Coefficient coefficient) {
  BoundsOptions options;
  options.top = 2;
  absl::StatusOr<std::optional<CoefficientBounds>> bounds =
      BoundsOfPair(table, coefficient, 0, 1, options);
  EXPECT_OK(bounds);
  return bounds.value_or(std::nullopt);
}

// `holes` scores of `n` approaches, levels few enough for ties, are missing.
ScoreTable RandomTableBounds(Random& random, size_t n, size_t holes) {
  std::vector<AxisEntry> rows;
  for (size_t i = 0; i < n; ++i) {
    rows.push_back({absl::StrCat("a", i), {}});
  }
  absl::StatusOr<ScoreTable> table = ScoreTable::Create(rows, {{"A", {}}, {"B", {}}});
  EXPECT_OK(table);
  for (size_t i = 0; i < n; ++i) {
    for (size_t b = 0; b < 2; ++b) {
      table->cell(i, b).state = CellState::kValue;
      table->cell(i, b).value = static_cast<double>(random.Below(101));
    }
  }
  for (size_t h = 0; h < holes; ++h) {
    table->cell(random.Below(n), random.Below(2)).state = CellState::kMissing;
  }
  return *std::move(table);
}

TEST(BoundsTest, WithoutMissingScoresTheyAreTheCoefficient) {
  const ScoreTable table = Parse("approach,A,B\na,1,4\nb,2,2\nc,3,9\nd,4,5\n");
  for (const Coefficient coefficient : kAll) {
    const std::optional<CoefficientBounds> bounds = BoundsOf(table, coefficient);
    ASSERT_TRUE(bounds.has_value());
    EXPECT_EQ(bounds->low, bounds->high);
    EXPECT_TRUE(bounds->exact);
    EXPECT_NEAR(
        bounds->low,
        Correlate(coefficient, std::vector<double>{1, 2, 3, 4}, std::vector<double>{4, 2, 9, 5}, 2)
            .value,
        1e-14);
  }
}

TEST(BoundsTest, OneMissingScoreOfAPerfectOrder) {
  // c may stand anywhere on B: last as on A (tau 1), or first (two of three pairs reversed).
  const ScoreTable table = Parse("approach,A,B\na,1,1\nb,2,2\nc,3,\n");
  const std::optional<CoefficientBounds> bounds = BoundsOf(table, Coefficient::kKendall);
  EXPECT_EQ(bounds->high, 1);
  EXPECT_NEAR(bounds->low, -1.0 / 3, 1e-15);
  EXPECT_EQ(bounds->missing, 1);
  EXPECT_TRUE(bounds->exact);
}

TEST(BoundsTest, NoFillingLiesOutside) {
  Random random(11, "bounds_test");
  for (int trial = 0; trial < 60; ++trial) {
    const ScoreTable table = RandomTableBounds(random, 4 + random.Below(6), 1 + random.Below(4));
    for (const Coefficient coefficient : kAll) {
      const std::optional<CoefficientBounds> bounds = BoundsOf(table, coefficient);
      if (!bounds.has_value()) {
        continue;
      }
      for (int filling = 0; filling < (testing::kSanitized ? 50 : 200); ++filling) {
        std::vector<double> lists[2];
        for (size_t i = 0; i < table.approaches().size(); ++i) {
          for (size_t b = 0; b < 2; ++b) {
            const bool there = table.cell(i, b).state == CellState::kValue;
            lists[b].push_back(there ? table.cell(i, b).value : random.Uniform() * 100);
          }
        }
        const Correlation filled = Correlate(coefficient, lists[0], lists[1], 2);
        if (filled.defined()) {
          EXPECT_GE(filled.value, bounds->low - 1e-9) << trial << CoefficientName(coefficient);
          EXPECT_LE(filled.value, bounds->high + 1e-9) << trial << CoefficientName(coefficient);
        }
      }
    }
  }
}

// When only one benchmark lacks scores and nothing ties, each missing score can be placed by itself
// where it agrees with most others: the best places never contradict each other.
TEST(BoundsTest, SearchReachesTheKnownBoundOfTau) {
  Random random(12, "bounds_test");
  for (int trial = 0; trial < 20; ++trial) {
    constexpr size_t kApproaches = 20;
    constexpr size_t kHoles = 5;
    std::vector<double> x(kApproaches);
    std::vector<double> y(kApproaches);
    for (size_t i = 0; i < kApproaches; ++i) {
      x[i] = static_cast<double>(i);
      y[i] = static_cast<double>(i);
    }
    random.Shuffle(y);
    std::string csv = "approach,A,B\n";
    for (size_t i = 0; i < kApproaches; ++i) {
      absl::StrAppend(&csv, "a", i, ",", x[i], ",", i % 4 == 3 ? "" : absl::StrCat(y[i]), "\n");
    }
    const auto sign = [](double value) { return (value > 0) - (value < 0); };
    int most = kHoles * (kHoles - 1) / 2;
    int least = -most;
    for (size_t i = 0; i < kApproaches; ++i) {
      if (i % 4 == 3) {
        int best = -100;
        int worst = 100;
        for (size_t place = 0; place <= kApproaches; ++place) {
          int sum = 0;
          for (size_t j = 0; j < kApproaches; ++j) {
            sum +=
                j % 4 == 3 ? 0 : sign(x[i] - x[j]) * sign(static_cast<double>(place) - 0.5 - y[j]);
          }
          best = std::max(best, sum);
          worst = std::min(worst, sum);
        }
        most += best;
        least += worst;
      } else {
        for (size_t j = 0; j < i; ++j) {
          const int agreement = j % 4 == 3 ? 0 : sign(x[i] - x[j]) * sign(y[i] - y[j]);
          most += agreement;
          least += agreement;
        }
      }
    }
    const std::optional<CoefficientBounds> bounds = BoundsOf(Parse(csv), Coefficient::kKendall);
    EXPECT_FALSE(bounds->exact);
    EXPECT_NEAR(bounds->high, most / 190.0, 1e-12) << trial;
    EXPECT_NEAR(bounds->low, least / 190.0, 1e-12) << trial;
  }
}

TEST(BoundsTest, SmallAndLargeTablesAreClear) {
  EXPECT_FALSE(BoundsOf(Parse("approach,A,B\n"), Coefficient::kKendall).has_value());
  EXPECT_FALSE(BoundsOf(Parse("approach,A,B\na,,\n"), Coefficient::kPearson).has_value());
  const std::optional<CoefficientBounds> nothing =
      BoundsOf(Parse("approach,A,B\na,,1\nb,,2\nc,,3\n"), Coefficient::kKendall);
  EXPECT_EQ(nothing->low, -1);
  EXPECT_EQ(nothing->high, 1);
  Random random(1, "bounds_test");
  EXPECT_THAT(BoundsOfPair(RandomTableBounds(random, 501, 1), Coefficient::kKendall, 0, 1, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("500")));
}

TEST(BoundsTest, EveryFormShowsThem) {
  MatrixOptions options;
  options.bounds = true;
  ASSERT_OK_AND_ASSIGN(const ConcurrenceMatrix matrix,
                       ComputeMatrix(Parse("approach,A,B,C\na,1,1,1\nb,2,2,2\nc,3,,3\n"), options));
  EXPECT_THAT(WriteMatrix(matrix, TableFormat::kText),
              HasSubstr("A  B        1   1.00     -0.33     1.00"));
  EXPECT_THAT(WriteMatrix(matrix, TableFormat::kJson), HasSubstr(R"("missing":1,"exact":true})"));
  EXPECT_THAT(WriteMatrix(matrix, TableFormat::kCsv),
              HasSubstr(",bound_low,bound_high,bound_exact,warning\n"));
  EXPECT_THAT(WriteMatrix(matrix, TableFormat::kCsv), HasSubstr("kendall,A,C,3,1,,,,,,1,1,yes,\n"));
}

}  // namespace
}  // namespace concur::analysis
