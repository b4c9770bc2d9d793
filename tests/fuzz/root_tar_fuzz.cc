// SPDX-License-Identifier: Apache-2.0
// Root file systems and OCI archives that a worker unpacks. What is wrong must be an error;
// whatever is in them, nothing outside the root changes.
#include <cstdint>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/archive/root_tar.h"
#include "base/check.h"
#include "base/file.h"
#include "tests/fuzz/fuzz.h"

namespace {

constexpr int64_t kEntriesMax = 200;
constexpr int64_t kBytesMax = 100'000;

// Only files, folders and links, which are not followed.
void CheckKinds(const std::string& root) {
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator it(root, error), end; !error && it != end;
       it.increment(error)) {
    const std::filesystem::file_status status = it->symlink_status();
    CONCUR_CHECK(std::filesystem::is_regular_file(status) ||
                 std::filesystem::is_directory(status) || std::filesystem::is_symlink(status));
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string& path = concur::testing::FileWith(concur::testing::Text(data, size));
  const std::string folder = absl::StrCat(path, ".folder");
  const std::string victim = absl::StrCat(folder, "/victim");
  std::filesystem::remove_all(folder);
  CONCUR_CHECK_OK(concur::MakeDirectories(folder));
  CONCUR_CHECK_OK(concur::WriteFileAtomically(victim, "untouched"));
  // A folder, too: an entry in the place of one removes it with all that is in it.
  const std::string kept = absl::StrCat(folder, "/kept");
  CONCUR_CHECK_OK(concur::MakeDirectories(kept));
  CONCUR_CHECK_OK(concur::WriteFileAtomically(kept + "/victim", "untouched"));
  concur::RootLimits limits;
  limits.entries_max = kEntriesMax;
  limits.bytes_max = kBytesMax;
  const auto check = [&](const absl::Status& status, const std::string& root) {
    CONCUR_CHECK(status.ok() || !status.message().empty());
    CONCUR_CHECK(*concur::ReadFile(victim) == "untouched");
    CONCUR_CHECK(*concur::ReadFile(kept + "/victim") == "untouched");
    CheckKinds(root);
  };
  const std::string of_tar = absl::StrCat(folder, "/tar");
  check(concur::ExtractRootTar(path, of_tar, limits), of_tar);
  const std::string of_image = absl::StrCat(folder, "/image");
  check(concur::ExtractOciArchive(path, absl::StrCat(folder, "/blobs"), of_image, limits).status(),
        of_image);
  CONCUR_CHECK(!std::filesystem::exists(absl::StrCat(folder, "/blobs")));
  int64_t entries = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    (void)entry;
    ++entries;
  }
  CONCUR_CHECK(entries <= 4);  // the victim, the folder and the two roots
  // Folders may have no rights.
  for (std::filesystem::recursive_directory_iterator it(folder), end; it != end; ++it) {
    if (it->is_directory() && !it->is_symlink()) {
      std::filesystem::permissions(it->path(), std::filesystem::perms::owner_all,
                                   std::filesystem::perm_options::add);
    }
  }
  std::filesystem::remove_all(folder);
  return 0;
}
