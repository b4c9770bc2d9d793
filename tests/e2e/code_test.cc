// SPDX-License-Identifier: Apache-2.0
// An approach's own script, edited and submitted again: what changed runs anew, what did not is
// reused.
#include <sys/stat.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "tests/e2e/cluster.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

// The command reads a file beside its script, as programs do, and writes what it read as its score.
constexpr char kCodeApproach[] = R"(apiVersion: concur/v1
kind: Approach
metadata: {name: mine, tags: [own]}
spec:
  code: [run.sh, lib]
  predict: {command: [sh, "{code}/run.sh", "{metrics}", "{test}"]}
)";
constexpr char kCodeSweep[] = R"(apiVersion: concur/v1
kind: Sweep
metadata: {name: code}
spec:
  approaches: [approach/mine.yaml]
  benchmarks:
    - metadata: {name: task}
      spec: {format: file, test: task.txt, metric: accuracy}
  seeds: [1, 2]
)";

class CodeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    cluster_.Write("task.txt", "x");
    cluster_.Write("sweep.yaml", kCodeSweep);
    ASSERT_TRUE(MakeDirectories(cluster_.File("approach/lib")).ok());
    cluster_.Write("approach/mine.yaml", kCodeApproach);
    cluster_.Write("approach/lib/helper.sh", "echo no score\n");
    WriteScript("0.5");
    cluster_.StartCoordinator();
    cluster_.StartWorker("w1");
  }
  void WriteScript(const std::string& score) {
    cluster_.Write("approach/run.sh",
                   absl::StrCat("set -e\n. \"$(dirname \"$0\")/lib/helper.sh\"\n",
                                "printf '{\"accuracy\": ", score, "}' > \"$1\"\n"));
  }
  std::string Submit(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"-o",     "json",   "sweep",
                                          "submit", "--wait", cluster_.File("sweep.yaml")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Output output = cluster_.Concur(arguments);
    EXPECT_EQ(output.exit_code, 0) << output.out << output.err;
    return output.out;
  }
  std::string Scores(const std::string& sweep) {
    return cluster_.Concur({"-o", "csv", "scores", sweep}).out;
  }
  std::string Explain(const std::string& job) {
    return cluster_.Concur({"job", "explain", job}).out;
  }

  Cluster cluster_;
};

TEST_F(CodeTest, AnEditedScriptRunsAnewAndTheSameScriptIsReused) {
  EXPECT_THAT(Submit(), HasSubstr("\"reused\": 0"));
  EXPECT_THAT(Scores("s1"), HasSubstr("0.5"));
  EXPECT_THAT(Submit(), HasSubstr("\"reused\": 2"));

  WriteScript("0.75");
  EXPECT_THAT(Submit(), HasSubstr("\"reused\": 0"));
  EXPECT_THAT(Scores("s3"), AllOf(HasSubstr("0.75"), Not(HasSubstr("0.5"))));
  EXPECT_THAT(Explain("s3/0"), HasSubstr("differs in code: run.sh (other contents)"));
  EXPECT_THAT(Scores("s1"), HasSubstr("0.5")) << "the earlier result stays";

  // A file that the script reads is code as well.
  cluster_.Write("approach/lib/helper.sh", "echo still no score\n");
  EXPECT_THAT(Submit(), HasSubstr("\"reused\": 0"));
  EXPECT_THAT(Explain("s4/0"), HasSubstr("code: lib/helper.sh (other contents)"));

  // Back to what ran first.
  cluster_.Write("approach/lib/helper.sh", "echo no score\n");
  WriteScript("0.5");
  EXPECT_THAT(Submit(), HasSubstr("\"reused\": 2"));
}

TEST_F(CodeTest, ARerunRunsWhatIsFinishedAndLaterSweepsTakeTheNewResult) {
  Submit();
  EXPECT_THAT(Submit({"--rerun"}), HasSubstr("\"reused\": 0"));
  EXPECT_THAT(Explain("s2/0"),
              HasSubstr("asked to run although the same work was also done by s1/0"));
  EXPECT_THAT(Scores("s1"), HasSubstr("0.5"));
  EXPECT_THAT(Submit(), HasSubstr("\"reused\": 2"));
  EXPECT_THAT(Explain("s3/0"), HasSubstr("took the result of s2/0"));
  EXPECT_THAT(Submit({"--rerun=tag:own"}), HasSubstr("\"reused\": 0"));
  const Output none =
      cluster_.Concur({"sweep", "submit", "--rerun=mien", cluster_.File("sweep.yaml")});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, AllOf(HasSubstr("--rerun"), HasSubstr("it has mine")));
}

// The key has the program that was submitted, and the worker ran what was there later.
TEST(ProgramTest, AProgramThatChangesWhileItsJobWaitsRunsNothing) {
  Cluster cluster;
  const auto write = [&](const std::string& score) {
    cluster.Write("tool", absl::StrCat("#!/bin/sh\nprintf '{\"acc\": ", score, "}' > $1\n"));
    ASSERT_EQ(chmod(cluster.File("tool").c_str(), 0755), 0);
  };
  write("0.25");
  cluster.Write("task.txt", "x");
  ASSERT_TRUE(MakeDirectories(cluster.File("study")).ok());
  cluster.Write("study/sweep.yaml", absl::StrCat(R"(apiVersion: concur/v1
kind: Sweep
metadata: {name: late}
spec:
  approaches:
    - metadata: {name: a}
      spec: {version: "1", predict: {command: [)",
                                                 cluster.File("tool"), R"(, "{metrics}", "{test}"]}}
  benchmarks:
    - metadata: {name: b}
      spec: {format: file, test: ../task.txt, metric: acc}
  retry: {failures_max: 1}
)"));
  const std::string sweep = cluster.File("study/sweep.yaml");
  cluster.StartCoordinator();
  ASSERT_EQ(cluster.Concur({"sweep", "submit", sweep}).exit_code, 0);
  write("0.75");
  cluster.StartWorker("w1");
  EXPECT_EQ(cluster.Concur({"sweep", "wait", "s1"}).exit_code, 5);
  EXPECT_THAT(cluster.Concur({"job", "explain", "s1/0"}).out,
              AllOf(HasSubstr("tool is not the one that was submitted"), HasSubstr("code")));
  ASSERT_EQ(cluster.Concur({"sweep", "submit", "--wait", sweep}).exit_code, 0);
  EXPECT_THAT(cluster.Concur({"-o", "csv", "scores", "s2"}).out, HasSubstr("0.75"));
  write("0.25");
  EXPECT_EQ(cluster.Concur({"sweep", "submit", "--wait", "--once", sweep}).exit_code, 0);
  EXPECT_THAT(cluster.Concur({"-o", "csv", "scores", "s3"}).out, HasSubstr("0.25"));
  EXPECT_THAT(cluster.Concur({"sweep", "submit", "--once", sweep}).out, HasSubstr("s3"));
  write("0.5");
  EXPECT_THAT(cluster.Concur({"sweep", "submit", "--once", sweep}).out, HasSubstr("s4"));
}

// The test file held the task's name, since a command could not be told it otherwise.
TEST(BenchmarkParametersTest, ABenchmarkOfParametersAloneRuns) {
  Cluster cluster;
  const auto write = [&](const std::string& shots) {
    cluster.Write("sweep.yaml", absl::StrCat(R"(apiVersion: concur/v1
kind: Sweep
metadata: {name: tasks}
spec:
  approaches:
    - metadata: {name: model}
      spec:
        version: "1"
        predict:
          command: [sh, -c, 'echo "$1 $2"; cat "$3"; printf "{{\"acc\": $2}}" > "$0"',
                    "{metrics}", "{benchmark.task}", "{benchmark.shots}", "{test}"]
  benchmarks:
    - metadata: {name: mmlu}
      spec: {parameters: {task: "mmlu {{x}", shots: )",
                                             shots, R"(}, metric: acc}
    - metadata: {name: arc}
      spec: {parameters: {task: arc, shots: 25}, metric: acc}
)"));
    const Output output =
        cluster.Concur({"-o", "json", "sweep", "submit", "--wait", cluster.File("sweep.yaml")});
    EXPECT_EQ(output.exit_code, 0) << output.out << output.err;
    return output.out;
  };
  cluster.StartCoordinator();
  cluster.StartWorker("w1");
  EXPECT_THAT(write("5"), HasSubstr("\"reused\": 0"));
  EXPECT_EQ(cluster.Concur({"-o", "csv", "scores", "s1"}).out, "approach,mmlu,arc\nmodel,5,25\n");
  EXPECT_EQ(cluster.Concur({"job", "logs", "s1/0"}).out,
            "mmlu {{x} 5\n{\"shots\":\"5\",\"task\":\"mmlu {{x}\"}\n");
  EXPECT_THAT(write("5"), HasSubstr("\"reused\": 2"));
  EXPECT_THAT(write("7"), HasSubstr("\"reused\": 1")) << "one of them has changed";
  EXPECT_THAT(cluster.Concur({"job", "explain", "s3/0"}).out, HasSubstr("shots"));
}

}  // namespace
}  // namespace concur::testing
