// SPDX-License-Identifier: Apache-2.0
// Pools of the provider `command` with the programs of configs/providers/gridengine on a real Grid
// Engine.

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "tests/e2e/cluster.h"
#include "tests/gridengine/gridengine_cluster.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

constexpr int kCells = 12;
constexpr char kSweep[] = R"(apiVersion: concur/v1
kind: Sweep
metadata: {name: many}
spec:
  approaches:
    - metadata: {name: short}
      spec:
        version: "1"
        train:
          command: [/bin/sh, -c, "sleep 1.5; echo {seed} > {model}; : {train}"]
        predict:
          command: [/bin/sh, -c, "printf '{{\"accuracy\": 0.%s}}' {seed} > {metrics}; : {model} {test}"]
        resources: {cpus: 1}
  benchmarks:
    - metadata: {name: task}
      spec: {format: file, train: data.jsonl, test: data.jsonl, metric: accuracy}
  seeds: {from: 1, to: 12}
)";

class GridEngineTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string missing = GridEngineCluster::Missing(); !missing.empty()) {
      GTEST_SKIP() << missing;
    }
    ASSERT_EQ(engine_.Start(), absl::OkStatus());
    cluster_.SetCoordinatorEnvironment(engine_.Environment());
    cluster_.Write("data.jsonl", "{}\n");
    cluster_.Write("sweep.yaml", kSweep);
    std::filesystem::create_directory(cluster_.File("work"));
    cluster_.Write("options.yaml",
                   "apiVersion: concur/v1\nkind: CoordinatorOptions\n"
                   "spec: {lease: 5s, sync_park_max: 3s}\n");
    cluster_.StartCoordinator({"--options", cluster_.File("options.yaml")});
  }

  // The file of a pool with two slots for each worker.
  std::string PoolFile(const std::string& name, const std::string& more = "",
                       const std::string& arguments = "") {
    const char* source = std::getenv("CONCUR_SOURCE_DIR");  // NOLINT(concurrency-mt-unsafe)
    cluster_.Write(
        name + ".yaml",
        absl::StrCat("apiVersion: concur/v1\nkind: Pool\nmetadata: {name: ", name, "}\nspec:\n",
                     "  provider: command\n  workers: {max: 2}\n",
                     "  resources: {cpus: 2, memory: 10MiB}\n  time_limit: 1h\n",
                     "  idle_timeout: 2s\n  work_directory: ", cluster_.File("work"), "\n", more,
                     "  command:\n    directory: ", source == nullptr ? "." : source,
                     "/configs/providers/gridengine\n    token_directory: ",
                     cluster_.File("tokens"), "\n    arguments: [", arguments, "]\n"));
    return cluster_.File(name + ".yaml");
  }
  nlohmann::json Json(const std::vector<std::string>& arguments) const {
    std::vector<std::string> all = arguments;
    all.insert(all.end(), {"-o", "json"});
    const Output output = cluster_.Concur(all);
    EXPECT_EQ(output.exit_code, 0) << output.err;
    return nlohmann::json::parse(output.out, nullptr, false);
  }
  std::string Explain(const std::string& pool) const {
    return cluster_.Concur({"pool", "explain", pool}).out;
  }
  // The only token of the workers.
  std::string Token() const {
    for (const auto& entry : std::filesystem::directory_iterator(cluster_.File("tokens"))) {
      return ReadFile(entry.path().string()).value_or("");
    }
    return "";
  }

  GridEngineCluster engine_{4};
  Cluster cluster_;
};

TEST_F(GridEngineTest, ASweepRunsAndNothingIsLeft) {
  const Output added = cluster_.Concur({"pool", "add", PoolFile("cluster")});
  ASSERT_EQ(added.exit_code, 0) << added.err;
  ASSERT_EQ(cluster_.Concur({"sweep", "submit", cluster_.File("sweep.yaml")}).exit_code, 0);
  ASSERT_TRUE(Eventually([&] {
    return Json({"pool", "get", "cluster"}).value("working", 0) == 2;
  })) << Explain("cluster");

  // Nobody else may call as a worker.
  const std::string seen = engine_.WhatEverybodySees();
  const std::string token = Token();
  ASSERT_GT(token.size(), 16u);
  EXPECT_THAT(seen, HasSubstr("concur-")) << "it was looked at where jobs are shown";
  EXPECT_FALSE(absl::StrContains(seen, token));

  // Its master dies and comes back; the workers go on.
  engine_.KillMaster();
  engine_.StartMaster();
  ASSERT_EQ(cluster_.Concur({"sweep", "wait", "many", "--timeout", "120"}).exit_code, 0)
      << Explain("cluster");
  const nlohmann::json jobs = Json({"job", "list", "many", "--limit", "0"});
  ASSERT_EQ(jobs.size(), 2u * kCells);
  for (const nlohmann::json& job : jobs) {
    EXPECT_EQ(job["state"], "succeeded") << job.dump();
  }

  EXPECT_EQ(cluster_.Concur({"pool", "remove", "cluster"}).exit_code, 0);
  EXPECT_TRUE(Eventually([&] { return Json({"pool", "list"}).empty(); })) << Explain("cluster");
  EXPECT_TRUE(Eventually([&] { return engine_.JobCount() == 0; }));
  EXPECT_TRUE(std::filesystem::is_empty(cluster_.File("work")));
}

TEST_F(GridEngineTest, APoolIsTriedBeforeItIsAdded) {
  const Output good = cluster_.Concur({"pool", "add", "--dry-run", PoolFile("good")});
  EXPECT_EQ(good.exit_code, 0) << good.err;
  EXPECT_THAT(good.err, HasSubstr("Grid Engine has queues for such workers"));
  const Output bad =
      cluster_.Concur({"pool", "add", "--dry-run", PoolFile("bad", "", "-q, nowhere")});
  EXPECT_NE(bad.exit_code, 0);
  EXPECT_THAT(bad.err, HasSubstr("unknown queue \"nowhere\""));
  EXPECT_TRUE(Json({"pool", "list"}).empty()) << "nothing was added";
  EXPECT_EQ(engine_.JobCount(), 0);
}

TEST_F(GridEngineTest, TheSetupLineThatFailsIsNamedAndAHeldWorkerIsCalledOff) {
  PoolFile("wrong", "  setup: [module-of-mine load cuda]\n");
  ASSERT_EQ(cluster_.Concur({"pool", "add", cluster_.File("wrong.yaml")}).exit_code, 0);
  ASSERT_EQ(cluster_.Concur({"sweep", "submit", cluster_.File("sweep.yaml")}).exit_code, 0);
  EXPECT_TRUE(Eventually([&] {
    return absl::StrContains(Explain("wrong"), "setup failed: line 1, module-of-mine load cuda");
  })) << Explain("wrong");
  EXPECT_EQ(cluster_.Concur({"pool", "remove", "wrong", "--now"}).exit_code, 0);

  ASSERT_EQ(cluster_.Concur({"pool", "add", PoolFile("held", "", "-h")}).exit_code, 0);
  EXPECT_TRUE(Eventually([&] { return absl::StrContains(Explain("held"), "held (hqw)"); }))
      << Explain("held");
  EXPECT_EQ(cluster_.Concur({"pool", "remove", "held", "--now"}).exit_code, 0);
  EXPECT_TRUE(Eventually([&] { return engine_.JobCount() == 0; }));
}

}  // namespace
}  // namespace concur::testing
