// SPDX-License-Identifier: Apache-2.0
// A sweep of three systems that exclude one another on nodes of a real Slurm that have no worker:
// they get the static one from their coordinator. Prints how long the first jobs took to start.

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "base/file.h"
#include "tests/e2e/cluster.h"
#include "tests/e2e_environments/three_systems.h"
#include "tests/slurm/slurm_cluster.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

absl::Time TimeOf(const nlohmann::json& text) {
  absl::Time time;
  std::string error;
  EXPECT_TRUE(absl::ParseTime(absl::RFC3339_full, text.get<std::string>(), &time, &error)) << error;
  return time;
}

class SlurmEnvironmentsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string missing = SlurmCluster::Missing(); !missing.empty()) {
      GTEST_SKIP() << missing;
    }
    if (!std::filesystem::exists(Cluster::Binary("concur-worker-static"))) {
      GTEST_SKIP()
          << "no static worker: cmake -DCONCUR_STATIC_LIBRARIES=$(scripts/static-libraries)";
    }
    if (!Works(cluster_, {"bwrap", "--ro-bind", "/", "/", "--unshare-pid", "true"})) {
      GTEST_SKIP() << "bubblewrap does not work here: scripts/packages/environments.txt";
    }
    ASSERT_EQ(slurm_.Start(), absl::OkStatus());
    for (const char* directory : {"programs", "work", "pilot-logs", "cache"}) {
      std::filesystem::create_directory(cluster_.File(directory));
    }
    // No worker lies beside this coordinator, and it has the static one open alone.
    for (const char* program : {"concur-coordinator", "concur-worker-static"}) {
      std::filesystem::copy_file(Cluster::Binary(program),
                                 cluster_.File(absl::StrCat("programs/", program)));
    }
    cluster_.Write(
        "options.yaml",
        absl::StrCat(R"(apiVersion: concur/v1
kind: CoordinatorOptions
spec:
  listen: 127.0.0.1:0
  metrics_listen: 127.0.0.1:0
  static_worker: programs/concur-worker-static
  pools:
    - name: cluster
      provider: slurm
      workers: {max: 2}
      resources: {cpus: 2, memory: 500MiB}
      time_limit: 1h
      idle_timeout: 1s
      work_directory: )",
                     cluster_.File("work"),
                     "\n      setup: [export XDG_CACHE_HOME=", cluster_.File("cache"),
                     "]\n      slurm: {log_directory: ", cluster_.File("pilot-logs"), "}\n"));
    std::map<std::string, std::string> environment = slurm_.Environment();
    environment["XDG_STATE_HOME"] = cluster_.File("state");
    coordinator_ = std::make_unique<Process>(
        std::vector<std::string>{cluster_.File("programs/concur-coordinator"), "--data-dir",
                                 cluster_.File("data"), "--options", cluster_.File("options.yaml")},
        cluster_.File("coordinator"), environment);
    ASSERT_TRUE(Eventually([&] { return std::filesystem::exists(cluster_.File("data/address")); }))
        << ReadFile(cluster_.File("coordinator.err")).value_or("");
    std::filesystem::remove(cluster_.File("programs/concur-worker-static"));
  }
  void TearDown() override {
    if (HasFailure() && std::filesystem::exists(cluster_.File("pilot-logs"))) {
      for (const auto& entry : std::filesystem::directory_iterator(cluster_.File("pilot-logs"))) {
        std::cerr << "--- " << entry.path() << "\n" << ReadFile(entry.path().string()).value_or("");
      }
    }
  }

  Output Concur(std::vector<std::string> arguments) const {
    const std::string address(
        absl::StripAsciiWhitespace(ReadFile(cluster_.File("data/address")).value_or("")));
    arguments.insert(arguments.begin(), {Cluster::Binary("concur"), "--server", address});
    return Cluster::Run(arguments, cluster_.File("concur"),
                        {{"XDG_STATE_HOME", cluster_.File("state")}});
  }
  nlohmann::json Json(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"-o", "json"});
    return nlohmann::json::parse(Concur(arguments).out, nullptr, false);
  }
  // Runs the sweep, and says when the first job of each approach began.
  void RunSweep(const std::string& what) const {
    const nlohmann::json sweep = Json({"sweep", "submit", cluster_.File("sweep.yaml")});
    ASSERT_TRUE(sweep.is_object());
    const std::string id = sweep["id"];
    ASSERT_EQ(Concur({"sweep", "wait", id, "--timeout", "200"}).exit_code, 0)
        << Concur({"sweep", "failures", id}).out << Concur({"pool", "explain", "cluster"}).out;
    std::map<std::string, double> first;
    for (const nlohmann::json& job : Json({"job", "list", id, "--limit", "0"})) {
      if (!job["reused_from"].is_null()) {
        continue;
      }
      const double seconds =
          absl::ToDoubleSeconds(TimeOf(job["result"]["start_time"]) - TimeOf(sweep["create_time"]));
      const auto [it, is_new] = first.try_emplace(job["approach"], seconds);
      it->second = std::min(it->second, seconds);
    }
    EXPECT_EQ(first.size(), 3u - systems_.missing.size());
    for (const auto& [approach, seconds] : first) {
      std::cout << what << ": first job of " << approach << " " << seconds
                << " s after the submission\n";
    }
  }

  SlurmCluster slurm_{2, 2};
  Cluster cluster_;
  ThreeSystems systems_;
  std::unique_ptr<Process> coordinator_;
};

TEST_F(SlurmEnvironmentsTest, ThreeSystemsRunOnNodesWithoutAWorker) {
  systems_ = WriteThreeSystems(cluster_, "");
  for (const std::string& missing : systems_.missing) {
    std::cerr << "tested without " << missing << "\n";
  }
  const std::string approaches = absl::StrJoin(systems_.approaches, ", ");
  WriteSeeds(cluster_, approaches, 4);
  ASSERT_NO_FATAL_FAILURE(RunSweep("environments not cached"));
  const Output scores = Concur({"-o", "csv", "scores", "environments"});
  for (const std::string& number : systems_.numbers) {
    EXPECT_THAT(scores.out, HasSubstr(number)) << scores.err;
  }
  // Other workers, which find the environments on their nodes.
  ASSERT_TRUE(Eventually([&] { return slurm_.JobCount() == 0; }));
  WriteSeeds(cluster_, approaches, 8);
  ASSERT_NO_FATAL_FAILURE(RunSweep("environments cached"));
  ASSERT_TRUE(Eventually([&] { return slurm_.JobCount() == 0; }));
  const auto left = std::filesystem::directory_iterator(cluster_.File("work"));
  EXPECT_LE(std::distance(left, {}), 1) << "only one that was killed leaves what it fetched";
}

}  // namespace
}  // namespace concur::testing
