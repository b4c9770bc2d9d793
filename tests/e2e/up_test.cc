// `concur up`: everything on one machine, in one command.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/file.h"
#include "tests/e2e/cluster.h"

namespace concur::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Two jobs; `exit_code` is that of training.
std::string Sweep(int exit_code) {
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
    cluster_.Write("sweep.yaml", Sweep(exit_code));
    return Cluster::Run(Up({"--run", cluster_.File("sweep.yaml")}), cluster_.File("run"));
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
  EXPECT_THAT(absl::StrCat(again.out, again.err), HasSubstr("reuse a finished result"));
}

TEST_F(UpTest, FailedWorkIsExitCodeFive) {
  const Output run = RunSweep(3);
  EXPECT_EQ(run.exit_code, 5) << run.out << run.err;
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
  cluster_.Write("sweep.yaml", Sweep(0));
  const Output run = cluster_.RunSweep("sweep.yaml");
  EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
  up.Signal(SIGINT);
  EXPECT_EQ(up.Wait(), 0) << ReadFile(cluster_.File("up.err")).value_or("");
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
