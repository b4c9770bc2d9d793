// SPDX-License-Identifier: Apache-2.0
#include "analysis/comparison/comparison.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "report/comparison_tables.h"
#include "tests/testing/test.h"

namespace concur::analysis {
namespace {

// Approaches of rising skill: the k-th answers right with probability (k + 1) / (count + 1).
ExampleTable SkillTable(size_t approaches, size_t examples, bool binary = true) {
  ExampleTable table;
  table.benchmark = "squad";
  table.metric = binary ? "exact_match" : "f1";
  table.examples = examples;
  Random random(7, "test/skills");
  for (size_t a = 0; a < approaches; ++a) {
    table.approaches.push_back(absl::StrCat("a", a));
    const double skill = static_cast<double>(a + 1) / static_cast<double>(approaches + 1);
    for (size_t i = 0; i < examples; ++i) {
      const bool right = random.Chance(skill);
      table.values.push_back(binary ? (right ? 1 : 0) : (right ? random.Uniform() : 0));
    }
  }
  return table;
}

ComparisonOptions OptionsComparison(int64_t replicates) {
  ComparisonOptions options;
  options.bootstrap.replicates = replicates;
  options.bootstrap.seed = 3;
  return options;
}

TEST(ComparisonTest, WhereLessIsBetterTheLesserMeanIsTheBetter) {
  // "better" was the approach with more errors.
  ExampleTable table = SkillTable(3, 60);
  table.goal = Goal::kMinimize;
  ASSERT_OK_AND_ASSIGN(const std::vector<BenchmarkComparison> comparisons,
                       CompareAll({table}, OptionsComparison(100)));
  ASSERT_THAT(comparisons[0].pairs, SizeIs(3));
  for (const PairedComparison& pair : comparisons[0].pairs) {
    EXPECT_LT(pair.mean_a, pair.mean_b);
    EXPECT_LT(pair.a, pair.b) << "of rising scores";
  }
  EXPECT_THAT(ComparisonTable(comparisons, OptionsComparison(100)).notes,
              Contains("Less is better on squad."));
}

// Reference: scipy.stats.binomtest(min(b, c), b + c, 0.5).pvalue, SciPy 1.10.1.
TEST(ComparisonTest, McNemarIsTheExactBinomialTest) {
  struct Case {
    int64_t only_a;
    int64_t only_b;
    double p;
  };
  for (const Case& c : std::vector<Case>{{1, 9, 0.021484375},
                                         {12, 25, 0.04703102743951604},
                                         {0, 5, 0.0625},
                                         {121, 59, 4.4344492637551645e-06},
                                         {3, 3, 1.0},
                                         {1000, 1100, 0.030720707864242486},
                                         {0, 0, 1.0}}) {
    EXPECT_THAT(McNemarPValue(c.only_a, c.only_b), DoubleNear(c.p, 1e-12 + 1e-10 * c.p));
    EXPECT_EQ(McNemarPValue(c.only_a, c.only_b), McNemarPValue(c.only_b, c.only_a));
  }
}

// The blocked sums are those of the definition, for every number of approaches around the width
// of a block.
TEST(ComparisonTest, ReplicatesAreThoseOfTheDefinition) {
  for (const size_t approaches : {2u, 3u, 15u, 16u, 17u, 20u}) {
    const ExampleTable table = SkillTable(approaches, 301, /*binary=*/false);
    const ComparisonOptions options = OptionsComparison(100);
    ASSERT_OK_AND_ASSIGN(const BenchmarkComparison result, CompareApproaches(table, options));
    ASSERT_THAT(result.pairs, SizeIs(approaches * (approaches - 1) / 2));
    for (const PairedComparison& pair : {result.pairs.front(), result.pairs.back()}) {
      std::vector<double> differences;
      for (size_t i = 0; i < table.examples; ++i) {
        differences.push_back(100 * (table.row(pair.a)[i] - table.row(pair.b)[i]));
      }
      ASSERT_OK_AND_ASSIGN(const Interval expected, MeanInterval(differences, 0.95));
      EXPECT_NEAR(pair.interval->low, expected.low, 1e-9);
      EXPECT_NEAR(pair.interval->high, expected.high, 1e-9);
      Random random(0, "");
      int as_far = 1;
      for (size_t r = 0; r < 100; ++r) {
        if (r % 32 == 0) {
          random = Random(3, absl::StrCat("permutation/examples/squad/", r / 32));
        }
        double sum = 0;
        uint64_t bits = 0;
        for (size_t i = 0; i < table.examples; ++i) {
          bits = i % 64 == 0 ? random.Next() : bits >> 1;
          const double difference = table.row(pair.a)[i] - table.row(pair.b)[i];
          sum += (bits & 1) != 0 ? difference : -difference;
        }
        as_far += std::abs(100 * sum / 301) >= std::abs(pair.difference) - 1e-9 ? 1 : 0;
      }
      if (as_far > 1) {
        EXPECT_DOUBLE_EQ(pair.p_value, as_far / 101.0);
      } else {
        EXPECT_LE(pair.p_value, 1 / 101.0) << "a bound of what no draw met";
      }
    }
  }
}

// Reference: the normal approximation, mean difference ± 1.96 sd / sqrt(n), which holds for means
// of 5,000 examples.
TEST(ComparisonTest, IntervalAgreesWithTheNormalApproximation) {
  const ExampleTable table = SkillTable(2, 5000);
  ASSERT_OK_AND_ASSIGN(const BenchmarkComparison result,
                       CompareApproaches(table, OptionsComparison(10'000)));
  std::vector<double> differences;
  for (size_t i = 0; i < table.examples; ++i) {
    differences.push_back(100 * (table.row(1)[i] - table.row(0)[i]));
  }
  const Moments moments = ComputeMoments(differences);
  const double half = 1.959964 * moments.standard_deviation / std::sqrt(5000.0);
  const PairedComparison& pair = result.pairs[0];
  EXPECT_EQ(result.approaches[pair.a], "a1") << "the better one comes first";
  EXPECT_NEAR(pair.difference, moments.mean, 1e-9);
  EXPECT_NEAR(pair.interval->low, moments.mean - half, 0.06);
  EXPECT_NEAR(pair.interval->high, moments.mean + half, 0.06);
}

// Five of 1,000 answers differ, all in favour of one: 2 of the 32 ways to swap them are as far
// apart. (The bootstrap's share of replicates beyond, .037, was too small.)
TEST(ComparisonTest, FewDiscordantAnswersHaveTheExactPValue) {
  ExampleTable table;
  table.benchmark = "tiny";
  table.approaches = {"x", "y"};
  table.examples = 1000;
  table.values.assign(2000, 1.0);
  for (size_t i = 0; i < 5; ++i) {
    table.values[i * 7] = 0;
  }
  ASSERT_OK_AND_ASSIGN(const BenchmarkComparison result,
                       CompareApproaches(table, OptionsComparison(100)));
  EXPECT_DOUBLE_EQ(result.pairs[0].p_value, 0.0625);
  EXPECT_EQ(result.pairs[0].mcnemar->only_a, 5);
  EXPECT_DOUBLE_EQ(result.pairs[0].mcnemar->p_value, 0.0625);
}

// Sums of signs of .1, .2, .3 and .4 are 1.0 or more in size in 2 of 16 ways.
TEST(ComparisonTest, FewDifferencesOfF1CountAllPermutations) {
  ExampleTable table;
  table.benchmark = "tiny";
  table.approaches = {"x", "y"};
  table.examples = 6;
  table.values = {0.1, 0.2, 0.3, 0.4, 0.5, 0, 0, 0, 0, 0, 0.5, 0};
  ASSERT_OK_AND_ASSIGN(const BenchmarkComparison result,
                       CompareApproaches(table, OptionsComparison(100)));
  EXPECT_DOUBLE_EQ(result.pairs[0].p_value, 2.0 / 16);
}

// 20 questions of F1 favour one: no draw meets the 2 of 2^20 ways that are as far apart. p was
// 1/101, and among many tests Holm's correction made it "could be chance".
TEST(ComparisonTest, WhatNoDrawMeetsIsBoundedByTheScoresAndNotByTheDraws) {
  ExampleTable table;
  table.benchmark = "clear";
  table.approaches = {"x", "y"};
  table.examples = 20;
  table.values.assign(20, 0.75);
  table.values.insert(table.values.end(), 20, 0.25);
  ASSERT_OK_AND_ASSIGN(const BenchmarkComparison result,
                       CompareApproaches(table, OptionsComparison(100)));
  EXPECT_GT(result.pairs[0].p_value, std::ldexp(1.0, -19)) << "the exact share";
  EXPECT_NEAR(result.pairs[0].p_value, 2.4617e-5, 1e-9) << "2 * 3.17816 * P(Z >= sqrt 20)";
}

// One document decides: as clusters, its examples change sign together.
TEST(ComparisonTest, ExamplesOfOneDocumentAreDrawnTogether) {
  ExampleTable table = SkillTable(2, 240, /*binary=*/false);
  for (size_t i = 0; i < table.examples; ++i) {
    table.places.documents.push_back(static_cast<int64_t>(i / 20));
    // Twelve documents on which the approaches differ by the document's own amount.
    table.values[i] = 0.5;
    table.values[240 + i] = 0.5 + 0.03 * static_cast<double>(i / 20) - 0.1;
  }
  ASSERT_OK_AND_ASSIGN(const BenchmarkComparison result,
                       CompareApproaches(table, OptionsComparison(2000)));
  EXPECT_EQ(result.unit, ExampleUnit::kDocument);
  EXPECT_EQ(result.clusters, 12U);
  const PairedComparison& pair = result.pairs[0];
  // Means of 12 documents whose differences have an sd of 10.82, with t(11).
  EXPECT_NEAR(pair.interval->high - pair.interval->low, 2 * 2.201 * 10.82 / std::sqrt(12), 0.01);
  EXPECT_NEAR(pair.question_interval->high - pair.question_interval->low, 2 * 1.96 * 0.67, 0.3);
  EXPECT_GT(pair.p_value, 0.03) << "of 4096 ways, counted all";
  EXPECT_LT(pair.question_p, 0.001);

  ComparisonOptions by_question = OptionsComparison(2000);
  by_question.unit = ExampleUnit::kExample;
  ASSERT_OK_AND_ASSIGN(const BenchmarkComparison alone, CompareApproaches(table, by_question));
  EXPECT_EQ(alone.pairs[0].p_value, pair.question_p);
  EXPECT_EQ(alone.pairs[0].interval->low, pair.question_interval->low);
}

TEST(ComparisonTest, SameBitsHoweverTheWorkIsSpread) {
  const ExampleTable table = SkillTable(5, 200, /*binary=*/false);
  ComparisonOptions options = OptionsComparison(1000);
  ASSERT_OK_AND_ASSIGN(const BenchmarkComparison forward, CompareApproaches(table, options));
  options.bootstrap.parallel_for = [](size_t count, const std::function<void(size_t)>& body) {
    for (size_t i = count; i > 0; --i) {
      body(i - 1);
    }
  };
  ASSERT_OK_AND_ASSIGN(const BenchmarkComparison backward, CompareApproaches(table, options));
  for (size_t i = 0; i < forward.pairs.size(); ++i) {
    EXPECT_EQ(forward.pairs[i].interval->low, backward.pairs[i].interval->low);
    EXPECT_EQ(forward.pairs[i].p_value, backward.pairs[i].p_value);
  }
}

TEST(ComparisonTest, EqualApproachesDifferByNothing) {
  ExampleTable table = SkillTable(1, 50);
  table.approaches.push_back("twin");
  table.values.insert(table.values.end(), table.values.begin(), table.values.begin() + 50);
  ASSERT_OK_AND_ASSIGN(const BenchmarkComparison result,
                       CompareApproaches(table, OptionsComparison(100)));
  EXPECT_EQ(result.pairs[0].p_value, 1);
  EXPECT_EQ(result.pairs[0].mcnemar->p_value, 1);
  EXPECT_EQ(result.pairs[0].interval->low, 0);
}

TEST(ComparisonTest, McNemarNeedsRightOrWrong) {
  ASSERT_OK_AND_ASSIGN(
      const BenchmarkComparison result,
      CompareApproaches(SkillTable(2, 50, /*binary=*/false), OptionsComparison(100)));
  EXPECT_FALSE(result.pairs[0].mcnemar.has_value());
  EXPECT_TRUE(std::isnan(result.pairs[0].mcnemar_p_holm));
}

TEST(ComparisonTest, BaselineMeetsEveryOtherOnce) {
  ComparisonOptions options = OptionsComparison(100);
  options.baseline = "a2";
  ASSERT_OK_AND_ASSIGN(const BenchmarkComparison result,
                       CompareApproaches(SkillTable(5, 50), options));
  EXPECT_THAT(result.pairs, SizeIs(4));
  options.baseline = "a9";
  EXPECT_THAT(CompareApproaches(SkillTable(5, 50), options),
              concur::testing::StatusIs(absl::StatusCode::kInvalidArgument,
                                        HasSubstr("no approach \"a9\"")));
}

TEST(ComparisonTest, HolmCorrectsAcrossBenchmarks) {
  std::vector<BenchmarkComparison> comparisons(2);
  for (BenchmarkComparison& comparison : comparisons) {
    comparison.pairs.resize(1);
    comparison.pairs[0].p_value = 0.02;
    comparison.pairs[0].mcnemar = McNemar{.p_value = 0.01};
  }
  comparisons[1].pairs[0].mcnemar.reset();
  HolmCorrect(comparisons);
  EXPECT_DOUBLE_EQ(comparisons[0].pairs[0].p_value_holm, 0.04);
  EXPECT_DOUBLE_EQ(comparisons[0].pairs[0].mcnemar_p_holm, 0.01);
  EXPECT_TRUE(std::isnan(comparisons[1].pairs[0].mcnemar_p_holm));
}

// The same answers told as right (more is better), as error (less is better) and in another unit:
// the better approach, p and McNemar's counts are the same.
TEST(ComparisonTest, TheUnitAndTheGoalDoNotTurnAComparisonRound) {
  ExampleTable right = SkillTable(2, 60);
  for (double& value : right.values) {
    value = value > .5 ? 1 : 0;
  }
  ExampleTable wrong = right;
  wrong.goal = Goal::kMinimize;
  for (double& value : wrong.values) {
    value = 1 - value;
  }
  ExampleTable loss = wrong;
  loss.unit = 1;
  for (double& value : loss.values) {
    value = 40 * value - 3;
  }
  const ComparisonOptions options = OptionsComparison(1000);
  ASSERT_OK_AND_ASSIGN(const BenchmarkComparison by_right, CompareApproaches(right, options));
  ASSERT_OK_AND_ASSIGN(const BenchmarkComparison by_wrong, CompareApproaches(wrong, options));
  ASSERT_OK_AND_ASSIGN(const BenchmarkComparison by_loss, CompareApproaches(loss, options));
  const PairedComparison& first = by_right.pairs[0];
  ASSERT_NE(first.difference, 0);
  for (const PairedComparison* pair : {&by_wrong.pairs[0], &by_loss.pairs[0]}) {
    EXPECT_EQ(pair->a, first.a);
    EXPECT_NEAR(pair->p_value, first.p_value, .02);
  }
  EXPECT_NEAR(by_wrong.pairs[0].difference, -first.difference, 1e-9);
  EXPECT_NEAR(by_loss.pairs[0].difference, -.4 * first.difference, 1e-9);
  ASSERT_TRUE(by_wrong.pairs[0].mcnemar.has_value());
  EXPECT_EQ(by_wrong.pairs[0].mcnemar->only_a, first.mcnemar->only_a);
  EXPECT_EQ(by_wrong.pairs[0].mcnemar->both, first.mcnemar->both);
  EXPECT_FALSE(by_loss.pairs[0].mcnemar.has_value());
}

TEST(ComparisonTest, BadTablesAreRefused) {
  using concur::testing::StatusIs;
  const auto invalid = [](const ExampleTable& table, const char* part) {
    EXPECT_THAT(CompareApproaches(table, OptionsComparison(100)),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(part)));
  };
  ExampleTable table = SkillTable(2, 3);
  table.values[4] = std::numeric_limits<double>::quiet_NaN();
  invalid(table, "squad: a1, example 2: expected a finite score, got nan");
  table = SkillTable(2, 3);
  table.values.pop_back();
  invalid(table, "expected 2 x 3 scores, got 5");
  invalid(SkillTable(2, 0), "expected at least one test example");
  ASSERT_OK_AND_ASSIGN(const BenchmarkComparison lonely,
                       CompareApproaches(SkillTable(1, 3), OptionsComparison(100)));
  EXPECT_THAT(lonely.pairs, IsEmpty());
}

TEST(ComparisonTest, TableSaysWhatWasLeftOutAndHowManyTests) {
  ExampleTable examples = SkillTable(2, 20);
  examples.left_out = {"bert: no score"};
  ASSERT_OK_AND_ASSIGN(BenchmarkComparison result,
                       CompareApproaches(examples, OptionsComparison(100)));
  std::vector<BenchmarkComparison> all = {result};
  HolmCorrect(all);
  const Table table = ComparisonTable(all, OptionsComparison(100));
  EXPECT_THAT(table.title, HasSubstr("Holm's correction over 1 tests"));
  const std::string text = WriteTable(table, TableFormat::kText);
  EXPECT_THAT(text, HasSubstr("Left out on squad: bert: no score"));
  EXPECT_THAT(WriteTable(table, TableFormat::kCsv), HasSubstr("only_a,only_b"));
}

}  // namespace
}  // namespace concur::analysis
