// SPDX-License-Identifier: Apache-2.0
#include "store/row_codec.h"

#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/random.h"
#include "tests/testing/test.h"

namespace concur {
namespace {

TEST(RowCodecTest, TimesKeepNanosecondsAndInfinities) {
  for (const absl::Time time :
       {absl::InfinitePast(), absl::InfiniteFuture(), absl::UnixEpoch(), absl::FromUnixNanos(1),
        absl::FromUnixNanos(-1), absl::FromUnixNanos(INT64_MAX - 1)}) {
    EXPECT_EQ(TimeOfInt(TimeToInt(time)), time);
  }
  const absl::Time far = absl::FromCivil(absl::CivilDay(9999, 1, 1), absl::UTCTimeZone());
  EXPECT_EQ(TimeToInt(far), INT64_MAX - 1);
  EXPECT_EQ(TimeToInt(absl::FromCivil(absl::CivilDay(1, 1, 1), absl::UTCTimeZone())),
            INT64_MIN + 1);
}

TEST(RowCodecTest, DurationsKeepNanosecondsAndInfinities) {
  for (const absl::Duration duration :
       {absl::InfiniteDuration(), -absl::InfiniteDuration(), absl::ZeroDuration(),
        absl::Nanoseconds(-1), absl::Hours(24 * 365)}) {
    EXPECT_EQ(DurationOfInt(DurationToInt(duration)), duration);
  }
  EXPECT_EQ(DurationToInt(absl::Hours(24 * 365 * 1000)), INT64_MAX - 1);
}

TEST(RowCodecTest, MetricsBecomeReadableJson) {
  EXPECT_EQ(MetricsToJson({{"exact_match", 66.25, 8}, {"f1", 100.0 / 3, 0}}),
            R"({"exact_match":[66.25,8],"f1":[33.333333333333336,0]})");
  EXPECT_EQ(MetricsToJson({{"f1", 50.0, 8, MetricInterval{40.5, 60}}}), R"({"f1":[50,8,40.5,60]})");
  EXPECT_EQ(MetricsToJson({}), "{}");
  EXPECT_EQ(MetricsToJson({{"a\"\\\n", std::nan(""), 1}}), R"({"a\"\\\n":[null,1]})");
  EXPECT_EQ(MetricsToJson({{"x", -std::numeric_limits<double>::infinity(), 1}}),
            R"({"x":[-1e999,1]})");
  EXPECT_EQ(
      MetricsToJson({{"f1", 50, 8, std::nullopt, "a"}, {"f1", 1, 2, MetricInterval{0, 2}, "b"}}),
      R"({"a/f1":[50,8,"a"],"b/f1":[1,2,0,2,"b"]})");
}

TEST(RowCodecTest, EveryMetricReadsBackBitForBit) {
  Random random(1, "metrics");
  for (int round = 0; round < 2000; ++round) {
    std::vector<Metric> metrics(random.Below(4));
    for (Metric& metric : metrics) {
      metric.value = std::bit_cast<double>(random.Next());
      metric.examples = static_cast<int64_t>(random.Next());
      if (random.Chance(0.5)) {
        metric.interval = {100 * random.Uniform(), 100 * random.Uniform()};
      }
      if (random.Chance(0.5)) {
        metric.part = random.Chance(0.5) ? "a/b" : "\"\\";
      }
      for (uint64_t i = random.Below(20); i > 0; --i) {
        metric.name += static_cast<char>(random.Below(256));
      }
    }
    std::vector<Metric> read;
    ASSERT_TRUE(MetricsOfJson(MetricsToJson(metrics), read)) << MetricsToJson(metrics);
    ASSERT_EQ(read.size(), metrics.size());
    for (size_t i = 0; i < metrics.size(); ++i) {
      EXPECT_EQ(read[i].name, metrics[i].name);
      EXPECT_EQ(read[i].examples, metrics[i].examples);
      EXPECT_EQ(read[i].interval, metrics[i].interval);
      EXPECT_EQ(read[i].part, metrics[i].part);
      if (std::isnan(metrics[i].value)) {
        EXPECT_TRUE(std::isnan(read[i].value));
      } else {
        EXPECT_EQ(std::bit_cast<uint64_t>(read[i].value),
                  std::bit_cast<uint64_t>(metrics[i].value));
      }
    }
  }
}

TEST(RowCodecTest, WhatIsNotAListOfMetricsIsRefused) {
  std::vector<Metric> metrics;
  for (const char* json : {"",
                           "{",
                           "{}x",
                           "[]",
                           R"({"a":1})",
                           R"({"a":[1,2]"b":[1,2]})",
                           R"({"a":[1,2],})",
                           R"({"a":[1,2.5]})",
                           R"({"a":[1,2,3]})",
                           R"({"a":[1,2,3,]})",
                           R"({"a":[1,2,3,4,5]})",
                           R"({"a":[1,2,"b"]})",
                           R"({"b/a":[1,2,""]})",
                           R"({"b/a":[1,2,"b",3]})",
                           R"({"b/a":[1,2,3,"b"]})",
                           R"({"a":[,2]})",
                           R"({"a":["1",2]})",
                           R"({"a)",
                           R"({"a\)",
                           R"({"a\x":[1,2]})",
                           R"({"\u0041":[1,2]})",
                           R"({"\u00g1":[1,2]})",
                           R"({,"a":[1,2]})"}) {
    EXPECT_FALSE(MetricsOfJson(json, metrics)) << json;
  }
}

TEST(RowCodecTest, EveryChangedBitOfAShortRowChangesTheChecksum) {
  const std::string text = "a row's text, of some length";
  RowChecksum checksum;
  checksum.AddBytes(1, text);
  const int32_t good = checksum.Finish();
  for (size_t bit = 0; bit < text.size() * 8; ++bit) {
    std::string flipped = text;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    checksum.Clear();
    checksum.AddBytes(1, flipped);
    EXPECT_NE(checksum.Finish(), good) << bit;
  }
  checksum.Clear();
  checksum.AddBytes(2, text);
  EXPECT_NE(checksum.Finish(), good) << "another column";
  checksum.Clear();
  checksum.AddBytes(1, text + std::string(1, '\0'));
  EXPECT_NE(checksum.Finish(), good) << "a longer text";
}

}  // namespace
}  // namespace concur
