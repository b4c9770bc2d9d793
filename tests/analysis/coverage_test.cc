// SPDX-License-Identifier: Apache-2.0
// Share of nominal 95 % intervals that hold the true coefficient, in small simulations. The program
// interval_coverage (bench/) prints the tables of docs/coverage.md.

#include "analysis/bootstrap.h"
#include "analysis/statistics/correlation.h"
#include "tests/analysis/simulated_studies.h"
#include "tests/analysis/simulated_tables.h"
#include "tests/testing/test.h"

namespace concur::analysis {
namespace {

TEST(CoverageTest, FisherIntervalsOfNormalScoresHoldTheTruthAsOftenAsTheySay) {
  for (const Coefficient coefficient : {Coefficient::kPearson, Coefficient::kKendall}) {
    for (const double rho : {0.5, 0.9}) {
      const Coverage coverage = MeasureFisher({rho, 0}, 20, coefficient, 2000);
      EXPECT_GT(coverage.share, 0.92) << CoefficientName(coefficient) << " " << rho;
      EXPECT_LT(coverage.share, 0.995) << CoefficientName(coefficient) << " " << rho;
    }
  }
}

TEST(CoverageTest, IntervalsOfTwentyApproachesHoldTheTruthAboutAsOftenAsTheySay) {
  constexpr int64_t kTrials = 300;
  for (const BootstrapMethod method : {BootstrapMethod::kPercentile, BootstrapMethod::kBca}) {
    const Coverage coverage =
        MeasureBootstrap({0.9, 0}, 20, Coefficient::kKendall, method, kTrials, 400);
    EXPECT_GT(coverage.share, 0.88);
    EXPECT_LE(coverage.share, 1);
  }
}

TEST(CoverageTest, IntervalsOverFamiliesHoldTheTruthWhereThoseOverApproachesDoNot) {
  for (const Coefficient coefficient : {Coefficient::kKendall, Coefficient::kPearson}) {
    const auto measure = [&](bool declared) {
      return MeasureFamilies({}, declared, coefficient, BootstrapMethod::kBca, 300, 400).share;
    };
    EXPECT_GT(measure(true), 0.92) << CoefficientName(coefficient);
    EXPECT_LT(measure(false), 0.88) << CoefficientName(coefficient);
  }
}

// Designs of up to 20 approaches; the program prints all of them.
TEST(CoverageTest, IntervalsAboutConcurrenceHoldTheTruth) {
  for (const ConcurrenceDesign& design : ConcurrenceDesigns()) {
    if (design.families.size() == 12 || (design.families.size() == 8 && design.families[0] > 1)) {
      EXPECT_GT(MeasureConcurrence(design, 200, 400).share, 0.92) << design.name;
    }
  }
}

TEST(CoverageTest, FewApproachesCoverPoorlyAsDocumented) {
  const Coverage coverage =
      MeasureBootstrap({0.9, 0}, 5, Coefficient::kKendall, BootstrapMethod::kBca, 300, 400);
  EXPECT_LT(coverage.share, 0.92) << "docs/coverage.md and the warning below ten approaches";
}

}  // namespace
}  // namespace concur::analysis
