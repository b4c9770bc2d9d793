// SPDX-License-Identifier: Apache-2.0
// The part of the disk that a job takes.
//
// Thread-safe (stateless).
#ifndef CONCUR_BASE_PROCESS_JOB_DISK_H_
#define CONCUR_BASE_PROCESS_JOB_DISK_H_

#include <dirent.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"

namespace concur::process {

inline constexpr int kJobFolderDepthMax = 128;

// The folder `name` of the open directory `parent`, to list it; made readable where its mode keeps
// the owner out. No link is followed, neither to open nor to change a mode. Null on failure, with
// the reason in `error`.
using OpenFolder = std::unique_ptr<DIR, int (*)(DIR*)>;
OpenFolder OpenFolderAt(int parent, const char* name, int& error);

// Bytes on disk of all that is in an open directory (O_PATH will do), also when it was moved. A
// folder that its owner may not read is made readable. PermissionDenied when folders nest
// deeper than kJobFolderDepthMax, or one cannot be read all the same: the job's doing. Other errors
// are the machine's.
absl::StatusOr<int64_t> DiskUseOfOpen(int directory);

// Bytes on disk of the files that these processes have open, or share in memory, and that have no
// name any more, on the file system of `directory`.
int64_t UnnamedBytesOf(const std::vector<pid_t>& pids, int directory);

}  // namespace concur::process

#endif  // CONCUR_BASE_PROCESS_JOB_DISK_H_
