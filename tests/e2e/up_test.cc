// SPDX-License-Identifier: Apache-2.0
// `concur up`: everything on one machine, in one command.
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/file.h"
#include "tests/e2e/cluster.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

// Two jobs; `exit_code` is that of training.
std::string SweepUp(int exit_code) {
  return absl::StrCat(R"(apiVersion: concur/v1
kind: Sweep
metadata: {name: small}
spec:
  approaches:
    - metadata: {name: shell}
      spec:
        version: "1"
        train: {command: [/bin/sh, -c, "echo x > {model}; : {train}; exit )",
                      exit_code, R"("]}
        predict: {command: [/bin/sh, -c, "printf '{{\"accuracy\": 0.5}}' > {metrics}; : {model} {test}"]}
  benchmarks:
    - metadata: {name: task}
      spec: {format: file, train: set.txt, test: set.txt, metric: accuracy}
  retry: {failures_max: 1}
)");
}

class UpTest : public ::testing::Test {
 protected:
  void SetUp() override { cluster_.Write("set.txt", "x\n"); }
  std::vector<std::string> Up(const std::vector<std::string>& more) {
    std::vector<std::string> argv = {
        Cluster::Binary("concur"), "up",         "--workers",        "2", "--listen",
        cluster_.server(),         "--data-dir", cluster_.File("up")};
    argv.insert(argv.end(), more.begin(), more.end());
    return argv;
  }
  Output RunSweep(int exit_code) {
    cluster_.Write("sweep.yaml", SweepUp(exit_code));
    return Cluster::Run(Up({"--run", cluster_.File("sweep.yaml")}), cluster_.File("run"));
  }
  // Waits until what `concur up` wrote to that log has `text`, `times` times.
  bool Says(const std::string& log, const std::string& text, size_t times = 1) {
    return Eventually([&] {
      const std::string err = ReadFile(cluster_.File(log + ".err")).value_or("");
      const std::vector<std::string> parts = absl::StrSplit(err, text);
      return parts.size() > times;
    });
  }
  // The process of that program among the children of `parent`; 0 when there is none.
  static pid_t Child(pid_t parent, absl::string_view program, absl::string_view argument) {
    std::ifstream children(absl::StrCat("/proc/", parent, "/task/", parent, "/children"));
    for (pid_t pid = 0; children >> pid;) {
      const std::string command = ReadFile(absl::StrCat("/proc/", pid, "/cmdline")).value_or("");
      const std::vector<std::string> words = absl::StrSplit(command, '\0');
      if (absl::EndsWith(words[0], program) &&
          std::find(words.begin(), words.end(), argument) != words.end()) {
        return pid;
      }
    }
    return 0;
  }

  Cluster cluster_;
};

TEST_F(UpTest, SweepRunsAndASecondTimeNothingRuns) {
  const Output first = RunSweep(0);
  EXPECT_EQ(first.exit_code, 0) << first.out << first.err;
  EXPECT_THAT(first.out, HasSubstr("succeeded"));
  const Output again = RunSweep(0);
  EXPECT_EQ(again.exit_code, 0) << again.out << again.err;
  EXPECT_THAT(absl::StrCat(again.out, again.err),
              AllOf(HasSubstr("finished results are reused"), Not(HasSubstr("no worker"))));
}

TEST_F(UpTest, AVariableThatIsPassedReachesJobsAndNoOtherDoes) {
  cluster_.Write(
      "sweep.yaml",
      absl::StrReplaceAll(SweepUp(0),
                          {{"printf", "test \\\"$IT_PASSED:$IT_KEPT\\\" = yes: && printf"}}));
  const Output run =
      Cluster::Run(Up({"--env-pass", "IT_PASSED", "--run", cluster_.File("sweep.yaml")}),
                   cluster_.File("run"), {{"IT_PASSED", "yes"}, {"IT_KEPT", "no"}});
  EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
}

// It said "ready" and waited for workers that Slurm would never start.
TEST_F(UpTest, WithoutASlurmThatTakesWorkersItEndsAtOnce) {
  const std::string path = absl::StrCat("PATH=", cluster_.File("bin"));
  const auto up = [&] {
    std::vector<std::string> argv = {"/usr/bin/env", path};
    const std::vector<std::string> own = Up({"--slurm", "nowhere"});
    argv.insert(argv.end(), own.begin(), own.end());
    return Cluster::Run(argv, cluster_.File("run"));
  };
  const Output without = up();
  EXPECT_EQ(without.exit_code, 4) << without.err;
  EXPECT_THAT(without.err, HasSubstr("--slurm nowhere: Slurm would start no worker: "));
  EXPECT_THAT(without.err, HasSubstr("sbatch"));
  std::filesystem::create_directory(cluster_.File("bin"));
  cluster_.Write(
      "bin/sbatch",
      "#!/bin/sh\necho 'sbatch: error: invalid partition specified: nowhere' >&2\nexit 1\n");
  std::filesystem::permissions(cluster_.File("bin/sbatch"), std::filesystem::perms::owner_all);
  const Output refused = up();
  EXPECT_EQ(refused.exit_code, 4) << refused.err;
  EXPECT_THAT(refused.err, HasSubstr("invalid partition specified: nowhere; expected a partition "
                                     "that sinfo lists"));
  EXPECT_THAT(refused.out, Not(HasSubstr("address")));
}

TEST_F(UpTest, FailedWorkIsExitCodeFive) {
  const Output run = RunSweep(3);
  EXPECT_EQ(run.exit_code, 5) << run.out << run.err;
}

TEST_F(UpTest, TheStudyThatInitWritesRunsAtOnce) {
  const std::string study = cluster_.File("my study");
  const Output init =
      Cluster::Run({Cluster::Binary("concur"), "init", study}, cluster_.File("init"));
  ASSERT_EQ(init.exit_code, 0) << init.err;
  const Output run = Cluster::Run(Up({"--run", study + "/study.yaml"}), cluster_.File("run"));
  EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("32 succeeded"));
}

TEST_F(UpTest, TheDemoEndsWithAMatrixAndASecondOneTrainsNothing) {
  const std::vector<std::string> demo = {Cluster::Binary("concur"), "demo", "--dir",
                                         cluster_.File("demo")};
  const Output first = Cluster::Run(demo, cluster_.File("run"));
  ASSERT_EQ(first.exit_code, 0) << first.out << first.err;
  // The last row of the matrix: a coefficient with its interval for each other benchmark.
  EXPECT_THAT(first.out, ContainsRegex("\n4 +lastword( +-?[01]\\.[0-9]+ \\[[^]]+\\](†)?){3}\n"));
  EXPECT_THAT(first.err, HasSubstr("concur matrix demo --coefficient kendall"));
  EXPECT_THAT(first.out, Not(HasSubstr("sha256"))) << "tables of data that nobody asked for";
  const Output again = Cluster::Run(demo, cluster_.File("run"));
  EXPECT_EQ(again.exit_code, 0) << again.out << again.err;
  EXPECT_THAT(absl::StrCat(again.out, again.err), HasSubstr("finished results are reused"));
}

TEST_F(UpTest, AFreshDemoDeletesNothingThatIsInUse) {
  const std::string state = cluster_.File("demo/state");
  std::filesystem::create_directories(cluster_.File("demo"));
  Process up({Cluster::Binary("concur"), "up", "--data-dir", state, "--listen", "127.0.0.1:0"},
             cluster_.File("up"));
  ASSERT_TRUE(Eventually([&] {
    return ReadFile(cluster_.File("up.err")).value_or("").find("ready") != std::string::npos;
  }));
  const Output demo =
      Cluster::Run({Cluster::Binary("concur"), "demo", "--fresh", "--dir", cluster_.File("demo")},
                   cluster_.File("run"));
  EXPECT_NE(demo.exit_code, 0);
  EXPECT_THAT(demo.err, HasSubstr("another \"concur up\" runs on "));
  EXPECT_TRUE(std::filesystem::exists(state + "/concur.db"));
  up.Signal(SIGINT);
  EXPECT_EQ(up.Wait(), 0) << ReadFile(cluster_.File("up.err")).value_or("");
}

TEST_F(UpTest, ACommandRightAfterItWaitsForTheCoordinatorAndItsToken) {
  const std::map<std::string, std::string> home = {{"XDG_STATE_HOME", cluster_.File("home")}};
  for (int i = 0; i < 3; ++i) {  // a stopped coordinator takes its record away
    const std::string log = cluster_.File(absl::StrCat("up", i));
    Process up(Up({}), log, home);
    const Output list =
        Cluster::Run({Cluster::Binary("concur"), "sweep", "list", "--server", cluster_.server()},
                     cluster_.File("list"), home);
    EXPECT_EQ(list.exit_code, 0) << list.err;
    ASSERT_TRUE(Eventually(
        [&] { return absl::StrContains(ReadFile(log + ".err").value_or(""), "ready"); }));
    up.Signal(SIGINT);
    EXPECT_EQ(up.Wait(), 0) << ReadFile(log + ".err").value_or("");
  }
}

TEST_F(UpTest, KilledProgramsAreStartedAgain) {
  Process up(Up({}), cluster_.File("up"));
  ASSERT_TRUE(Eventually([&] {
    return ReadFile(cluster_.File("up.err")).value_or("").find("ready") != std::string::npos;
  }));
  const pid_t worker = Child(up.pid(), "concur-worker", "local-1");
  const pid_t coordinator = Child(up.pid(), "concur-coordinator", "--listen");
  ASSERT_GT(worker, 0);
  ASSERT_GT(coordinator, 0);
  kill(worker, SIGKILL);
  kill(coordinator, SIGKILL);
  ASSERT_TRUE(Eventually([&] {
    const pid_t now = Child(up.pid(), "concur-coordinator", "--listen");
    return now > 0 && now != coordinator && Child(up.pid(), "concur-worker", "local-1") > 0;
  }));
  cluster_.Write("sweep.yaml", SweepUp(0));
  const Output run = cluster_.RunSweep("sweep.yaml");
  EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
  up.Signal(SIGINT);
  EXPECT_EQ(up.Wait(), 0) << ReadFile(cluster_.File("up.err")).value_or("");
}

// It was taken for a crash: after six starts of the worker `up` ended, and so did each later one.
TEST_F(UpTest, ADrainedWorkerStaysDownUntilTheDrainIsUndone) {
  const auto is_running = [](const Process& up, absl::string_view worker) {
    return Child(up.pid(), "concur-worker", worker) > 0;
  };
  {
    Process up(Up({}), cluster_.File("up"));
    ASSERT_TRUE(Says("up", "ready"));
    ASSERT_EQ(cluster_.Concur({"worker", "drain", "local-2"}).exit_code, 0);
    ASSERT_TRUE(Says("up", "local-2 is drained and stays down"));
    EXPECT_FALSE(is_running(up, "local-2"));
    EXPECT_TRUE(is_running(up, "local-1"));
    ASSERT_EQ(cluster_.Concur({"worker", "drain", "local-2", "--undo"}).exit_code, 0);
    ASSERT_TRUE(Eventually([&] { return is_running(up, "local-2"); }));
    ASSERT_EQ(cluster_.Concur({"worker", "drain", "local-2"}).exit_code, 0);
    ASSERT_TRUE(Says("up", "local-2 is drained and stays down", 2));
    up.Signal(SIGINT);
    EXPECT_EQ(up.Wait(), 0);
  }
  Process up(Up({}), cluster_.File("again"));
  ASSERT_TRUE(Says("again", "ready"));
  ASSERT_TRUE(Says("again", "local-2 is drained and stays down"));
  const pid_t coordinator = Child(up.pid(), "concur-coordinator", "--listen");
  ASSERT_GT(coordinator, 0);
  kill(coordinator, SIGKILL);
  ASSERT_TRUE(Says("again", "local-2 is drained and stays down", 2));
  cluster_.Write("sweep.yaml", SweepUp(0));
  const Output run = cluster_.RunSweep("sweep.yaml");
  EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
  ASSERT_EQ(cluster_.Concur({"worker", "drain", "local-2", "--undo"}).exit_code, 0);
  ASSERT_TRUE(Eventually([&] { return is_running(up, "local-2"); }));
  up.Signal(SIGINT);
  EXPECT_EQ(up.Wait(), 0) << ReadFile(cluster_.File("again.err")).value_or("");
}

TEST_F(UpTest, AWorkerThatSomebodyElseStopsIsStartedAgain) {
  Process up(Up({}), cluster_.File("up"));
  ASSERT_TRUE(Says("up", "ready"));
  const pid_t worker = Child(up.pid(), "concur-worker", "local-1");
  ASSERT_GT(worker, 0);
  kill(worker, SIGTERM);
  ASSERT_TRUE(Says("up", "local-1 ended with exit code 0; it is started again"));
  ASSERT_TRUE(Eventually([&] {
    const pid_t now = Child(up.pid(), "concur-worker", "local-1");
    return now > 0 && now != worker;
  }));
}

// The log's end was shown with lines of earlier starts, whose errors were mended.
TEST_F(UpTest, ACoordinatorThatDoesNotStartShowsOnlyLinesOfThisStart) {
  std::filesystem::create_directories(cluster_.File("up/logs"));
  std::filesystem::permissions(cluster_.File("up"), std::filesystem::perms::owner_all);
  cluster_.Write("up/logs/coordinator.log", "a line of an earlier start\n");
  cluster_.Write("options.yaml", "no_such_option: 1\n");
  const Output up =
      Cluster::Run(Up({"--options", cluster_.File("options.yaml")}), cluster_.File("run"));
  EXPECT_NE(up.exit_code, 0);
  EXPECT_THAT(up.err, AllOf(HasSubstr("the coordinator did not start"), HasSubstr("options.yaml:1"),
                            Not(HasSubstr("earlier start"))));
}

TEST_F(UpTest, SecondOnTheSameDirectoryIsRefused) {
  Process up(Up({}), cluster_.File("up"));
  ASSERT_TRUE(Eventually([&] {
    return ReadFile(cluster_.File("up.err")).value_or("").find("ready") != std::string::npos;
  }));
  const Output second = Cluster::Run(Up({}), cluster_.File("second"));
  EXPECT_EQ(second.exit_code, 4);
  EXPECT_THAT(second.err, AllOf(HasSubstr("another \"concur up\" runs"), HasSubstr("--data-dir")));
}

}  // namespace
}  // namespace concur::testing
