// SPDX-License-Identifier: Apache-2.0
// Contextual word vectors (CoVe; McCann et al., 2017): the states of a translation encoder of two
// bidirectional LSTM layers over word vectors of its own. Never trained.
//
// Thread-compatible.
#ifndef CONCUR_STUDIES_READERS_LAYERS_CONTEXTUAL_H_
#define CONCUR_STUDIES_READERS_LAYERS_CONTEXTUAL_H_

#include <torch/torch.h>

#include <cstdint>

#include "studies/readers/layers/rnn.h"

namespace concur::readers {

class ContextualVectorsImpl : public torch::nn::Module {
 public:
  // LSTMs word_dim → word_dim and 2 word_dim → word_dim for each direction.
  ContextualVectorsImpl(int64_t words, int64_t word_dim);
  // ids [B, T], mask [B, T] → the second layer's states [B, T, 2 word_dim], 0 at padding.
  torch::Tensor Forward(const torch::Tensor& ids, const torch::Tensor& mask);
  // Takes a copy of the word vectors: those that are trained do not change what is read here.
  void SetWordVectors(const torch::Tensor& vectors);
  int64_t output() const { return 2 * word_dim_; }

 private:
  int64_t word_dim_;
  torch::nn::Embedding words_ = nullptr;
  Rnn below_ = nullptr, above_ = nullptr;
};
TORCH_MODULE(ContextualVectors);

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_LAYERS_CONTEXTUAL_H_
