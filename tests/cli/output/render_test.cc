// SPDX-License-Identifier: Apache-2.0
#include "cli/output/render.h"

#include <nlohmann/json.hpp>

#include "proto/rpc/convert_value.h"
#include "tests/testing/full_result.h"
#include "tests/testing/test.h"

namespace concur::cli {
namespace {

TEST(RenderTest, JsonShowsEveryFieldOfAResult) {
  for (const JobResult& result : testing::FullResults()) {
    const Json json = ResultJson(rpc::ToProto(result));
    size_t fields = 0;
    VisitFields(result, [&](absl::string_view field, const auto&) {
      ++fields;
      EXPECT_TRUE(json.contains(std::string(field))) << field;
    });
    EXPECT_EQ(json.size(), fields + 1) << "and the parts, which the metrics have";
    EXPECT_EQ(json["metrics"][0].size(), 3u);
    EXPECT_EQ(json["artifacts"][0].size(), 3u);
  }
}

// It was "forecast +4790.8 % off".
TEST(RenderTest, AForecastBeyondTwofoldIsSoManyTimesOff) {
  EXPECT_EQ(ForecastErrorText(47.908), "49 times too long");
  EXPECT_EQ(ForecastErrorText(-0.9), "10 times too short");
  EXPECT_EQ(ForecastErrorText(0.25), "25.0 % too long");
}

}  // namespace
}  // namespace concur::cli
