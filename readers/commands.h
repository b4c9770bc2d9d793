// SPDX-License-Identifier: Apache-2.0
// What the commands of concur-reader do.
//
// Thread-compatible.
#ifndef CONCUR_READERS_COMMANDS_H_
#define CONCUR_READERS_COMMANDS_H_

#include <string>

#include "absl/status/statusor.h"

namespace concur::readers {

// One line for each approach, then one for each option.
std::string ListApproaches();

// The tensors of a safetensors file, or of weights.safetensors in a folder, with their types and
// shapes; for a folder with an original's config.json also the approach that it belongs to.
absl::StatusOr<std::string> InspectWeights(const std::string& path);

}  // namespace concur::readers

#endif  // CONCUR_READERS_COMMANDS_H_
