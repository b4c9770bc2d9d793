// SPDX-License-Identifier: Apache-2.0
#include "tests/store/sqlite_files.h"

#include <filesystem>
#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/file.h"
#include "store/memory_store.h"
#include "store/sqlite.h"
#include "tests/store/store_rows.h"

namespace concur::testing {

std::unique_ptr<SqliteStore> MustOpen(const std::string& path) {
  absl::StatusOr<std::unique_ptr<SqliteStore>> store = SqliteStore::Open(path);
  CONCUR_CHECK_OK(store.status());
  return *std::move(store);
}

void MakeDatabase(const std::string& path) {
  const std::unique_ptr<SqliteStore> store = MustOpen(path);
  for (const Batch& batch : ScriptOfBatches()) {
    CONCUR_CHECK_OK(store->Commit(batch));
  }
}

std::string ScriptText() {
  MemoryStore model;
  for (const Batch& batch : ScriptOfBatches()) {
    CONCUR_CHECK_OK(model.Commit(batch));
  }
  return Describe(model);
}

void Tamper(const std::string& path, const std::string& sql) {
  auto database = SqliteDatabase::Open(path, SqliteDatabase::Mode::kReadWrite);
  CONCUR_CHECK_OK(database.status());
  CONCUR_CHECK_OK((*database)->Execute(sql));
}

void CopyFiles(const std::string& from, const std::string& to) {
  for (const char* suffix : kSuffixes) {
    if (std::filesystem::exists(from + suffix)) {
      std::filesystem::copy_file(from + suffix, to + suffix,
                                 std::filesystem::copy_options::overwrite_existing);
    } else {
      std::filesystem::remove(to + suffix);
    }
  }
}

std::string Bytes(const std::string& path) {
  const absl::StatusOr<std::string> bytes = ReadFile(path);
  CONCUR_CHECK_OK(bytes.status());
  return *bytes;
}

void Write(const std::string& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << bytes;
  CONCUR_CHECK(out.good());
}

std::string OpenAndDescribe(const std::string& path) {
  absl::StatusOr<std::unique_ptr<SqliteStore>> store = SqliteStore::Open(path);
  return store.ok() ? Describe(**store) : absl::StrCat("ERROR: ", store.status().ToString());
}

}  // namespace concur::testing
