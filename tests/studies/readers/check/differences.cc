// SPDX-License-Identifier: Apache-2.0
#include "tests/studies/readers/check/differences.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "studies/readers/tensors.h"

namespace concur::readers {
namespace {

constexpr double kPaddingScores = 1e6;  // originals write -1e7, the lowest float, or infinity

}  // namespace

double LargestDifference(const torch::Tensor& computed, const torch::Tensor& expected) {
  if (computed.sizes() != expected.sizes()) {
    return kInfinite;
  }
  const torch::Tensor a = computed.detach().to(torch::kCPU, torch::kFloat64);
  const torch::Tensor b = expected.to(torch::kFloat64);
  if (a.numel() == 0) {
    return 0;
  }
  const torch::Tensor equal = a.eq(b);
  const torch::Tensor differences = (a - b).abs().masked_fill(equal, 0);
  const torch::Tensor padding = b.abs().gt(kPaddingScores);
  const double scale = std::max(1.0, b.abs().masked_fill(padding, 0).max().item<double>());
  const double largest = differences.max().item<double>() / scale;
  return std::isnan(largest) ? kInfinite : largest;
}

void CompareGradients(const torch::nn::Module& network, const SafeTensors& gradients,
                      CheckResult& result) {
  const std::map<std::string, torch::Tensor> state = StateOf(network);
  std::map<std::string, torch::Tensor> expected;
  double largest = 0;
  for (const auto& [name, stored] : gradients.tensors()) {
    expected[name] = ToTensor(stored).to(torch::kFloat64);
    if (stored.values() > 0) {
      largest = std::max(largest, expected[name].abs().max().item<double>());
    }
  }
  for (const auto& [name, gradient] : expected) {
    const auto found = state.find(name);
    if (found == state.end() || gradient.numel() == 0) {
      continue;  // LoadState has compared the names
    }
    torch::Tensor computed = found->second.grad();
    computed = computed.defined() ? computed.to(torch::kCPU, torch::kFloat64)
                                  : torch::zeros_like(gradient);
    const double scale = std::max(gradient.abs().max().item<double>(), largest / 100);
    double difference = (computed - gradient).abs().max().item<double>();
    difference = difference == 0 ? 0 : difference / scale;
    if (!(difference <= result.gradients)) {
      result.gradients = std::isnan(difference) ? kInfinite : difference;
      result.gradients_at = name;
    }
  }
}

}  // namespace concur::readers
