// SPDX-License-Identifier: Apache-2.0
// A data file as a stream, plain or packed by gzip, xz, bzip2 or zstd, in bounded memory: blocks of
// bytes, or lines.
//
// Thread-compatible.
#ifndef CONCUR_QA_RAW_STREAM_H_
#define CONCUR_QA_RAW_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace concur::qa {

// A file may unpack to so many times its size, and to kUnpackedFreeBytes whatever its size: a
// small file must not fill a machine's memory or disk. Texts and their annotations stay below 20
// times.
inline constexpr int64_t kUnpackedRatioMax = 100;
inline constexpr int64_t kUnpackedFreeBytes = int64_t{64} << 20;

// The suffixes of packed files.
inline constexpr absl::string_view kPackedSuffixes[] = {".gz", ".xz", ".bz2", ".zst"};

class RawStream {
 public:
  // Opens a regular file; unpacks it if it starts with the magic number of one of the four (gzip:
  // any number of members).
  static absl::StatusOr<std::unique_ptr<RawStream>> Open(const std::string& path);
  virtual ~RawStream() = default;

  // The next bytes, valid until the next call; empty at the end. DataLoss when a packed file is
  // damaged, ends early or is followed by other bytes; InvalidArgument beyond kUnpackedRatioMax.
  virtual absl::StatusOr<absl::string_view> Next() = 0;
  // Size of the file on disk.
  virtual int64_t file_bytes() const = 0;
};

// `status` of a RawStream of `path` with the line number added after the path.
absl::Status AtLine(const absl::Status& status, absl::string_view path, int64_t line);

// Lines without their ends ("\n" or "\r\n"). A byte order mark at the start is skipped.
class LineReader {
 public:
  // Default limit of a line; longer ones are an error and are not read into memory.
  static constexpr size_t kLineBytesMax = size_t{32} << 20;

  static absl::StatusOr<LineReader> Open(const std::string& path,
                                         size_t line_bytes_max = kLineBytesMax);

  // Reads the next line into line(); false at the end. InvalidArgument with path and line for a
  // line that is too long, invalid UTF-8 or UTF-16; DataLoss as RawStream.
  absl::StatusOr<bool> Next();

  // Valid until the next call of Next. REQUIRES: Next returned true.
  absl::string_view line() const { return line_; }
  int64_t number() const { return number_; }
  // "PATH:LINE", for messages.
  std::string place() const;

 private:
  LineReader(std::string path, std::unique_ptr<RawStream> stream, size_t line_bytes_max)
      : path_(std::move(path)), stream_(std::move(stream)), line_bytes_max_(line_bytes_max) {}
  absl::Status CheckLine();
  absl::Status Fill();

  std::string path_;
  std::unique_ptr<RawStream> stream_;
  size_t line_bytes_max_;
  absl::string_view block_;  // unread bytes of the stream's last block
  bool ended_ = false;
  std::string joined_;  // a line that spans several blocks
  absl::string_view line_;
  int64_t number_ = 0;
};

// Calls `on_line` with each line that is not blank; its first error ends the reading.
absl::Status ForEachTextLine(const std::string& path,
                             const std::function<absl::Status(const LineReader& lines)>& on_line,
                             size_t line_bytes_max = LineReader::kLineBytesMax);

}  // namespace concur::qa

#endif  // CONCUR_QA_RAW_STREAM_H_
