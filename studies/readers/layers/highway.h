// SPDX-License-Identifier: Apache-2.0
// Highway layers (Srivastava et al., 2015): a gate chooses between the input and what a layer makes
// of it. As in AllenNLP the gate multiplies the input, and its bias begins at 1.
//
// Thread-compatible.
#ifndef CONCUR_STUDIES_READERS_LAYERS_HIGHWAY_H_
#define CONCUR_STUDIES_READERS_LAYERS_HIGHWAY_H_

#include <torch/torch.h>

#include <cstdint>

namespace concur::readers {

class HighwayImpl : public torch::nn::Module {
 public:
  HighwayImpl(int64_t width, int64_t layers);
  torch::Tensor Forward(torch::Tensor x);  // […, width] → the same shape

 private:
  torch::nn::ModuleList layers_;
};
TORCH_MODULE(Highway);

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_LAYERS_HIGHWAY_H_
