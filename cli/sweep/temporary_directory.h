// SPDX-License-Identifier: Apache-2.0
// A directory that goes, with all that is in it, with this object.
//
// Thread-compatible.
#ifndef CONCUR_CLI_SWEEP_TEMPORARY_DIRECTORY_H_
#define CONCUR_CLI_SWEEP_TEMPORARY_DIRECTORY_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace concur::cli {

class TemporaryDirectory {
 public:
  // Makes /tmp/concur-PURPOSE-XXXXXX, or the same where TMPDIR says.
  static absl::StatusOr<TemporaryDirectory> Make(const std::string& purpose);

  TemporaryDirectory() = default;  // none
  ~TemporaryDirectory();
  TemporaryDirectory(TemporaryDirectory&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  TemporaryDirectory& operator=(TemporaryDirectory&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }

  const std::string& path() const { return path_; }

 private:
  explicit TemporaryDirectory(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

}  // namespace concur::cli

#endif  // CONCUR_CLI_SWEEP_TEMPORARY_DIRECTORY_H_
