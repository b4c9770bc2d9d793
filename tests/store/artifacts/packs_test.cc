// SPDX-License-Identifier: Apache-2.0
#include "store/artifacts/packs.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/mutex.h"
#include "store/artifacts/artifact_reader.h"
#include "store/artifacts/directory_store.h"
#include "tests/store/artifacts/packs_fixture.h"
#include "tests/testing/break_files.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

// A block of files that the disk cannot give back.
constexpr uint32_t kLostFrom = 8192;
constexpr uint32_t kLostTo = 12288;

// From now on, reads of that block of any file fail in this process. False where this cannot be.
bool LoseABlock() {
  constexpr auto argument = [](uint32_t i) {
    return static_cast<uint32_t>(offsetof(seccomp_data, args)) + 8 * i;
  };
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_pread64, 0, 7),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument(3)),  // the offset
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kLostTo, 5, 0),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument(2)),  // the count
      BPF_STMT(BPF_MISC | BPF_TAX, 0),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument(3)),
      BPF_STMT(BPF_ALU | BPF_ADD | BPF_X, 0),
      BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, kLostFrom, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EIO),
  };
  const sock_fprog program = {std::size(code), code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

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

TEST_F(PacksTest, ALostBlockCostsTheRecordsThatItIsIn) {
  const std::vector<Digest> digests = PutPack(0, 300);
  absl::flat_hash_set<Digest> live(digests.begin(), digests.end());
  live.insert(PutPack(300, 301)[0]);
  std::vector<bool> is_lost;
  uint32_t begin = 0;
  for (int i = 0; i < 300; ++i) {
    const uint32_t end = begin + PackRecordBytes(static_cast<uint32_t>(Text(i).size()));
    is_lost.push_back(begin < kLostTo && end > kLostFrom);
    begin = end;
  }
  ASSERT_GT(begin, 2 * kLostTo - kLostFrom);
  const pid_t pid = fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    if (!LoseABlock()) {
      _exit(2);
    }
    const std::unique_ptr<DirectoryStore> store = Open();
    for (size_t i = 0; i < digests.size(); ++i) {
      const std::string read = ReadOf(*store, digests[i]);
      if (is_lost[i] ? read != "NOT_FOUND" && read != "DATA_LOSS"
                     : read != Text(static_cast<int>(i))) {
        std::cerr << i << ": " << read << "\n";
        _exit(1);
      }
    }
    _exit(store->Collect(live, absl::InfiniteFuture()).ok() ? 0 : 3);
  }
  int wait_status = 0;
  ASSERT_EQ(waitpid(pid, &wait_status, 0), pid);
  ASSERT_TRUE(WIFEXITED(wait_status)) << wait_status;
  if (WEXITSTATUS(wait_status) == 2) {
    GTEST_SKIP() << "no filters of system calls here";
  }
  EXPECT_EQ(WEXITSTATUS(wait_status), 0);
  EXPECT_EQ(FilesIn("packs").size(), 1);
  EXPECT_EQ(FilesIn("damaged").size(), 1) << "the pack with the lost block";
  for (size_t i = 0; i < digests.size(); ++i) {
    EXPECT_EQ(ReadOf(*store_, digests[i]), is_lost[i] ? "NOT_FOUND" : Text(static_cast<int>(i)));
  }
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
  Mutex files;  // none is opened or closed while those of a pack break
  std::atomic<int> running = 3;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 200; ++i) {
        const uint64_t failed_syncs = store_->failed_syncs();
        Digest digest;
        {
          MutexLock lock(files);
          digest = Put(*store_, Text(1000 * thread + i));
        }
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
    if (turn % 3 == 0) {
      MutexLock lock(files);
      if (const std::string pack = open_pack(); !pack.empty()) {
        BreakFilesOf(pack);
      }
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

}  // namespace
}  // namespace concur::testing
