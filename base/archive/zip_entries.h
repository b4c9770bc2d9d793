// SPDX-License-Identifier: Apache-2.0
// Reads chosen entries of a zip archive, one at a time.
//
// Thread-safe (stateless).
#ifndef CONCUR_BASE_ARCHIVE_ZIP_ENTRIES_H_
#define CONCUR_BASE_ARCHIVE_ZIP_ENTRIES_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace concur {

struct ZipLimits {
  int64_t entry_bytes_max = 0;  // unpacked size of one entry
  // The list of entries, which is held in memory: room for some 400,000.
  int64_t directory_bytes_max = int64_t{32} << 20;
  // Limit of the bytes unpacked of all entries together: this, and 100 times the file.
  int64_t free_bytes = int64_t{256} << 20;
};

// Calls `take` with the contents of each file that `wants` accepts, in the order of the archive;
// others are not unpacked. A name that is not ASCII is "" to both. Names are not looked up
// anywhere, and may come twice. Stops at the first error of `take`, and returns it.
// InvalidArgument "PATH: …" or "PATH: NAME: …" for what is no whole zip archive, for an entry that
// is damaged or packed by an unknown method, and beyond the limits; else as OpenRegularFile.
absl::Status ReadZipEntries(
    const std::string& path, const ZipLimits& limits,
    absl::FunctionRef<bool(absl::string_view name)> wants,
    absl::FunctionRef<absl::Status(absl::string_view name, const std::string& contents)> take);

}  // namespace concur

#endif  // CONCUR_BASE_ARCHIVE_ZIP_ENTRIES_H_
