// SPDX-License-Identifier: Apache-2.0
// Reading and atomic writing of whole small files.
//
// Thread-safe (stateless). Errors name the path and the system's reason.
#ifndef CONCUR_BASE_FILE_H_
#define CONCUR_BASE_FILE_H_

#include <sys/stat.h>

#include <cstdint>
#include <initializer_list>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/digest.h"

namespace concur {

// The status of a failed system call: "PATH: ACTION: reason". ENOENT is NotFound, EACCES and
// EPERM PermissionDenied, ENOSPC, EDQUOT and EFBIG ResourceExhausted, EEXIST AlreadyExists; all
// others are Unknown.
absl::Status ErrnoStatus(int error, absl::string_view path, absl::string_view action);

// Owns a file descriptor and closes it.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() { Reset(); }
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.Release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    if (this != &other) {
      Reset();
      fd_ = other.Release();
    }
    return *this;
  }
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int Release() {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }
  void Reset();

 private:
  int fd_ = -1;
};

// Opens for reading; does not block on a FIFO. InvalidArgument when `path` is a
// directory or another special file.
absl::StatusOr<FileDescriptor> OpenRegularFile(const std::string& path);

// Calls fstat on an open file. InvalidArgument when it is a directory or another special file.
absl::Status StatRegularFile(const FileDescriptor& file, const std::string& path,
                             struct stat& info);

// The contents of a regular file. ResourceExhausted if it has more than `bytes_max` bytes;
// InvalidArgument if it is a directory or another special file.
absl::StatusOr<std::string> ReadFile(const std::string& path, int64_t bytes_max = int64_t{1} << 32);

// Replaces `path` by `contents` at once: writes a temporary file beside it, syncs, renames, syncs
// the directory. On failure `path` is as it was.
absl::Status WriteFileAtomically(const std::string& path, absl::string_view contents,
                                 int mode = 0644);

// Writes all of `data` to `fd`; retries short writes and EINTR.
absl::Status WriteAll(int fd, absl::string_view data, absl::string_view path);

// Creates a directory and its parents; OK if it exists. The names of new ones are synced.
absl::Status MakeDirectories(const std::string& path, int mode = 0755);

// Makes `path`, with its parents, a directory that only this user may enter (0700). One that exists
// loses the rights of others if it is empty or holds one of `marks`, which show whose it is.
// FailedPrecondition, with the remedy, when it belongs to another user, or others may enter it and
// nothing shows that it is a directory of this program.
absl::Status MakePrivateDirectory(const std::string& path,
                                  std::initializer_list<absl::string_view> marks);

// Takes the rights of others from a file of this user; makes it, empty, where there is none.
// FailedPrecondition when it belongs to another user; InvalidArgument when it is no plain file.
absl::Status MakePrivateFile(const std::string& path);

// fsync of a directory, so that a rename in it survives power loss.
absl::Status SyncDirectory(const std::string& path);

// Digest and size of a file, which is read in blocks.
struct FileDigest {
  Digest digest;
  int64_t bytes = 0;
};
absl::StatusOr<FileDigest> DigestFile(const std::string& path);

}  // namespace concur

#endif  // CONCUR_BASE_FILE_H_
