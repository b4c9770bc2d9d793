// SPDX-License-Identifier: Apache-2.0
#include "qa/builders/staging.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file.h"
#include "base/status_macros.h"

namespace concur::qa {

absl::StatusOr<Staging> Staging::Create(const std::string& directory) {
  CONCUR_RETURN_IF_ERROR(MakeDirectories(directory));
  std::string path = directory + "/.build-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) {
    return ErrnoStatus(errno, directory, "make a temporary directory");
  }
  return Staging(directory, std::move(path));
}

Staging::~Staging() {
  if (!path_.empty()) {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
}

absl::Status Staging::Publish(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const std::string target = directory_ + "/" + name;
    std::error_code error;
    // Fails before the first file is moved if rename would refuse a later one.
    if (std::filesystem::is_directory(target, error)) {
      return absl::FailedPreconditionError(target + ": is a directory, expected a file or nothing");
    }
  }
  for (const std::string& name : names) {
    const std::string target = directory_ + "/" + name;
    std::error_code error;
    std::filesystem::rename(PathOf(name), target, error);
    if (error) {
      return ErrnoStatus(error.value(), target, "rename");
    }
  }
  return SyncDirectory(directory_);
}

}  // namespace concur::qa
