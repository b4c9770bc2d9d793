// SPDX-License-Identifier: Apache-2.0
// The alert rules and the dashboard: every metric that they name exists, and promtool agrees with
// tests/k8s/alerts_test.yaml on when alerts fire.
#include <yaml-cpp/yaml.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/check.h"
#include "base/file.h"
#include "coordinator/engine/engine.h"
#include "coordinator/services/coordinator_metrics.h"
#include "coordinator/ship/ship_status.h"
#include "proto/rpc/convert_sweep.h"
#include "store/memory_store.h"
#include "tests/testing/test.h"
#include "worker/agent/worker_metrics.h"

namespace concur {
namespace {

std::string SourceFile(const std::string& path) {
  const char* root = std::getenv("CONCUR_SOURCE_DIR");  // NOLINT(concurrency-mt-unsafe)
  return absl::StrCat(root == nullptr ? "." : root, "/", path);
}

// Names that the pages of a coordinator and a worker have, and gRPC's, which come with calls.
std::set<std::string> KnownMetrics() {
  MetricSet metrics;
  metrics.AddProcess("test", "0");
  SystemClock clock;
  MemoryStore store;
  auto engine = Engine::Create(clock, store, rpc::DecodeSpec, EngineOptions());
  CONCUR_CHECK_OK(engine.status());
  const TempDir shipped;
  CONCUR_CHECK_OK(WriteShipStatus(shipped.path(), ShipStatus()));
  CoordinatorMetrics coordinator(metrics, **engine, clock, shipped.path());
  worker::WorkerMetrics of_worker(metrics, Resources());
  std::set<std::string> names = {"grpc_server_call_started_total",
                                 "grpc_server_call_duration_seconds_count",
                                 "grpc_server_call_duration_seconds_bucket"};
  const std::vector<std::string> lines =
      absl::StrSplit(coordinator.Text(), '\n', absl::SkipEmpty());
  for (const std::string& line : lines) {
    if (line[0] != '#') {
      names.insert(line.substr(0, line.find_first_of("{ ")));
    }
  }
  return names;
}

// Words of an expression that are metrics of ours.
std::vector<std::string> MetricsIn(const std::string& expression) {
  std::vector<std::string> found;
  std::string word;
  for (const char c : expression + " ") {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_') {
      word += c;
      continue;
    }
    const bool ours = absl::StartsWith(word, "concur_") || absl::StartsWith(word, "grpc_server");
    if (ours) {
      found.push_back(word);
    }
    word.clear();
  }
  return found;
}

void ExpectKnown(const std::string& expression) {
  static const auto& known = *new std::set<std::string>(KnownMetrics());
  const std::vector<std::string> metrics = MetricsIn(expression);
  EXPECT_FALSE(metrics.empty()) << expression;
  for (const std::string& name : metrics) {
    EXPECT_EQ(known.count(name), 1u) << name << " in " << expression;
  }
}

YAML::Node Rules() {
  return YAML::LoadFile(SourceFile("k8s/components/prometheus/prometheus-rule.yaml"))["spec"];
}

TEST(MonitoringTest, AlertsAreAboutMetricsThatThereAre) {
  std::set<std::string> names;
  for (const YAML::Node& rule : Rules()["groups"][0]["rules"]) {
    ExpectKnown(rule["expr"].as<std::string>());
    EXPECT_TRUE(names.insert(rule["alert"].as<std::string>()).second);
    const std::string severity = rule["labels"]["severity"].as<std::string>();
    EXPECT_TRUE(severity == "critical" || severity == "warning");
    EXPECT_FALSE(rule["annotations"]["summary"].as<std::string>().empty());
    EXPECT_FALSE(rule["annotations"]["description"].as<std::string>().empty());
  }
  EXPECT_GE(names.size(), 8u);
}

TEST(MonitoringTest, TheDashboardShowsMetricsThatThereAre) {
  const auto text = ReadFile(SourceFile("k8s/components/prometheus/dashboard.json"));
  ASSERT_OK(text);
  const auto dashboard = nlohmann::json::parse(*text);
  std::set<int> ids;
  int targets = 0;
  for (const auto& panel : dashboard.at("panels")) {
    EXPECT_TRUE(ids.insert(panel.at("id").get<int>()).second);
    EXPECT_LE(panel.at("gridPos").at("x").get<int>() + panel.at("gridPos").at("w").get<int>(), 24);
    for (const auto& target : panel.at("targets")) {
      ExpectKnown(target.at("expr"));
      ++targets;
    }
  }
  EXPECT_GT(targets, 10);
}

TEST(MonitoringTest, EveryAlertIsTestedBothWays) {
  const YAML::Node tests = YAML::LoadFile(SourceFile("tests/k8s/alerts_test.yaml"))["tests"];
  std::set<std::string> silent;
  std::set<std::string> fired;
  for (const YAML::Node& test : tests) {
    for (const YAML::Node& check : test["alert_rule_test"]) {
      (check["exp_alerts"] ? fired : silent).insert(check["alertname"].as<std::string>());
    }
  }
  for (const YAML::Node& rule : Rules()["groups"][0]["rules"]) {
    const std::string name = rule["alert"].as<std::string>();
    EXPECT_EQ(silent.count(name), 1u) << name;
    EXPECT_EQ(fired.count(name), 1u) << name;
  }
}

TEST(MonitoringTest, PromtoolAgrees) {
  if (std::system("command -v promtool >/dev/null") != 0) {  // NOLINT(concurrency-mt-unsafe)
    GTEST_SKIP() << "promtool is not here; it comes with Debian's package prometheus";
  }
  const TempDir dir;
  YAML::Emitter rules;
  rules << Rules();
  std::ofstream(dir.File("rules.yaml")) << rules.c_str() << "\n";
  const std::string tests = *ReadFile(SourceFile("tests/k8s/alerts_test.yaml"));
  std::ofstream(dir.File("tests.yaml"))
      << absl::StrReplaceAll(tests, {{"[RULES]", absl::StrCat("[", dir.File("rules.yaml"), "]")}});
  for (const std::string& command :
       {absl::StrCat("promtool check rules ", dir.File("rules.yaml")),
        absl::StrCat("promtool test rules ", dir.File("tests.yaml"))}) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
    EXPECT_EQ(std::system(absl::StrCat(command, " >", dir.File("out"), " 2>&1").c_str()), 0)
        << *ReadFile(dir.File("out"));
  }
  // A rule that never fires fails its tests: they can.
  std::ofstream(dir.File("rules.yaml"))
      << absl::StrReplaceAll(rules.c_str(), {{"concur_worker_connected == 0", "vector(0) > 1"}})
      << "\n";
  // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
  EXPECT_NE(std::system(absl::StrCat("promtool test rules ", dir.File("tests.yaml"), " >",
                                     dir.File("out"), " 2>&1")
                            .c_str()),
            0);
}

}  // namespace
}  // namespace concur
