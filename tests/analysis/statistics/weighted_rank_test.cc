// SPDX-License-Identifier: Apache-2.0
#include "analysis/statistics/weighted_rank.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "analysis/bootstrap.h"
#include "analysis/resampling.h"
#include "analysis/score_table.h"
#include "analysis/statistics/weighted_columns.h"
#include "base/file.h"
#include "base/random.h"
#include "tests/testing/test.h"

namespace concur::analysis {
namespace {

double NumberWeightedRank(absl::string_view text) {
  double value = 0;
  EXPECT_TRUE(absl::SimpleAtod(text, &value)) << text;
  return value;
}

TEST(WeightedKendallTest, ValuesAreScipys) {
  const char* source = std::getenv("CONCUR_SOURCE_DIR");  // NOLINT(concurrency-mt-unsafe)
  ASSERT_NE(source, nullptr) << "run through ctest, which sets CONCUR_SOURCE_DIR";
  ASSERT_OK_AND_ASSIGN(
      const std::string text,
      ReadFile(std::string(source) + "/tests/analysis/data/weightedtau_vectors.txt"));
  int lines = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    if (absl::StartsWith(line, "#")) {
      continue;
    }
    const std::vector<std::string> fields = absl::StrSplit(line, ' ');
    ASSERT_EQ(fields.size(), 5U) << line;
    auto state = static_cast<uint64_t>(NumberWeightedRank(fields[0]));
    const auto levels = static_cast<uint64_t>(NumberWeightedRank(fields[2]));
    const auto draw = [&] {
      state = state * 6364136223846793005U + 1442695040888963407U;
      return static_cast<double>((state >> 33) % levels);
    };
    std::vector<double> x(static_cast<size_t>(NumberWeightedRank(fields[1])));
    std::vector<double> y(x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = draw();
      const double noise = draw();
      y[i] = x[i] * NumberWeightedRank(fields[3]) + noise;
    }
    const Correlation ours = WeightedKendall(x, y);
    EXPECT_EQ(ours.defined(), fields[4] != "nan") << line;
    if (ours.defined()) {
      EXPECT_NEAR(ours.value, NumberWeightedRank(fields[4]), 1e-12) << line;
    }
    EXPECT_TRUE(std::isnan(ours.p_value)) << line;
    ++lines;
  }
  EXPECT_GT(lines, 400);
}

TEST(WeightedKendallTest, AnExchangeAtTheTopCountsMore) {
  const std::vector<double> x = {5, 4, 3, 2, 1};
  EXPECT_LT(WeightedKendall(x, std::vector<double>{4, 5, 3, 2, 1}).value,
            WeightedKendall(x, std::vector<double>{5, 4, 3, 1, 2}).value);
  EXPECT_EQ(WeightedKendall(x, x).value, 1);
  EXPECT_EQ(WeightedKendall(x, std::vector<double>{1, 2, 3, 4, 5}).value, -1);
}

TEST(WeightedKendallTest, CountsStandForCopies) {
  Random random(3, "weighted_rank_test");
  RankScratch scratch;
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<double> x;
    std::vector<double> y;
    std::vector<double> counts;
    std::vector<double> copies_x;
    std::vector<double> copies_y;
    for (uint64_t i = 0; i < 2 + random.Below(8); ++i) {
      x.push_back(static_cast<double>(random.Below(6)));
      y.push_back(static_cast<double>(random.Below(6)));
      counts.push_back(static_cast<double>(1 + random.Below(3)));
      copies_x.insert(copies_x.end(), static_cast<size_t>(counts.back()), x.back());
      copies_y.insert(copies_y.end(), static_cast<size_t>(counts.back()), y.back());
    }
    const double counted = WeightedKendallValue(x, y, counts, scratch);
    const Correlation copied = WeightedKendall(copies_x, copies_y);
    ASSERT_EQ(std::isnan(counted), !copied.defined()) << trial;
    if (copied.defined()) {
      EXPECT_NEAR(counted, copied.value, 1e-12) << trial;
    }
    const size_t top = 1 + random.Below(4);
    const double overlap = TopKValue(x, y, counts, top, scratch);
    const Correlation copied_overlap = TopKOverlap(copies_x, copies_y, top);
    ASSERT_EQ(std::isnan(overlap), !copied_overlap.defined()) << trial;
    if (copied_overlap.defined()) {
      EXPECT_NEAR(overlap, copied_overlap.value, 1e-12) << trial;
    }
  }
}

// Tables of all sizes, from no ties to hardly anything else.
TEST(WeightedKendallTest, AllPairsAtOnceAreTheSameBits) {
  Random random(5, "weighted_columns_test");
  for (const size_t rows : {2U, 3U, 7U, 8U, 9U, 31U, 64U, 65U, 300U, 513U}) {
    for (const uint64_t levels : {2U, 5U, 40U, 100'000U}) {
      std::vector<std::vector<double>> columns;
      WeightedColumns together(rows);
      for (int c = 0; c < 11; ++c) {
        std::vector<double> column(rows);
        for (double& value : column) {
          value = static_cast<double>(random.Below(levels));
        }
        if (std::count(column.begin(), column.end(), column[0]) !=
            static_cast<int64_t>(column.size())) {
          together.Add(column);
          columns.push_back(column);
        }
      }
      const size_t size = columns.size();
      std::vector<double> ranked(size * size);
      for (size_t x = 0; x < size; ++x) {
        together.RankedBy(x, absl::MakeSpan(ranked).subspan(x * size, size));
      }
      for (size_t x = 0; x < size; ++x) {
        for (size_t y = x + 1; y < size; ++y) {
          EXPECT_EQ(WeightedColumns::Mean(ranked[x * size + y], ranked[y * size + x]),
                    WeightedKendall(columns[x], columns[y]).value)
              << rows << " rows, " << levels << " levels, " << x << " and " << y;
        }
      }
    }
  }
}

TEST(TopKOverlapTest, TiesAtTheLastPlaceShareWhatIsLeft) {
  const struct {
    const char* name;
    std::vector<double> x;
    std::vector<double> y;
    size_t top;
    double overlap;
  } cases[] = {
      {"same best two", {9, 8, 1, 2}, {7, 9, 3, 1}, 2, 1},
      {"half", {9, 8, 1, 2}, {9, 1, 8, 2}, 2, 0.5},
      {"none", {9, 8, 1, 2}, {1, 2, 9, 8}, 2, 0},
      {"two of three tied at the second place", {9, 5, 5, 1}, {9, 5, 5, 1}, 2, 1},
      {"half a member", {9, 5, 5, 1}, {9, 5, 4, 1}, 2, 0.75},
      {"three share two places", {5, 5, 5, 1}, {3, 2, 1, 0}, 2, 2.0 / 3},
  };
  for (const auto& test : cases) {
    const Correlation overlap = TopKOverlap(test.x, test.y, test.top);
    ASSERT_TRUE(overlap.defined()) << test.name;
    EXPECT_NEAR(overlap.value, test.overlap, 1e-15) << test.name;
    EXPECT_NEAR(TopKOverlap(test.y, test.x, test.top).value, test.overlap, 1e-15) << test.name;
  }
}

// By the definition: a value is on top by the places that larger values leave to it and its equals.
double MemberOfTop(const std::vector<double>& values, size_t i, size_t top) {
  const auto larger =
      std::count_if(values.begin(), values.end(), [&](double value) { return value > values[i]; });
  const auto equal = std::count(values.begin(), values.end(), values[i]);
  return std::clamp(
      (static_cast<double>(top) - static_cast<double>(larger)) / static_cast<double>(equal), 0.0,
      1.0);
}

TEST(TopKOverlapTest, IsWhatTheDefinitionSays) {
  Random random(7, "top_k_test");
  for (int trial = 0; trial < 300; ++trial) {
    const size_t n = 2 + random.Below(60);
    const size_t top = 1 + random.Below(n);
    const uint64_t levels = 2 + random.Below(2 * n);
    std::vector<double> x(n);
    std::vector<double> y(n);
    for (size_t i = 0; i < n; ++i) {
      x[i] = static_cast<double>(random.Below(levels));
      y[i] = static_cast<double>(random.Below(levels));
    }
    double shared = 0;
    for (size_t i = 0; i < n; ++i) {
      shared += std::min(MemberOfTop(x, i, top), MemberOfTop(y, i, top));
    }
    const Correlation overlap = TopKOverlap(x, y, top);
    if (overlap.defined()) {
      EXPECT_NEAR(overlap.value, shared / static_cast<double>(top), 1e-12) << trial;
    }
  }
}

TEST(TopKOverlapTest, UndefinedWhereItSaysNothing) {
  const std::vector<double> x = {1, 2, 3};
  EXPECT_EQ(TopKOverlap(x, x, 3).undefined, Undefined::kAllOnTop);
  EXPECT_EQ(TopKOverlap(x, std::vector<double>{4, 4, 4}, 1).undefined, Undefined::kSecondConstant);
  EXPECT_EQ(TopKOverlap({}, {}, 1).undefined, Undefined::kTooFew);
  EXPECT_EQ(WeightedKendall({}, {}).undefined, Undefined::kTooFew);
  EXPECT_EQ(WeightedKendall(std::vector<double>{1}, std::vector<double>{2}).undefined,
            Undefined::kTooFew);
  EXPECT_EQ(WeightedKendall(std::vector<double>{1, 1}, std::vector<double>{2, 2}).undefined,
            Undefined::kBothConstant);
}

// The definition, depth by depth: value i is in the first d where fewer than d are better.
double PlainRbo(const std::vector<double>& x, const std::vector<double>& y, double p) {
  const auto within = [](const std::vector<double>& values, size_t i, size_t depth) {
    return std::count_if(values.begin(), values.end(), [&](double v) { return v > values[i]; }) <
           static_cast<std::ptrdiff_t>(depth);
  };
  double sum = 0;
  for (size_t d = 1; d <= x.size(); ++d) {
    double lists = 0;
    double both = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      lists += (within(x, i, d) ? 1 : 0) + (within(y, i, d) ? 1 : 0);
      both += within(x, i, d) && within(y, i, d) ? 1 : 0;
    }
    sum += 2 * both / lists * std::pow(p, d);
  }
  return std::pow(p, x.size()) + (1 - p) / p * sum;
}

// The package rankmeasures: RBO.eval(List(1,2,3,4,5), List(2,3,4,1,5), 0.9) is 0.828.
TEST(RankBiasedOverlapTest, EqualsRankmeasures) {
  EXPECT_NEAR(
      RankBiasedOverlap(std::vector<double>{5, 4, 3, 2, 1}, std::vector<double>{2, 5, 4, 3, 1})
          .value,
      0.828, 0.0005);
}

// S = {c, a}, b, d and T = a, {c, b}, d: A_1 = 2/3 and A_2 = 4/5, as both c and a stand at rank 1.
TEST(RankBiasedOverlapTest, TiesStandAtTheFirstOfTheirRanks) {
  const double value =
      RankBiasedOverlap(std::vector<double>{2, 1, 2, 0}, std::vector<double>{2, 1, 1, 0}).value;
  EXPECT_NEAR(value, 0.1 * (2 / 3.0 + 0.9 * 4 / 5) + 0.81, 1e-15);
}

TEST(RankBiasedOverlapTest, IsThatOfTheDefinitionAndOfRepeatedValues) {
  Random random(3, "rbo_test");
  RankScratch scratch;
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<double> x;
    std::vector<double> y;
    std::vector<double> counts;
    std::vector<double> all_x;
    std::vector<double> all_y;
    const size_t n = 2 + random.Below(30);
    for (size_t i = 0; i < n; ++i) {
      x.push_back(static_cast<double>(random.Below(trial % 2 == 0 ? 6 : 1000)) - 3);
      y.push_back(x[i] + random.Normal() * 2);
      counts.push_back(static_cast<double>(1 + random.Below(3)));
      all_x.insert(all_x.end(), static_cast<size_t>(counts[i]), x[i]);
      all_y.insert(all_y.end(), static_cast<size_t>(counts[i]), y[i]);
    }
    const Correlation value = RankBiasedOverlap(x, y);
    if (!value.defined()) {
      continue;
    }
    EXPECT_NEAR(value.value, PlainRbo(x, y, kRboPersistence), 1e-12) << trial;
    EXPECT_NEAR(value.value, RankBiasedOverlap(y, x).value, 1e-12) << trial;
    EXPECT_EQ(RankBiasedOverlap(x, x).value, 1) << trial;
    EXPECT_NEAR(RankBiasedOverlapValue(x, y, counts, scratch), PlainRbo(all_x, all_y, 0.9), 1e-12)
        << trial;
  }
}

TEST(RankBiasedOverlapTest, UnrelatedListsHaveTheMeanThatIsDocumented) {
  Random random(4, "rbo_test/chance");
  constexpr int kTrials = 4000;
  std::vector<double> x(20);
  std::vector<double> y(20);
  double sum = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = random.Normal();
      y[i] = random.Normal();
    }
    sum += RankBiasedOverlap(x, y).value;
  }
  EXPECT_NEAR(sum / kTrials, (1 - std::pow(0.9, 20)) / (20 * 0.1), 0.01);
}

TEST(RankBiasedOverlapTest, IsUndefinedAsTauIs) {
  EXPECT_EQ(RankBiasedOverlap({}, {}).undefined, Undefined::kTooFew);
  EXPECT_EQ(RankBiasedOverlap(std::vector<double>{1, 2}, std::vector<double>{3, 3}).undefined,
            Undefined::kSecondConstant);
}

TEST(WeightedCoefficientsTest, RankWeightedOnesAreThoseOfTheDefinition) {
  ASSERT_OK_AND_ASSIGN(
      const ParsedScores parsed,
      ParseScoresCsv("approach,A,B,C\na,1,5,2\nb,2,5,\nc,3,1,4\nd,4,2,1\ne,5,9,9\n", "s.csv"));
  for (const Coefficient coefficient :
       {Coefficient::kWeightedKendall, Coefficient::kTopK, Coefficient::kRbo}) {
    const WeightedCoefficients evaluator(parsed.table, coefficient, 2);
    WeightedCoefficients::Scratch scratch;
    std::vector<double> out(3);
    evaluator.Evaluate(std::vector<int32_t>{1, 1, 1, 1, 1}, 0, 3, scratch, out.data());
    EXPECT_EQ(out[0], Correlate(coefficient, std::vector<double>{1, 2, 3, 4, 5},
                                std::vector<double>{5, 5, 1, 2, 9}, 2)
                          .value);
    EXPECT_EQ(out[1], Correlate(coefficient, std::vector<double>{1, 3, 4, 5},
                                std::vector<double>{2, 4, 1, 9}, 2)
                          .value);
  }
}

}  // namespace
}  // namespace concur::analysis
