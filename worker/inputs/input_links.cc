// SPDX-License-Identifier: Apache-2.0
#include "worker/inputs/input_links.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/process/remove_tree.h"
#include "base/status_macros.h"

namespace concur::worker {

absl::Status InputLinks::Open() {
  CONCUR_RETURN_IF_ERROR(process::RemoveTree(directory_));
  return MakeDirectories(directory_, 0700);
}

std::string InputLinks::LinkTo(const std::string& target) {
  MutexLock lock(mu_);
  if (const auto it = links_.find(target); it != links_.end()) {
    return it->second;
  }
  if (links_.size() >= targets_max_) {
    for (const auto& [old_target, link] : links_) {
      unlink(link.c_str());
    }
    links_.clear();
  }
  std::string path = absl::StrCat(directory_, "/", next_++);
  if (symlink(target.c_str(), path.c_str()) != 0) {
    return "";
  }
  links_[target] = path;
  return path;
}

absl::Status InputLinks::Make(const std::string& target, const std::string& path) {
  const std::string own = LinkTo(target);
  // link() gives another name to the symbolic link itself. It fails where there are no hard links,
  // when one file has too many, and when the link has just been removed: no name comes twice.
  if (!own.empty() && link(own.c_str(), path.c_str()) == 0) {
    // A job may have put something else there.
    std::error_code error;
    if (std::filesystem::read_symlink(path, error) == target && !error) {
      return absl::OkStatus();
    }
    unlink(path.c_str());
    MutexLock lock(mu_);
    links_.erase(target);
  }
  if (symlink(target.c_str(), path.c_str()) != 0) {
    return ErrnoStatus(errno, path, "link");
  }
  return absl::OkStatus();
}

}  // namespace concur::worker
