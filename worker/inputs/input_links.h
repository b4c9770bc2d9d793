// SPDX-License-Identifier: Apache-2.0
// Symbolic links from run directories to the files that attempts read.
//
// Each target has one symbolic link of its own in a directory of this class, and run directories
// get further names of that (hard links): a new link is a new inode, and file systems that are slow
// to use the numbers of deleted inodes again take 0.1 ms for one when thousands come and go.
//
// Thread-safe.
#ifndef CONCUR_WORKER_INPUTS_INPUT_LINKS_H_
#define CONCUR_WORKER_INPUTS_INPUT_LINKS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "base/mutex.h"

namespace concur::worker {

class InputLinks {
 public:
  // `directory` is this object's alone, on the file system of the run directories. Open first. So
  // many targets have links of their own at a time.
  explicit InputLinks(std::string directory, size_t targets_max = 1000)
      : directory_(std::move(directory)), targets_max_(targets_max) {}

  // Makes the directory, and empties it.
  absl::Status Open();

  // A symbolic link at `path` to `target`.
  absl::Status Make(const std::string& target, const std::string& path);

 private:
  // Empty when none can be made.
  std::string LinkTo(const std::string& target);

  const std::string directory_;
  const size_t targets_max_;
  Mutex mu_;
  uint64_t next_ ABSL_GUARDED_BY(mu_) = 0;
  absl::flat_hash_map<std::string, std::string> links_ ABSL_GUARDED_BY(mu_);  // target → path
};

}  // namespace concur::worker

#endif  // CONCUR_WORKER_INPUTS_INPUT_LINKS_H_
