// SPDX-License-Identifier: Apache-2.0
// Uploads that no sweep uses count against their user's quota until one does or they expire.
#include "coordinator/engine/upload_ledger.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/testing/simulated_clock.h"
#include "tests/testing/test.h"

namespace concur {
namespace {

Digest UploadNamed(const std::string& name) { return Sha256Of(name); }

class UploadLedgerTest : public ::testing::Test {
 protected:
  testing::SimulatedClock clock_;
  UploadLedger ledger_{clock_, absl::Hours(24)};
};

TEST_F(UploadLedgerTest, UploadsCountFromTheirBeginUntilASweepClaimsThem) {
  EXPECT_EQ(ledger_.Begin("ada", UploadNamed("a"), 60, 100).value_or(-1), 60);
  EXPECT_EQ(ledger_.BytesOf("ada"), 60);
  EXPECT_THAT(ledger_.Begin("ada", UploadNamed("b"), 41, 100),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("of ada leaves 40 bytes"), HasSubstr("this upload has 41"),
                             HasSubstr("60 bytes of earlier uploads"))));
  EXPECT_EQ(ledger_.Begin("bob", UploadNamed("b"), 41, 100).value_or(-1), 41);
  ledger_.End("ada", UploadNamed("a"), 50);
  EXPECT_EQ(ledger_.BytesOf("ada"), 50);
  EXPECT_EQ(ledger_.BytesOf("ada", {UploadNamed("a"), UploadNamed("x")}), 0);
  ledger_.Claim("ada", {UploadNamed("a")});
  EXPECT_EQ(ledger_.BytesOf("ada"), 0);
  ledger_.End("ada", UploadNamed("a"), 50);
  EXPECT_EQ(ledger_.BytesOf("ada"), 0) << "it was claimed before its end was noticed";
}

TEST_F(UploadLedgerTest, AnUploadOfUnknownSizeMayTakeWhatIsLeftAndNoMore) {
  EXPECT_EQ(ledger_.Begin("ada", UploadNamed("a"), 30, 100).value_or(-1), 30);
  EXPECT_EQ(ledger_.Begin("ada", UploadNamed("b"), 0, 100).value_or(-1), 70);
  EXPECT_THAT(ledger_.Begin("ada", UploadNamed("c"), 0, 100),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("leaves 0 bytes")));
  ledger_.End("ada", UploadNamed("b"), 0);  // broken off, and nothing was kept
  EXPECT_EQ(ledger_.BytesOf("ada"), 30);
  // Once more, as after an interruption: it counts once.
  EXPECT_EQ(ledger_.Begin("ada", UploadNamed("a"), 100, 100).value_or(-1), 100);
}

TEST_F(UploadLedgerTest, WhatNoSweepClaimsExpiresButNotWhileItIsUnderWay) {
  EXPECT_OK(ledger_.Begin("ada", UploadNamed("a"), 60, 100));
  clock_.Advance(absl::Hours(48));
  EXPECT_EQ(ledger_.BytesOf("ada"), 60);
  ledger_.End("ada", UploadNamed("a"), 60);
  clock_.Advance(absl::Hours(24) - absl::Seconds(1));
  EXPECT_EQ(ledger_.BytesOf("ada"), 60);
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(ledger_.BytesOf("ada"), 0);
}

TEST_F(UploadLedgerTest, EmptyFilesAreLimitedInNumber) {
  for (size_t i = 0; i < UploadLedger::kUploadsMax; ++i) {
    ASSERT_OK(ledger_.Begin("ada", UploadNamed(absl::StrCat(i)), 1, 100'000'000));
  }
  EXPECT_THAT(ledger_.Begin("ada", UploadNamed("more"), 1, 1'000'000),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("25000 files")));
}

}  // namespace
}  // namespace concur
