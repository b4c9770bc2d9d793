// SPDX-License-Identifier: Apache-2.0
#include "analysis/concurrence/curve.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "analysis/bootstrap.h"
#include "analysis/concurrence/matrix.h"
#include "analysis/resampling.h"
#include "analysis/score_table.h"
#include "analysis/statistics/correlation.h"
#include "analysis/statistics/intervals.h"
#include "base/random.h"
#include "base/status_macros.h"

namespace concur::analysis {
namespace {

constexpr size_t kCurveApproachesMax = 1000;

absl::Status CheckOptions(const CurveOptions& options) {
  if (options.draws < 10 || options.draws > 1'000'000) {
    return absl::InvalidArgumentError(
        absl::StrCat("draws: expected a number from 10 to 1000000, got ", options.draws));
  }
  if (!(options.level > 0 && options.level < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("level: expected a number strictly between 0 and 1, got ", options.level));
  }
  return absl::OkStatus();
}

size_t PairCount(size_t benchmarks) { return benchmarks * (benchmarks - 1) / 2; }

// Subsets are summed up as replicates are, by quantiles.
void SummarizeCurve(std::vector<double>& values, double level, CurvePoint& point) {
  std::vector<double> defined;
  for (const double value : values) {
    if (!std::isnan(value)) {
      defined.push_back(value);
    }
  }
  point.draws = static_cast<int64_t>(defined.size());
  point.undefined = static_cast<int64_t>(values.size() - defined.size());
  if (defined.empty() || 2 * defined.size() < values.size()) {
    return;
  }
  const Moments moments = ComputeMoments(defined);
  point.value = moments.mean;
  point.standard_deviation = moments.standard_deviation;
  point.range =
      IntervalFromReplicates(values, moments.mean, {}, level, BootstrapMethod::kPercentile)
          .interval;
}

// The points of all pairs at one x, from `count` evaluations of all pairs.
template <typename Evaluate>
void AddPoints(size_t benchmarks, double x, int64_t count, const CurveOptions& options,
               const Evaluate& evaluate, std::vector<CurvePoint>& points) {
  const size_t pairs = PairCount(benchmarks);
  const auto draws = static_cast<size_t>(count);
  std::vector<double> values(pairs * draws);
  std::vector<double> row(pairs);
  for (size_t draw = 0; draw < draws; ++draw) {
    evaluate(row.data());
    for (size_t pair = 0; pair < pairs; ++pair) {
      values[pair * draws + draw] = row[pair];
    }
  }
  size_t at = 0;
  for (size_t a = 0; a < benchmarks; ++a) {
    for (size_t b = a + 1; b < benchmarks; ++b, ++at) {
      CurvePoint& point = points.emplace_back();
      point.a = a;
      point.b = b;
      point.x = x;
      std::vector<double> of_pair(values.begin() + static_cast<ptrdiff_t>(at * draws),
                                  values.begin() + static_cast<ptrdiff_t>((at + 1) * draws));
      SummarizeCurve(of_pair, options.level, point);
    }
  }
}

// By pair, then x: a curve after the other.
void SortByPair(std::vector<CurvePoint>& points) {
  std::stable_sort(points.begin(), points.end(), [](const CurvePoint& p, const CurvePoint& q) {
    return std::make_pair(p.a, p.b) < std::make_pair(q.a, q.b);
  });
}

// The first `count` of `order` become a uniform draw without replacement.
void DrawFirst(Random& random, size_t count, std::vector<size_t>& order) {
  for (size_t i = 0; i < count; ++i) {
    std::swap(order[i], order[i + random.Below(order.size() - i)]);
  }
}

}  // namespace

absl::StatusOr<std::vector<CurvePoint>> ApproachCurve(const ScoreTable& table,
                                                      const CurveOptions& options) {
  CONCUR_RETURN_IF_ERROR(CheckOptions(options));
  const size_t n = table.approaches().size();
  const size_t benchmarks = table.benchmarks().size();
  if (n > kCurveApproachesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected at most ", kCurveApproachesMax, " approaches in a curve, got ", n));
  }
  std::vector<CurvePoint> points;
  if (benchmarks < 2) {
    return points;
  }
  const WeightedCoefficients evaluator(table.Oriented(), options.coefficient, options.top);
  WeightedCoefficients::Scratch scratch;
  std::vector<size_t> order(n);
  std::vector<int32_t> weights(n);
  for (size_t size = std::min<size_t>(3, n); size > 0 && size <= n; ++size) {
    Random random(options.seed, absl::StrCat("curve/approaches/", size));
    std::iota(order.begin(), order.end(), size_t{0});
    AddPoints(
        benchmarks, static_cast<double>(size), size == n ? 1 : options.draws, options,
        [&](double* row) {
          DrawFirst(random, size, order);
          std::fill(weights.begin(), weights.end(), 0);
          for (size_t i = 0; i < size; ++i) {
            weights[order[i]] = 1;
          }
          evaluator.Evaluate(weights, 0, benchmarks, scratch, row);
        },
        points);
  }
  SortByPair(points);
  return points;
}

absl::StatusOr<std::vector<SizedBenchmark>> SizesByTag(const ScoreTable& table,
                                                       const std::string& tag) {
  std::vector<SizedBenchmark> sized;
  for (size_t b = 0; b < table.benchmarks().size(); ++b) {
    const AxisEntry& benchmark = table.benchmarks()[b];
    const auto found = benchmark.tags.find(tag);
    if (found == benchmark.tags.end()) {
      continue;
    }
    double size = 0;
    if (!absl::SimpleAtod(found->second, &size) || !std::isfinite(size)) {
      return absl::InvalidArgumentError(absl::StrCat(
          benchmark.name, ": tag ", tag, ": expected a number, got \"", found->second, "\""));
    }
    sized.push_back({b, size});
  }
  if (sized.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("no benchmark carries the tag \"", tag, "\"; give --point NAME=SIZE instead"));
  }
  return sized;
}

absl::StatusOr<std::vector<CurvePoint>> SizeCurve(
    const ScoreTable& table, absl::Span<const SizedBenchmark> sized,
    absl::Span<const size_t> targets, const CurveOptions& options,
    const std::optional<BootstrapOptions>& bootstrap) {
  const std::vector<std::string> names = NamesOf(table.benchmarks());
  MatrixOptions matrix_options;
  matrix_options.coefficient = options.coefficient;
  matrix_options.top = options.top;
  matrix_options.p_values = false;
  matrix_options.bootstrap = bootstrap;
  CONCUR_ASSIGN_OR_RETURN(const ConcurrenceMatrix matrix, ComputeMatrix(table, matrix_options));
  std::vector<SizedBenchmark> ordered(sized.begin(), sized.end());
  std::stable_sort(
      ordered.begin(), ordered.end(),
      [](const SizedBenchmark& p, const SizedBenchmark& q) { return p.size < q.size; });
  std::vector<CurvePoint> points;
  for (const size_t target : targets) {
    for (const SizedBenchmark& benchmark : ordered) {
      if (benchmark.benchmark == target) {
        continue;
      }
      const auto [a, b] = std::minmax(target, benchmark.benchmark);
      const MatrixPair& pair = matrix.pair(a, b);
      CurvePoint& point = points.emplace_back();
      point.a = target;
      point.b = benchmark.benchmark;
      point.x = benchmark.size;
      if (pair.correlation.defined()) {
        point.value = pair.correlation.value;
        point.range = pair.interval;
      }
    }
  }
  return points;
}

std::vector<double> ExpectedMaxima(absl::Span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const size_t n = sorted.size();
  std::vector<double> expected(n, 0.0);
  for (size_t k = 1; k <= n; ++k) {
    // The i-th of n (from 1) is the best of k with probability C(i - 1, k - 1) / C(n, k).
    double weight = static_cast<double>(k) / static_cast<double>(n);
    for (size_t i = n; i >= k; --i) {
      expected[k - 1] += weight * sorted[i - 1];
      if (i > 1) {
        weight *= static_cast<double>(i - k) / static_cast<double>(i - 1);
      }
    }
  }
  return expected;
}

absl::StatusOr<SettingScores> GroupSettings(const ScoreTable& each) {
  SettingScores scores;
  scores.table = each;
  scores.benchmarks = NamesOf(each.benchmarks());
  for (size_t row = 0; row < each.approaches().size(); ++row) {
    const AxisEntry& entry = each.approaches()[row];
    const auto setting = entry.tags.find("setting");
    if (setting == entry.tags.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "approach \"", entry.name,
          "\": expected a row for each approach and setting, with a column \"setting\" beside the "
          "approach: approach,setting,BENCHMARK,…; \"concur scores SWEEP --select each -o csv\" "
          "writes "
          "such a file"));
    }
    const std::string name(absl::StripSuffix(entry.name, absl::StrCat(" #", setting->second)));
    const auto found = std::find(scores.approaches.begin(), scores.approaches.end(), name);
    const auto at = static_cast<size_t>(found - scores.approaches.begin());
    if (found == scores.approaches.end()) {
      scores.approaches.push_back(name);
      scores.rows.emplace_back();
    }
    scores.rows[at].push_back(row);
  }
  return scores;
}

std::vector<ExpectedBest> ExpectedBestCurve(const SettingScores& scores) {
  std::vector<ExpectedBest> curve;
  for (size_t i = 0; i < scores.approaches.size(); ++i) {
    for (size_t b = 0; b < scores.benchmarks.size(); ++b) {
      // The least of the scores is the greatest of the negated ones, negated.
      const double sign = scores.table.sign(b);
      std::vector<double> values;
      for (const size_t row : scores.rows[i]) {
        const ScoreCell& cell = scores.table.cell(row, b);
        if (cell.state == CellState::kValue) {
          values.push_back(sign * cell.value);
        }
      }
      const std::vector<double> expected = ExpectedMaxima(values);
      for (size_t k = 0; k < expected.size(); ++k) {
        curve.push_back({i, b, static_cast<int64_t>(k + 1), static_cast<int64_t>(values.size()),
                         sign * expected[k]});
      }
    }
  }
  return curve;
}

absl::StatusOr<std::vector<CurvePoint>> BudgetCurve(const SettingScores& scores,
                                                    const CurveOptions& options) {
  CONCUR_RETURN_IF_ERROR(CheckOptions(options));
  const size_t benchmarks = scores.benchmarks.size();
  std::vector<CurvePoint> points;
  if (scores.approaches.empty() || benchmarks < 2) {
    return points;
  }
  const ScoreTable each = scores.table.Oriented();
  std::vector<AxisEntry> rows;
  size_t budget_max = scores.rows[0].size();
  for (size_t i = 0; i < scores.approaches.size(); ++i) {
    rows.push_back({scores.approaches[i], {}});
    budget_max = std::min(budget_max, scores.rows[i].size());
  }
  CONCUR_ASSIGN_OR_RETURN(ScoreTable best, ScoreTable::Create(std::move(rows), each.benchmarks()));
  const std::vector<int32_t> once(scores.approaches.size(), 1);
  WeightedCoefficients::Scratch scratch;
  for (size_t k = 1; k <= budget_max; ++k) {
    Random random(options.seed, absl::StrCat("curve/budget/", k));
    std::vector<std::vector<size_t>> order = scores.rows;
    const bool all = std::all_of(order.begin(), order.end(),
                                 [&](const std::vector<size_t>& list) { return list.size() == k; });
    AddPoints(
        benchmarks, static_cast<double>(k), all ? 1 : options.draws, options,
        [&](double* row) {
          for (size_t i = 0; i < order.size(); ++i) {
            DrawFirst(random, k, order[i]);
            for (size_t b = 0; b < benchmarks; ++b) {
              ScoreCell& cell = best.cell(i, b);
              cell = ScoreCell();
              for (size_t s = 0; s < k; ++s) {
                const ScoreCell& of = each.cell(order[i][s], b);
                if (of.state == CellState::kValue &&
                    (cell.state != CellState::kValue || of.value > cell.value)) {
                  cell = of;
                }
              }
            }
          }
          WeightedCoefficients(best, options.coefficient, options.top)
              .Evaluate(once, 0, benchmarks, scratch, row);
        },
        points);
  }
  SortByPair(points);
  return points;
}

}  // namespace concur::analysis
