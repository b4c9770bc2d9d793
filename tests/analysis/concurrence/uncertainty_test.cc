// SPDX-License-Identifier: Apache-2.0
#include "analysis/concurrence/uncertainty.h"

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "analysis/statistics/correlation.h"
#include "base/random.h"
#include "report/writers.h"
#include "tests/analysis/simulated_studies.h"
#include "tests/testing/test.h"

namespace concur::analysis {
namespace {

double MeanCoefficient(const World& world, const ExampleRuns& runs) {
  std::vector<double> means[2];
  for (size_t b = 0; b < 2; ++b) {
    for (size_t i = 0; i < world.approaches; ++i) {
      double sum = 0;
      for (const std::vector<double>& run : runs.benchmarks[b].runs[i]) {
        for (const double value : run) {
          sum += value;
        }
      }
      means[b].push_back(sum);
    }
  }
  return PearsonR(means[0], means[1]).value;
}

PairUncertainty PairOf(const ExampleRuns& runs, UncertaintyOptions options = {}) {
  if (options.bootstrap.replicates == 10'000) {
    options.bootstrap.replicates = 400;
  }
  absl::StatusOr<Uncertainty> uncertainty = ComputeUncertainty(runs, options);
  EXPECT_OK(uncertainty);
  return uncertainty.ok() ? uncertainty->pairs[0] : PairUncertainty();
}

TEST(UncertaintyTest, NoiseThatIsNotThereCausesNothing) {
  World world;
  world.seeds = 2;
  Random random(1, "uncertainty_test");
  ExampleRuns runs = Draw(world, random);
  for (BenchmarkRuns& benchmark : runs.benchmarks) {
    for (auto& list : benchmark.runs) {
      list[1] = list[0];  // every seed does the same
    }
  }
  const PairUncertainty same_seeds = PairOf(runs);
  EXPECT_EQ(same_seeds.seeds, 0);
  EXPECT_GT(same_seeds.examples, 0);
  EXPECT_GT(same_seeds.approaches, 0);
  for (BenchmarkRuns& benchmark : runs.benchmarks) {
    for (size_t i = 0; i < world.approaches; ++i) {
      for (std::vector<double>& run : benchmark.runs[i]) {
        run.assign(run.size(), static_cast<double>((i * 7) % 20) / 20);  // and every example
      }
    }
  }
  const PairUncertainty sure = PairOf(runs);
  EXPECT_EQ(sure.examples, 0);
  EXPECT_EQ(sure.seeds, 0);
  EXPECT_EQ(sure.shift_by_noise, 0);
}

TEST(UncertaintyTest, OneRunLeavesSeedsUnknownAndSaysSo) {
  World world;
  world.seeds = 1;
  Random random(2, "uncertainty_test");
  const PairUncertainty pair = PairOf(Draw(world, random));
  EXPECT_FALSE(pair.seeds.has_value());
  EXPECT_THAT(UncertaintyInWords(pair), HasSubstr("what seeds cause is unknown"));
}

TEST(UncertaintyTest, WithoutExamplesTheirPartIsUnknownAndSaysSo) {
  // "examples % 0", and more of them would hardly help.
  ExampleRuns runs;
  for (const char* name : {"x", "y"}) {
    BenchmarkRuns& benchmark = runs.benchmarks.emplace_back();
    benchmark.benchmark = name;
    benchmark.examples = 1;
  }
  for (int approach = 0; approach < 8; ++approach) {
    runs.approaches.push_back(absl::StrCat("a", approach));
    for (BenchmarkRuns& benchmark : runs.benchmarks) {
      benchmark.runs.push_back({{0.1 * (approach * 3 % 8)}, {0.1 * (approach * 5 % 8)}});
    }
  }
  UncertaintyOptions options;
  options.bootstrap.replicates = 200;
  ASSERT_OK_AND_ASSIGN(const Uncertainty uncertainty, ComputeUncertainty(runs, options));
  const PairUncertainty& pair = uncertainty.pairs[0];
  EXPECT_FALSE(pair.examples.has_value());
  EXPECT_TRUE(pair.seeds.has_value());
  EXPECT_THAT(UncertaintyInWords(pair), HasSubstr("what test examples cause is unknown"));
  EXPECT_THAT(UncertaintyInWords(pair), Not(HasSubstr("more test examples")));
  const Table table = UncertaintyTable(uncertainty);
  EXPECT_THAT(WriteTable(table, TableFormat::kJson), HasSubstr("\"examples_share\":null"));
  EXPECT_THAT(table.details, Contains(HasSubstr("drawn as unrelated")));
}

TEST(UncertaintyTest, EveryDaggerHasItsFootnote) {
  Uncertainty uncertainty;
  uncertainty.benchmarks = {"x", "y"};
  uncertainty.clusters.resize(2);
  uncertainty.reliabilities.resize(2);
  PairUncertainty& pair = uncertainty.pairs.emplace_back();
  pair.b = 1;
  pair.value = 1;
  pair.interval = Interval{0.8, 1};
  pair.noise_free = 1;
  pair.noise_free_interval = Interval{1, 1};
  pair.warning = "fewer than 12 approaches: may be too short";
  EXPECT_THAT(UncertaintyTable(uncertainty).notes, Contains(HasSubstr("† all replicates agree")));
}

TEST(UncertaintyTest, WordsNameWhatHelps) {
  PairUncertainty pair;
  pair.n = 20;
  pair.value = 0.8;
  pair.total = 0.01;
  pair.examples = 0.004;
  pair.seeds = 0.0001;
  pair.approaches = 0.0059;
  EXPECT_EQ(
      UncertaintyInWords(pair),
      "± 0.100 (sd); more approaches (four times as many: about 0.050), more test examples "
      "(to 0.077 at best) can narrow it; more seeds (to 0.099 at best) hardly can; with these 20 "
      "approaches 0.077 remains");
}

// Without seeds that differ, runs differ by their examples' noise alone: as much as the whole part
// of examples, had it counted as seeds too.
TEST(UncertaintyTest, NoiseOfExamplesDoesNotCountAsThatOfSeeds) {
  World world;
  world.seed_sd = 0;
  Random random(5, "uncertainty_test");
  UncertaintyOptions options;
  options.bootstrap.replicates = 200;
  double examples = 0;
  double seeds = 0;
  for (int w = 0; w < 20; ++w) {
    const PairUncertainty pair = PairOf(Draw(world, random), options);
    examples += *pair.examples;
    seeds += *pair.seeds;
  }
  EXPECT_LT(seeds, 0.35 * examples);
}

// The split against the truth: variances over many worlds drawn anew, with and without each source.
TEST(UncertaintyTest, PartsAreThoseOfASimulation) {
  World world;
  Random random(3, "uncertainty_test");
  UncertaintyOptions options;
  options.coefficient = Coefficient::kPearson;
  options.bootstrap.replicates = 200;
  constexpr int kWorlds = 60;
  double total = 0;
  double examples = 0;
  double seeds = 0;
  for (int w = 0; w < kWorlds; ++w) {
    const PairUncertainty pair = PairOf(Draw(world, random), options);
    total += pair.total / kWorlds;
    examples += *pair.examples / kWorlds;
    seeds += *pair.seeds / kWorlds;
  }
  const auto variance_of = [&](const World& of) {
    std::vector<double> list;
    for (int w = 0; w < 400; ++w) {
      list.push_back(MeanCoefficient(of, Draw(of, random)));
    }
    const double deviation = ComputeMoments(list).standard_deviation;
    return deviation * deviation;
  };
  const double truth = variance_of(world);
  EXPECT_GT(total, 0.5 * truth);
  EXPECT_LT(total, 2 * truth);
  // Noise of 3 seeds (0.03² / 3) and of 3 x 300 examples (0.25 / 900): nearly equal here.
  EXPECT_GT(examples, 0.4 * seeds);
  EXPECT_LT(examples, 2.5 * seeds);
  World many_examples = world;
  many_examples.examples = 6000;
  const double rest = variance_of(many_examples);
  EXPECT_LT(rest, truth);
  EXPECT_NEAR(total - examples, rest, 0.6 * rest);
}

TEST(UncertaintyTest, BitsDoNotDependOnThreads) {
  World world;
  world.approaches = 8;
  world.examples = 50;
  Random random(4, "uncertainty_test");
  const ExampleRuns runs = Draw(world, random);
  UncertaintyOptions options;
  options.bootstrap.replicates = 300;
  const PairUncertainty alone = PairOf(runs, options);
  options.bootstrap.parallel_for = [](size_t count, const std::function<void(size_t)>& body) {
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
  const PairUncertainty shared = PairOf(runs, options);
  EXPECT_EQ(alone.total, shared.total);
  EXPECT_EQ(alone.examples, shared.examples);
  EXPECT_EQ(alone.seeds, shared.seeds);
  EXPECT_EQ(alone.interval->low, shared.interval->low);
}

TEST(UncertaintyTest, SharedTestSetsAreDrawnTogether) {
  World world;
  world.seeds = 1;
  Random random(5, "uncertainty_test");
  ExampleRuns runs = Draw(world, random);
  runs.benchmarks[1].runs = runs.benchmarks[0].runs;  // one benchmark under two names
  EXPECT_LT(PairOf(runs).shift_by_noise, 0);
  runs.benchmarks[0].test_set = runs.benchmarks[1].test_set = "one";
  const PairUncertainty same = PairOf(runs);
  EXPECT_EQ(same.shift_by_noise, 0);
  EXPECT_EQ(same.examples, 0);
}

// The matrix said +0.56, this -0.56.
TEST(UncertaintyTest, CoefficientsMeanAgreementOnWhatIsBetter) {
  World world;
  world.examples = 64;
  world.seeds = 2;
  Random random(9, "uncertainty_test");
  const ExampleRuns accuracies = Draw(world, random);
  ExampleRuns mixed = accuracies;  // errors in place of the second benchmark's accuracies
  mixed.benchmarks[1].goal = Goal::kMinimize;
  for (auto& list : mixed.benchmarks[1].runs) {
    for (std::vector<double>& run : list) {
      for (double& value : run) {
        value = 1 - value;
      }
    }
  }
  for (const Coefficient coefficient :
       {Coefficient::kKendall, Coefficient::kPearson, Coefficient::kSpearman,
        Coefficient::kWeightedKendall, Coefficient::kTopK}) {
    UncertaintyOptions options;
    options.coefficient = coefficient;
    options.bootstrap.replicates = 200;
    options.bootstrap.top = 5;
    const PairUncertainty expected = PairOf(accuracies, options);
    const PairUncertainty pair = PairOf(mixed, options);
    ASSERT_TRUE(expected.value.has_value());
    ASSERT_TRUE(pair.value.has_value());
    EXPECT_GT(*pair.value, 0) << CoefficientName(coefficient);
    EXPECT_NEAR(*pair.value, *expected.value, 1e-9) << CoefficientName(coefficient);
    EXPECT_NEAR(pair.total, expected.total, 0.1 * expected.total) << CoefficientName(coefficient);
    EXPECT_EQ(pair.noise_free.has_value(), expected.noise_free.has_value());
    if (pair.noise_free.has_value()) {
      EXPECT_NEAR(*pair.noise_free, *expected.noise_free, 1e-9) << CoefficientName(coefficient);
    }
  }
  UncertaintyOptions options;
  options.bootstrap.replicates = 100;
  ASSERT_OK_AND_ASSIGN(const Uncertainty uncertainty, ComputeUncertainty(mixed, options));
  EXPECT_THAT(UncertaintyTable(uncertainty).notes, Contains("Less is better on B."));
}

TEST(UncertaintyTest, BadInputsAreRefused) {
  World world;
  Random random(6, "uncertainty_test");
  ExampleRuns runs = Draw(world, random);
  runs.benchmarks[0].runs[3][1][7] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(ComputeUncertainty(runs, {}), StatusIs(absl::StatusCode::kInvalidArgument,
                                                     HasSubstr("A: a3: expected 300 finite")));
  runs.benchmarks[0].runs[3][1].resize(5);
  EXPECT_THAT(ComputeUncertainty(runs, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("got 5")));
  runs.benchmarks.resize(1);
  EXPECT_THAT(ComputeUncertainty(runs, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("two benchmarks or more")));
  ExampleRuns nothing;
  nothing.benchmarks.resize(2);
  nothing.benchmarks[0].benchmark = "A";
  nothing.benchmarks[1].benchmark = "B";
  EXPECT_THAT(PairOf(nothing).warning, HasSubstr("undefined"));
}

TEST(UncertaintyTest, FewApproachesAndFewExamplesAreWarnedOf) {
  // Four approaches on 12 questions had an interval like any other.
  World world;
  world.seeds = 2;
  Random random(2, "uncertainty_test");
  const ExampleRuns runs = Draw(world, random);
  EXPECT_THAT(PairOf(runs).warning, Not(HasSubstr("fewer than")));
  ExampleRuns few = runs;
  for (BenchmarkRuns& benchmark : few.benchmarks) {
    benchmark.examples = 12;
    for (auto& list : benchmark.runs) {
      for (std::vector<double>& run : list) {
        run.resize(12);
      }
    }
  }
  EXPECT_THAT(PairOf(few).warning,
              HasSubstr("fewer than 30 test examples (or groups): may be too short"));
  few = runs;
  few.approaches.resize(4);
  for (BenchmarkRuns& benchmark : few.benchmarks) {
    benchmark.runs.resize(4);
  }
  EXPECT_THAT(PairOf(few).warning, HasSubstr("fewer than 5 approaches: may be too short"));
}

}  // namespace
}  // namespace concur::analysis
