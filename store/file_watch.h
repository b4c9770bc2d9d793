// SPDX-License-Identifier: Apache-2.0
// Checks that files that a process holds open are still the ones that their paths name. Whatever is
// written to a file that was deleted or replaced is lost at the process's end.
//
// Thread-compatible.
#ifndef CONCUR_STORE_FILE_WATCH_H_
#define CONCUR_STORE_FILE_WATCH_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace concur {

class FileWatch {
 public:
  // Remembers which file the path names now. An error when there is none.
  absl::Status Add(const std::string& path);
  // FailedPrecondition, naming the path, when one names no file or another one.
  absl::Status Check() const;

 private:
  struct File {
    std::string path;
    dev_t device = 0;
    ino_t inode = 0;
  };
  std::vector<File> files_;
};

}  // namespace concur

#endif  // CONCUR_STORE_FILE_WATCH_H_
