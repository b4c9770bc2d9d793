// SPDX-License-Identifier: Apache-2.0
// configs/providers/pbs and the programs for LSF of docs/clusters.md, with programs that print what
// those of OpenPBS and LSF are documented to print.
#include <signal.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "coordinator/provision/command_provider.h"
#include "tests/testing/provider_calls.h"
#include "tests/testing/test.h"

namespace concur::provision {
namespace {

using ::concur::testing::CallObserve;
using ::concur::testing::CallStart;
using ::concur::testing::CallStop;
using ::concur::testing::CallTry;

class ClusterProgramsTest : public ::testing::Test {
 protected:
  ClusterProgramsTest() {
    signal(SIGPIPE, SIG_IGN);
    setenv("PATH", (dir_.File("bin") + ":" + path_).c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
    setenv("TOLD", dir_.File("told").c_str(), 1);                 // NOLINT(concurrency-mt-unsafe)
    std::filesystem::create_directory(dir_.File("bin"));
    setup_.coordinator_id = "ab12";
    setup_.coordinator = "head:7447";
    setup_.worker_program = "/opt/concur-worker";
    setup_.directory = dir_.File("pilots");
    setup_.token = [] { return std::string("secret"); };
    pool_.name = "cpu";
    pool_.provider = ProviderKind::kCommand;
    pool_.resources = {4000, int64_t{1} << 30, 1};
    pool_.time_limit = absl::Hours(2);
    pool_.command = {"", {"-q", "workq"}, dir_.File("tokens")};
  }
  void TearDown() override {
    setenv("PATH", path_.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  }
  void Play(const std::string& program, const std::string& script) {
    const std::string path = dir_.File("bin/" + program);
    std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
    chmod(path.c_str(), 0755);
  }
  static std::string SourceDirectory() {
    const char* source = std::getenv("CONCUR_SOURCE_DIR");  // NOLINT(concurrency-mt-unsafe)
    return source == nullptr ? "." : source;
  }
  std::string Told() { return ReadFile(dir_.File("told")).value_or(""); }

  TempDir dir_;
  const std::string path_ = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): one thread
  PilotSetup setup_;
  PoolSpec pool_;
};

class PbsProgramsTest : public ClusterProgramsTest {
 protected:
  PbsProgramsTest() {
    pool_.command.directory = SourceDirectory() + "/configs/providers/pbs";
    Play("qselect", "");
  }
};

TEST_F(PbsProgramsTest, AWorkerIsOneChunk) {
  CommandProvider provider(setup_, "");
  Play("qsub", "cat > /dev/null; echo \"$*\" > $TOLD; echo 1234.head");
  ASSERT_OK_AND_ASSIGN(const auto ids, CallStart(provider, pool_, {"cpu-7"}));
  EXPECT_EQ(ids, (std::vector<std::string>{"1234.head"}));
  EXPECT_EQ(Told(),
            "-N concur-ab12-cpu-7 -S /bin/bash -r n -j oe -o /dev/null "
            "-l select=1:ncpus=4:mem=1024mb:ngpus=1 -l walltime=7200 -q workq\n");
}

TEST_F(PbsProgramsTest, ARefusalAndASilentServerAreToldApart) {
  CommandProvider provider(setup_, "");
  Play("qsub", "echo 'qsub: Unknown queue' >&2; exit 170");
  EXPECT_THAT(CallStart(provider, pool_, {"cpu-1"}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("Unknown queue")));
  Play("qsub", "echo 'qsub: cannot connect to server head (errno=111)' >&2; exit 111");
  EXPECT_THAT(CallStart(provider, pool_, {"cpu-2"}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("cannot connect to server")));
  Play("qstat", "[ \"$*\" = -B ]");
  EXPECT_THAT(*CallTry(provider, pool_), HasSubstr("PBS answers"));
  Play("qstat", "echo 'qstat: cannot connect to server head' >&2; exit 111");
  EXPECT_THAT(CallTry(provider, pool_).status().message(), HasSubstr("cannot connect to server"));
}

constexpr char kJobs[] = R"sh(cat <<'END'
Job Id: 1.head
    Job_Name = concur-ab12-cpu-1
    Job_Owner = lab@head
    job_state = Q
    comment = Not Running: Insufficient amount of resource: ncpus (R: 4 A: 0 T: 8)

Job Id: 2.head
    Job_Name = concur-ab12-cpu-2
    job_state = R
    comment = Job run at Tue Mar 03 at 12:00 on (node1:ncpus=4)
    Variable_List = PBS_O_HOME=/home/lab,PBS_O_LANG=C

Job Id: 3.head
    Job_Name = concur-ab12-cpu-3
    job_state = Q
    comment = Can Never Run: Insufficient amount of resource: ngpus (R: 1 A: 0 T: 0)

Job Id: 4.head
    Job_Name = concur-ab12-cpu-4
    job_state = H
    Hold_Types = u

Job Id: 5.head
    Job_Name = concur-ab12-cpu-5
    job_state = E

Job Id: 6.head
    Job_Name = somebody-elses
    job_state = R
END
)sh";

TEST_F(PbsProgramsTest, StatesAndCommentsOfJobsAreRead) {
  CommandProvider provider(setup_, "");
  Play("qsub", "echo 1.head");
  ASSERT_OK(CallStart(provider, pool_, {"cpu-1"}));
  Play("qselect", "for i in 1 2 3 4 5 6 7; do echo $i.head; done");
  // The last one ended between the two programs.
  Play("qstat", std::string("echo \"$*\" > $TOLD\n") + kJobs +
                    "echo 'qstat: Unknown Job Id 7.head' >&2; exit 153");
  ASSERT_OK_AND_ASSIGN(const auto reports, CallObserve(provider));
  EXPECT_EQ(Told(), "-f -w 1.head 2.head 3.head 4.head 5.head 6.head 7.head\n");
  ASSERT_EQ(reports.size(), 5u);
  EXPECT_EQ(reports[0].state, PilotReport::State::kPending);
  EXPECT_THAT(reports[0].message, HasSubstr("Insufficient amount of resource: ncpus"));
  EXPECT_FALSE(reports[0].impossible);
  EXPECT_EQ(reports[1].state, PilotReport::State::kRunning);
  EXPECT_EQ(reports[1].external_id, "2.head");
  EXPECT_TRUE(reports[2].impossible);
  EXPECT_THAT(reports[3].message, HasSubstr("held: release it with qrls 4.head"));
  EXPECT_EQ(reports[4].state, PilotReport::State::kRunning) << "it is exiting";
}

TEST_F(PbsProgramsTest, WhatIsCutOrFailsIsNotBelieved) {
  CommandProvider provider(setup_, "");
  Play("qsub", "echo 1.head");
  ASSERT_OK(CallStart(provider, pool_, {"cpu-1"}));
  Play("qselect", "echo 1.head; echo 2.head");
  Play("qstat",
       "printf 'Job Id: 1.head\\n    Job_Name = concur-ab12-cpu-1\\n    job_state = R\\n'");
  EXPECT_THAT(CallObserve(provider),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("it shows 1 jobs of 2")));
  Play("qselect", "echo 1.head");
  Play("qstat", "printf 'Job Id: 1.head\\n    Job_Name = concur-ab12-cpu-1\\n'");
  EXPECT_THAT(CallObserve(provider),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("no state of job 1.head")));
  Play("qstat", "echo 'qstat: cannot connect to server head (errno=111)' >&2; exit 111");
  EXPECT_THAT(CallObserve(provider),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("cannot connect to server")));
  Play("qselect", "echo 'qselect: cannot connect to server head (errno=111)' >&2; exit 111");
  EXPECT_THAT(CallObserve(provider),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("cannot connect to server")));
  Play("qselect", "");
  ASSERT_OK_AND_ASSIGN(const auto reports, CallObserve(provider));
  EXPECT_THAT(reports, IsEmpty());
}

TEST_F(PbsProgramsTest, AJobThatHasEndedMeanwhileIsNoError) {
  CommandProvider provider(setup_, "");
  Play("qsub", "echo 1.head");
  ASSERT_OK(CallStart(provider, pool_, {"cpu-1"}));
  Play("qselect", "for i in 1 2 3 4 5 6; do echo $i.head; done");
  Play("qstat", kJobs);
  Play("qdel", "echo \"$*\" >> $TOLD; echo 'qdel: Job has finished' >&2; exit 35");
  EXPECT_OK(CallStop(provider, {"cpu-1", "cpu-2"}));
  EXPECT_EQ(Told(), "1.head\n2.head\n");
  Play("qdel", "echo 'qdel: Unauthorized Request' >&2; exit 159");
  EXPECT_THAT(CallStop(provider, {"cpu-1"}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("Unauthorized Request")));
}

// The programs as they stand on the page.
class LsfPageTest : public ClusterProgramsTest {
 protected:
  LsfPageTest() {
    pool_.command.directory = dir_.File("lsf");
    std::filesystem::create_directory(dir_.File("lsf"));
    const std::string page = ReadFile(SourceDirectory() + "/docs/clusters.md").value_or("");
    for (const std::string program : {"submit", "list", "cancel"}) {
      const std::string before = "`" + program + "`:\n\n```bash\n";
      const size_t start = page.find(before);
      EXPECT_NE(start, page.npos) << program;
      const std::string path = dir_.File("lsf/" + program);
      std::ofstream(path) << page.substr(
          start + before.size(), page.find("```", start + before.size()) - start - before.size());
      chmod(path.c_str(), 0755);
    }
    Play("bjobs", "echo 'No matching job found' >&2; exit 255");
    Play("bsub",
         "cat > /dev/null; echo \"$*\" > $TOLD; "
         "echo 'Job <7079> is submitted to default queue <normal>.'");
  }
};

TEST_F(LsfPageTest, ThreeShortProgramsAreEnough) {
  CommandProvider provider(setup_, "");
  EXPECT_EQ(*CallTry(provider, pool_), "LSF cannot be asked beforehand");
  ASSERT_OK_AND_ASSIGN(const auto ids, CallStart(provider, pool_, {"cpu-7"}));
  EXPECT_EQ(ids, (std::vector<std::string>{"7079"}));
  EXPECT_EQ(Told(), "-J concur-ab12-cpu-7 -n 4 -R span[hosts=1] -o /dev/null -W 120 -q workq\n");
  Play("bjobs",
       "echo 'concur-ab12-cpu-7|RUN|7079'; echo 'concur-ab12-cpu-8|PEND|7080'; "
       "echo 'concur-ab12-cpu-9|PSUSP|7081'; echo 'concur-ab12-cpu-6|EXIT|7001'");
  ASSERT_OK_AND_ASSIGN(const auto reports, CallObserve(provider));
  ASSERT_EQ(reports.size(), 4u);
  EXPECT_EQ(reports[0].state, PilotReport::State::kEnded);
  EXPECT_EQ(reports[1].state, PilotReport::State::kRunning);
  EXPECT_EQ(reports[2].state, PilotReport::State::kPending);
  EXPECT_TRUE(reports[3].impossible);
  std::filesystem::remove(dir_.File("told"));
  Play("bkill", "echo $1 >> $TOLD; echo \"Job <$1>: Job has already finished\" >&2; exit 255");
  EXPECT_OK(CallStop(provider, {"cpu-6", "cpu-7", "cpu-8"}));
  EXPECT_EQ(Told(), "7079\n7080\n");
}

TEST_F(LsfPageTest, RefusalsAndSilenceAreErrors) {
  CommandProvider provider(setup_, "");
  Play("bsub", "echo 'normal: No such queue. Job not submitted.' >&2; exit 255");
  EXPECT_THAT(CallStart(provider, pool_, {"cpu-7"}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("No such queue")));
  Play("bjobs", "echo 'LSF is down. Please wait ...' >&2; exit 255");
  EXPECT_THAT(CallObserve(provider),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("LSF is down")));
}

}  // namespace
}  // namespace concur::provision
