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
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/mutex.h"
#include "store/artifact_reader.h"
#include "store/directory_store.h"
#include "tests/testing/break_files.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace concur::testing {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
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
  Flip(ThePack(), kPackHeaderBytes);
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
  Flip(ThePack(), kPackHeaderBytes);
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
  Flip(ThePack(), 0);
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

TEST_F(PacksTest, APackThatCannotBeReadHidesNoOther) {
  const std::vector<Digest> digests = PutPack(0, 2);
  // Not even the superuser can open a socket's file.
  ASSERT_EQ(mknod(dir_.File("a/packs/0.pack").c_str(), S_IFSOCK | 0600, 0), 0);
  EXPECT_EQ(ReadOf(*Open(), digests[0]), Text(0));
  EXPECT_EQ(ReadOf(*Open(), Sha256Of("never put")), "NOT_FOUND");
  ASSERT_OK_AND_ASSIGN(const std::vector<Digest> all, Open()->List());
  EXPECT_EQ(all.size(), 2);
  // One that becomes a folder while the index has it is like one that is gone.
  EXPECT_EQ(ReadOf(*store_, digests[0]), Text(0));
  const std::string path = ThePack();
  std::filesystem::remove(path);
  std::filesystem::create_directory(path);
  EXPECT_EQ(ReadOf(*store_, digests[0]), "NOT_FOUND");
}

TEST_F(PacksTest, OthersMayReadAPackAsTheyMayReadFiles) {
  const mode_t mask = umask(077);
  PutPack(0, 1);
  umask(mask);
  struct stat info {};
  ASSERT_EQ(stat(ThePack().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0644);
}

TEST_F(PacksTest, OfTwoCopiesOnlyTheDamagedOneIsSetAside) {
  const Digest digest = PutPack(0, 1)[0];
  const std::string damaged = ThePack();
  EXPECT_TRUE(store_->Has(digest));  // there, says the index
  PutPack(0, 1);
  ASSERT_EQ(FilesIn("packs").size(), 2);
  Flip(damaged, kPackHeaderBytes);
  EXPECT_EQ(ReadOf(*store_, digest), "DATA_LOSS");
  EXPECT_EQ(ReadOf(*store_, digest), Text(0));
  EXPECT_EQ(ReadOf(*Open(), digest), Text(0));
}

TEST_F(PacksTest, WhatIsRemovedFromOnePlaceStaysInAnother) {
  const Digest digest = PutPack(0, 1)[0];
  const std::string path = ThePack();
  Packs packs(dir_.File("a"));
  ASSERT_OK_AND_ASSIGN(const Packs::PackedBytes read, packs.Read(digest));
  PutPack(0, 1);
  std::filesystem::remove(path);  // by somebody else, since it was read
  ASSERT_OK(packs.RemoveAt(digest, read.place));
  EXPECT_EQ(ReadOf(*Open(), digest), Text(0));
}

TEST_F(PacksTest, DamagedBytesThatCannotBeSetAsideLeaveNoCopyAndTheNextReaderTriesAgain) {
  const Digest digest = PutPack(0, 1)[0];
  EXPECT_TRUE(store_->Has(digest));  // there, says the index
  Flip(ThePack(), kPackHeaderBytes);
  EXPECT_EQ(WithFilesLimited(8, [&] { return ReadOf(*store_, digest); }), "DATA_LOSS");
  EXPECT_THAT(FilesIn("damaged"), IsEmpty());
  EXPECT_EQ(ReadOf(*store_, digest), "DATA_LOSS");
  EXPECT_EQ(FilesIn("damaged").size(), 1);
  EXPECT_EQ(ReadOf(*store_, digest), "NOT_FOUND");
}

TEST_F(PacksTest, OnAFullDiskNothingIsLeftOfWhatCouldNotBePut) {
  const Digest before = Put(*store_, Text(1));
  const std::string large(10'000, 'x');
  const absl::Status put =
      WithFilesLimited(1000, [&] { return store_->Put(large, Durability::kAtSync).status(); });
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
  EXPECT_EQ(store_->failed_syncs(), 0);
  const Digest lost = Put(*store_, Text(2));
  ASSERT_NO_FATAL_FAILURE(BreakFilesOf(ThePack()));
  EXPECT_THAT(store_->Sync(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("sync")));
  EXPECT_EQ(store_->failed_syncs(), 1) << "whoever put before it learns of it later";
  EXPECT_FALSE(store_->Has(lost));
  EXPECT_TRUE(store_->Has(synced));
  EXPECT_OK(store_->Sync());
  EXPECT_EQ(Put(*store_, Text(2)), lost);
  ASSERT_OK(store_->Sync());
  EXPECT_EQ(FilesIn("packs").size(), 2);
  EXPECT_EQ(ReadOf(*store_, lost), Text(2));
}

TEST_F(PacksTest, WhatNoFailedSyncCameAfterIsThereWhoeverPutItMeanwhile) {
  struct Done {
    Digest digest;
    uint64_t failed_syncs;
  };
  Mutex mu;
  std::vector<Done> done;
  std::atomic<int> running = 3;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 200; ++i) {
        const uint64_t failed_syncs = store_->failed_syncs();
        const Digest digest = Put(*store_, Text(1000 * thread + i));
        MutexLock lock(mu);
        done.push_back({digest, failed_syncs});
      }
      --running;
    });
  }
  const auto open_pack = [&]() -> std::string {
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code error;
      const std::string path = std::filesystem::read_symlink(entry.path(), error);
      if (path.starts_with(dir_.File("a/packs/"))) {
        return path;
      }
    }
    return "";
  };
  std::vector<Digest> kept;
  bool last = false;
  for (int turn = 0; !last; ++turn) {
    last = running == 0;
    std::vector<Done> results;
    {
      MutexLock lock(mu);
      results.swap(done);
    }
    if (turn % 3 == 0 && !open_pack().empty()) {
      BreakFilesOf(open_pack());
    }
    const uint64_t before = store_->failed_syncs();
    const bool is_synced = store_->Sync().ok();
    EXPECT_EQ(is_synced, store_->failed_syncs() == before) << turn;
    for (const Done& one : results) {
      if (one.failed_syncs == store_->failed_syncs()) {
        kept.push_back(one.digest);
      }
    }
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  const std::unique_ptr<DirectoryStore> other = Open();
  for (const Digest& digest : kept) {
    EXPECT_OK(other->Verify(digest));
  }
}

TEST_F(PacksTest, AWriterWhosePackIsElsewhereSaysSoAndPutsFiles) {
  const Digest before = Put(*store_, Text(1));
  ASSERT_OK(store_->Sync());
  std::filesystem::rename(dir_.File("a/packs"), dir_.File("elsewhere"));
  const Digest lost = Put(*store_, Text(2));
  EXPECT_THAT(store_->Sync(), StatusIs(absl::StatusCode::kNotFound, HasSubstr("stat")));
  EXPECT_EQ(store_->failed_syncs(), 1);
  EXPECT_EQ(ReadOf(*store_, lost), "NOT_FOUND");
  const Digest file = Put(*store_, Text(3));
  EXPECT_TRUE(store_->PathOf(file).ok());
  EXPECT_OK(store_->Sync());
  std::filesystem::copy(dir_.File("elsewhere"), dir_.File("a/packs"));
  EXPECT_EQ(ReadOf(*Open(), before), Text(1));
  Put(*store_, Text(4));
  EXPECT_EQ(FilesIn("packs").size(), 2);
  // Another file under its name.
  for (const std::string& pack : FilesIn("packs")) {
    std::filesystem::copy(pack, dir_.File("copy"));
    std::filesystem::rename(dir_.File("copy"), pack);
  }
  EXPECT_THAT(store_->Sync(), StatusIs(absl::StatusCode::kNotFound, HasSubstr("another file")));
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

TEST_F(PacksTest, AFullPackLeavesTheIndexOfItsWriterAndIsFoundAgain) {
  Packs packs(dir_.File("a"));
  const std::string filling(kPackedBytesMax, 'x');
  size_t most = 0;
  Digest first;
  for (uint32_t i = 0; i < 3 * (kPackBytesMax / kPackedBytesMax) / 2; ++i) {
    const std::string data = absl::StrCat(i, filling).substr(0, kPackedBytesMax);
    const Digest digest = Sha256Of(data);
    first = i == 0 ? digest : first;
    ASSERT_OK(packs.Append(digest, data));
    if (i % 100 == 0) {
      ASSERT_OK(packs.Sync());
    }
    most = std::max(most, packs.indexed_for_test());
  }
  EXPECT_LE(most, kPackBytesMax / kPackedBytesMax + 100);
  EXPECT_EQ(FilesIn("packs").size(), 2);
  ASSERT_OK_AND_ASSIGN(const Packs::PackedBytes read, packs.Read(first));
  EXPECT_EQ(Sha256Of(read.bytes), first);
}

TEST_F(PacksTest, WhatItsWriterMayNotHaveSyncedIsNotPromisedByOthers) {
  const Digest digest = Put(*store_, Text(1));
  const std::unique_ptr<DirectoryStore> other = Open();
  EXPECT_TRUE(other->Has(digest));
  EXPECT_THAT(other->Touch(digest), StatusIs(absl::StatusCode::kNotFound, HasSubstr("artifact")));
  ASSERT_OK(store_->Sync());
  Put(*store_, Text(2));  // says that the first one is synced
  EXPECT_TRUE(other->Has(Sha256Of(Text(2))));
  EXPECT_OK(other->Touch(digest));
  store_.reset();
  EXPECT_OK(other->Touch(Sha256Of(Text(2)))) << "nobody cuts it off any more";
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
  absl::flat_hash_set<Digest> live;
  for (int i = 0; i < kArtifacts; ++i) {
    live.insert(Sha256Of(Text(i)));
  }
  std::vector<pid_t> children;
  for (int child = 0; child < kChildren; ++child) {
    const pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      for (int round = 0; round < 3; ++round) {
        const std::unique_ptr<DirectoryStore> store = Open();
        for (int i = 0; i < kArtifacts; ++i) {
          Put(*store, Text(1000 * (child + 1) + i));  // nobody needs it
          const absl::StatusOr<Digest> digest = store->Put(Text(i), Durability::kAtSync);
          if (!digest.ok() || !store->Sync().ok() || !store->Verify(*digest).ok() ||
              (child == 0 && !store->Collect(live, absl::InfiniteFuture()).ok())) {
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
  ASSERT_OK_AND_ASSIGN(const int64_t freed, store_->Collect(live, absl::InfiniteFuture()));
  EXPECT_GT(freed, 0);
  ASSERT_OK_AND_ASSIGN(const std::vector<Digest> all, store_->List());
  EXPECT_EQ((absl::flat_hash_set<Digest>(all.begin(), all.end())), live);
}

TEST_F(PacksTest, WhatIsLiveIsFoundWhilePacksAreMerged) {
  absl::flat_hash_set<Digest> live;
  for (int i = 0; i < 10; ++i) {
    live.insert(PutPack(i, i + 1)[0]);
  }
  const pid_t pid = fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    for (int round = 0; round < 100; ++round) {
      const std::unique_ptr<DirectoryStore> store = Open();
      for (const Digest& digest : live) {
        if (!store->Has(digest)) {
          _exit(1);
        }
      }
    }
    _exit(0);
  }
  int wait_status = 0;
  pid_t ended = 0;
  for (int i = 10; ended == 0; ++i) {
    live.insert(PutPack(i, i + 1)[0]);
    EXPECT_OK(store_->Collect(live, absl::InfiniteFuture()));
    ended = waitpid(pid, &wait_status, WNOHANG);
  }
  EXPECT_EQ(ended, pid);
  EXPECT_TRUE(WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0) << wait_status;
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

TEST_F(PacksTest, OnAFullDiskDeadFilesGoThoughPacksCannotBeMerged) {
  ASSERT_OK_AND_ASSIGN(const Digest file, store_->Put("nobody needs this file"));
  absl::flat_hash_set<Digest> live;
  for (int i = 0; i < 3; ++i) {
    live.insert(PutPack(i, i + 1)[0]);
  }
  ASSERT_OK_AND_ASSIGN(const int64_t freed, WithFilesLimited(100, [&] {
                         return store_->Collect(live, absl::InfiniteFuture());
                       }));
  EXPECT_EQ(freed, static_cast<int64_t>(std::string("nobody needs this file").size()));
  EXPECT_FALSE(store_->Has(file));
  EXPECT_EQ(FilesIn("packs").size(), 3);
  EXPECT_THAT(FilesIn("tmp"), IsEmpty());
  for (const Digest& digest : live) {
    EXPECT_OK(store_->Verify(digest));
  }
}

TEST_F(PacksTest, APackThatCannotBeCollectedHoldsUpNothingElse) {
  ASSERT_OK_AND_ASSIGN(const Digest file, store_->Put("nobody needs this file"));
  PutPack(0, 5);
  PutPack(5, 6);
  PutPack(6, 7);
  // So much may be written that removals can be marked at the beginning of packs only.
  EXPECT_THAT(WithFilesLimited(100, [&] { return Open()->Collect({}, absl::InfiniteFuture()); }),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr(".pack")));
  EXPECT_FALSE(store_->Has(file));
  EXPECT_EQ(FilesIn("packs").size(), 1);
  ASSERT_OK(store_->Collect({}, absl::InfiniteFuture()));
  EXPECT_THAT(FilesIn("packs"), IsEmpty());
}

TEST_F(PacksTest, APackWithADamagedHeaderIsSetAsideOnceWhatIsWholeIsElsewhere) {
  const std::vector<Digest> digests = PutPack(0, 3);
  const std::string path = ThePack();
  const size_t record = Contents(path).size() / 3;
  const Digest neighbour = PutPack(3, 4)[0];
  Flip(path, record);  // the header of the second
  absl::flat_hash_set<Digest> live = {digests[0], digests[1], neighbour};
  ASSERT_OK(store_->Collect(live, absl::InfiniteFuture()));
  EXPECT_EQ(FilesIn("packs").size(), 1);
  EXPECT_EQ(ReadOf(*store_, digests[0]), Text(0));
  EXPECT_EQ(ReadOf(*store_, digests[1]), "NOT_FOUND");
  EXPECT_EQ(ReadOf(*store_, neighbour), Text(3));
  ASSERT_EQ(FilesIn("damaged").size(), 1);
  EXPECT_THAT(Contents(FilesIn("damaged")[0]), HasSubstr(Text(1)));
  // The same where nothing is left of it.
  Flip(ThePack(), 0);
  ASSERT_OK(store_->Collect({}, absl::InfiniteFuture()));
  EXPECT_THAT(FilesIn("packs"), IsEmpty());
  EXPECT_EQ(FilesIn("damaged").size(), 2);
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
