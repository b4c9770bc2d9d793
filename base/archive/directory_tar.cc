// SPDX-License-Identifier: Apache-2.0
#include "base/archive/directory_tar.h"

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

struct Listed {
  std::string name;  // relative to the directory
  struct stat info {};
  std::string target;  // a link's target, in the form that StaysInside accepts
};

// A link's target is folders up, then names: "../../blobs/ab12". Then it stays inside also where a
// name is another such link, for nothing goes up behind a name. `name` is the link's own.
bool StaysInside(absl::string_view name, absl::string_view target) {
  if (target == ".") {
    return true;
  }
  auto folders_left = std::count(name.begin(), name.end(), '/');
  bool goes_up = true;
  for (const absl::string_view part : absl::StrSplit(target, '/')) {
    goes_up = goes_up && part == "..";
    if (part.empty() || part == "." || (goes_up ? --folders_left < 0 : part == "..")) {
      return false;
    }
  }
  return true;
}

// The target of the link at `path` from its folder, with all links followed; "" when it leads out
// of `root` or to itself. The target need not exist.
std::string TargetInside(const std::filesystem::path& path, const std::filesystem::path& root,
                         const std::string& name) {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::canonical(path.parent_path(), error);
  const std::filesystem::path to = std::filesystem::weakly_canonical(
      error ? path : folder / std::filesystem::read_symlink(path, error), error);
  std::string target = error ? "" : to.lexically_relative(folder).string();
  const std::string from_root = error ? "" : to.lexically_relative(root).string();
  const bool is_inside = !from_root.empty() && from_root != ".." &&
                         !absl::StartsWith(from_root, "../") && StaysInside(name, target);
  return is_inside ? target : "";
}

// "last.ckpt, a link to /scratch/step9.ckpt".
std::string Described(const std::string& path, const std::string& name, mode_t mode) {
  std::error_code error;
  return S_ISLNK(mode) ? absl::StrCat(name, ", a symbolic link to ",
                                      std::filesystem::read_symlink(path, error).string())
                       : absl::StrCat(name, ", a special file");
}

// Adds what is below `directory`, and describes in `left_out` what a tar cannot have.
absl::Status List(const std::filesystem::path& directory, const std::filesystem::path& root,
                  const std::string& prefix, std::vector<Listed>& entries,
                  std::vector<std::string>& left_out) {
  std::error_code error;
  for (std::filesystem::directory_iterator it(directory, error), end; !error && it != end;
       it.increment(error)) {
    const std::string path = it->path().string();
    Listed entry;
    entry.name = absl::StrCat(prefix, it->path().filename().string());
    if (lstat(path.c_str(), &entry.info) != 0) {
      return ErrnoStatus(errno, path, "stat");
    }
    const mode_t mode = entry.info.st_mode;
    if (S_ISLNK(mode)) {
      entry.target = TargetInside(it->path(), root, entry.name);
    }
    if (static_cast<int64_t>(entries.size() + left_out.size()) >= kTarEntriesMax) {
      return absl::InvalidArgumentError(
          absl::StrCat(directory.string(), ": more than ", kTarEntriesMax, " files and folders"));
    }
    if (!S_ISREG(mode) && !S_ISDIR(mode) && entry.target.empty()) {
      left_out.push_back(Described(path, entry.name, mode));
      continue;
    }
    entries.push_back(std::move(entry));
    if (S_ISDIR(mode)) {
      CONCUR_RETURN_IF_ERROR(
          List(it->path(), root, absl::StrCat(entries.back().name, "/"), entries, left_out));
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
  // Folders come from this tar alone and links are made last, so O_EXCL keeps writes inside.
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
  absl::Status status;  // latest result of the sink
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

absl::Status DirectoryTarWriter::AddLink(const std::string& name, const std::string& target) {
  EntryPtr entry(archive_entry_new());
  archive_entry_set_pathname(entry.get(), absl::StrCat(kRoot, name).c_str());
  archive_entry_set_filetype(entry.get(), AE_IFLNK);
  archive_entry_set_symlink(entry.get(), target.c_str());
  archive_entry_set_perm(entry.get(), 0777);
  archive_entry_set_mtime(entry.get(), 0, 0);
  return archive_write_header(state_->tar.get(), entry.get()) == ARCHIVE_OK ? absl::OkStatus()
                                                                            : Error(name);
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

absl::Status WriteDirectoryTar(const std::string& directory, const DirectoryTarWriter::Sink& sink,
                               std::vector<std::string>* left_out) {
  std::error_code error;
  const std::filesystem::path root = std::filesystem::canonical(directory, error);
  if (error) {
    return ErrnoStatus(error.value(), directory, "open");
  }
  std::vector<Listed> entries;
  std::vector<std::string> unfit;
  CONCUR_RETURN_IF_ERROR(List(directory, root, "", entries, unfit));
  std::sort(unfit.begin(), unfit.end());
  if (left_out != nullptr) {
    *left_out = std::move(unfit);
  } else if (!unfit.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(directory, ": expected files, folders and links that stay inside, got ",
                     unfit[0], "; write a copy instead"));
  }
  std::sort(entries.begin(), entries.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  CONCUR_ASSIGN_OR_RETURN(const auto writer, DirectoryTarWriter::Open(sink));
  for (const auto& [name, info, target] : entries) {
    if (S_ISDIR(info.st_mode)) {
      CONCUR_RETURN_IF_ERROR(writer->AddFolder(name));
    } else if (S_ISLNK(info.st_mode)) {
      CONCUR_RETURN_IF_ERROR(writer->AddLink(name, target));
    } else {
      CONCUR_RETURN_IF_ERROR(writer->AddFile(name, (info.st_mode & S_IXUSR) != 0, info.st_size));
      CONCUR_RETURN_IF_ERROR(AppendFile(*writer, absl::StrCat(directory, "/", name), info.st_size));
    }
  }
  return writer->Finish();
}

std::string FindLinkOut(const std::string& directory) {
  // Whoever writes there may make it as deep, or as large, as they like.
  constexpr int kDepthMax = 50;
  constexpr int kEntriesMax = 100'000;
  std::error_code error;
  if (!std::filesystem::is_directory(std::filesystem::symlink_status(directory, error))) {
    return "";
  }
  const std::filesystem::path root = std::filesystem::canonical(directory, error);
  std::filesystem::recursive_directory_iterator it(root, error);
  for (int entries = 0;
       !error && entries < kEntriesMax && it != std::filesystem::recursive_directory_iterator();
       it.increment(error), ++entries) {
    if (it.depth() >= kDepthMax) {
      it.disable_recursion_pending();
    }
    const std::string name = it->path().lexically_relative(root).string();
    if (it->is_symlink(error) && TargetInside(it->path(), root, name).empty()) {
      return Described(it->path().string(), name, S_IFLNK);
    }
  }
  return "";
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
  std::vector<std::pair<std::string, std::string>> links;  // path and target
  for (;;) {
    const int code = archive_read_next_header(a.get(), &entry);
    if (code == ARCHIVE_EOF) {
      break;
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
    const char* raw_target = archive_entry_symlink(entry);
    const std::string target = raw_target == nullptr ? "" : raw_target;
    const bool is_link = type == AE_IFLNK && !name.empty() && StaysInside(name, target);
    if (archive_entry_hardlink(entry) != nullptr ||
        (type != AE_IFREG && type != AE_IFDIR && !is_link)) {
      return absl::DataLossError(
          absl::StrCat(tar_path, ": entry \"", name,
                       "\" is not a plain file, a folder, or a link that stays inside"));
    }
    if (is_link) {
      links.emplace_back(path, target);
    } else if (type == AE_IFREG) {
      CONCUR_RETURN_IF_ERROR(ExtractFile(a.get(), path, (archive_entry_perm(entry) & S_IXUSR) != 0,
                                         limits.bytes_max, &bytes));
    } else if (!name.empty() && mkdir(path.c_str(), 0755) != 0) {
      return ErrnoStatus(errno, path, "make directory");
    }
  }
  for (const auto& [path, target] : links) {
    if (symlink(target.c_str(), path.c_str()) != 0) {
      return ErrnoStatus(errno, path, "link");
    }
  }
  return absl::OkStatus();
}

}  // namespace concur
