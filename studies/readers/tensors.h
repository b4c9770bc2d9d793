// SPDX-License-Identifier: Apache-2.0
// Tensors between files and networks.
//
// Thread-safe (stateless).
#ifndef CONCUR_STUDIES_READERS_TENSORS_H_
#define CONCUR_STUDIES_READERS_TENSORS_H_

#include <torch/torch.h>

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "studies/readers/files/safetensors.h"

namespace concur::readers {

// A copy with the stored type.
torch::Tensor ToTensor(const StoredTensor& stored);

// Parameters and buffers under their names.
std::map<std::string, torch::Tensor> StateOf(const torch::nn::Module& network);

// The network's state as a safetensors file.
std::string SaveState(const torch::nn::Module& network,
                      const std::map<std::string, std::string>& metadata);

// Copies every tensor to the parameter or buffer of its name; CompareTensors' error, with nothing
// changed, when they do not belong together. REQUIRES: the network's state is floating-point.
absl::Status LoadState(torch::nn::Module& network, const SafeTensors::Tensors& tensors,
                       absl::string_view place);

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_TENSORS_H_
