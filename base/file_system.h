// SPDX-License-Identifier: Apache-2.0
// The file operations that small durable files need, as an interface, so that the simulator can
// inject lost writes, errors and crashes (tests/sim/disks/disk.h).
//
// Each implementation states its thread contract; RealFileSystem is thread-safe.
#ifndef CONCUR_BASE_FILE_SYSTEM_H_
#define CONCUR_BASE_FILE_SYSTEM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace concur {

class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // Like the functions of the same names in base/file.h.
  virtual absl::Status MakeDirectories(const std::string& path, int mode) = 0;
  virtual absl::StatusOr<std::string> Read(const std::string& path) = 0;
  virtual absl::Status WriteAtomically(const std::string& path, absl::string_view contents,
                                       int mode) = 0;

  // The names in a directory, ascending.
  virtual absl::StatusOr<std::vector<std::string>> List(const std::string& directory) = 0;
  // Neither is durable when it returns: a power cut may restore the old names.
  virtual absl::Status Rename(const std::string& from, const std::string& to) = 0;
  virtual absl::Status Remove(const std::string& path) = 0;
};

// The machine's file system.
FileSystem& RealFileSystem();

// Bytes on disk of all files and folders below `path`; what cannot be read counts as nothing.
int64_t DiskUseOf(const std::string& path);

}  // namespace concur

#endif  // CONCUR_BASE_FILE_SYSTEM_H_
