// What only the SQLite store promises: durability, detection of damage, refusal of strangers.
#include "store/sqlite_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/file.h"
#include "base/random.h"
#include "store/memory_store.h"
#include "store/sqlite.h"
#include "store/sqlite_schema.h"
#include "tests/store/store_rows.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace concur::testing {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr const char* kSuffixes[] = {"", "-wal", "-shm", ".mark"};

std::unique_ptr<SqliteStore> MustOpen(const std::string& path) {
  absl::StatusOr<std::unique_ptr<SqliteStore>> store = SqliteStore::Open(path);
  CONCUR_CHECK_OK(store.status());
  return *std::move(store);
}

// A database at `path`, closed, that has seen the whole script.
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

// Changes a closed database behind Concur's back.
void Tamper(const std::string& path, const std::string& sql) {
  auto database = SqliteDatabase::Open(path, SqliteDatabase::Mode::kReadWrite);
  CONCUR_CHECK_OK(database.status());
  CONCUR_CHECK_OK((*database)->Execute(sql));
}

// Copies the files as they are at this moment: what a killed process leaves.
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

// Without a sync: what is written to be damaged need not survive.
void Write(const std::string& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << bytes;
  CONCUR_CHECK(out.good());
}

// Opens and describes; the error's text where there is one.
std::string OpenAndDescribe(const std::string& path) {
  absl::StatusOr<std::unique_ptr<SqliteStore>> store = SqliteStore::Open(path);
  return store.ok() ? Describe(**store) : absl::StrCat("ERROR: ", store.status().ToString());
}

struct Damage {
  std::string sql;
  std::string row;  // what the error must name

  friend std::ostream& operator<<(std::ostream& out, const Damage& damage) {
    return out << damage.sql;
  }
};

class DamagedRowTest : public ::testing::TestWithParam<Damage> {};

TEST_P(DamagedRowTest, IsDataLossThatNamesTheRow) {
  const TempDir dir;
  const std::string path = dir.File("concur.db");
  MakeDatabase(path);
  Tamper(path, GetParam().sql);
  const std::string text = OpenAndDescribe(path);
  EXPECT_THAT(text,
              AllOf(StartsWith("ERROR: DATA_LOSS: "), HasSubstr(path), HasSubstr(GetParam().row)));
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> findings, CheckDatabase(path));
  EXPECT_THAT(findings, Contains(HasSubstr(GetParam().row)));
}

INSTANTIATE_TEST_SUITE_P(
    All, DamagedRowTest,
    ::testing::Values(
        Damage{"UPDATE job SET state = 5 WHERE key = 1 << 32", "job s1/0: the checksum"},
        Damage{"UPDATE job SET state = 'x' WHERE key = 1 << 32", "job s1/0: the checksum"},
        Damage{"UPDATE job SET process = NULL WHERE key = 1 << 32", "job s1/0: the checksum"},
        Damage{"UPDATE job SET update_time = update_time + 1 WHERE key = 4 << 32", "job s4/0"},
        Damage{"UPDATE job SET key = key + 1 WHERE key = 1 << 32", "job s1/1: the checksum"},
        Damage{"DELETE FROM job WHERE key = 4 << 32", "jobs s4: expected 1 rows, found 0"},
        Damage{"DELETE FROM result WHERE key = 1 << 32", "results s1: expected 1 rows, found 0"},
        Damage{"UPDATE result SET metrics = replace(metrics, '33', '34') WHERE key = 1 << 32",
               "result of job s1/0: the checksum"},
        Damage{"UPDATE result SET log = zeroblob(32) WHERE key = 4 << 32", "result of job s4/0"},
        Damage{"UPDATE result SET message = NULL WHERE key = 4 << 32", "result of job s4/0"},
        Damage{"UPDATE attempt SET worker = 'node-3' WHERE key = 1 << 32 AND attempt = 2",
               "attempt 2 of job s1/0"},
        Damage{"UPDATE sweep SET owner = 'eve' WHERE number = 3", "sweep s3"},
        Damage{"UPDATE sweep_spec SET spec = x'00' WHERE number = 3", "spec of sweep s3"},
        Damage{"DELETE FROM sweep_spec WHERE number = 3", "spec of sweep s3"},
        Damage{"DELETE FROM sweep WHERE number = 4", "sweep s4: is missing"},
        Damage{"UPDATE process SET worker = 'w9' WHERE worker = 'w0'", "process "},
        Damage{"DELETE FROM process", "is missing"},
        Damage{"UPDATE worker SET draining = 0 WHERE name = 'w2'", "worker w2"},
        Damage{"DELETE FROM worker WHERE name = 'w2'", "workers: expected 2 rows, found 1"},
        Damage{"DELETE FROM attempt WHERE key = 1 << 32 AND attempt = 2",
               "attempts s1: expected 2 rows, found 1"},
        Damage{"DELETE FROM meta", "meta id: is missing"},
        Damage{"UPDATE meta SET value = 'x'", "meta id: the checksum"},
        Damage{"UPDATE counter SET value = 1 WHERE name = 'next_sweep'", "counter next_sweep"},
        Damage{"DELETE FROM counter WHERE name = 'next_sweep'", "next_sweep: is missing"}));

TEST(SqliteDamageTest, AFlippedBitIsReportedOrHarmless) {
  const TempDir dir;
  const std::string path = dir.File("concur.db");
  MakeDatabase(path);
  const std::string good = Bytes(path);
  const std::string expected = ScriptText();
  Random random(1, "flipped bits");
  int reported = 0;
  for (int round = 0; round < 400; ++round) {
    std::string bad = good;
    const size_t at = random.Below(bad.size());
    bad[at] = static_cast<char>(bad[at] ^ (1 << random.Below(8)));
    const std::string copy = dir.File("copy.db");
    Write(copy, bad);
    const std::string text = OpenAndDescribe(copy);
    if (text.starts_with("ERROR: ")) {
      ++reported;
    } else {
      ASSERT_EQ(text, expected) << "bit flipped in byte " << at;
    }
    for (const char* suffix : kSuffixes) {
      std::filesystem::remove(copy + suffix);
    }
  }
  // Most pages of this small file are nearly empty, and unused bytes do not matter.
  EXPECT_GT(reported, 20);
}

TEST(SqliteDamageTest, AZeroedOrTornPageIsReportedOrHarmless) {
  const TempDir dir;
  const std::string path = dir.File("concur.db");
  MakeDatabase(path);
  const std::string good = Bytes(path);
  const std::string expected = ScriptText();
  constexpr size_t kPage = 4096;
  for (size_t page = 0; page < good.size() / kPage; ++page) {
    // Whole, second half, first half, last sector.
    for (const auto& [from, to] : {std::pair(0, 4096), {2048, 4096}, {0, 2048}, {3584, 4096}}) {
      std::string bad = good;
      std::fill(bad.begin() + static_cast<int64_t>(page * kPage) + from,
                bad.begin() + static_cast<int64_t>(page * kPage) + to, '\0');
      const std::string copy = dir.File("copy.db");
      Write(copy, bad);
      const std::string text = OpenAndDescribe(copy);
      if (!text.starts_with("ERROR: ")) {
        ASSERT_EQ(text, expected) << "page " << page << " zeroed from " << from << " to " << to;
      }
      for (const char* suffix : kSuffixes) {
        std::filesystem::remove(copy + suffix);
      }
    }
  }
}

TEST(SqliteDamageTest, ADamagedLogIsReportedOrHarmless) {
  const TempDir dir;
  const std::string path = dir.File("concur.db");
  const std::string copy = dir.File("copy.db");
  const std::unique_ptr<SqliteStore> store = MustOpen(path);
  for (const Batch& batch : ScriptOfBatches()) {
    ASSERT_OK(store->Commit(batch));
  }
  const std::string expected = ScriptText();
  const std::string log = Bytes(path + "-wal");
  ASSERT_GT(log.size(), 50'000);
  Random random(1, "damaged log");
  int reported = 0;
  for (int round = 0; round < 100; ++round) {
    CopyFiles(path, copy);
    std::filesystem::remove(copy + "-shm");
    std::string bad = log;
    const size_t at = random.Below(bad.size());
    if (random.Chance(0.5)) {
      bad[at] = static_cast<char>(bad[at] ^ (1 << random.Below(8)));
    } else {
      bad.resize(at);
    }
    Write(copy + "-wal", bad);
    const absl::StatusOr<std::vector<std::string>> findings = CheckDatabase(copy);
    const std::string text = OpenAndDescribe(copy);
    if (text.starts_with("ERROR: ")) {
      EXPECT_THAT(text, HasSubstr("acknowledged commits are missing"));
      ASSERT_OK(findings);
      EXPECT_THAT(*findings, Contains(HasSubstr("acknowledged commits are missing")))
          << "log damaged at byte " << at;
      ++reported;
    } else {
      ASSERT_EQ(text, expected) << "log damaged at byte " << at;
    }
  }
  EXPECT_GT(reported, 50);
}

TEST(SqliteDamageTest, AMissingLogOrDatabaseIsReported) {
  const TempDir dir;
  const std::string path = dir.File("concur.db");
  const std::string copy = dir.File("copy.db");
  const std::unique_ptr<SqliteStore> store = MustOpen(path);
  for (const Batch& batch : ScriptOfBatches()) {
    ASSERT_OK(store->Commit(batch));
  }
  CopyFiles(path, copy);
  std::filesystem::remove(copy + "-wal");
  EXPECT_THAT(OpenAndDescribe(copy),
              AllOf(StartsWith("ERROR: DATA_LOSS"), HasSubstr("commits are missing")));
  CopyFiles(path, copy);
  std::filesystem::remove(copy + "-wal");
  std::filesystem::remove(copy);
  EXPECT_THAT(OpenAndDescribe(copy),
              AllOf(StartsWith("ERROR: DATA_LOSS"), HasSubstr("remove"), HasSubstr(".mark")));
  // The remedy that the message names.
  std::filesystem::remove(copy + ".mark");
  EXPECT_THAT(OpenAndDescribe(copy), StartsWith("next 1"));
}

TEST(SqliteStoreTest, WhatWasCommittedSurvivesAKilledProcess) {
  const TempDir dir;
  const std::string path = dir.File("concur.db");
  const std::string copy = dir.File("copy.db");
  const std::unique_ptr<SqliteStore> store = MustOpen(path);
  MemoryStore model;
  for (const Batch& batch : ScriptOfBatches()) {
    ASSERT_OK(store->Commit(batch));
    ASSERT_OK(model.Commit(batch));
    CopyFiles(path, copy);
    EXPECT_EQ(OpenAndDescribe(copy), Describe(model));
  }
}

// A child commits sweep after sweep and tells of each; it is killed after some number of them.
TEST(SqliteStoreTest, KillNineLosesNoAcknowledgedCommit) {
  for (const int kill_after : {1, 7, 40}) {
    const TempDir dir;
    const std::string path = dir.File("concur.db");
    int acknowledged[2];
    ASSERT_EQ(pipe(acknowledged), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const std::unique_ptr<SqliteStore> store = MustOpen(path);
      for (uint64_t number = 1;; ++number) {
        Batch batch;
        batch.put_sweeps = {FullSweep(number)};
        batch.put_jobs = {FullJob(MakeJobId(number, 0))};
        if (!store->Commit(batch).ok() || write(acknowledged[1], "x", 1) != 1) {
          _exit(1);
        }
      }
    }
    char byte = 0;
    for (int i = 0; i < kill_after; ++i) {
      ASSERT_EQ(read(acknowledged[0], &byte, 1), 1);
    }
    ASSERT_EQ(kill(child, SIGKILL), 0);
    int wait_status = 0;
    ASSERT_EQ(waitpid(child, &wait_status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(wait_status));
    close(acknowledged[1]);
    size_t told = static_cast<size_t>(kill_after);
    while (read(acknowledged[0], &byte, 1) == 1) {
      ++told;
    }
    close(acknowledged[0]);
    ASSERT_OK_AND_ASSIGN(const Snapshot snapshot, MustOpen(path)->Load());
    // The commit under way may be there too, but whole.
    EXPECT_THAT(snapshot.sweeps.size(), AnyOf(told, told + 1));
    EXPECT_EQ(snapshot.jobs.size(), snapshot.sweeps.size());
  }
}

TEST(SqliteStoreTest, ASecondOpenerIsRefusedAndToldWhoHasIt) {
  const TempDir dir;
  const std::string path = dir.File("concur.db");
  std::unique_ptr<SqliteStore> first = MustOpen(path);
  EXPECT_THAT(SqliteStore::Open(path),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr(path), HasSubstr("in use by"),
                             HasSubstr(absl::StrCat("process ", getpid())))));
  first.reset();
  EXPECT_OK(SqliteStore::Open(path));
}

TEST(SqliteStoreTest, ANewerSchemaIsRefusedAndLeftAlone) {
  const TempDir dir;
  const std::string path = dir.File("concur.db");
  MakeDatabase(path);
  Tamper(path, absl::StrCat("PRAGMA user_version = ", kSchemaVersion + 1));
  const std::string before = Bytes(path);
  EXPECT_THAT(SqliteStore::Open(path),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr(path), HasSubstr("newer Concur"),
                             HasSubstr(absl::StrCat("schema ", kSchemaVersion + 1)))));
  EXPECT_EQ(Bytes(path), before);
}

TEST(SqliteStoreTest, AnotherProgramsFileIsRefusedAndLeftAlone) {
  const TempDir dir;
  const std::string path = dir.File("other.db");
  {
    auto database = SqliteDatabase::Open(path, SqliteDatabase::Mode::kCreate);
    ASSERT_OK(database);
    ASSERT_OK((*database)->Execute("CREATE TABLE precious (x)"));
  }
  const std::string before = Bytes(path);
  EXPECT_THAT(SqliteStore::Open(path),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("another program's")));
  EXPECT_EQ(Bytes(path), before);
  const std::string text = dir.File("notes.txt");
  Write(text, std::string(5000, 'x'));
  EXPECT_THAT(SqliteStore::Open(text),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("file is not a database")));
  EXPECT_EQ(Bytes(text), std::string(5000, 'x'));
}

TEST(SqliteStoreTest, AMissingDirectoryIsNamed) {
  EXPECT_THAT(SqliteStore::Open("/nonexistent/concur.db"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/nonexistent/concur.db")));
}

TEST(SqliteStoreTest, AFullDatabaseRefusesTheCommitAndKeepsTheRest) {
  const TempDir dir;
  const std::string path = dir.File("concur.db");
  SqliteStoreOptions small;
  small.pages_max = 60;
  absl::StatusOr<std::unique_ptr<SqliteStore>> store = SqliteStore::Open(path, small);
  ASSERT_OK(store);
  MemoryStore model;
  absl::Status status;
  for (uint32_t job = 0; job < 10'000 && status.ok(); job += 20) {
    Batch batch;
    for (uint32_t i = job; i < job + 20; ++i) {
      batch.put_results.push_back(FullResultRow(MakeJobId(1, i)));
    }
    status = (*store)->Commit(batch);
    if (status.ok()) {
      ASSERT_OK(model.Commit(batch));
    }
  }
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("SQLITE_FULL")));
  EXPECT_EQ(Describe(**store), Describe(model));
  store->reset();
  // With space again, it goes on where the last good commit left it.
  const std::unique_ptr<SqliteStore> reopened = MustOpen(path);
  EXPECT_EQ(Describe(*reopened), Describe(model));
  Batch more;
  more.put_results = {FullResultRow(MakeJobId(2, 0))};
  EXPECT_OK(reopened->Commit(more));
}

TEST(SqliteStoreTest, AFileSizeLimitRefusesTheCommitAndKeepsTheRest) {
  const TempDir dir;
  const std::string path = dir.File("concur.db");
  std::unique_ptr<SqliteStore> store = MustOpen(path);
  Batch first;
  first.put_sweeps = {FullSweep(1)};
  ASSERT_OK(store->Commit(first));
  struct rlimit unlimited {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &unlimited), 0);
  struct rlimit limited = unlimited;
  limited.rlim_cur = 200'000;
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limited), 0);
  Batch large;
  large.put_sweeps = {FullSweep(2)};
  large.put_sweeps[0].spec = std::string(1 << 20, 's');
  const absl::Status status = store->Commit(large);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &unlimited), 0);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr(path)));
  ASSERT_OK_AND_ASSIGN(const Snapshot snapshot, store->Load());
  EXPECT_THAT(snapshot.sweeps, ElementsAre(FullSweep(1)));
  // With space again, the same batch is saved, and the counts are right.
  EXPECT_OK(store->Commit(large));
  store.reset();
  EXPECT_THAT(*CheckDatabase(path), IsEmpty());
  ASSERT_OK_AND_ASSIGN(const Snapshot whole, MustOpen(path)->Load());
  EXPECT_THAT(whole.sweeps, ElementsAre(FullSweep(1), large.put_sweeps[0]));
}

TEST(SqliteStoreTest, DeletedSweepsGiveTheirSpaceBack) {
  const TempDir dir;
  const std::string path = dir.File("concur.db");
  std::unique_ptr<SqliteStore> store = MustOpen(path);
  Batch batch;
  for (uint32_t i = 0; i < 3000; ++i) {
    batch.put_results.push_back(FullResultRow(MakeJobId(1, i)));
  }
  ASSERT_OK(store->Commit(batch));
  store.reset();
  const auto full = std::filesystem::file_size(path);
  store = MustOpen(path);
  Batch remove;
  remove.delete_sweeps = {SweepId{1}};
  ASSERT_OK(store->Commit(remove));
  store.reset();
  EXPECT_LT(std::filesystem::file_size(path), full / 4);
}

TEST(SqliteStoreTest, NamesOfForgottenProcessesAreDroppedAtLoad) {
  const TempDir dir;
  const std::string path = dir.File("concur.db");
  std::unique_ptr<SqliteStore> store = MustOpen(path);
  Batch batch;
  for (int i = 0; i < 3000; ++i) {
    JobRow row = FullJob(MakeJobId(1, 0));
    row.incarnation = absl::StrCat("incarnation ", i);
    batch.put_jobs.push_back(row);
  }
  ASSERT_OK(store->Commit(batch));
  store.reset();
  store = MustOpen(path);
  ASSERT_OK_AND_ASSIGN(const Snapshot snapshot, store->Load());
  EXPECT_THAT(snapshot.jobs, ElementsAre(batch.put_jobs.back()));
  JobRow next = FullJob(MakeJobId(1, 1));
  next.incarnation = "incarnation 5";
  Batch more;
  more.put_jobs = {next};
  ASSERT_OK(store->Commit(more));
  store.reset();
  auto database = SqliteDatabase::Open(path, SqliteDatabase::Mode::kReadWrite);
  ASSERT_OK(database);
  ASSERT_OK_AND_ASSIGN(const int64_t processes,
                       (*database)->QueryInt("SELECT count(*) FROM process"));
  EXPECT_EQ(processes, 2);
  database->reset();
  ASSERT_OK_AND_ASSIGN(const Snapshot again, MustOpen(path)->Load());
  EXPECT_THAT(again.jobs, ElementsAre(batch.put_jobs.back(), next));
}

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

// Name and text of every table, index and view.
std::string SchemaText(const std::string& path) {
  auto database = SqliteDatabase::Open(path, SqliteDatabase::Mode::kReadWrite);
  CONCUR_CHECK_OK(database.status());
  const absl::StatusOr<std::string> text = (*database)->QueryText(
      "SELECT group_concat(name || ': ' || coalesce(sql, ''), char(10)) FROM "
      "(SELECT name, sql FROM sqlite_schema ORDER BY name)");
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
  for (int64_t version = 1; version <= kSchemaVersion; ++version) {
    SCOPED_TRACE(absl::StrCat("schema ", version));
    const std::string path = dir.File(absl::StrCat(version, ".db"));
    ASSERT_OK_AND_ASSIGN(const std::string dump,
                         ReadFile(absl::StrCat(source, "/tests/store/schemas/", version, ".sql")));
    {
      auto database = SqliteDatabase::Open(path, SqliteDatabase::Mode::kCreate);
      ASSERT_OK(database);
      ASSERT_OK((*database)->Execute(dump));
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
