// SPDX-License-Identifier: Apache-2.0
// The bytes of a data file, packed (RawStream) or not.
//
// Thread-safe (stateless).
#ifndef CONCUR_QA_RAW_BYTES_H_
#define CONCUR_QA_RAW_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace concur::qa {

// Zero bytes that ReadRawBytes appends, as simdjson reads beyond the text.
inline constexpr size_t kRawPadding = 64;

// The file's bytes, unpacked. ResourceExhausted above `bytes_max`; otherwise as RawStream.
absl::StatusOr<std::string> ReadUnpacked(const std::string& path, int64_t bytes_max);

// Followed by kRawPadding zero bytes that are not part of the contents.
absl::StatusOr<std::string> ReadRawBytes(const std::string& path, int64_t bytes_max);

}  // namespace concur::qa

#endif  // CONCUR_QA_RAW_BYTES_H_
