// SPDX-License-Identifier: Apache-2.0
// Reads, writes and syncs the files of an artifact store, block by block.
//
// Functions are thread-safe (stateless); a FileSource and a BytesSource are thread-compatible.
// Errors name the path and the system's reason; bytes that the disk cannot give back are DataLoss.
#ifndef CONCUR_STORE_ARTIFACTS_FILE_BLOCKS_H_
#define CONCUR_STORE_ARTIFACTS_FILE_BLOCKS_H_

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/file.h"
#include "store/artifacts/artifact_store.h"

namespace concur {

// Opens or makes a file that nothing is written to, and locks it until the descriptor is closed, as
// flock does. Unavailable: LOCK_NB, and another holds it.
absl::StatusOr<FileDescriptor> LockFile(const std::string& path, int operation);

// Takes the lock of the store in `root`, as flock does: shared to add artifacts or touch them,
// exclusively to remove some. Whoever found an artifact under it may touch it before it is removed.
// Held until the descriptor is closed.
absl::StatusOr<FileDescriptor> LockStore(const std::string& root, int operation);

// Opens an artifact or another file for reading; InvalidArgument for links, FIFOs, devices and
// directories.
absl::StatusOr<FileDescriptor> OpenRegular(const std::string& path, struct stat& info);

// Reads to the end from the current offset; ends with the first error of `use`.
absl::Status ForEachBlock(int fd, const std::string& path,
                          const std::function<absl::Status(absl::string_view)>& use);

// Copies the bytes of `from` to the empty file `to` inside the kernel: shared blocks where the file
// system can, a copy elsewhere. False when neither works between these two files.
absl::StatusOr<bool> CopyInKernel(int from, int to, const std::string& to_path);

// Calls `use(name)` for every entry of a directory but "." and ".."; OK when there is none.
absl::Status ForEachEntry(const std::string& directory,
                          const std::function<absl::Status(const std::string&)>& use);

// Reads an open file, which stays what it is when its name goes.
class FileSource final : public ArtifactStore::Source {
 public:
  FileSource(FileDescriptor fd, std::string path);
  absl::Status Next(int64_t bytes_max, std::string* data) override;

 private:
  const FileDescriptor fd_;
  const std::string path_;
};

// Gives bytes that are in memory.
class BytesSource final : public ArtifactStore::Source {
 public:
  explicit BytesSource(std::string bytes);
  absl::Status Next(int64_t bytes_max, std::string* data) override;

 private:
  const std::string bytes_;
  size_t next_ = 0;
};

}  // namespace concur

#endif  // CONCUR_STORE_ARTIFACTS_FILE_BLOCKS_H_
