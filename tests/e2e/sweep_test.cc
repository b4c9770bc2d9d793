// SPDX-License-Identifier: Apache-2.0
// Whole sweeps with real programs: what a user does, and what a power cut does.
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/file.h"
#include "tests/e2e/cluster.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

// Two native approaches that need no learning, on a tiny data set, two seeds.
constexpr char kNativeSweep[] = R"(apiVersion: concur/v1
kind: Sweep
metadata: {name: tiny}
spec:
  approaches:
    - metadata: {name: random}
      spec:
        version: "1"
        train: {command: [concur-qa, train, --approach=random-span, "--train={train}", "--model={model}", "--seed={seed}"]}
        predict: {command: [concur-qa, predict, "--model={model}", "--data={test}", "--predictions={predictions}"]}
    - metadata: {name: window}
      spec:
        version: "1"
        train: {command: [concur-qa, train, --approach=sliding-window, "--train={train}", "--model={model}", "--seed={seed}"]}
        predict: {command: [concur-qa, predict, "--model={model}", "--data={test}", "--predictions={predictions}"]}
  benchmarks:
    - metadata: {name: one}
      spec: {train: data-one.jsonl, test: data-one.jsonl}
    - metadata: {name: two}
      spec: {train: data-two.jsonl, test: data-two.jsonl}
  seeds: [1, 2]
)";

// Jobs that wait for a file GATE before they end, and count how often they were run in RUNS.
constexpr char kGatedSweep[] = R"(apiVersion: concur/v1
kind: Sweep
metadata: {name: gated}
spec:
  approaches:
    - metadata: {name: patient}
      spec:
        version: "1"
        train:
          command: [/bin/sh, -c, "echo run >> DIR/runs-$CONCUR_SEED; echo started; while [ ! -e DIR/gate ]; do sleep 0.05; done; echo model-{seed} > {model}; : {train}"]
        predict:
          command: [/bin/sh, -c, "echo run >> DIR/evals-$CONCUR_SEED; printf '{{\"accuracy\": 0.%s}}' {seed} > {metrics}; : {model} {test}"]
        resources: {cpus: 1}
  benchmarks:
    - metadata: {name: task}
      spec: {format: file, train: data-one.jsonl, test: data-one.jsonl, metric: accuracy}
  seeds: {from: 1, to: SEEDS}
)";

std::string Dataset(const std::string& word) {
  std::string lines = "{\"header\": {\"dataset\": \"tiny\"}}\n";
  for (int i = 0; i < 8; ++i) {
    const std::string name = absl::StrCat(word, i);
    absl::StrAppend(&lines, "{\"context\": \"The ", name, " lives in house ", i,
                    " near the river.\", \"qas\": [{\"qid\": \"", name,
                    "\", \"question\": \"Where does the ", name, " live?\", \"answers\": [\"house ",
                    i, "\"]}]}\n");
  }
  return lines;
}

size_t CountLines(const std::string& path) {
  const absl::StatusOr<std::string> contents = ReadFile(path);
  return contents.ok() ? static_cast<size_t>(std::count(contents->begin(), contents->end(), '\n'))
                       : 0;
}

class SweepTest : public ::testing::Test {
 protected:
  void SetUp() override {
    cluster_.Write("data-one.jsonl", Dataset("fox"));
    cluster_.Write("data-two.jsonl", Dataset("owl"));
    cluster_.Write("tiny.yaml", kNativeSweep);
  }
  void WriteGated(int seeds) {
    cluster_.Write("gated.yaml",
                   absl::StrReplaceAll(kGatedSweep, {{"DIR", cluster_.dir().path()},
                                                     {"SEEDS", absl::StrCat(seeds)}}));
  }
  void OpenGate() { cluster_.Write("gate", ""); }
  size_t Runs(int seed) { return CountLines(cluster_.File(absl::StrCat("runs-", seed))); }
  size_t Evals(int seed) { return CountLines(cluster_.File(absl::StrCat("evals-", seed))); }
  // Waits until a job of each of these seeds is running.
  bool Running(int from, int to) {
    return Eventually([&] {
      for (int seed = from; seed <= to; ++seed) {
        if (Runs(seed) == 0) {
          return false;
        }
      }
      return true;
    });
  }

  Cluster cluster_;
};

TEST_F(SweepTest, ADryRunTellsItsJobsAndNoState) {
  cluster_.StartCoordinator();
  const Output dry = cluster_.Concur({"sweep", "submit", cluster_.File("tiny.yaml"), "--dry-run"});
  EXPECT_EQ(dry.exit_code, 0) << dry.err;
  EXPECT_THAT(dry.out, Not(HasSubstr("state")));
  EXPECT_THAT(dry.out, ContainsRegex("jobs +[1-9][0-9]* in "));
}

TEST_F(SweepTest, SweepRunsOnTwoWorkersAndARepeatReusesEverything) {
  cluster_.StartCoordinator();
  cluster_.StartWorker("w1");
  cluster_.StartWorker("w2");
  const Output first = cluster_.RunSweep("tiny.yaml");
  EXPECT_EQ(first.exit_code, 0) << first.out << first.err;

  const Output scores = cluster_.Concur({"-o", "csv", "scores", "s1"});
  EXPECT_EQ(scores.exit_code, 0) << scores.err;
  EXPECT_THAT(scores.out,
              AllOf(HasSubstr("random"), HasSubstr("window"), HasSubstr("one"), HasSubstr("two")));
  const Output matrix = cluster_.Concur({"-o", "json", "matrix", "s1"});
  EXPECT_EQ(matrix.exit_code, 0) << matrix.err;
  EXPECT_THAT(matrix.out, AllOf(HasSubstr("\"kendall\""), HasSubstr("\"one\"")));

  const Output again = cluster_.RunSweep("tiny.yaml");
  EXPECT_EQ(again.exit_code, 0) << again.err;
  const Output sweep = cluster_.Concur({"-o", "json", "sweep", "get", "s2"});
  EXPECT_THAT(sweep.out, HasSubstr("\"reused\": 16")) << sweep.out;
  EXPECT_EQ(cluster_.Concur({"-o", "csv", "scores", "s2"}).out, scores.out);
}

TEST_F(SweepTest, KilledCoordinatorLosesNothingAndRunsNothingTwice) {
  WriteGated(4);
  cluster_.StartCoordinator();
  cluster_.StartWorker("w1", /*cpus=*/2);
  cluster_.StartWorker("w2", /*cpus=*/2);
  const Output submitted = cluster_.Concur({"sweep", "submit", cluster_.File("gated.yaml")});
  ASSERT_EQ(submitted.exit_code, 0) << submitted.err;
  ASSERT_TRUE(Running(1, 4));
  cluster_.KillCoordinator(SIGKILL);
  OpenGate();  // the jobs end while there is no coordinator
  cluster_.StartCoordinator();
  const Output waited = cluster_.Concur({"sweep", "wait", "s1"});
  EXPECT_EQ(waited.exit_code, 0) << waited.out << waited.err;
  for (int seed = 1; seed <= 4; ++seed) {
    EXPECT_EQ(Runs(seed), 1u) << "train job of seed " << seed;
    EXPECT_EQ(Evals(seed), 1u) << "eval job of seed " << seed;
  }
}

TEST_F(SweepTest, ScoresAfterManyKillsEqualThoseOfAnUndisturbedRun) {
  std::string undisturbed;
  {
    Cluster calm;
    calm.Write("data-one.jsonl", Dataset("fox"));
    calm.Write("data-two.jsonl", Dataset("owl"));
    calm.Write("tiny.yaml", kNativeSweep);
    calm.StartCoordinator();
    calm.StartWorker("w1");
    ASSERT_EQ(calm.RunSweep("tiny.yaml").exit_code, 0);
    undisturbed = calm.Concur({"-o", "csv", "scores", "s1"}).out;
  }
  cluster_.StartCoordinator();
  cluster_.StartWorker("w1");
  cluster_.StartWorker("w2");
  ASSERT_EQ(cluster_.Concur({"sweep", "submit", cluster_.File("tiny.yaml")}).exit_code, 0);
  for (int i = 0; i < 5; ++i) {
    cluster_.KillCoordinator(SIGKILL);
    cluster_.StartCoordinator();
  }
  ASSERT_EQ(cluster_.Concur({"sweep", "wait", "s1"}).exit_code, 0);
  EXPECT_EQ(cluster_.Concur({"-o", "csv", "scores", "s1"}).out, undisturbed);
}

TEST_F(SweepTest, KilledWorkersJobRunsAgainElsewhereAndIsCountedOnce) {
  WriteGated(1);
  cluster_.Write(
      "options.yaml",
      "apiVersion: concur/v1\nkind: CoordinatorOptions\nspec: {lease: 2s, sync_park_max: 1s}\n");
  cluster_.StartCoordinator({"--options", cluster_.File("options.yaml")});
  cluster_.StartWorker("w1");
  ASSERT_EQ(cluster_.Concur({"sweep", "submit", cluster_.File("gated.yaml")}).exit_code, 0);
  ASSERT_TRUE(Running(1, 1));
  cluster_.KillWorker("w1", SIGKILL);
  cluster_.StartWorker("w2");
  ASSERT_TRUE(Eventually([&] { return Runs(1) == 2; }));
  OpenGate();
  EXPECT_EQ(cluster_.Concur({"sweep", "wait", "s1"}).exit_code, 0);
  EXPECT_EQ(Evals(1), 1u);
  const Output job = cluster_.Concur({"-o", "json", "job", "get", "s1/0"});
  EXPECT_THAT(job.out, AllOf(HasSubstr("\"attempt\": 2"), HasSubstr("lost"))) << job.out;
}

TEST_F(SweepTest, RestartedWorkerHandsInWhatItHadSpooled) {
  WriteGated(1);
  cluster_.StartCoordinator();
  cluster_.StartWorker("w1");
  ASSERT_EQ(cluster_.Concur({"sweep", "submit", cluster_.File("gated.yaml")}).exit_code, 0);
  ASSERT_TRUE(Running(1, 1));
  cluster_.KillCoordinator(SIGKILL);
  OpenGate();
  // The train job's result reaches the spool while nobody listens; then the worker dies, too.
  ASSERT_TRUE(Eventually([&] {
    const std::string spool = cluster_.File("work-w1/spool");
    if (!std::filesystem::exists(spool)) {
      return false;
    }
    const std::filesystem::directory_iterator files(spool);
    return std::any_of(begin(files), end(files),
                       [](const auto& entry) { return entry.path().extension() == ".results"; });
  }));
  cluster_.KillWorker("w1", SIGKILL);
  cluster_.StartCoordinator();
  cluster_.StartWorker("w1");
  EXPECT_EQ(cluster_.Concur({"sweep", "wait", "s1"}).exit_code, 0);
  EXPECT_EQ(Runs(1), 1u);
}

TEST_F(SweepTest, FailingJobIsRetriedThenGivenUpAndStaysVisible) {
  cluster_.Write("failing.yaml", R"(apiVersion: concur/v1
kind: Sweep
metadata: {name: failing}
spec:
  approaches:
    - metadata: {name: broken}
      spec:
        version: "1"
        train: {command: [/bin/sh, -c, "echo the disk is on fire >&2; exit 3; : {train} {model}"]}
        predict: {command: [/bin/sh, -c, ": {model} {test} {predictions}"]}
  benchmarks:
    - metadata: {name: one}
      spec: {train: data-one.jsonl, test: data-one.jsonl}
  retry: {failures_max: 2, backoff_min: 10ms, backoff_max: 20ms}
)");
  cluster_.StartCoordinator();
  cluster_.StartWorker("w1");
  const Output run = cluster_.RunSweep("failing.yaml");
  EXPECT_EQ(run.exit_code, 5) << run.out << run.err;
  const Output job = cluster_.Concur({"job", "explain", "s1/0"});
  EXPECT_THAT(job.out, AllOf(HasSubstr("2 of 2 failures"), HasSubstr("3"))) << job.out << job.err;
  const Output log = cluster_.Concur({"job", "logs", "s1/0"});
  EXPECT_THAT(log.out, HasSubstr("the disk is on fire")) << log.err;
  const Output scores = cluster_.Concur({"scores", "s1"});
  EXPECT_THAT(scores.out, AllOf(HasSubstr("broken"), HasSubstr("failed"))) << scores.out;
}

TEST_F(SweepTest, CanceledSweepStopsItsProcesses) {
  WriteGated(2);
  cluster_.StartCoordinator();
  cluster_.StartWorker("w1");
  ASSERT_EQ(cluster_.Concur({"sweep", "submit", cluster_.File("gated.yaml")}).exit_code, 0);
  ASSERT_TRUE(Running(1, 2));
  EXPECT_EQ(cluster_.Concur({"sweep", "cancel", "s1"}).exit_code, 0);
  ASSERT_TRUE(Eventually([&] {
    return cluster_.Concur({"-o", "json", "sweep", "get", "s1"})
               .out.find("\"state\": \"canceled\"") != std::string::npos;
  }));
  const Output workers = cluster_.Concur({"-o", "json", "worker", "list"});
  EXPECT_THAT(workers.out, HasSubstr("\"running\": 0")) << workers.out;
  EXPECT_EQ(Evals(1), 0u);
}

TEST_F(SweepTest, LogOfARunningJobCanBeFollowed) {
  WriteGated(1);
  cluster_.StartCoordinator();
  cluster_.StartWorker("w1");
  ASSERT_EQ(cluster_.Concur({"sweep", "submit", cluster_.File("gated.yaml")}).exit_code, 0);
  ASSERT_TRUE(Running(1, 1));
  Process follower(
      {Cluster::Binary("concur"), "--server", cluster_.server(), "job", "logs", "-f", "s1/0"},
      cluster_.File("follow"));
  ASSERT_TRUE(Eventually([&] { return CountLines(cluster_.File("follow.out")) == 1; }));
  const Output now = cluster_.Concur({"job", "logs", "s1/0"});
  EXPECT_EQ(now.exit_code, 0) << now.err;
  EXPECT_EQ(std::count(now.out.begin(), now.out.end(), '\n'), 1) << now.out;
  const Output rest = cluster_.Concur({"job", "logs", "--offset", "1000", "s1/0"});
  EXPECT_EQ(rest.exit_code, 0) << rest.err;
  EXPECT_EQ(rest.out, "");
  OpenGate();
  EXPECT_EQ(follower.Wait(), 0);
  EXPECT_EQ(CountLines(cluster_.File("follow.out")), 1u);
}

TEST_F(SweepTest, DrainedWorkerFinishesWhatItRunsAndTakesNothingNew) {
  WriteGated(3);
  cluster_.StartCoordinator();
  cluster_.StartWorker("w1", /*cpus=*/1);
  ASSERT_EQ(cluster_.Concur({"sweep", "submit", cluster_.File("gated.yaml")}).exit_code, 0);
  ASSERT_TRUE(Running(1, 1));
  EXPECT_EQ(cluster_.Concur({"worker", "drain", "w1"}).exit_code, 0);
  cluster_.StartWorker("w2", /*cpus=*/1);
  ASSERT_TRUE(Running(2, 2));
  OpenGate();
  EXPECT_EQ(cluster_.Concur({"sweep", "wait", "s1"}).exit_code, 0);
  const Output jobs = cluster_.Concur({"-o", "csv", "job", "list", "s1"});
  size_t on_w1 = 0;
  for (size_t at = jobs.out.find("w1"); at != std::string::npos; at = jobs.out.find("w1", at + 1)) {
    ++on_w1;
  }
  EXPECT_EQ(on_w1, 1u) << jobs.out;
}

TEST_F(SweepTest, SecondCoordinatorOnTheSameDataIsRefused) {
  cluster_.StartCoordinator();
  const Output second =
      Cluster::Run({Cluster::Binary("concur-coordinator"), "--data-dir", cluster_.File("data"),
                    "--listen", "unix:" + cluster_.File("other")},
                   cluster_.File("second"));
  EXPECT_NE(second.exit_code, 0);
  EXPECT_THAT(second.err, AllOf(HasSubstr("cannot start"), Not(HasSubstr("listening"))));
}

TEST_F(SweepTest, APortThatIsNoneIsRefused) {
  for (const char* option : {"--listen", "--metrics-listen", "--page-listen"}) {
    const Output refused = Cluster::Run({Cluster::Binary("concur-coordinator"), "--data-dir",
                                         cluster_.File("data"), option, "127.0.0.1:99999"},
                                        cluster_.File("refused"));
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_THAT(refused.err, HasSubstr(absl::StrCat(
                                 option, ": address \"127.0.0.1:99999\": expected a port from")));
  }
}

}  // namespace
}  // namespace concur::testing
