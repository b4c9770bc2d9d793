// SPDX-License-Identifier: Apache-2.0
// The code of an approach as a temporary file, for its upload.
//
// Thread-compatible.
#ifndef CONCUR_CLI_SWEEP_PACKED_CODE_H_
#define CONCUR_CLI_SWEEP_PACKED_CODE_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/digest.h"
#include "concur/v1/resources.pb.h"
#include "yaml/loaded_sweep.h"

namespace concur::cli {

// A file that goes with this object.
class TemporaryFile {
 public:
  TemporaryFile() = default;
  explicit TemporaryFile(std::string path) : path_(std::move(path)) {}
  ~TemporaryFile();
  TemporaryFile(TemporaryFile&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  TemporaryFile& operator=(TemporaryFile&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Packs the code whose artifact has this digest. Aborted when its files have changed since
// spec::ResolveCode. REQUIRES: an approach of the sweep has this code.
absl::StatusOr<TemporaryFile> PackCodeOf(const spec::LoadedSweep& sweep, const Digest& digest);

// Files of the sweep's code, and scripts that its commands begin with, that are other ones on this
// machine than when it was submitted, by path. None where it was submitted on another machine.
std::vector<std::string> ChangedCode(const v1::SweepSpec& spec);

}  // namespace concur::cli

#endif  // CONCUR_CLI_SWEEP_PACKED_CODE_H_
