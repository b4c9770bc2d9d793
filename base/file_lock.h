// SPDX-License-Identifier: Apache-2.0
// A file that processes lock, so that one at a time changes what lies beside it.
#ifndef CONCUR_BASE_FILE_LOCK_H_
#define CONCUR_BASE_FILE_LOCK_H_

#include <string>

#include "absl/status/statusor.h"
#include "base/file.h"

namespace concur {

// Makes `path` if needed and waits for its lock, which is held until the descriptor is closed.
absl::StatusOr<FileDescriptor> LockFile(const std::string& path);

}  // namespace concur

#endif  // CONCUR_BASE_FILE_LOCK_H_
