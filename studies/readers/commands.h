// SPDX-License-Identifier: Apache-2.0
// Implements the commands of concur-reader.
//
// Thread-compatible.
#ifndef CONCUR_STUDIES_READERS_COMMANDS_H_
#define CONCUR_STUDIES_READERS_COMMANDS_H_

#include <istream>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "studies/readers/text/piece.h"

namespace concur::readers {

// One line for each approach, then one for each option.
std::string ListApproaches();

// The tensors of a safetensors file, or of weights.safetensors in a folder, with their types and
// shapes; for a folder with an original's config.json also the approach that it belongs to.
absl::StatusOr<std::string> InspectWeights(const std::string& path);

struct TokenizeOptions {
  std::string checkpoint;  // folder with tokenizer files
  Implementation implementation = Implementation::kPython;
  std::vector<std::string> assignments;  // name=value, names as in tokenizer_config.json
  bool json = false;                     // each line is a JSON string, and not the text itself
  bool word = false;                     // each text is a word that stood after a space
};
// Writes a line {"ids", "pieces", "offsets"} for each line of text; offsets are in code points.
// InvalidArgument names a line that is too long, not UTF-8 or no JSON string.
absl::Status TokenizeLines(const TokenizeOptions& options, std::istream& in, std::ostream& out);

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_COMMANDS_H_
