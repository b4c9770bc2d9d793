// SPDX-License-Identifier: Apache-2.0
// The disk with the data directory is lost under load: what `ship` had put elsewhere is all there,
// and the sweep goes on from it.
#include <signal.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/file.h"
#include "tests/e2e/cluster.h"
#include "tests/testing/exposition.h"
#include "tests/testing/http_client.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

// 400 jobs, each with artifacts of its own.
constexpr char kShipSweep[] = R"(apiVersion: concur/v1
kind: Sweep
metadata: {name: load}
spec:
  approaches:
    - metadata: {name: shell}
      spec:
        version: "1"
        train: {command: [/bin/sh, -c, "echo training {seed}; seq {seed} 3000 > {model}; : {train}"]}
        predict: {command: [/bin/sh, -c, "echo predicting {seed}; printf '{{\"accuracy\": 0.%s}}' {seed} > {metrics}; : {model} {test}"]}
  benchmarks:
    - metadata: {name: task}
      spec: {format: file, train: set.txt, test: set.txt, metric: accuracy}
  seeds: {from: 1, to: 200}
  keep: [systems, predictions, logs]
)";

const std::vector<std::string> kShipFlags = {"--metrics-listen", "127.0.0.1:0", "--log-format",
                                             "json"};

// The moment up to which all is shipped, as /metrics shows it; the infinite past for none.
absl::Time ShippedUpTo(const Cluster& cluster) {
  const std::string log = ReadFile(cluster.File("logs/coordinator.err")).value_or("");
  std::string address;
  for (const absl::string_view line : absl::StrSplit(log, '\n')) {
    const auto json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (json.is_object() && json.contains("metrics")) {
      address = json["metrics"].get<std::string>();
    }
  }
  const absl::Time now = absl::Now();
  const Samples samples = ParseExposition(HttpGet(address, "/metrics").body);
  const auto behind = samples.find("concur_ship_behind_seconds");
  return behind == samples.end() || samples.count("concur_ship_behind_bytes") == 0
             ? absl::InfinitePast()
             : now - absl::Seconds(behind->second);
}

TEST(ShipTest, ADiskThatIsLostUnderLoadIsRestoredUpToTheMomentShown) {
  Cluster cluster;
  const std::string data = cluster.File("data");
  const std::string to = cluster.File("second");
  const auto admin = [&](std::vector<std::string> arguments) {
    std::vector<std::string> argv = {Cluster::Binary("concur-coordinator"), "--data-dir", data};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    return argv;
  };
  const auto succeeded = [&] {
    const auto json = nlohmann::json::parse(
        cluster.Concur({"-o", "json", "sweep", "get", "s1"}).out, nullptr, false);
    return json.is_object() ? json["counts"].value("succeeded", 0) : 0;
  };
  cluster.Write("set.txt", "x\n");
  cluster.Write("sweep.yaml", kShipSweep);
  cluster.StartCoordinator(kShipFlags);
  auto ship = std::make_unique<Process>(admin({"ship", "--to", to}), cluster.File("ship.log"));
  cluster.StartWorker("w1", 4);
  const Output submitted = cluster.Concur({"sweep", "submit", cluster.File("sweep.yaml")});
  ASSERT_EQ(submitted.exit_code, 0) << submitted.err;
  // Results that were seen were acknowledged.
  std::vector<std::pair<absl::Time, int>> seen;
  absl::Time shipped;
  const auto promised = [&] {
    int results = 0;
    for (const auto& [time, count] : seen) {
      results = time < shipped ? count : results;
    }
    return results;
  };
  ASSERT_TRUE(Eventually([&] {
    const int count = succeeded();
    seen.emplace_back(absl::Now(), count);
    shipped = ShippedUpTo(cluster);
    return count >= 60 && promised() > 0;
  })) << ReadFile(cluster.File("ship.log")).value_or("");

  // The disk goes.
  ship->Signal(SIGKILL);
  ship->Wait();
  cluster.KillCoordinator(SIGKILL);
  std::filesystem::remove_all(data);

  const Output restored = Cluster::Run(admin({"restore", to}), cluster.File("admin"));
  EXPECT_EQ(restored.exit_code, 0) << restored.out << restored.err;
  EXPECT_THAT(restored.err, HasSubstr("as shipped at "));
  const Output check = Cluster::Run(admin({"check"}), cluster.File("admin"));
  EXPECT_EQ(check.exit_code, 0) << check.out << check.err;
  cluster.StartCoordinator(kShipFlags);
  EXPECT_GE(succeeded(), promised());
  EXPECT_GT(promised(), 0);

  // It goes on, and is shipped to the same place.
  ship = std::make_unique<Process>(admin({"ship", "--to", to}), cluster.File("ship2.log"));
  const Output waited = cluster.Concur({"sweep", "wait", "s1"});
  EXPECT_EQ(waited.exit_code, 0) << waited.out << waited.err;
  EXPECT_EQ(succeeded(), 400);
  const absl::Time end = absl::Now();
  ASSERT_TRUE(Eventually([&] { return ShippedUpTo(cluster) > end; }))
      << ReadFile(cluster.File("ship2.log")).value_or("");
  ship->Signal(SIGTERM);
  EXPECT_EQ(ship->Wait(), 0);
  const Output again = Cluster::Run(
      {Cluster::Binary("concur-coordinator"), "--data-dir", cluster.File("third"), "restore", to},
      cluster.File("admin"));
  EXPECT_EQ(again.exit_code, 0) << again.out << again.err;
  EXPECT_THAT(again.err, HasSubstr("1 sweep, 400 results"));
}

}  // namespace
}  // namespace concur::testing
