// SPDX-License-Identifier: Apache-2.0
// Resources that jobs took, by owner, sweep and approach.

#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "cli/app/context.h"
#include "tests/cli/commands_fixture.h"
#include "tests/testing/test.h"

namespace concur::cli {
namespace {

using TestJson = nlohmann::ordered_json;

class UsageTest : public CommandsFixture {
 protected:
  // s12 has one approach: training asks for 2 CPUs, 4 GiB and a GPU, prediction for half a CPU.
  UsageTest() {
    for (v1::Sweep& sweep : fake_.sweeps) {
      v1::Approach& approach = *sweep.mutable_spec()->add_approaches();
      approach.set_name("lr");
      approach.mutable_train()->mutable_resources()->set_cpu_millis(2000);
      approach.mutable_train()->mutable_resources()->set_memory_bytes(int64_t{4} << 30);
      approach.mutable_train()->mutable_resources()->set_gpus(1);
      approach.mutable_predict()->mutable_resources()->set_cpu_millis(500);
    }
    fake_.jobs = {Ran(0, 3600), Ran(1, 1800)};
  }
  static v1::Job Ran(uint32_t index, int64_t seconds) {
    v1::Job job = TheJob(index, v1::Job::STATE_SUCCEEDED);
    job.mutable_result()->mutable_start_time()->set_seconds(kStart);
    job.mutable_result()->mutable_run_time()->set_seconds(seconds);
    return job;
  }
  static void Failed(int64_t seconds, v1::Job* job) {
    v1::AttemptRecord& attempt = *job->add_attempts();
    attempt.mutable_end_time()->set_seconds(kStart);
    attempt.mutable_result()->mutable_run_time()->set_seconds(seconds);
    job->set_failures(job->failures() + 1);
  }

  static constexpr int64_t kStart = 1'700'000'000;  // 2023-11-14T22:13:20Z
};

TEST_F(UsageTest, HoursAreRunTimesTimesWhatCommandsAskedFor) {
  const Output output = Concur({"usage", "s12"});
  EXPECT_EQ(output.out,
            "OWNER  SWEEP  ID   APPROACH  JOBS  ATTEMPTS  HOURS  CPU-HOURS  GPU-HOURS  GIB-HOURS\n"
            "ada    demo   s12  lr           2         2   1.50       2.25       1.00       4.00\n")
      << output.err;
}

TEST_F(UsageTest, OnATerminalItsRowsFit) {
  for (v1::Sweep& sweep : fake_.sweeps) {
    sweep.mutable_spec()->mutable_approaches(0)->set_name("sliding-window-distance");
  }
  fake_.jobs[0].set_approach("sliding-window-distance");
  const Output output = RunConcur({"--server", fake_.address(), "usage", "s12"}, true);
  EXPECT_THAT(output.out, HasSubstr("GPU-HOURS"));
  for (const absl::string_view line : absl::StrSplit(output.out, '\n')) {
    EXPECT_LE(line.size(), 80u) << line;
  }
}

TEST_F(UsageTest, FailedAttemptsCountAndReusedResultsDoNot) {
  Failed(7200, &fake_.jobs[0]);
  fake_.jobs.push_back(Ran(2, 3600));
  fake_.jobs.back().set_reused_from("s1/0");
  v1::Job given_up = TheJob(4, v1::Job::STATE_FAILED);
  given_up.mutable_result()->mutable_run_time()->set_seconds(360);  // also its last record
  Failed(360, &given_up);
  fake_.jobs.push_back(given_up);
  fake_.jobs.push_back(TheJob(6, v1::Job::STATE_READY));
  const TestJson rows = TestJson::parse(Concur({"usage", "s12", "-o", "json"}).out);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0]["jobs"], 3);
  EXPECT_EQ(rows[0]["attempts"], 4);
  EXPECT_DOUBLE_EQ(rows[0]["gpu_hours"], 3.1);
  EXPECT_DOUBLE_EQ(rows[0]["hours"], 3.6);
}

TEST_F(UsageTest, RowsAreAddedUpByWhatIsAskedFor) {
  fake_.sweeps.resize(2);  // each has the same jobs here
  fake_.sweeps[1].set_owner("bob");
  EXPECT_EQ(Concur({"usage", "--by", "owner", "-o", "csv"}).out,
            "owner,jobs,attempts,services,hours,cpu_hours,gpu_hours,memory_gib_hours,tokens_in,"
            "tokens_out,"
            "usd\n"
            "ada,2,2,0,1.5,2.25,1.0,4.0,0,0,0.0\nbob,2,2,0,1.5,2.25,1.0,4.0,0,0,0.0\n");
  EXPECT_EQ(TestJson::parse(Concur({"usage", "--by", "approach", "-o", "json"}).out)[0]["hours"],
            3.0);
  EXPECT_THAT(Concur({"usage", "--by", "users"}).err, HasSubstr("--by: expected each of owner"));
  EXPECT_EQ(Concur({"usage", "--by", "owner,owner"}).code, kExitUsage);
}

TEST_F(UsageTest, WhatAttemptsSpentAddsUpWithATotal) {
  const auto spend = [&](int job, uint32_t attempt, double usd, int64_t tokens_in) {
    v1::AttemptSpent& spent = *fake_.jobs[job].add_spent();
    spent.set_attempt(attempt);
    spent.mutable_spent()->set_usd(usd);
    spent.mutable_spent()->set_tokens_in(tokens_in);
    spent.mutable_update_time()->set_seconds(kStart);
  };
  fake_.jobs[1].set_approach("gpt");
  for (v1::Sweep& sweep : fake_.sweeps) {
    v1::Approach& approach = *sweep.mutable_spec()->add_approaches();
    approach = sweep.spec().approaches(0);
    approach.set_name("gpt");
    approach.mutable_train()->clear_resources();
    approach.mutable_predict()->clear_resources();
  }
  spend(1, 1, 0.25, 100);
  spend(1, 2, 1.5, 20);
  fake_.jobs.push_back(TheJob(4, v1::Job::STATE_RUNNING));
  spend(2, 1, 2, 0);
  EXPECT_EQ(Concur({"usage", "s12", "--by", "approach"}).out,
            "APPROACH  JOBS  ATTEMPTS  HOURS  CPU-HOURS  GPU-HOURS  GIB-HOURS  TOKENS-IN   USD\n"
            "gpt          1         1   0.50       0.00       0.00       0.00        120  1.75\n"
            "lr           1         1   1.00       2.00       1.00       4.00          0  2.00\n"
            "total        2         2   1.50       2.00       1.00       4.00        120  3.75\n");
  EXPECT_EQ(
      TestJson::parse(
          Concur({"usage", "s12", "--by", "owner", "--since", "2030-01-01", "-o", "json"}).out)
          .size(),
      0u);
}

// Eighty rows of 0.00 hid the three that said something.
TEST_F(UsageTest, RowsAndColumnsWithoutAFigureAreLeftOut) {
  for (v1::Sweep& sweep : fake_.sweeps) {
    v1::Approach& approach = *sweep.mutable_spec()->mutable_approaches(0);
    approach.mutable_train()->mutable_resources()->set_gpus(0);
    *sweep.mutable_spec()->add_approaches() = approach;
    sweep.mutable_spec()->mutable_approaches(1)->set_name("quick");
  }
  fake_.jobs.push_back(Ran(2, 1));
  fake_.jobs.back().set_approach("quick");
  const Output output = Concur({"usage", "s12", "--by", "approach"});
  EXPECT_EQ(output.out,
            "APPROACH  JOBS  ATTEMPTS  HOURS  CPU-HOURS  GIB-HOURS\n"
            "lr           2         2   1.50       2.25       4.00\n");
  EXPECT_THAT(output.err, HasSubstr("1 rows without any figure are left out; -o csv has them"));
  EXPECT_THAT(Concur({"usage", "s12", "--by", "approach", "-o", "csv"}).out, HasSubstr("quick"));
}

TEST_F(UsageTest, ServicesAreRowsOfTheirOwn) {
  for (v1::Sweep& sweep : fake_.sweeps) {
    v1::Approach& approach = *sweep.mutable_spec()->mutable_approaches(0);
    approach.mutable_service()->mutable_command()->mutable_resources()->set_gpus(2);
    for (const int64_t seconds : {3600, 1800}) {
      v1::ServiceRecord& instance = *sweep.add_services();
      instance.set_job("s12/1");
      instance.set_approach("lr");
      instance.mutable_end_time()->set_seconds(kStart + seconds);
      instance.mutable_run_time()->set_seconds(seconds);
    }
  }
  EXPECT_EQ(
      Concur({"usage", "s12", "--by", "approach,kind"}).out,
      "APPROACH  KIND     JOBS  ATTEMPTS  SERVICES  HOURS  CPU-HOURS  GPU-HOURS  GIB-HOURS\n"
      "lr        job         2         2         0   1.50       2.25       1.00       4.00\n"
      "lr        service     0         0         2   1.50       0.00       3.00       0.00\n"
      "total                 2         2         2   3.00       2.25       4.00       4.00\n");
  const TestJson rows = TestJson::parse(Concur({"usage", "s12", "-o", "json"}).out);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0]["kind"], "job");
  EXPECT_EQ(rows[1]["kind"], "service");
  EXPECT_EQ(
      TestJson::parse(Concur({"usage", "s12", "--by", "owner", "-o", "json"}).out)[0]["gpu_hours"],
      4.0);
  // One instance ended at 23:13:20, the other one at 22:43:20.
  EXPECT_EQ(TestJson::parse(Concur({"usage", "s12", "--by", "kind", "--since",
                                    "2023-11-14T23:00:00Z", "-o", "json"})
                                .out)[1]["services"],
            1);
}

TEST_F(UsageTest, WhatEndedOutsideOfAPeriodIsLeftOut) {
  // The first job ended at 23:13:20, the second at 22:43:20.
  const auto jobs = [&](const std::string& flag, const std::string& time) {
    const TestJson rows = TestJson::parse(Concur({"usage", "s12", flag, time, "-o", "json"}).out);
    return rows.empty() ? 0 : rows[0]["jobs"].get<int>();
  };
  EXPECT_EQ(jobs("--since", "2023-11-14"), 2);
  EXPECT_EQ(jobs("--since", "2023-11-14T23:00:00Z"), 1);
  EXPECT_EQ(jobs("--since", "2023-11-15"), 0);
  EXPECT_EQ(jobs("--until", "2023-11-15"), 2);
  EXPECT_EQ(jobs("--until", "2023-11-14T23:13:20Z"), 1);
  EXPECT_THAT(Concur({"usage", "--since", "yesterday"}).err,
              HasSubstr("--since: expected a day such as 2026-03-01"));
}

TEST_F(UsageTest, LostAttemptsAreToldOf) {
  Failed(0, &fake_.jobs[0]);
  const Output output = Concur({"usage", "s12"});
  EXPECT_THAT(output.err, HasSubstr("without the hours of 1 lost attempt, which are unknown"));
  EXPECT_THAT(output.out, HasSubstr("lr           2         3   1.50"));
}

// The lists of jobs do not have attempts: the job itself does.
TEST_F(UsageTest, AttemptsThatEarlyStoppingEndedCount) {
  for (const v1::Job::State state :
       {v1::Job::STATE_STOPPED, v1::Job::STATE_BLOCKED, v1::Job::STATE_READY,
        v1::Job::STATE_CANCELED, v1::Job::STATE_SKIPPED, v1::Job::STATE_SUCCEEDED}) {
    fake_.jobs = {TheJob(0, state)};
    if (state == v1::Job::STATE_SUCCEEDED) {  // it took the result of an equal job meanwhile
      fake_.jobs[0].set_reused_from("s1/0");
      fake_.jobs[0].mutable_result();
    }
    fake_.jobs[0].set_attempt(1);
    v1::AttemptRecord& attempt = *fake_.jobs[0].add_attempts();
    attempt.mutable_end_time()->set_seconds(kStart);
    attempt.mutable_result()->mutable_run_time()->set_seconds(1800);
    fake_.job_requests.clear();
    const TestJson rows = TestJson::parse(Concur({"usage", "s12", "-o", "json"}).out);
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_DOUBLE_EQ(rows[0]["gpu_hours"], 0.5);
    ASSERT_EQ(fake_.job_requests.size(), 1u);
    EXPECT_EQ(fake_.job_requests[0].job(), "s12/0");
  }
}

TEST_F(UsageTest, ImportedSweepsAndUnknownOnes) {
  for (v1::Sweep& sweep : fake_.sweeps) {
    sweep.mutable_spec()->set_imported(std::string(32, 'x'));
  }
  EXPECT_THAT(Concur({"usage"}).err, HasSubstr("No job has run."));
  EXPECT_EQ(Concur({"usage", "nothing"}).code, kExitNotFound);
}

// It said "No job has run." of a sweep with 160 results, and of an owner whom nobody knows.
TEST_F(UsageTest, WhyThereIsNothingToShow) {
  for (v1::Job& job : fake_.jobs) {
    job.set_reused_from("s1/0");
  }
  for (v1::Sweep& sweep : fake_.sweeps) {
    sweep.set_reused(160);
  }
  const Output named = Concur({"usage", "demo"});
  EXPECT_THAT(named.err, HasSubstr("No job of s12 has run: 160 took finished results."));
  EXPECT_THAT(Concur({"usage", "--owner", "nobody"}).err,
              HasSubstr("No sweep of owner \"nobody\"."));
  EXPECT_THAT(Concur({"usage", "s12", "--since", "2030-01-01"}).err,
              HasSubstr("No job of s12 has run in this time"));
}

}  // namespace
}  // namespace concur::cli
