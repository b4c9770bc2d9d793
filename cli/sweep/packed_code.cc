// SPDX-License-Identifier: Apache-2.0
#include "cli/sweep/packed_code.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "spec/code_files.h"

namespace concur::cli {

TemporaryFile::~TemporaryFile() {
  if (!path_.empty()) {
    unlink(path_.c_str());
  }
}

absl::StatusOr<TemporaryFile> PackCodeOf(const spec::LoadedSweep& sweep, const Digest& digest) {
  const auto code = std::find_if(
      sweep.codes.begin(), sweep.codes.end(), [&](const spec::LoadedSweep::CodeOf& candidate) {
        return sweep.spec.approaches[candidate.approach].code->digest == digest;
      });
  CONCUR_CHECK(code != sweep.codes.end());
  std::error_code error;
  std::string path = (std::filesystem::temp_directory_path(error) / "concur-code-XXXXXX").string();
  const FileDescriptor fd(mkstemp(path.data()));
  if (!fd.valid()) {
    return ErrnoStatus(errno, path, "make a temporary file");
  }
  TemporaryFile file(path);
  CONCUR_ASSIGN_OR_RETURN(const Code packed,
                          spec::PackCode(code->use.root, code->files, [&](absl::string_view data) {
                            return WriteAll(fd.get(), data, path);
                          }));
  if (packed.digest != digest) {
    return absl::AbortedError(absl::StrCat(code->use.root, ": the code of approach ",
                                           sweep.spec.approaches[code->approach].name,
                                           " changed while it was submitted; submit it again"));
  }
  return file;
}

}  // namespace concur::cli
