// SPDX-License-Identifier: Apache-2.0
// Checks, backups, migrations, and views for the shell.

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/file.h"
#include "store/sqlite.h"
#include "store/sqlite_schema.h"
#include "store/sqlite_store.h"
#include "tests/store/sqlite_files.h"
#include "tests/store/store_rows.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

TEST(SqliteMaintenanceTest, ASoundDatabaseHasNoFindings) {
  const TempDir dir;
  const std::string path = dir.File("concur.db");
  const std::unique_ptr<SqliteStore> store = MustOpen(path);
  for (const Batch& batch : ScriptOfBatches()) {
    ASSERT_OK(store->Commit(batch));
  }
  // While it is open, too.
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> findings, CheckDatabase(path));
  EXPECT_THAT(findings, IsEmpty());
  EXPECT_THAT(CheckDatabase(dir.File("nothing.db")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("nothing.db")));
}

TEST(SqliteMaintenanceTest, ABackupOfAnOpenDatabaseRestoresWhatItHeld) {
  const TempDir dir;
  const std::string path = dir.File("concur.db");
  const std::string backup = dir.File("backup.db");
  std::unique_ptr<SqliteStore> store = MustOpen(path);
  for (const Batch& batch : ScriptOfBatches()) {
    ASSERT_OK(store->Commit(batch));
  }
  ASSERT_OK(BackupDatabase(path, backup));
  EXPECT_THAT(BackupDatabase(path, backup),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr(backup)));
  Batch later;
  later.delete_sweeps = {SweepId{1}, SweepId{3}};
  ASSERT_OK(store->Commit(later));
  EXPECT_THAT(RestoreDatabase(backup, path),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("in use by")));
  store.reset();
  ASSERT_OK(RestoreDatabase(backup, path));
  EXPECT_EQ(OpenAndDescribe(path), ScriptText());
  EXPECT_TRUE(std::filesystem::exists(path + ".replaced"));
  // To a new place, as on another machine.
  ASSERT_OK(RestoreDatabase(backup, dir.File("new.db")));
  EXPECT_EQ(OpenAndDescribe(dir.File("new.db")), ScriptText());
}

TEST(SqliteMaintenanceTest, ADamagedBackupIsNotRestored) {
  const TempDir dir;
  const std::string path = dir.File("concur.db");
  const std::string backup = dir.File("backup.db");
  MakeDatabase(path);
  ASSERT_OK(BackupDatabase(path, backup));
  Tamper(backup, "UPDATE job SET state = 0 WHERE key = 1 << 32");
  EXPECT_THAT(RestoreDatabase(backup, path),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("job s1/0")));
  EXPECT_EQ(OpenAndDescribe(path), ScriptText());
  EXPECT_THAT(BackupDatabase(backup, dir.File("worse.db")),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("job s1/0")));
  EXPECT_FALSE(std::filesystem::exists(dir.File("worse.db")));
}

// Name and columns of every table, index and view, and the text of views.
std::string SchemaText(const std::string& path) {
  auto database = SqliteDatabase::Open(path, SqliteDatabase::Mode::kReadWrite);
  CONCUR_CHECK_OK(database.status());
  const absl::StatusOr<std::string> text = (*database)->QueryText(
      "SELECT group_concat(line, char(10)) FROM (SELECT s.name || ' ' || "
      "coalesce(c.cid || ' ' || c.name || ' ' || c.type || ' ' || c.\"notnull\" || ' ' || c.pk, "
      "s.sql, '') AS line FROM sqlite_schema s LEFT JOIN "
      "pragma_table_info(CASE s.type WHEN 'table' THEN s.name END) c ORDER BY s.name, c.cid)");
  CONCUR_CHECK_OK(text.status());
  return *text;
}

// Each file holds the script's state, as the sqlite3 shell dumped it from the release that
// introduced the schema.
TEST(SqliteMigrationTest, EveryOlderSchemaLeadsToTheCurrentOneWithItsRows) {
  const char* source = std::getenv("CONCUR_SOURCE_DIR");  // NOLINT(concurrency-mt-unsafe)
  if (source == nullptr) {
    GTEST_SKIP() << "CONCUR_SOURCE_DIR is not set";
  }
  const TempDir dir;
  MakeDatabase(dir.File("fresh.db"));
  for (int64_t version = kSchemaBaseline; version <= kSchemaVersion; ++version) {
    SCOPED_TRACE(absl::StrCat("schema ", version));
    const std::string path = dir.File(absl::StrCat(version, ".db"));
    ASSERT_OK_AND_ASSIGN(const std::string dump,
                         ReadFile(absl::StrCat(source, "/tests/store/schemas/", version, ".sql")));
    {
      auto database = SqliteDatabase::Open(path, SqliteDatabase::Mode::kCreate);
      ASSERT_OK(database);
      ASSERT_OK((*database)->Execute(dump));
      if (version == 4) {  // rows held under a name are dropped
        ASSERT_OK(
            (*database)->Execute("INSERT INTO blame VALUES ('w1', 'bert', 'squad', 1, 2, NULL, 0);"
                                 "INSERT INTO counter VALUES ('blames', 1, 0)"));
      }
    }
    EXPECT_EQ(OpenAndDescribe(path), ScriptText());
    EXPECT_EQ(SchemaText(path), SchemaText(dir.File("fresh.db")));
    ASSERT_OK_AND_ASSIGN(const std::vector<std::string> findings, CheckDatabase(path));
    EXPECT_THAT(findings, IsEmpty());
  }
}

TEST(SqliteViewsTest, TheShellsViewsShowJobsAndScores) {
  const TempDir dir;
  const std::string path = dir.File("concur.db");
  MakeDatabase(path);
  auto database = SqliteDatabase::Open(path, SqliteDatabase::Mode::kReadWrite);
  ASSERT_OK(database);
  // As in the shell: SQLite 3.40 does not count its JSON functions among the harmless ones.
  ASSERT_OK((*database)->Execute("PRAGMA trusted_schema = ON"));
  ASSERT_OK_AND_ASSIGN(std::string text,
                       (*database)->QueryText("SELECT job || ' ' || state || ' ' || worker || ' ' "
                                              "|| reused_from FROM jobs ORDER BY key"));
  EXPECT_EQ(text, "s1/0 succeeded w0 s7/99999999");
  ASSERT_OK_AND_ASSIGN(
      text, (*database)->QueryText("SELECT job || ' ' || metric || ' ' || round(value, 3) || ' ' "
                                   "|| examples FROM scores WHERE sweep = 's1'"));
  EXPECT_EQ(text, "s1/0 exact_match 33.333 10570");
  ASSERT_OK_AND_ASSIGN(text, (*database)->QueryText("SELECT kind || ' ' || sha256 FROM artifacts "
                                                    "WHERE kind = 'log'"));
  EXPECT_EQ(text, "log " + Sha256Of("artifact 3").ToHex());
  ASSERT_OK_AND_ASSIGN(text, (*database)->QueryText("SELECT sweep || owner FROM sweeps"));
  EXPECT_EQ(text, "s1ada");
  ASSERT_OK_AND_ASSIGN(text, (*database)->QueryText("SELECT job || worker FROM attempts"));
  EXPECT_EQ(text, "s1/0node-2");
}

}  // namespace
}  // namespace concur::testing
