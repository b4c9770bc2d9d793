// SPDX-License-Identifier: Apache-2.0
#include "yaml/code_files.h"

#include <fnmatch.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "base/status_macros.h"

namespace concur::spec {
namespace {

// Greatest number of files and folders that one list may make the finder look at.
constexpr size_t kCodeEntriesSeenMax = 20'000;

bool HasWildcard(absl::string_view text) { return text.find_first_of("*?[") != text.npos; }

// True for what Python writes beside its sources when they run: no part of the code.
bool IsMadeByPython(absl::string_view name) {
  return name == "__pycache__" || absl::EndsWith(name, ".pyc");
}

std::string KindOfFile(mode_t mode) {
  return S_ISFIFO(mode)   ? "FIFO"
         : S_ISSOCK(mode) ? "socket"
         : S_ISCHR(mode)  ? "device"
         : S_ISBLK(mode)  ? "device"
                          : "special file";
}

// Finds the files of one list.
class CodeFinder {
 public:
  CodeFinder(const CodeUse& use, ErrorList& errors)
      : root_(use.root),
        root_normal_(std::filesystem::path(root_).lexically_normal()),
        errors_(errors) {
    std::error_code error;
    real_root_ = std::filesystem::canonical(root_, error).string();
  }

  void Add(const CodeUse::Entry& entry) {
    place_ = entry.place;
    named_ = entry.path;
    const std::string relative = std::filesystem::path(entry.path)
                                     .lexically_normal()
                                     .lexically_relative(root_normal_)
                                     .generic_string();
    if (relative.empty() || relative == ".." || absl::StartsWith(relative, "../")) {
      Error("expected a path below the folder of this file, ", root_, ", got \"", entry.written,
            "\"; put the approach's file beside or above its code");
      return;
    }
    const size_t before = files_.size();
    const size_t errors_before = errors_.count();
    if (relative == ".") {
      AddFolder("");
    } else {
      Expand("", absl::StrSplit(relative, '/'), 0);
    }
    if (files_.size() == before && errors_.count() == errors_before && !found_) {
      Error("expected a path or pattern of files, got \"", entry.written, "\", which ",
            HasWildcard(relative) ? "matches none" : "holds none");
    }
    found_ = false;
  }

  std::vector<std::string> Take() { return {files_.begin(), files_.end()}; }

 private:
  template <typename... Parts>
  void Error(const Parts&... parts) {
    errors_.Add("", {}, "", absl::StrCat(place_, parts...));
  }

  std::string PathOf(const std::string& relative) const {
    return relative.empty() ? root_ : absl::StrCat(root_, "/", relative);
  }
  static std::string Join(const std::string& folder, const std::string& name) {
    return folder.empty() ? name : absl::StrCat(folder, "/", name);
  }

  // The names in a folder, in byte order. False, with an error, when it cannot be read or too much
  // was seen.
  bool NamesIn(const std::string& folder, std::vector<std::string>& names) {
    std::error_code error;
    for (std::filesystem::directory_iterator it(PathOf(folder), error), end; !error && it != end;
         it.increment(error)) {
      if (++seen_ > kCodeEntriesSeenMax) {
        Error("expected few files, got more than ", kCodeEntriesSeenMax,
              " to look through; name the files or smaller folders");
        return false;
      }
      names.push_back(it->path().filename().string());
    }
    if (error) {
      Error("expected a readable folder, got ", PathOf(folder), ": ", error.message());
      return false;
    }
    std::sort(names.begin(), names.end());
    return true;
  }

  // Adds what the parts from `at` on match below `folder`.
  void Expand(const std::string& folder, const std::vector<std::string>& parts, size_t at) {
    if (at == parts.size()) {
      AddPath(folder, /*is_named=*/true);
      return;
    }
    if (!HasWildcard(parts[at])) {
      Expand(Join(folder, parts[at]), parts, at + 1);
      return;
    }
    std::error_code error;
    if (!folder.empty() && !std::filesystem::is_directory(PathOf(folder), error)) {
      return;  // matched by a pattern, and no folder
    }
    std::vector<std::string> names;
    if (!NamesIn(folder, names)) {
      return;
    }
    for (const std::string& name : names) {
      if (fnmatch(parts[at].c_str(), name.c_str(), FNM_PERIOD) == 0 && !IsMadeByPython(name)) {
        Expand(Join(folder, name), parts, at + 1);
      }
    }
  }

  void AddFolder(const std::string& folder) {
    std::vector<std::string> names;
    if (!NamesIn(folder, names)) {
      return;
    }
    for (const std::string& name : names) {
      if (name[0] != '.' && !IsMadeByPython(name)) {
        AddPath(Join(folder, name), /*is_named=*/false);
      }
      if (too_many_) {
        return;
      }
    }
  }

  // True if the path is, with all links followed, below the root.
  bool IsInside(const std::string& path) const {
    std::error_code error;
    const std::string real = std::filesystem::canonical(path, error).string();
    return !error && (real_root_ == "/" || absl::StartsWith(real, absl::StrCat(real_root_, "/")));
  }

  void AddPath(const std::string& relative, bool is_named) {
    const std::string path = PathOf(relative);
    struct stat link {};
    struct stat info {};
    if (lstat(path.c_str(), &link) != 0 || stat(path.c_str(), &info) != 0) {
      if (errno != ENOENT || !is_named || !HasWildcard(named_)) {
        Error("expected a readable file, got ", ErrnoStatus(errno, path, "open").message());
      }
      return;
    }
    if (!IsInside(path)) {
      Error("expected a file below ", root_, ", got \"", path, "\", a link that leads out of it; ",
            "copy what it points to");
    } else if (S_ISREG(info.st_mode)) {
      AddFile(relative);
    } else if (!S_ISDIR(info.st_mode)) {
      Error("expected a file, got \"", path, "\", a ", KindOfFile(info.st_mode));
    } else if (S_ISLNK(link.st_mode)) {
      Error("expected a file or a folder, got \"", path, "\", a link to a folder; name the folder");
    } else {
      AddFolder(relative);
    }
  }

  void AddFile(const std::string& relative) {
    found_ = true;
    if (files_.contains(relative) || too_many_) {
      return;
    }
    if (files_.size() == kCodeFilesMax) {
      too_many_ = true;
      Error(
          "expected at most ", kCodeFilesMax,
          " files of code, got more; name files or smaller folders: data belongs into benchmarks");
      return;
    }
    const absl::Status valid = CheckCodePath(concur::FieldPath("path"), relative);
    if (!valid.ok()) {
      Error(valid.message());
      return;
    }
    files_.insert(relative);
  }

  const std::string root_;
  const std::filesystem::path root_normal_;
  std::string real_root_;
  ErrorList& errors_;
  std::set<std::string> files_;
  size_t seen_ = 0;
  bool too_many_ = false;
  // State of the entry at work.
  std::string place_;
  std::string named_;
  bool found_ = false;
};

}  // namespace

CodeUse ReadCode(const Value& value) {
  CodeUse use;
  use.root = value.file().directory;
  const auto items = value.List("a list of files and folders such as [train.py, lib]");
  if (items && items->empty()) {
    value.Error("expected at least one file, got an empty list");
  }
  for (const Value& item : items.value_or(std::vector<Value>())) {
    if (const auto path = item.Path()) {
      use.entries.push_back({*path, item.node().text, item.Place()});
    }
  }
  return use;
}

bool IsScript(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return file.get() == '#' && file.get() == '!';
}

std::vector<std::string> FindCodeFiles(const CodeUse& use, ErrorList& errors) {
  CodeFinder finder(use, errors);
  for (const CodeUse::Entry& entry : use.entries) {
    finder.Add(entry);
  }
  return finder.Take();
}

absl::StatusOr<Code> PackCode(const std::string& root, const std::vector<std::string>& files,
                              const DirectoryTarWriter::Sink& sink) {
  Sha256 hasher;
  int64_t tar_bytes = 0;
  CONCUR_ASSIGN_OR_RETURN(const auto writer, DirectoryTarWriter::Open([&](absl::string_view data) {
                            hasher.Update(data);
                            tar_bytes += static_cast<int64_t>(data.size());
                            return sink ? sink(data) : absl::OkStatus();
                          }));
  std::vector<CodeFile> packed;
  std::set<std::string> folders;
  int64_t left = kCodeBytesMax;
  for (const std::string& file : files) {
    const std::string path = absl::StrCat(root, "/", file);
    const absl::StatusOr<std::string> contents = ReadFile(path, left);
    if (absl::IsResourceExhausted(contents.status())) {
      return absl::InvalidArgumentError(absl::StrCat(
          "expected at most ", kCodeBytesMax >> 20, " MiB of code, got more with ", path,
          "; data belongs into benchmarks, and models into what a train command writes"));
    }
    struct stat info {};
    if (!contents.ok() || stat(path.c_str(), &info) != 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "expected a readable file, got ", contents.ok()
                                                ? ErrnoStatus(errno, path, "stat").message()
                                                : contents.status().message()));
    }
    const auto bytes = static_cast<int64_t>(contents->size());
    left -= bytes;
    const bool is_executable = (info.st_mode & S_IXUSR) != 0;
    for (size_t slash = file.find('/'); slash != file.npos; slash = file.find('/', slash + 1)) {
      if (folders.insert(file.substr(0, slash)).second) {
        CONCUR_RETURN_IF_ERROR(writer->AddFolder(file.substr(0, slash)));
      }
    }
    CONCUR_RETURN_IF_ERROR(writer->AddFile(file, is_executable, bytes));
    CONCUR_RETURN_IF_ERROR(writer->Append(*contents));
    packed.push_back({file, Sha256Of(*contents), bytes, is_executable});
  }
  CONCUR_RETURN_IF_ERROR(writer->Finish());
  const Digest digest = hasher.Finish();
  return MakeCode(digest, tar_bytes, std::move(packed));
}

}  // namespace concur::spec
