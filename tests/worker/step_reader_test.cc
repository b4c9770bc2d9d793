// SPDX-License-Identifier: Apache-2.0
#include "worker/step_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace concur::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> StepsOf(const std::vector<std::string>& pieces) {
  std::vector<std::string> found;
  const auto add = [&](const ReportedStep& step) {
    found.push_back(absl::StrCat(step.step, " ", step.name, " ", step.value));
  };
  StepReader reader;
  for (const std::string& piece : pieces) {
    reader.Add(piece, add);
  }
  reader.Finish(add);
  return found;
}

TEST(StepReaderTest, ReportsAreFoundAmongOtherLinesHoweverTheLogIsCut) {
  const std::string log =
      "epoch 1\nconcur-metric {\"step\": 1, \"name\": \"f1\", \"value\": 0.5}\n"
      "done concur-metric {\"step\": 2, \"value\": 1}\nconcur-metric {\"step\": 2, \"value\": 3}";
  EXPECT_THAT(StepsOf({log}), ElementsAre("1 f1 0.5", "2 value 3"));
  std::vector<std::string> bytes;
  for (const char c : log) {
    bytes.emplace_back(1, c);
  }
  EXPECT_EQ(StepsOf(bytes), StepsOf({log}));
}

TEST(StepReaderTest, WhatIsNoReportIsPassedOver) {
  for (const std::string json :
       {"", "{", "[1]", R"({"step": 1})", R"({"step": 1.5, "value": 1})",
        R"({"step": null, "value": 1})", R"({"step": -1, "value": 1})",
        R"({"step": 1, "value": NaN})", R"({"step": 1, "value": 1e999})",
        R"({"step": 1, "value": "1"})", R"({"step": 1, "value": 1, "name": 2})",
        R"({"step": 18446744073709551615, "value": 1})"}) {
    EXPECT_THAT(StepsOf({absl::StrCat("concur-metric ", json, "\n")}), IsEmpty()) << json;
  }
  const std::string good = "concur-metric {\"step\": 1, \"value\": 2}\n";
  EXPECT_THAT(StepsOf({std::string(1 << 20, 'x'), std::string(1 << 20, 'y'), "\n", good}),
              ElementsAre("1 value 2"));
}

TEST(StepReaderTest, OneJobCannotReportMoreThanASyncCarries) {
  StepReader reader;
  size_t found = 0;
  EXPECT_EQ(reader.refused_name(), "");
  for (int name = 0; name < 100; ++name) {
    for (int64_t step = 0; step < 2'000; ++step) {
      reader.Add(absl::StrCat("concur-metric {\"step\": ", step, ", \"value\": 1, \"name\": \"n",
                              name, "\"}\n"),
                 [&](const ReportedStep&) { ++found; });
    }
  }
  EXPECT_GT(found, kStepsDense);
  EXPECT_LE(found, kStepsOfJobMax);
  EXPECT_EQ(reader.refused_name(), "n4");
}

}  // namespace
}  // namespace concur::worker
