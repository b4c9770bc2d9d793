// SPDX-License-Identifier: Apache-2.0
#include "store/artifacts/directory_store.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/check.h"
#include "base/random.h"
#include "store/artifacts/artifact_reader.h"
#include "tests/testing/read_artifact.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

void Write(const std::string& path, const std::string& bytes) {
  // Artifacts are read-only; the test damages them all the same.
  std::filesystem::remove(path);
  std::ofstream out(path, std::ios::binary);
  out << bytes;
  CONCUR_CHECK(out.good());
}

// Files below a directory.
int CountFiles(const std::string& directory) {
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    files += entry.is_regular_file() ? 1 : 0;
  }
  return files;
}

class DirectoryStoreTest : public ::testing::Test {
 protected:
  DirectoryStoreTest() : store_(Open()) {}

  std::unique_ptr<DirectoryStore> Open() {
    absl::StatusOr<std::unique_ptr<DirectoryStore>> store = DirectoryStore::Open(dir_.File("a"));
    CONCUR_CHECK_OK(store.status());
    return *std::move(store);
  }
  // Sets when an artifact was last touched.
  void Touch(const Digest& digest, absl::Time time) {
    const timespec stamp = absl::ToTimespec(time);
    const timespec times[2] = {stamp, stamp};
    CONCUR_CHECK(utimensat(AT_FDCWD, store_->PathOf(digest)->c_str(), times, 0) == 0);
  }

  TempDir dir_;
  std::unique_ptr<DirectoryStore> store_;
};

TEST_F(DirectoryStoreTest, WhatWasPutIsReadUnderItsDigest) {
  for (const std::string& data :
       {std::string(), std::string("abc"), std::string(1'000'000, 'x'), std::string("\0\xff", 2)}) {
    ASSERT_OK_AND_ASSIGN(const Digest digest, store_->Put(data));
    EXPECT_EQ(digest, Sha256Of(data));
    EXPECT_TRUE(store_->Has(digest));
    ASSERT_OK_AND_ASSIGN(const std::string read, ReadArtifact(*store_, digest));
    EXPECT_EQ(read, data);
    ASSERT_OK_AND_ASSIGN(const int64_t size, store_->Size(digest));
    EXPECT_EQ(size, static_cast<int64_t>(data.size()));
    EXPECT_OK(store_->Verify(digest));
    ASSERT_OK_AND_ASSIGN(const std::string path, store_->PathOf(digest));
    EXPECT_EQ(path, absl::StrCat(dir_.File("a"), "/sha256/", digest.ToHex().substr(0, 2), "/",
                                 digest.ToHex()));
  }
  EXPECT_EQ(CountFiles(dir_.File("a/tmp")), 0);
}

TEST_F(DirectoryStoreTest, AnUnknownDigestIsNotFoundEverywhere) {
  const Digest digest = Sha256Of("nobody put this");
  const auto not_found = StatusIs(absl::StatusCode::kNotFound, HasSubstr(digest.ToHex()));
  EXPECT_FALSE(store_->Has(digest));
  EXPECT_THAT(store_->Size(digest), not_found);
  EXPECT_THAT(store_->PathOf(digest), not_found);
  EXPECT_THAT(ReadArtifact(*store_, digest), not_found);
  EXPECT_THAT(store_->OpenSource(digest), not_found);
  EXPECT_THAT(store_->Touch(digest), not_found);
  EXPECT_THAT(store_->Verify(digest), not_found);
}

TEST_F(DirectoryStoreTest, ADroppedWriterLeavesNothing) {
  {
    ASSERT_OK_AND_ASSIGN(const auto writer, store_->NewWriter(Digest()));
    ASSERT_OK(writer->Append("half of it"));
    EXPECT_EQ(writer->bytes(), 10);
    EXPECT_EQ(CountFiles(dir_.File("a/tmp")), 1);
  }
  EXPECT_EQ(CountFiles(dir_.File("a/tmp")), 0);
  ASSERT_OK_AND_ASSIGN(const std::vector<Digest> all, store_->List());
  EXPECT_THAT(all, IsEmpty());
}

TEST_F(DirectoryStoreTest, AWriterChecksTheExpectedDigest) {
  ASSERT_OK_AND_ASSIGN(auto writer, store_->NewWriter(Sha256Of("abd")));
  ASSERT_OK(writer->Append("ab"));
  ASSERT_OK(writer->Append("c"));
  EXPECT_THAT(writer->Finish(),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr(Sha256Of("abd").ToHex()), HasSubstr("3 bytes"))));
  writer.reset();
  EXPECT_FALSE(store_->Has(Sha256Of("abc")));
  ASSERT_OK_AND_ASSIGN(writer, store_->NewWriter(Sha256Of("abc")));
  ASSERT_OK(writer->Append("abc"));
  EXPECT_OK(writer->Finish());
  writer.reset();
  EXPECT_TRUE(store_->Has(Sha256Of("abc")));
}

TEST_F(DirectoryStoreTest, PuttingTwiceIsFineAndKeepsOneFile) {
  ASSERT_OK(store_->Put("same"));
  ASSERT_OK(store_->Put("same"));
  EXPECT_EQ(CountFiles(dir_.File("a/sha256")), 1);
  EXPECT_EQ(CountFiles(dir_.File("a/tmp")), 0);
}

TEST_F(DirectoryStoreTest, AFileIsCopiedInAndItsSourceLeftAlone) {
  for (const size_t size : {0, 1, 4096, 3'000'001}) {
    std::string data(size, '\0');
    Random random(size, "file");
    for (char& c : data) {
      c = static_cast<char>(random.Below(256));
    }
    const std::string source = dir_.File("source");
    Write(source, data);
    ASSERT_OK_AND_ASSIGN(const FileDigest put, store_->PutFile(source));
    EXPECT_EQ(put.digest, Sha256Of(data));
    EXPECT_EQ(put.bytes, static_cast<int64_t>(size));
    Write(source, "changed afterwards");
    ASSERT_OK_AND_ASSIGN(const std::string read, ReadArtifact(*store_, put.digest));
    EXPECT_EQ(read, data);
  }
}

TEST_F(DirectoryStoreTest, AFileOfUnknownSizeIsCopiedWhole) {
  ASSERT_OK_AND_ASSIGN(const FileDigest put, store_->PutFile("/proc/self/cmdline"));
  EXPECT_GT(put.bytes, 0);
  ASSERT_OK_AND_ASSIGN(const std::string read, ReadArtifact(*store_, put.digest));
  EXPECT_EQ(static_cast<int64_t>(read.size()), put.bytes);
}

TEST_F(DirectoryStoreTest, LinksAndSpecialFilesAreRefused) {
  Write(dir_.File("real"), "secret");
  std::filesystem::create_symlink(dir_.File("real"), dir_.File("link"));
  ASSERT_EQ(mkfifo(dir_.File("fifo").c_str(), 0600), 0);
  EXPECT_THAT(store_->PutFile(dir_.File("link")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("symbolic link")));
  EXPECT_THAT(store_->PutFile(dir_.File("fifo")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("special file")));
  EXPECT_THAT(store_->PutFile("/dev/zero"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("special file")));
  EXPECT_THAT(store_->PutFile(dir_.path()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("directory")));
  EXPECT_THAT(store_->PutFile(dir_.File("nothing")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("nothing")));
  EXPECT_EQ(CountFiles(dir_.File("a/tmp")), 0);
}

TEST_F(DirectoryStoreTest, ADamagedFileIsSetAsideAndNeverServed) {
  const std::string data = "the right bytes";
  for (const char* bad : {"the wrong bytes", "the right byte", "the right bytes and more", ""}) {
    ASSERT_OK_AND_ASSIGN(const Digest digest, store_->Put(data));
    Write(*store_->PathOf(digest), bad);
    EXPECT_THAT(ReadArtifact(*store_, digest),
                StatusIs(absl::StatusCode::kDataLoss,
                         AllOf(HasSubstr(digest.ToHex()), HasSubstr(dir_.File("a/damaged")))));
    EXPECT_FALSE(store_->Has(digest));
    EXPECT_THAT(ReadArtifact(*store_, digest),
                StatusIs(absl::StatusCode::kNotFound, HasSubstr(digest.ToHex())));
    // The same bytes from elsewhere heal it.
    ASSERT_OK(store_->Put(data));
    EXPECT_OK(store_->Verify(digest));
  }
  EXPECT_EQ(CountFiles(dir_.File("a/damaged")), 4);
}

TEST_F(DirectoryStoreTest, ALinkInPlaceOfAnArtifactIsNotFollowed) {
  ASSERT_OK_AND_ASSIGN(const Digest digest, store_->Put("data"));
  const std::string path = *store_->PathOf(digest);
  std::filesystem::remove(path);
  Write(dir_.File("elsewhere"), "data");
  std::filesystem::create_symlink(dir_.File("elsewhere"), path);
  EXPECT_THAT(store_->OpenSource(digest),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("symbolic link")));
  EXPECT_FALSE(store_->Has(digest));
  EXPECT_THAT(store_->Verify(digest),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("not a regular file")));
}

TEST_F(DirectoryStoreTest, AReaderBeginsAtItsOffsetAndEndsWhereTheArtifactEnds) {
  ASSERT_OK_AND_ASSIGN(const Digest digest, store_->Put("0123456789"));
  const auto pieces = [&](int64_t offset, int64_t bytes_max) {
    ArtifactReader reader(*store_, digest, offset);
    std::vector<std::string> read;
    do {
      read.emplace_back("whatever was there before");
      EXPECT_OK(reader.Next(bytes_max, &read.back()));
    } while (!read.back().empty());
    return read;
  };
  EXPECT_THAT(pieces(0, 4), ElementsAre("0123", "4567", "89", ""));
  EXPECT_THAT(pieces(8, 4), ElementsAre("89", ""));
  EXPECT_THAT(pieces(10, 4), ElementsAre(""));
  EXPECT_THAT(pieces(INT64_MAX, 4), ElementsAre(""));
}

TEST_F(DirectoryStoreTest, AReaderOfDamagedBytesEndsWithAnErrorWhereverItBegan) {
  for (const int64_t offset : {0, 5}) {
    ASSERT_OK_AND_ASSIGN(const Digest digest, store_->Put("0123456789"));
    Write(*store_->PathOf(digest), "012x456789");
    ArtifactReader reader(*store_, digest, offset);
    std::string piece;
    ASSERT_OK(reader.Next(100, &piece));
    EXPECT_THAT(reader.Next(100, &piece),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("moved to")));
    EXPECT_FALSE(store_->Has(digest));
  }
}

TEST_F(DirectoryStoreTest, WhatIsRemovedIsGone) {
  ASSERT_OK_AND_ASSIGN(const Digest digest, store_->Put("four"));
  ASSERT_OK_AND_ASSIGN(const int64_t freed, store_->Remove(digest));
  EXPECT_EQ(freed, 4);
  EXPECT_FALSE(store_->Has(digest));
  ASSERT_OK_AND_ASSIGN(const int64_t again, store_->Remove(digest));
  EXPECT_EQ(again, 0);
}

TEST_F(DirectoryStoreTest, WhatACacheKeepsIsPutUnderItsNameToo) {
  const std::string data(100'000, 'x');
  ASSERT_OK_AND_ASSIGN(const auto writer, store_->NewWriter(Sha256Of(data), Durability::kCache));
  ASSERT_OK(writer->Append(data));
  ASSERT_OK(writer->Finish());
  EXPECT_OK(store_->Verify(Sha256Of(data)));
}

TEST_F(DirectoryStoreTest, CollectRemovesOldArtifactsThatNobodyNeeds) {
  const absl::Time old_time = absl::FromUnixSeconds(1'000'000'000);
  ASSERT_OK_AND_ASSIGN(const Digest live, store_->Put("live"));
  ASSERT_OK_AND_ASSIGN(const Digest dead, store_->Put("dead"));
  ASSERT_OK_AND_ASSIGN(const Digest fresh, store_->Put("fresh"));
  Touch(live, old_time);
  Touch(dead, old_time);
  ASSERT_OK_AND_ASSIGN(const int64_t freed, store_->Collect({live}, old_time + absl::Hours(1)));
  EXPECT_EQ(freed, 4);
  ASSERT_OK_AND_ASSIGN(const std::vector<Digest> all, store_->List());
  EXPECT_THAT(all, UnorderedElementsAre(live, fresh));
  EXPECT_FALSE(store_->Has(dead));
}

TEST_F(DirectoryStoreTest, PuttingAgainProtectsAnOldArtifactFromCollection) {
  const absl::Time old_time = absl::FromUnixSeconds(1'000'000'000);
  ASSERT_OK_AND_ASSIGN(const Digest digest, store_->Put("wanted again"));
  Touch(digest, old_time);
  ASSERT_OK(store_->Put("wanted again"));
  ASSERT_OK_AND_ASSIGN(const int64_t freed, store_->Collect({}, old_time + absl::Hours(1)));
  EXPECT_EQ(freed, 0);
  EXPECT_TRUE(store_->Has(digest));
}

TEST_F(DirectoryStoreTest, TouchProtectsAnOldArtifactFromCollection) {
  const absl::Time old_time = absl::FromUnixSeconds(1'000'000'000);
  ASSERT_OK_AND_ASSIGN(const Digest digest, store_->Put("asked about"));
  Touch(digest, old_time);
  EXPECT_OK(store_->Touch(digest));
  EXPECT_THAT(store_->Touch(Sha256Of("never put")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("not stored")));
  ASSERT_OK(store_->Collect({}, old_time + absl::Hours(1)));
  EXPECT_TRUE(store_->Has(digest));
}

TEST_F(DirectoryStoreTest, ListLeavesStrangersFilesAlone) {
  ASSERT_OK_AND_ASSIGN(const Digest digest, store_->Put("mine"));
  Write(dir_.File("a/sha256/README"), "not ours");
  std::filesystem::create_directory(dir_.File("a/sha256/zz"));
  const std::string shard = digest.ToHex().substr(0, 2);
  Write(absl::StrCat(dir_.File("a/sha256/"), shard, "/notes"), "not ours");
  ASSERT_OK_AND_ASSIGN(const std::vector<Digest> all, store_->List());
  EXPECT_THAT(all, ElementsAre(digest));
  ASSERT_OK(store_->Collect({}, absl::InfiniteFuture()));
  EXPECT_EQ(CountFiles(dir_.File("a/sha256")), 2);
}

TEST_F(DirectoryStoreTest, TheStoreIdStaysAndDiffersFromOthers) {
  EXPECT_EQ(store_->store_id().size(), 32);
  EXPECT_EQ(Open()->store_id(), store_->store_id());
  ASSERT_OK_AND_ASSIGN(const auto other, DirectoryStore::Open(dir_.File("b")));
  EXPECT_NE(other->store_id(), store_->store_id());
  Write(dir_.File("a/store-id"), "garbage\n");
  EXPECT_THAT(
      DirectoryStore::Open(dir_.File("a")),
      StatusIs(absl::StatusCode::kDataLoss, AllOf(HasSubstr("store-id"), HasSubstr("garbage"))));
}

TEST_F(DirectoryStoreTest, OpenRemovesWhatDeadWritersLeftAndNoLivingOnes) {
  ASSERT_OK_AND_ASSIGN(const auto writer, store_->NewWriter(Digest()));
  ASSERT_OK(writer->Append("in flight"));
  Write(dir_.File("a/tmp/dead.part"), "left by a crash");
  Write(dir_.File("a/tmp/young.part"), "left a moment ago");
  const timespec old_time = absl::ToTimespec(absl::Now() - absl::Hours(48));
  const timespec times[2] = {old_time, old_time};
  for (const auto& entry : std::filesystem::directory_iterator(dir_.File("a/tmp"))) {
    if (entry.path().filename() != "young.part") {
      ASSERT_EQ(utimensat(AT_FDCWD, entry.path().c_str(), times, 0), 0);
    }
  }
  Open();
  EXPECT_FALSE(std::filesystem::exists(dir_.File("a/tmp/dead.part")));
  EXPECT_TRUE(std::filesystem::exists(dir_.File("a/tmp/young.part")));
  ASSERT_OK_AND_ASSIGN(const Digest digest, writer->Finish());
  EXPECT_OK(store_->Verify(digest));
}

TEST_F(DirectoryStoreTest, AFullDiskIsReportedAndLeavesNothing) {
  struct rlimit unlimited {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &unlimited), 0);
  struct rlimit limited = unlimited;
  limited.rlim_cur = 100'000;
  const std::string source = dir_.File("source");
  Write(source, std::string(300'000, 'x'));
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limited), 0);
  const absl::Status put = store_->Put(std::string(300'000, 'x')).status();
  const absl::Status put_file = store_->PutFile(source).status();
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &unlimited), 0);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_THAT(put, StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("write")));
  EXPECT_THAT(put_file, StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("write")));
  EXPECT_EQ(CountFiles(dir_.File("a/tmp")), 0);
  EXPECT_EQ(CountFiles(dir_.File("a/sha256")), 0);
}

TEST_F(DirectoryStoreTest, ManyProcessesPutAndCollectWithoutLosingWhatIsLive) {
  // Children put the same twenty artifacts over and over; each verifies every one it was told is
  // durable. One collects everything that is not live all the while.
  constexpr int kChildren = 3;
  constexpr int kArtifacts = 20;
  std::vector<pid_t> children;
  for (int child = 0; child < kChildren; ++child) {
    const pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      const std::unique_ptr<DirectoryStore> store = Open();
      const absl::Time start = absl::Now() - absl::Seconds(1);
      for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < kArtifacts; ++i) {
          const absl::StatusOr<Digest> digest = store->Put(absl::StrCat("artifact ", i));
          if (!digest.ok() || !store->Verify(*digest).ok() ||
              (child == 0 && !store->Collect({}, start).ok())) {
            _exit(1);
          }
        }
      }
      _exit(0);
    }
    children.push_back(pid);
  }
  for (const pid_t pid : children) {
    int wait_status = 0;
    ASSERT_EQ(waitpid(pid, &wait_status, 0), pid);
    EXPECT_TRUE(WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0) << wait_status;
  }
  ASSERT_OK_AND_ASSIGN(const std::vector<Digest> all, store_->List());
  EXPECT_EQ(all.size(), kArtifacts);
  EXPECT_EQ(CountFiles(dir_.File("a/tmp")), 0);
}

TEST_F(DirectoryStoreTest, ManyThreadsMayUseOneStore) {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([this, thread] {
      for (int i = 0; i < 10; ++i) {
        const std::string data = absl::StrCat("data ", i % 5, thread % 2);
        const absl::StatusOr<Digest> digest = store_->Put(data);
        CONCUR_CHECK_OK(digest.status());
        CONCUR_CHECK(ReadArtifact(*store_, *digest).value_or("") == data);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(CountFiles(dir_.File("a/sha256")), 10);
}

}  // namespace
}  // namespace concur::testing
