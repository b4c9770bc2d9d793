// SPDX-License-Identifier: Apache-2.0
// A directory store with packs, and what happens to its files.
#ifndef CONCUR_TESTS_STORE_ARTIFACTS_PACKS_FIXTURE_H_
#define CONCUR_TESTS_STORE_ARTIFACTS_PACKS_FIXTURE_H_

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/check.h"
#include "base/file.h"
#include "store/artifacts/directory_store.h"
#include "tests/testing/read_artifact.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace concur::testing {

inline const absl::Time kOldTime = absl::FromUnixSeconds(1'000'000'000);

inline std::string Text(int i) { return absl::StrCat("{\"accuracy\": ", i, "}"); }

class PacksTest : public ::testing::Test {
 protected:
  PacksTest() : store_(Open()) {}

  // Another process, as far as the store can tell.
  std::unique_ptr<DirectoryStore> Open() {
    absl::StatusOr<std::unique_ptr<DirectoryStore>> store =
        DirectoryStore::Open(dir_.File("a"), Packing::kMake);
    CONCUR_CHECK_OK(store.status());
    return *std::move(store);
  }
  static Digest Put(DirectoryStore& store, const std::string& text) {
    const absl::StatusOr<Digest> digest = store.Put(text, Durability::kAtSync);
    CONCUR_CHECK_OK(digest.status());
    return *digest;
  }
  // A pack without a writer.
  std::vector<Digest> PutPack(int from, int to) {
    const std::unique_ptr<DirectoryStore> store = Open();
    std::vector<Digest> digests;
    for (int i = from; i < to; ++i) {
      digests.push_back(Put(*store, Text(i)));
    }
    CONCUR_CHECK_OK(store->Sync());
    return digests;
  }
  std::vector<std::string> FilesIn(const std::string& folder) const {
    std::vector<std::string> files;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(dir_.File("a/" + folder))) {
      if (entry.is_regular_file()) {
        files.push_back(entry.path());
      }
    }
    std::sort(files.begin(), files.end());
    return files;
  }
  std::string ThePack() const {
    const std::vector<std::string> packs = FilesIn("packs");
    CONCUR_CHECK(packs.size() == 1);
    return packs[0];
  }
  static std::string Contents(const std::string& path) { return *ReadFile(path); }
  static void Write(const std::string& path, const std::string& bytes) {
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out << bytes;
    CONCUR_CHECK(out.good());
  }
  static void Age(const std::string& path) {
    const timespec stamp = absl::ToTimespec(kOldTime);
    const timespec times[2] = {stamp, stamp};
    CONCUR_CHECK(utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
  }
  void AgeAll() {
    for (const std::string& path : FilesIn("packs")) {
      Age(path);
    }
  }
  // As on a full disk: no file is written behind its first `bytes` bytes meanwhile.
  template <typename F>
  static auto WithFilesLimited(rlim_t bytes, F work) {
    struct rlimit unlimited {};
    CONCUR_CHECK(getrlimit(RLIMIT_FSIZE, &unlimited) == 0);
    struct rlimit limited = unlimited;
    limited.rlim_cur = bytes;
    const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
    CONCUR_CHECK(setrlimit(RLIMIT_FSIZE, &limited) == 0);
    auto result = work();
    CONCUR_CHECK(setrlimit(RLIMIT_FSIZE, &unlimited) == 0);
    std::signal(SIGXFSZ, old_handler);
    return result;
  }
  // Damages byte `at` of a pack.
  static void Flip(const std::string& path, size_t at) {
    std::string pack = Contents(path);
    pack[at] ^= 1;
    Write(path, pack);
  }
  static std::string ReadOf(const DirectoryStore& store, const Digest& digest) {
    const absl::StatusOr<std::string> read = ReadArtifact(store, digest);
    return read.ok() ? *read : absl::StatusCodeToString(read.status().code());
  }

  TempDir dir_;
  std::unique_ptr<DirectoryStore> store_;
};

}  // namespace concur::testing

#endif  // CONCUR_TESTS_STORE_ARTIFACTS_PACKS_FIXTURE_H_
