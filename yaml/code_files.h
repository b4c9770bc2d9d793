// SPDX-License-Identifier: Apache-2.0
// `code:` of an approach (docs/sweep-file.md): which files it names, and how they become one
// artifact.
//
// Thread-safe (stateless functions, values).
#ifndef CONCUR_YAML_CODE_FILES_H_
#define CONCUR_YAML_CODE_FILES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/archive/directory_tar.h"
#include "core/sweep/code.h"
#include "yaml/errors.h"
#include "yaml/value.h"

namespace concur::spec {

// Files, folders and patterns below the folder of the YAML file that names them.
struct CodeUse {
  struct Entry {
    std::string path;
    std::string written;  // as the file has it
    std::string place;    // "FILE:LINE:COL: FIELD: "
  };
  std::string root;  // the folder of the YAML file
  std::vector<Entry> entries;
};

CodeUse ReadCode(const Value& value);

// True of a script, which begins with "#!".
bool IsScript(const std::string& path);

// The files, relative to the root, in order. Of a folder all that is in it, but for hidden files
// and what Python compiles. Adds an error for an entry that leads out of the root, names nothing or
// something that is neither file nor folder, and for too many files.
std::vector<std::string> FindCodeFiles(const CodeUse& use, ErrorList& errors);

// Reads the files below `root` and gives their tar to `sink`, which may be null. The same files
// give the same bytes. InvalidArgument when one cannot be read, or together they are too large; the
// sink's first error.
absl::StatusOr<Code> PackCode(const std::string& root, const std::vector<std::string>& files,
                              const DirectoryTarWriter::Sink& sink);

}  // namespace concur::spec

#endif  // CONCUR_YAML_CODE_FILES_H_
