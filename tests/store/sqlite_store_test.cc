// SPDX-License-Identifier: Apache-2.0
// Properties that only the SQLite store promises: durability, limits, refusal of strangers.
#include "store/sqlite_store.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "store/memory_store.h"
#include "store/sqlite.h"
#include "store/sqlite_schema.h"
#include "tests/store/sqlite_files.h"
#include "tests/store/store_rows.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

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

TEST(SqliteStoreTest, ASchemaBeforeTheBaselineIsRefusedAndLeftAlone) {
  const TempDir dir;
  const std::string path = dir.File("concur.db");
  MakeDatabase(path);
  Tamper(path, absl::StrCat("PRAGMA user_version = ", kSchemaBaseline - 1));
  const std::string before = Bytes(path);
  EXPECT_THAT(SqliteStore::Open(path),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr(absl::StrCat(path, ": schema ", kSchemaBaseline - 1)),
                             HasSubstr("start a coordinator of 0.2.0 on it once"))));
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

// After a failed commit the counts are read again.
TEST(SqliteStoreTest, AFullDatabaseKnowsThatASweepWasDeletedThatWasLeftOut) {
  const TempDir dir;
  SqliteStoreOptions small;
  small.pages_max = 60;
  absl::StatusOr<std::unique_ptr<SqliteStore>> store =
      SqliteStore::Open(dir.File("concur.db"), small);
  ASSERT_OK(store);
  Batch batch;
  batch.put_sweeps = {FullSweep(1), FullSweep(2)};
  ASSERT_OK((*store)->Commit(batch));
  const auto choose = [](const auto&) { return absl::btree_set<SweepId>{SweepId{1}}; };
  ASSERT_OK((*store)->LoadPart(choose).status());
  batch = Batch();
  batch.delete_sweeps = {SweepId{1}};
  ASSERT_OK((*store)->Commit(batch));
  batch = Batch();
  batch.put_sweeps = {FullSweep(3)};
  batch.put_sweeps[0].spec = std::string(1 << 20, 's');
  ASSERT_EQ((*store)->Commit(batch).code(), absl::StatusCode::kResourceExhausted);
  batch.put_sweeps[0].spec = "short";
  EXPECT_OK((*store)->Commit(batch));
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

TEST(SqliteStoreTest, ACommitSavesOnlyTheCountersOfASweepThatChange) {
  const TempDir dir;
  const std::string path = dir.File("concur.db");
  std::unique_ptr<SqliteStore> store = MustOpen(path);
  auto reader = SqliteDatabase::Open(path, SqliteDatabase::Mode::kReadOnly);
  ASSERT_OK(reader);
  const auto counters = [&] {
    return *(*reader)->QueryText(
        "SELECT ifnull(group_concat(name || ' ' || value), '') FROM (SELECT name, value FROM "
        "counter WHERE name LIKE '% s1' ORDER BY name)");
  };
  Batch started;
  started.put_jobs = {FullJob(MakeJobId(1, 0))};
  ASSERT_OK(store->Commit(started));
  EXPECT_EQ(counters(), "jobs s1 1");
  Batch ended = started;
  ended.put_results = {FullResultRow(MakeJobId(1, 0))};
  ASSERT_OK(store->Commit(ended));
  EXPECT_EQ(counters(), "jobs s1 1,results s1 1");
  Batch again;
  again.delete_results = {MakeJobId(1, 0)};
  ASSERT_OK(store->Commit(again));
  EXPECT_EQ(counters(), "jobs s1 1,results s1 0");
  store = nullptr;
  ASSERT_OK(MustOpen(path)->Load());
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

// The files of a running coordinator were deleted: it went on acknowledging, and all was gone at
// the next start.
TEST(SqliteStoreTest, FilesThatAreDeletedUnderneathAreNoticedAndSaved) {
  for (const char* gone : {"", "-wal"}) {
    SCOPED_TRACE(gone);
    const TempDir dir;
    const std::string path = dir.File("concur.db");
    MakeDatabase(path);
    std::unique_ptr<SqliteStore> store = MustOpen(path);
    EXPECT_OK(store->CheckPlace());
    Batch batch;
    batch.next_sweep_number = 77;
    ASSERT_OK(store->Commit(batch));
    ASSERT_EQ(unlink((path + gone).c_str()), 0);
    batch.next_sweep_number = 78;
    EXPECT_THAT(store->Commit(batch),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         AllOf(HasSubstr("was removed while"), HasSubstr("saved in"))));
    EXPECT_FALSE(store->Commit(batch).ok()) << "nothing more is acknowledged";
    store.reset();
    EXPECT_THAT(SqliteStore::Open(path),
                StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("move it to " + path)));
    for (const char* suffix : {"", "-wal", "-shm", ".mark"}) {
      unlink((path + suffix).c_str());
    }
    ASSERT_EQ(rename((path + ".rescued").c_str(), path.c_str()), 0);
    store = MustOpen(path);
    ASSERT_OK_AND_ASSIGN(const Snapshot snapshot, store->Load());
    EXPECT_EQ(snapshot.next_sweep_number, 77u);
  }
}

TEST(SqliteStoreTest, ADatabaseThatIsReplacedUnderneathIsNoticed) {
  const TempDir dir;
  const std::string path = dir.File("concur.db");
  MakeDatabase(path);
  std::unique_ptr<SqliteStore> store = MustOpen(path);
  ASSERT_OK(WriteFileAtomically(path, "something else"));
  EXPECT_THAT(store->CheckPlace(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                            HasSubstr("was replaced by another file")));
}

}  // namespace
}  // namespace concur::testing
