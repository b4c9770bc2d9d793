// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/files/checkpoint_files.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "qa/json_text.h"

namespace concur::readers {
namespace {

constexpr size_t kShardsMax = 1000;
constexpr char kIndexSuffix[] = ".index.json";
constexpr char kHeadPrefix[] = "qa_outputs.";
constexpr const char* kWeightsFiles[] = {"model.safetensors", "model.safetensors.index.json",
                                         "weights.safetensors", "pytorch_model.bin",
                                         "pytorch_model.bin.index.json"};

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

// Adds the tensors of one file to `all`, under the names that they have in it.
absl::Status AddWeights(const std::string& path, CheckpointFiles& files,
                        SafeTensors::Tensors& all) {
  const SafeTensors::Tensors* stored = nullptr;
  if (absl::EndsWith(path, ".safetensors")) {
    CONCUR_ASSIGN_OR_RETURN(SafeTensors read, ReadSafeTensors(path));
    stored = &files.safetensors.emplace_back(std::move(read)).tensors();
  } else {
    CONCUR_ASSIGN_OR_RETURN(std::string bytes, ReadFile(path, kModelBytesMax));
    CONCUR_ASSIGN_OR_RETURN(const TorchFile torch, TorchFile::Parse(std::move(bytes), path));
    absl::StatusOr<NamedTensors> named = TensorsOf(torch, torch.root());
    if (!named.ok()) {
      return absl::Status(named.status().code(),
                          absl::StrCat(path, ": ", named.status().message()));
    }
    stored = &files.torch.emplace_back(*std::move(named)).tensors;
  }
  for (const auto& [name, tensor] : *stored) {
    if (!all.emplace(name, tensor).second) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": ", name, " also stands in another shard"));
    }
  }
  return absl::OkStatus();
}

// The tensors of the shards that the index lists; each must be in the one that is said.
absl::Status AddShards(const std::string& index_path, CheckpointFiles& files,
                       SafeTensors::Tensors& all) {
  CONCUR_ASSIGN_OR_RETURN(const std::string json, ReadFile(index_path, kShardIndexBytesMax));
  CONCUR_ASSIGN_OR_RETURN(const auto file_of, ParseShardIndex(json, index_path));
  std::set<std::string> shards;
  for (const auto& [name, file] : file_of) {
    shards.insert(file);
  }
  const std::string directory = std::filesystem::path(index_path).parent_path().string();
  files.safetensors.reserve(shards.size());  // views into their maps stay
  files.torch.reserve(shards.size());
  std::map<std::string, std::string> found;
  for (const std::string& shard : shards) {
    SafeTensors::Tensors tensors;
    CONCUR_RETURN_IF_ERROR(AddWeights(absl::StrCat(directory, "/", shard), files, tensors));
    for (const auto& [name, tensor] : tensors) {
      const auto listed = file_of.find(name);
      if (listed == file_of.end() || listed->second != shard || !all.emplace(name, tensor).second) {
        return absl::InvalidArgumentError(absl::StrCat(directory, "/", shard, ": ", qa::Shown(name),
                                                       " is not listed for it in ", index_path));
      }
    }
  }
  for (const auto& [name, file] : file_of) {
    if (!all.contains(name)) {
      return absl::InvalidArgumentError(
          absl::StrCat(index_path, ": ", qa::Shown(name), " is not in ", file));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::map<std::string, std::string>> ParseShardIndex(absl::string_view json,
                                                                   absl::string_view place) {
  const auto invalid = [place](absl::string_view message) {
    return absl::InvalidArgumentError(absl::StrCat(place, ": ", message));
  };
  if (json.size() > static_cast<size_t>(kShardIndexBytesMax)) {
    return invalid(absl::StrCat("more than ", kShardIndexBytesMax, " bytes"));
  }
  const nlohmann::json index = nlohmann::json::parse(json.begin(), json.end(), nullptr, false);
  if (!index.is_object() || !index.contains("weight_map") || !index["weight_map"].is_object() ||
      index["weight_map"].empty()) {
    return invalid("weight_map: expected an object of tensors and their files");
  }
  std::map<std::string, std::string> file_of;
  std::set<std::string> shards;
  for (const auto& [name, file] : index["weight_map"].items()) {
    const std::string text = file.is_string() ? file.get<std::string>() : "";
    const bool plain = text.find_first_of(std::string("/\\\0", 3)) == std::string::npos;
    if (!plain || !(absl::EndsWith(text, ".safetensors") || absl::EndsWith(text, ".bin"))) {
      return invalid(absl::StrCat("weight_map: ", qa::Shown(name),
                                  ": expected a .safetensors or .bin file of this folder"));
    }
    shards.insert(text);
    if (shards.size() > kShardsMax) {
      return invalid(absl::StrCat("weight_map: more than ", kShardsMax, " files"));
    }
    file_of.emplace(name, text);
  }
  return file_of;
}

absl::StatusOr<CheckpointFiles> ReadCheckpointFiles(const std::string& directory, Head head) {
  CheckpointFiles files;
  const std::string config_path = absl::StrCat(directory, "/config.json");
  CONCUR_ASSIGN_OR_RETURN(const std::string config, ReadFile(config_path, kEncoderConfigBytesMax));
  CONCUR_ASSIGN_OR_RETURN(files.config, ParseEncoderConfig(config, config_path));
  CONCUR_ASSIGN_OR_RETURN(files.weights_path, WeightsIn(directory));
  const std::string& path = files.weights_path;
  SafeTensors::Tensors stored;
  CONCUR_RETURN_IF_ERROR(absl::EndsWith(path, kIndexSuffix) ? AddShards(path, files, stored)
                                                            : AddWeights(path, files, stored));
  for (const auto& [name, tensor] : stored) {
    const std::string known = EncoderTensorName(*files.config.family, name);
    if (!known.empty() && !files.tensors.emplace(known, tensor).second) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": ", known, " stands twice, also as ", name));
    }
  }
  TensorShapes expected = files.config.Tensors();
  if (head == Head::kOptional) {
    const auto after = files.tensors.lower_bound(kHeadPrefix);
    files.has_head = after != files.tensors.end() && absl::StartsWith(after->first, kHeadPrefix);
    if (!files.has_head) {
      for (auto at = expected.lower_bound(kHeadPrefix);
           at != expected.end() && absl::StartsWith(at->first, kHeadPrefix);) {
        at = expected.erase(at);
      }
    }
  }
  CONCUR_RETURN_IF_ERROR(CompareTensors(expected, files.tensors, path));
  return files;
}

}  // namespace concur::readers
