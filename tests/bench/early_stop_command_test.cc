// SPDX-License-Identifier: Apache-2.0
// `concur sweep steps` and `concur early-stop`: learning curves, and what early stopping would have
// done on them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/file.h"
#include "tests/cli/commands_fixture.h"
#include "tests/testing/temp_dir.h"

namespace concur::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class EarlyStopCommandTest : public CommandsFixture {
 protected:
  std::string Write(const std::string& contents) {
    const std::string path = dir_.File("curves.csv");
    CONCUR_CHECK_OK(WriteFileAtomically(path, contents));
    return path;
  }
  Output EarlyStop(const std::string& contents, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"early-stop", Write(contents)});
    return Concur(std::move(more));
  }

  testing::TempDir dir_;
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
  const Output output = EarlyStop(NineSettings());
  ASSERT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.out,
              AllOf(HasSubstr("Early stopping by asha, steps 1 to 9, eta 3, 1 worker"),
                    HasSubstr("selected in 1 of 1 cells (100.0 %), with 25.9 % of the training"),
                    HasSubstr("the score lost is 0")));
  const Output json = EarlyStop(NineSettings(), {"-o", "json", "--method", "median"});
  ASSERT_EQ(json.code, 0) << json.err;
  const auto row = nlohmann::json::parse(json.out)["rows"][0];
  EXPECT_EQ(row["best"], 0);
  EXPECT_EQ(row["selected"], 0);
  EXPECT_EQ(row["settings"], 9);
  EXPECT_LT(row["training"], 1);
}

TEST_F(EarlyStopCommandTest, EventsAreTheLogOfArrivalsAndDecisions) {
  const Output output = EarlyStop("setting,step,value\n7,1,0.5\n7,2,0.9\n8,1,0.1\n8,2,0.2\n",
                                  {"--events", "-o", "csv", "--eta", "2", "--minimize"});
  ASSERT_EQ(output.code, 0) << output.err;
  EXPECT_EQ(output.out,
            "approach,benchmark,seed,time,event,setting,step,value\n"
            ",,,0.0,begin,7,0,\n,,,1.0,report,7,1,0.5\n,,,1.0,pause,7,1,\n"
            ",,,1.0,begin,8,0,\n,,,2.0,report,8,1,0.1\n,,,2.0,pause,8,1,\n"
            ",,,2.0,go on,8,1,\n,,,3.0,report,8,2,0.2\n,,,3.0,finish,8,2,\n");
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
    const Output output = EarlyStop(bad.csv);
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

// Gives the job another report.
void AddStep(v1::Job& job, int64_t step, const std::string& name, double value) {
  v1::StepRecord& record = *job.add_steps();
  record.set_step(step);
  record.set_name(name);
  record.set_value(value);
  record.set_attempt(1);
  job.set_step_count(static_cast<uint32_t>(job.steps_size()));
}

TEST_F(EarlyStopCommandTest, StepsAreTheReportsOfTrainJobsAlsoWhileTheyRun) {
  v1::Job train = TheJob(0, v1::Job::STATE_SUCCEEDED);
  AddStep(train, 1, "f1", 0.25);
  AddStep(train, 1, "loss", 2);
  v1::Job eval = TheJob(1, v1::Job::STATE_SUCCEEDED);
  AddStep(eval, 1, "f1", 0.25);
  fake_.jobs = {train, eval, TheJob(2, v1::Job::STATE_READY)};
  const Output output = Concur({"sweep", "steps", "s12", "-o", "csv"});
  ASSERT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.out,
              AllOf(HasSubstr("job,approach,benchmark,setting,seed,step,name,value,"
                              "seconds\n"),
                    HasSubstr("s12/0,"), HasSubstr(",1,f1,0.25,"), HasSubstr(",1,loss,2.0,"),
                    Not(HasSubstr("s12/1")), Not(HasSubstr("s12/2"))));
  EXPECT_THAT(output.err, HasSubstr("train jobs without reports: 1"));
  const Output one = Concur({"sweep", "steps", "s12", "-o", "csv", "--metric", "f1"});
  EXPECT_THAT(one.out, Not(HasSubstr("loss")));
  // What it writes is what the replay reads.
  const Output replay = EarlyStop(one.out);
  EXPECT_EQ(replay.code, 0) << replay.err;

  fake_.jobs[0].set_state(v1::Job::STATE_RUNNING);
  fake_.jobs[0].clear_result();
  const Output running = Concur({"sweep", "steps", "s12", "-o", "json"});
  EXPECT_EQ(running.code, 0) << running.err;
  EXPECT_THAT(running.out, AllOf(HasSubstr("s12/0"), HasSubstr("\"seconds\": null")));
}

TEST_F(EarlyStopCommandTest, AJobThatIsDeletedMeanwhileIsMissingAndTheOthersAreNot) {
  v1::Job first = TheJob(0, v1::Job::STATE_SUCCEEDED);
  AddStep(first, 1, "f1", 0.25);
  v1::Job second = TheJob(2, v1::Job::STATE_SUCCEEDED);
  AddStep(second, 1, "f1", 0.75);
  fake_.jobs = {first, second};
  fake_.deleted_job = "s12/0";
  const Output output = Concur({"sweep", "steps", "s12", "-o", "csv"});
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.out, AllOf(HasSubstr("s12/2"), Not(HasSubstr("s12/0"))));
  EXPECT_THAT(output.err, HasSubstr("jobs deleted meanwhile, which are missing: 1"));
}

TEST_F(EarlyStopCommandTest, AJobShowsTheLatestReportOfEachName) {
  v1::Job train = TheJob(0, v1::Job::STATE_RUNNING);
  AddStep(train, 1, "f1", 0.25);
  AddStep(train, 2, "f1", 0.75);
  AddStep(train, 1, "loss", 2);
  fake_.jobs = {train};
  const Output table = Concur({"job", "get", "s12/0"});
  EXPECT_THAT(table.out, AllOf(HasSubstr("reported f1"), HasSubstr("0.7500 at step 2"),
                               HasSubstr("reported loss"), HasSubstr("2.0000 at step 1"),
                               Not(HasSubstr("0.2500"))));
  const Output json = Concur({"-o", "json", "job", "get", "s12/0"});
  EXPECT_EQ(nlohmann::json::parse(json.out)["steps"].size(), 3u);
}

}  // namespace
}  // namespace concur::cli
