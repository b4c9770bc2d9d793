// SPDX-License-Identifier: Apache-2.0
#include "analysis/noise.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analysis/concurrence/uncertainty.h"
#include "analysis/example_runs.h"
#include "analysis/statistics/correlation.h"
#include "base/random.h"
#include "tests/analysis/simulated_studies.h"
#include "tests/testing/test.h"

namespace concur::analysis {
namespace {

// 4 approaches × 3 runs × 5 examples.
BenchmarkRuns SmallRuns() {
  const std::vector<double> scores = {
      0.17, 0.81, 0.38, 0.33, 0.6,  0.6,  0.12, 0.29, 0.58, 0.63, 0.51, 0.51, 0.53, 0.56, 0.87,
      0.83, 0.11, 0.7,  0.9,  0.28, 0.23, 0.02, 0.13, 0.09, 0.24, 0.79, 0.6,  0.91, 0.56, 0.76,
      0.38, 0.37, 0.17, 0.45, 0.26, 0.34, 0.89, 0.2,  0.58, 0.21, 0.28, 0.79, 0.17, 0.57, 0.42,
      0.27, 0.05, 0.1,  0.31, 0.8,  0.23, 0.21, 0.88, 0.99, 0.84, 0.91, 0.47, 0.22, 0.13, 0.28};
  BenchmarkRuns runs;
  runs.benchmark = "A";
  runs.examples = 5;
  size_t at = 0;
  for (size_t i = 0; i < 4; ++i) {
    auto& list = runs.runs.emplace_back(3);
    for (std::vector<double>& run : list) {
      run.assign(scores.begin() + static_cast<std::ptrdiff_t>(at),
                 scores.begin() + static_cast<std::ptrdiff_t>(at + 5));
      at += 5;
    }
  }
  return runs;
}

// Mean squares of anova(lm(…)) of R 4.2.2: approaches × examples of the means over runs 5 ×
// 0.0056627962962963; approaches × runs of the means over examples 0.0360378888888889; runs ×
// examples within approaches 5 × 0.0120773333333333, the mean of four.
TEST(NoiseTest, VarianceComponentsAreThoseOfTheAnalysisOfVariance) {
  const BenchmarkRuns runs = SmallRuns();
  const BenchmarkNoise noise = EstimateNoise(runs, ClustersOf({}, 5, std::nullopt));
  EXPECT_TRUE(noise.known);
  EXPECT_NEAR(noise.seed_share, 0.664871231204196, 1e-12);
  double mean = 0;
  for (const double value : noise.noise) {
    mean += value / 4;
  }
  EXPECT_NEAR(mean, 0.0136496481481481, 1e-15);
}

TEST(NoiseTest, WhatMovesAllApproachesAlikeIsNoNoise) {
  BenchmarkRuns runs = SmallRuns();
  const BenchmarkNoise before = EstimateNoise(runs, ClustersOf({}, 5, std::nullopt));
  for (auto& list : runs.runs) {
    for (size_t s = 0; s < list.size(); ++s) {
      for (size_t e = 0; e < 5; ++e) {
        list[s][e] += 0.1 * static_cast<double>(e) + 0.2 * static_cast<double>(s);
      }
    }
  }
  const BenchmarkNoise after = EstimateNoise(runs, ClustersOf({}, 5, std::nullopt));
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(after.noise[i], before.noise[i], 1e-12);
  }
}

TEST(NoiseTest, TwoExamplesOfEveryClusterTellWhatOneTells) {
  BenchmarkRuns runs = SmallRuns();
  const BenchmarkNoise once = EstimateNoise(runs, ClustersOf({}, 5, std::nullopt));
  for (auto& list : runs.runs) {
    for (std::vector<double>& run : list) {
      std::vector<double> twice;
      for (const double value : run) {
        twice.insert(twice.end(), 2, value);
      }
      run = twice;
    }
  }
  runs.examples = 10;
  runs.places.passages = {0, 0, 1, 1, 2, 2, 3, 3, 4, 4};
  const BenchmarkNoise clustered =
      EstimateNoise(runs, ClustersOf(runs.places, 10, ExampleUnit::kPassage));
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(clustered.noise[i], once.noise[i], 1e-12);
  }
}

TEST(NoiseTest, CorrectionsGoThroughTheNormalCorrelation) {
  EXPECT_NEAR(WithoutNoise(Coefficient::kPearson, 0.6, 0, 0.64), 0.75, 1e-15);
  EXPECT_NEAR(WithoutNoise(Coefficient::kPearson, 0.9, 0, 0.64), 1, 1e-15) << "never above 1";
  EXPECT_NEAR(WithoutNoise(Coefficient::kPearson, 0.6, 0.2, 0.64), 0.5, 1e-15);
  const double tau = 2 / M_PI * std::asin(0.6);
  EXPECT_NEAR(WithoutNoise(Coefficient::kKendall, tau, 0, 0.64), 2 / M_PI * std::asin(0.75), 1e-12);
  const double rho = 6 / M_PI * std::asin(0.3);
  EXPECT_NEAR(WithoutNoise(Coefficient::kSpearman, rho, 0, 0.64), 6 / M_PI * std::asin(0.375),
              1e-12);
}

// Both benchmarks on the same examples, both systems' answers wrong together: the noise correlates.
TEST(NoiseTest, SharedExamplesBringSharedNoise) {
  Random random(8, "noise_test");
  BenchmarkRuns a;
  BenchmarkRuns b;
  for (BenchmarkRuns* runs : {&a, &b}) {
    runs->examples = 50;
    runs->test_set = "same";
  }
  for (size_t i = 0; i < 40; ++i) {
    std::vector<double> x;
    std::vector<double> y;
    for (size_t e = 0; e < 50; ++e) {
      const double noise = random.Normal();
      x.push_back(noise);
      y.push_back(noise);
    }
    a.runs.push_back({x});
    b.runs.push_back({y});
  }
  const ExampleClusters alone = ClustersOf({}, 50, std::nullopt);
  const BenchmarkNoise noise_a = EstimateNoise(a, alone);
  const BenchmarkNoise noise_b = EstimateNoise(b, alone);
  EXPECT_NEAR(SharedNoise(a, noise_a, b, noise_b), 1, 0.5) << "all spread is common noise";
  b.test_set = "other";
  EXPECT_EQ(SharedNoise(a, noise_a, b, noise_b), 0);
}

// Studies whose noise-free tau is known: the observed one is too low, the corrected one is not.
TEST(NoiseTest, TheCorrectionRemovesTheBiasOfNoise) {
  World world;
  world.approaches = 50;
  world.examples = 100;
  UncertaintyOptions options;
  options.bootstrap.replicates = 100;
  const double truth = 2 / M_PI * std::asin(world.rho);
  Random random(9, "noise_test");
  double observed = 0;
  double corrected = 0;
  constexpr int kTrials = 40;
  for (int trial = 0; trial < kTrials; ++trial) {
    ASSERT_OK_AND_ASSIGN(const Uncertainty result,
                         ComputeUncertainty(Draw(world, random), options));
    observed += *result.pairs[0].value / kTrials;
    corrected += result.pairs[0].noise_free.value() / kTrials;
  }
  EXPECT_LT(observed, truth - 0.07);
  EXPECT_NEAR(corrected, truth, 0.05);
}

}  // namespace
}  // namespace concur::analysis
