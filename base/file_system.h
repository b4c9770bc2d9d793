// The few things that small durable files ask of a disk, as an interface: so that code which keeps
// such files can be given a disk that loses, refuses and crashes (sim/disk.h).
//
// An implementation says how thread-safe it is; the real one is.
#ifndef CONCUR_BASE_FILE_SYSTEM_H_
#define CONCUR_BASE_FILE_SYSTEM_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace concur {

class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // As the functions of base/file.h that are called so.
  virtual absl::Status MakeDirectories(const std::string& path, int mode) = 0;
  virtual absl::StatusOr<std::string> Read(const std::string& path) = 0;
  virtual absl::Status WriteAtomically(const std::string& path, absl::string_view contents,
                                       int mode) = 0;

  // The names in a directory, ascending.
  virtual absl::StatusOr<std::vector<std::string>> List(const std::string& directory) = 0;
  // Neither is durable when it returns: after a power cut the old names may stand again.
  virtual absl::Status Rename(const std::string& from, const std::string& to) = 0;
  virtual absl::Status Remove(const std::string& path) = 0;
};

// The machine's own.
FileSystem& RealFileSystem();

}  // namespace concur

#endif  // CONCUR_BASE_FILE_SYSTEM_H_
