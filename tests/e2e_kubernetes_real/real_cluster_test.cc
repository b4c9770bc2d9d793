// SPDX-License-Identifier: Apache-2.0
// Pools on a real Kubernetes, whichever KUBECONFIG names:
//   KUBECONFIG=… build/dev/tests/e2e_kubernetes_real/e2e_kubernetes_real_test
// A control plane is enough for the first tests. The last one needs nodes that run pods:
//   CONCUR_KUBE_IMAGE       the project's image (scripts/image), on the nodes already
//   CONCUR_KUBE_HOST        an address of this machine that pods can call
//   CONCUR_KUBE_JOB_IMAGES  optional: images with digests, which have a shell and no worker; the
//                           project's image must have the static worker then
//   CONCUR_KUBE_STOP_NODE   optional: shell that stops a node's kubelet, and
//   CONCUR_KUBE_START_NODE  shell that starts it again
// Everything that is made is in a namespace of its own, which is deleted in the end.
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/file.h"
#include "tests/e2e/cluster.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

constexpr char kSweep[] = R"(apiVersion: concur/v1
kind: Sweep
metadata: {name: many}
spec:
  approaches:
    - metadata: {name: short}
      spec:
        version: "1"
        train: {command: [/bin/sh, -c, "sleep 0.4; echo {seed} > {model}; : {train}"]}
        predict:
          command: [/bin/sh, -c, "sleep 0.2; printf '{{\"accuracy\": 0.%s}}' {seed} > {metrics}; : {model} {test}"]
        resources: {cpus: 1}
  benchmarks:
    - metadata: {name: task}
      spec: {format: file, train: data.jsonl, test: data.jsonl, metric: accuracy}
  seeds: {from: 1, to: SEEDS}
)";

// "" when it is not set.
std::string Environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return value == nullptr ? "" : value;
}

absl::Time TimeOf(const nlohmann::json& text) {
  absl::Time time;
  std::string error;
  EXPECT_TRUE(absl::ParseTime(absl::RFC3339_full, text.get<std::string>(), &time, &error)) << error;
  return time;
}

class RealKubernetesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (Environment("KUBECONFIG").empty()) {
      GTEST_SKIP() << "KUBECONFIG names no cluster; docs/reliability.md tells how to run this";
    }
    const Output version = Kubectl({"version"});
    ASSERT_EQ(version.exit_code, 0) << version.err;
    name_space_ = absl::StrCat("concur-test-", absl::ToUnixMillis(absl::Now()));
    ASSERT_EQ(Kubectl({"create", "namespace", name_space_}).exit_code, 0);
    // Pods are refused until the namespace has its service account.
    ASSERT_TRUE(Eventually([&] {
      return KubectlHere({"get", "serviceaccount", "default"}).exit_code == 0;
    }));
    cluster_.Write("data.jsonl", "{}\n");
  }
  void TearDown() override {
    coordinator_.reset();
    if (!name_space_.empty()) {
      Kubectl({"delete", "namespace", name_space_, "--wait=false"});
    }
    if (HasFailure()) {
      std::cerr << ReadFile(cluster_.File("logs/real.err")).value_or("") << "\n";
    }
  }

  Output Kubectl(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"/usr/bin/env", "kubectl"});
    return Cluster::Run(arguments, cluster_.File("kubectl"));
  }
  Output KubectlHere(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--namespace", name_space_});
    return Kubectl(arguments);
  }
  // Whose Jobs were not deleted.
  nlohmann::json Pods() const {
    const Output output = KubectlHere({"get", "pods", "-l", "concur/coordinator", "-o", "json"});
    const nlohmann::json list = nlohmann::json::parse(output.out, nullptr, false);
    return list.value("items", nlohmann::json::array());
  }
  // By name, with their ids.
  std::set<std::string> Ids(const std::string& kind) const {
    const Output output = KubectlHere({"get", kind, "-l", "concur/coordinator", "-o", "json"});
    const nlohmann::json list = nlohmann::json::parse(output.out, nullptr, false);
    std::set<std::string> ids;
    for (const nlohmann::json& item : list.value("items", nlohmann::json::array())) {
      if (!item["metadata"].contains("deletionTimestamp")) {
        ids.insert(absl::StrCat(item["metadata"]["name"].get<std::string>(), " ",
                                item["metadata"]["uid"].get<std::string>()));
      }
    }
    return ids;
  }

  void WriteSweep(int seeds) {
    cluster_.Write("sweep.yaml", absl::StrReplaceAll(kSweep, {{"SEEDS", absl::StrCat(seeds)}}));
  }
  void WriteOptions(const std::string& host, const std::string& image) {
    cluster_.Write("options.yaml", absl::StrCat(R"(apiVersion: concur/v1
kind: CoordinatorOptions
spec:
  listen: ")",
                                                host, R"(:0"
  lease: 5s
  sync_park_max: 3s
  tls: {certificate: tls/server.pem, key: tls/server.key, client_ca: tls/ca.pem}
  pools:
    - name: pods
      provider: kubernetes
      workers: {max: 2}
      resources: {cpus: 1, memory: 256MiB}
      idle_timeout: 2s
      kubernetes:
        namespace: )",
                                                name_space_, R"(
        image: )",
                                                image, R"(
        job_images: true
        tolerations: [{key: concur.test/none, effect: NoSchedule}]
        volumes: [{memory: 16MiB, path: /dev/shm}]
)"));
    ASSERT_EQ(Cluster::Run({Cluster::Binary("concur-coordinator"), "init-tls", "--host", host,
                            "--out", cluster_.File("tls")},
                           cluster_.File("init"))
                  .exit_code,
              0);
  }
  void StartCoordinator() {
    std::filesystem::remove(cluster_.File("data/address"));
    coordinator_ = std::make_unique<Process>(
        std::vector<std::string>{Cluster::Binary("concur-coordinator"), "--data-dir",
                                 cluster_.File("data"), "--options", cluster_.File("options.yaml")},
        cluster_.File("logs/real"));
    ASSERT_TRUE(Eventually([&] { return std::filesystem::exists(cluster_.File("data/address")); }));
    address_ = std::string(
        absl::StripAsciiWhitespace(ReadFile(cluster_.File("data/address")).value_or("")));
    // A restart must be found where workers know it.
    cluster_.Write(
        "options.yaml",
        absl::StrReplaceAll(ReadFile(cluster_.File("options.yaml")).value_or(""),
                            {{address_.substr(0, address_.rfind(':')) + ":0\"", address_ + "\""}}));
  }
  void KillCoordinator() {
    coordinator_->Signal(SIGKILL);
    coordinator_->Wait();
    coordinator_.reset();
  }
  Output Concur(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {Cluster::Binary("concur"), "--server", address_});
    return Cluster::Run(arguments, cluster_.File("concur"),
                        {{"CONCUR_CA", cluster_.File("tls/ca.pem")},
                         {"CONCUR_CERTIFICATE", cluster_.File("tls/client.pem")},
                         {"CONCUR_KEY", cluster_.File("tls/client.key")},
                         {"CONCUR_TOKEN_FILE", cluster_.File("data/token")}});
  }
  nlohmann::json Json(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"-o", "json"});
    return nlohmann::json::parse(Concur(arguments).out, nullptr, false);
  }
  std::string Explain() const { return Concur({"pool", "explain", "pods"}).out; }
  int Count(const char* what) const {
    const nlohmann::json pool = Json({"pool", "get", "pods"});
    return pool.is_object() ? pool.value(what, -1) : -1;
  }
  int Succeeded() const {
    const nlohmann::json sweep = Json({"sweep", "get", "many"});
    return sweep.is_object() ? sweep["counts"].value("succeeded", 0) : 0;
  }

  Cluster cluster_;
  std::string name_space_;
  std::string address_;
  std::unique_ptr<Process> coordinator_;
};

TEST_F(RealKubernetesTest, JobsAreCreatedWatchedAdoptedAndDeleted) {
  WriteSweep(4);
  WriteOptions("127.0.0.1", "localhost/no-such-image:none");
  StartCoordinator();
  ASSERT_EQ(Concur({"sweep", "submit", cluster_.File("sweep.yaml")}).exit_code, 0);
  ASSERT_TRUE(Eventually([&] { return Ids("jobs").size() == 2; })) << Explain();
  EXPECT_THAT(Ids("secrets"), SizeIs(1));
  // Without a node they cannot be placed; with one, the image is not there.
  EXPECT_TRUE(Eventually([&] {
    const std::string text = Explain();
    return text.find("unschedulable: ") != std::string::npos ||
           text.find("its image cannot be pulled: ") != std::string::npos;
  })) << Explain();
  std::cout << Explain();
  const std::set<std::string> first = Ids("jobs");

  // A coordinator that starts again knows them for its own, and makes no others.
  KillCoordinator();
  StartCoordinator();
  ASSERT_TRUE(Eventually([&] { return Count("pending") == 2; })) << Explain();
  EXPECT_EQ(Ids("jobs"), first);

  // One is taken away behind its back: the watch tells, and another is made for it.
  const std::string victim = first.begin()->substr(0, first.begin()->find(' '));
  ASSERT_EQ(KubectlHere({"delete", "job", victim}).exit_code, 0);
  EXPECT_TRUE(Eventually([&] {
    const std::set<std::string> now = Ids("jobs");
    return now.size() == 2 && now.count(*first.begin()) == 0 && now.count(*first.rbegin()) == 1;
  })) << Explain();

  // Nobody wants them any more.
  ASSERT_EQ(Concur({"sweep", "cancel", "many"}).exit_code, 0);
  EXPECT_TRUE(Eventually([&] { return Ids("jobs").empty(); })) << Explain();
}

TEST_F(RealKubernetesTest, AVersionThatIsTooOldIsGone) {
  const Output watch = Kubectl({"get", "--raw",
                                absl::StrCat("/apis/batch/v1/namespaces/", name_space_,
                                             "/jobs?watch=1&resourceVersion=1&timeoutSeconds=5")});
  EXPECT_THAT(absl::StrCat(watch.out, watch.err), HasSubstr("too old resource version"));
}

TEST_F(RealKubernetesTest, AMissingRightIsNamed) {
  const std::string account = absl::StrCat("system:serviceaccount:", name_space_, ":default");
  const Output can =
      Kubectl({"auth", "can-i", "create", "jobs", "--as", account, "-n", name_space_});
  ASSERT_THAT(can.out, HasSubstr("no"));
  // The same cluster, as somebody who may do nothing there.
  const Output config = Kubectl({"config", "view", "--raw", "--minify", "--flatten", "-o", "json"});
  nlohmann::json json = nlohmann::json::parse(config.out, nullptr, false);
  ASSERT_TRUE(json.is_object()) << config.err;
  json["users"][0]["user"] = {{"token", "of-nobody"}};
  cluster_.Write("nobody.json", json.dump());
  WriteSweep(1);
  WriteOptions("127.0.0.1", "localhost/no-such-image:none");
  const std::string good = Environment("KUBECONFIG");
  setenv("KUBECONFIG", cluster_.File("nobody.json").c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  StartCoordinator();
  setenv("KUBECONFIG", good.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  ASSERT_EQ(Concur({"sweep", "submit", cluster_.File("sweep.yaml")}).exit_code, 0);
  EXPECT_TRUE(Eventually([&] {
    return Explain().find("answers 401: Unauthorized; the token of ") != std::string::npos;
  })) << Explain();
}

TEST_F(RealKubernetesTest, ASweepRunsInPodsWhoseNodeAndPodsGoAway) {
  const std::string image = Environment("CONCUR_KUBE_IMAGE");
  const std::string host = Environment("CONCUR_KUBE_HOST");
  if (image.empty() || host.empty()) {
    GTEST_SKIP() << "CONCUR_KUBE_IMAGE and CONCUR_KUBE_HOST are not set: no pods can run";
  }
  constexpr int kCells = 40;
  WriteSweep(kCells);
  WriteOptions(host, image);
  StartCoordinator();
  const absl::Time submitted = absl::Now();
  ASSERT_EQ(Concur({"sweep", "submit", cluster_.File("sweep.yaml")}).exit_code, 0);
  ASSERT_TRUE(Eventually([&] { return Succeeded() >= 5; })) << Explain();
  std::cout << "5 jobs succeeded " << absl::FormatDuration(absl::Now() - submitted)
            << " after the submission\n";

  // A pod is deleted under its worker.
  const std::set<std::string> pods = Ids("pods");
  ASSERT_FALSE(pods.empty());
  const std::string victim = pods.begin()->substr(0, pods.begin()->find(' '));
  ASSERT_EQ(KubectlHere({"delete", "pod", victim, "--wait=false"}).exit_code, 0);
  int before = Succeeded();
  ASSERT_TRUE(Eventually([&] { return Succeeded() > before + 2; })) << Explain();

  // The node's kubelet stops, and so does the coordinator; both come back.
  const std::string stop = Environment("CONCUR_KUBE_STOP_NODE");
  if (!stop.empty()) {
    ASSERT_EQ(Cluster::Run({"/bin/sh", "-c", stop}, cluster_.File("stop")).exit_code, 0);
    before = Succeeded();
    ASSERT_TRUE(Eventually([&] { return Succeeded() > before + 2; }))
        << "workers go on without their kubelet" << Explain();
  }
  KillCoordinator();
  StartCoordinator();
  if (!stop.empty()) {
    ASSERT_EQ(Cluster::Run({"/bin/sh", "-c", Environment("CONCUR_KUBE_START_NODE")},
                           cluster_.File("start"))
                  .exit_code,
              0);
  }
  ASSERT_EQ(Concur({"sweep", "wait", "many", "--timeout", "280"}).exit_code, 0) << Explain();
  const nlohmann::json jobs = Json({"job", "list", "many", "--limit", "0"});
  EXPECT_EQ(jobs.size(), 2u * kCells);
  for (const nlohmann::json& job : jobs) {
    EXPECT_EQ(job["state"], "succeeded") << job.dump();
  }
  std::cout << jobs.size() << " jobs in " << absl::FormatDuration(absl::Now() - submitted) << ", "
            << Json({"pool", "get", "pods"})["workers"].size() << " pods\n"
            << KubectlHere({"get", "jobs,pods"}).out;
  // Workers that nobody needs leave by themselves.
  EXPECT_TRUE(Eventually([&] {
    return Count("working") == 0 && Count("pending") == 0 && Count("starting") == 0 &&
           Count("draining") == 0;
  })) << Explain();
}

// Pods of images that know nothing of Concur. Prints how long the first jobs took to start: twice,
// the second time with the images on the node.
TEST_F(RealKubernetesTest, JobsRunInPodsOfTheirImages) {
  const std::string image = Environment("CONCUR_KUBE_IMAGE");
  const std::string host = Environment("CONCUR_KUBE_HOST");
  const std::vector<std::string> images =
      absl::StrSplit(Environment("CONCUR_KUBE_JOB_IMAGES"), ' ', absl::SkipEmpty());
  if (image.empty() || host.empty() || images.empty()) {
    GTEST_SKIP() << "CONCUR_KUBE_IMAGE, CONCUR_KUBE_HOST or CONCUR_KUBE_JOB_IMAGES are not set";
  }
  WriteOptions(host, image);
  StartCoordinator();
  for (int round = 1; round <= 2; ++round) {
    std::string sweep =
        "apiVersion: concur/v1\nkind: Sweep\nmetadata: {name: images}\nspec:\n"
        "  retry: {failures_max: 1}\n  approaches:\n";
    for (size_t i = 0; i < images.size(); ++i) {
      absl::StrAppend(&sweep, "    - metadata: {name: of-", i,
                      "}\n      spec:\n        version: \"", round,
                      "\"\n        environment: {image: \"", images[i],
                      "\"}\n        predict: {command: [sh, -euc, '",
                      R"(echo "{{\"accuracy\": 0.5}}" > {metrics}; : {seed} {test}']})", "\n");
    }
    cluster_.Write("sweep.yaml", sweep + R"(  benchmarks:
    - metadata: {name: task}
      spec: {format: file, test: data.jsonl, metric: accuracy}
  seeds: [1, 2, 3, 4]
)");
    const nlohmann::json submitted = Json({"sweep", "submit", cluster_.File("sweep.yaml")});
    ASSERT_TRUE(submitted.is_object());
    const std::string id = submitted["id"];
    ASSERT_EQ(Concur({"sweep", "wait", id, "--timeout", "200"}).exit_code, 0)
        << Explain() << Concur({"sweep", "failures", id}).out;
    std::map<std::string, double> first;
    for (const nlohmann::json& job : Json({"job", "list", id, "--limit", "0"})) {
      const double seconds = absl::ToDoubleSeconds(TimeOf(job["result"]["start_time"]) -
                                                   TimeOf(submitted["create_time"]));
      const auto [it, is_new] = first.try_emplace(job["approach"], seconds);
      it->second = std::min(it->second, seconds);
    }
    EXPECT_EQ(first.size(), images.size());
    for (const auto& [approach, seconds] : first) {
      std::cout << "round " << round << ": first job " << approach << " " << seconds
                << " s after the submission\n";
    }
  }
  std::set<std::string> used;
  for (const nlohmann::json& pod : Pods()) {
    used.insert(pod["spec"]["containers"][0]["image"].get<std::string>());
  }
  EXPECT_EQ(used, std::set<std::string>(images.begin(), images.end()));
}

}  // namespace
}  // namespace concur::testing
