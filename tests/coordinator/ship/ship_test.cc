// SPDX-License-Identifier: Apache-2.0
// A second place has what was shipped to it, whole, whatever happened on the way.
#include <sys/file.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "coordinator/ship/ship_status.h"
#include "coordinator/ship/shipment.h"
#include "coordinator/ship/shipper.h"
#include "store/artifacts/directory_store.h"
#include "store/artifacts/file_blocks.h"
#include "store/sqlite_store.h"
#include "tests/store/sqlite_files.h"
#include "tests/store/store_rows.h"
#include "tests/testing/read_artifact.h"
#include "tests/testing/simulated_clock.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

DataPlace At(const std::string& directory) { return {directory, std::nullopt}; }

// Removes what it should, and fails.
class FailingCollections : public ArtifactStore {
 public:
  explicit FailingCollections(std::unique_ptr<ArtifactStore> store) : store_(std::move(store)) {}
  const std::string& store_id() const override { return store_->store_id(); }
  const std::string& directory() const override { return store_->directory(); }
  absl::StatusOr<std::unique_ptr<Writer>> NewWriter(const Digest& digest) override {
    return store_->NewWriter(digest);
  }
  absl::StatusOr<std::unique_ptr<Source>> OpenSource(const Digest& digest) const override {
    return store_->OpenSource(digest);
  }
  absl::Status Touch(const Digest& digest) override { return store_->Touch(digest); }
  absl::StatusOr<int64_t> Size(const Digest& digest) const override { return store_->Size(digest); }
  absl::Status Verify(const Digest& digest) const override { return store_->Verify(digest); }
  absl::StatusOr<std::vector<Digest>> List() const override { return store_->List(); }
  absl::StatusOr<int64_t> Collect(const absl::flat_hash_set<Digest>& live,
                                  absl::Time before) override {
    absl::StatusOr<int64_t> freed = store_->Collect(live, before);
    return fails ? absl::UnavailableError("the disk hangs") : std::move(freed);
  }

  bool fails = false;

 private:
  const std::unique_ptr<ArtifactStore> store_;
};

class ShipTest : public ::testing::Test {
 protected:
  // A shipment's writing fails, before or after it was written.
  enum class Fault { kNone, kBefore, kAfter };

  void SetUp() override {
    ASSERT_OK(MakeDirectories(data_, 0700));
    OpenStore();
    ASSERT_OK_AND_ASSIGN(artifacts_, DirectoryStore::Open(data_ + "/artifacts"));
    ASSERT_OK(WriteFileAtomically(data_ + "/tokens.json", "{\"hashes\": 1}", 0600));
    Commit(1);
    ASSERT_OK_AND_ASSIGN(place_, OpenShipPlace(clock_, to_, {}));
    place_.read = [this, read = place_.read]() -> absl::StatusOr<std::string> {
      return is_away_ ? absl::UnavailableError("the disk is away") : read();
    };
    place_.write = [this, write = place_.write](absl::string_view text) -> absl::Status {
      if (fault_ != Fault::kBefore) {
        CONCUR_RETURN_IF_ERROR(write(text));
        ++writes_;
      }
      return fault_ == Fault::kNone ? absl::OkStatus() : absl::UnavailableError("the disk hangs");
    };
  }
  FailingCollections& FailCollections() {
    auto store = std::make_unique<FailingCollections>(std::move(place_.artifacts));
    FailingCollections& failing = *store;
    place_.artifacts = std::move(store);
    return failing;
  }
  void OpenStore() {
    SqliteStoreOptions options;
    options.checkpoint_pages = 50;
    ASSERT_OK_AND_ASSIGN(store_, SqliteStore::Open(data_ + "/concur.db", options));
  }
  // So many workers, in one commit.
  void Commit(int workers) {
    Batch batch;
    for (int i = 0; i < workers; ++i) {
      batch.put_workers.push_back(FullWorker(absl::StrCat("w", ++workers_)));
    }
    ASSERT_OK(store_->Commit(batch));
  }
  void StartShipper(const ShipLimits& limits = ShipLimits()) {
    shipper_.reset();
    ASSERT_OK_AND_ASSIGN(shipper_, Shipper::Start(clock_, At(data_), place_, limits));
  }
  // The state after a restore into a new directory; the error's text where it fails.
  std::string Restored() {
    restored_ = dir_.File(absl::StrCat("restored", ++restores_));
    absl::Time time;
    const auto report = RestoreShipment(place_, At(restored_), &time);
    return report.ok() ? OpenAndDescribe(restored_ + "/concur.db") : report.status().ToString();
  }
  Digest Put(const std::string& text) {
    const absl::StatusOr<Digest> digest = artifacts_->Put(text);
    EXPECT_OK(digest);
    return *digest;
  }
  std::string ArtifactIn(const std::string& directory, const Digest& digest) {
    const auto store = DirectoryStore::Open(directory + "/artifacts");
    return ReadArtifact(**store, digest).value_or("none");
  }

  TempDir dir_;
  const std::string data_ = dir_.File("data");
  const std::string to_ = dir_.File("shipped");
  std::string restored_;
  SimulatedClock clock_;
  std::unique_ptr<SqliteStore> store_;
  std::unique_ptr<DirectoryStore> artifacts_;
  ShipPlace place_;
  Fault fault_ = Fault::kNone;
  bool is_away_ = false;  // a shipment's reading fails
  int writes_ = 0;
  std::unique_ptr<Shipper> shipper_;
  int workers_ = 0;
  int restores_ = 0;
};

TEST_F(ShipTest, WhatWasShippedIsRestored) {
  StartShipper();
  EXPECT_THAT(Restored(), HasSubstr("nothing was shipped here"));
  ASSERT_OK(WriteFileAtomically(data_ + "/secrets.json", "secret"));
  std::vector<Digest> digests;
  for (int i = 0; i < 50; ++i) {
    Commit(3);
    digests.push_back(Put(absl::StrCat("artifact ", i)));
    clock_.Advance(absl::Seconds(1));
    ASSERT_OK(shipper_->Ship());
    EXPECT_EQ(shipper_->status().bytes_behind, 0);
    EXPECT_EQ(shipper_->status().time, clock_.Now());
    if (i % 10 == 0) {
      ASSERT_EQ(Restored(), Describe(*store_)) << i;
      EXPECT_EQ(ArtifactIn(restored_, digests.back()), absl::StrCat("artifact ", i));
    }
  }
  EXPECT_EQ(ReadFile(restored_ + "/tokens.json").value(), "{\"hashes\": 1}");
  EXPECT_FALSE(std::filesystem::exists(restored_ + "/secrets.json"));
  EXPECT_FALSE(std::filesystem::exists(restored_ + "/concur.db.shipped"));
  absl::Time time;
  EXPECT_THAT(RestoreShipment(place_, At(data_), &time),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("holds a database")));
}

TEST_F(ShipTest, NothingIsWrittenWhileNothingChanges) {
  StartShipper();
  ASSERT_OK(shipper_->Ship());
  const int writes = writes_;
  clock_.Advance(absl::Seconds(5));
  ASSERT_OK(shipper_->Ship());
  EXPECT_EQ(writes_, writes);
  EXPECT_EQ(shipper_->status().time, clock_.Now()) << "it is known that all is there";
}

TEST_F(ShipTest, APlaceThatIsGoneIsNoticedWhileNothingChanges) {
  StartShipper();
  ASSERT_OK(shipper_->Ship());
  const absl::Time time = clock_.Now();
  is_away_ = true;
  clock_.Advance(absl::Minutes(1));
  EXPECT_THAT(shipper_->Ship(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("is away")));
  EXPECT_EQ(shipper_->status().time, time);
  is_away_ = false;
  ASSERT_OK(shipper_->Ship());
  EXPECT_EQ(shipper_->status().time, clock_.Now());
}

// Killed at any moment, or cut off: the place has what it had before, and the next round mends it.
TEST_F(ShipTest, AHalfWrittenShipmentIsNoShipment) {
  StartShipper();
  ASSERT_OK(shipper_->Ship());
  for (const auto fault : {Fault::kBefore, Fault::kAfter}) {
    const std::string before = Describe(*store_);
    const absl::Time time = clock_.Now();
    Commit(5);
    clock_.Advance(absl::Seconds(1));
    fault_ = fault;
    EXPECT_THAT(shipper_->Ship(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("hangs")));
    EXPECT_EQ(shipper_->status().time, time);
    EXPECT_GT(shipper_->status().bytes_behind, 0);
    EXPECT_EQ(Restored(), fault == Fault::kBefore ? before : Describe(*store_));
    fault_ = Fault::kNone;
    Commit(1);
    ASSERT_OK(shipper_->Ship());
    EXPECT_EQ(Restored(), Describe(*store_));
    EXPECT_EQ(shipper_->status().bytes_behind, 0);
  }
}

// The first was written though its answer was lost, the next was not written.
TEST_F(ShipTest, TwoFailuresInARowDoNotEndShipping) {
  StartShipper();
  ASSERT_OK(shipper_->Ship());
  for (const auto fault : {Fault::kAfter, Fault::kBefore, Fault::kBefore}) {
    Commit(1);
    fault_ = fault;
    EXPECT_THAT(shipper_->Ship(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("hangs")));
  }
  fault_ = Fault::kNone;
  ASSERT_OK(shipper_->Ship());
  EXPECT_EQ(Restored(), Describe(*store_));
  EXPECT_EQ(shipper_->status().bytes_behind, 0);
}

TEST_F(ShipTest, DamageOfWhatWasShippedIsNotRestored) {
  StartShipper();
  Commit(500);
  ASSERT_OK(shipper_->Ship());
  ASSERT_OK_AND_ASSIGN(const std::string text, place_.read());
  for (size_t bytes = 0; bytes < text.size(); ++bytes) {
    EXPECT_THAT(ParseShipment(absl::string_view(text).substr(0, bytes), "it"),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("it: shipment: it is damaged")));
    std::string changed = text;
    changed[bytes] = static_cast<char>(changed[bytes] ^ 1);
    EXPECT_THAT(ParseShipment(changed, "it"), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("")));
  }
  ASSERT_OK_AND_ASSIGN(const Shipment shipment, ParseShipment(text, "it"));
  EXPECT_EQ(ShipmentText(shipment), text);
  const auto file = [&](const Digest& digest) {
    return absl::StrCat(to_, "/database/sha256/", digest.ToHex().substr(0, 2), "/", digest.ToHex());
  };
  std::vector<Digest> pieces = {shipment.base[0], shipment.tokens};
  if (!shipment.log.empty()) {
    pieces.push_back(shipment.log.back());
  }
  for (const Digest& piece : pieces) {
    ASSERT_OK_AND_ASSIGN(const std::string bytes, ReadFile(file(piece)));
    std::filesystem::remove(file(piece));
    EXPECT_THAT(Restored(), HasSubstr(piece.ToHex()));
    EXPECT_FALSE(std::filesystem::exists(restored_ + "/concur.db"));
    ASSERT_OK(WriteFileAtomically(file(piece), absl::StrCat(bytes, "x")));
    EXPECT_THAT(Restored(), HasSubstr(piece.ToHex()));
    EXPECT_FALSE(std::filesystem::exists(restored_ + "/concur.db"));
    ASSERT_OK(WriteFileAtomically(file(piece), bytes));
  }
  EXPECT_EQ(Restored(), Describe(*store_));
}

TEST_F(ShipTest, ALogLongerThanTheDatabaseIsReplacedByANewBase) {
  Commit(5000);
  ShipLimits limits;
  limits.log_bytes_min = 0;
  StartShipper(limits);
  ASSERT_OK(shipper_->Ship());
  std::vector<std::string> bases;
  for (int i = 0; i < 60; ++i) {
    workers_ -= 500;  // changes what is there
    Commit(800);
    ASSERT_OK(shipper_->Ship());
    ASSERT_EQ(Restored(), Describe(*store_)) << i;
    const Shipment shipment = ParseShipment(place_.read().value(), "it").value();
    if (bases.empty() || bases.back() != shipment.base[0].ToHex()) {
      bases.push_back(shipment.base[0].ToHex());
    }
  }
  EXPECT_GT(bases.size(), 2u);
}

TEST_F(ShipTest, AnotherProcessGoesOnWhereTheLastOneEnded) {
  StartShipper();
  ASSERT_OK(shipper_->Ship());
  Commit(2);
  StartShipper();
  Commit(2);
  ASSERT_OK(shipper_->Ship());
  EXPECT_EQ(Restored(), Describe(*store_));
  // A piece is gone: all is copied again.
  shipper_.reset();
  const std::string hex = ParseShipment(place_.read().value(), "it").value().base[0].ToHex();
  std::filesystem::remove(absl::StrCat(to_, "/database/sha256/", hex.substr(0, 2), "/", hex));
  StartShipper();
  ASSERT_OK(shipper_->Ship());
  EXPECT_EQ(Restored(), Describe(*store_));
}

TEST_F(ShipTest, AMissedLogIsMadeUpForByTheWholeDatabase) {
  StartShipper();
  ASSERT_OK(shipper_->Ship());
  for (int i = 0; i < 300; ++i) {
    Commit(1);
  }
  ASSERT_OK(shipper_->Ship());
  EXPECT_EQ(Restored(), Describe(*store_));
  // The coordinator ends, which removes the log, starts, and makes another.
  store_.reset();
  ASSERT_OK(shipper_->Ship());
  OpenStore();
  EXPECT_EQ(Restored(), Describe(*store_));
  Commit(1);
  ASSERT_OK(shipper_->Ship());
  EXPECT_EQ(Restored(), Describe(*store_));
}

TEST_F(ShipTest, WhatNothingNeedsIsRemovedFromThePlace) {
  const Digest old = Put("old");
  ShipLimits limits;
  limits.garbage_kept = absl::ZeroDuration();
  limits.log_bytes_min = 0;
  StartShipper(limits);
  ASSERT_OK(shipper_->Ship());
  clock_ = SimulatedClock(absl::Now() + absl::Hours(1));
  ASSERT_OK(artifacts_->Remove(old));
  for (int i = 0; i < 10; ++i) {
    Commit(100);
    Put(absl::StrCat("new ", i));
    ASSERT_OK(shipper_->Ship());
  }
  ASSERT_OK_AND_ASSIGN(const std::vector<Digest> there, place_.artifacts->List());
  EXPECT_EQ(there.size(), 10u);
  const Shipment shipment = ParseShipment(place_.read().value(), "it").value();
  ASSERT_OK_AND_ASSIGN(const std::vector<Digest> pieces, place_.database->List());
  EXPECT_LE(pieces.size(), shipment.log.size() + shipment.base.size() + 1);
  EXPECT_EQ(Restored(), Describe(*store_));
}

// It is set aside at the source, and no longer listed there.
TEST_F(ShipTest, TheIntactCopyOfADamagedArtifactIsKept) {
  const Digest digest = Put("artifact");
  ShipLimits limits;
  limits.garbage_kept = absl::ZeroDuration();
  StartShipper(limits);
  ASSERT_OK(shipper_->Ship());
  const std::string hex = digest.ToHex();
  ASSERT_OK(WriteFileAtomically(
      absl::StrCat(data_, "/artifacts/sha256/", hex.substr(0, 2), "/", hex), "artefact"));
  EXPECT_THAT(artifacts_->Verify(digest),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("moved")));
  ASSERT_OK_AND_ASSIGN(const std::vector<Digest> listed, artifacts_->List());
  ASSERT_TRUE(listed.empty());
  clock_ = SimulatedClock(absl::Now() + absl::Hours(1));
  ASSERT_OK(shipper_->Ship());
  EXPECT_EQ(ArtifactIn(to_, digest), "artifact");
}

TEST_F(ShipTest, AnArtifactThatAFailedCollectionRemovedIsShippedAgain) {
  ShipLimits limits;
  limits.garbage_kept = absl::ZeroDuration();
  FailingCollections& there = FailCollections();
  const Digest digest = Put("artifact");
  StartShipper(limits);
  ASSERT_OK(shipper_->Ship());
  ASSERT_OK(artifacts_->Remove(digest));
  clock_ = SimulatedClock(absl::Now() + absl::Hours(1));
  there.fails = true;
  EXPECT_THAT(shipper_->Ship(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("hangs")));
  EXPECT_EQ(ArtifactIn(to_, digest), "none");
  Put("artifact");
  there.fails = false;
  ASSERT_OK(shipper_->Ship());
  EXPECT_EQ(ArtifactIn(to_, digest), "artifact");
}

TEST_F(ShipTest, AnOlderCopyOfTheDataDoesNotReplaceNewerData) {
  Commit(1);
  const std::string older = dir_.File("older");
  ASSERT_OK(MakeDirectories(older, 0700));
  CopyFiles(data_ + "/concur.db", older + "/concur.db");
  Commit(1);
  StartShipper();
  ASSERT_OK(shipper_->Ship());
  ASSERT_OK_AND_ASSIGN(const auto shipper, Shipper::Start(clock_, At(older), place_));
  EXPECT_THAT(shipper->Ship(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("has later data than")));
  EXPECT_EQ(Restored(), Describe(*store_));
}

// A collection would remove what the shipment of a moment before needs.
TEST_F(ShipTest, NothingIsShippedDuringACollection) {
  StartShipper();
  ASSERT_OK(shipper_->Ship());
  const std::string before = Describe(*store_);
  Commit(1);
  {
    ASSERT_OK_AND_ASSIGN(const FileDescriptor collection,
                         LockFile(data_ + kCollectLock, LOCK_EX | LOCK_NB));
    ASSERT_OK(shipper_->Ship());
    EXPECT_EQ(Restored(), before);
  }
  ASSERT_OK(shipper_->Ship());
  EXPECT_EQ(Restored(), Describe(*store_));
}

TEST_F(ShipTest, PlacesOfOthersAreRefused) {
  StartShipper();
  ASSERT_OK(shipper_->Ship());
  const auto refused = [](const std::string& why) {
    return StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(why));
  };
  EXPECT_THAT(Shipper::Start(clock_, At(data_), place_), refused("another process ships it"));
  const std::string other = dir_.File("other");
  ASSERT_OK(MakeDirectories(other, 0700));
  MustOpen(other + "/concur.db");
  EXPECT_THAT(Shipper::Start(clock_, At(other), place_), refused("another coordinator shipped"));
  EXPECT_THAT(OpenShipPlace(clock_, data_, {}), refused("is a data directory"));
  EXPECT_THAT(OpenShipPlace(clock_, dir_.File("no/mount"), {}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no/mount")));
  EXPECT_THAT(OpenShipPlace(clock_, "s3://", {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("s3://BUCKET/PREFIX")));
  Commit(1);
  std::filesystem::remove(to_ + "/shipment");
  EXPECT_THAT(shipper_->Ship(), refused("not as this process left it"));
}

TEST_F(ShipTest, TheStatusIsReadAsItWasWritten) {
  EXPECT_FALSE(ReadShipStatus(data_).has_value());
  StartShipper();
  EXPECT_EQ(ReadShipStatus(data_)->time, absl::InfinitePast());
  EXPECT_GT(ReadShipStatus(data_)->bytes_behind, 0);
  ASSERT_OK(shipper_->Ship());
  EXPECT_EQ(ReadShipStatus(data_)->time, clock_.Now());
  EXPECT_EQ(ReadShipStatus(data_)->bytes_behind, 0);
  ASSERT_OK(WriteFileAtomically(data_ + "/ship.status", "half a li"));
  EXPECT_FALSE(ReadShipStatus(data_).has_value());
}

}  // namespace
}  // namespace concur::testing
