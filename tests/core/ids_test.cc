// SPDX-License-Identifier: Apache-2.0
#include "core/ids.h"

#include <string>

#include "tests/testing/test.h"

namespace concur {
namespace {

TEST(IdsTest, ASweepIdReadsBackAsItWasWritten) {
  for (uint64_t number : {uint64_t{0}, uint64_t{12}, UINT64_MAX}) {
    ASSERT_OK_AND_ASSIGN(const SweepId id, SweepId::Parse(SweepId{number}.ToString()));
    EXPECT_EQ(id.number, number);
  }
}

TEST(IdsTest, AJobIdReadsBackAsItWasWritten) {
  const JobId job{SweepId{12}, 345};
  EXPECT_EQ(job.ToString(), "s12/345");
  ASSERT_OK_AND_ASSIGN(const JobId read, JobId::Parse("s12/345"));
  EXPECT_EQ(read, job);
  EXPECT_EQ((AttemptId{job, Attempt{2}}.ToString()), "s12/345 attempt 2");
}

TEST(IdsTest, AnIdHasOneSpellingOnly) {
  for (const char* text : {"", "s", "12", "S12", "s-1", "s+1", "s 1", "s1 ", "s012", "s1.0",
                           "s18446744073709551616", "s1/2/3", "sweep1", "s1\n"}) {
    EXPECT_THAT(SweepId::Parse(text), StatusIs(absl::StatusCode::kInvalidArgument,
                                               HasSubstr("expected a sweep id such as \"s12\"")))
        << text;
  }
  for (const char* text : {"", "s1", "s1/", "/1", "1/1", "s1/-1", "s1/01", "s1/4294967296",
                           "s1/1/1", "s1/ 1", "s1//1"}) {
    EXPECT_THAT(JobId::Parse(text), StatusIs(absl::StatusCode::kInvalidArgument,
                                             HasSubstr("expected a job id such as \"s12/345\"")))
        << text;
  }
}

TEST(IdsTest, AHugeBadIdIsShownInPart) {
  const absl::StatusOr<JobId> id = JobId::Parse(std::string(1'000'000, '\1'));
  ASSERT_FALSE(id.ok());
  EXPECT_LT(id.status().message().size(), 500u);
}

}  // namespace
}  // namespace concur
