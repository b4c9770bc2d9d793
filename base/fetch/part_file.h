// SPDX-License-Identifier: Apache-2.0
// The partial file of a download, "PATH.part", and beside it "PATH.part.version", which says of
// which version of the remote file its bytes are: bytes of two versions must not become one file.
//
// Thread-compatible; a lock keeps other processes from the file.
#ifndef CONCUR_BASE_FETCH_PART_FILE_H_
#define CONCUR_BASE_FETCH_PART_FILE_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/fetch/transport.h"
#include "base/file.h"

namespace concur::fetch {

class PartFile {
 public:
  // Opens or makes the file and locks it. FailedPrecondition when another process has it. Aborted
  // when another process finished or removed the file before it was locked: what was opened may be
  // the finished file by now.
  static absl::StatusOr<PartFile> Open(const std::string& path,
                                       const std::function<void()>& opened_for_test);

  const std::string& path() const { return path_; }
  int64_t bytes() const { return bytes_; }
  const Version& version() const { return version_; }  // unknown without bytes
  int restarts() const { return restarts_; }           // number of times that bytes were dropped

  absl::Status Append(absl::string_view bytes);
  // Drops all bytes.
  absl::Status Clear();
  // Drops all bytes; those that follow are of this version.
  absl::Status Begin(const Version& version);
  // Gives the complete file its name.
  absl::Status MoveTo(const std::string& path);
  void Remove();

 private:
  PartFile() = default;
  std::string VersionPath() const { return path_ + ".version"; }

  std::string path_;
  FileDescriptor fd_;
  int64_t bytes_ = 0;
  Version version_;
  int restarts_ = 0;
};

}  // namespace concur::fetch

#endif  // CONCUR_BASE_FETCH_PART_FILE_H_
