// How often nominal 95 % intervals hold the true coefficient, by simulation. The test runs a small
// one; CONCUR_COVERAGE_TRIALS=4000 prints the table of docs/statistics.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "analysis/bootstrap.h"
#include "analysis/correlation.h"
#include "analysis/fisher.h"
#include "analysis/score_table.h"
#include "base/random.h"
#include "tests/testing/status_matchers.h"

namespace concur::analysis {
namespace {

// Two benchmarks whose scores are bivariate normal with correlation `rho`, rounded to steps of
// `step` standard deviations when that is positive.
struct Population {
  double rho = 0;
  double step = 0;

  void Draw(Random& random, double& x, double& y) const {
    x = random.Normal();
    y = rho * x + std::sqrt(1 - rho * rho) * random.Normal();
    if (step > 0) {
      x = std::round(x / step) * step;
      y = std::round(y / step) * step;
    }
  }

  // The coefficient of the whole population: in closed form without ties, else of a large sample.
  double Truth(Coefficient coefficient) const {
    if (step == 0 && coefficient == Coefficient::kKendall) {
      return 2 / M_PI * std::asin(rho);
    }
    if (step == 0 && coefficient == Coefficient::kPearson) {
      return rho;
    }
    constexpr size_t kSample = 200'000;
    std::vector<double> x(kSample);
    std::vector<double> y(kSample);
    Random random(1, "coverage/truth");
    for (size_t i = 0; i < kSample; ++i) {
      Draw(random, x[i], y[i]);
    }
    return Correlate(coefficient, x, y).value;
  }
};

struct Coverage {
  double share = 0;  // of the trials whose interval holds the truth
  double width = 0;  // mean
};

Coverage Measure(const Population& population, size_t n, Coefficient coefficient,
                 BootstrapMethod method, int64_t trials, int64_t replicates) {
  const double truth = population.Truth(coefficient);
  std::vector<AxisEntry> rows;
  for (size_t i = 0; i < n; ++i) {
    rows.push_back({absl::StrCat("a", i), {}});
  }
  absl::StatusOr<ScoreTable> table = ScoreTable::Create(rows, {{"X", {}}, {"Y", {}}});
  Random random(2, "coverage/trials");
  BootstrapOptions options;
  options.replicates = replicates;
  options.method = method;
  int64_t held = 0;
  int64_t made = 0;
  double width = 0;
  for (int64_t trial = 0; trial < trials; ++trial) {
    for (size_t i = 0; i < n; ++i) {
      ScoreCell& x = table->cell(i, 0);
      ScoreCell& y = table->cell(i, 1);
      x.state = y.state = CellState::kValue;
      population.Draw(random, x.value, y.value);
    }
    options.seed = static_cast<uint64_t>(trial);
    const absl::StatusOr<std::vector<BootstrapInterval>> intervals =
        BootstrapPairs(*table, coefficient, options);
    EXPECT_OK(intervals);
    const std::optional<Interval>& interval = (*intervals)[0].interval;
    if (interval.has_value()) {
      ++made;
      held += interval->low <= truth && truth <= interval->high ? 1 : 0;
      width += interval->high - interval->low;
    }
  }
  return {static_cast<double>(held) / static_cast<double>(trials),
          width / static_cast<double>(std::max<int64_t>(made, 1))};
}

Coverage MeasureFisher(const Population& population, size_t n, Coefficient coefficient,
                       int64_t trials) {
  const double truth = population.Truth(coefficient);
  std::vector<double> x(n);
  std::vector<double> y(n);
  Random random(2, "coverage/trials");
  int64_t held = 0;
  int64_t made = 0;
  double width = 0;
  for (int64_t trial = 0; trial < trials; ++trial) {
    for (size_t i = 0; i < n; ++i) {
      population.Draw(random, x[i], y[i]);
    }
    const Correlation value = Correlate(coefficient, x, y);
    const absl::StatusOr<Interval> interval =
        FisherInterval(coefficient, value.value, value.n, 0.95);
    if (value.defined() && interval.ok()) {
      ++made;
      held += interval->low <= truth && truth <= interval->high ? 1 : 0;
      width += interval->high - interval->low;
    }
  }
  return {static_cast<double>(held) / static_cast<double>(trials),
          width / static_cast<double>(std::max<int64_t>(made, 1))};
}

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
    const Coverage coverage = Measure({0.9, 0}, 20, Coefficient::kKendall, method, kTrials, 400);
    EXPECT_GT(coverage.share, 0.88);
    EXPECT_LE(coverage.share, 1);
  }
}

TEST(CoverageTest, FewApproachesCoverPoorlyAsDocumented) {
  const Coverage coverage =
      Measure({0.9, 0}, 5, Coefficient::kKendall, BootstrapMethod::kBca, 300, 400);
  EXPECT_LT(coverage.share, 0.92) << "docs/statistics.md and the warning below ten approaches";
}

TEST(CoverageTest, PrintsTheTableOnRequest) {
  const char* asked = std::getenv("CONCUR_COVERAGE_TRIALS");  // NOLINT(concurrency-mt-unsafe)
  int64_t trials = 0;
  if (asked == nullptr || !absl::SimpleAtoi(asked, &trials)) {
    GTEST_SKIP() << "set CONCUR_COVERAGE_TRIALS to print the table";
  }
  for (const Coefficient coefficient : {Coefficient::kKendall, Coefficient::kPearson}) {
    for (const Population& population :
         {Population{0.9, 0}, Population{0.99, 0}, Population{0.9, 0.5}, Population{0.5, 0}}) {
      for (const size_t n : {5U, 8U, 10U, 15U, 20U, 30U, 50U}) {
        const Coverage fisher = MeasureFisher(population, n, coefficient, 20 * trials);
        std::printf("fisher | %s | %.2f | %s | %d | %.1f | %.2f |\n",
                    std::string(CoefficientName(coefficient)).c_str(), population.rho,
                    population.step > 0 ? "yes" : "no", static_cast<int>(n), 100 * fisher.share,
                    fisher.width);
        const Coverage percentile =
            Measure(population, n, coefficient, BootstrapMethod::kPercentile, trials, 1000);
        const Coverage bca =
            Measure(population, n, coefficient, BootstrapMethod::kBca, trials, 1000);
        std::printf("| %s | %.2f | %s | %d | %.1f | %.1f | %.2f | %.2f |\n",
                    std::string(CoefficientName(coefficient)).c_str(), population.rho,
                    population.step > 0 ? "yes" : "no", static_cast<int>(n), 100 * percentile.share,
                    100 * bca.share, percentile.width, bca.width);
        std::fflush(stdout);
      }
    }
  }
}

}  // namespace
}  // namespace concur::analysis
