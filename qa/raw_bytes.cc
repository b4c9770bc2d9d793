// SPDX-License-Identifier: Apache-2.0
#include "qa/raw_bytes.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "qa/raw_stream.h"

namespace concur::qa {

absl::StatusOr<std::string> ReadUnpacked(const std::string& path, int64_t bytes_max) {
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<RawStream> stream, RawStream::Open(path));
  std::string bytes;
  bytes.reserve(static_cast<size_t>(std::min(stream->file_bytes(), bytes_max)) + kRawPadding);
  while (true) {
    CONCUR_ASSIGN_OR_RETURN(const absl::string_view block, stream->Next());
    if (block.empty()) {
      break;
    }
    if (static_cast<int64_t>(bytes.size() + block.size()) > bytes_max) {
      return absl::ResourceExhaustedError(absl::StrCat(path, ": holds more than the limit of ",
                                                       bytes_max, " bytes; split the file"));
    }
    bytes.append(block.data(), block.size());
  }
  return bytes;
}

absl::StatusOr<std::string> ReadRawBytes(const std::string& path, int64_t bytes_max) {
  CONCUR_ASSIGN_OR_RETURN(std::string bytes, ReadUnpacked(path, bytes_max));
  bytes.append(kRawPadding, '\0');
  return bytes;
}

}  // namespace concur::qa
