// SPDX-License-Identifier: Apache-2.0
#include "base/process/remove_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/process/job_disk.h"

namespace concur::process {
namespace {

constexpr char kKept[] = ".kept-";
constexpr int kKeptMax = 10'000;
// Deeper directories are moved up first: neither the stack nor the number of open files may depend
// on how deep a job nests.
constexpr int kDepthMax = 64;
constexpr size_t kShownBytesMax = 300;

// One removal of a tree.
class TreeRemover {
 public:
  explicit TreeRemover(const std::atomic<bool>* stop) : stop_(stop) {}

  // Removes the entry `name` of the open directory `parent`, whose path is `path`.
  bool RemoveEntry(int parent, const std::string& name, const std::string& path, int depth) {
    if (stop_ != nullptr && *stop_) {
      status_.Update(absl::CancelledError(absl::StrCat(path, ": left for the next start")));
      return false;
    }
    if (unlinkat(parent, name.c_str(), 0) == 0 || errno == ENOENT) {
      return true;
    }
    const int error = errno;
    struct stat info {};
    if (fstatat(parent, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(info.st_mode)) {
      return Fail(error, path, "remove");
    }
    if (depth >= kDepthMax && MoveUp(parent, name)) {
      return true;
    }
    const bool emptied = depth < kDepthMax + 1 && Clear(parent, name, path, depth);
    if (unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) {
      return true;
    }
    return emptied && Fail(errno, path, "remove");
  }

  // True when deep directories were moved to the top since the last call.
  bool TakeMoved() {
    const bool moved = moved_;
    moved_ = false;
    return moved;
  }
  void SetTop(int top) { top_ = top; }
  const absl::Status& status() const { return status_; }
  void ClearStatus() { status_ = absl::OkStatus(); }

 private:
  bool Fail(int error, const std::string& path, const char* action) {
    if (status_.ok()) {
      status_ = ErrnoStatus(error, path, action);
    }
    return false;
  }

  // Moves a directory to the top of the tree, where the next pass finds it.
  bool MoveUp(int parent, const std::string& name) {
    if (top_ < 0) {
      return false;
    }
    const std::string target = absl::StrCat(".concur-deep-", moves_++);
    moved_ = renameat2(parent, name.c_str(), top_, target.c_str(), RENAME_NOREPLACE) == 0 || moved_;
    return faccessat(parent, name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) != 0;
  }

  // Removes what is in a directory; whether all of it went.
  bool Clear(int parent, const std::string& name, const std::string& path, int depth) {
    int error = 0;
    const OpenFolder directory = OpenFolderAt(parent, name.c_str(), error);
    if (directory == nullptr) {
      return Fail(error, path, "open");
    }
    const int fd = dirfd(directory.get());
    fchmod(fd, 0700);  // its entries cannot be removed otherwise; others' directories refuse
    if (depth == 0) {
      SetTop(fd);
    }
    bool all = true;
    std::vector<std::string> names;
    do {
      // Names are read before entries are removed or moved up into this very directory.
      names.clear();
      rewinddir(directory.get());
      // NOLINTNEXTLINE(concurrency-mt-unsafe): this stream is read by one thread
      while (const dirent* entry = readdir(directory.get())) {
        const absl::string_view found = entry->d_name;
        if (found != "." && found != "..") {
          names.emplace_back(found);
        }
      }
      TakeMoved();
      all = true;
      for (const std::string& found : names) {
        all = RemoveEntry(fd, found, absl::StrCat(path, "/", found), depth + 1) && all;
      }
    } while (depth == 0 && TakeMoved());
    if (depth == 0) {
      SetTop(-1);
    }
    return all;
  }

  const std::atomic<bool>* const stop_;  // null: nobody stops it
  absl::Status status_;
  int top_ = -1;
  int moves_ = 0;
  bool moved_ = false;
};

}  // namespace

absl::Status RemoveTree(const std::string& path, const std::atomic<bool>* stop) {
  TreeRemover remover(stop);
  remover.RemoveEntry(AT_FDCWD, path, path, 0);
  return remover.status();
}

absl::Status RemoveOrSetAside(const std::string& path, const std::string& aside,
                              std::vector<std::string>& notices) {
  absl::Status removed = RemoveTree(path);
  if (removed.ok()) {
    return removed;
  }
  for (int i = 1; i <= kKeptMax; ++i) {
    const std::string kept = absl::StrCat(aside, kKept, i);
    if (renameat2(AT_FDCWD, path.c_str(), AT_FDCWD, kept.c_str(), RENAME_NOREPLACE) == 0) {
      notices.push_back(absl::StrCat("cannot be removed, kept in ", OneLine(kept, kShownBytesMax),
                                     ": ", OneLine(removed.message(), kShownBytesMax)));
      return absl::OkStatus();
    }
    if (errno != EEXIST) {
      const absl::Status error = ErrnoStatus(errno, kept, "rename");
      return absl::Status(
          removed.code(),
          absl::StrCat(removed.message(), "; nor can it be set aside: ", error.message(),
                       "; remove ", path, " by hand, or choose another directory"));
    }
  }
  return removed;
}

void RemoveKept(const std::string& aside, std::vector<std::string>& notices) {
  const std::filesystem::path whole(aside);
  const std::string prefix = absl::StrCat(whole.filename().string(), kKept);
  std::error_code error;
  std::vector<std::string> kept;
  for (std::filesystem::directory_iterator entry(whole.parent_path(), error), end;
       !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    int number = 0;
    if (absl::StartsWith(name, prefix) &&
        absl::SimpleAtoi(absl::string_view(name).substr(prefix.size()), &number)) {
      kept.push_back(entry->path().string());
    }
  }
  for (const std::string& old : kept) {
    if (const absl::Status status = RemoveTree(old); !status.ok()) {
      notices.push_back(absl::StrCat("cannot be removed, kept since an earlier start: ",
                                     OneLine(status.message(), kShownBytesMax)));
    }
  }
}

}  // namespace concur::process
