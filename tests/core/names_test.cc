// SPDX-License-Identifier: Apache-2.0

#include <set>
#include <string>

#include "core/job.h"
#include "core/resources.h"
#include "core/result.h"
#include "core/sweep/sweep.h"
#include "tests/testing/test.h"

namespace concur {
namespace {

template <typename Enum, typename ToName>
void ExpectNames(int count, ToName to_name) {
  std::set<std::string> seen;
  for (int i = 0; i < count; ++i) {
    const std::string name(to_name(static_cast<Enum>(i)));
    EXPECT_NE(name, "invalid");
    EXPECT_TRUE(seen.insert(name).second) << name;
  }
  EXPECT_EQ(to_name(static_cast<Enum>(count)), "invalid");
}

template <typename Enum, typename ToName, typename FromName>
void ExpectNamesReadBack(int count, ToName to_name, FromName from_name) {
  ExpectNames<Enum>(count, to_name);
  for (int i = 0; i < count; ++i) {
    const auto value = static_cast<Enum>(i);
    const absl::StatusOr<Enum> back = from_name(to_name(value));
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(*back, value);
  }
  EXPECT_EQ(from_name("").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(from_name("invalid").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(NamesTest, EveryValueHasANameOfItsOwn) {
  ExpectNames<JobState>(kJobStates, JobStateName);
  ExpectNames<SweepState>(kSweepStates, SweepStateName);
  ExpectNames<FailureClass>(kFailureClasses, FailureClassName);
  ExpectNames<ArtifactKind>(kArtifactKinds, ArtifactKindName);
}

TEST(NamesTest, EveryNameReadsBackAsItsValue) {
  ExpectNamesReadBack<DataFormat>(3, DataFormatName, DataFormatFromName);
}

TEST(NamesTest, AnUnknownNameIsRefusedWithWhatExists) {
  EXPECT_THAT(DataFormatFromName("csv"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("expected a data format (qa, file, qa-variants), got \"csv\"")));
}

TEST(JobStateTest, OnlyTheStatesAfterSucceededAreTerminal) {
  EXPECT_FALSE(IsTerminal(JobState::kBlocked));
  EXPECT_FALSE(IsTerminal(JobState::kRunning));
  EXPECT_TRUE(IsTerminal(JobState::kSucceeded));
  EXPECT_TRUE(IsTerminal(JobState::kSkipped));
  EXPECT_TRUE(IsTerminal(JobState::kStopped));
  EXPECT_FALSE(IsTerminal(SweepState::kCanceling));
  EXPECT_TRUE(IsTerminal(SweepState::kFailed));
}

TEST(JobStateTest, NoStateFollowsItselfAndAFinishedJobOnlyStartsAnew) {
  for (int i = 0; i < kJobStates; ++i) {
    const auto from = static_cast<JobState>(i);
    EXPECT_FALSE(IsLegalTransition(from, from)) << JobStateName(from);
    for (int j = 0; j < kJobStates; ++j) {
      const auto to = static_cast<JobState>(j);
      if (IsTerminal(from) && to != JobState::kReady && to != JobState::kBlocked) {
        EXPECT_FALSE(IsLegalTransition(from, to)) << JobStateName(from) << JobStateName(to);
      }
      if (!IsTerminal(from) && to == JobState::kCanceled) {
        EXPECT_TRUE(IsLegalTransition(from, to)) << JobStateName(from);
      }
    }
  }
  EXPECT_FALSE(IsLegalTransition(JobState::kBlocked, JobState::kRunning));
  EXPECT_TRUE(IsLegalTransition(JobState::kReady, JobState::kRunning));
  EXPECT_FALSE(IsLegalTransition(static_cast<JobState>(99), JobState::kReady));
  EXPECT_FALSE(IsLegalTransition(JobState::kReady, static_cast<JobState>(99)));
}

TEST(ResourcesTest, TextLeavesOutWhatIsZeroAndIsExact) {
  EXPECT_EQ(ResourcesText({1000, int64_t{1} << 30, 2}), "cpus 1, memory 1GiB, gpus 2");
  EXPECT_EQ(ResourcesText({500, 1536 << 20, 0}), "cpus 0.5, memory 1536MiB");
  EXPECT_EQ(ResourcesText({10'250, 500'000'000, 0}), "cpus 10.25, memory 500000000B");
  EXPECT_EQ(ResourcesText({0, 0, 0}), "");
}

TEST(ResourcesTest, ARequestFitsOnlyWhenEveryPartDoes) {
  const Resources machine{4000, 1 << 30, 1};
  EXPECT_TRUE((Resources{4000, 1 << 30, 1}.FitsIn(machine)));
  EXPECT_FALSE((Resources{4001, 0, 0}.FitsIn(machine)));
  EXPECT_FALSE((Resources{0, (1 << 30) + 1, 0}.FitsIn(machine)));
  EXPECT_FALSE((Resources{0, 0, 2}.FitsIn(machine)));
}

}  // namespace
}  // namespace concur
