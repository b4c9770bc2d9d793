// SPDX-License-Identifier: Apache-2.0
// A sweep whose workers a real Slurm starts: it grows, nodes and the controller die in the middle,
// and at the end nothing is lost and nothing is left.
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/file.h"
#include "tests/e2e/cluster.h"
#include "tests/slurm/slurm_cluster.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

constexpr int kCells = 40;
// Cells of the sweep; more of them for figures: CONCUR_SLURM_CELLS=200.
int CellCount() {
  const char* text = std::getenv("CONCUR_SLURM_CELLS");  // NOLINT(concurrency-mt-unsafe)
  return text == nullptr ? kCells : std::atoi(text);
}

// Jobs that write down that they ran, and take a moment.
constexpr char kSweep[] = R"(apiVersion: concur/v1
kind: Sweep
metadata: {name: many}
spec:
  approaches:
    - metadata: {name: short}
      spec:
        version: "1"
        train:
          command: [/bin/sh, -c, "sleep 0.4; echo {seed} > {model}; : {train}"]
        predict:
          command: [/bin/sh, -c, "sleep 0.2; printf '{{\"accuracy\": 0.%s}}' {seed} > {metrics}; : {model} {test}"]
        resources: {cpus: 1}
  benchmarks:
    - metadata: {name: task}
      spec: {format: file, train: data.jsonl, test: data.jsonl, metric: accuracy}
  seeds: {from: 1, to: SEEDS}
)";

class SlurmTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string missing = SlurmCluster::Missing(); !missing.empty()) {
      GTEST_SKIP() << missing;
    }
    ASSERT_EQ(slurm_.Start(), absl::OkStatus());
    for (const auto& [name, value] : slurm_.Environment()) {
      setenv(name.c_str(), value.c_str(), 1);  // NOLINT(concurrency-mt-unsafe): of the coordinator
    }
    cluster_.Write("data.jsonl", "{}\n");
    std::string sweep = kSweep;
    sweep.replace(sweep.find("SEEDS"), 5, absl::StrCat(CellCount()));
    cluster_.Write("sweep.yaml", sweep);
    std::filesystem::create_directory(cluster_.File("pilot-logs"));
    cluster_.Write("options.yaml", absl::StrCat(R"(apiVersion: concur/v1
kind: CoordinatorOptions
spec:
  lease: 5s
  sync_park_max: 3s
  pools:
    - name: cluster
      provider: slurm
      workers: {min: 0, max: 2}
      resources: {cpus: 2, memory: 500MiB}
      time_limit: 1h
      idle_timeout: 2s
      work_directory: )",
                                                cluster_.File("work"), R"(
      slurm: {log_directory: )",
                                                cluster_.File("pilot-logs"), "}\n"));
    std::filesystem::create_directory(cluster_.File("work"));
  }
  void TearDown() override {
    if (HasFailure()) {
      for (const auto& entry : std::filesystem::directory_iterator(cluster_.File("pilot-logs"))) {
        std::cerr << "--- " << entry.path() << "\n" << ReadFile(entry.path().string()).value_or("");
      }
    }
  }

  void StartCoordinator() {
    cluster_.StartCoordinator({"--options", cluster_.File("options.yaml")});
  }
  nlohmann::json Json(const std::vector<std::string>& arguments) const {
    std::vector<std::string> all = arguments;
    all.insert(all.end(), {"-o", "json"});
    const Output output = cluster_.Concur(all);
    EXPECT_EQ(output.exit_code, 0) << output.err;
    return nlohmann::json::parse(output.out, nullptr, false);
  }
  int Succeeded() const {
    const nlohmann::json sweep = Json({"sweep", "get", "many"});
    return sweep.is_object() ? sweep["counts"].value("succeeded", 0) : 0;
  }
  // Reports what the sweep took, for whoever asked for figures.
  void Report(const nlohmann::json& jobs, absl::Time submitted) const {
    absl::Time first = absl::InfiniteFuture();
    absl::Time last = absl::InfinitePast();
    double busy = 0;
    for (const nlohmann::json& job : jobs) {
      const nlohmann::json& result = job["result"];
      absl::Time start;
      std::string error;
      const std::string text = result["start_time"];
      ASSERT_TRUE(absl::ParseTime(absl::RFC3339_full, text, &start, &error)) << error;
      const double seconds = result["run_time"];
      busy += seconds;
      first = std::min(first, start);
      last = std::max(last, start + absl::Seconds(seconds));
    }
    const double span = absl::ToDoubleSeconds(last - first);
    const size_t pilots = Json({"pool", "get", "cluster"})["workers"].size();
    std::cout << jobs.size() << " jobs of " << CellCount() << " cells: first job "
              << absl::ToDoubleSeconds(first - submitted) << " s after the submission, last one "
              << span << " s later, " << busy << " s of work in 4 slots, used to "
              << 100 * busy / (4 * span) << " %; " << pilots << " Slurm jobs\n";
    for (const char* log : {"logs/coordinator.err", "logs/coordinator.out"}) {
      std::cout << ReadFile(cluster_.File(log)).value_or("");
    }
    std::cout << Explain();
  }
  int Workers(const char* what) const { return Json({"pool", "get", "cluster"}).value(what, -1); }
  std::string Explain() const { return cluster_.Concur({"pool", "explain", "cluster"}).out; }

  SlurmCluster slurm_{2, 2};
  Cluster cluster_;
};

TEST_F(SlurmTest, ASweepSurvivesTheDeathOfANodeAndOfTheController) {
  StartCoordinator();
  const absl::Time submitted = absl::Now();
  ASSERT_EQ(cluster_.Concur({"sweep", "submit", cluster_.File("sweep.yaml")}).exit_code, 0);

  // It grows to its maximum.
  ASSERT_TRUE(Eventually([&] { return Workers("working") == 2; })) << Explain();
  // A controller that dies just after a submission loses the job; figures are of a death later on.
  const int some = CellCount() > kCells ? CellCount() : 5;
  ASSERT_TRUE(Eventually([&] { return Succeeded() >= some; })) << Explain();

  // A node loses its power, and so does the controller; both come back.
  slurm_.KillNode(0);
  slurm_.KillController();
  const int before = Succeeded();
  ASSERT_TRUE(Eventually([&] { return Succeeded() > before; })) << "the other node works on";
  slurm_.StartController();
  slurm_.StartNode(0);

  // The coordinator, too; it adopts what it had started.
  cluster_.KillCoordinator(SIGKILL);
  StartCoordinator();

  ASSERT_EQ(cluster_.Concur({"sweep", "wait", "many", "--timeout", "280"}).exit_code, 0)
      << Explain();
  const nlohmann::json jobs = Json({"job", "list", "many", "--limit", "0"});
  ASSERT_EQ(jobs.size(), 2u * static_cast<size_t>(CellCount()));
  for (const nlohmann::json& job : jobs) {
    EXPECT_EQ(job["state"], "succeeded") << job.dump();
  }
  if (CellCount() > kCells) {
    Report(jobs, submitted);
  }

  // It shrinks to nothing.
  EXPECT_TRUE(Eventually([&] {
    const nlohmann::json pool = Json({"pool", "get", "cluster"});
    return pool["working"] == 0 && pool["pending"] == 0 && pool["starting"] == 0 &&
           pool["draining"] == 0;
  })) << Explain();
  EXPECT_TRUE(Eventually([&] { return slurm_.JobCount() == 0; }));
  const auto left = std::filesystem::directory_iterator(cluster_.File("work"));
  EXPECT_LE(std::distance(left, {}), 1) << "only a worker that was killed leaves its directory";
}

// The key of a certificate has lines: it must reach the nodes as it was.
TEST_F(SlurmTest, WorkersShowTheCertificateThatTheirCoordinatorAsksFor) {
  ASSERT_EQ(Cluster::Run(
                {Cluster::Binary("concur-coordinator"), "init-tls", "--out", cluster_.File("tls")},
                cluster_.File("init"))
                .exit_code,
            0);
  cluster_.Write("options.yaml",
                 absl::StrCat(ReadFile(cluster_.File("options.yaml")).value_or(""),
                              "  tls: {certificate: tls/server.pem, key: tls/server.key, "
                              "client_ca: tls/ca.pem}\n"));
  StartCoordinator();
  const auto tls = [&](const std::string& name) { return cluster_.File("tls/" + name); };
  const Output run = cluster_.Concur({"sweep", "submit", cluster_.File("sweep.yaml"), "--wait",
                                      "--ca", tls("ca.pem"), "--certificate", tls("client.pem"),
                                      "--key", tls("client.key")});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_TRUE(Eventually([&] { return slurm_.JobCount() == 0; }));
}

TEST_F(SlurmTest, ARefusalIsExplainedAndPausesThePool) {
  StartCoordinator();
  cluster_.Write("pool.yaml", R"(apiVersion: concur/v1
kind: Pool
metadata: {name: wrong}
spec:
  provider: slurm
  workers: {max: 1, min: 1}
  resources: {cpus: 1}
  slurm: {partition: nowhere}
)");
  const Output added = cluster_.Concur({"pool", "add", cluster_.File("pool.yaml")});
  ASSERT_EQ(added.exit_code, 0);
  EXPECT_THAT(added.err, HasSubstr("was added, but cannot start workers now: sbatch: "));
  ASSERT_TRUE(Eventually([&] { return Json({"pool", "get", "wrong"}).value("failures", 0) > 0; }));
  EXPECT_THAT(cluster_.Concur({"pool", "explain", "wrong"}).out,
              HasSubstr("invalid partition specified: nowhere"));
  EXPECT_EQ(cluster_.Concur({"pool", "remove", "wrong"}).exit_code, 0);
  EXPECT_TRUE(Eventually([&] { return Json({"pool", "list"}).size() == 1; }));
  EXPECT_EQ(cluster_.Concur({"pool", "get", "wrong"}).exit_code, 3);
}

// A `module load` that failed was ignored.
TEST_F(SlurmTest, TheSetupLineThatFailsIsNamed) {
  StartCoordinator();
  cluster_.Write("pool.yaml", R"(apiVersion: concur/v1
kind: Pool
metadata: {name: wrong}
spec:
  provider: slurm
  workers: {max: 1, min: 1}
  resources: {cpus: 1}
  setup: ["true", "module-of-mine load cuda/99"]
)");
  ASSERT_EQ(cluster_.Concur({"pool", "add", cluster_.File("pool.yaml")}).exit_code, 0);
  EXPECT_TRUE(Eventually([&] {
    return cluster_.Concur({"pool", "explain", "wrong"})
               .out.find("setup failed: line 2, module-of-mine load cuda/99 (exit code 127): ") !=
           std::string::npos;
  })) << cluster_.Concur({"pool", "explain", "wrong"}).out;
  EXPECT_EQ(cluster_.Concur({"pool", "remove", "wrong", "--now"}).exit_code, 0);
}

TEST_F(SlurmTest, APoolIsTriedBeforeItIsAdded) {
  StartCoordinator();
  const std::string head =
      "apiVersion: concur/v1\nkind: Pool\nmetadata: {name: other}\nspec:\n  provider: slurm\n"
      "  workers: {max: 2}\n  resources: {cpus: 2}\n";
  cluster_.Write("good.yaml", head);
  cluster_.Write("bad.yaml", head + "  slurm: {partition: nowhere}\n");
  const Output good = cluster_.Concur({"pool", "add", "--dry-run", cluster_.File("good.yaml")});
  EXPECT_EQ(good.exit_code, 0) << good.err;
  EXPECT_THAT(good.err, HasSubstr("Slurm would start a worker at "));
  const Output bad = cluster_.Concur({"pool", "add", "--dry-run", cluster_.File("bad.yaml")});
  EXPECT_NE(bad.exit_code, 0);
  EXPECT_THAT(bad.err, HasSubstr("invalid partition specified: nowhere"));
  EXPECT_EQ(Json({"pool", "list"}).size(), 1u) << "nothing was added";
}

TEST_F(SlurmTest, AWaitingWorkerSaysWhatSlurmWaitsFor) {
  StartCoordinator();
  // Somebody else has the whole cluster.
  cluster_.Write("hog.sh", "#!/bin/sh\nsleep 1000\n");
  ASSERT_EQ(slurm_
                .Run({"/usr/bin/sbatch", "--array=0-1", "--cpus-per-task=2", "--output=/dev/null",
                      cluster_.File("hog.sh")})
                .exit_code,
            0);
  ASSERT_TRUE(Eventually([&] {
    return slurm_.Run({"/usr/bin/squeue", "--noheader", "--array", "-t", "R"}).out.size() > 2;
  }));
  ASSERT_EQ(cluster_.Concur({"sweep", "submit", cluster_.File("sweep.yaml")}).exit_code, 0);
  EXPECT_TRUE(Eventually([&] {
    const std::string text = Explain();
    return text.find("no room yet") != std::string::npos ||
           text.find("other jobs are before it") != std::string::npos;
  })) << Explain();
  EXPECT_THAT(cluster_.Concur({"job", "explain", "many/0"}).out, HasSubstr("pool cluster has"));
  // Nobody wants them any more: they are called off.
  ASSERT_EQ(cluster_.Concur({"sweep", "cancel", "many"}).exit_code, 0);
  EXPECT_TRUE(Eventually([&] { return slurm_.JobCount() == 2; })) << Explain();
}

}  // namespace
}  // namespace concur::testing
