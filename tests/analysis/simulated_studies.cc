// SPDX-License-Identifier: Apache-2.0
#include "tests/analysis/simulated_studies.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analysis/comparison/generalization.h"
#include "analysis/comparison/rank_sets.h"
#include "analysis/families.h"
#include "analysis/plan/plan.h"
#include "analysis/plan/plan_until.h"
#include "analysis/plan/verdict.h"
#include "analysis/score_table.h"
#include "analysis/statistics/fisher.h"
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

namespace {

constexpr size_t kCopiesOfOne = 5;

// Scores by benchmark, then approach; adds the true averages of those that are able.
std::vector<std::vector<double>> DrawScores(const RankDesign& design, Random& random,
                                            std::vector<double>& truth) {
  using Kind = RankDesign::Kind;
  std::vector<double> own(design.approaches);  // a standard deviation, or a loading
  for (size_t i = 0; i < own.size(); ++i) {
    const bool half = design.kind == Kind::kHalf && 2 * i >= own.size();
    truth[i] = half ? 5 * std::abs(random.Normal()) : 0;
    own[i] = design.kind == Kind::kErratic  ? (i == 0 ? 10 : 1)
             : design.kind == Kind::kFactor ? random.Normal()
             : design.kind == Kind::kSpread || design.kind == Kind::kHalf
                 ? std::exp(0.8 * random.Normal())
                 : 1;
  }
  std::vector<std::vector<double>> scores;
  std::vector<double> shared(own.size());
  for (size_t b = 0; b < design.benchmarks; ++b) {
    std::vector<double>& row = scores.emplace_back(own.size());
    const double direction = random.Normal();
    const double scale = std::exp(0.3 * random.Normal());
    for (size_t i = 0; i < row.size(); ++i) {
      if (design.kind == Kind::kCopies) {
        shared[i] = b % kCopiesOfOne == 0 ? random.Normal() : shared[i];
        row[i] = std::sqrt(0.9) * shared[i] + std::sqrt(0.1) * random.Normal();
      } else if (design.kind == Kind::kFactor) {
        row[i] = own[i] * direction + 0.3 * random.Normal();
      } else {
        row[i] = truth[i] * scale + own[i] * random.Normal();
      }
    }
    for (int question = 0; design.kind == Kind::kDiscrete && question < 100; ++question) {
      const double right = 1 / (1 + std::exp(-random.Normal()));
      for (size_t i = 0; i < row.size(); ++i) {
        row[i] = (question == 0 ? 0 : row[i]) + (random.Chance(right) ? 1 : 0);
      }
    }
  }
  return scores;
}

ExampleTable DrawDocuments(const RankDesign& design, Random& random) {
  ExampleTable table;
  table.benchmark = "b0";
  std::vector<double> subjects;
  for (size_t d = 0; d < design.benchmarks; ++d) {
    table.places.documents.insert(table.places.documents.end(), 5 + random.Below(25),
                                  static_cast<int64_t>(d));
    subjects.push_back(0.3 + random.Normal());
  }
  table.examples = table.places.documents.size();
  for (size_t i = 0; i < design.approaches; ++i) {
    table.approaches.push_back(absl::StrCat("a", i));
    std::vector<double> right;
    for (const double subject : subjects) {
      right.push_back(1 / (1 + std::exp(-subject - 0.6 * random.Normal())));
    }
    for (const int64_t document : table.places.documents) {
      table.values.push_back(random.Chance(right[static_cast<size_t>(document)]) ? 1 : 0);
    }
  }
  return table;
}

ScoreTable AsTable(const std::vector<std::vector<double>>& scores) {
  std::vector<AxisEntry> approaches;
  std::vector<AxisEntry> benchmarks;
  for (size_t i = 0; i < scores[0].size(); ++i) {
    approaches.push_back({absl::StrCat("a", i), {}});
  }
  for (size_t b = 0; b < scores.size(); ++b) {
    benchmarks.push_back({absl::StrCat("b", b), {}});
  }
  absl::StatusOr<ScoreTable> table =
      ScoreTable::Create(std::move(approaches), std::move(benchmarks));
  CONCUR_CHECK_OK(table.status());
  for (size_t b = 0; b < scores.size(); ++b) {
    for (size_t i = 0; i < scores[b].size(); ++i) {
      table->cell(i, b).state = CellState::kValue;
      table->cell(i, b).value = scores[b][i];
    }
  }
  return *std::move(table);
}

}  // namespace

std::vector<RankDesign> RankDesigns() {
  using Kind = RankDesign::Kind;
  return {{"equal and normal", Kind::kNormal, 5, 3},
          {"equal and normal", Kind::kNormal, 20, 3},
          {"equal and normal", Kind::kNormal, 10, 10},
          {"100 paired questions", Kind::kDiscrete, 10, 3},
          {"100 paired questions", Kind::kDiscrete, 20, 3},
          {"one of ten times the spread", Kind::kErratic, 5, 3},
          {"one of ten times the spread", Kind::kErratic, 20, 7},
          {"log-normal spreads", Kind::kSpread, 5, 3},
          {"log-normal spreads", Kind::kSpread, 20, 7},
          {"one factor", Kind::kFactor, 6, 4},
          {"one factor", Kind::kFactor, 10, 5},
          {"one factor", Kind::kFactor, 40, 7},
          {"copies in four groups", Kind::kCopies, 10, 20},
          {"copies in four groups", Kind::kCopies, 40, 20},
          {"half equal, half able", Kind::kHalf, 6, 4},
          {"half equal, half able", Kind::kHalf, 20, 7},
          {"documents", Kind::kDocuments, 6, 10},
          {"documents", Kind::kDocuments, 10, 10},
          {"documents", Kind::kDocuments, 10, 48}};
}

double FalseRankSets(const RankDesign& design, int64_t trials, int64_t draws) {
  Random random(11, absl::StrCat("rank sets of ", design.name, design.approaches));
  std::vector<size_t> all(design.approaches);
  std::iota(all.begin(), all.end(), size_t{0});
  RankSetOptions options;
  options.draws = draws;
  int64_t wrong = 0;
  for (int64_t trial = 0; trial < trials; ++trial) {
    std::vector<double> truth(design.approaches, 0.0);
    absl::StatusOr<RankEstimate> estimate;
    if (design.kind == RankDesign::Kind::kDocuments) {
      const ExampleTable examples = DrawDocuments(design, random);
      std::vector<std::vector<double>> scores(1);
      for (size_t i = 0; i < design.approaches; ++i) {
        const absl::Span<const double> row = examples.row(i);
        scores[0].push_back(100 * std::accumulate(row.begin(), row.end(), 0.0) /
                            static_cast<double>(row.size()));
      }
      const ScoreTable table = AsTable(scores);
      estimate = EstimateOverExamples(table, GroupsByGoal(table)[0], all, {examples},
                                      ExampleUnit::kDocument);
    } else {
      const ScoreTable table = AsTable(DrawScores(design, random, truth));
      estimate = EstimateOverBenchmarks(table, GroupsByGoal(table), all);
    }
    CONCUR_CHECK_OK(estimate.status());
    options.seed = static_cast<uint64_t>(trial);
    const absl::StatusOr<RankSets> sets = ComputeRankSets(*estimate, options);
    CONCUR_CHECK_OK(sets.status());
    const bool held = std::all_of(all.begin(), all.end(), [&](size_t i) {
      const RankSet& set = sets->simultaneous[i];
      return set.low <= 1 + std::count_if(truth.begin(), truth.end(),
                                          [&](double other) { return other > truth[i]; }) &&
             set.high >= std::count_if(truth.begin(), truth.end(),
                                       [&](double other) { return other >= truth[i]; });
    });
    wrong += held ? 0 : 1;
  }
  return static_cast<double>(wrong) / static_cast<double>(trials);
}

std::vector<VerdictDesign> VerdictDesigns() {
  return {{10, 1, 0.7}, {10, 1, 0.9},      {20, 1, 0.7}, {20, 1, 0.7, 0.3},
          {40, 1, 0.5}, {40, 1, 0.5, 0.3}, {40, 1, 0.7}, {40, 1, 0.7, 0.3},
          {40, 1, 0.8}, {40, 1, 0.9},      {40, 2, 0.7}, {40, 2, 0.7, 0.3},
          {40, 2, 0.9}, {100, 1, 0.5},     {100, 1, 0.7}};
}

VerdictCoverage MeasureVerdicts(const VerdictDesign& design, int64_t trials) {
  const Population population{std::sin(M_PI / 2 * design.tau), 0};
  std::vector<AxisEntry> rows;
  for (size_t i = 0; i < design.approaches; ++i) {
    rows.push_back({absl::StrCat("a", i), {{kFamilyTag, absl::StrCat(i / design.family_size)}}});
  }
  const ScoreTable empty = *ScoreTable::Create(rows, {{"X", {}}, {"Y", {}}});
  // The order is that of the plan: families do not come together.
  const CellPlan plan(EqualCosts(empty), 1);
  const std::vector<CellBatch> batches = BatchesOf(plan, design.approaches);
  VerdictOptions options;
  options.within = design.within;
  options.looks = batches.size();
  options.bootstrap.replicates = 1000;
  options.bootstrap.families = design.family_size > 1 ? kFamilyTag : kNoFamilies;
  Random random(9, "coverage/verdicts");
  VerdictCoverage coverage;
  for (int64_t trial = 0; trial < trials; ++trial) {
    std::vector<std::pair<double, double>> scores(design.approaches);
    double family_x = 0;
    double family_y = 0;
    for (size_t i = 0; i < design.approaches; ++i) {
      auto& [x, y] = scores[i];
      population.Draw(random, x, y);
      if (design.family_size > 1) {
        if (i % design.family_size == 0) {
          population.Draw(random, family_x, family_y);
        }
        x = (x + family_x) / M_SQRT2;
        y = (y + family_y) / M_SQRT2;
      }
    }
    ScoreTable table = empty;
    bool claimed = false;
    bool is_precise = false;
    size_t next = 0;
    for (size_t number = 0; number < batches.size() && !(claimed && is_precise); ++number) {
      for (; next < batches[number].cells; ++next) {
        const PlannedCell& cell = plan.cells()[next];
        table.cell(cell.approach, cell.benchmark).state = CellState::kValue;
        table.cell(cell.approach, cell.benchmark).value =
            cell.benchmark == 0 ? scores[cell.approach].first : scores[cell.approach].second;
      }
      options.bootstrap.seed = static_cast<uint64_t>(trial);
      const absl::StatusOr<Verdict> verdict = JudgePair(table, {}, options);
      CONCUR_CHECK_OK(verdict.status());
      const bool is_last = number + 1 == batches.size();
      if (!claimed && (verdict->claim != Claim::kOpen || is_last)) {
        claimed = true;
        coverage.shown += verdict->claim == Claim::kShown ? 1 : 0;
        coverage.refuted += verdict->claim == Claim::kRefuted ? 1 : 0;
        coverage.approaches += static_cast<double>(verdict->approaches);
        coverage.held += verdict->tau_interval.has_value() &&
                                 verdict->tau_interval->low <= design.tau &&
                                 design.tau <= verdict->tau_interval->high
                             ? 1
                             : 0;
      }
      if (!is_precise && verdict->precise) {
        is_precise = true;
        coverage.precise += 1;
        coverage.precise_right += std::abs(*verdict->tau - design.tau) <= design.within ? 1 : 0;
      }
    }
  }
  const auto count = static_cast<double>(trials);
  coverage.precise_right /= std::max(coverage.precise, 1.0);
  for (double* const sum : {&coverage.shown, &coverage.refuted, &coverage.held, &coverage.precise,
                            &coverage.approaches}) {
    *sum /= count;
  }
  return coverage;
}

}  // namespace concur::analysis
