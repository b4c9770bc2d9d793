// SPDX-License-Identifier: Apache-2.0
#include "base/output_file.h"

#include <filesystem>
#include <string>
#include <system_error>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/file.h"
#include "base/status_macros.h"

namespace concur {

absl::StatusOr<std::string> OutputPath(const std::string& path) {
  if (path.empty()) {
    return absl::InvalidArgumentError("expected the name of a file to write, got \"\"");
  }
  std::error_code error;
  const std::filesystem::file_status there = std::filesystem::status(path, error);
  if (std::filesystem::is_directory(there)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": expected a file, got a directory"));
  }
  if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there)) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": expected a file, which is replaced as a whole, got a device or pipe"));
  }
  if (!std::filesystem::is_symlink(std::filesystem::symlink_status(path, error))) {
    return path;
  }
  const std::filesystem::path target = std::filesystem::weakly_canonical(path, error);
  if (error) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", error.message()));
  }
  // A link that leads nowhere yet.
  return std::filesystem::is_symlink(std::filesystem::symlink_status(target, error))
             ? (target.parent_path() / std::filesystem::read_symlink(target, error)).string()
             : target.string();
}

absl::Status WriteOutput(const std::string& path, absl::string_view contents) {
  CONCUR_ASSIGN_OR_RETURN(const std::string target, OutputPath(path));
  return WriteFileAtomically(target, contents);
}

}  // namespace concur
