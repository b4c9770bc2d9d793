// SPDX-License-Identifier: Apache-2.0
// Bytes of artifacts. What is put is read as it was; bytes that lie under another digest are
// DataLoss, and never served; and any bytes are a store's id or an error when it is opened.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "store/artifacts/directory_store.h"
#include "tests/fuzz/fuzz.h"
#include "tests/testing/read_artifact.h"

namespace {

void Write(const std::string& path, absl::string_view text) {
  std::filesystem::remove(path);
  std::ofstream(path, std::ios::binary)
      .write(text.data(), static_cast<std::streamsize>(text.size()));
}

void CheckBytes(concur::DirectoryStore& store, absl::string_view text) {
  const auto digest = store.Put(text);
  CONCUR_CHECK_OK(digest.status());
  const auto read = concur::testing::ReadArtifact(store, *digest);
  CONCUR_CHECK(read.ok() && *read == text);
  const auto other = store.Put(absl::StrCat(text, "another"));
  CONCUR_CHECK_OK(other.status());
  Write(*store.PathOf(*other), text);
  CONCUR_CHECK(absl::IsDataLoss(concur::testing::ReadArtifact(store, *other).status()));
  CONCUR_CHECK(!store.Has(*other));
  CONCUR_CHECK_OK(store.Verify(*digest));
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const concur::testing::TempDir directory;
  const absl::string_view text = concur::testing::Text(data, size);
  {
    auto store = concur::DirectoryStore::Open(directory.File("artifacts"));
    CONCUR_CHECK_OK(store.status());
    CheckBytes(**store, text);
  }
  Write(directory.File("artifacts/store-id"), text);
  const auto again = concur::DirectoryStore::Open(directory.File("artifacts"));
  CONCUR_CHECK(again.ok() || !again.status().message().empty());
  return 0;
}
