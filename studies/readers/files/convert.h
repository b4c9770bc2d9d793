// SPDX-License-Identifier: Apache-2.0
// Models of original programs as folders that need no Python: weights.safetensors under the
// original's names, config.json with its options, and its vocabularies as lines of text.
//
// Thread-safe (stateless).
#ifndef CONCUR_STUDIES_READERS_FILES_CONVERT_H_
#define CONCUR_STUDIES_READERS_FILES_CONVERT_H_

#include <string>

#include "absl/status/status.h"

namespace concur::readers {

// Reads an .mdl of DrQA or MnemonicReader, an archive of AllenNLP (model.tar.gz), or a state
// (.pt, .pth, .th, such as CoVe's), and writes the folder `directory`. Nothing in it is executed.
// InvalidArgument names the file and what was refused; nothing is written then.
absl::Status ConvertModel(const std::string& path, const std::string& directory);

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_FILES_CONVERT_H_
