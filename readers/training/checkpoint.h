// SPDX-License-Identifier: Apache-2.0
// A state of training as one safetensors file, whose metadata hold the numbers.
//
// Thread-safe (stateless).
#ifndef CONCUR_READERS_TRAINING_CHECKPOINT_H_
#define CONCUR_READERS_TRAINING_CHECKPOINT_H_

#include <torch/torch.h>

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace concur::readers {

struct Checkpoint {
  std::map<std::string, torch::Tensor> tensors;
  std::map<std::string, std::string> numbers;
};

// Replaces the file atomically.
absl::Status WriteCheckpoint(const std::string& path, const Checkpoint& checkpoint);

// Reads the numbers, and copies each tensor of the file to the one of its name in `targets`.
// NotFound when there is no file; FailedPrecondition when its fingerprint is another; DataLoss when
// it is damaged or holds other tensors than `targets`: none is changed then.
absl::StatusOr<std::map<std::string, std::string>> ReadCheckpoint(
    const std::string& path, const std::string& fingerprint,
    const std::map<std::string, torch::Tensor>& targets);

inline constexpr char kFingerprint[] = "fingerprint";  // among the numbers

}  // namespace concur::readers

#endif  // CONCUR_READERS_TRAINING_CHECKPOINT_H_
