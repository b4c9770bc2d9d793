// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/reason_text.h"

#include <set>
#include <string>

#include "absl/time/time.h"
#include "core/job_reason.h"
#include "core/pools/pool_reason.h"
#include "tests/testing/test.h"

namespace concur {
namespace {

// A code that nobody gave words to has those of another one.
TEST(ReasonTextTest, EveryReasonOfAJobHasWordsOfItsOwn) {
  std::set<std::string> texts;
  for (int code = 0; code <= static_cast<int>(JobReason::Code::kSourceStopped); ++code) {
    JobReason reason;
    reason.code = static_cast<JobReason::Code>(code);
    reason.missing = {{"gpu", "a100"}};
    reason.use = JobReason::Use();
    reason.service = JobReason::Service();
    reason.source_reason.resize(1);
    EXPECT_TRUE(texts.insert(ReasonText(reason)).second) << code << ": " << ReasonText(reason);
  }
  EXPECT_FALSE(texts.contains(""));
}

TEST(ReasonTextTest, EveryReasonOfAPoolHasWordsOfItsOwn) {
  std::set<std::string> texts;
  for (int code = 0; code <= static_cast<int>(PoolReason::Code::kTooLong); ++code) {
    const PoolReason reason{.code = static_cast<PoolReason::Code>(code), .pool = "cpu"};
    EXPECT_TRUE(texts.insert(ReasonText(reason)).second) << code << ": " << ReasonText(reason);
  }
  EXPECT_FALSE(texts.contains(""));
}

TEST(ReasonTextTest, TheQuotaOfStoredBytesNamesCheckpointsOnlyWhenThereAreSome) {
  JobReason reason;
  reason.code = JobReason::Code::kStoredBytesMax;
  reason.owner = "bob";
  reason.owner_use = {.stored_bytes = 25, .quota = {.stored_bytes_max = 25}};
  EXPECT_THAT(ReasonText(reason), HasSubstr("bob stores 25 bytes, and stored_bytes_max is 25"));
  EXPECT_THAT(ReasonText(reason), Not(HasSubstr("checkpoints")));
  reason.owner_use.checkpoint_bytes = 20;
  EXPECT_THAT(ReasonText(reason), HasSubstr("20 of them are checkpoints"));
}

TEST(ReasonTextTest, OfManyLabelsAndFilesTheFirstFiveAreNamed) {
  JobReason reason;
  reason.code = JobReason::Code::kNoLabel;
  reason.missing = {{"gpu", "z"}};
  reason.present = {"a", "b", "c", "d", "e", "f", "g"};
  EXPECT_THAT(ReasonText(reason), HasSubstr("(there are gpu=a, gpu=b, gpu=c, gpu=d, gpu=e, …)"));
  reason.no_reuse.nearest = JobId{{1}, 2};
  reason.no_reuse.fields = {{.name = "seed", .here = "1", .there = "2"},
                            {.name = "version", .here = "", .there = "1"},
                            {.name = NoReuse::kCodeField}};
  reason.no_reuse.code_here = true;
  reason.no_reuse.code_there = true;
  reason.no_reuse.code_files = {"a", "b", "c", "d", "e", "f"};
  EXPECT_THAT(ReasonText(reason),
              EndsWith("; not reused: the nearest earlier job, s1/2, differs "
                       "in seed (2 there, 1 "
                       "here), version (1 there, none here), code: a, b, c, d, e and 1 more"));
  reason.no_reuse.code_there = false;
  EXPECT_THAT(ReasonText(reason), EndsWith(", code (none there)"));
}

TEST(ReasonTextTest, WithoutPoolsNothingIsSaidOfThem) {
  DemandReason reason;
  EXPECT_EQ(ReasonText(reason), "");
  reason.has_pools = true;
  EXPECT_EQ(ReasonText(reason), "no pool has workers for it");
  reason.reserved = {"gpu", "big"};
  EXPECT_THAT(ReasonText(reason),
              HasSubstr("pool gpu, pool big takes only jobs that ask for GPUs"));
  reason.pools = {
      {.name = "cpu", .code = DemandReason::Pool::Code::kStarting, .size = {.pending = 1}}};
  EXPECT_EQ(ReasonText(reason), "pool cpu has 1 worker on the way");
}

}  // namespace
}  // namespace concur
