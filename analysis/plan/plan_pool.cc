// SPDX-License-Identifier: Apache-2.0
#include "analysis/plan/plan_pool.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

namespace concur::analysis {
namespace {

// Least squares of one value for each pair on a constant and an effect of either benchmark, with
// fixed weights: solved by the Cholesky factor of the normal equations, which is computed once.
class AdditiveFit {
 public:
  AdditiveFit(size_t benchmarks, const std::vector<PairEstimate>& pairs,
              std::vector<double> weights)
      : pairs_(pairs), weights_(std::move(weights)) {
    const auto size = static_cast<Eigen::Index>(benchmarks + 1);
    Eigen::MatrixXd normal = Eigen::MatrixXd::Zero(size, size);
    // The effects are determined up to a constant: a little of a ridge chooses one.
    double sum = 0;
    for (const double weight : weights_) {
      sum += weight;
    }
    normal.diagonal().tail(size - 1).setConstant(1e-6 * sum);
    for (size_t p = 0; p < pairs_.size(); ++p) {
      for (const Eigen::Index i : EffectsOf(pairs_[p])) {
        for (const Eigen::Index j : EffectsOf(pairs_[p])) {
          normal(i, j) += weights_[p];
        }
      }
    }
    factor_.compute(normal);
  }

  // The fitted value of each pair.
  std::vector<double> Fit(const std::vector<double>& values) const {
    Eigen::VectorXd effects = Eigen::VectorXd::Zero(factor_.rows());
    for (size_t p = 0; p < pairs_.size(); ++p) {
      for (const Eigen::Index i : EffectsOf(pairs_[p])) {
        effects[i] += weights_[p] * values[p];
      }
    }
    factor_.solveInPlace(effects);
    std::vector<double> fitted;
    fitted.reserve(pairs_.size());
    for (const PairEstimate& pair : pairs_) {
      const auto [constant, a, b] = EffectsOf(pair);
      fitted.push_back(effects[constant] + effects[a] + effects[b]);
    }
    return fitted;
  }

 private:
  // The constant and the effects of both benchmarks.
  static std::array<Eigen::Index, 3> EffectsOf(const PairEstimate& pair) {
    return {0, static_cast<Eigen::Index>(pair.a + 1), static_cast<Eigen::Index>(pair.b + 1)};
  }

  const std::vector<PairEstimate>& pairs_;
  std::vector<double> weights_;
  Eigen::LLT<Eigen::MatrixXd> factor_;
};

}  // namespace

void PoolPairs(size_t benchmarks, const std::vector<std::vector<double>>& influences,
               std::vector<PairEstimate>& pairs) {
  double variance = 0;
  double defined = 0;
  for (const PairEstimate& pair : pairs) {
    if (pair.defined) {
      variance += pair.variance;
      ++defined;
    }
  }
  // With few pairs the effects would explain too much of them.
  if (defined < 4 * static_cast<double>(benchmarks) || !(variance > 0)) {
    return;
  }
  std::vector<double> weights;
  std::vector<double> values;
  for (const PairEstimate& pair : pairs) {
    weights.push_back(pair.defined ? 1 / (pair.variance + variance / defined) : 0.0);
    values.push_back(pair.value);
  }
  const AdditiveFit fit(benchmarks, pairs, std::move(weights));
  const std::vector<double> fitted = fit.Fit(values);
  // The variance of each distance from the fit, from what each approach contributes to it.
  std::vector<double> noise(pairs.size(), 0.0);
  std::vector<double> of_approach(pairs.size());
  for (size_t i = 0; i < influences[0].size(); ++i) {
    bool is_there = false;
    for (size_t p = 0; p < pairs.size(); ++p) {
      of_approach[p] = influences[p][i];
      is_there = is_there || of_approach[p] != 0;
    }
    if (!is_there) {
      continue;
    }
    const std::vector<double> common = fit.Fit(of_approach);
    for (size_t p = 0; p < pairs.size(); ++p) {
      noise[p] += (of_approach[p] - common[p]) * (of_approach[p] - common[p]);
    }
  }
  double distances = 0;
  double noises = 0;
  for (size_t p = 0; p < pairs.size(); ++p) {
    if (pairs[p].defined) {
      distances += (pairs[p].value - fitted[p]) * (pairs[p].value - fitted[p]);
      noises += noise[p];
    }
  }
  const double real = std::max(0.0, (distances - noises) / defined);
  for (size_t p = 0; p < pairs.size(); ++p) {
    PairEstimate& pair = pairs[p];
    if (!pair.defined || pair.variance == 0) {
      continue;
    }
    const double kept = real / (real + std::min(noise[p], pair.variance));
    pair.pooled = std::clamp(fitted[p] + kept * (pair.value - fitted[p]), pair.interval.low,
                             pair.interval.high);
  }
}

}  // namespace concur::analysis
