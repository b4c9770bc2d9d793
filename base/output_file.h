// SPDX-License-Identifier: Apache-2.0
// Files that a user names for what a command writes.
//
// Thread-safe (stateless functions).
#ifndef CONCUR_BASE_OUTPUT_FILE_H_
#define CONCUR_BASE_OUTPUT_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace concur {

// The file that stands for `path` and may be replaced as a whole: where its symbolic links lead.
// InvalidArgument for a device, a pipe or anything else that is there and is no regular file.
absl::StatusOr<std::string> OutputPath(const std::string& path);

// WriteFileAtomically to OutputPath(path).
absl::Status WriteOutput(const std::string& path, absl::string_view contents);

}  // namespace concur

#endif  // CONCUR_BASE_OUTPUT_FILE_H_
