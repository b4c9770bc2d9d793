// SPDX-License-Identifier: Apache-2.0
#include "qa/raw_stream.h"

#include <archive.h>
#include <archive_entry.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/utf8.h"

namespace concur::qa {
namespace {

constexpr size_t kReadBytes = size_t{1} << 18;
constexpr absl::string_view kGzipMagic = "\x1f\x8b";
constexpr absl::string_view kXzMagic = "\xFD\x37zXZ";
constexpr absl::string_view kZstdMagic = "\x28\xB5\x2F\xFD";
constexpr absl::string_view kBzip2Block = "1AY&SY";  // behind "BZh" and a digit
constexpr absl::string_view kByteOrderMark = "\xEF\xBB\xBF";

class PlainStream : public RawStream {
 public:
  PlainStream(std::string path, FileDescriptor fd, int64_t file_bytes)
      : path_(std::move(path)),
        fd_(std::move(fd)),
        file_bytes_(file_bytes),
        // One byte more finds the end; 0 bytes may be those of a file of /proc.
        block_(
            file_bytes > 0 ? std::min(kReadBytes, static_cast<size_t>(file_bytes) + 1) : kReadBytes,
            '\0') {}

  absl::StatusOr<absl::string_view> Next() override {
    ssize_t got = 0;
    do {
      got = read(fd_.get(), block_.data(), block_.size());
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
      return ErrnoStatus(errno, path_, "read");
    }
    return absl::string_view(block_).substr(0, static_cast<size_t>(got));
  }
  int64_t file_bytes() const override { return file_bytes_; }

 private:
  const std::string path_;
  const FileDescriptor fd_;
  const int64_t file_bytes_;
  std::string block_;
};

absl::Status CheckRatio(absl::string_view path, int64_t used, int64_t made) {
  if (made <= kUnpackedFreeBytes || made / kUnpackedRatioMax <= used) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(path, ": unpacks to more than ", kUnpackedRatioMax,
                                                 " times its size (", made, " bytes of ", used,
                                                 "); if it is meant to, give it unpacked"));
}

class GzipStream : public RawStream {
 public:
  GzipStream(std::string path, std::unique_ptr<RawStream> packed)
      : path_(std::move(path)), packed_(std::move(packed)), block_(kReadBytes, '\0') {}
  ~GzipStream() override {
    if (ready_) {
      inflateEnd(&stream_);
    }
  }
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;

  bool Init() {
    ready_ = inflateInit2(&stream_, 15 + 16) == Z_OK;
    return ready_;
  }

  absl::StatusOr<absl::string_view> Next() override {
    while (true) {
      if (input_.empty()) {
        CONCUR_ASSIGN_OR_RETURN(input_, packed_->Next());
      }
      if (input_.empty()) {
        return EndOfInput();
      }
      if (between_members_) {
        CONCUR_RETURN_IF_ERROR(StartMember());
      }
      stream_.next_in =
          reinterpret_cast<Bytef*>(const_cast<char*>(input_.data()));  // zlib reads only
      stream_.avail_in = static_cast<uInt>(input_.size());
      stream_.next_out = reinterpret_cast<Bytef*>(block_.data());
      stream_.avail_out = static_cast<uInt>(block_.size());
      const int code = inflate(&stream_, Z_NO_FLUSH);
      used_ += static_cast<int64_t>(input_.size() - stream_.avail_in);
      input_.remove_prefix(input_.size() - stream_.avail_in);
      if (code != Z_OK && code != Z_BUF_ERROR && code != Z_STREAM_END) {
        return absl::DataLossError(absl::StrCat(path_, ": gzip: damaged", AtByte(), ": ",
                                                stream_.msg == nullptr ? "bad data" : stream_.msg,
                                                "; fetch or build it again"));
      }
      between_members_ = code == Z_STREAM_END;
      if (const size_t made = block_.size() - stream_.avail_out; made > 0) {
        made_ += static_cast<int64_t>(made);
        CONCUR_RETURN_IF_ERROR(CheckRatio(path_, used_, made_));
        return absl::string_view(block_).substr(0, made);
      }
    }
  }
  int64_t file_bytes() const override { return packed_->file_bytes(); }

 private:
  std::string AtByte() const {
    return absl::StrCat(" at byte ", used_, " of ", packed_->file_bytes());
  }
  absl::StatusOr<absl::string_view> EndOfInput() const {
    if (!between_members_) {
      return absl::DataLossError(absl::StrCat(path_, ": gzip: the file ends early (after ", used_,
                                              " bytes); fetch or build it again"));
    }
    return absl::string_view();
  }
  // If a block ends inside the magic number, inflate checks its second byte.
  absl::Status StartMember() {
    if (!absl::StartsWith(kGzipMagic, input_.substr(0, kGzipMagic.size()))) {
      return absl::DataLossError(
          absl::StrCat(path_, ": gzip: expected the end of the file or another gzip member",
                       AtByte(), ", found other bytes"));
    }
    inflateReset(&stream_);
    between_members_ = false;
    return absl::OkStatus();
  }

  const std::string path_;
  const std::unique_ptr<RawStream> packed_;
  z_stream stream_{};
  bool ready_ = false;
  absl::string_view input_;
  int64_t used_ = 0;
  int64_t made_ = 0;
  bool between_members_ = false;
  std::string block_;
};

// xz, bzip2 and zstd. For gzip zlib is used, which checks the sums that libarchive ignores.
class ArchiveStream : public RawStream {
 public:
  ArchiveStream(std::string path, FileDescriptor fd, int64_t file_bytes)
      : path_(std::move(path)), fd_(std::move(fd)), file_bytes_(file_bytes) {}

  absl::Status Init() {
    archive* a = archive_.get();
    archive_read_support_format_raw(a);
    // Anything but ARCHIVE_OK: libarchive would run a program of that name.
    for (const int code : {archive_read_support_filter_xz(a), archive_read_support_filter_bzip2(a),
                           archive_read_support_filter_zstd(a)}) {
      if (code != ARCHIVE_OK) {
        return absl::UnimplementedError(
            absl::StrCat(path_, ": this program reads gzip only; give the file unpacked"));
      }
    }
    archive_entry* entry = nullptr;
    return archive_read_open_fd(a, fd_.get(), kReadBytes) == ARCHIVE_OK &&
                   archive_read_next_header(a, &entry) == ARCHIVE_OK
               ? absl::OkStatus()
               : Damaged();
  }

  absl::StatusOr<absl::string_view> Next() override {
    const la_ssize_t got = archive_read_data(archive_.get(), block_.data(), block_.size());
    if (got < 0 || (got == 0 && archive_filter_bytes(archive_.get(), -1) < file_bytes_)) {
      return Damaged();
    }
    made_ += got;
    CONCUR_RETURN_IF_ERROR(CheckRatio(path_, archive_filter_bytes(archive_.get(), -1), made_));
    return absl::string_view(block_).substr(0, static_cast<size_t>(got));
  }
  int64_t file_bytes() const override { return file_bytes_; }

 private:
  struct Free {
    void operator()(archive* reader) const { archive_read_free(reader); }
  };

  absl::Status Damaged() const {
    const char* reason = archive_error_string(archive_.get());
    return absl::DataLossError(absl::StrCat(
        path_, ": damaged, or it ends early: ", reason == nullptr ? "bad data" : reason,
        "; fetch or build it again"));
  }

  const std::string path_;
  const FileDescriptor fd_;
  const int64_t file_bytes_;
  const std::unique_ptr<archive, Free> archive_{archive_read_new()};
  int64_t made_ = 0;
  std::string block_ = std::string(kReadBytes, '\0');
};

bool IsArchive(absl::string_view start) {
  return absl::StartsWith(start, kXzMagic) || absl::StartsWith(start, kZstdMagic) ||
         (absl::StartsWith(start, "BZh") && absl::EndsWith(start, kBzip2Block));
}

}  // namespace

absl::StatusOr<std::unique_ptr<RawStream>> RawStream::Open(const std::string& path) {
  CONCUR_ASSIGN_OR_RETURN(FileDescriptor fd, OpenRegularFile(path));
  struct stat info {};
  if (fstat(fd.get(), &info) != 0) {
    return ErrnoStatus(errno, path, "stat");
  }
  char first[10];
  const ssize_t got = pread(fd.get(), first, sizeof(first), 0);
  if (got < 0) {
    return ErrnoStatus(errno, path, "read");
  }
  const absl::string_view start(first, static_cast<size_t>(got));
  if (IsArchive(start)) {
    auto unpacked = std::make_unique<ArchiveStream>(path, std::move(fd), info.st_size);
    CONCUR_RETURN_IF_ERROR(unpacked->Init());
    return unpacked;
  }
  const bool gzip = absl::StartsWith(start, kGzipMagic);
  auto plain = std::make_unique<PlainStream>(path, std::move(fd), info.st_size);
  if (!gzip) {
    return plain;
  }
  auto unpacked = std::make_unique<GzipStream>(path, std::move(plain));
  if (!unpacked->Init()) {
    return absl::ResourceExhaustedError(absl::StrCat(path, ": gzip: out of memory"));
  }
  return unpacked;
}

absl::Status AtLine(const absl::Status& status, absl::string_view path, int64_t line) {
  absl::string_view message = status.message();
  absl::ConsumePrefix(&message, path);
  return absl::Status(status.code(), absl::StrCat(path, ":", line, message));
}

absl::StatusOr<LineReader> LineReader::Open(const std::string& path, size_t line_bytes_max) {
  CONCUR_ASSIGN_OR_RETURN(std::unique_ptr<RawStream> stream, RawStream::Open(path));
  return LineReader(path, std::move(stream), line_bytes_max);
}

std::string LineReader::place() const { return absl::StrCat(path_, ":", number_); }

absl::Status LineReader::Fill() {
  absl::StatusOr<absl::string_view> next = stream_->Next();
  if (!next.ok()) {
    return AtLine(next.status(), path_, number_);
  }
  block_ = *next;
  ended_ = block_.empty();
  return absl::OkStatus();
}

absl::StatusOr<bool> LineReader::Next() {
  joined_.clear();
  ++number_;
  while (true) {
    if (block_.empty() && !ended_) {
      CONCUR_RETURN_IF_ERROR(Fill());
    }
    const size_t end = block_.find('\n');
    const absl::string_view piece = block_.substr(0, end);
    if (joined_.size() + piece.size() > line_bytes_max_) {
      return absl::InvalidArgumentError(
          absl::StrCat(place(), ": the line has more than ", line_bytes_max_ >> 20,
                       " MiB; expected one record a line (is this file of another format?)"));
    }
    if (end != absl::string_view::npos && joined_.empty()) {
      line_ = piece;
      block_.remove_prefix(end + 1);
      break;
    }
    joined_.append(piece.data(), piece.size());
    if (end != absl::string_view::npos || ended_) {
      if (ended_ && joined_.empty()) {
        return false;
      }
      block_.remove_prefix(ended_ ? 0 : end + 1);
      line_ = joined_;
      break;
    }
    block_ = absl::string_view();
  }
  CONCUR_RETURN_IF_ERROR(CheckLine());
  return true;
}

absl::Status ForEachTextLine(const std::string& path,
                             const std::function<absl::Status(const LineReader&)>& on_line,
                             size_t line_bytes_max) {
  CONCUR_ASSIGN_OR_RETURN(LineReader lines, LineReader::Open(path, line_bytes_max));
  while (true) {
    CONCUR_ASSIGN_OR_RETURN(const bool more, lines.Next());
    if (!more) {
      return absl::OkStatus();
    }
    if (!absl::StripAsciiWhitespace(lines.line()).empty()) {
      CONCUR_RETURN_IF_ERROR(on_line(lines));
    }
  }
}

absl::Status LineReader::CheckLine() {
  if (number_ == 1) {
    if (absl::StartsWith(line_, "\xFF\xFE") || absl::StartsWith(line_, "\xFE\xFF")) {
      return absl::InvalidArgumentError(
          absl::StrCat(place(), ": expected UTF-8, found UTF-16; convert the file"));
    }
    absl::ConsumePrefix(&line_, kByteOrderMark);
  }
  absl::ConsumeSuffix(&line_, "\r");
  if (const size_t invalid = FindInvalidUtf8(line_); invalid != absl::string_view::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat(place(), ": expected UTF-8, found byte 0x",
                     absl::Hex(static_cast<unsigned char>(line_[invalid]), absl::kZeroPad2),
                     " at byte ", invalid + 1, " of the line"));
  }
  return absl::OkStatus();
}

}  // namespace concur::qa
