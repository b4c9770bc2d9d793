// SPDX-License-Identifier: Apache-2.0
// The log of a database, read from outside: nothing that was committed is missed or made up.
#include "store/log_tail.h"

#include <fcntl.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/random.h"
#include "base/status_macros.h"
#include "store/sqlite_schema.h"
#include "store/sqlite_store.h"
#include "tests/store/sqlite_files.h"
#include "tests/store/store_rows.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

class LogTailTest : public ::testing::Test {
 protected:
  // A log that begins anew often.
  void Open(int64_t checkpoint_pages = 80) {
    SqliteStoreOptions options;
    options.checkpoint_pages = checkpoint_pages;
    absl::StatusOr<std::unique_ptr<SqliteStore>> store = SqliteStore::Open(path_, options);
    ASSERT_OK(store);
    store_ = *std::move(store);
  }
  void Commit() { ASSERT_OK(store_->Commit(RandomBatch(random_))); }
  void BeginNextLog() {
    const LogPosition front = FrontOfLog(path_).value();
    while (FrontOfLog(path_).value() == front) {
      Commit();
    }
  }
  void BeginCopy() {
    position_ = FrontOfLog(path_).value();
    base_ = Bytes(path_);
    images_.clear();
  }
  absl::Status Follow() {
    for (;;) {
      CONCUR_ASSIGN_OR_RETURN(const bool begun_anew, FollowLog(
                                                         path_, position_, [](int64_t /*bytes*/) {},
                                                         [this](absl::string_view images) {
                                                           absl::StrAppend(&images_, images);
                                                           return absl::OkStatus();
                                                         }));
      if (!begun_anew) {
        return absl::OkStatus();
      }
      ++logs_;
    }
  }
  // The state of a database made of the base and what was read of the log.
  std::string Restored() {
    const std::string copy = dir_.File(absl::StrCat("copy", ++copies_));
    Write(copy, base_);
    const FileDescriptor fd(open(copy.c_str(), O_RDWR | O_CLOEXEC));
    uint64_t pages = 0;
    const absl::Status applied = ApplyLog(images_, fd.get(), copy, &pages);
    if (!applied.ok() ||
        (pages > 0 && ftruncate(fd.get(), static_cast<off_t>(pages * kDatabasePageBytes)) != 0)) {
      return applied.ToString();
    }
    return OpenAndDescribe(copy);
  }

  TempDir dir_;
  const std::string path_ = dir_.File("concur.db");
  Random random_{1, "log tail"};
  std::unique_ptr<SqliteStore> store_;
  LogPosition position_;
  std::string base_;
  std::string images_;
  int logs_ = 0;
  int copies_ = 0;
};

TEST_F(LogTailTest, EveryCommitIsReadThroughManyLogs) {
  Open();
  Commit();
  BeginCopy();
  for (int i = 0; i < 200; ++i) {
    Commit();
    ASSERT_OK(Follow());
    if (i % 20 == 0) {
      ASSERT_EQ(Restored(), Describe(*store_)) << i;
    }
  }
  EXPECT_EQ(Restored(), Describe(*store_));
  EXPECT_GT(logs_, 5);
}

// Checkpoints change the database's file while it is read, and commits come in between.
TEST_F(LogTailTest, ABaseThatWasReadDuringCommitsIsMendedByTheLog) {
  Open();
  for (int i = 0; i < 50; ++i) {
    Commit();
  }
  BeginCopy();
  const FileDescriptor fd(open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  base_.clear();
  std::string part(4096, '\0');
  ssize_t got = 0;
  do {
    Commit();
    ASSERT_OK(Follow());
    got = pread(fd.get(), part.data(), part.size(), static_cast<off_t>(base_.size()));
    base_.append(part, 0, static_cast<size_t>(got));
  } while (got > 0);
  ASSERT_OK(Follow());
  EXPECT_GT(logs_, 0);
  EXPECT_EQ(Restored(), Describe(*store_));
}

TEST_F(LogTailTest, TheEndOfAnOldLogIsReadAfterTheNextHasBegun) {
  Open();
  Commit();
  BeginCopy();
  ASSERT_OK(Follow());
  BeginNextLog();
  ASSERT_OK(Follow());
  EXPECT_EQ(logs_, 1);
  EXPECT_EQ(Restored(), Describe(*store_));
}

TEST_F(LogTailTest, AReaderThatComesTooLateIsToldAndKeepsItsPlace) {
  Open();
  Commit();
  BeginNextLog();
  BeginCopy();
  ASSERT_OK(Follow());
  const LogPosition before = position_;
  const auto is_lost = [&](const std::string& why) {
    EXPECT_THAT(Follow(), StatusIs(absl::StatusCode::kAborted, HasSubstr(why)));
    EXPECT_EQ(position_, before);
  };
  // The next log has grown over the place.
  BeginNextLog();
  const LogPosition next = FrontOfLog(path_).value();
  for (LogPosition end = next; end.frames <= before.frames;) {
    Commit();
    ASSERT_OK(FollowLog(
        path_, end, [](int64_t /*bytes*/) {},
        [](absl::string_view /*images*/) { return absl::OkStatus(); }));
  }
  ASSERT_EQ(FrontOfLog(path_).value(), next);
  is_lost("it began anew and");
  for (int i = 0; i < 100; ++i) {
    Commit();
  }
  is_lost("more than once");
  store_.reset();
  is_lost("it was removed");
  position_ = LogPosition();
  EXPECT_OK(Follow()) << "there is none, and there was none";
  Open();
  Commit();
  EXPECT_THAT(Follow(), StatusIs(absl::StatusCode::kAborted, HasSubstr("made anew")));
}

// The first commit of the next log cut the file, and with it commits that were not read yet.
TEST_F(LogTailTest, ACutLogIsNoticed) {
  constexpr int64_t kImage = 24 + kDatabasePageBytes;
  // To a part of an image, to the end of one within a commit, and to the new commit's end.
  for (const int64_t limit : {32 + 12 * kImage + 100, 32 + 12 * kImage, int64_t{0}}) {
    SCOPED_TRACE(limit);
    const std::string path = dir_.File(absl::StrCat("cut", limit, ".db"));
    ASSERT_OK_AND_ASSIGN(const auto writer,
                         SqliteDatabase::Open(path, SqliteDatabase::Mode::kCreate));
    ASSERT_OK(writer->QueryText("PRAGMA journal_mode = WAL"));
    ASSERT_OK(writer->Execute(
        absl::StrCat("PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = ", limit,
                     "; CREATE TABLE t (x); INSERT INTO t VALUES (1)")));
    ASSERT_OK_AND_ASSIGN(LogPosition position, FrontOfLog(path));
    const auto follow = [&] {
      return FollowLog(
          path, position, [](int64_t /*bytes*/) {},
          [](absl::string_view /*images*/) { return absl::OkStatus(); });
    };
    ASSERT_OK(follow());
    ASSERT_GT(position.frames, 0u);
    // A commit of twenty pages, a checkpoint, and the next log's first commit.
    ASSERT_OK(writer->Execute("INSERT INTO t VALUES (zeroblob(80000))"));
    ASSERT_OK(writer->QueryInt("PRAGMA wal_checkpoint"));
    ASSERT_OK(writer->Execute("INSERT INTO t VALUES (2)"));
    ASSERT_OK_AND_ASSIGN(const LogPosition front, FrontOfLog(path));
    ASSERT_EQ(front.salts[0], position.salts[0] + 1);
    const LogPosition before = position;
    EXPECT_THAT(follow(), StatusIs(absl::StatusCode::kAborted, HasSubstr("or cut")));
    EXPECT_EQ(position, before);
  }
}

// A crash may leave a file whose blocks were never written.
TEST_F(LogTailTest, AHeaderThatIsNotWholeIsNoLog) {
  Open(1000);
  Commit();
  std::string log = Bytes(path_ + "-wal");
  const std::string path = dir_.File("other.db");
  Write(path + "-wal", std::string(log.size(), '\0'));
  EXPECT_EQ(FrontOfLog(path).value(), LogPosition());
  Write(path + "-wal", log.substr(0, 16) + std::string(log.size() - 16, '\0'));
  EXPECT_EQ(FrontOfLog(path).value(), LogPosition());
  log[3] = static_cast<char>(log[3] ^ 1);
  Write(path + "-wal", log);
  EXPECT_THAT(FrontOfLog(path),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("little-endian words")));
}

// Its sync failed: it was read, and then another one was written in its place.
TEST_F(LogTailTest, ACommitThatWasTakenBackIsNoticed) {
  Open(1000);
  Commit();
  BeginCopy();
  CopyFiles(path_, dir_.File("fork"));
  Commit();
  ASSERT_OK(Follow());
  store_.reset();
  CopyFiles(dir_.File("fork"), path_);
  Open(1000);
  Commit();
  Commit();
  EXPECT_THAT(Follow(), StatusIs(absl::StatusCode::kAborted, HasSubstr("was written over")));
}

TEST_F(LogTailTest, AnUnfinishedCommitIsNotRead) {
  Open(1000);
  Commit();
  BeginCopy();
  ASSERT_OK(Follow());
  const std::string state = Describe(*store_);
  const std::string before = Bytes(path_ + "-wal");
  Commit();
  const std::string after = Bytes(path_ + "-wal");
  const std::string images = images_;
  const LogPosition position = position_;
  const std::string log = dir_.File("cut.db-wal");
  const std::string path = dir_.File("cut.db");
  for (size_t bytes = before.size(); bytes < after.size(); bytes += 1000) {
    Write(log, after.substr(0, bytes));
    position_ = position;
    ASSERT_OK(FollowLog(
        path, position_, [](int64_t /*bytes*/) {},
        [this](absl::string_view more) {
          absl::StrAppend(&images_, more);
          return absl::OkStatus();
        }));
    EXPECT_EQ(images_, images) << bytes;
    EXPECT_EQ(position_, position);
  }
  EXPECT_EQ(Restored(), state);
}

TEST_F(LogTailTest, WhatIsNoPageImageIsRefused) {
  uint64_t pages = 0;
  EXPECT_THAT(ApplyLog("short", -1, "db", &pages),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("expected page images")));
  EXPECT_THAT(ApplyLog(std::string(24 + 4096, '\0'), -1, "db", &pages),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("expected page images")));
}

}  // namespace
}  // namespace concur::testing
