// SPDX-License-Identifier: Apache-2.0
#include "coordinator/engine/partial_uploads.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/testing/simulated_clock.h"
#include "tests/testing/test.h"

namespace concur {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

class PartialUploadsTest : public ::testing::Test {
 protected:
  // Has taken so many bytes, and is counted while it lives.
  class FakeWriter final : public ArtifactStore::Writer {
   public:
    FakeWriter(int64_t bytes, int& alive) : bytes_(bytes), alive_(alive) { ++alive_; }
    ~FakeWriter() override { --alive_; }
    absl::Status Append(absl::string_view data) override {
      bytes_ += static_cast<int64_t>(data.size());
      return absl::OkStatus();
    }
    int64_t bytes() const override { return bytes_; }
    absl::StatusOr<Digest> Finish() override { return absl::DataLossError("too few"); }

   private:
    int64_t bytes_;
    int& alive_;
  };

  bool Keep(const Digest& sender, const Digest& artifact, int64_t bytes) {
    return partial_.Keep(sender, artifact, std::make_unique<FakeWriter>(bytes, alive_));
  }

  const Digest ada_ = Sha256Of("ada");
  const Digest bob_ = Sha256Of("bob");
  const Digest data_ = Sha256Of("data");
  testing::SimulatedClock clock_;
  int alive_ = 0;
  PartialUploads partial_{clock_};
};

TEST_F(PartialUploadsTest, WhatIsKeptIsHandedOutOnceAtItsOffset) {
  EXPECT_EQ(partial_.Offset(ada_, data_), 0);
  EXPECT_TRUE(Keep(ada_, data_, 3 * kMiB));
  EXPECT_EQ(partial_.Offset(ada_, data_), 3 * kMiB);
  EXPECT_EQ(partial_.Take(ada_, data_, 2 * kMiB), nullptr);
  EXPECT_EQ(partial_.Take(ada_, Sha256Of("other"), 3 * kMiB), nullptr);
  const std::unique_ptr<ArtifactStore::Writer> writer = partial_.Take(ada_, data_, 3 * kMiB);
  ASSERT_NE(writer, nullptr);
  EXPECT_EQ(writer->bytes(), 3 * kMiB);
  EXPECT_EQ(partial_.Offset(ada_, data_), 0);
  EXPECT_EQ(partial_.Take(ada_, data_, 3 * kMiB), nullptr);
}

TEST_F(PartialUploadsTest, ASenderFindsOnlyItsOwn) {
  EXPECT_TRUE(Keep(ada_, data_, 3 * kMiB));
  EXPECT_EQ(partial_.Offset(bob_, data_), 0);
  EXPECT_EQ(partial_.Take(bob_, data_, 3 * kMiB), nullptr);
  EXPECT_TRUE(Keep(bob_, data_, 2 * kMiB));
  EXPECT_EQ(partial_.Offset(bob_, data_), 2 * kMiB);
  EXPECT_EQ(partial_.Offset(ada_, data_), 3 * kMiB);
  partial_.GiveUp(ada_, data_);
  EXPECT_EQ(partial_.Offset(ada_, data_), 0);
  EXPECT_EQ(partial_.Offset(bob_, data_), 2 * kMiB);
  EXPECT_EQ(alive_, 1);
}

TEST_F(PartialUploadsTest, LittleIsNotKept) {
  EXPECT_FALSE(Keep(ada_, data_, kMiB - 1));
  EXPECT_EQ(alive_, 0);
  EXPECT_TRUE(Keep(ada_, data_, kMiB));
  EXPECT_EQ(partial_.Offset(ada_, data_), kMiB);
}

TEST_F(PartialUploadsTest, OfTwoUploadsOfOneArtifactTheLongerOneIsKept) {
  EXPECT_TRUE(Keep(ada_, data_, 2 * kMiB));
  EXPECT_FALSE(Keep(ada_, data_, 2 * kMiB));
  EXPECT_TRUE(Keep(ada_, data_, 3 * kMiB));
  EXPECT_EQ(partial_.Offset(ada_, data_), 3 * kMiB);
  EXPECT_EQ(alive_, 1);
}

TEST_F(PartialUploadsTest, AfterItsTimeNothingIsFoundAndNothingIsLeft) {
  const absl::Duration kept_for = partial_.limits().kept_for;
  EXPECT_TRUE(Keep(ada_, data_, kMiB));
  clock_.Advance(kept_for - absl::Seconds(1));
  EXPECT_TRUE(Keep(bob_, data_, kMiB));
  partial_.GiveUpOld();
  EXPECT_EQ(partial_.Offset(ada_, data_), kMiB);
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(partial_.Offset(ada_, data_), 0);
  EXPECT_EQ(partial_.Take(ada_, data_, kMiB), nullptr);
  EXPECT_EQ(alive_, 2);
  partial_.GiveUpOld();
  EXPECT_EQ(alive_, 1);
  EXPECT_EQ(partial_.Offset(bob_, data_), kMiB);
}

TEST_F(PartialUploadsTest, WhatGoesOnAndIsBrokenOffAgainIsKeptAnew) {
  const absl::Duration kept_for = partial_.limits().kept_for;
  EXPECT_TRUE(Keep(ada_, data_, kMiB));
  clock_.Advance(kept_for / 2);
  std::unique_ptr<ArtifactStore::Writer> writer = partial_.Take(ada_, data_, kMiB);
  ASSERT_NE(writer, nullptr);
  EXPECT_TRUE(writer->Append("more").ok());
  clock_.Advance(kept_for);
  EXPECT_TRUE(partial_.Keep(ada_, data_, std::move(writer)));
  clock_.Advance(kept_for / 2);
  EXPECT_EQ(partial_.Offset(ada_, data_), kMiB + 4);
}

TEST_F(PartialUploadsTest, OneMoreThanThereMayBeCostsTheOldest) {
  const size_t count_max = partial_.limits().count_max;
  for (size_t i = 0; i <= count_max; ++i) {
    EXPECT_TRUE(Keep(ada_, Sha256Of(absl::StrCat(i)), kMiB));
    clock_.Advance(absl::Seconds(1));
  }
  EXPECT_EQ(alive_, static_cast<int>(count_max));
  EXPECT_EQ(partial_.Offset(ada_, Sha256Of("0")), 0);
  EXPECT_EQ(partial_.Offset(ada_, Sha256Of("1")), kMiB);
  // One that takes the place of its like costs nobody anything.
  EXPECT_TRUE(Keep(ada_, Sha256Of("2"), 2 * kMiB));
  EXPECT_EQ(partial_.Offset(ada_, Sha256Of("1")), kMiB);
  partial_.GiveUpAll();
  EXPECT_EQ(alive_, 0);
}

}  // namespace
}  // namespace concur
