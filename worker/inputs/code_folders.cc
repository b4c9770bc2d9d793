// SPDX-License-Identifier: Apache-2.0
#include "worker/inputs/code_folders.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/archive/directory_tar.h"
#include "base/file.h"
#include "base/file_system.h"
#include "base/log.h"
#include "base/process/remove_tree.h"
#include "base/status_macros.h"
#include "store/artifacts/file_blocks.h"
#include "worker/inputs/verified_inputs.h"

namespace concur::worker {
namespace {

constexpr char kCodeSuffix[] = ".code";
constexpr char kHalfSuffix[] = ".new";

// Files with the folders that they lie in, of which each can have several in its path.
constexpr TarLimits kCodeLimits = {.entries_max = int64_t{kCodeFilesMax} * 20,
                                   .bytes_max = kCodeBytesMax};

absl::Status MakeReadOnly(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> paths = {folder};
  for (std::filesystem::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    paths.push_back(it->path().string());
  }
  if (error) {
    return ErrnoStatus(error.value(), folder, "list");
  }
  for (const std::string& path : paths) {
    struct stat info {};
    if (lstat(path.c_str(), &info) != 0 || chmod(path.c_str(), info.st_mode & 0555) != 0) {
      return ErrnoStatus(errno, path, "make read-only");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<CodeFile>> CodeFilesIn(const std::string& folder) {
  std::vector<CodeFile> files;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    struct stat info {};
    const std::string path = it->path().string();
    if (lstat(path.c_str(), &info) != 0) {
      return ErrnoStatus(errno, path, "stat");
    }
    if (S_ISDIR(info.st_mode)) {
      continue;
    }
    if (!S_ISREG(info.st_mode)) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": expected a plain file"));
    }
    CONCUR_ASSIGN_OR_RETURN(const FileDigest digest, DigestFile(path));
    files.push_back({path.substr(folder.size() + 1), digest.digest, digest.bytes,
                     (info.st_mode & S_IXUSR) != 0});
  }
  if (error) {
    return ErrnoStatus(error.value(), folder, "list");
  }
  std::sort(files.begin(), files.end(),
            [](const CodeFile& a, const CodeFile& b) { return a.path < b.path; });
  return files;
}

std::string CodeFolders::NameOf(const Digest& key) {
  return absl::StrCat(key.ToHex(), kCodeSuffix);
}

bool CodeFolders::IsName(absl::string_view name) { return absl::EndsWith(name, kCodeSuffix); }

std::string CodeFolders::PathOf(absl::string_view name) const {
  return absl::StrCat(directory_, "/", name);
}

int64_t CodeFolders::BytesOf(const std::string& name) const {
  MutexLock lock(mu_);
  const auto it = bytes_.find(name);
  return it == bytes_.end() ? 0 : it->second;
}

absl::Status CodeFolders::Open(absl::Time before, std::vector<std::string>& notices) {
  CONCUR_RETURN_IF_ERROR(MakeDirectories(directory_, 0700));
  process::RemoveKept(directory_, notices);
  std::vector<std::string> unused;
  CONCUR_RETURN_IF_ERROR(ForEachEntry(directory_, [&](const std::string& name) {
    struct stat info {};
    if (!IsName(name) || (lstat(PathOf(name).c_str(), &info) == 0 &&
                          absl::TimeFromTimespec(info.st_mtim) < before)) {
      unused.push_back(name);
    }
    return absl::OkStatus();
  }));
  for (const std::string& name : unused) {
    CONCUR_RETURN_IF_ERROR(process::RemoveOrSetAside(PathOf(name), directory_, notices));
  }
  return absl::OkStatus();
}

absl::Status CodeFolders::ForEach(
    const std::function<void(const std::string&, absl::Time, int64_t)>& visit) const {
  return ForEachEntry(directory_, [&](const std::string& name) {
    struct stat info {};
    if (IsName(name) && lstat(PathOf(name).c_str(), &info) == 0) {
      visit(name, absl::TimeFromTimespec(info.st_mtim), DiskUseOf(PathOf(name)));
    }
    return absl::OkStatus();
  });
}

absl::Status CodeFolders::Verify(const std::string& name) {
  const std::string path = PathOf(name);
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0 && errno == ENOENT) {
    return absl::DataLossError(absl::StrCat(path, ": missing"));
  }
  const absl::StatusOr<std::vector<CodeFile>> files = CodeFilesIn(path);
  if (!files.ok() && !MeansOtherBytes(files.status())) {
    return files.status();
  }
  if (files.ok() && NameOf(KeyOfCode(*files)) == name) {
    const int64_t bytes = DiskUseOf(path);
    MutexLock lock(mu_);
    bytes_[name] = bytes;
    return absl::OkStatus();
  }
  LogWarning("unpacked code was changed; unpacking it anew", {{"path", path}});
  std::vector<std::string> notices;
  CONCUR_RETURN_IF_ERROR(process::RemoveOrSetAside(path, directory_, notices));
  for (const std::string& notice : notices) {
    LogWarning("unpacked code cannot be removed", {{"notice", notice}});
  }
  return absl::DataLossError(absl::StrCat(path, ": changed; removed"));
}

absl::Status CodeFolders::Unpack(const std::string& tar_path, const Digest& key) {
  const std::string name = NameOf(key);
  const std::string half = absl::StrCat(PathOf(name), kHalfSuffix);
  CONCUR_RETURN_IF_ERROR(process::RemoveTree(half));
  CONCUR_RETURN_IF_ERROR(ExtractDirectoryTar(tar_path, half, kCodeLimits));
  CONCUR_ASSIGN_OR_RETURN(const std::vector<CodeFile> files, CodeFilesIn(half));
  if (KeyOfCode(files) != key) {
    return absl::DataLossError(absl::StrCat(
        tar_path, ": the files in it are not those that the sweep's code names; submit it again"));
  }
  CONCUR_RETURN_IF_ERROR(MakeReadOnly(half));
  std::error_code error;
  std::filesystem::rename(half, PathOf(name), error);
  if (error) {
    return ErrnoStatus(error.value(), half, "rename");
  }
  return absl::OkStatus();
}

absl::Status CodeFolders::Remove(const std::string& name) {
  {
    MutexLock lock(mu_);
    bytes_.erase(name);
  }
  return process::RemoveTree(PathOf(name));
}

}  // namespace concur::worker
