// SPDX-License-Identifier: Apache-2.0

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "store/artifacts/directory_store.h"
#include "tests/store/artifacts/packs_fixture.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

class PacksCollectTest : public PacksTest {};

TEST_F(PacksCollectTest, CollectRemovesWhatNobodyNeedsAndKeepsTheRest) {
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

TEST_F(PacksCollectTest, APackWithoutLiveArtifactsIsRemoved) {
  PutPack(0, 3);
  AgeAll();
  ASSERT_OK(store_->Collect({}, kOldTime + absl::Hours(1)));
  EXPECT_THAT(FilesIn("packs"), IsEmpty());
}

TEST_F(PacksCollectTest, WhatWasPutOrTouchedAfterTheTimeStays) {
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

TEST_F(PacksCollectTest, APackThatIsBeingWrittenIsLeftAlone) {
  const Digest digest = Put(*store_, Text(1));
  AgeAll();
  ASSERT_OK(Open()->Collect({}, absl::InfiniteFuture()));
  EXPECT_EQ(ReadOf(*store_, digest), Text(1));
  Put(*store_, Text(2));
  ASSERT_OK(store_->Sync());
  EXPECT_EQ(ReadOf(*Open(), Sha256Of(Text(2))), Text(2));
}

TEST_F(PacksCollectTest, SmallPacksAreMergedWhileAnotherProcessReadsThem) {
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

TEST_F(PacksCollectTest, ASinglePackIsCopiedOnlyWhenMostOfItIsDead) {
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

TEST_F(PacksCollectTest, OnAFullDiskDeadFilesGoThoughPacksCannotBeMerged) {
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

TEST_F(PacksCollectTest, APackThatCannotBeCollectedHoldsUpNothingElse) {
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

TEST_F(PacksCollectTest, APackWithADamagedHeaderIsSetAsideOnceWhatIsWholeIsElsewhere) {
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

TEST_F(PacksCollectTest, WhatIsRemovedIsGoneForEverybody) {
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
