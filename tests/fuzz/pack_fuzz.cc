// SPDX-License-Identifier: Apache-2.0
// Packs of any bytes. What is listed has its digest's bytes or is DataLoss, and then set aside; no
// artifact that can be read is lost by a collection; and the store goes on working.
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "store/artifacts/directory_store.h"
#include "tests/fuzz/fuzz.h"
#include "tests/testing/read_artifact.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const concur::testing::TempDir directory;
  const std::string root = directory.File("artifacts");
  const auto open = [&root] {
    auto store = concur::DirectoryStore::Open(root, concur::Packing::kMake);
    CONCUR_CHECK_OK(store.status());
    return *std::move(store);
  };
  const auto store = open();
  const absl::string_view text = concur::testing::Text(data, size);
  for (const char* name : {"/packs/a.pack", "/packs/b.pack"}) {
    std::ofstream(root + name, std::ios::binary)
        .write(text.data(), static_cast<std::streamsize>(text.size()));
  }
  const auto all = store->List();
  CONCUR_CHECK_OK(all.status());
  absl::flat_hash_set<concur::Digest> sound;
  for (const concur::Digest& digest : *all) {
    const auto read = concur::testing::ReadArtifact(*store, digest);
    if (read.ok()) {
      CONCUR_CHECK(concur::Sha256Of(*read) == digest);
      sound.insert(digest);
    } else {
      CONCUR_CHECK(absl::IsDataLoss(read.status()) || absl::IsNotFound(read.status()));
    }
  }
  const auto put = store->Put("another", concur::Durability::kAtSync);
  CONCUR_CHECK_OK(put.status());
  CONCUR_CHECK_OK(store->Sync());
  sound.insert(*put);
  const auto other = open();
  CONCUR_CHECK_OK(other->Collect(sound, absl::InfiniteFuture()).status());
  for (const concur::Digest& digest : sound) {
    CONCUR_CHECK_OK(store->Verify(digest));
    CONCUR_CHECK_OK(other->Verify(digest));
  }
  return 0;
}
