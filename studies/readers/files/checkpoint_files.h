// SPDX-License-Identifier: Apache-2.0
// A pretrained encoder as it lies in a folder: config.json, and its tensors in model.safetensors,
// weights.safetensors or pytorch_model.bin, the first of them that is there, or in the shards that
// an index of the first or the last lists.
//
// Files are hostile input: every tensor is compared with the configuration before a network
// is made, so that memory is bounded by the files' size. Immutable once read.
#ifndef CONCUR_STUDIES_READERS_FILES_CHECKPOINT_FILES_H_
#define CONCUR_STUDIES_READERS_FILES_CHECKPOINT_FILES_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "studies/readers/files/encoder_config.h"
#include "studies/readers/files/safetensors.h"
#include "studies/readers/files/torch_file.h"

namespace concur::readers {

inline constexpr int64_t kShardIndexBytesMax = 16 << 20;

// The file of each tensor, by name, as model.safetensors.index.json says it: {"weight_map": {…}}.
// InvalidArgument, with `place`, for what is not of that form, for names of files that lead out of
// the folder, and for more than a thousand of them.
absl::StatusOr<std::map<std::string, std::string>> ParseShardIndex(absl::string_view json,
                                                                   absl::string_view place);

struct CheckpointFiles {
  EncoderConfig config;
  std::string weights_path;  // or the index's
  // Exactly those of config.Tensors(), of whatever floating-point type; views of what follows. A
  // checkpoint of pretraining alone lacks the head.
  SafeTensors::Tensors tensors;
  bool has_head = true;

  std::vector<SafeTensors> safetensors;
  std::vector<NamedTensors> torch;
};

// Selects whether a checkpoint must have the head for answers.
enum class Head { kNeeded, kOptional };

// NotFound when there are no weights; InvalidArgument names file and field, or lists the tensors
// that are missing, unknown, of another shape or of no floating-point type.
absl::StatusOr<CheckpointFiles> ReadCheckpointFiles(const std::string& directory,
                                                    Head head = Head::kNeeded);

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_FILES_CHECKPOINT_FILES_H_
