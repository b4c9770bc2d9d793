// SPDX-License-Identifier: Apache-2.0
// The provider with programs that play Slurm's: well, badly and not at all.
#include "coordinator/provision/slurm_provider.h"

#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "tests/testing/provider_calls.h"
#include "tests/testing/test.h"

namespace concur::provision {
namespace {

using ::concur::testing::CallObserve;
using ::concur::testing::CallStart;
using ::concur::testing::CallStop;
using ::concur::testing::CallTry;

class SlurmProviderTest : public ::testing::Test {
 protected:
  SlurmProviderTest() {
    signal(SIGPIPE, SIG_IGN);
    setup_.coordinator_id = "ab12";
    setup_.coordinator = "head:7447";
    setup_.worker_program = "/opt/concur-worker";
    setup_.token = [] { return std::string("secret"); };
    pool_.name = "cpu";
    pool_.provider = ProviderKind::kSlurm;
    pool_.workers_max = 10;
  }

  // A program of Slurm that is this script.
  void Play(const std::string& program, const std::string& script) {
    const std::string path = dir_.File(program);
    std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
    chmod(path.c_str(), 0755);
  }
  std::string Told(const std::string& name) { return ReadFile(dir_.File(name)).value_or(""); }
  // Runs the programs of the directory instead of Slurm's, for at most `timeout`.
  SlurmProvider Make(absl::Duration timeout = absl::Seconds(20)) {
    return SlurmProvider(setup_, [this, timeout](CommandRequest request) {
      request.argv[0] = dir_.File(request.argv[0]);
      request.env["TOLD"] = dir_.File("told");
      request.timeout = std::min(request.timeout, timeout);
      return RunCommand(request);
    });
  }
  TempDir dir_;
  PilotSetup setup_;
  PoolSpec pool_;
};

TEST_F(SlurmProviderTest, AnArrayIsSubmittedAtOnce) {
  Play("sbatch", "cat > $TOLD; echo \"$CONCUR_TOKEN $*\" > $TOLD.args; echo 42");
  SlurmProvider provider = Make();
  ASSERT_OK_AND_ASSIGN(const auto ids, CallStart(provider, pool_, {"cpu-1", "cpu-2", "cpu-3"}));
  EXPECT_EQ(ids, (std::vector<std::string>{"42_0", "42_1", "42_2"}));
  EXPECT_THAT(Told("told"), HasSubstr("#!/bin/bash"));
  EXPECT_THAT(Told("told.args"), HasSubstr("secret --parsable"));
}

TEST_F(SlurmProviderTest, ARefusalIsPassedOnInSlurmsWords) {
  Play("sbatch", "echo 'sbatch: error: invalid partition specified: gpu' >&2; exit 1");
  SlurmProvider provider = Make();
  EXPECT_THAT(CallStart(provider, pool_, {"cpu-1"}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("invalid partition specified: gpu")));
}

TEST_F(SlurmProviderTest, APoolIsTriedWithoutBeingStarted) {
  Play("sbatch",
       "cat > $TOLD; echo \"$*\" > $TOLD.args; echo 'sbatch: Job 7 to start at noon' >&2");
  SlurmProvider provider = Make();
  EXPECT_EQ(*CallTry(provider, pool_), "Slurm would start a worker at noon");
  EXPECT_THAT(Told("told.args"), HasSubstr("--test-only --parsable"));
  EXPECT_THAT(Told("told.args"), HasSubstr("--array=0-9")) << "as many as it would start at once";
  Play("sbatch", "echo 'sbatch: error: invalid partition specified: gpu' >&2; exit 1");
  EXPECT_THAT(CallTry(provider, pool_), StatusIs(absl::StatusCode::kFailedPrecondition,
                                                 HasSubstr("invalid partition specified: gpu")));
}

TEST_F(SlurmProviderTest, ASetupThatFailedIsTheReasonOfThePilotsEnd) {
  Play("squeue",
       "echo \"$*\" >> $TOLD; case \"$*\" in *--jobs=7*) echo 'setup failed: line 1, module load "
       "x (exit code 1)';; *--jobs*) echo 'Concur pool cpu';; *) "
       "echo '7|N/A|FAILED|NonZeroExitCode|concur-ab12-cpu-1'; "
       "echo '8|N/A|FAILED|NonZeroExitCode|concur-ab12-cpu-2'; "
       "echo '9|N/A|COMPLETED|None|concur-ab12-cpu-3';; esac");
  SlurmProvider provider = Make();
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK_AND_ASSIGN(const auto reports, CallObserve(provider));
    ASSERT_EQ(reports.size(), 3u);
    EXPECT_EQ(reports[0].message,
              "setup failed: line 1, module load x (exit code 1); Slurm job 7 ended: FAILED "
              "(NonZeroExitCode)");
    EXPECT_EQ(reports[1].message, "Slurm job 8 ended: FAILED (NonZeroExitCode)");
  }
  const std::string told = Told("told");
  EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 4) << "each comment is asked for once";
}

TEST_F(SlurmProviderTest, WhatMayHaveBeenSubmittedIsNotCalledRefused) {
  Play("sbatch", "echo garbage");
  SlurmProvider provider = Make();
  EXPECT_THAT(CallStart(provider, pool_, {"cpu-1"}),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("expected a job id")));
}

TEST_F(SlurmProviderTest, AProgramThatHangsIsKilledWithWhatItStarted) {
  Play("sbatch", "sleep 1000 & sleep 1000");
  SlurmProvider provider = Make(absl::Milliseconds(200));
  EXPECT_THAT(CallStart(provider, pool_, {"cpu-1"}),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("no answer within 200ms")));
}

TEST_F(SlurmProviderTest, AProgramThatReadsNothingDoesNoHarm) {
  pool_.setup.assign(50, std::string(4000, 'x'));  // more than a pipe holds
  Play("sbatch", "exec <&-; echo 42");
  SlurmProvider provider = Make();
  EXPECT_OK(CallStart(provider, pool_, {"cpu-1"}));
}

TEST_F(SlurmProviderTest, NoSlurmHereIsSaidSo) {
  SlurmProvider provider = Make();
  EXPECT_THAT(CallStart(provider, pool_, {"cpu-1"}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("sbatch")));
}

TEST_F(SlurmProviderTest, AnObservationIsWholeOrNone) {
  Play("squeue", "printf '7|N/A|RUNNING|None|concur-ab12-cpu-1\\n8|N/A|PEND'");
  SlurmProvider provider = Make();
  EXPECT_THAT(CallObserve(provider),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("8|N/A|PEND")));
  Play("squeue", "echo '7|N/A|RUNNING|None|concur-ab12-cpu-1'; exit 1");
  EXPECT_FALSE(CallObserve(provider).ok()) << "it failed in the middle";
  Play("squeue", "yes '7|N/A|RUNNING|None|concur-ab12-cpu-1'");
  EXPECT_THAT(CallObserve(provider),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("printed more than")));
  Play("squeue", "echo '7|N/A|RUNNING|None|concur-ab12-cpu-1'");
  ASSERT_OK_AND_ASSIGN(const auto reports, CallObserve(provider));
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].name, "cpu-1");
}

TEST_F(SlurmProviderTest, OfTwoJobsWithOneNameTheLivingOneCounts) {
  Play("squeue",
       "echo '7|N/A|FAILED|None|concur-ab12-cpu-1'; echo '9|N/A|RUNNING|None|concur-ab12-cpu-1'");
  SlurmProvider provider = Make();
  ASSERT_OK_AND_ASSIGN(const auto reports, CallObserve(provider));
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].state, PilotReport::State::kRunning);
  EXPECT_EQ(reports[0].external_id, "9");
}

TEST_F(SlurmProviderTest, OnlyAJobOfThatNameIsCanceled) {
  Play("squeue",
       "echo '7_0|0|RUNNING|None|concur-ab12-cpu-1'; echo '7_1|1|RUNNING|None|concur-ab12-cpu-1';"
       "echo '8|N/A|PENDING|None|concur-ab12-cpu-5'; echo '9|N/A|FAILED|None|concur-ab12-cpu-6'");
  Play("scancel", "echo \"$*\" >> $TOLD");
  SlurmProvider provider = Make();
  EXPECT_OK(CallStop(provider, {"cpu-2", "cpu-5", "cpu-6", "cpu-99"}));
  EXPECT_EQ(Told("told"), "--jobname=concur-ab12-cpu-1 7_1\n--jobname=concur-ab12-cpu-5 8\n");
}

TEST_F(SlurmProviderTest, AnAbsentControllerStopsNothing) {
  Play("squeue",
       "echo 'slurm_load_jobs error: Unable to contact slurm controller (connect failure)' >&2; "
       "exit 1");
  SlurmProvider provider = Make();
  EXPECT_THAT(CallStop(provider, {"cpu-2"}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("Unable to contact")));
}

}  // namespace
}  // namespace concur::provision
