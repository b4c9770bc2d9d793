// SPDX-License-Identifier: Apache-2.0
// A real Prometheus scrapes a real sweep and evaluates the alert rules.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/check.h"
#include "base/file.h"
#include "tests/e2e/cluster.h"
#include "tests/testing/http_client.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

constexpr char kPrometheusSweep[] = R"(apiVersion: concur/v1
kind: Sweep
metadata: {name: scraped}
spec:
  approaches:
    - metadata: {name: plain}
      spec:
        version: "1"
        train: {command: [/bin/sh, -c, "echo model > {model}; : {train} {seed}"]}
        predict:
          command: [/bin/sh, -c, "printf '{{\"accuracy\": 0.5}}' > {metrics}; : {model} {test}"]
  benchmarks:
    - metadata: {name: task}
      spec: {format: file, train: data.txt, test: data.txt, metric: accuracy}
  seeds: [1, 2, 3]
)";

// Free a moment ago: Prometheus does not tell which port it took.
int FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  CONCUR_CHECK(bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0);
  CONCUR_CHECK(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  close(fd);
  return ntohs(address.sin_port);
}

// The address that a program's log names as its metrics'.
std::string MetricsAddress(const std::string& log) {
  std::string address;
  Eventually([&] {
    const std::string text = ReadFile(log).value_or("");
    const size_t at = text.find("metrics=");
    if (at == std::string::npos) {
      return false;
    }
    const std::string rest = text.substr(at + 8);
    address = rest.substr(0, rest.find_first_of(" \n"));
    return true;
  });
  return address;
}

// YAML's part below "spec:", two columns to the left: a rules file.
std::string RulesOf(const std::string& object) {
  const std::vector<std::string> lines =
      absl::StrSplit(object.substr(object.find("\nspec:\n") + 7), '\n');
  std::string rules;
  for (const std::string& line : lines) {
    absl::StrAppend(&rules, line.size() > 2 ? line.substr(2) : "", "\n");
  }
  return rules;
}

TEST(PrometheusTest, ARealOneScrapesASweepAndEvaluatesTheRules) {
  if (std::system("command -v prometheus >/dev/null") != 0) {  // NOLINT(concurrency-mt-unsafe)
    GTEST_SKIP() << "prometheus is not here; it is Debian's package of that name";
  }
  Cluster cluster;
  cluster.Write("data.txt", "data");
  cluster.Write("scraped.yaml", kPrometheusSweep);
  cluster.StartCoordinator({"--metrics-listen", "127.0.0.1:0"});
  cluster.StartWorker("w1", 2, {"--metrics-listen", "127.0.0.1:0"});
  const std::string coordinator = MetricsAddress(cluster.File("logs/coordinator.err"));
  const std::string worker = MetricsAddress(cluster.File("logs/worker-w1.err"));

  const char* root = std::getenv("CONCUR_SOURCE_DIR");  // NOLINT(concurrency-mt-unsafe)
  const auto rules = ReadFile(absl::StrCat(root == nullptr ? "." : root,
                                           "/k8s/components/prometheus/prometheus-rule.yaml"));
  ASSERT_TRUE(rules.ok());
  cluster.Write("rules.yaml", RulesOf(*rules));
  cluster.Write("prometheus.yaml",
                absl::StrCat("global: {scrape_interval: 200ms, evaluation_interval: 200ms, "
                             "scrape_timeout: 200ms}\nrule_files: [rules.yaml]\nscrape_configs:\n"
                             "  - {job_name: concur, static_configs: [{targets: [\"",
                             coordinator, "\", \"", worker, "\"]}]}\n"));
  const std::string address = absl::StrCat("127.0.0.1:", FreePort());
  const Process prometheus(
      {"/usr/bin/prometheus", absl::StrCat("--config.file=", cluster.File("prometheus.yaml")),
       absl::StrCat("--storage.tsdb.path=", cluster.File("tsdb")),
       absl::StrCat("--web.listen-address=", address)},
      cluster.File("logs/prometheus"));
  EXPECT_EQ(cluster.RunSweep("scraped.yaml").exit_code, 0);

  const auto is_up = [&] {
    const FileDescriptor fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(static_cast<uint16_t>(std::stoi(address.substr(address.find(':') + 1))));
    return connect(fd.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;
  };
  ASSERT_TRUE(Eventually(is_up));
  const auto value = [&](const std::string& query) -> std::string {
    const auto json = nlohmann::json::parse(HttpGet(address, "/api/v1/query?query=" + query).body,
                                            nullptr, false);
    if (!json.is_object() || json.value("status", "") != "success" ||
        json["data"]["result"].empty()) {
      return "";
    }
    return json["data"]["result"][0]["value"][1];
  };
  EXPECT_TRUE(Eventually([&] { return value("sum(up)") == "2"; }));
  EXPECT_TRUE(Eventually([&] { return value("concur_jobs%7Bstate=%22succeeded%22%7D") == "6"; }));
  EXPECT_TRUE(Eventually([&] {
    return value("concur_worker_attempts_ended_total%7Boutcome=%22succeeded%22%7D") == "6";
  }));
  EXPECT_EQ(value("concur_workers%7Bstate=%22live%22%7D"), "1");
  // Every rule evaluates, and none rings.
  EXPECT_TRUE(Eventually([&] {
    const auto json = nlohmann::json::parse(HttpGet(address, "/api/v1/rules").body, nullptr, false);
    if (!json.is_object() || json["data"]["groups"].empty()) {
      return false;
    }
    const auto& all = json["data"]["groups"][0]["rules"];
    for (const auto& rule : all) {
      if (rule["health"] != "ok" || rule["state"] != "inactive") {
        return false;
      }
    }
    return all.size() >= 8;
  }));
  cluster.KillWorker("w1", SIGKILL);
  EXPECT_TRUE(Eventually([&] { return value("sum(up)") == "1"; }));
}

}  // namespace
}  // namespace concur::testing
