// SPDX-License-Identifier: Apache-2.0
#include "cli/sweep/temporary_directory.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/file.h"

namespace concur::cli {

absl::StatusOr<TemporaryDirectory> TemporaryDirectory::Make(const std::string& purpose) {
  std::error_code error;
  std::string path =
      (std::filesystem::temp_directory_path(error) / absl::StrCat("concur-", purpose, "-XXXXXX"))
          .string();
  if (mkdtemp(path.data()) == nullptr) {
    return ErrnoStatus(errno, path, "make a temporary directory");
  }
  return TemporaryDirectory(path);
}

TemporaryDirectory::~TemporaryDirectory() {
  if (!path_.empty()) {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
}

}  // namespace concur::cli
