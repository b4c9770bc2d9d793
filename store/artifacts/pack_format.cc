// SPDX-License-Identifier: Apache-2.0
#include "store/artifacts/pack_format.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/file.h"
#include "base/status_macros.h"

namespace concur {
namespace {

constexpr absl::string_view kPackMagic = "cncupack";
constexpr absl::string_view kRemovedMagic = "cncugone";
constexpr size_t kCheckedFrom = 16;
constexpr uint32_t kPackAlignment = 8;
constexpr uint32_t kLostBlockBytes = 4096;  // the least that a disk loses at a time
constexpr uint32_t kPackWindowBytes = uint32_t{16} << 10;

void PutNumber(uint32_t number, std::string& text) {
  for (int shift = 0; shift < 32; shift += 8) {
    text.push_back(static_cast<char>((number >> shift) & 0xff));
  }
}

uint32_t NumberAt(absl::string_view text, size_t at) {
  uint32_t number = 0;
  for (size_t i = 4; i > 0; --i) {
    number = number << 8 | static_cast<uint8_t>(text[at + i - 1]);
  }
  return number;
}

std::string CheckOf(absl::string_view checked) { return Sha256Of(checked).ToBytes().substr(0, 8); }

// A part of a file, of which the next few headers are read at once.
class PackWindow {
 public:
  PackWindow(int fd, const std::string& path) : fd_(fd), path_(path) {}

  // Fewer bytes at the file's end. Valid until the next call.
  absl::StatusOr<absl::string_view> At(uint32_t offset, uint32_t bytes) {
    if (offset < begin_ || offset + bytes > begin_ + text_.size()) {
      absl::StatusOr<std::string> text =
          ReadPackBytes(fd_, path_, offset, std::max(bytes, kPackWindowBytes));
      if (absl::IsDataLoss(text.status())) {
        text = ReadPackBytes(fd_, path_, offset, bytes);  // lost bytes may lie behind
      }
      CONCUR_RETURN_IF_ERROR(text.status());
      text_ = *std::move(text);
      begin_ = offset;
    }
    return absl::string_view(text_).substr(offset - begin_, bytes);
  }

 private:
  const int fd_;
  const std::string& path_;
  uint32_t begin_ = 0;
  std::string text_;
};

}  // namespace

uint32_t PackRecordBytes(uint32_t size) {
  return (kPackHeaderBytes + size + kPackAlignment - 1) / kPackAlignment * kPackAlignment;
}

std::string FormatPackHeader(const PackRecord& record) {
  std::string checked;
  for (const uint32_t number : {record.offset, record.synced, record.size, uint32_t{0}}) {
    PutNumber(number, checked);
  }
  checked += record.digest.ToBytes();
  return absl::StrCat(record.removed ? kRemovedMagic : kPackMagic, CheckOf(checked), checked);
}

std::string FormatPackRecord(const PackRecord& record, absl::string_view data) {
  CONCUR_CHECK(data.size() == record.size);
  std::string text = absl::StrCat(FormatPackHeader(record), data);
  text.resize(PackRecordBytes(record.size), '\0');
  return text;
}

std::optional<PackRecord> ParsePackHeader(absl::string_view header, uint32_t offset) {
  if (header.size() != kPackHeaderBytes) {
    return std::nullopt;
  }
  const absl::string_view magic = header.substr(0, kPackMagic.size());
  if (magic != kPackMagic && magic != kRemovedMagic) {
    return std::nullopt;
  }
  const absl::string_view checked = header.substr(kCheckedFrom);
  if (CheckOf(checked) != header.substr(kPackMagic.size(), 8)) {
    return std::nullopt;
  }
  PackRecord record;
  record.offset = NumberAt(header, 16);
  record.synced = NumberAt(header, 20);
  record.size = NumberAt(header, 24);
  record.digest = *Digest::FromBytes(header.substr(32));
  record.removed = magic == kRemovedMagic;
  if (record.offset != offset || record.synced > offset || record.size > kPackedBytesMax ||
      NumberAt(header, 28) != 0) {
    return std::nullopt;
  }
  return record;
}

absl::StatusOr<std::string> ReadPackBytes(int fd, const std::string& path, uint32_t offset,
                                          uint32_t bytes) {
  std::string text(bytes, '\0');
  size_t size = 0;
  while (size < bytes) {
    const ssize_t got =
        pread(fd, text.data() + size, bytes - size, static_cast<off_t>(offset + size));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return errno == EIO ? absl::DataLossError(absl::StrCat(path, ": read: input/output error"))
                          : ErrnoStatus(errno, path, "read");
    }
    if (got == 0) {
      break;
    }
    size += static_cast<size_t>(got);
  }
  text.resize(size);
  return text;
}

absl::Status WritePackBytes(int fd, const std::string& path, uint32_t offset,
                            absl::string_view data) {
  while (!data.empty()) {
    const ssize_t put = pwrite(fd, data.data(), data.size(), offset);
    if (put < 0 && errno == EINTR) {
      continue;
    }
    if (put < 0) {
      return ErrnoStatus(errno, path, "write");
    }
    data.remove_prefix(static_cast<size_t>(put));
    offset += static_cast<uint32_t>(put);
  }
  return absl::OkStatus();
}

absl::Status MarkRemoved(int fd, const std::string& path, uint32_t offset) {
  return WritePackBytes(fd, path, offset, kRemovedMagic);
}

absl::StatusOr<PackScan> ScanPack(int fd, const std::string& path, uint32_t begin) {
  struct stat info {};
  if (fstat(fd, &info) != 0) {
    return ErrnoStatus(errno, path, "stat");
  }
  // No pack is longer: whatever lies behind was not written by a store.
  constexpr uint32_t longest = kPackBytesMax + kPackHeaderBytes + kPackedBytesMax;
  const auto length = static_cast<uint32_t>(std::min<int64_t>(info.st_size, longest));
  PackWindow window(fd, path);
  PackScan scan;
  scan.next = begin;
  std::optional<uint32_t> damage;  // where the first one is
  uint32_t synced = 0;
  for (uint32_t at = begin; at + kPackHeaderBytes <= length;) {
    const absl::StatusOr<absl::string_view> header = window.At(at, kPackHeaderBytes);
    if (absl::IsDataLoss(header.status())) {
      damage = damage.value_or(at);
      at = (at / kLostBlockBytes + 1) * kLostBlockBytes;
      continue;
    }
    CONCUR_RETURN_IF_ERROR(header.status());
    const std::optional<PackRecord> record = ParsePackHeader(*header, at);
    if (!record) {
      damage = damage.value_or(at);
      at += kPackAlignment;
      continue;
    }
    scan.records.push_back(*record);
    synced = std::max(synced, record->synced);
    at += PackRecordBytes(record->size);
    scan.next = at;
  }
  absl::Status status;
  std::erase_if(scan.records, [&](const PackRecord& record) {
    const uint32_t end = record.offset + PackRecordBytes(record.size);
    bool is_whole = end <= length;
    if (is_whole && !record.removed && (end > synced || (damage && record.offset > *damage))) {
      const absl::StatusOr<absl::string_view> data =
          window.At(record.offset + kPackHeaderBytes, record.size);
      is_whole = data.ok() && Sha256Of(*data) == record.digest;
      if (!data.ok() && !absl::IsDataLoss(data.status())) {
        status.Update(data.status());
      }
    }
    if (!is_whole) {
      damage = std::min(damage.value_or(record.offset), record.offset);
    }
    return !is_whole;
  });
  CONCUR_RETURN_IF_ERROR(status);
  scan.is_damaged = damage.has_value();
  scan.next = damage.value_or(scan.next);
  return scan;
}

}  // namespace concur
