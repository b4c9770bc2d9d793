// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/training/checkpoint.h"

#include <atomic>
#include <csignal>
#include <cstdlib>
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
#include "studies/readers/files/safetensors.h"
#include "studies/readers/tensors.h"

namespace concur::readers {
namespace {

constexpr size_t kCheckpointNameLength = 16;  // characters of the fingerprint

std::atomic<bool> sigterm_came = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler writes it");

void NoteSigterm(int /*signal*/) { sigterm_came = true; }

}  // namespace

std::string CheckpointPath(absl::string_view directory, absl::string_view fingerprint) {
  const char* kept = std::getenv("CONCUR_CHECKPOINT");  // NOLINT(concurrency-mt-unsafe)
  return kept == nullptr || *kept == '\0'
             ? absl::StrCat(directory, "/checkpoint.safetensors")
             : absl::StrCat(kept, "/", fingerprint.substr(0, kCheckpointNameLength),
                            ".safetensors");
}

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

Termination::Termination() {
  sigterm_came = false;
  struct sigaction action = {};
  action.sa_handler = NoteSigterm;
  action.sa_flags = SA_RESTART;
  sigaction(SIGTERM, &action, &before_);
}

Termination::~Termination() { sigaction(SIGTERM, &before_, nullptr); }

bool Termination::Requested() { return sigterm_came; }

void EndBySigterm() {
  std::signal(SIGTERM, SIG_DFL);
  std::raise(SIGTERM);
  std::_Exit(128 + SIGTERM);  // the first process of a container does not end by it
}

}  // namespace concur::readers
