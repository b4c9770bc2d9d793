// SPDX-License-Identifier: Apache-2.0
#include "archive/directory_tar.h"

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

namespace concur {
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
          path, ": expected plain files and folders only, got a ",
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

// Appends what the file holds, which must be `size` bytes at least.
absl::Status AppendFile(DirectoryTarWriter& writer, const std::string& path, int64_t size) {
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
    CONCUR_RETURN_IF_ERROR(
        writer.Append(absl::string_view(buffer.data(), static_cast<size_t>(got))));
    size -= got;
  }
  return absl::OkStatus();
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

// Adds what the file holds to `bytes`.
absl::Status ExtractFile(archive* a, const std::string& path, bool executable, int64_t bytes_max,
                         int64_t* bytes) {
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
    *bytes += got;
    if (*bytes > bytes_max) {
      return absl::DataLossError(
          absl::StrCat(path, ": the tar holds more than ", bytes_max, " bytes"));
    }
    CONCUR_RETURN_IF_ERROR(
        WriteAll(fd.get(), absl::string_view(buffer.data(), static_cast<size_t>(got)), path));
  }
}

}  // namespace

struct DirectoryTarWriter::State {
  static la_ssize_t Write(archive* a, void* data, const void* buffer, size_t size) {
    auto* state = static_cast<State*>(data);
    state->status = state->sink(absl::string_view(static_cast<const char*>(buffer), size));
    if (!state->status.ok()) {
      archive_set_error(a, EIO, "sink");
      return -1;
    }
    return static_cast<la_ssize_t>(size);
  }

  Sink sink;
  absl::Status status;  // of the sink
  ArchivePtr tar;       // goes first, and may still write
};

DirectoryTarWriter::DirectoryTarWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
DirectoryTarWriter::~DirectoryTarWriter() = default;

absl::Status DirectoryTarWriter::Error(absl::string_view what) const {
  return state_->status.ok() ? ArchiveError(state_->tar.get(), what) : state_->status;
}

absl::StatusOr<std::unique_ptr<DirectoryTarWriter>> DirectoryTarWriter::Open(Sink sink) {
  auto state = std::make_unique<State>();
  state->sink = std::move(sink);
  state->tar.reset(archive_write_new());
  archive* a = state->tar.get();
  // GNU's format: long names and large files like pax, but names stay bytes in any locale.
  archive_write_set_format_gnutar(a);
  archive_write_add_filter_none(a);
  archive_write_set_bytes_per_block(a, kBlockBytes);
  archive_write_set_bytes_in_last_block(a, 1);
  State* data = state.get();
  std::unique_ptr<DirectoryTarWriter> writer(new DirectoryTarWriter(std::move(state)));
  if (archive_write_open(a, data, nullptr, State::Write, nullptr) != ARCHIVE_OK) {
    return writer->Error("open tar");
  }
  CONCUR_RETURN_IF_ERROR(writer->AddEntry("", /*is_folder=*/true, /*is_executable=*/false, 0));
  return writer;
}

absl::Status DirectoryTarWriter::AddEntry(const std::string& name, bool is_folder,
                                          bool is_executable, int64_t bytes) {
  EntryPtr entry(archive_entry_new());
  archive_entry_set_pathname(entry.get(), absl::StrCat(kRoot, name).c_str());
  archive_entry_set_filetype(entry.get(), is_folder ? AE_IFDIR : AE_IFREG);
  archive_entry_set_perm(entry.get(), is_folder || is_executable ? 0755 : 0644);
  archive_entry_set_size(entry.get(), bytes);
  archive_entry_set_mtime(entry.get(), 0, 0);
  return archive_write_header(state_->tar.get(), entry.get()) == ARCHIVE_OK ? absl::OkStatus()
                                                                            : Error(name);
}

absl::Status DirectoryTarWriter::AddFolder(const std::string& name) {
  return AddEntry(name, /*is_folder=*/true, /*is_executable=*/false, 0);
}

absl::Status DirectoryTarWriter::AddFile(const std::string& name, bool is_executable,
                                         int64_t bytes) {
  return AddEntry(name, /*is_folder=*/false, is_executable, bytes);
}

absl::Status DirectoryTarWriter::Append(absl::string_view data) {
  return archive_write_data(state_->tar.get(), data.data(), data.size()) ==
                 static_cast<la_ssize_t>(data.size())
             ? absl::OkStatus()
             : Error("write tar");
}

absl::Status DirectoryTarWriter::Finish() {
  return archive_write_close(state_->tar.get()) == ARCHIVE_OK ? absl::OkStatus()
                                                              : Error("close tar");
}

absl::Status WriteDirectoryTar(const std::string& directory, const DirectoryTarWriter::Sink& sink) {
  std::vector<std::pair<std::string, struct stat>> entries;
  CONCUR_RETURN_IF_ERROR(List(directory, "", entries));
  std::sort(entries.begin(), entries.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  CONCUR_ASSIGN_OR_RETURN(const auto writer, DirectoryTarWriter::Open(sink));
  for (const auto& [name, info] : entries) {
    if (S_ISDIR(info.st_mode)) {
      CONCUR_RETURN_IF_ERROR(writer->AddFolder(name));
      continue;
    }
    CONCUR_RETURN_IF_ERROR(writer->AddFile(name, (info.st_mode & S_IXUSR) != 0, info.st_size));
    CONCUR_RETURN_IF_ERROR(AppendFile(*writer, absl::StrCat(directory, "/", name), info.st_size));
  }
  return writer->Finish();
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

absl::Status ExtractDirectoryTar(const std::string& tar_path, const std::string& directory,
                                 const TarLimits& limits) {
  ArchivePtr a(archive_read_new());
  archive_read_support_format_tar(a.get());
  if (archive_read_open_filename(a.get(), tar_path.c_str(), kBlockBytes) != ARCHIVE_OK) {
    return absl::DataLossError(ArchiveError(a.get(), tar_path).message());
  }
  if (mkdir(directory.c_str(), 0755) != 0) {
    return ErrnoStatus(errno, directory, "make directory");
  }
  archive_entry* entry = nullptr;
  int64_t entries = 0;
  int64_t bytes = 0;
  for (;;) {
    const int code = archive_read_next_header(a.get(), &entry);
    if (code == ARCHIVE_EOF) {
      return absl::OkStatus();
    }
    if (code != ARCHIVE_OK) {
      return absl::DataLossError(ArchiveError(a.get(), tar_path).message());
    }
    const char* raw_name = archive_entry_pathname(entry);
    CONCUR_ASSIGN_OR_RETURN(const std::string name,
                            SafeName(raw_name == nullptr ? "" : raw_name, tar_path));
    entries += name.empty() ? 0 : 1;
    if (entries > limits.entries_max) {
      return absl::DataLossError(
          absl::StrCat(tar_path, ": more than ", limits.entries_max, " files and folders"));
    }
    const std::string path = absl::StrCat(directory, "/", name);
    const auto type = archive_entry_filetype(entry);
    if (archive_entry_hardlink(entry) != nullptr || (type != AE_IFREG && type != AE_IFDIR)) {
      return absl::DataLossError(
          absl::StrCat(tar_path, ": entry \"", name, "\" is not a plain file or folder"));
    }
    if (type == AE_IFREG) {
      CONCUR_RETURN_IF_ERROR(ExtractFile(a.get(), path, (archive_entry_perm(entry) & S_IXUSR) != 0,
                                         limits.bytes_max, &bytes));
    } else if (!name.empty() && mkdir(path.c_str(), 0755) != 0) {
      return ErrnoStatus(errno, path, "make directory");
    }
  }
}

}  // namespace concur
