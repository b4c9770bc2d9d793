// SPDX-License-Identifier: Apache-2.0
// Publishes several files together: they are written to a directory beside the final one and moved
// once all are complete.
//
// Thread-compatible.
#ifndef CONCUR_QA_BUILDERS_STAGING_H_
#define CONCUR_QA_BUILDERS_STAGING_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace concur::qa {

class Staging {
 public:
  // Creates `directory` and its parents if absent.
  static absl::StatusOr<Staging> Create(const std::string& directory);
  // Removes files that were not moved.
  ~Staging();
  Staging(Staging&& other) noexcept
      : directory_(std::move(other.directory_)), path_(std::exchange(other.path_, "")) {}
  Staging& operator=(Staging&&) = delete;

  // Where to write the file that will be DIRECTORY/NAME.
  std::string PathOf(const std::string& name) const { return path_ + "/" + name; }
  // Moves the files to their final place, replacing earlier ones, and syncs the directory.
  absl::Status Publish(const std::vector<std::string>& names);

 private:
  Staging(std::string directory, std::string path)
      : directory_(std::move(directory)), path_(std::move(path)) {}

  std::string directory_;
  std::string path_;
};

}  // namespace concur::qa

#endif  // CONCUR_QA_BUILDERS_STAGING_H_
