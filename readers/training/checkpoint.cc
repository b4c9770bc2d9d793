// SPDX-License-Identifier: Apache-2.0
#include "readers/training/checkpoint.h"

#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/check.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "readers/files/safetensors.h"
#include "readers/tensors.h"

namespace concur::readers {

absl::Status WriteCheckpoint(const std::string& path, const Checkpoint& checkpoint) {
  std::vector<torch::Tensor> alive;
  SafeTensors::Tensors stored;
  for (const auto& [name, tensor] : checkpoint.tensors) {
    const torch::Tensor& values = alive.emplace_back(tensor.detach().cpu().contiguous());
    CONCUR_CHECK(values.dtype() == torch::kFloat32);
    stored[name] = {Type::kFloat32, values.sizes().vec(),
                    absl::string_view(static_cast<const char*>(values.data_ptr()),
                                      static_cast<size_t>(values.nbytes()))};
  }
  return WriteFileAtomically(path, WriteSafeTensors(stored, checkpoint.numbers));
}

absl::StatusOr<std::map<std::string, std::string>> ReadCheckpoint(
    const std::string& path, const std::string& fingerprint,
    const std::map<std::string, torch::Tensor>& targets) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    return absl::NotFoundError(absl::StrCat(path, ": no checkpoint"));
  }
  absl::StatusOr<SafeTensors> file = ReadSafeTensors(path);
  const auto damaged = [&](absl::string_view why) {
    return absl::DataLossError(absl::StrCat(why, "; remove ", path, " to train from the start"));
  };
  if (!file.ok()) {
    return damaged(file.status().message());
  }
  const auto found = file->metadata().find(kFingerprint);
  if (found == file->metadata().end() || found->second != fingerprint) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": of other data, settings or seed; remove it to train from the start"));
  }
  std::map<std::string, torch::Tensor> values;
  for (const auto& [name, target] : targets) {
    absl::StatusOr<StoredTensor> stored = file->Find(name);
    if (!stored.ok() || stored->shape != target.sizes().vec() || stored->type != Type::kFloat32) {
      return damaged(absl::StrCat(path, ": ", name, ": expected numbers of another shape"));
    }
    values[name] = ToTensor(*stored);
  }
  const torch::NoGradGuard no_gradients;
  for (const auto& [name, target] : targets) {
    torch::Tensor(target).copy_(values[name]);
  }
  return file->metadata();
}

}  // namespace concur::readers
