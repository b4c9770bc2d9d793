// SPDX-License-Identifier: Apache-2.0
#include "tests/analysis/simulated_studies.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analysis/families.h"
#include "analysis/fisher.h"
#include "analysis/score_table.h"
#include "base/check.h"

namespace concur::analysis {

void Population::Draw(Random& random, double& x, double& y) const {
  x = random.Normal();
  y = rho * x + std::sqrt(1 - rho * rho) * random.Normal();
  if (step > 0) {
    x = std::round(x / step) * step;
    y = std::round(y / step) * step;
  }
}

double Population::Truth(Coefficient coefficient) const {
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

Coverage MeasureBootstrap(const Population& population, size_t n, Coefficient coefficient,
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
    CONCUR_CHECK_OK(intervals.status());
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

Coverage MeasureFamilies(const FamilyDesign& design, bool declared, Coefficient coefficient,
                         BootstrapMethod method, int64_t trials, int64_t replicates) {
  const Population population{design.rho, 0};
  const double truth = population.Truth(coefficient);
  std::vector<AxisEntry> rows;
  for (size_t f = 0; f < design.families; ++f) {
    for (size_t i = 0; i < design.size; ++i) {
      rows.push_back({absl::StrCat(f, "-", i), {{kFamilyTag, absl::StrCat("f", f)}}});
    }
  }
  absl::StatusOr<ScoreTable> table = ScoreTable::Create(rows, {{"X", {}}, {"Y", {}}});
  Random random(3, "coverage/families");
  BootstrapOptions options;
  options.replicates = replicates;
  options.method = method;
  options.families = declared ? kFamilyTag : kNoFamilies;
  Coverage coverage;
  for (int64_t trial = 0; trial < trials; ++trial) {
    size_t at = 0;
    for (size_t f = 0; f < design.families; ++f) {
      double family_x = 0;
      double family_y = 0;
      population.Draw(random, family_x, family_y);
      for (size_t i = 0; i < design.size; ++i, ++at) {
        double x = 0;
        double y = 0;
        population.Draw(random, x, y);
        const double between = std::sqrt(design.intraclass);
        const double within = std::sqrt(1 - design.intraclass);
        table->cell(at, 0).state = table->cell(at, 1).state = CellState::kValue;
        table->cell(at, 0).value = between * family_x + within * x;
        table->cell(at, 1).value = between * family_y + within * y;
      }
    }
    options.seed = static_cast<uint64_t>(trial);
    const absl::StatusOr<std::vector<BootstrapInterval>> intervals =
        BootstrapPairs(*table, coefficient, options);
    CONCUR_CHECK_OK(intervals.status());
    const Interval interval = (*intervals)[0].interval.value();
    coverage.share += interval.low <= truth && truth <= interval.high ? 1 : 0;
    coverage.width += interval.high - interval.low;
  }
  coverage.share /= static_cast<double>(trials);
  coverage.width /= static_cast<double>(trials);
  return coverage;
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

ExampleRuns Draw(const World& world, Random& random) {
  ExampleRuns runs;
  runs.benchmarks.resize(2);
  runs.benchmarks[0].benchmark = "A";
  runs.benchmarks[1].benchmark = "B";
  for (size_t i = 0; i < world.approaches; ++i) {
    runs.approaches.push_back(absl::StrCat("a", i));
    const double x = random.Normal();
    const double y = world.rho * x + std::sqrt(1 - world.rho * world.rho) * random.Normal();
    for (size_t b = 0; b < 2; ++b) {
      BenchmarkRuns& benchmark = runs.benchmarks[b];
      benchmark.examples = world.examples;
      std::vector<std::vector<double>>& list = benchmark.runs.emplace_back(world.seeds);
      for (std::vector<double>& run : list) {
        const double share =
            0.5 + world.approach_sd * (b == 0 ? x : y) + world.seed_sd * random.Normal();
        for (size_t e = 0; e < world.examples; ++e) {
          run.push_back(random.Chance(share) ? 1 : 0);
        }
      }
    }
  }
  return runs;
}

}  // namespace concur::analysis
