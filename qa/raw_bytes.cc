#include "qa/raw_bytes.h"

#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"

namespace concur::qa {
namespace {

bool IsGzip(absl::string_view bytes) { return absl::StartsWith(bytes, "\x1f\x8b"); }

// One inflate stream, ended with its owner.
class Inflater {
 public:
  Inflater() = default;
  ~Inflater() {
    if (ready_) {
      inflateEnd(&stream_);
    }
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  bool Init() {
    ready_ = inflateInit2(&stream_, 15 + 16) == Z_OK;
    return ready_;
  }
  z_stream& stream() { return stream_; }

 private:
  z_stream stream_{};
  bool ready_ = false;
};

absl::StatusOr<std::string> Unpack(absl::string_view packed, const std::string& path) {
  Inflater inflater;
  if (!inflater.Init()) {
    return absl::ResourceExhaustedError(absl::StrCat(path, ": gzip: out of memory"));
  }
  z_stream& stream = inflater.stream();
  std::string out;
  size_t used = 0;
  size_t filled = 0;
  const auto at_byte = [&] { return absl::StrCat(" at byte ", used, " of ", packed.size()); };
  while (true) {
    if (out.size() - filled < (size_t{1} << 16)) {
      out.resize(std::max<size_t>(out.size() * 2, std::max<size_t>(packed.size() * 4, 1 << 17)));
    }
    const size_t room = std::min<size_t>(out.size() - filled, size_t{1} << 30);
    const size_t input = std::min<size_t>(packed.size() - used, size_t{1} << 30);
    stream.next_in =
        reinterpret_cast<Bytef*>(const_cast<char*>(packed.data() + used));  // zlib reads only
    stream.avail_in = static_cast<uInt>(input);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + filled);
    stream.avail_out = static_cast<uInt>(room);
    const int code = inflate(&stream, Z_NO_FLUSH);
    used += input - stream.avail_in;
    filled += room - stream.avail_out;
    if (static_cast<int64_t>(filled) > kRawBytesMax) {
      return absl::ResourceExhaustedError(absl::StrCat(path, ": unpacks to more than the limit of ",
                                                       kRawBytesMax, " bytes; split the file"));
    }
    if (code == Z_STREAM_END) {
      if (used == packed.size()) {
        break;
      }
      if (!IsGzip(packed.substr(used))) {
        return absl::DataLossError(
            absl::StrCat(path, ": gzip: expected the end of the file or another gzip member",
                         at_byte(), ", found other bytes"));
      }
      inflateReset(&stream);
    } else if (code == Z_OK || code == Z_BUF_ERROR) {
      if (used == packed.size() && stream.avail_out != 0) {
        return absl::DataLossError(absl::StrCat(path, ": gzip: the file ends early (after ",
                                                packed.size(), " bytes); fetch or build it again"));
      }
    } else {
      return absl::DataLossError(absl::StrCat(path, ": gzip: damaged", at_byte(), ": ",
                                              stream.msg == nullptr ? "bad data" : stream.msg,
                                              "; fetch or build it again"));
    }
  }
  out.resize(filled);
  return out;
}

}  // namespace

absl::StatusOr<std::string> ReadRawBytes(const std::string& path) {
  CONCUR_ASSIGN_OR_RETURN(std::string bytes, ReadFile(path, kRawBytesMax));
  if (IsGzip(bytes)) {
    CONCUR_ASSIGN_OR_RETURN(bytes, Unpack(bytes, path));
  }
  bytes.append(kRawPadding, '\0');
  return bytes;
}

}  // namespace concur::qa
