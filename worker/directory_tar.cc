#include "worker/directory_tar.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/file.h"
#include "base/status_macros.h"

namespace concur::worker {
namespace {

// The first entry of every such tar: how it is told from a system that is a file, even a tar file.
constexpr char kRoot[] = "concur-directory/";
constexpr size_t kBlockBytes = size_t{128} * 1024;

struct ArchiveCloser {
  void operator()(archive* a) const { archive_free(a); }
};
struct EntryFreer {
  void operator()(archive_entry* e) const { archive_entry_free(e); }
};
using ArchivePtr = std::unique_ptr<archive, ArchiveCloser>;
using EntryPtr = std::unique_ptr<archive_entry, EntryFreer>;

struct Sink {
  const std::function<absl::Status(absl::string_view)>* write;
  absl::Status status;
};

la_ssize_t WriteToSink(archive* a, void* data, const void* buffer, size_t size) {
  auto* sink = static_cast<Sink*>(data);
  sink->status = (*sink->write)(absl::string_view(static_cast<const char*>(buffer), size));
  if (!sink->status.ok()) {
    archive_set_error(a, EIO, "sink");
    return -1;
  }
  return static_cast<la_ssize_t>(size);
}

// Files and folders below `directory`, relative, in byte order.
absl::Status List(const std::filesystem::path& directory, const std::string& prefix,
                  std::vector<std::pair<std::string, struct stat>>& entries) {
  std::error_code error;
  for (std::filesystem::directory_iterator it(directory, error), end; !error && it != end;
       it.increment(error)) {
    const std::string path = it->path().string();
    struct stat info {};
    if (lstat(path.c_str(), &info) != 0) {
      return ErrnoStatus(errno, path, "stat");
    }
    if (!S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) {
      return absl::InvalidArgumentError(absl::StrCat(
          path, ": a system may hold plain files and folders only, this is a ",
          S_ISLNK(info.st_mode) ? "symbolic link; write a copy of what it points to instead"
                                : "special file"));
    }
    if (static_cast<int64_t>(entries.size()) >= kTarEntriesMax) {
      return absl::InvalidArgumentError(
          absl::StrCat(directory.string(), ": more than ", kTarEntriesMax, " files and folders"));
    }
    const std::string name = absl::StrCat(prefix, it->path().filename().string());
    entries.emplace_back(name, info);
    if (S_ISDIR(info.st_mode)) {
      CONCUR_RETURN_IF_ERROR(List(it->path(), absl::StrCat(name, "/"), entries));
    }
  }
  return error ? ErrnoStatus(error.value(), directory.string(), "list") : absl::OkStatus();
}

absl::Status ArchiveError(archive* a, absl::string_view what) {
  const char* text = archive_error_string(a);
  return absl::UnknownError(absl::StrCat(what, ": ", text == nullptr ? "unknown error" : text));
}

absl::Status WriteHeader(archive* a, const std::string& name, bool is_directory, bool executable,
                         int64_t size) {
  EntryPtr entry(archive_entry_new());
  archive_entry_set_pathname(entry.get(), name.c_str());
  archive_entry_set_filetype(entry.get(), is_directory ? AE_IFDIR : AE_IFREG);
  archive_entry_set_perm(entry.get(), is_directory || executable ? 0755 : 0644);
  archive_entry_set_size(entry.get(), size);
  archive_entry_set_mtime(entry.get(), 0, 0);
  if (archive_write_header(a, entry.get()) != ARCHIVE_OK) {
    return ArchiveError(a, name);
  }
  return absl::OkStatus();
}

absl::Status WriteContents(archive* a, const std::string& path, int64_t size) {
  FileDescriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd.valid()) {
    return ErrnoStatus(errno, path, "open");
  }
  std::string buffer(kBlockBytes, '\0');
  while (size > 0) {
    const ssize_t got =
        read(fd.get(), buffer.data(), static_cast<size_t>(std::min<int64_t>(kBlockBytes, size)));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      return got < 0 ? ErrnoStatus(errno, path, "read")
                     : absl::AbortedError(absl::StrCat(path, ": became shorter while read"));
    }
    if (archive_write_data(a, buffer.data(), static_cast<size_t>(got)) != got) {
      return ArchiveError(a, path);
    }
    size -= got;
  }
  return absl::OkStatus();
}

absl::Status WriteEntries(archive* a, const std::string& directory,
                          const std::vector<std::pair<std::string, struct stat>>& entries) {
  CONCUR_RETURN_IF_ERROR(WriteHeader(a, kRoot, true, false, 0));
  for (const auto& [name, info] : entries) {
    const bool is_directory = S_ISDIR(info.st_mode);
    CONCUR_RETURN_IF_ERROR(WriteHeader(a, absl::StrCat(kRoot, name), is_directory,
                                       (info.st_mode & S_IXUSR) != 0,
                                       is_directory ? 0 : info.st_size));
    if (!is_directory) {
      CONCUR_RETURN_IF_ERROR(WriteContents(a, absl::StrCat(directory, "/", name), info.st_size));
    }
  }
  return archive_write_close(a) == ARCHIVE_OK ? absl::OkStatus() : ArchiveError(a, "close tar");
}

// The path below the root that an entry names. DataLoss when it could lie elsewhere.
absl::StatusOr<std::string> SafeName(absl::string_view name, const std::string& tar_path) {
  absl::string_view rest = name;
  bool safe = absl::ConsumePrefix(&rest, kRoot);
  rest = absl::StripSuffix(rest, "/");
  if (safe && !rest.empty()) {
    for (const absl::string_view part : absl::StrSplit(rest, '/')) {
      safe = safe && !part.empty() && part != "." && part != "..";
    }
  }
  if (!safe) {
    return absl::DataLossError(
        absl::StrCat(tar_path, ": entry \"", name, "\" would lie outside the directory"));
  }
  return std::string(rest);
}

absl::Status ExtractFile(archive* a, const std::string& path, bool executable) {
  // Folders come from this tar alone and no link is ever made, so O_EXCL keeps writes inside.
  FileDescriptor fd(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                         executable ? 0755 : 0644));
  if (!fd.valid()) {
    return ErrnoStatus(errno, path, "create");
  }
  std::string buffer(kBlockBytes, '\0');
  for (;;) {
    const la_ssize_t got = archive_read_data(a, buffer.data(), buffer.size());
    if (got < 0) {
      return absl::DataLossError(ArchiveError(a, path).message());
    }
    if (got == 0) {
      return absl::OkStatus();
    }
    CONCUR_RETURN_IF_ERROR(
        WriteAll(fd.get(), absl::string_view(buffer.data(), static_cast<size_t>(got)), path));
  }
}

}  // namespace

absl::Status WriteDirectoryTar(const std::string& directory,
                               const std::function<absl::Status(absl::string_view)>& sink) {
  std::vector<std::pair<std::string, struct stat>> entries;
  CONCUR_RETURN_IF_ERROR(List(directory, "", entries));
  std::sort(entries.begin(), entries.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  Sink state{&sink, absl::OkStatus()};
  ArchivePtr a(archive_write_new());
  // GNU's format: long names and large files like pax, but names stay bytes in any locale.
  archive_write_set_format_gnutar(a.get());
  archive_write_add_filter_none(a.get());
  archive_write_set_bytes_per_block(a.get(), kBlockBytes);
  archive_write_set_bytes_in_last_block(a.get(), 1);
  if (archive_write_open(a.get(), &state, nullptr, WriteToSink, nullptr) != ARCHIVE_OK) {
    return ArchiveError(a.get(), "open tar");
  }
  const absl::Status status = WriteEntries(a.get(), directory, entries);
  return state.status.ok() ? status : state.status;
}

absl::StatusOr<bool> IsDirectoryTar(const std::string& path) {
  FileDescriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) {
    return ErrnoStatus(errno, path, "open");
  }
  // The name field of a tar header: the root's name and its final NUL.
  char name[sizeof kRoot] = {};
  const ssize_t got = read(fd.get(), name, sizeof name);
  return got == static_cast<ssize_t>(sizeof name) &&
         absl::string_view(name, sizeof name) == absl::string_view(kRoot, sizeof kRoot);
}

absl::Status ExtractDirectoryTar(const std::string& tar_path, const std::string& directory) {
  ArchivePtr a(archive_read_new());
  archive_read_support_format_tar(a.get());
  if (archive_read_open_filename(a.get(), tar_path.c_str(), kBlockBytes) != ARCHIVE_OK) {
    return absl::DataLossError(ArchiveError(a.get(), tar_path).message());
  }
  if (mkdir(directory.c_str(), 0755) != 0) {
    return ErrnoStatus(errno, directory, "make directory");
  }
  archive_entry* entry = nullptr;
  for (int64_t count = 0;; ++count) {
    const int code = archive_read_next_header(a.get(), &entry);
    if (code == ARCHIVE_EOF) {
      return absl::OkStatus();
    }
    if (code != ARCHIVE_OK || count > kTarEntriesMax) {
      return absl::DataLossError(ArchiveError(a.get(), tar_path).message());
    }
    const char* raw_name = archive_entry_pathname(entry);
    CONCUR_ASSIGN_OR_RETURN(const std::string name,
                            SafeName(raw_name == nullptr ? "" : raw_name, tar_path));
    const std::string path = absl::StrCat(directory, "/", name);
    const auto type = archive_entry_filetype(entry);
    if (archive_entry_hardlink(entry) != nullptr || (type != AE_IFREG && type != AE_IFDIR)) {
      return absl::DataLossError(
          absl::StrCat(tar_path, ": entry \"", name, "\" is not a plain file or folder"));
    }
    if (type == AE_IFREG) {
      CONCUR_RETURN_IF_ERROR(
          ExtractFile(a.get(), path, (archive_entry_perm(entry) & S_IXUSR) != 0));
    } else if (!name.empty() && mkdir(path.c_str(), 0755) != 0) {
      return ErrnoStatus(errno, path, "make directory");
    }
  }
}

}  // namespace concur::worker
