// SPDX-License-Identifier: Apache-2.0
// Where the kernel shows this process's own control groups.
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/file.h"
#include "base/process/cgroup.h"

namespace concur::process {
namespace {

// A mount of cgroups: which directory of the hierarchy is mounted where.
struct GroupMount {
  std::string root;
  std::string point;
};

// Mounts by controller; version 2 is "". A line is
//   36 35 0:30 ROOT POINT OPTIONS [TAGS …] - TYPE SOURCE SUPER,OPTIONS
std::map<std::string, GroupMount> ReadGroupMounts(const std::string& root) {
  std::map<std::string, GroupMount> mounts;
  const absl::StatusOr<std::string> text =
      ReadFile(root + "/proc/self/mountinfo", int64_t{16} << 20);
  if (!text.ok()) {
    return mounts;
  }
  for (const absl::string_view line : absl::StrSplit(*text, '\n', absl::SkipEmpty())) {
    const std::vector<absl::string_view> sides = absl::StrSplit(line, absl::MaxSplits(" - ", 1));
    if (sides.size() != 2) {
      continue;
    }
    const std::vector<absl::string_view> left = absl::StrSplit(sides[0], ' ');
    const std::vector<absl::string_view> right = absl::StrSplit(sides[1], ' ');
    if (left.size() < 6 || right.size() < 3) {
      continue;
    }
    const GroupMount mount{std::string(left[3]), absl::StrCat(root, left[4])};
    if (right[0] == "cgroup2") {
      mounts.emplace("", mount);
    } else if (right[0] == "cgroup") {
      for (const absl::string_view option : absl::StrSplit(right[2], ',')) {
        mounts.emplace(option, mount);
      }
    }
  }
  return mounts;
}

// The directory of group `path`. A container may be shown a path from outside of its mount: then
// the mount is its group.
std::string DirectoryOf(const GroupMount& mount, absl::string_view path) {
  if (mount.root != "/" && !absl::ConsumePrefix(&path, mount.root)) {
    path = "";
  }
  path = absl::StripSuffix(path, "/");
  return absl::StrContains(path, "/..") ? mount.point : absl::StrCat(mount.point, path);
}

}  // namespace

std::vector<OwnGroup> FindOwnGroups(const std::string& root) {
  std::vector<OwnGroup> groups;
  const std::map<std::string, GroupMount> mounts = ReadGroupMounts(root);
  const absl::StatusOr<std::string> text = ReadFile(root + "/proc/self/cgroup", int64_t{64} << 10);
  if (!text.ok()) {
    return groups;
  }
  // 4:memory:/PATH, for version 2 0::/PATH.
  for (const absl::string_view line : absl::StrSplit(*text, '\n', absl::SkipEmpty())) {
    const std::vector<absl::string_view> fields = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (fields.size() != 3) {
      continue;
    }
    for (const absl::string_view controller : absl::StrSplit(fields[1], ',')) {
      if (const auto it = mounts.find(std::string(controller)); it != mounts.end()) {
        groups.push_back({std::string(controller), DirectoryOf(it->second, fields[2])});
      }
    }
  }
  return groups;
}

}  // namespace concur::process
