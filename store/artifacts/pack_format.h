// SPDX-License-Identifier: Apache-2.0
// The format of a pack: a file of small artifacts, one record after another.
//
// A record is a header of 64 bytes, the artifact's bytes, and zeros up to a multiple of 8. Numbers
// are little-endian:
//
//    0  8  "cncupack", or "cncugone" once the artifact was removed
//    8  8  the first bytes of the SHA-256 of all that follows in the header
//   16  4  where the record begins in its file
//   20  4  how many bytes of the file were synced when the record was written
//   24  4  the artifact's size
//   28  4  zero
//   32 32  the artifact's SHA-256
//
// Functions are thread-safe (stateless).
#ifndef CONCUR_STORE_ARTIFACTS_PACK_FORMAT_H_
#define CONCUR_STORE_ARTIFACTS_PACK_FORMAT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/digest.h"

namespace concur {

inline constexpr uint32_t kPackHeaderBytes = 64;
// Larger artifacts are files of their own.
inline constexpr uint32_t kPackedBytesMax = uint32_t{64} << 10;
// A pack that has as many bytes gets no further record.
inline constexpr uint32_t kPackBytesMax = uint32_t{64} << 20;

// Fields of a record's header.
struct PackRecord {
  Digest digest;
  uint32_t offset = 0;
  uint32_t synced = 0;
  uint32_t size = 0;  // bytes of the artifact
  bool removed = false;
};

// Bytes of the file that a record of an artifact of `size` bytes takes.
uint32_t PackRecordBytes(uint32_t size);
std::string FormatPackHeader(const PackRecord& record);
// The whole record. REQUIRES: `data` has record.size bytes.
std::string FormatPackRecord(const PackRecord& record, absl::string_view data);
// Nullopt unless these are the 64 bytes of a header that was written at `offset`.
std::optional<PackRecord> ParsePackHeader(absl::string_view header, uint32_t offset);

// The records of a pack from some place on.
struct PackScan {
  std::vector<PackRecord> records;  // removed ones too; each lies in the file as a whole
  // Where a later scan begins: the first place from which a record cannot be read, as where a
  // writer is about to write one, or the file's end.
  uint32_t next = 0;
  bool is_damaged = false;  // something is there that is no record: damage, or what a crash left
};

// Reads the headers of an open file from `begin` on, a place where a record begins. Damage, as of
// blocks that the disk cannot give back, is skipped: the next header counts again. Records that may
// not have been synced, and those after damage, are left out unless their bytes match their digest.
// Takes at most 128 KiB of memory beside the result. Errors are those of reading.
absl::StatusOr<PackScan> ScanPack(int fd, const std::string& path, uint32_t begin);

// Up to `bytes` bytes at `offset`: fewer at the file's end.
absl::StatusOr<std::string> ReadPackBytes(int fd, const std::string& path, uint32_t offset,
                                          uint32_t bytes);

// Writes all of `data` at `offset`.
absl::Status WritePackBytes(int fd, const std::string& path, uint32_t offset,
                            absl::string_view data);
// Marks the record at `offset` as removed.
absl::Status MarkRemoved(int fd, const std::string& path, uint32_t offset);

}  // namespace concur

#endif  // CONCUR_STORE_ARTIFACTS_PACK_FORMAT_H_
