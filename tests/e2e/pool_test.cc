// SPDX-License-Identifier: Apache-2.0
// Workers that come when jobs wait and go when none do, on this machine.
#include <signal.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/e2e/cluster.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

constexpr char kPoolSweep[] = R"(apiVersion: concur/v1
kind: Sweep
metadata: {name: short}
spec:
  approaches:
    - metadata: {name: quick}
      spec:
        version: "1"
        train:
          command: [/bin/sh, -c, "sleep 0.1; echo {seed} > {model}; : {train}"]
        predict:
          command: [/bin/sh, -c, "printf '{{\"accuracy\": 0.%s}}' {seed} > {metrics}; : {model} {test}"]
        resources: {cpus: CPUS}
  benchmarks:
    - metadata: {name: task}
      spec: {format: file, train: data.jsonl, test: data.jsonl, metric: accuracy}
  seeds: {from: 1, to: 20}
)";

class PoolTest : public ::testing::Test {
 protected:
  void SetUp() override {
    cluster_.Write("data.jsonl", "{}\n");
    WriteSweep("sweep.yaml", 1);
    cluster_.Write("pool.yaml", R"(apiVersion: concur/v1
kind: Pool
metadata: {name: here}
spec:
  provider: local
  workers: {max: 2}
  resources: {cpus: 1}
  idle_timeout: 1s
)");
    cluster_.StartCoordinator();
  }
  // Workers of pools outlive the coordinator: none may outlive the test.
  void TearDown() override {
    for (const nlohmann::json& pool : Json({"pool", "list"})) {
      cluster_.Concur({"pool", "remove", pool["name"], "--now"});
    }
    EXPECT_TRUE(Eventually([&] { return Json({"pool", "list"}).empty(); }));
  }
  void WriteSweep(const std::string& file, int cpus) {
    std::string sweep = kPoolSweep;
    sweep.replace(sweep.find("CPUS"), 4, absl::StrCat(cpus));
    cluster_.Write(file, sweep);
  }
  nlohmann::json Json(const std::vector<std::string>& arguments) const {
    std::vector<std::string> all = arguments;
    all.insert(all.end(), {"-o", "json"});
    const Output output = cluster_.Concur(all);
    EXPECT_EQ(output.exit_code, 0) << output.err;
    return nlohmann::json::parse(output.out, nullptr, false);
  }
  bool Empty() const {
    const nlohmann::json pool = Json({"pool", "get", "here"});
    return pool["working"] == 0 && pool["pending"] == 0 && pool["starting"] == 0 &&
           pool["draining"] == 0;
  }

  Cluster cluster_;
};

TEST_F(PoolTest, WorkersComeForASweepAndGoAfterIt) {
  ASSERT_EQ(cluster_.Concur({"pool", "add", cluster_.File("pool.yaml")}).exit_code, 0);
  ASSERT_EQ(cluster_.Concur({"sweep", "submit", cluster_.File("sweep.yaml")}).exit_code, 0);
  ASSERT_TRUE(Eventually([&] { return Json({"pool", "get", "here"})["working"] == 2; }));

  // The coordinator is killed and comes back: it has the pool, and adopts its workers.
  cluster_.KillCoordinator(SIGKILL);
  cluster_.StartCoordinator();
  ASSERT_EQ(cluster_.Concur({"sweep", "wait", "short", "--timeout", "60"}).exit_code, 0);
  EXPECT_TRUE(Eventually([&] { return Empty(); }));
  EXPECT_EQ(Json({"pool", "get", "here"})["workers"].size(), 2u) << "no third one was started";

  ASSERT_EQ(cluster_.Concur({"pool", "remove", "here"}).exit_code, 0);
  EXPECT_TRUE(Eventually([&] { return Json({"pool", "list"}).empty(); }));
}

TEST_F(PoolTest, ARequestThatNoPoolCanEverServeIsRefused) {
  ASSERT_EQ(cluster_.Concur({"pool", "add", cluster_.File("pool.yaml")}).exit_code, 0);
  WriteSweep("big.yaml", 2);
  const Output output = cluster_.Concur({"sweep", "submit", cluster_.File("big.yaml")});
  EXPECT_EQ(output.exit_code, 2);
  EXPECT_THAT(output.err, HasSubstr("expected a request that fits in a pool (here: cpus 1"));
}

TEST_F(PoolTest, JobsGoToThePoolWhoseLabelsTheyAskFor) {
  ASSERT_EQ(cluster_.Concur({"pool", "add", cluster_.File("pool.yaml")}).exit_code, 0);
  cluster_.Write("fast.yaml", R"(apiVersion: concur/v1
kind: Pool
metadata: {name: fast}
spec:
  provider: local
  workers: {max: 2}
  resources: {cpus: 1}
  idle_timeout: 1s
  labels: {disk: nvme}
)");
  ASSERT_EQ(cluster_.Concur({"pool", "add", cluster_.File("fast.yaml")}).exit_code, 0);
  const auto write = [&](const std::string& labels) {
    std::string sweep = kPoolSweep;
    sweep.replace(sweep.find("CPUS"), 4, absl::StrCat("1, labels: {", labels, "}"));
    cluster_.Write("labeled.yaml", sweep);
  };
  write("disk: tape");
  const Output refused = cluster_.Concur({"sweep", "submit", cluster_.File("labeled.yaml")});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("labeled.yaml:13:38: "));
  EXPECT_THAT(
      refused.err,
      HasSubstr("expected labels of a pool that is large enough (fast: disk=nvme pool=fast; "
                "here: pool=here), got disk=tape"));

  // A pool that is paused starts nothing, and the other one is no help.
  ASSERT_EQ(cluster_.Concur({"pool", "pause", "fast"}).exit_code, 0);
  write("disk: nvme");
  ASSERT_EQ(cluster_.Concur({"sweep", "submit", cluster_.File("labeled.yaml")}).exit_code, 0);
  EXPECT_THAT(cluster_.Concur({"job", "explain", "short/0"}).out,
              HasSubstr("it needs cpus 1, label disk=nvme; pool fast is paused"));
  cluster_.StartWorker("plain", 2);
  EXPECT_TRUE(Eventually([&] {
    return cluster_.Concur({"job", "explain", "short/0"})
               .out.find(
                   "waits for a worker with the label disk=nvme, which no live worker has "
                   "(none has a label disk)") != std::string::npos;
  })) << cluster_.Concur({"job", "explain", "short/0"}).out;
  ASSERT_EQ(cluster_.Concur({"pool", "resume", "fast"}).exit_code, 0);
  ASSERT_EQ(cluster_.Concur({"sweep", "wait", "short", "--timeout", "60"}).exit_code, 0);
  for (const nlohmann::json& job : Json({"job", "list", "short", "--limit", "0"})) {
    EXPECT_THAT(job["worker"].get<std::string>(), StartsWith("fast-")) << job.dump();
  }
}

TEST_F(PoolTest, AWorkerThatCannotStartIsExplained) {
  cluster_.Write("wrong.yaml", R"(apiVersion: concur/v1
kind: Pool
metadata: {name: wrong}
spec:
  provider: local
  workers: {min: 1, max: 1}
  resources: {cpus: 1}
  setup: ["echo this machine is not for you >&2; exit 9"]
)");
  ASSERT_EQ(cluster_.Concur({"pool", "add", cluster_.File("wrong.yaml")}).exit_code, 0);
  EXPECT_TRUE(Eventually([&] {
    return cluster_.Concur({"pool", "explain", "wrong"}).out.find("this machine is not for you") !=
           std::string::npos;
  }));
  EXPECT_THAT(cluster_.Concur({"pool", "explain", "wrong"}).out, HasSubstr("exit code 9"));
  const Output paused =
      cluster_.Concur({"pool", "pause", "wrong", "--reason", "until it is mended"});
  EXPECT_THAT(paused.out, HasSubstr("until it is mended"));
  const Output unknown = cluster_.Concur({"pool", "get", "wrng"});
  EXPECT_EQ(unknown.exit_code, 3);
  EXPECT_THAT(unknown.err, HasSubstr("wrong"));
}

// Workers of pools have what a coordinator asks for that wants certificates.
TEST(PoolTlsTest, WorkersShowTheCertificateAndTheTokenThatTheirCoordinatorAsksFor) {
  Cluster cluster;
  cluster.Write("data.jsonl", "{}\n");
  std::string sweep = kPoolSweep;
  sweep.replace(sweep.find("CPUS"), 4, "1");
  cluster.Write("sweep.yaml", sweep);
  const auto tls = [&](const std::string& name) { return cluster.File("tls/" + name); };
  ASSERT_EQ(Cluster::Run(
                {Cluster::Binary("concur-coordinator"), "init-tls", "--out", cluster.File("tls")},
                cluster.File("init"))
                .exit_code,
            0);
  cluster.Write("options.yaml", R"(apiVersion: concur/v1
kind: CoordinatorOptions
spec:
  tls: {certificate: tls/server.pem, key: tls/server.key, client_ca: tls/ca.pem}
)");
  cluster.Write("pool.yaml", R"(apiVersion: concur/v1
kind: Pool
metadata: {name: here}
spec: {provider: local, workers: {max: 2}, resources: {cpus: 1}}
)");
  cluster.StartCoordinator({"--options", cluster.File("options.yaml")});
  const auto concur = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--ca", tls("ca.pem"), "--certificate", tls("client.pem"),
                                       "--key", tls("client.key"), "-o", "json"});
    return cluster.Concur(arguments);
  };
  EXPECT_EQ(concur({"pool", "add", cluster.File("pool.yaml")}).exit_code, 0);
  EXPECT_EQ(concur({"sweep", "submit", cluster.File("sweep.yaml")}).exit_code, 0);
  const Output run = concur({"sweep", "wait", "short", "--timeout", "60"});
  EXPECT_EQ(run.exit_code, 0) << run.err << concur({"pool", "explain", "here"}).out;
  // Workers of pools outlive the coordinator: none may outlive the test.
  EXPECT_EQ(concur({"pool", "remove", "here", "--now"}).exit_code, 0);
  EXPECT_TRUE(Eventually([&] {
    return concur({"pool", "list"}).out.find("here") == std::string::npos;
  }));
}

TEST(PoolTlsTest, APoolWhoseWorkersCouldNotConnectIsRefused) {
  Cluster cluster;
  const auto tls = [&](const std::string& name) { return cluster.File("tls/" + name); };
  ASSERT_EQ(Cluster::Run(
                {Cluster::Binary("concur-coordinator"), "init-tls", "--out", cluster.File("tls")},
                cluster.File("init"))
                .exit_code,
            0);
  cluster.StartCoordinator(
      {"--tls-certificate", tls("server.pem"), "--tls-key", tls("server.key")});
  cluster.Write("pool.yaml", R"(apiVersion: concur/v1
kind: Pool
metadata: {name: far}
spec:
  provider: slurm
  workers: {max: 2}
  resources: {cpus: 1}
  coordinator: head.example.org:7447
)");
  const Output refused =
      cluster.Concur({"--ca", tls("ca.pem"), "pool", "add", cluster.File("pool.yaml")});
  EXPECT_EQ(refused.exit_code, 4);
  EXPECT_THAT(refused.err, HasSubstr("are to call head.example.org:7447, and tls.certificate is "
                                     "for localhost, 127.0.0.1, ::1"));
  EXPECT_THAT(refused.err, HasSubstr("init-tls --host head.example.org"));
}

}  // namespace
}  // namespace concur::testing
