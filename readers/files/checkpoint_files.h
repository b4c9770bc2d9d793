// SPDX-License-Identifier: Apache-2.0
// A pretrained encoder as it lies in a folder: config.json, and its tensors in model.safetensors,
// weights.safetensors or pytorch_model.bin, the first of them that is there.
//
// Files are hostile input: every tensor is compared with the configuration before a network
// is made, so that memory is bounded by the files' size. Immutable once read.
#ifndef CONCUR_READERS_FILES_CHECKPOINT_FILES_H_
#define CONCUR_READERS_FILES_CHECKPOINT_FILES_H_

#include <string>

#include "absl/status/statusor.h"
#include "readers/files/encoder_config.h"
#include "readers/files/safetensors.h"
#include "readers/files/torch_file.h"

namespace concur::readers {

struct CheckpointFiles {
  EncoderConfig config;
  std::string weights_path;
  // Exactly those of config.Tensors(), of whatever floating-point type; views of what follows.
  SafeTensors::Tensors tensors;

  SafeTensors safetensors;
  NamedTensors torch;
};

// NotFound when there are no weights; InvalidArgument names file and field, or lists the tensors
// that are missing, unknown, of another shape or of no floating-point type.
absl::StatusOr<CheckpointFiles> ReadCheckpointFiles(const std::string& directory);

}  // namespace concur::readers

#endif  // CONCUR_READERS_FILES_CHECKPOINT_FILES_H_
