// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/layers/trilinear.h"

#include <cmath>
#include <vector>

namespace concur::readers {

torch::Tensor TrilinearSimilarity(const torch::Tensor& x, const torch::Tensor& y,
                                  const torch::Tensor& x_weight, const torch::Tensor& y_weight,
                                  const torch::Tensor& product_weight, const torch::Tensor& bias) {
  return x.matmul(x_weight).unsqueeze(2) + y.matmul(y_weight).unsqueeze(1) +
         (x * product_weight).bmm(y.transpose(1, 2)) + bias;
}

TrilinearImpl::TrilinearImpl(int64_t width) {
  const double bound = std::sqrt(6.0 / static_cast<double>(3 * width + 1));
  weights_ =
      register_parameter("_weight_vector", torch::empty({3 * width}).uniform_(-bound, bound));
  bias_ = register_parameter("_bias", torch::zeros({1}));
}

torch::Tensor TrilinearImpl::Forward(const torch::Tensor& x, const torch::Tensor& y) {
  const std::vector<torch::Tensor> parts = weights_.chunk(3);
  return TrilinearSimilarity(x, y, parts[0], parts[1], parts[2], bias_);
}

torch::Tensor MergeAttention(const torch::Tensor& passage, const torch::Tensor& to_question,
                             const torch::Tensor& to_passage) {
  return torch::cat({passage, to_question, passage * to_question, passage * to_passage}, 2);
}

}  // namespace concur::readers
