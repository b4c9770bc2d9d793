// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/layers/contextual.h"

namespace concur::readers {

ContextualVectorsImpl::ContextualVectorsImpl(int64_t words, int64_t word_dim)
    : word_dim_(word_dim),
      words_(register_module("embedding", torch::nn::Embedding(words, word_dim))),
      below_(register_module("rnn1", Rnn(Cell::kLstm, word_dim, word_dim))),
      above_(register_module("rnn2", Rnn(Cell::kLstm, 2 * word_dim, word_dim))) {
  for (torch::Tensor& parameter : parameters()) {
    parameter.set_requires_grad(false);
  }
}

torch::Tensor ContextualVectorsImpl::Forward(const torch::Tensor& ids, const torch::Tensor& mask) {
  return above_->Forward(below_->Forward(words_(ids), mask), mask);
}

void ContextualVectorsImpl::SetWordVectors(const torch::Tensor& vectors) {
  torch::NoGradGuard no_gradients;
  words_->weight.copy_(vectors);
}

}  // namespace concur::readers
