// Symbolic links from run directories to the files that attempts read.
//
// Each target has one symbolic link of its own in a directory of this class, and run directories
// get further names of that (hard links): a new link is a new inode, and file systems that are slow
// to use the numbers of deleted inodes again take 0.1 ms for one when thousands come and go.
//
// Thread-safe.
#ifndef CONCUR_WORKER_INPUT_LINKS_H_
#define CONCUR_WORKER_INPUT_LINKS_H_

#include <cstddef>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "base/mutex.h"

namespace concur::worker {

class InputLinks {
 public:
  // `directory` is this object's alone, on the file system of the run directories. Open first.
  explicit InputLinks(std::string directory) : directory_(std::move(directory)) {}

  // Makes the directory, and empties it.
  absl::Status Open();

  // A symbolic link at `path` to `target`.
  absl::Status Make(const std::string& target, const std::string& path);

 private:
  static constexpr size_t kTargetsMax = 1000;

  // Empty when none can be made.
  std::string LinkTo(const std::string& target);

  const std::string directory_;
  Mutex mu_;
  absl::flat_hash_map<std::string, std::string> links_ ABSL_GUARDED_BY(mu_);  // target → path
};

}  // namespace concur::worker

#endif  // CONCUR_WORKER_INPUT_LINKS_H_
