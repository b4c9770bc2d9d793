// SPDX-License-Identifier: Apache-2.0

#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "proto/rpc/convert_sweep.h"
#include "proto/rpc/convert_sync.h"
#include "tests/testing/full_result.h"
#include "tests/testing/test.h"

namespace concur::rpc {
namespace {

TEST(ConvertTest, EveryEnumComesBackAsItWas) {
  const FieldPath path("field");
  for (int i = 0; i < kJobStates; ++i) {
    EXPECT_THAT(*FromProto(ToProto(static_cast<JobState>(i)), path), Eq(static_cast<JobState>(i)));
  }
  for (int i = 0; i <= static_cast<int>(SweepState::kCanceled); ++i) {
    EXPECT_THAT(*FromProto(ToProto(static_cast<SweepState>(i)), path),
                Eq(static_cast<SweepState>(i)));
  }
  for (int i = 0; i < kFailureClasses; ++i) {
    EXPECT_THAT(*FromProto(ToProto(static_cast<FailureClass>(i)), path),
                Eq(static_cast<FailureClass>(i)));
  }
  for (int i = 0; i < kArtifactKinds; ++i) {
    EXPECT_THAT(*FromProto(ToProto(static_cast<ArtifactKind>(i)), path),
                Eq(static_cast<ArtifactKind>(i)));
  }
  EXPECT_EQ(v1::FailureClass_Name(ToProto(FailureClass::kInvalidOutput)),
            "FAILURE_CLASS_INVALID_OUTPUT");
  EXPECT_EQ(v1::Job::State_Name(ToProto(JobState::kBackoff)), "STATE_BACKOFF");
  EXPECT_EQ(v1::Sweep::State_Name(ToProto(SweepState::kCanceling)), "STATE_CANCELING");
  const v1::StateCounts counts = ToProto(StateCounts{1, 2, 3, 4, 5, 6, 7, 8, 9});
  EXPECT_EQ(counts.blocked(), 1u);
  EXPECT_EQ(counts.ready(), 2u);
  EXPECT_EQ(counts.backoff(), 3u);
  EXPECT_EQ(counts.running(), 4u);
  EXPECT_EQ(counts.succeeded(), 5u);
  EXPECT_EQ(counts.failed(), 6u);
  EXPECT_EQ(counts.canceled(), 7u);
  EXPECT_EQ(counts.skipped(), 8u);
  EXPECT_EQ(counts.stopped(), 9u);
}

TEST(ConvertTest, TimesBeyondProtobufsRangeBecomeItsEnds) {
  EXPECT_EQ(ToProto(absl::InfinitePast()).seconds(), -62135596800);
  EXPECT_EQ(ToProto(absl::InfiniteFuture()).seconds(), 253402300799);
  EXPECT_EQ(ToProto(absl::InfiniteDuration()).seconds(), 315576000000);
  const absl::Time before = absl::UnixEpoch() - absl::Nanoseconds(1);
  EXPECT_EQ(ToProto(before).seconds(), -1);
  EXPECT_EQ(ToProto(before).nanos(), 999'999'999);
}

TEST(ConvertTest, AMessageOfAJobIsMadeSafeToSend) {
  JobResult result;
  result.failure = FailureClass::kFailed;
  result.message = std::string("\xff\0\xc3", 3) + std::string(10'000, 'x');
  result.run_time = -absl::Seconds(5);
  ASSERT_OK_AND_ASSIGN(const JobResult again, FromProto(ToProto(result), FieldPath("r")));
  EXPECT_LE(again.message.size(), kMessageBytesMax);
  EXPECT_THAT(again.message, HasSubstr("xxx"));
  EXPECT_EQ(again.run_time, absl::ZeroDuration());

  result.message = std::string(kMessageBytesMax - 1, 'x') + "é";  // cut inside a character
  ASSERT_OK(FromProto(ToProto(result), FieldPath("r")));
}

TEST(ConvertTest, EveryFieldOfAResultComesBackAsItWas) {
  int fields = 0;
  VisitFields(testing::FullResults()[0], [&](absl::string_view, const auto&) { ++fields; });
  // And the parts, which the metrics have.
  EXPECT_EQ(v1::JobResult::descriptor()->field_count(), fields + 1);
  for (const JobResult& result : testing::FullResults()) {
    ASSERT_OK_AND_ASSIGN(const JobResult again, FromProto(ToProto(result), FieldPath("result")));
    EXPECT_EQ(again, result);
  }
}

}  // namespace
}  // namespace concur::rpc
