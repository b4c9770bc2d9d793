// SPDX-License-Identifier: Apache-2.0
// Metrics that monitoring sees of a sweep that real programs run.
#include <signal.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "tests/e2e/cluster.h"
#include "tests/testing/exposition.h"
#include "tests/testing/http_client.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

// Three cells; the one with seed 2 fails.
constexpr char kMetricsSweep[] = R"(apiVersion: concur/v1
kind: Sweep
metadata: {name: three}
spec:
  approaches:
    - metadata: {name: plain}
      spec:
        version: "1"
        train:
          command: [/bin/sh, -c, "test $CONCUR_SEED != 2 || exit 3; echo m > {model}; : {train} {seed}"]
        predict:
          command: [/bin/sh, -c, "printf '{{\"accuracy\": 0.5}}' > {metrics}; : {model} {test}"]
  benchmarks:
    - metadata: {name: task}
      spec: {format: file, train: data.txt, test: data.txt, metric: accuracy}
  seeds: [1, 2, 3]
  retry: {failures_max: 2, backoff_min: 1s}
)";

// Log lines as JSON objects, of those that have this message.
std::vector<nlohmann::json> LogLines(const std::string& path, const std::string& message) {
  std::vector<nlohmann::json> found;
  const absl::StatusOr<std::string> log = ReadFile(path);
  for (absl::string_view line : absl::StrSplit(log.value_or(""), '\n', absl::SkipEmpty())) {
    const auto object = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    EXPECT_TRUE(object.is_object()) << "no JSON: " << line;
    if (object.is_object() && absl::StrContains(object.value("message", ""), message)) {
      found.push_back(object);
    }
  }
  return found;
}

class MetricsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    cluster_.Write("data.txt", "data");
    cluster_.Write("three.yaml", kMetricsSweep);
  }
  std::string CoordinatorLog() { return cluster_.File("logs/coordinator.err"); }
  std::string WorkerLog() { return cluster_.File("logs/worker-w1.err"); }

  Cluster cluster_;
};

TEST_F(MetricsTest, ASweepIsSeenByScrapesAndInTheLogs) {
  const std::vector<std::string> flags = {"--metrics-listen", "127.0.0.1:0", "--log-format", "json",
                                          "--verbose"};
  cluster_.StartCoordinator(flags);
  cluster_.StartWorker("w1", 2, flags);
  const Output run = cluster_.RunSweep("three.yaml");
  EXPECT_EQ(run.exit_code, 5) << run.err;  // seed 2 failed

  const std::string coordinator =
      LogLines(CoordinatorLog(), "listening on").at(0).at("metrics").get<std::string>();
  const Samples samples = ParseExposition(HttpGet(coordinator, "/metrics").body);
  EXPECT_EQ(samples.at("concur_jobs{state=\"succeeded\"}"), 4);  // two cells, train and eval
  EXPECT_EQ(samples.at("concur_jobs{state=\"failed\"}"), 1);
  EXPECT_EQ(samples.at("concur_jobs{state=\"skipped\"}"), 1);
  EXPECT_EQ(samples.at("concur_sweeps{state=\"failed\"}"), 1);
  EXPECT_EQ(samples.at("concur_attempts_started_total"), 6);
  EXPECT_EQ(samples.at("concur_attempts_ended_total{outcome=\"succeeded\"}"), 4);
  EXPECT_EQ(samples.at("concur_attempts_ended_total{outcome=\"failed\"}"), 2);
  EXPECT_EQ(samples.at("concur_attempt_run_seconds_count"), 4);
  EXPECT_EQ(samples.at("concur_workers{state=\"live\"}"), 1);
  EXPECT_EQ(samples.at("concur_cpus_capacity"), 2);
  EXPECT_EQ(samples.at("concur_cpus_used"), 0);
  EXPECT_GT(samples.at("concur_engine_commit_seconds_count"), 3);
  EXPECT_GT(samples.at("grpc_server_call_started_total{grpc_method=\"concur.v1.WorkerGateway/"
                       "Sync\"}"),
            3);

  const std::string worker =
      LogLines(WorkerLog(), "worker started").at(0).at("metrics").get<std::string>();
  const Samples here = ParseExposition(HttpGet(worker, "/metrics").body);
  EXPECT_EQ(here.at("concur_worker_attempts_ended_total{outcome=\"succeeded\"}"), 4);
  EXPECT_EQ(here.at("concur_worker_attempts_ended_total{outcome=\"failed\"}"), 2);
  EXPECT_EQ(here.at("concur_worker_attempt_run_seconds_count"), 6);
  EXPECT_EQ(here.at("concur_worker_connected"), 1);
  EXPECT_EQ(here.at("concur_worker_cpus_capacity"), 2);
  EXPECT_EQ(HttpGet(worker, "/readyz").status, 200);

  const auto failed = LogLines(CoordinatorLog(), "attempt did not succeed");
  ASSERT_EQ(failed.size(), 2u);
  for (const char* field : {"sweep", "job", "attempt", "worker", "class"}) {
    EXPECT_TRUE(failed[0].contains(field)) << field;
  }
  EXPECT_EQ(failed[1].at("attempt"), "2");
  EXPECT_EQ(failed[1].at("worker"), "w1");
  EXPECT_EQ(LogLines(CoordinatorLog(), "sweep submitted").at(0).at("sweep"), "s1");
  EXPECT_EQ(LogLines(CoordinatorLog(), "worker joined").at(0).at("worker"), "w1");
  EXPECT_EQ(LogLines(WorkerLog(), "starting").at(0).at("sweep"), "s1");

  cluster_.KillCoordinator(SIGKILL);
  EXPECT_TRUE(Eventually([&] { return HttpGet(worker, "/readyz").status == 503; }));
  EXPECT_EQ(HttpGet(worker, "/healthz").status, 200);
}

}  // namespace
}  // namespace concur::testing
