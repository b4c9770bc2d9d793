// SPDX-License-Identifier: Apache-2.0
#include "core/state/owner_ledger.h"

#include <string>

#include "tests/core/sweep/sweep_builder.h"
#include "tests/testing/test.h"

namespace concur {
namespace {

using ::concur::testing::Benchmark;

// Data of 10 bytes: "x-train" and "x-y".
SweepSpec TenBytes() {
  SweepSpec spec;
  spec.benchmarks = {Benchmark("x", /*train=*/true, /*test=*/false), Benchmark("x", true, false)};
  spec.benchmarks[1].train = testing::FileOf("x-y");
  return spec;
}

class OwnerLedgerTest : public ::testing::Test {
 protected:
  QuotaPolicy quotas_{.otherwise = {},
                      .owners = {{"ann", {.running_jobs_max = 2, .stored_bytes_max = 0}},
                                 {"bob", {.running_jobs_max = 0, .stored_bytes_max = 25}}}};
  OwnerLedger ledger_{quotas_};
};

TEST_F(OwnerLedgerTest, AnOwnerKeepsItsNumber) {
  const uint32_t ann = ledger_.Add("ann");
  const uint32_t bob = ledger_.Add("bob");
  EXPECT_NE(ann, bob);
  EXPECT_EQ(ledger_.Add("ann"), ann);
  EXPECT_EQ(ledger_.name(bob), "bob");
}

TEST_F(OwnerLedgerTest, AnAttemptCountsItsCpusAndGpusAndOneMore) {
  const uint32_t ann = ledger_.Add("ann");
  ledger_.AddAttempt(ann, {.cpu_millis = 0});
  EXPECT_EQ(ledger_.ShareOf(ann), 1);
  ledger_.AddAttempt(ann, {.cpu_millis = 500, .memory_bytes = 1 << 30, .gpus = 2});
  EXPECT_EQ(ledger_.ShareOf(ann), 32'502);
  ledger_.RemoveAttempt(ann, {.cpu_millis = 0});
  EXPECT_EQ(ledger_.ShareOf(ann), 32'501);
}

TEST_F(OwnerLedgerTest, AtTheQuotaOfRunningJobsNothingMoreStarts) {
  const uint32_t ann = ledger_.Add("ann");
  ledger_.AddAttempt(ann, {});
  EXPECT_TRUE(ledger_.MayStart(ann));
  EXPECT_EQ(ledger_.LimitReached(ann), OwnerLedger::Limit::kNone);
  ledger_.AddAttempt(ann, {});
  EXPECT_FALSE(ledger_.MayStart(ann));
  EXPECT_EQ(ledger_.LimitReached(ann), OwnerLedger::Limit::kRunningJobs);
  EXPECT_EQ(ledger_.UseOf("ann").running_jobs, 2);
  ledger_.RemoveAttempt(ann, {});
  EXPECT_TRUE(ledger_.MayStart(ann));
}

TEST_F(OwnerLedgerTest, AtTheQuotaOfStoredBytesNothingMoreStarts) {
  const uint32_t bob = ledger_.Add("bob");
  ledger_.AddBytes(bob, 24);
  EXPECT_TRUE(ledger_.MayStart(bob));
  ledger_.AddBytes(bob, 1);
  EXPECT_FALSE(ledger_.MayStart(bob));
  EXPECT_EQ(ledger_.LimitReached(bob), OwnerLedger::Limit::kStoredBytes);
  ledger_.AddBytes(bob, -25);
  EXPECT_TRUE(ledger_.MayStart(bob));
}

TEST_F(OwnerLedgerTest, CheckpointsCountTowardsStoredBytes) {
  const uint32_t bob = ledger_.Add("bob");
  ledger_.AddBytes(bob, 5);
  ledger_.AddCheckpointBytes(bob, 20);
  EXPECT_EQ(ledger_.UseOf("bob").stored_bytes, 25);
  EXPECT_FALSE(ledger_.MayStart(bob));
  EXPECT_EQ(ledger_.UseOf("bob").checkpoint_bytes, 20);
  ledger_.AddCheckpointBytes(bob, -20);
  EXPECT_TRUE(ledger_.MayStart(bob));
  ledger_.AddBytes(bob, 20);
  EXPECT_EQ(ledger_.LimitReached(bob), OwnerLedger::Limit::kStoredBytes);
  EXPECT_EQ(ledger_.UseOf("bob").checkpoint_bytes, 0);
}

TEST_F(OwnerLedgerTest, ADataFileCountsOnceForHoweverManySweepsOfAnOwner) {
  const uint32_t ann = ledger_.Add("ann");
  ledger_.AddData(ann, TenBytes());
  ledger_.AddData(ann, TenBytes());
  EXPECT_EQ(ledger_.UseOf("ann").stored_bytes, 10);
  ledger_.RemoveData(ann, TenBytes());
  EXPECT_EQ(ledger_.UseOf("ann").stored_bytes, 10);
  ledger_.RemoveData(ann, TenBytes());
  EXPECT_EQ(ledger_.UseOf("ann").stored_bytes, 0);
  const uint32_t bob = ledger_.Add("bob");
  ledger_.AddData(ann, TenBytes());
  ledger_.AddData(bob, TenBytes());
  EXPECT_EQ(ledger_.UseOf("bob").stored_bytes, 10) << "another owner's file is another file";
}

TEST_F(OwnerLedgerTest, ASweepBeyondTheQuotaOfStoredBytesIsRefusedWithTheNumbers) {
  EXPECT_OK(ledger_.CheckQuota("bob", TenBytes(), 0));
  const uint32_t bob = ledger_.Add("bob");
  ledger_.AddBytes(bob, 20);
  EXPECT_THAT(ledger_.CheckQuota("bob", TenBytes(), 0),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("bob stores 20 bytes and this adds 10, more than the quota "
                                 "stored_bytes_max of 25")));
  ledger_.AddBytes(bob, -20);
  ledger_.AddData(bob, TenBytes());
  ledger_.AddBytes(bob, 12);
  EXPECT_OK(ledger_.CheckQuota("bob", TenBytes(), 0)) << "data that is there adds nothing";
  EXPECT_OK(ledger_.CheckQuota("carol", TenBytes(), 0)) << "there is no quota";
  EXPECT_EQ(ledger_.FreeBytesOf("carol"), std::nullopt);
}

TEST_F(OwnerLedgerTest, ALedgerThatDiffersFromARecountEndsTheProcess) {
  const uint32_t ann = ledger_.Add("ann");
  ledger_.AddData(ann, TenBytes());
  ledger_.AddAttempt(ann, {});
  OwnerLedger recount(quotas_);
  recount.AddData(recount.Add("ann"), TenBytes());
  EXPECT_DEATH(ledger_.CheckInvariants(recount), "running");
  recount.AddAttempt(recount.Add("ann"), {});
  ledger_.CheckInvariants(recount);
  ledger_.AddBytes(ann, 1);
  EXPECT_DEATH(ledger_.CheckInvariants(recount), "stored_bytes");
}

}  // namespace
}  // namespace concur
