// SPDX-License-Identifier: Apache-2.0
#include "analysis/plan_pool.h"

#include <algorithm>
#include <cmath>
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
      : size_(benchmarks + 1),
        pairs_(pairs),
        weights_(std::move(weights)),
        factor_(size_ * size_, 0.0) {
    // The effects are determined up to a constant: a little of a ridge chooses one.
    double sum = 0;
    for (const double weight : weights_) {
      sum += weight;
    }
    for (size_t i = 1; i < size_; ++i) {
      At(i, i) = 1e-6 * sum;
    }
    for (size_t p = 0; p < pairs_.size(); ++p) {
      const size_t columns[] = {0, pairs_[p].a + 1, pairs_[p].b + 1};
      for (const size_t i : columns) {
        for (const size_t j : columns) {
          At(i, j) += weights_[p];
        }
      }
    }
    Factorize();
  }

  // The fitted value of each pair.
  std::vector<double> Fit(const std::vector<double>& values) const {
    std::vector<double> effects(size_, 0.0);
    for (size_t p = 0; p < pairs_.size(); ++p) {
      const double weighted = weights_[p] * values[p];
      effects[0] += weighted;
      effects[pairs_[p].a + 1] += weighted;
      effects[pairs_[p].b + 1] += weighted;
    }
    Solve(effects);
    std::vector<double> fitted;
    fitted.reserve(pairs_.size());
    for (const PairEstimate& pair : pairs_) {
      fitted.push_back(effects[0] + effects[pair.a + 1] + effects[pair.b + 1]);
    }
    return fitted;
  }

 private:
  double& At(size_t i, size_t j) { return factor_[i * size_ + j]; }
  double At(size_t i, size_t j) const { return factor_[i * size_ + j]; }

  void Factorize() {
    for (size_t j = 0; j < size_; ++j) {
      for (size_t k = 0; k < j; ++k) {
        for (size_t i = j; i < size_; ++i) {
          At(i, j) -= At(i, k) * At(j, k);
        }
      }
      const double root = std::sqrt(At(j, j));
      for (size_t i = j; i < size_; ++i) {
        At(i, j) /= root;
      }
    }
  }

  void Solve(std::vector<double>& x) const {
    for (size_t i = 0; i < size_; ++i) {
      for (size_t k = 0; k < i; ++k) {
        x[i] -= At(i, k) * x[k];
      }
      x[i] /= At(i, i);
    }
    for (size_t i = size_; i-- > 0;) {
      for (size_t k = i + 1; k < size_; ++k) {
        x[i] -= At(k, i) * x[k];
      }
      x[i] /= At(i, i);
    }
  }

  size_t size_;
  const std::vector<PairEstimate>& pairs_;
  std::vector<double> weights_;
  std::vector<double> factor_;
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
