// SPDX-License-Identifier: Apache-2.0
#include "coordinator/provision/slurm_text.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "coordinator/provision/slurm_reasons.h"
#include "tests/testing/test.h"

namespace concur::provision {
namespace {

PilotSetup MakeSetup() {
  PilotSetup setup;
  setup.coordinator_id = "ab12";
  setup.coordinator = "head:7447";
  setup.worker_program = "/opt/concur/bin/concur-worker";
  return setup;
}

PoolSpec Pool() {
  PoolSpec pool;
  pool.name = "cpu";
  pool.provider = ProviderKind::kSlurm;
  pool.workers_max = 10;
  pool.resources = {2500, (int64_t{3} << 30) + 1, 2};
  pool.time_limit = absl::Minutes(90) + absl::Seconds(1);
  return pool;
}

TEST(SlurmTextTest, SbatchIsToldWhatThePoolSays) {
  PoolSpec pool = Pool();
  pool.slurm = {"long", "lab", "high", "avx", {"--exclusive", "--nice=10"}, "/shared/logs", 100};
  const CommandRequest request = SbatchRequest(pool, MakeSetup(), "secret", {"cpu-17", "cpu-18"});
  for (const char* argument :
       {"--parsable", "--job-name=concur-ab12-cpu-17", "--no-requeue", "--cpus-per-task=3",
        "--mem=3073M", "--gres=gpu:2", "--time=91", "--signal=B:TERM@60", "--array=0-1",
        "--partition=long", "--account=lab", "--qos=high", "--constraint=avx", "--exclusive",
        "--nice=10", "--output=/shared/logs/concur-ab12-cpu-17.%a.log"}) {
    EXPECT_THAT(request.argv, Contains(argument));
  }
  EXPECT_THAT(absl::StrJoin(request.argv, " "), Not(HasSubstr("secret")));
  EXPECT_THAT(request.input, Not(HasSubstr("secret")));
  EXPECT_EQ(request.env.at("CONCUR_TOKEN"), "secret");
}

TEST(SlurmTextTest, OnePilotNeedsNoArrayAndNoLimitNoSignal) {
  PoolSpec pool = Pool();
  pool.time_limit = absl::InfiniteDuration();
  const CommandRequest request = SbatchRequest(pool, MakeSetup(), "", {"cpu-3"});
  const std::string line = absl::StrJoin(request.argv, " ");
  EXPECT_THAT(line, Not(HasSubstr("--array")));
  EXPECT_THAT(line, Not(HasSubstr("--time")));
  EXPECT_THAT(line, Not(HasSubstr("--signal")));
  EXPECT_THAT(line, HasSubstr("--output=/dev/null"));
}

TEST(SlurmTextTest, TheScriptNamesTheWorkerAndQuotesWhatItIsGiven) {
  PoolSpec pool = Pool();
  pool.labels = {{"note", "it's $HOME; rm -rf /"}};
  pool.setup = {"module load cuda"};
  pool.env_pass = {"CUDA_*"};
  PilotSetup setup = MakeSetup();
  setup.ca_pem = "-----BEGIN CERTIFICATE-----\n";
  const std::string script = SlurmScript(pool, setup, {"cpu-17", "cpu-18"});
  EXPECT_THAT(script, HasSubstr("first=17\nname=cpu-$((first + ${SLURM_ARRAY_TASK_ID:-0}))\n"));
  EXPECT_THAT(script, HasSubstr("'note=it'\\''s $HOME; rm -rf /'"));
  EXPECT_THAT(script, HasSubstr("for profile in /etc/profile ")) << "it defines `module`";
  EXPECT_THAT(script, HasSubstr("module load cuda\n"));
  EXPECT_THAT(script, HasSubstr(" --env-pass 'CUDA_*'"));
  EXPECT_THAT(script, HasSubstr("PATH=/opt/concur/bin:$PATH\n"));
  EXPECT_THAT(script, HasSubstr("<<'END_OF_FILE'\n-----BEGIN CERTIFICATE-----\nEND_OF_FILE\n"));
  EXPECT_THAT(script, HasSubstr("--time-limit 5401s --drain-margin 60s"));
  EXPECT_THAT(script, HasSubstr("--cpus 2.500"));
}

TEST(SlurmTextTest, AKeyTravelsInTheEnvironmentAndItsCertificateInTheScript) {
  PilotSetup setup = MakeSetup();
  setup.ca_pem = "AUTHORITY\n";
  setup.certificate_pem = "CERTIFICATE";
  setup.key_pem = "SECRET\nLINES\n";
  const CommandRequest request = SbatchRequest(Pool(), setup, "token", {"cpu-3"});
  EXPECT_THAT(request.argv, Contains("--export=CONCUR_TOKEN,PATH,HOME,LANG,CONCUR_PILOT_KEY"));
  EXPECT_EQ(request.env.at("CONCUR_PILOT_KEY"), "SECRET\nLINES\n");
  EXPECT_THAT(request.input,
              HasSubstr("cat > client.pem <<'END_OF_FILE'\nCERTIFICATE\nEND_OF_FILE\n"
                        "export CONCUR_CERTIFICATE=$dir/client.pem\n"));
  EXPECT_THAT(request.input, HasSubstr("printf '%s' \"$CONCUR_PILOT_KEY\" > client.key\n"
                                       "unset CONCUR_PILOT_KEY\n"
                                       "export CONCUR_KEY=$dir/client.key\n"));
  EXPECT_THAT(request.input, Not(HasSubstr("SECRET")));
}

TEST(SlurmTextTest, AJobIdIsReadAndNothingElse) {
  EXPECT_EQ(*ParseSbatch("123\n"), "123");
  EXPECT_EQ(*ParseSbatch("123;cluster\n"), "123");
  for (const char* bad : {"", "\n", "Submitted batch job 123\n", "12a\n", "-5\n", "0\n",
                          "99999999999999999999\n", "\x01\x02"}) {
    EXPECT_THAT(ParseSbatch(bad), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("sbatch")))
        << bad;
  }
}

TEST(SlurmTextTest, PilotsAreFoundByNameAmongOthersJobs) {
  const auto pilots = ParseSqueue(
      "7|N/A|PENDING|Resources|concur-ab12-cpu-3\n"
      "8_2|2|RUNNING|None|concur-ab12-big-pool-10\n"
      "9|N/A|RUNNING|None|concur-ffff-cpu-4\n"
      "10|N/A|RUNNING|None|somebody|else's\n"
      "11|N/A|FAILED|NonZeroExitCode|concur-ab12-cpu-5\n"
      "12|N/A|COMPLETED|None|concur-ab12-cpu-6\n"
      "13|N/A|NODE_FAIL|None|concur-ab12-cpu-7\n",
      MakeSetup());
  ASSERT_OK(pilots);
  ASSERT_EQ(pilots->size(), 5u);
  EXPECT_EQ((*pilots)[0].report.name, "cpu-3");
  EXPECT_EQ((*pilots)[0].report.state, PilotReport::State::kPending);
  EXPECT_EQ((*pilots)[0].report.message,
            "no room yet: wait, or ask for less per worker (Resources)");
  EXPECT_EQ((*pilots)[1].report.name, "big-pool-12");
  EXPECT_EQ((*pilots)[1].report.external_id, "8_2");
  EXPECT_EQ((*pilots)[1].report.state, PilotReport::State::kRunning);
  EXPECT_EQ((*pilots)[2].report.message, "Slurm job 11 ended: FAILED (NonZeroExitCode)");
  EXPECT_EQ((*pilots)[3].report.message, "Slurm job 12 ended: COMPLETED");
  EXPECT_EQ((*pilots)[4].report.state, PilotReport::State::kEnded);
}

TEST(SlurmTextTest, ItSaysWhichPilotsSlurmTookBack) {
  const auto pilots = ParseSqueue(
      "1|N/A|CANCELLED|None|concur-ab12-cpu-1\n"
      "2|N/A|PREEMPTED|None|concur-ab12-cpu-2\n"
      "3|N/A|NODE_FAIL|None|concur-ab12-cpu-3\n"
      "4|N/A|FAILED|NonZeroExitCode|concur-ab12-cpu-4\n"
      "5|N/A|RUNNING|None|concur-ab12-cpu-5\n",
      MakeSetup());
  ASSERT_OK(pilots);
  ASSERT_EQ(pilots->size(), 5u);
  for (size_t i = 0; i < pilots->size(); ++i) {
    EXPECT_EQ((*pilots)[i].report.taken_back, i < 3) << i;
  }
}

TEST(SlurmTextTest, AnAnswerThatIsCutOrGarbledIsNotBelieved) {
  for (const char* bad : {"7|N/A|PENDING|Resources|concur-ab12-cpu-3",             // no end of line
                          "7|N/A|PENDING|Resources|concur-ab12-cpu-3\n8_2|2|RUN",  // cut
                          "slurm_load_jobs error: Unexpected message received\n",  //
                          "7|N/A|PENDING\n",                                       //
                          "7|N/A|SINGING|None|concur-ab12-cpu-3\n",  // a state that nobody knows
                          "7|x|PENDING|None|concur-ab12-cpu-3\n",    // an index that is none
                          "7|N/A|PENDING|None|concur-ab12-\n", "\x01\x02\xff\n"}) {
    EXPECT_THAT(ParseSqueue(bad, MakeSetup()),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("makes no sense")))
        << bad;
  }
  EXPECT_OK(ParseSqueue("", MakeSetup())) << "nobody has a job";
}

struct ErrorCase {
  const char* err;
  absl::StatusCode code;
  const char* message;
};

TEST(SlurmTextTest, RefusalsAreToldFromAnAbsentController) {
  const std::vector<ErrorCase> cases = {
      {"sbatch: error: Batch job submission failed: Invalid account or account/partition "
       "combination specified\n",
       absl::StatusCode::kFailedPrecondition,
       "sbatch: Batch job submission failed: Invalid account"},
      {"sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect "
       "failure)\n",
       absl::StatusCode::kUnavailable, "Unable to contact"},
      {"sbatch: error: Batch job submission failed: Socket timed out on send/recv operation\n",
       absl::StatusCode::kUnavailable, "Socket timed out"},
      {"sbatch: error: Batch job submission failed: Invalid job array specification\n",
       absl::StatusCode::kFailedPrecondition, "specification; set the pool's slurm.array_max"},
      {"", absl::StatusCode::kFailedPrecondition, "exit code 1 without a word"},
      {"sbatch: error: \x1b[31mred\n", absl::StatusCode::kFailedPrecondition, "\\x1b[31mred"},
  };
  for (const ErrorCase& c : cases) {
    EXPECT_THAT(SlurmError("sbatch", {1, "", c.err}), StatusIs(c.code, HasSubstr(c.message)));
  }
  const absl::Status lengthy = SlurmError("sbatch", {1, "", std::string(100'000, 'x')});
  EXPECT_LT(lengthy.message().size(), 1000u);
}

TEST(SlurmTextTest, ReasonsAreSaidInWords) {
  EXPECT_EQ(ExplainSlurmReason("Priority").words, "other jobs are before it: wait (Priority)");
  EXPECT_EQ(ExplainSlurmReason("ReqNodeNotAvail, UnavailableNodes:n[1-4]").words,
            "the nodes that it needs are not available: wait, or ask for others (ReqNodeNotAvail, "
            "UnavailableNodes:n[1-4])");
  EXPECT_EQ(ExplainSlurmReason("SomethingNew").words, "SomethingNew");
  EXPECT_FALSE(ExplainSlurmReason("QOSMaxTapesPerUser").known);
  EXPECT_FALSE(ExplainSlurmReason("QOSMaxCpuPerMoon").impossible);
  EXPECT_EQ(ExplainSlurmReason("QOSMaxCpuPerUserLimit").words,
            "the QOS's limit on CPUs of a user is reached: wait, or lower resources.cpus "
            "(QOSMaxCpuPerUserLimit)");
  EXPECT_EQ(ExplainSlurmReason("AssocMaxWallDurationPerJobLimit").words,
            "asks for more than the account's limit on run time of a job: lower time_limit "
            "(AssocMaxWallDurationPerJobLimit)");
  EXPECT_EQ(ExplainSlurmReason("QOSMinGRES").words,
            "asks for less than the QOS's least of GPUs and other generic resources: raise "
            "resources.gpus (QOSMinGRES)");
}

TEST(SlurmTextTest, WhatNeverStartsIsToldFromWhatWaits) {
  for (const char* never : {"PartitionConfig", "PartitionTimeLimit", "BadConstraints",
                            "QOSMaxWallDurationPerJobLimit", "AssocMaxMemPerNode", "QOSMinCpu",
                            "AssocGrpCPUMinutesLimit", "InvalidQOS", "JobHeldAdmin"}) {
    EXPECT_TRUE(ExplainSlurmReason(never).impossible) << never;
  }
  for (const char* waits : {"Resources", "Priority", "AssocGrpCpuLimit", "QOSMaxJobsPerUserLimit",
                            "AssocGrpCPURunMinutesLimit", "ReqNodeNotAvail", "None", "Licenses"}) {
    EXPECT_FALSE(ExplainSlurmReason(waits).impossible) << waits;
  }
}

// The strings of Slurm 22.05's job_reason_string().
constexpr char kAllReasons[] =
    "AccountNotAllowed AccountingPolicy AssocGrpBB AssocGrpBBMinutes AssocGrpBBRunMinutes "
    "AssocGrpBilling AssocGrpBillingMinutes AssocGrpBillingRunMinutes AssocGrpCPUMinutesLimit "
    "AssocGrpCPURunMinutesLimit AssocGrpCpuLimit AssocGrpEnergy AssocGrpEnergyMinutes "
    "AssocGrpEnergyRunMinutes AssocGrpGRES AssocGrpGRESMinutes AssocGrpGRESRunMinutes "
    "AssocGrpJobsLimit AssocGrpLicense AssocGrpLicenseMinutes AssocGrpLicenseRunMinutes "
    "AssocGrpMemLimit AssocGrpMemMinutes AssocGrpMemRunMinutes AssocGrpNodeLimit "
    "AssocGrpNodeMinutes "
    "AssocGrpNodeRunMinutes AssocGrpSubmitJobsLimit AssocGrpUnknown AssocGrpUnknownMinutes "
    "AssocGrpUnknownRunMinutes AssocGrpWallLimit AssocMaxBBMinutesPerJob AssocMaxBBPerJob "
    "AssocMaxBBPerNode AssocMaxBillingMinutesPerJob AssocMaxBillingPerJob AssocMaxBillingPerNode "
    "AssocMaxCpuMinutesPerJobLimit AssocMaxCpuPerJobLimit AssocMaxCpuPerNode "
    "AssocMaxEnergyMinutesPerJob AssocMaxEnergyPerJob AssocMaxEnergyPerNode "
    "AssocMaxGRESMinutesPerJob "
    "AssocMaxGRESPerJob AssocMaxGRESPerNode AssocMaxJobsLimit AssocMaxLicenseMinutesPerJob "
    "AssocMaxLicensePerJob AssocMaxMemMinutesPerJob AssocMaxMemPerJob AssocMaxMemPerNode "
    "AssocMaxNodeMinutesPerJob AssocMaxNodePerJobLimit AssocMaxSubmitJobLimit "
    "AssocMaxUnknownMinutesPerJob AssocMaxUnknownPerJob AssocMaxUnknownPerNode "
    "AssocMaxWallDurationPerJobLimit AssociationJobLimit AssociationResourceLimit "
    "AssociationTimeLimit BadConstraints BeginTime BlockFreeAction BlockMaxError "
    "BurstBufferOperation "
    "BurstBufferResources BurstBufferStageIn Cleaning DeadLine Dependency DependencyNeverSatisfied "
    "FedJobLock FrontEndDown InactiveLimit InvalidAccount InvalidQOS JobArrayTaskLimit "
    "JobHeldAdmin "
    "JobHeldUser JobHoldMaxRequeue JobLaunchFailure Licenses MaxBBPerAccount MaxCpuPerAccount "
    "MaxEnergyPerAccount MaxGRESPerAccount MaxJobsPerAccount MaxLicensePerAccount MaxMemPerLimit "
    "MaxMemoryPerAccount MaxNodePerAccount MaxSubmitJobsPerAccount MaxUnknownPerAccount NodeDown "
    "NonZeroExitCode None OutOfMemory PartitionConfig PartitionDown PartitionInactive "
    "PartitionNodeLimit PartitionTimeLimit PowerNotAvail PowerReserved Priority Prolog QOSGrpBB "
    "QOSGrpBBMinutes QOSGrpBBRunMinutes QOSGrpBilling QOSGrpBillingMinutes QOSGrpBillingRunMinutes "
    "QOSGrpCPUMinutesLimit QOSGrpCPURunMinutesLimit QOSGrpCpuLimit QOSGrpEnergy "
    "QOSGrpEnergyMinutes "
    "QOSGrpEnergyRunMinutes QOSGrpGRES QOSGrpGRESMinutes QOSGrpGRESRunMinutes QOSGrpJobsLimit "
    "QOSGrpLicense QOSGrpLicenseMinutes QOSGrpLicenseRunMinutes QOSGrpMemLimit QOSGrpMemoryMinutes "
    "QOSGrpMemoryRunMinutes QOSGrpNodeLimit QOSGrpNodeMinutes QOSGrpNodeRunMinutes "
    "QOSGrpSubmitJobsLimit QOSGrpUnknown QOSGrpUnknownMinutes QOSGrpUnknownRunMinutes "
    "QOSGrpWallLimit "
    "QOSJobLimit QOSMaxBBPerJob QOSMaxBBPerNode QOSMaxBBPerUser QOSMaxBillingMinutesPerJob "
    "QOSMaxBillingPerJob QOSMaxBillingPerNode QOSMaxBillingPerUser QOSMaxCpuMinutesPerJobLimit "
    "QOSMaxCpuPerJobLimit QOSMaxCpuPerNode QOSMaxCpuPerUserLimit QOSMaxEnergyMinutesPerJob "
    "QOSMaxEnergyPerJob QOSMaxEnergyPerNode QOSMaxEnergyPerUser QOSMaxGRESMinutesPerJob "
    "QOSMaxGRESPerJob QOSMaxGRESPerNode QOSMaxGRESPerUser QOSMaxJobsPerUserLimit "
    "QOSMaxLicenseMinutesPerJob QOSMaxLicensePerJob QOSMaxLicensePerUser QOSMaxMemoryMinutesPerJob "
    "QOSMaxMemoryPerJob QOSMaxMemoryPerNode QOSMaxMemoryPerUser QOSMaxNodeMinutesPerJob "
    "QOSMaxNodePerJobLimit QOSMaxNodePerUserLimit QOSMaxSubmitJobPerUserLimit "
    "QOSMaxUnknownMinutesPerJob QOSMaxUnknownPerJob QOSMaxUnknownPerNode QOSMaxUnknownPerUser "
    "QOSMaxWallDurationPerJobLimit QOSMinBB QOSMinBilling QOSMinCpuNotSatisfied QOSMinEnergy "
    "QOSMinGRES QOSMinLicense QOSMinMemory QOSMinNode QOSMinUnknown QOSNotAllowed QOSResourceLimit "
    "QOSTimeLimit QOSUsageThreshold ReqNodeNotAvail Reservation ReservationDeleted Resources "
    "SchedDefer SystemFailure TimeLimit ";

TEST(SlurmTextTest, EveryReasonOfSlurmHasASentenceAndARemedy) {
  int reasons = 0;
  for (const absl::string_view reason : absl::StrSplit(kAllReasons, ' ', absl::SkipEmpty())) {
    const SlurmReason explained = ExplainSlurmReason(reason);
    EXPECT_TRUE(explained.known) << reason;
    EXPECT_THAT(explained.words, HasSubstr(absl::StrCat(" (", reason, ")")));
    ++reasons;
  }
  EXPECT_GT(reasons, 190);
}

TEST(SlurmTextTest, ASetupThatFailsIsReadFromTheJobsComment) {
  EXPECT_EQ(SetupFailureOf("setup failed: line 2, module load x (exit code 1)\n"),
            "setup failed: line 2, module load x (exit code 1)");
  EXPECT_EQ(SetupFailureOf("Concur pool cpu\n"), "");
  EXPECT_EQ(SetupFailureOf(""), "");
  EXPECT_LT(SetupFailureOf("setup failed: " + std::string(100'000, '\x1b')).size(), 10'000u);
  PilotReport report;
  report.state = PilotReport::State::kEnded;
  report.message = "Slurm job 11 ended: FAILED (NonZeroExitCode)";
  EXPECT_TRUE(MayHaveFailedSetup(report));
  report.message = "Slurm job 11 ended: COMPLETED";
  EXPECT_FALSE(MayHaveFailedSetup(report));
}

TEST(SlurmTextTest, AnAnswerToATestIsASentence) {
  EXPECT_EQ(ParseSbatchTest("sbatch: Job 7 to start at 2026-01-01T00:00:00 using 1 processors on "
                            "nodes n1 in partition p\n"),
            "Slurm would start a worker at 2026-01-01T00:00:00 using 1 processors on nodes n1 in "
            "partition p");
  EXPECT_EQ(ParseSbatchTest(""), "Slurm takes its jobs");
}

}  // namespace
}  // namespace concur::provision
