// SPDX-License-Identifier: Apache-2.0
// `scripts/bench early-stop`: what early stopping would have done on recorded learning curves.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/file.h"
#include "tests/bench/run_replay.h"
#include "tests/testing/test.h"

namespace concur::cli {
namespace {

class EarlyStopCommandTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& contents) {
    const std::string path = dir_.File("curves.csv");
    CONCUR_CHECK_OK(WriteFileAtomically(path, contents));
    return path;
  }
  Replayed EarlyStop(const std::string& contents, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"early-stop", Write(contents)});
    return RunReplay(more);
  }

  TempDir dir_;
};

// Nine settings of which the last is best, in one cell.
std::string NineSettings() {
  std::string csv = "approach,benchmark,seed,setting,step,name,value,seconds\n";
  for (int setting = 0; setting < 9; ++setting) {
    for (int step = 1; step <= 9; ++step) {
      absl::StrAppend(&csv, "a,b,1,", setting, ",", step, ",f1,", 10 * (9 - setting) + step,
                      ",90\n");
    }
  }
  return csv;
}

TEST_F(EarlyStopCommandTest, TheSameSettingIsSelectedWithAFractionOfTheTraining) {
  const Replayed output = EarlyStop(NineSettings());
  ASSERT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.out,
              AllOf(HasSubstr("Early stopping by asha, steps 1 to 9, eta 3, 1 worker"),
                    HasSubstr("selected in 1 of 1 cells (100.0 %), with 25.9 % of the training"),
                    HasSubstr("the score lost is 0")));
  const Replayed json = EarlyStop(NineSettings(), {"-o", "json", "--method", "median"});
  ASSERT_EQ(json.code, 0) << json.err;
  const auto row = nlohmann::json::parse(json.out)["rows"][0];
  EXPECT_EQ(row["best"], 0);
  EXPECT_EQ(row["selected"], 0);
  EXPECT_EQ(row["settings"], 9);
  EXPECT_LT(row["training"], 1);
}

TEST_F(EarlyStopCommandTest, EventsAreTheLogOfArrivalsAndDecisions) {
  const Replayed output = EarlyStop("setting,step,value\n7,1,0.5\n7,2,0.9\n8,1,0.1\n8,2,0.2\n",
                                    {"--events", "-o", "csv", "--eta", "2", "--minimize"});
  ASSERT_EQ(output.code, 0) << output.err;
  EXPECT_EQ(output.out,
            "approach,benchmark,seed,time,event,setting,step,value\n"
            ",,,0.0,begin,7,0,\n,,,1.0,report,7,1,0.5\n,,,1.0,pause,7,1,\n"
            ",,,1.0,begin,8,0,\n,,,2.0,report,8,1,0.1\n,,,2.0,pause,8,1,\n"
            ",,,2.0,go on,8,1,\n,,,3.0,report,8,2,0.2\n,,,3.0,finish,8,2,\n");
}

// The settings of two jobs, each with two reports.
TEST_F(EarlyStopCommandTest, WhatSweepStepsWritesIsRead) {
  const Replayed output = EarlyStop(
      "job,approach,benchmark,setting,seed,step,name,value,seconds\n"
      "s1/0,a,b,0,1,1,acc,1.1,0.5\ns1/0,a,b,0,1,2,acc,1.2,0.5\n"
      "s1/2,a,b,1,1,1,acc,2.1,0.5\ns1/2,a,b,1,1,2,acc,2.2,0.5\n",
      {"-o", "csv", "--eta", "2"});
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("\na,b,1,2,1,1,1,2.2,2.2,yes,"));
}

TEST_F(EarlyStopCommandTest, WhatIsReportedBeforeTheTrainingIsLeftOut) {
  const std::vector<std::string> events = {"--events", "-o", "csv"};
  EXPECT_EQ(EarlyStop("setting,step,value\n7,0,0.9\n7,1,0.5\n7,4,0.6\n8,0,0.1\n", events).out,
            EarlyStop("setting,step,value\n7,1,0.5\n7,4,0.6\n8,0,0.2\n", events).out);
  EXPECT_THAT(EarlyStop("setting,step,value\n7,0,0.9\n7,1,0.5\n", events).out,
              HasSubstr("report,7,1,0.5\n"));
  EXPECT_THAT(EarlyStop("setting,step,value\n7,0,0.9\n").err, HasSubstr("reports by then, got 1"));
}

TEST_F(EarlyStopCommandTest, CostsAreStepsUnlessAllSettingsOfTheCellStateTheirSeconds) {
  const std::string curves = "setting,step,value,seconds\n1,1,0.5,60\n2,1,0.4,";
  const std::vector<std::string> events = {"--events", "-o", "csv"};
  EXPECT_THAT(EarlyStop(curves + "30\n", events).out, HasSubstr(",,,90.0,finish,2,1,"));
  EXPECT_THAT(EarlyStop(curves + "\n", events).out, HasSubstr(",,,2.0,finish,2,1,"));
}

TEST_F(EarlyStopCommandTest, BadCurvesAreErrorsWithTheirPlace) {
  struct Case {
    const char* csv;
    const char* error;
  };
  for (const Case& bad : std::vector<Case>{
           {"", "curves.csv:1: expected a header"},
           {"setting,step\n1,1\n", "got no \"value\""},
           {"setting,step,value,step\n1,1,1,1\n", "\"step\" stands twice"},
           {"setting,step,value\n1,1\n", "curves.csv:2: expected 3 fields, got 2"},
           {"setting,step,value\n1,x,1\n", "curves.csv:2: step: expected a whole number"},
           {"setting,step,value\n1,1,nan\n", "curves.csv:2: value: expected a number"},
           {"setting,step,value\n1,1,1\n1,1,2\n", "curves.csv:3: step 1 of setting 1 stands in"},
           {"setting,step,value,seconds\n1,1,1,-2\n", "seconds: expected at least 0"},
           {"setting,step,value,name\n1,1,1,f1\n1,1,2,em\n",
            "expected --metric NAME, one of em, f1"},
       }) {
    const Replayed output = EarlyStop(bad.csv);
    EXPECT_EQ(output.code, 2) << bad.csv;
    EXPECT_THAT(output.err, HasSubstr(bad.error));
  }
  const std::string csv = "setting,step,value,name\n1,4,1,f1\n";
  EXPECT_THAT(EarlyStop(csv, {"--metric", "f2"}).err, HasSubstr("(did you mean \"f1\"?)"));
  EXPECT_THAT(EarlyStop(csv, {"--method", "asher"}).err, HasSubstr("--method: expected asha"));
  EXPECT_THAT(EarlyStop(csv, {"--min", "5"}).err, HasSubstr("--max: expected at least min"));
  EXPECT_THAT(EarlyStop(csv, {"--eta", "1"}).err, HasSubstr("--eta: expected at least 2"));
  EXPECT_THAT(EarlyStop(csv, {"--max", "3"}).err, HasSubstr("reports by then, got 3"));
}

}  // namespace
}  // namespace concur::cli
