// SPDX-License-Identifier: Apache-2.0
// `concur sweep steps`: what jobs report step by step, as learning curves.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "concur/v1/coordinator.pb.h"
#include "tests/cli/commands_fixture.h"
#include "tests/testing/test.h"

namespace concur::cli {
namespace {

class SweepStepsTest : public CommandsFixture {};

// Gives the job another report.
void AddStep(v1::Job& job, int64_t step, const std::string& name, double value) {
  v1::StepRecord& record = *job.add_steps();
  record.set_step(step);
  record.set_name(name);
  record.set_value(value);
  record.set_attempt(1);
  job.set_step_count(static_cast<uint32_t>(job.steps_size()));
}

TEST_F(SweepStepsTest, StepsAreTheReportsOfTrainJobsAlsoWhileTheyRun) {
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

  fake_.jobs[0].set_state(v1::Job::STATE_RUNNING);
  fake_.jobs[0].clear_result();
  const Output running = Concur({"sweep", "steps", "s12", "-o", "json"});
  EXPECT_EQ(running.code, 0) << running.err;
  EXPECT_THAT(running.out, AllOf(HasSubstr("s12/0"), HasSubstr("\"seconds\": null")));
}

TEST_F(SweepStepsTest, AJobThatIsDeletedMeanwhileIsMissingAndTheOthersAreNot) {
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

TEST_F(SweepStepsTest, AJobShowsTheLatestReportOfEachName) {
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
