// SPDX-License-Identifier: Apache-2.0
// The environments that this user's workers on this machine have built: DIRECTORY/KEY, with
// KEY.lock and KEY.log beside it.
//
// An environment counts once KEY/done exists, which is written last: what a killed worker left is
// built anew. Who uses one holds a shared lock on KEY.lock, who builds or removes one an exclusive
// lock; the kernel drops the locks of a process that dies. What was used longest ago goes when all
// together exceed the limit, but never one that is in use.
//
// Thread-safe; several processes use one directory.
#ifndef CONCUR_WORKER_ENVIRONMENTS_ENVIRONMENT_CACHE_H_
#define CONCUR_WORKER_ENVIRONMENTS_ENVIRONMENT_CACHE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/digest.h"
#include "base/file.h"

namespace concur::worker {

// An environment that stays for as long as this lives. Immutable.
class HeldEnvironment {
 public:
  HeldEnvironment(std::string directory, FileDescriptor lock)
      : directory_(std::move(directory)), lock_(std::move(lock)) {}

  const std::string& directory() const { return directory_; }

 private:
  const std::string directory_;
  const FileDescriptor lock_;
};
// Shared: by the attempts that run in it.
using HeldEnvironmentPtr = std::shared_ptr<const HeldEnvironment>;

class EnvironmentCache {
 public:
  // Makes the directory, for this user alone. FailedPrecondition when others may enter it.
  static absl::StatusOr<std::unique_ptr<EnvironmentCache>> Open(std::string directory,
                                                                int64_t bytes_max);

  // Fills `directory`, an empty one at its final place; `log` is a file for what programs print.
  using Build = std::function<absl::Status(const std::string& directory, const std::string& log)>;

  // The environment with this key, built if need be. Unavailable when another one builds it now:
  // ask again later. The error of `build`, which leaves nothing behind but its log.
  absl::StatusOr<HeldEnvironmentPtr> Get(const Digest& key, const Build& build);

  const std::string& directory() const { return directory_; }

 private:
  EnvironmentCache(std::string directory, int64_t bytes_max)
      : directory_(std::move(directory)), bytes_max_(bytes_max) {}

  absl::Status BuildLocked(const std::string& path, const Build& build) const;
  // Removes what was used longest ago until the rest is below the limit.
  void MakeRoom() const;

  const std::string directory_;
  const int64_t bytes_max_;
};

}  // namespace concur::worker

#endif  // CONCUR_WORKER_ENVIRONMENTS_ENVIRONMENT_CACHE_H_
