// SPDX-License-Identifier: Apache-2.0
#include "base/metric_meaning.h"

#include "tests/testing/test.h"

namespace concur {
namespace {

TEST(MetricMeaningTest, ScalesReadBackAsTheyAreWritten) {
  using Kind = Scale::Kind;
  for (const Scale& scale : {Scale{Kind::kPercent}, Scale{Kind::kFraction}, Scale{Kind::kNone},
                             Scale{Kind::kRange, 0, 5}, Scale{Kind::kRange, -1.5, 1e300}}) {
    ASSERT_OK_AND_ASSIGN(const Scale read, ScaleFromText(ScaleText(scale)));
    EXPECT_EQ(read, scale) << ScaleText(scale);
  }
}

TEST(MetricMeaningTest, RefusesWhatIsNoScale) {
  for (const char* text :
       {"", "Percent", "5", "..", "1..", "..2", "5..5", "9..1", "0..inf", "nan..1"}) {
    EXPECT_FALSE(ScaleFromText(text).ok()) << text;
  }
  EXPECT_THAT(ScaleFromText("9..1"), StatusIs(absl::StatusCode::kInvalidArgument,
                                              HasSubstr("the lower one first, got 9 and 1")));
  EXPECT_THAT(GoalFromName("up"), StatusIs(absl::StatusCode::kInvalidArgument,
                                           HasSubstr("expected maximize or minimize")));
}

TEST(MetricMeaningTest, KnowsNamesOfWhichLessIsBetter) {
  for (const char* name : {"perplexity",
                           "Perplexity (test)",
                           "dev_loss",
                           "WER",
                           "news/rmse",
                           "logloss",
                           "error",
                           "test_error_rate",
                           "cross-entropy",
                           "Brier score",
                           "latency",
                           "edit_distance",
                           "bits_per_byte",
                           "Error rate (%)",
                           "Latency (ms)",
                           "latency_ms",
                           "Latency [s]",
                           "Mean error, in cm",
                           "latency p95",
                           "FID@50k",
                           "Runtime (sec.)",
                           "Err.",
                           "Err. rate [%]",
                           "Top-1 err (%)",
                           "EER",
                           "FPR@95",
                           "FPR95",
                           "DER",
                           "PER",
                           "Error @1",
                           "Failure rate",
                           "Violations",
                           "Hallucinations",
                           "LPIPS",
                           "KID",
                           "MPJPE",
                           "MASE",
                           "sMAPE",
                           "NRMSE",
                           "xent",
                           "1-step loss",
                           "Negative log-likelihood",
                           "ErrorRate",
                           "MeanAbsoluteError",
                           "CrossEntropy",
                           "BitsPerByte",
                           "minDCF",
                           "AbsRel",
                           "Bits/byte",
                           "Invalid output rate",
                           "Edit distance (chars)",
                           "KL divergence (nats)",
                           "CRPS",
                           "Toxicity",
                           "Expected max toxicity",
                           "toxic_frac",
                           "False negative rate"}) {
    EXPECT_TRUE(UsuallyMinimized(name)) << name;
    EXPECT_FALSE(HasUnclearGoal(name)) << name;
  }
  for (const char* name : {"",
                           "accuracy",
                           "f1",
                           "lossless",
                           "answer",
                           "Better",
                           "Salient Translation Error Detection",
                           "entropy",
                           "terror",
                           "Accuracy (%)",
                           "Throughput (tokens/s)",
                           "%",
                           "ms",
                           "Error detection (%)",
                           "neg_mean_squared_error",
                           "neg_log_loss",
                           "1-WER",
                           "100 - WER",
                           "Accuracy (1 - WER)",
                           "1/perplexity",
                           "-loss",
                           "WER reduction (%)",
                           "Error reduction",
                           "accuracy per task",
                           "answer",
                           "ToxicConversationsClassification",
                           "Toxicity detection (F1)",
                           "gloss"}) {
    EXPECT_FALSE(UsuallyMinimized(name)) << name;
    EXPECT_FALSE(HasUnclearGoal(name)) << name;
  }
  for (const char* name : {"Refusal rate", "RefusalRate", "over-refusals", "bias", "ToxiGen",
                           "Attack success rate", "ASR (%)", "stereotype score"}) {
    EXPECT_TRUE(HasUnclearGoal(name)) << name;
    EXPECT_FALSE(UsuallyMinimized(name)) << name;
  }
}

}  // namespace
}  // namespace concur
