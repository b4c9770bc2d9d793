// SPDX-License-Identifier: Apache-2.0
#include "analysis/noise.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "analysis/example_runs.h"
#include "analysis/score_table.h"
#include "analysis/statistics/correlation.h"
#include "analysis/statistics/intervals.h"

namespace concur::analysis {
namespace {

using Matrix = std::vector<std::vector<double>>;

double MeanOf(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double SumOfSquares(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) {
    sum += value * value;
  }
  return sum;
}

// Subtracts from each row its mean, and then from each column the mean of the rows that are not
// empty: what is left is neither the row's nor the column's. The rows have one length.
void CenterBothWays(Matrix& rows) {
  std::vector<double> column;
  double count = 0;
  for (std::vector<double>& row : rows) {
    if (row.empty()) {
      continue;
    }
    const double mean = MeanOf(row);
    column.resize(row.size(), 0.0);
    for (size_t i = 0; i < row.size(); ++i) {
      row[i] -= mean;
      column[i] += row[i];
    }
    ++count;
  }
  for (std::vector<double>& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      row[i] -= column[i] / count;
    }
  }
}

// Sums over clusters; deviations of one approach.
std::vector<double> ClusterSums(const std::vector<double>& values,
                                const ExampleClusters& clusters) {
  if (clusters.of.empty()) {
    return values;
  }
  std::vector<double> sums(clusters.count, 0.0);
  for (size_t i = 0; i < values.size(); ++i) {
    sums[clusters.of[i]] += values[i];
  }
  return sums;
}

std::vector<double> MeanOverRuns(const std::vector<std::vector<double>>& runs) {
  std::vector<double> mean(runs[0].size(), 0.0);
  for (const std::vector<double>& run : runs) {
    for (size_t e = 0; e < run.size(); ++e) {
      mean[e] += run[e] / static_cast<double>(runs.size());
    }
  }
  return mean;
}

// The variance that the interaction of runs and examples leaves in the mean of one run.
double RunByExample(const std::vector<std::vector<double>>& runs, const ExampleClusters& clusters,
                    double cluster_correction) {
  Matrix rest = runs;
  CenterBothWays(rest);
  double squares = 0;
  for (const std::vector<double>& row : rest) {
    squares += SumOfSquares(ClusterSums(row, clusters));
  }
  const auto examples = static_cast<double>(runs[0].size());
  return cluster_correction * squares / static_cast<double>(runs.size() - 1) /
         (examples * examples);
}

// n / (n - 1) for what centering n of them took away; 1 for one alone.
double Unbiased(size_t n) {
  return n > 1 ? static_cast<double>(n) / static_cast<double>(n - 1) : 1;
}

// Variances between the means of each approach's runs, and the part of all of them together that
// seeds alone cause.
struct RunVariances {
  std::vector<double> of;  // by approach; NaN with one run
  double mean = 0;         // over approaches with several runs
};

RunVariances VariancesOfRuns(const BenchmarkRuns& runs, const ExampleClusters& clusters,
                             double cluster_correction, BenchmarkNoise& noise) {
  Matrix means;
  bool same_count = true;
  size_t approaches = 0;
  size_t count = 0;
  for (const auto& list : runs.runs) {
    std::vector<double>& row = means.emplace_back();
    for (const std::vector<double>& run : list) {
      row.push_back(MeanOf(run));
    }
    if (!list.empty()) {
      same_count = same_count && (count == 0 || list.size() == count);
      count = list.size();
      ++approaches;
    }
  }
  // Where runs are numbered alike, what a run (a seed, a sample of examples) does to all
  // approaches is no noise; where the numbers mean nothing, removing it costs one degree.
  const bool crossed = same_count && approaches > 1;
  if (crossed) {
    CenterBothWays(means);
  } else {
    for (std::vector<double>& row : means) {
      const double mean = row.empty() ? 0 : MeanOf(row);
      for (double& value : row) {
        value -= mean;
      }
    }
  }
  RunVariances variances;
  double total = 0;
  double by_example = 0;
  double several = 0;
  for (size_t i = 0; i < means.size(); ++i) {
    variances.of.push_back(std::nan(""));
    if (means[i].size() < 2) {
      continue;
    }
    variances.of[i] = (crossed ? Unbiased(approaches) : 1) * SumOfSquares(means[i]) /
                      static_cast<double>(means[i].size() - 1);
    total += variances.of[i];
    by_example += RunByExample(runs.runs[i], clusters, cluster_correction);
    ++several;
  }
  if (several > 0) {
    variances.mean = total / several;
    noise.known = true;
    noise.seed_share = total > 0 ? std::clamp(1 - by_example / total, 0.0, 1.0) : 1;
  }
  noise.run_deviations = std::move(means);
  return variances;
}

// The sample covariance over approaches present on both, which weighs each once.
double MeanProduct(const Matrix& x, const Matrix& y) {
  double sum = 0;
  double count = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i].empty() || x[i].size() != y[i].size()) {
      continue;
    }
    sum += std::inner_product(x[i].begin(), x[i].end(), y[i].begin(), 0.0);
    ++count;
  }
  return count > 1 ? sum / (count - 1) : 0;
}

double SpreadOfMeans(const BenchmarkNoise& benchmark) {
  std::vector<double> means;
  for (size_t i = 0; i < benchmark.means.size(); ++i) {
    if (benchmark.present[i]) {
      means.push_back(benchmark.means[i]);
    }
  }
  return ComputeMoments(means).standard_deviation;
}

}  // namespace

BenchmarkNoise EstimateNoise(const BenchmarkRuns& runs, const ExampleClusters& clusters) {
  BenchmarkNoise noise;
  const size_t count = clusters.of.empty() ? runs.examples : clusters.count;
  const double correction = Unbiased(count);
  Matrix by_example;
  size_t approaches = 0;
  for (const auto& list : runs.runs) {
    noise.present.push_back(!list.empty());
    by_example.push_back(list.empty() ? std::vector<double>() : MeanOverRuns(list));
    noise.means.push_back(list.empty() ? 0 : MeanOf(by_example.back()));
    approaches += list.empty() ? 0 : 1;
  }
  noise.known = count > 1;
  CenterBothWays(by_example);
  const RunVariances variances = VariancesOfRuns(runs, clusters, correction, noise);
  const auto examples = static_cast<double>(runs.examples);
  for (size_t i = 0; i < runs.runs.size(); ++i) {
    if (!noise.present[i]) {
      noise.noise.push_back(0);
      noise.example_sums.emplace_back();
      continue;
    }
    noise.example_sums.push_back(ClusterSums(by_example[i], clusters));
    const double of_examples = count > 1
                                   ? correction * Unbiased(approaches) *
                                         SumOfSquares(noise.example_sums[i]) / (examples * examples)
                                   : 0;
    const double of_runs = std::isnan(variances.of[i]) ? variances.mean : variances.of[i];
    noise.noise.push_back(of_examples +
                          noise.seed_share * of_runs / static_cast<double>(runs.runs[i].size()));
  }
  return noise;
}

std::optional<double> Reliability(const BenchmarkNoise& benchmark,
                                  absl::Span<const int32_t> weights) {
  double count = 0;
  double mean = 0;
  double noise = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (benchmark.present[i]) {
      count += weights[i];
      mean += weights[i] * benchmark.means[i];
      noise += weights[i] * benchmark.noise[i];
    }
  }
  double squares = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (benchmark.present[i]) {
      const double deviation = benchmark.means[i] - mean / count;
      squares += weights[i] * deviation * deviation;
    }
  }
  if (count < 2 || squares <= 0) {
    return std::nullopt;
  }
  return 1 - noise / count / (squares / (count - 1));
}

double SharedNoise(const BenchmarkRuns& runs_a, const BenchmarkNoise& a,
                   const BenchmarkRuns& runs_b, const BenchmarkNoise& b) {
  const double spread = SpreadOfMeans(a) * SpreadOfMeans(b);
  if (!(spread > 0)) {
    return 0;
  }
  double covariance = 0;
  if (!runs_a.test_set.empty() && runs_a.test_set == runs_b.test_set && runs_a.examples > 1) {
    const auto examples = static_cast<double>(runs_a.examples);
    const size_t clusters = a.example_sums.empty() ? 0 : a.example_sums[0].size();
    covariance +=
        Unbiased(clusters) * MeanProduct(a.example_sums, b.example_sums) / (examples * examples);
  }
  if (!runs_a.systems.empty() && runs_a.systems == runs_b.systems) {
    size_t runs = 0;
    for (const std::vector<double>& row : a.run_deviations) {
      runs = std::max(runs, row.size());
    }
    if (runs > 1) {
      covariance += MeanProduct(a.run_deviations, b.run_deviations) /
                    static_cast<double>(runs * (runs - 1)) * std::sqrt(a.seed_share * b.seed_share);
    }
  }
  return covariance / spread;
}

bool HasNoiseCorrection(Coefficient coefficient) {
  return coefficient == Coefficient::kKendall || coefficient == Coefficient::kPearson ||
         coefficient == Coefficient::kSpearman;
}

double WithoutNoise(Coefficient coefficient, double value, double shared,
                    double reliability_product) {
  const auto correct = [&](double r) {
    return std::clamp((r - shared) / std::sqrt(reliability_product), -1.0, 1.0);
  };
  switch (coefficient) {
    case Coefficient::kKendall:
      return 2 / M_PI * std::asin(correct(std::sin(M_PI / 2 * value)));
    case Coefficient::kSpearman:
      return 6 / M_PI * std::asin(correct(2 * std::sin(M_PI / 6 * value)) / 2);
    case Coefficient::kPearson:
      return correct(value);
    case Coefficient::kWeightedKendall:
    case Coefficient::kTopK:
    case Coefficient::kRbo:
      break;
  }
  return value;
}

std::optional<double> SeedReliability(const ScoreTable& table, size_t column, size_t other) {
  std::vector<double> scores;
  double noise = 0;
  double repeated = 0;  // cells
  for (size_t i = 0; i < table.approaches().size(); ++i) {
    const ScoreCell& cell = table.cell(i, column);
    if (cell.state != CellState::kValue || table.cell(i, other).state != CellState::kValue) {
      continue;
    }
    scores.push_back(cell.value);
    if (cell.seeds >= 2) {
      noise += cell.standard_deviation * cell.standard_deviation / static_cast<double>(cell.seeds);
      ++repeated;
    }
  }
  const double spread = ComputeMoments(scores).standard_deviation;
  if (repeated == 0 || spread == 0) {
    return std::nullopt;
  }
  return 1 - noise / repeated / (spread * spread);
}

}  // namespace concur::analysis
