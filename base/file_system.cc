// SPDX-License-Identifier: Apache-2.0
#include "base/file_system.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "base/file.h"

namespace concur {
namespace {

class MachineFileSystem : public FileSystem {
 public:
  absl::Status MakeDirectories(const std::string& path, int mode) override {
    return ::concur::MakeDirectories(path, mode);
  }
  absl::StatusOr<std::string> Read(const std::string& path) override { return ReadFile(path); }
  absl::Status WriteAtomically(const std::string& path, absl::string_view contents,
                               int mode) override {
    return WriteFileAtomically(path, contents, mode);
  }
  absl::StatusOr<std::vector<std::string>> List(const std::string& directory) override {
    std::vector<std::string> names;
    std::error_code error;
    for (std::filesystem::directory_iterator it(directory, error), end; !error && it != end;
         it.increment(error)) {
      names.push_back(it->path().filename().string());
    }
    if (error) {
      return ErrnoStatus(error.value(), directory, "list");
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  absl::Status Rename(const std::string& from, const std::string& to) override {
    return std::rename(from.c_str(), to.c_str()) == 0 ? absl::OkStatus()
                                                      : ErrnoStatus(errno, from, "rename");
  }
  absl::Status Remove(const std::string& path) override {
    return unlink(path.c_str()) == 0 ? absl::OkStatus() : ErrnoStatus(errno, path, "remove");
  }
};

}  // namespace

FileSystem& RealFileSystem() {
  static auto& files = *new MachineFileSystem;
  return files;
}

int64_t DiskUseOf(const std::string& path) {
  int64_t bytes = 0;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator
           it(path, std::filesystem::directory_options::skip_permission_denied, error),
       end;
       !error && it != end; it.increment(error)) {
    struct stat info {};
    if (lstat(it->path().c_str(), &info) == 0) {
      bytes += int64_t{info.st_blocks} * 512;
    }
  }
  return bytes;
}

}  // namespace concur
