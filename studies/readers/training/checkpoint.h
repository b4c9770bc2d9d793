// SPDX-License-Identifier: Apache-2.0
// A state of training as one safetensors file, whose metadata hold the numbers; where it lies; and
// the signal upon which it is written.
//
// Thread-safe, except for Termination, of which a process has one at a time.
#ifndef CONCUR_STUDIES_READERS_TRAINING_CHECKPOINT_H_
#define CONCUR_STUDIES_READERS_TRAINING_CHECKPOINT_H_

#include <torch/torch.h>

#include <csignal>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace concur::readers {

struct Checkpoint {
  std::map<std::string, torch::Tensor> tensors;
  std::map<std::string, std::string> numbers;
};

// The file for a training that writes to `directory`. Inside a job of Concur it lies in the folder
// that the job's next attempt finds again ($CONCUR_CHECKPOINT), under a name of its own: a command
// may run several trainings.
std::string CheckpointPath(absl::string_view directory, absl::string_view fingerprint);

// Replaces the file atomically.
absl::Status WriteCheckpoint(const std::string& path, const Checkpoint& checkpoint);

// Reads the numbers, and copies each tensor of the file to the one of its name in `targets`.
// NotFound when there is no file; FailedPrecondition when its fingerprint is another; DataLoss when
// it is damaged or holds other tensors than `targets`: none is changed then.
absl::StatusOr<std::map<std::string, std::string>> ReadCheckpoint(
    const std::string& path, const std::string& fingerprint,
    const std::map<std::string, torch::Tensor>& targets);

inline constexpr char kFingerprint[] = "fingerprint";  // among the numbers

// While it lives SIGTERM ends nothing, but is noted: a training saves, and ends by itself.
class Termination {
 public:
  Termination();
  ~Termination();
  Termination(const Termination&) = delete;
  Termination& operator=(const Termination&) = delete;

  // True if the signal came since the last one was made.
  static bool Requested();

 private:
  struct sigaction before_ = {};
};

// Ends the process by SIGTERM: what sent it sees that it was obeyed.
[[noreturn]] void EndBySigterm();

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_TRAINING_CHECKPOINT_H_
