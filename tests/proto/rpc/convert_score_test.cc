// SPDX-License-Identifier: Apache-2.0
#include "proto/rpc/convert_score.h"

#include <cmath>
#include <optional>

#include "absl/status/status.h"
#include "proto/rpc/convert_value.h"
#include "tests/testing/test.h"

namespace concur::rpc {
namespace {

const FieldPath kScorePath("score");

JobScore FullScore() {
  JobScore score;
  score.job = {SweepId{3}, 7};
  score.state = JobState::kSucceeded;
  score.approach = "bert";
  score.train_set = "squad";
  score.test_benchmark = "news";
  score.setting = 2;
  score.seed = -5;
  score.metric = "f1";
  score.value = 61.25;
  score.examples = 40;
  score.interval = {50.5, 70.25};
  score.parts = {{"f1", 60, 30, std::nullopt, "a"}, {"f1", 65, 10, std::nullopt, "b"}};
  score.worker = "w3";
  score.run_time = absl::Milliseconds(1500);
  return score;
}

TEST(ConvertScoreTest, EveryFieldComesBackAsItWas) {
  JobScore pending;
  pending.job = {SweepId{1}, 0};
  pending.state = JobState::kRunning;
  for (const JobScore& score : {FullScore(), pending}) {
    ASSERT_OK_AND_ASSIGN(const JobScore again, FromProto(ToProto(score), kScorePath));
    EXPECT_TRUE(again == score);
  }
}

TEST(ConvertScoreTest, NamesTheFieldThatIsWrong) {
  v1::Score proto = ToProto(FullScore());
  proto.set_job("seven");
  EXPECT_THAT(FromProto(proto, kScorePath).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("score.job: ")));
  proto = ToProto(FullScore());
  proto.set_state(v1::Job::STATE_UNSPECIFIED);
  EXPECT_THAT(FromProto(proto, kScorePath).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("score.state: ")));
  proto = ToProto(FullScore());
  proto.set_high(std::nan(""));
  EXPECT_THAT(FromProto(proto, kScorePath).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("score.high: ")));
  proto = ToProto(FullScore());
  proto.set_value(std::nan(""));
  EXPECT_THAT(FromProto(proto, kScorePath).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("score.value: ")));
}

TEST(ConvertScoreTest, AJobsScoreIsThatOfTheMetricAskedFor) {
  v1::Job job;
  job.set_id("s3/7");
  job.set_kind(v1::Job::KIND_EVAL);
  job.set_state(v1::Job::STATE_SUCCEEDED);
  job.set_approach("bert");
  job.set_train_set("squad");
  job.set_test_benchmark("news");
  job.set_setting_index(2);
  job.set_seed(-5);
  v1::Metric& metric = *job.mutable_result()->add_metrics();
  metric.set_name("f1");
  metric.set_value(61.25);
  metric.set_examples(40);
  metric.set_low(50.5);
  metric.set_high(70.25);
  for (const Metric& part : FullScore().parts) {
    AddToParts(part, *job.mutable_result()->mutable_parts());
    v1::Metric& other = *job.mutable_result()->mutable_parts()->rbegin()->add_metrics();
    other.set_name("loss");
  }
  job.set_worker("w3");
  job.mutable_result()->mutable_run_time()->set_seconds(1);
  job.mutable_result()->mutable_run_time()->set_nanos(500'000'000);
  ASSERT_OK_AND_ASSIGN(const JobScore score, ScoreFromJob(job, "f1", kScorePath));
  EXPECT_TRUE(score == FullScore());
  ASSERT_OK_AND_ASSIGN(const JobScore other, ScoreFromJob(job, "exact_match", kScorePath));
  EXPECT_EQ(other.value, std::nullopt);
  // A metric that a failed job measured before it failed is no score.
  job.set_state(v1::Job::STATE_FAILED);
  ASSERT_OK_AND_ASSIGN(const JobScore failed, ScoreFromJob(job, "f1", kScorePath));
  EXPECT_EQ(failed.value, std::nullopt);
}

}  // namespace
}  // namespace concur::rpc
