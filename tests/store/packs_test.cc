// SPDX-License-Identifier: Apache-2.0
#include "store/packs.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
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
#include "store/artifact_reader.h"
#include "store/directory_store.h"
#include "tests/testing/break_files.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace concur::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

const absl::Time kOldTime = absl::FromUnixSeconds(1'000'000'000);

std::string Text(int i) { return absl::StrCat("{\"accuracy\": ", i, "}"); }

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
  static std::string ReadOf(const DirectoryStore& store, const Digest& digest) {
    const absl::StatusOr<std::string> read = store.Read(digest, INT64_MAX);
    return read.ok() ? *read : absl::StatusCodeToString(read.status().code());
  }

  TempDir dir_;
  std::unique_ptr<DirectoryStore> store_;
};

// --- damage -------------------------------------------------------------------------------------

TEST_F(PacksTest, OfAPackCutShortAnywhereEveryWholeRecordIsReadAndNothingElse) {
  const std::vector<Digest> digests = PutPack(0, 4);
  const std::string path = ThePack();
  const std::string whole = Contents(path);
  const size_t record = whole.size() / 4;
  for (size_t size = 0; size <= whole.size(); ++size) {
    Write(path, whole.substr(0, size));
    const std::unique_ptr<DirectoryStore> store = Open();
    ASSERT_OK_AND_ASSIGN(const std::vector<Digest> all, store->List());
    EXPECT_EQ(all.size(), size / record) << size;
    for (size_t i = 0; i < digests.size(); ++i) {
      EXPECT_EQ(ReadOf(*store, digests[i]),
                i < size / record ? Text(static_cast<int>(i)) : "NOT_FOUND")
          << size;
    }
  }
}

TEST_F(PacksTest, AFlippedBitCostsAtMostTheArtifactThatItIsIn) {
  const std::vector<Digest> digests = PutPack(0, 4);
  const std::string path = ThePack();
  const std::string whole = Contents(path);
  const size_t record = whole.size() / 4;
  for (size_t bit = 0; bit < whole.size() * 8; bit += 3) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    Write(path, damaged);
    const std::unique_ptr<DirectoryStore> store = Open();
    for (size_t i = 0; i < digests.size(); ++i) {
      const std::string read = ReadOf(*store, digests[i]);
      if (i != bit / 8 / record || (read != "NOT_FOUND" && read != "DATA_LOSS")) {
        EXPECT_EQ(read, Text(static_cast<int>(i))) << "bit " << bit;
      }
    }
  }
}

TEST_F(PacksTest, DamagedBytesAreSetAsideAndNeverServed) {
  const std::vector<Digest> digests = PutPack(0, 2);
  // The store has the place in its index, and the pack changes afterwards.
  EXPECT_EQ(ReadOf(*store_, digests[0]), Text(0));
  std::string pack = Contents(ThePack());
  pack[kPackHeaderBytes] ^= 1;
  Write(ThePack(), pack);
  EXPECT_THAT(store_->Verify(digests[0]),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr(digests[0].ToHex()), HasSubstr(dir_.File("a/damaged")))));
  EXPECT_FALSE(store_->Has(digests[0]));
  EXPECT_FALSE(Open()->Has(digests[0]));
  EXPECT_EQ(FilesIn("damaged").size(), 1);
  EXPECT_EQ(ReadOf(*store_, digests[1]), Text(1));
  // The same bytes from elsewhere heal it.
  Put(*store_, Text(0));
  EXPECT_OK(store_->Verify(digests[0]));
}

TEST_F(PacksTest, AReaderOfDamagedBytesEndsWithAnError) {
  const std::vector<Digest> digests = PutPack(0, 2);
  EXPECT_TRUE(store_->Has(digests[0]));
  std::string pack = Contents(ThePack());
  pack[kPackHeaderBytes] ^= 1;
  Write(ThePack(), pack);
  ArtifactReader reader(*store_, digests[0], 0);
  std::string piece;
  ASSERT_OK(reader.Next(1000, &piece));
  EXPECT_THAT(reader.Next(1000, &piece),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("artifact")));
  EXPECT_FALSE(store_->Has(digests[0]));
}

TEST_F(PacksTest, ARecordInsideOfAnArtifactIsNoArtifact) {
  // Bytes of a job that look like a record, at the place where they will lie: they count only once
  // the header before them is damaged, and then only with the right digest.
  const Digest victim = Sha256Of("the right bytes");
  PackRecord fake = {.digest = victim, .offset = kPackHeaderBytes, .size = 15};
  const std::string data = FormatPackRecord(fake, "the wrong bytes");
  Put(*store_, data);
  ASSERT_OK(store_->Sync());
  EXPECT_FALSE(Open()->Has(victim));
  std::string pack = Contents(ThePack());
  pack[0] ^= 1;
  Write(ThePack(), pack);
  EXPECT_FALSE(Open()->Has(victim));
}

TEST_F(PacksTest, LinksAndOtherFilesAmongPacksAreIgnored) {
  const std::vector<Digest> digests = PutPack(0, 1);
  std::filesystem::rename(ThePack(), dir_.File("elsewhere"));
  std::filesystem::create_symlink(dir_.File("elsewhere"), dir_.File("a/packs/link.pack"));
  std::filesystem::create_directory(dir_.File("a/packs/folder.pack"));
  Write(dir_.File("a/packs/notes"), "not a pack");
  Write(dir_.File("a/packs/noise.pack"), std::string(100'000, 'x'));
  EXPECT_FALSE(Open()->Has(digests[0]));
  ASSERT_OK_AND_ASSIGN(const std::vector<Digest> all, Open()->List());
  EXPECT_THAT(all, IsEmpty());
  ASSERT_OK(Open()->Collect({}, absl::InfiniteFuture()));
  EXPECT_TRUE(std::filesystem::exists(dir_.File("a/packs/notes")));
  EXPECT_TRUE(std::filesystem::exists(dir_.File("elsewhere")));
}

TEST_F(PacksTest, OnAFullDiskNothingIsLeftOfWhatCouldNotBePut) {
  const Digest before = Put(*store_, Text(1));
  struct rlimit unlimited {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &unlimited), 0);
  struct rlimit limited = unlimited;
  limited.rlim_cur = 1000;
  const std::string large(10'000, 'x');
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limited), 0);
  const absl::Status put = store_->Put(large, Durability::kAtSync).status();
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &unlimited), 0);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_THAT(put, StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("write")));
  EXPECT_FALSE(store_->Has(Sha256Of(large)));
  const Digest after = Put(*store_, Text(2));
  ASSERT_OK(store_->Sync());
  EXPECT_EQ(ReadOf(*Open(), before), Text(1));
  EXPECT_EQ(ReadOf(*Open(), after), Text(2));
  EXPECT_EQ(FilesIn("packs").size(), 1);
}

TEST_F(PacksTest, WhatCouldNotBeSyncedIsGoneAndTheNextPackIsSound) {
  const Digest synced = Put(*store_, Text(1));
  ASSERT_OK(store_->Sync());
  const Digest lost = Put(*store_, Text(2));
  ASSERT_NO_FATAL_FAILURE(BreakFilesOf(ThePack()));
  EXPECT_THAT(store_->Sync(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("sync")));
  EXPECT_FALSE(store_->Has(lost));
  EXPECT_TRUE(store_->Has(synced));
  EXPECT_OK(store_->Sync());
  EXPECT_EQ(Put(*store_, Text(2)), lost);
  ASSERT_OK(store_->Sync());
  EXPECT_EQ(FilesIn("packs").size(), 2);
  EXPECT_EQ(ReadOf(*store_, lost), Text(2));
}

// --- what a store promises ----------------------------------------------------------------------

TEST_F(PacksTest, AThousandSmallArtifactsTakeOneFile) {
  for (int i = 0; i < 1000; ++i) {
    Put(*store_, Text(i));
    Put(*store_, Text(i / 2));
  }
  ASSERT_OK(store_->Sync());
  EXPECT_EQ(FilesIn("packs").size(), 1);
  EXPECT_THAT(FilesIn("sha256"), IsEmpty());
  const std::unique_ptr<DirectoryStore> other = Open();
  ASSERT_OK_AND_ASSIGN(const std::vector<Digest> all, other->List());
  EXPECT_EQ(all.size(), 1000);
  for (int i = 0; i < 1000; ++i) {
    const Digest digest = Sha256Of(Text(i));
    EXPECT_EQ(ReadOf(*other, digest), Text(i));
    ASSERT_OK_AND_ASSIGN(const int64_t size, other->Size(digest));
    EXPECT_EQ(size, static_cast<int64_t>(Text(i).size()));
    EXPECT_THAT(other->PathOf(digest),
                StatusIs(absl::StatusCode::kNotFound, HasSubstr("artifact")));
  }
  EXPECT_EQ(FilesIn("packs").size(), 1) << "who only reads writes no pack";
}

TEST_F(PacksTest, SizesUpToTheLimitArePackedAndLargerOnesAreFiles) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{7}, size_t{8}, size_t{kPackedBytesMax},
                            size_t{kPackedBytesMax} + 1}) {
    const std::string data(size, 'x');
    const Digest digest = Put(*store_, data);
    EXPECT_EQ(store_->PathOf(digest).ok(), size > kPackedBytesMax);
    ASSERT_OK(store_->Sync());
    EXPECT_EQ(ReadOf(*Open(), digest), data);
    EXPECT_THAT(store_->Read(digest, static_cast<int64_t>(size) - 1),
                StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("artifact")));
  }
}

TEST_F(PacksTest, WhatIsPutAfterAnotherReadIsFoundByTheNext) {
  const std::unique_ptr<DirectoryStore> reader = Open();
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(reader->Has(Sha256Of(Text(i))));
    Put(*store_, Text(i));
    EXPECT_TRUE(reader->Has(Sha256Of(Text(i))));
  }
}

TEST_F(PacksTest, AStoreWithoutPacksHasFilesOnly) {
  ASSERT_OK_AND_ASSIGN(const auto store, DirectoryStore::Open(dir_.File("b")));
  ASSERT_OK_AND_ASSIGN(const Digest digest, store->Put("small", Durability::kAtSync));
  EXPECT_TRUE(store->PathOf(digest).ok());
  // Its files are read as before when packs are made.
  ASSERT_OK_AND_ASSIGN(const auto later, DirectoryStore::Open(dir_.File("b"), Packing::kMake));
  EXPECT_EQ(ReadOf(*later, digest), "small");
  Put(*later, "small");
  const Digest packed = Put(*later, "another");
  ASSERT_OK_AND_ASSIGN(const std::vector<Digest> all, later->List());
  EXPECT_THAT(all, UnorderedElementsAre(digest, packed));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir_.File("b/packs")), {}), 1);
}

TEST_F(PacksTest, WhatAKilledProcessPutIsFoundAndItsPackIsNotContinued) {
  const pid_t pid = fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    Put(*store_, Text(1));
    _exit(0);  // without a sync
  }
  ASSERT_EQ(waitpid(pid, nullptr, 0), pid);
  EXPECT_OK(store_->Touch(Sha256Of(Text(1))));
  EXPECT_EQ(ReadOf(*store_, Sha256Of(Text(1))), Text(1));
  Put(*store_, Text(2));
  EXPECT_EQ(FilesIn("packs").size(), 2);
}

TEST_F(PacksTest, ProcessesPutCollectAndReadAtOnceWithoutLosingWhatIsLive) {
  constexpr int kChildren = 3;
  constexpr int kArtifacts = 20;
  std::vector<pid_t> children;
  for (int child = 0; child < kChildren; ++child) {
    const pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      const absl::Time start = absl::Now() - absl::Seconds(1);
      for (int round = 0; round < 3; ++round) {
        const std::unique_ptr<DirectoryStore> store = Open();
        for (int i = 0; i < kArtifacts; ++i) {
          const absl::StatusOr<Digest> digest = store->Put(Text(i), Durability::kAtSync);
          if (!digest.ok() || !store->Sync().ok() || !store->Verify(*digest).ok() ||
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
}

TEST_F(PacksTest, ThreadsMayPutAndReadWhileOneSyncs) {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 3; ++thread) {
    threads.emplace_back([this, thread] {
      for (int i = 0; i < 50; ++i) {
        const std::string text = Text(100 * thread + i);
        CONCUR_CHECK(ReadOf(*store_, Put(*store_, text)) == text);
      }
    });
  }
  for (int i = 0; i < 20; ++i) {
    EXPECT_OK(store_->Sync());
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  ASSERT_OK(store_->Sync());
  ASSERT_OK_AND_ASSIGN(const std::vector<Digest> all, Open()->List());
  EXPECT_EQ(all.size(), 150);
}

// --- garbage ------------------------------------------------------------------------------------

TEST_F(PacksTest, CollectRemovesWhatNobodyNeedsAndKeepsTheRest) {
  const std::vector<Digest> digests = PutPack(0, 3);
  AgeAll();
  EXPECT_TRUE(store_->Has(digests[0]));
  ASSERT_OK_AND_ASSIGN(const int64_t freed,
                       Open()->Collect({digests[1]}, kOldTime + absl::Hours(1)));
  EXPECT_EQ(freed, static_cast<int64_t>(Text(0).size() + Text(2).size()));
  for (const auto& store : {Open(), std::move(store_)}) {
    EXPECT_FALSE(store->Has(digests[0]));
    EXPECT_EQ(ReadOf(*store, digests[1]), Text(1));
    ASSERT_OK_AND_ASSIGN(const std::vector<Digest> all, store->List());
    EXPECT_THAT(all, UnorderedElementsAre(digests[1]));
  }
}

TEST_F(PacksTest, APackWithoutLiveArtifactsIsRemoved) {
  PutPack(0, 3);
  AgeAll();
  ASSERT_OK(store_->Collect({}, kOldTime + absl::Hours(1)));
  EXPECT_THAT(FilesIn("packs"), IsEmpty());
}

TEST_F(PacksTest, WhatWasPutOrTouchedAfterTheTimeStays) {
  const std::vector<Digest> digests = PutPack(0, 2);
  ASSERT_OK(store_->Collect({}, kOldTime + absl::Hours(1)));
  EXPECT_TRUE(store_->Has(digests[0]));
  AgeAll();
  ASSERT_OK(store_->Touch(digests[0]));
  ASSERT_OK(store_->Collect({}, kOldTime + absl::Hours(1)));
  EXPECT_TRUE(store_->Has(digests[0]));
  EXPECT_THAT(store_->Touch(Sha256Of("never put")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("artifact")));
}

TEST_F(PacksTest, APackThatIsBeingWrittenIsLeftAlone) {
  const Digest digest = Put(*store_, Text(1));
  AgeAll();
  ASSERT_OK(Open()->Collect({}, absl::InfiniteFuture()));
  EXPECT_EQ(ReadOf(*store_, digest), Text(1));
  Put(*store_, Text(2));
  ASSERT_OK(store_->Sync());
  EXPECT_EQ(ReadOf(*Open(), Sha256Of(Text(2))), Text(2));
}

TEST_F(PacksTest, SmallPacksAreMergedWhileAnotherProcessReadsThem) {
  absl::flat_hash_set<Digest> live;
  for (int i = 0; i < 10; ++i) {
    for (const Digest& digest : PutPack(10 * i, 10 * i + 10)) {
      live.insert(digest);
    }
  }
  AgeAll();
  const std::unique_ptr<DirectoryStore> reader = Open();
  ASSERT_OK_AND_ASSIGN(const std::vector<Digest> before, reader->List());
  const Digest first = before[0];
  ASSERT_OK_AND_ASSIGN(const auto source, reader->OpenSource(first));
  ASSERT_OK_AND_ASSIGN(const int64_t freed, store_->Collect(live, kOldTime + absl::Hours(1)));
  EXPECT_EQ(freed, 0);
  EXPECT_EQ(FilesIn("packs").size(), 1);
  EXPECT_THAT(FilesIn("tmp"), IsEmpty());
  std::string piece;
  ASSERT_OK(source->Next(1000, &piece));
  EXPECT_EQ(Sha256Of(piece), first);
  for (const Digest& digest : live) {
    EXPECT_OK(reader->Verify(digest));
  }
  // The merged pack is as old as what it was made of.
  ASSERT_OK(store_->Collect({}, kOldTime + absl::Hours(1)));
  EXPECT_THAT(FilesIn("packs"), IsEmpty());
}

TEST_F(PacksTest, ASinglePackIsCopiedOnlyWhenMostOfItIsDead) {
  const std::vector<Digest> digests = PutPack(0, 10);
  AgeAll();
  const std::string path = ThePack();
  const auto size = std::filesystem::file_size(path);
  absl::flat_hash_set<Digest> live(digests.begin(), digests.begin() + 6);
  ASSERT_OK(store_->Collect(live, kOldTime + absl::Hours(1)));
  EXPECT_EQ(ThePack(), path);
  live = {digests.begin(), digests.begin() + 3};
  ASSERT_OK(store_->Collect(live, kOldTime + absl::Hours(1)));
  EXPECT_NE(ThePack(), path);
  EXPECT_EQ(std::filesystem::file_size(ThePack()), size / 10 * 3);
  for (const Digest& digest : live) {
    EXPECT_OK(store_->Verify(digest));
  }
}

TEST_F(PacksTest, WhatIsRemovedIsGoneForEverybody) {
  const std::vector<Digest> digests = PutPack(0, 2);
  EXPECT_TRUE(store_->Has(digests[0]));
  ASSERT_OK_AND_ASSIGN(const int64_t freed, Open()->Remove(digests[0]));
  EXPECT_EQ(freed, static_cast<int64_t>(Text(0).size()));
  EXPECT_FALSE(store_->Has(digests[0]));
  ASSERT_OK_AND_ASSIGN(const int64_t again, store_->Remove(digests[0]));
  EXPECT_EQ(again, 0);
  EXPECT_TRUE(store_->Has(digests[1]));
}

}  // namespace
}  // namespace concur::testing
