// SPDX-License-Identifier: Apache-2.0
// The bytes of a data file, whether it is gzipped or not.
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

// The file's bytes, unpacked when they start with gzip's magic number (any number of members),
// followed by kRawPadding zero bytes that are not part of the contents. DataLoss when the gzip
// stream is damaged, ends early or is followed by other bytes; ResourceExhausted above
// `bytes_max`; otherwise as RawStream.
absl::StatusOr<std::string> ReadRawBytes(const std::string& path, int64_t bytes_max);

}  // namespace concur::qa

#endif  // CONCUR_QA_RAW_BYTES_H_
