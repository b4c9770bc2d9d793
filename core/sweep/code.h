// SPDX-License-Identifier: Apache-2.0
// The code of an approach: the files that its commands need, packed as one artifact
// (base/archive/directory_tar.h) and unpacked by workers.
//
// Only the files count, and not how they were packed: the key of the code, which is part of
// content keys, is made of their paths, contents and executable bits. A worker compares what it
// unpacked with the key.
//
// Values.
#ifndef CONCUR_CORE_SWEEP_CODE_H_
#define CONCUR_CORE_SWEEP_CODE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/digest.h"
#include "core/fields.h"

namespace concur {

// Limits of one approach.
inline constexpr size_t kCodeFilesMax = 1'000;
inline constexpr int64_t kCodeBytesMax = int64_t{64} << 20;  // all files together
inline constexpr size_t kCodePathBytesMax = 1'000;

struct CodeFile {
  std::string path;  // from the root of the code, with "/"
  Digest digest;
  int64_t bytes = 0;
  bool is_executable = false;

  friend bool operator==(const CodeFile&, const CodeFile&) = default;
};

struct Code {
  Digest digest;  // the artifact's
  int64_t bytes = 0;
  std::vector<CodeFile> files;  // by path
  Digest key;                   // KeyOfCode(files)
  std::string root = {};        // where the submitting machine read them; for people
};

Digest KeyOfCode(const std::vector<CodeFile>& files);
Code MakeCode(const Digest& digest, int64_t bytes, std::vector<CodeFile> files);

// InvalidArgument unless the path is one below the root: no empty part, "." or "..".
absl::Status CheckCodePath(const FieldPath& field, const std::string& path);
// InvalidArgument, naming the field within `path`, when the files are not in order, lie in each
// other, or are beyond a limit.
absl::Status CheckCode(const FieldPath& path, const Code& code);

// The files that differ, in words: "train.py (other contents)", "lib/new.py (only here)".
std::vector<std::string> CodeDifferences(const std::vector<CodeFile>& here,
                                         const std::vector<CodeFile>& there);

}  // namespace concur

#endif  // CONCUR_CORE_SWEEP_CODE_H_
