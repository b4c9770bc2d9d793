// SPDX-License-Identifier: Apache-2.0
// Logs of jobs that are running, on whichever worker they run.

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/file.h"
#include "tests/e2e/cluster.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

// Each job says its seed, waits for the file DIR/gate-SEED, and says so.
constexpr char kLogsSweep[] = R"(apiVersion: concur/v1
kind: Sweep
metadata: {name: talk}
spec:
  approaches:
    - metadata: {name: talker}
      spec:
        version: "1"
        train:
          command: [/bin/sh, -c, "echo begin {seed}; while [ ! -e DIR/gate-{seed} ]; do sleep 0.02; done; echo end {seed}; echo m > {model}; : {train}"]
        predict:
          command: [/bin/sh, -c, "printf '{{\"accuracy\": 0.5}}' > {metrics}; : {model} {test}"]
        resources: {cpus: 1}
  benchmarks:
    - metadata: {name: task}
      spec: {format: file, train: data.txt, test: data.txt, metric: accuracy}
  seeds: [1, 2]
)";

TEST(LogsTest, ALogIsFollowedOnWhicheverWorkerTheJobRuns) {
  Cluster cluster;
  cluster.Write("data.txt", "data");
  cluster.Write("talk.yaml", absl::StrReplaceAll(kLogsSweep, {{"DIR", cluster.dir().path()}}));
  cluster.StartCoordinator();
  cluster.StartWorker("w1", 1);
  cluster.StartWorker("w2", 1);
  ASSERT_EQ(cluster.Concur({"sweep", "submit", cluster.File("talk.yaml")}).exit_code, 0);
  const std::vector<std::string> jobs = {"s1/0", "s1/2"};  // the train jobs of both seeds
  std::vector<std::unique_ptr<Process>> followers;
  std::vector<std::string> logs;
  std::vector<std::string> workers;
  for (const std::string& job : jobs) {
    EXPECT_TRUE(Eventually([&] {
      const Output got = cluster.Concur({"job", "get", job, "-o", "json"});
      const auto json = nlohmann::json::parse(got.out, nullptr, false);
      if (!json.is_object() || json.value("state", "") != "running") {
        return false;
      }
      workers.push_back(json.at("worker"));
      return true;
    }));
    logs.push_back(cluster.File(absl::StrCat("follow-", logs.size())));
    followers.push_back(std::make_unique<Process>(
        std::vector<std::string>{Cluster::Binary("concur"), "--server", cluster.server(), "job",
                                 "logs", "-f", job},
        logs.back()));
  }
  ASSERT_EQ(workers.size(), 2u);
  EXPECT_NE(workers[0], workers[1]);
  const auto read = [&](size_t i) { return ReadFile(logs[i] + ".out").value_or(""); };
  for (size_t i = 0; i < jobs.size(); ++i) {
    EXPECT_TRUE(Eventually([&] { return read(i) == absl::StrCat("begin ", i + 1, "\n"); }));
  }
  for (size_t i = 0; i < jobs.size(); ++i) {
    cluster.Write(absl::StrCat("gate-", i + 1), "");
    EXPECT_EQ(followers[i]->Wait(), 0) << ReadFile(logs[i] + ".err").value_or("");
    EXPECT_EQ(read(i), absl::StrCat("begin ", i + 1, "\nend ", i + 1, "\n"));
  }
  const Output top = cluster.Concur({"top", "--once"});
  EXPECT_EQ(top.exit_code, 0);
  EXPECT_THAT(top.out, HasSubstr("workers  2 live"));
}

}  // namespace
}  // namespace concur::testing
