// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/disks/disk.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace concur::sim {

absl::Status Disk::MakeDirectories(const std::string& /*path*/, int /*mode*/) {
  return power_is_cut_ ? Dead() : absl::OkStatus();
}

absl::StatusOr<std::string> Disk::Read(const std::string& path) {
  if (power_is_cut_) {
    return Dead();
  }
  const auto it = files_.find(path);
  if (it == files_.end() || !it->second.exists) {
    return absl::NotFoundError(absl::StrCat(path, ": open: no such file"));
  }
  if (world_.Strikes(Fault::kSpoolReadError)) {
    ++read_errors_;
    return absl::UnknownError(absl::StrCat(path, ": read: input/output error"));
  }
  return it->second.contents;
}

absl::Status Disk::WriteAtomically(const std::string& path, absl::string_view contents,
                                   int /*mode*/) {
  if (power_is_cut_) {
    return Dead();
  }
  if (world_.Strikes(Fault::kSpoolFull)) {
    return absl::ResourceExhaustedError(absl::StrCat(path, ": write: no space left on device"));
  }
  if (world_.Strikes(Fault::kSpoolTorn)) {
    power_is_cut_ = true;
    // While the temporary file is written, or after the rename but before the directory is synced.
    if (world_.random().Chance(0.5)) {
      const size_t kept = world_.random().Below(contents.size() + 1);
      files_[absl::StrCat(path, ".tmp.1")] = File(std::string(contents.substr(0, kept)));
    } else {
      files_[path] = File(std::string(contents), false);
    }
    return Dead();
  }
  const bool synced = world_.bug() != Bug::kSpoolNotSynced;
  files_[path] = File(std::string(contents), synced);
  if (synced) {
    // Syncing the directory also makes earlier removals in it durable.
    std::erase_if(files_, [](const auto& entry) { return !entry.second.exists; });
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> Disk::List(const std::string& directory) {
  if (power_is_cut_) {
    return Dead();
  }
  const std::string prefix = directory + "/";
  std::vector<std::string> names;
  for (const auto& [path, file] : files_) {
    if (file.exists && absl::StartsWith(path, prefix)) {
      names.push_back(path.substr(prefix.size()));
    }
  }
  return names;
}

absl::Status Disk::Rename(const std::string& from, const std::string& to) {
  const auto it = files_.find(from);
  if (power_is_cut_ || it == files_.end() || !it->second.exists) {
    return power_is_cut_ ? Dead() : absl::NotFoundError(absl::StrCat(from, ": rename"));
  }
  files_[to] = File(it->second.contents, false);
  return Remove(from);
}

absl::Status Disk::Remove(const std::string& path) {
  const auto it = files_.find(path);
  if (power_is_cut_ || it == files_.end() || !it->second.exists) {
    return power_is_cut_ ? Dead() : absl::NotFoundError(absl::StrCat(path, ": remove"));
  }
  File& file = it->second;
  if (file.synced) {
    file.existed = true;
    file.old_contents = file.contents;
  }
  file.exists = false;
  file.synced = false;
  return absl::OkStatus();
}

void Disk::Restart(bool power_cut) {
  if (power_cut) {
    for (auto& [path, file] : files_) {
      if (!file.synced && world_.random().Chance(0.5)) {
        file.exists = file.existed;
        file.contents = file.old_contents;
      }
    }
    for (auto& [path, file] : files_) {
      file.synced = true;
    }
    std::erase_if(files_, [](const auto& entry) { return !entry.second.exists; });
  }
  power_is_cut_ = false;
}

}  // namespace concur::sim
