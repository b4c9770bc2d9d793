// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/tensors.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/status_macros.h"

namespace concur::readers {
namespace {

constexpr std::pair<Type, torch::ScalarType> kScalarTypes[] = {
    {Type::kBool, torch::kBool},       {Type::kInt8, torch::kInt8},
    {Type::kUint8, torch::kUInt8},     {Type::kInt16, torch::kInt16},
    {Type::kInt32, torch::kInt32},     {Type::kInt64, torch::kInt64},
    {Type::kFloat16, torch::kFloat16}, {Type::kBfloat16, torch::kBFloat16},
    {Type::kFloat32, torch::kFloat32}, {Type::kFloat64, torch::kFloat64},
};

}  // namespace

torch::Tensor ToTensor(const StoredTensor& stored) {
  const auto* entry = std::find_if(std::begin(kScalarTypes), std::end(kScalarTypes),
                                   [&](const auto& known) { return known.first == stored.type; });
  torch::Tensor tensor = torch::empty(stored.shape, entry->second);
  if (!stored.bytes.empty()) {
    std::memcpy(tensor.data_ptr(), stored.bytes.data(), stored.bytes.size());
  }
  return tensor;
}

std::map<std::string, torch::Tensor> StateOf(const torch::nn::Module& network) {
  std::map<std::string, torch::Tensor> state;
  for (const auto& parameter : network.named_parameters()) {
    state[parameter.key()] = parameter.value();
  }
  for (const auto& buffer : network.named_buffers()) {
    state[buffer.key()] = buffer.value();
  }
  return state;
}

std::string SaveState(const torch::nn::Module& network,
                      const std::map<std::string, std::string>& metadata) {
  SafeTensors::Tensors stored;
  std::vector<torch::Tensor> kept;  // tensors that the views point into
  for (const auto& [name, tensor] : StateOf(network)) {
    kept.push_back(tensor.detach().cpu().contiguous());
    const torch::Tensor& copy = kept.back();
    const auto* entry =
        std::find_if(std::begin(kScalarTypes), std::end(kScalarTypes),
                     [&](const auto& known) { return known.second == copy.scalar_type(); });
    CONCUR_CHECK(entry != std::end(kScalarTypes));
    stored[name] = {entry->first, copy.sizes().vec(),
                    absl::string_view(static_cast<const char*>(copy.data_ptr()), copy.nbytes())};
  }
  return WriteSafeTensors(stored, metadata);
}

absl::Status LoadState(torch::nn::Module& network, const SafeTensors::Tensors& tensors,
                       absl::string_view place) {
  std::map<std::string, torch::Tensor> state = StateOf(network);
  TensorShapes expected;
  for (const auto& [name, tensor] : state) {
    expected[name] = tensor.sizes().vec();
  }
  CONCUR_RETURN_IF_ERROR(CompareTensors(expected, tensors, place));
  torch::NoGradGuard no_gradients;
  for (const auto& [name, stored] : tensors) {
    state[name].copy_(ToTensor(stored));
  }
  return absl::OkStatus();
}

}  // namespace concur::readers
