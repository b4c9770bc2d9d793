// SPDX-License-Identifier: Apache-2.0
#include "readers/files/checkpoint_files.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"

namespace concur::readers {
namespace {

constexpr const char* kWeightsFiles[] = {"model.safetensors", "weights.safetensors",
                                         "pytorch_model.bin"};

absl::StatusOr<std::string> WeightsIn(const std::string& directory) {
  for (const char* name : kWeightsFiles) {
    std::error_code error;
    std::string path = absl::StrCat(directory, "/", name);
    if (std::filesystem::exists(path, error)) {
      return path;
    }
  }
  return absl::NotFoundError(absl::StrCat(
      directory, ": expected model.safetensors, weights.safetensors or pytorch_model.bin"));
}

}  // namespace

absl::StatusOr<CheckpointFiles> ReadCheckpointFiles(const std::string& directory) {
  CheckpointFiles files;
  const std::string config_path = absl::StrCat(directory, "/config.json");
  CONCUR_ASSIGN_OR_RETURN(const std::string config, ReadFile(config_path, kEncoderConfigBytesMax));
  CONCUR_ASSIGN_OR_RETURN(files.config, ParseEncoderConfig(config, config_path));
  CONCUR_ASSIGN_OR_RETURN(files.weights_path, WeightsIn(directory));
  const std::string& path = files.weights_path;
  if (absl::EndsWith(path, ".safetensors")) {
    CONCUR_ASSIGN_OR_RETURN(files.safetensors, ReadSafeTensors(path));
  } else {
    CONCUR_ASSIGN_OR_RETURN(std::string bytes, ReadFile(path, kModelBytesMax));
    CONCUR_ASSIGN_OR_RETURN(const TorchFile torch, TorchFile::Parse(std::move(bytes), path));
    absl::StatusOr<NamedTensors> named = TensorsOf(torch, torch.root());
    if (!named.ok()) {
      return absl::Status(named.status().code(),
                          absl::StrCat(path, ": ", named.status().message()));
    }
    files.torch = *std::move(named);
  }
  const SafeTensors::Tensors& stored =
      files.torch.tensors.empty() ? files.safetensors.tensors() : files.torch.tensors;
  for (const auto& [name, tensor] : stored) {
    const std::string known = EncoderTensorName(*files.config.family, name);
    if (!known.empty() && !files.tensors.emplace(known, tensor).second) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": ", known, " stands twice, also as ", name));
    }
  }
  CONCUR_RETURN_IF_ERROR(CompareTensors(files.config.Tensors(), files.tensors, path));
  return files;
}

}  // namespace concur::readers
