// SPDX-License-Identifier: Apache-2.0
#include "cli/sweep/packed_code.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/check.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "cli/sweep/found_programs.h"
#include "cli/sweep/required_programs.h"
#include "yaml/code_files.h"

namespace concur::cli {

TemporaryFile::~TemporaryFile() {
  if (!path_.empty()) {
    unlink(path_.c_str());
  }
}

absl::StatusOr<TemporaryFile> PackCodeOf(const spec::LoadedSweep& sweep, const Digest& digest) {
  const auto code = std::find_if(
      sweep.codes.begin(), sweep.codes.end(), [&](const spec::LoadedSweep::CodeOf& candidate) {
        const ApproachSpec& approach = sweep.spec.approaches[candidate.approach];
        return (candidate.of_predict ? approach.predict_code : approach.code)->digest == digest;
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

std::vector<std::string> ChangedCode(const v1::SweepSpec& spec) {
  std::map<std::string, std::string> submitted;  // digests by path
  std::error_code error;
  for (const v1::Approach& approach : spec.approaches()) {
    for (const v1::Code* code : {&approach.code(), &approach.predict_code()}) {
      if (!code->root().empty() && std::filesystem::is_directory(code->root(), error)) {
        for (const v1::Code::File& file : code->files()) {
          submitted[absl::StrCat(absl::StripSuffix(code->root(), "/"), "/", file.path())] =
              file.digest();
        }
      }
    }
    for (const v1::Command* command : {&approach.train(), &approach.predict()}) {
      if (!command->program_digest().empty() && command->argv_size() > 0) {
        const auto own = approach.env().find("PATH");
        const std::string found =
            FindProgram(command->argv(0), own == approach.env().end() ? SearchPath() : own->second);
        if (!found.empty()) {
          submitted[found] = command->program_digest();
        }
      }
    }
  }
  std::vector<std::string> changed;
  for (const auto& [path, digest] : submitted) {
    const absl::StatusOr<FileDigest> now = DigestFile(path);
    if (!now.ok() || now->digest.ToBytes() != digest) {
      changed.push_back(path);
    }
  }
  return changed;
}

}  // namespace concur::cli
