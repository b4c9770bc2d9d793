// SPDX-License-Identifier: Apache-2.0
// Tar files that a worker unpacks. What is wrong must be DataLoss, or an error of the file system
// such as a name that is too long; what is unpacked keeps to the limits, and packs the same twice.
#include <cstdint>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/archive/directory_tar.h"
#include "base/check.h"
#include "tests/fuzz/fuzz.h"

namespace {

constexpr concur::TarLimits kLimits = {.entries_max = 100, .bytes_max = 100'000};

std::string PackedAgain(const std::string& directory) {
  std::string tar;
  CONCUR_CHECK_OK(concur::WriteDirectoryTar(directory, [&tar](absl::string_view data) {
    tar.append(data.data(), data.size());
    return absl::OkStatus();
  }));
  return tar;
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string& path = concur::testing::FileWith(concur::testing::Text(data, size));
  const std::string out = absl::StrCat(path, ".d");
  const absl::Status status = concur::ExtractDirectoryTar(path, out, kLimits);
  int64_t entries = 0;
  int64_t bytes = 0;
  if (std::filesystem::exists(out)) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(out)) {
      CONCUR_CHECK(!entry.is_symlink() && (entry.is_regular_file() || entry.is_directory()));
      bytes += entry.is_regular_file() ? static_cast<int64_t>(entry.file_size()) : 0;
      ++entries;
    }
  }
  CONCUR_CHECK(entries <= kLimits.entries_max && bytes <= kLimits.bytes_max);
  if (status.ok()) {
    CONCUR_CHECK(PackedAgain(out) == PackedAgain(out));
  } else {
    CONCUR_CHECK(!status.message().empty());
  }
  std::filesystem::remove_all(out);
  return 0;
}
