// SPDX-License-Identifier: Apache-2.0
// Removes what jobs left on disk, and sets aside what cannot be removed: a directory of another
// user, an immutable file, a mount. One such entry must not keep a worker from starting.
//
// Thread-safe (stateless).
#ifndef CONCUR_BASE_PROCESS_REMOVE_TREE_H_
#define CONCUR_BASE_PROCESS_REMOVE_TREE_H_

#include <atomic>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace concur::process {

// Removes a file or a directory with all that is in it, however deep; OK when there is none. Does
// not follow links. Goes into directories whose permissions were taken away. What cannot be removed
// stays, and the rest goes: then the error names the first entry that stays, and why. Cancelled,
// with the rest left, once `stop` is true.
absl::Status RemoveTree(const std::string& path, const std::atomic<bool>* stop = nullptr);

// As RemoveTree. What stays is renamed to ASIDE.kept-N, so that `path` is free, and `notices` gets
// a line that says so. An error only when it cannot be renamed either.
absl::Status RemoveOrSetAside(const std::string& path, const std::string& aside,
                              std::vector<std::string>& notices);

// Removes what earlier calls of RemoveOrSetAside kept as ASIDE.kept-N, if that works by now;
// `notices` gets a line for each that stays.
void RemoveKept(const std::string& aside, std::vector<std::string>& notices);

}  // namespace concur::process

#endif  // CONCUR_BASE_PROCESS_REMOVE_TREE_H_
