// SPDX-License-Identifier: Apache-2.0
#include "base/archive/root_writer.h"

#include <archive.h>
#include <archive_entry.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/status_macros.h"

namespace concur {
namespace {

constexpr size_t kReadBytes = size_t{256} * 1024;
constexpr int64_t kFreeBytes = int64_t{64} << 20;
constexpr int64_t kRatioMax = 100;
constexpr int kFlags = ARCHIVE_EXTRACT_PERM | ARCHIVE_EXTRACT_TIME | ARCHIVE_EXTRACT_UNLINK |
                       ARCHIVE_EXTRACT_SECURE_SYMLINKS | ARCHIVE_EXTRACT_SECURE_NODOTDOT;
constexpr char kWhiteout[] = ".wh.";
constexpr char kOpaque[] = ".wh..wh..opq";

absl::Status Malformed(const std::string& tar, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(tar, ": ", what));
}

std::string ErrorOf(archive* a) {
  const char* text = archive_error_string(a);
  return text == nullptr ? "unknown error" : text;
}

std::string QuotedName(absl::string_view name) { return absl::StrCat("entry ", Quoted(name, 200)); }

// The name below the root, as libarchive will take it: without ".", without empty parts; "" is the
// root itself. What is checked must be what is written: "link/." once passed as something in a
// folder "link/", and was written as the link itself.
absl::StatusOr<std::string> NameBelow(const char* raw, const std::string& tar) {
  const absl::string_view whole = raw == nullptr ? "" : raw;
  bool safe = raw != nullptr && !absl::StartsWith(whole, "/");
  std::vector<absl::string_view> parts;
  for (const absl::string_view part : absl::StrSplit(whole, '/', absl::SkipEmpty())) {
    safe = safe && part != "..";
    if (part != ".") {
      parts.push_back(part);
    }
  }
  if (!safe) {
    return Malformed(tar, absl::StrCat(QuotedName(whole), " would lie outside the root"));
  }
  return absl::StrJoin(parts, "/");
}

bool IsSpecial(mode_t type) { return type != AE_IFREG && type != AE_IFDIR && type != AE_IFLNK; }

absl::Status RemoveBelow(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);  // follows no links
  return error ? ErrnoStatus(error.value(), path, "remove") : absl::OkStatus();
}

// True if a parent of `name` exists and is no directory (a link would be followed), or cannot be
// inspected. Checked anew for each entry: any of those before may have made a link.
bool LeadsThroughLink(const std::string& directory, const std::string& name) {
  for (size_t slash = name.find('/'); slash != name.npos; slash = name.find('/', slash + 1)) {
    struct stat info {};
    const std::string folder = absl::StrCat(directory, "/", name.substr(0, slash));
    if (lstat(folder.c_str(), &info) != 0) {
      return errno != ENOENT;  // nor is there anything below
    }
    if (!S_ISDIR(info.st_mode)) {
      return true;
    }
  }
  return false;
}

absl::Status CheckWay(const std::string& directory, const std::string& tar,
                      const std::string& name) {
  return LeadsThroughLink(directory, name)
             ? Malformed(tar, absl::StrCat(QuotedName(name),
                                           " leads through a link or file, or is too long"))
             : absl::OkStatus();
}

}  // namespace

absl::StatusOr<TarReader> OpenTar(const std::string& path) {
  TarReader reader(archive_read_new());
  archive_read_support_format_tar(reader.get());
  archive_read_support_filter_gzip(reader.get());
  archive_read_support_filter_xz(reader.get());
  archive_read_support_filter_zstd(reader.get());
  if (archive_read_open_filename(reader.get(), path.c_str(), kReadBytes) != ARCHIVE_OK) {
    return Malformed(path, ErrorOf(reader.get()));
  }
  return reader;
}

absl::StatusOr<int64_t> AllowedBytes(const std::string& path, int64_t unpacked,
                                     const RootLimits& limits) {
  std::error_code error;
  const auto packed = static_cast<int64_t>(std::filesystem::file_size(path, error));
  if (error) {
    return ErrnoStatus(error.value(), path, "stat");
  }
  return std::min(limits.bytes_max, unpacked + kFreeBytes + kRatioMax * packed);
}

RootWriter::RootWriter(std::string directory, const RootLimits& limits)
    : directory_(std::move(directory)), limits_(limits), disk_(archive_write_disk_new()) {
  archive_write_disk_set_options(disk_.get(), kFlags);
}

absl::Status RootWriter::Make() {
  if (mkdir(directory_.c_str(), 0755) != 0 || chmod(directory_.c_str(), 0755) != 0) {
    return ErrnoStatus(errno, directory_, "make directory");
  }
  // Links on the way to the directory are no entries of the tar.
  std::error_code error;
  directory_ = std::filesystem::canonical(directory_, error).string();
  return error ? ErrnoStatus(error.value(), directory_, "resolve") : absl::OkStatus();
}

absl::Status RootWriter::ForEachEntry(
    const std::string& tar, const std::function<absl::Status(archive*, archive_entry*)>& visit) {
  CONCUR_ASSIGN_OR_RETURN(const TarReader reader, OpenTar(tar));
  archive_entry* entry = nullptr;
  for (;;) {
    const int code = archive_read_next_header(reader.get(), &entry);
    if (code == ARCHIVE_EOF) {
      return absl::OkStatus();
    }
    if (code != ARCHIVE_OK && code != ARCHIVE_WARN) {
      return Malformed(tar, ErrorOf(reader.get()));
    }
    if (++entries_ > limits_.entries_max) {
      return Malformed(tar, absl::StrCat("more than ", limits_.entries_max, " entries"));
    }
    if (entries_ % 64 == 0 && limits_.is_canceled && limits_.is_canceled()) {
      return absl::CancelledError("stopped");
    }
    CONCUR_RETURN_IF_ERROR(visit(reader.get(), entry));
  }
}

absl::Status RootWriter::AddTar(const std::string& tar) {
  CONCUR_ASSIGN_OR_RETURN(allowed_, AllowedBytes(tar, bytes_, limits_));
  return ForEachEntry(tar, [&](archive* reader, archive_entry* entry) -> absl::Status {
    CONCUR_ASSIGN_OR_RETURN(const std::string name, NameBelow(archive_entry_pathname(entry), tar));
    return AddEntry(tar, name, reader, entry);
  });
}

absl::Status RootWriter::AddLayer(const std::string& tar) {
  CONCUR_ASSIGN_OR_RETURN(allowed_, AllowedBytes(tar, bytes_, limits_));
  // First what the layer takes away from those below it, wherever it says so.
  CONCUR_RETURN_IF_ERROR(ForEachEntry(tar, [&](archive*, archive_entry* entry) -> absl::Status {
    CONCUR_ASSIGN_OR_RETURN(const std::string name, NameBelow(archive_entry_pathname(entry), tar));
    return Whiteout(name);
  }));
  return ForEachEntry(tar, [&](archive* reader, archive_entry* entry) -> absl::Status {
    CONCUR_ASSIGN_OR_RETURN(const std::string name, NameBelow(archive_entry_pathname(entry), tar));
    const absl::string_view last = absl::string_view(name).substr(name.rfind('/') + 1);
    return absl::StartsWith(last, kWhiteout) ? absl::OkStatus()
                                             : AddEntry(tar, name, reader, entry);
  });
}

absl::Status RootWriter::Whiteout(const std::string& name) {
  const size_t last = name.rfind('/') + 1;  // 0 without a slash
  absl::string_view hidden = absl::string_view(name).substr(last);
  if (!absl::StartsWith(hidden, kWhiteout) || LeadsThroughLink(directory_, name)) {
    return absl::OkStatus();
  }
  const std::string folder = absl::StrCat(directory_, "/", name.substr(0, last));
  if (hidden == kOpaque) {
    std::error_code error;
    std::vector<std::string> paths;
    for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end;
         it.increment(error)) {
      paths.push_back(it->path().string());
    }
    for (const std::string& path : paths) {
      CONCUR_RETURN_IF_ERROR(RemoveBelow(path));
    }
    return absl::OkStatus();
  }
  absl::ConsumePrefix(&hidden, kWhiteout);
  return hidden.empty() || hidden == "." || hidden == ".."
             ? absl::OkStatus()
             : RemoveBelow(absl::StrCat(folder, hidden));
}

absl::Status RootWriter::AddEntry(const std::string& tar, const std::string& name, archive* reader,
                                  archive_entry* entry) {
  const auto type = archive_entry_filetype(entry);
  const bool is_hard_link = archive_entry_hardlink(entry) != nullptr;
  if (name.empty()) {
    return absl::OkStatus();  // the root itself
  }
  CONCUR_RETURN_IF_ERROR(CheckWay(directory_, tar, name));
  if (!is_hard_link && IsSpecial(type)) {
    return absl::StartsWith(name, "dev/") || absl::StartsWith(name, "run/")
               ? absl::OkStatus()
               : Malformed(tar, absl::StrCat(QuotedName(name),
                                             " is a device, pipe or socket, which roots may have "
                                             "in dev/ and run/ only, where they are left out"));
  }
  const std::string path = absl::StrCat(directory_, "/", name);
  if (is_hard_link) {
    CONCUR_ASSIGN_OR_RETURN(const std::string target,
                            NameBelow(archive_entry_hardlink(entry), tar));
    CONCUR_RETURN_IF_ERROR(CheckWay(directory_, tar, target));
    archive_entry_copy_hardlink(entry, absl::StrCat(directory_, "/", target).c_str());
  }
  struct stat info {};
  if (type != AE_IFDIR && lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) {
    CONCUR_RETURN_IF_ERROR(RemoveBelow(path));  // a file in the place of a lower layer's folder
  }
  archive_entry_copy_pathname(entry, path.c_str());
  const mode_t rights = archive_entry_perm(entry) & 0777;
  archive_entry_set_perm(entry, rights | (type == AE_IFDIR ? 0700 : 0400));
  if (archive_write_header(disk_.get(), entry) < ARCHIVE_WARN) {
    return WriteError(tar, name);
  }
  if (!is_hard_link && type == AE_IFREG) {
    CONCUR_RETURN_IF_ERROR(CopyData(tar, name, reader));
  }
  return archive_write_finish_entry(disk_.get()) < ARCHIVE_WARN ? WriteError(tar, name)
                                                                : absl::OkStatus();
}

absl::Status RootWriter::CopyData(const std::string& tar, const std::string& name,
                                  archive* reader) {
  const void* data = nullptr;
  size_t size = 0;
  la_int64_t offset = 0;
  for (;;) {
    const int code = archive_read_data_block(reader, &data, &size, &offset);
    if (code == ARCHIVE_EOF) {
      return absl::OkStatus();
    }
    if (code < ARCHIVE_WARN) {
      return Malformed(tar, absl::StrCat(QuotedName(name), ": ", ErrorOf(reader)));
    }
    bytes_ += static_cast<int64_t>(size);
    if (bytes_ > allowed_) {
      return Malformed(tar, absl::StrCat("unpacks to more than ", allowed_, " bytes"));
    }
    if (archive_write_data_block(disk_.get(), data, size, offset) < ARCHIVE_WARN) {
      return WriteError(tar, name);
    }
    if (limits_.is_canceled && limits_.is_canceled()) {
      return absl::CancelledError("stopped");
    }
  }
}

// Errors of the disk are this machine's fault, and the rest the tar's.
absl::Status RootWriter::WriteError(const std::string& tar, const std::string& name) const {
  const int error = archive_errno(disk_.get());
  if (error == ENOSPC || error == EDQUOT || error == EIO || error == EROFS) {
    return ErrnoStatus(error, absl::StrCat(directory_, "/", name), "write");
  }
  return Malformed(tar, absl::StrCat(QuotedName(name), ": ", ErrorOf(disk_.get())));
}

absl::Status RootWriter::Finish() {
  return archive_write_close(disk_.get()) == ARCHIVE_OK
             ? absl::OkStatus()
             : ErrnoStatus(archive_errno(disk_.get()), directory_, "write");
}

}  // namespace concur
