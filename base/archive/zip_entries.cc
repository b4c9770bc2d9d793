// SPDX-License-Identifier: Apache-2.0
#include "base/archive/zip_entries.h"

#include <archive.h>
#include <archive_entry.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/status_macros.h"

namespace concur {
namespace {

struct ZipFreer {
  void operator()(archive* zip) const { archive_read_free(zip); }
};

// The file as libarchive reads it: in blocks, with seeking.
struct ZipInput {
  FileDescriptor file;
  std::array<char, size_t{64} << 10> block;
  // Bytes that may still be read before the first entry is there: libarchive takes the whole
  // directory into memory first, and knows no limit. Negative: no limit any more.
  int64_t directory_bytes = 0;
  std::string fault;  // reading error; libarchive may replace it by what follows from it
};

la_ssize_t ReadBlock(archive* /*zip*/, void* data, const void** block) {
  auto& input = *static_cast<ZipInput*>(data);
  const ssize_t bytes = read(input.file.get(), input.block.data(), input.block.size());
  if (bytes < 0) {
    input.fault = std::string(ErrnoStatus(errno, "the file", "read").message());
    return ARCHIVE_FATAL;
  }
  if (input.directory_bytes >= 0) {
    input.directory_bytes -= bytes;
    if (input.directory_bytes < 0) {
      input.fault = "its list of entries is too long";
      return ARCHIVE_FATAL;
    }
  }
  *block = input.block.data();
  return bytes;
}

la_int64_t SeekTo(archive* /*zip*/, void* data, la_int64_t offset, int whence) {
  const off_t place = lseek(static_cast<ZipInput*>(data)->file.get(), offset, whence);
  return place < 0 ? ARCHIVE_FATAL : place;
}

class ZipEntries {
 public:
  ZipEntries(const std::string& path, const ZipLimits& limits)
      : path_(path), limits_(limits), zip_(archive_read_new()) {}

  absl::Status Open() {
    CONCUR_ASSIGN_OR_RETURN(input_.file, OpenRegularFile(path_));
    struct stat info {};
    if (fstat(input_.file.get(), &info) != 0) {
      return ErrnoStatus(errno, path_, "stat");
    }
    bytes_left_ = limits_.free_bytes + 100 * std::min<int64_t>(info.st_size, int64_t{1} << 50);
    input_.directory_bytes = limits_.directory_bytes_max;
    archive_read_support_format_zip_seekable(zip_.get());
    archive_read_set_read_callback(zip_.get(), ReadBlock);
    archive_read_set_seek_callback(zip_.get(), SeekTo);
    archive_read_set_callback_data(zip_.get(), &input_);
    return archive_read_open1(zip_.get()) == ARCHIVE_OK ? absl::OkStatus() : NoZip();
  }

  // Advances to the next entry, which name() then names; false if there is none.
  absl::StatusOr<bool> Next() {
    archive_entry* entry = nullptr;
    do {
      const int result = archive_read_next_header(zip_.get(), &entry);
      if (result == ARCHIVE_EOF) {
        return false;
      }
      // A warning is about a name that the locale does not have.
      if (result != ARCHIVE_OK && result != ARCHIVE_WARN) {
        return NoZip();
      }
      input_.directory_bytes = -1;
    } while (archive_entry_filetype(entry) != AE_IFREG);
    const char* const name = archive_entry_pathname(entry);
    name_ = name == nullptr ? "" : name;
    return true;
  }

  const std::string& name() const { return name_; }

  absl::StatusOr<std::string> Unpack() {
    std::string contents;
    const void* block = nullptr;
    size_t size = 0;
    la_int64_t offset = 0;
    int result = ARCHIVE_OK;
    while ((result = archive_read_data_block(zip_.get(), &block, &size, &offset)) == ARCHIVE_OK) {
      const auto bytes = static_cast<int64_t>(size);
      if (static_cast<int64_t>(contents.size()) + bytes > limits_.entry_bytes_max) {
        return Fault(
            absl::StrCat("expected at most ", limits_.entry_bytes_max, " bytes when unpacked"));
      }
      bytes_left_ -= bytes;
      if (bytes_left_ < 0) {
        return Fault(absl::StrCat("the archive unpacks to more than 100 times its size and ",
                                  limits_.free_bytes, " bytes"));
      }
      contents.append(static_cast<const char*>(block), size);
    }
    return result == ARCHIVE_EOF ? absl::StatusOr<std::string>(std::move(contents))
                                 : Fault(absl::StrCat("cannot be unpacked: ", Reason()));
  }

 private:
  std::string Reason() const {
    if (!input_.fault.empty()) {
      return input_.fault;
    }
    const char* const text = archive_error_string(zip_.get());
    return text == nullptr ? "unknown error" : text;
  }
  absl::Status NoZip() const {
    return absl::InvalidArgumentError(
        absl::StrCat(path_, ": expected a whole zip archive: ", Reason()));
  }
  absl::Status Fault(absl::string_view what) const {
    return absl::InvalidArgumentError(
        absl::StrCat(path_, ": ", name_.empty() ? "an entry" : OneLine(name_, 200), ": ", what));
  }

  const std::string& path_;
  const ZipLimits& limits_;
  ZipInput input_;
  const std::unique_ptr<archive, ZipFreer> zip_;
  std::string name_;
  int64_t bytes_left_ = 0;
};

}  // namespace

absl::Status ReadZipEntries(
    const std::string& path, const ZipLimits& limits,
    absl::FunctionRef<bool(absl::string_view name)> wants,
    absl::FunctionRef<absl::Status(absl::string_view name, const std::string& contents)> take) {
  ZipEntries entries(path, limits);
  CONCUR_RETURN_IF_ERROR(entries.Open());
  for (;;) {
    CONCUR_ASSIGN_OR_RETURN(const bool more, entries.Next());
    if (!more) {
      return absl::OkStatus();
    }
    if (wants(entries.name())) {
      CONCUR_ASSIGN_OR_RETURN(const std::string contents, entries.Unpack());
      CONCUR_RETURN_IF_ERROR(take(entries.name(), contents));
    }
  }
}

}  // namespace concur
