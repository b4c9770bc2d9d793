// SPDX-License-Identifier: Apache-2.0
// A worker behind a network of its own, which is cut, half cut or bad: a network namespace and a
// pair of virtual devices. Needs root, iproute2 and iptables; skipped, with the reason, otherwise.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/file.h"
#include "tests/e2e/cluster.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

// Train jobs wait for a file GATE; every start leaves a line in a file RUNS-SEED.
constexpr char kNetworkSweep[] = R"(apiVersion: concur/v1
kind: Sweep
metadata: {name: far}
spec:
  approaches:
    - metadata: {name: patient}
      spec:
        version: "1"
        train:
          command: [/bin/sh, -c, "echo run >> DIR/runs-{seed}; while [ ! -e DIR/gate ]; do sleep 0.05; done; echo {seed} > {model}; echo end >> DIR/ends-{seed}; : {train}"]
        predict:
          command: [/bin/sh, -c, "echo run >> DIR/evals-{seed}; printf '{{\"accuracy\": 0.%s}}' {seed} > {metrics}; : {model} {test}"]
        resources: {cpus: 1}
  benchmarks:
    - metadata: {name: task}
      spec: {format: file, train: set.txt, test: set.txt, metric: accuracy}
  seeds: {from: 1, to: SEEDS}
  retry: {failures_max: 1}
)";

class NetworkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const int id = static_cast<int>(getpid());
    space_ = absl::StrCat("concur-", id);
    device_ = absl::StrCat("cc", id % 1'000'000, "a");
    net_ = absl::StrCat("198.18.", id % 250, ".");
    const std::string peer = absl::StrCat("cc", id % 1'000'000, "b");
    const Output made = Sh(absl::StrCat(
        "set -e; command -v iptables >/dev/null || { echo iptables is missing >&2; exit 1; }; ",
        "ip netns add ", space_, "; ip link add ", device_, " type veth peer name ", peer,
        " netns ", space_, "; ip addr add ", net_, "1/30 dev ", device_, "; ip link set ", device_,
        " up; ip -n ", space_, " addr add ", net_, "2/30 dev ", peer, "; ip -n ", space_,
        " link set ", peer, " up"));
    if (made.exit_code != 0) {
      GTEST_SKIP() << "cannot make a network of its own: " << made.err
                   << "run as root with iproute2 and iptables to test the network";
    }
    cluster_.Write("set.txt", "x\n");
  }
  void TearDown() override {
    far_.reset();
    near_.reset();
    coordinator_.reset();
    Sh(absl::StrCat("ip netns del ", space_, "; ip link del ", device_));
  }
  Output Sh(const std::string& command) {
    return Cluster::Run({"/bin/sh", "-c", command}, cluster_.File("sh"),
                        {{"PATH", "/usr/sbin:/usr/bin:/sbin:/bin"}});
  }

  void Start(const std::string& lease, int seeds) {
    cluster_.Write("options.yaml",
                   absl::StrCat("apiVersion: concur/v1\nkind: CoordinatorOptions\nspec: {lease: ",
                                lease, ", sync_park_max: 1s}\n"));
    coordinator_ = std::make_unique<Process>(
        std::vector<std::string>{Cluster::Binary("concur-coordinator"), "--data-dir",
                                 cluster_.File("data"), "--listen", "0.0.0.0:0", "--options",
                                 cluster_.File("options.yaml"),
                                 "--insecure-listen-without-authentication"},
        cluster_.File("logs/coordinator"));
    ASSERT_TRUE(Eventually([&] { return std::filesystem::exists(cluster_.File("data/address")); }));
    const std::string address(
        absl::StripAsciiWhitespace(ReadFile(cluster_.File("data/address")).value_or("")));
    port_ = address.substr(address.rfind(':'));
    far_ = std::make_unique<Process>(
        std::vector<std::string>{
            "/bin/sh", "-c",
            absl::StrCat("exec ip netns exec ", space_, " ", Cluster::Binary("concur-worker"),
                         " --coordinator ", net_, "1", port_, " --name far --work-dir ",
                         cluster_.File("work-far"), " --cpus 4")},
        cluster_.File("logs/far"),
        std::map<std::string, std::string>{{"XDG_STATE_HOME", cluster_.File("nowhere")},
                                           {"PATH", "/usr/sbin:/usr/bin:/sbin:/bin"}});
    ASSERT_TRUE(Eventually([&] { return WorkerIs("far", "live"); }));
    cluster_.Write("far.yaml",
                   absl::StrReplaceAll(kNetworkSweep, {{"DIR", cluster_.dir().path()},
                                                       {"SEEDS", absl::StrCat(seeds)}}));
    const Output submitted = Concur({"sweep", "submit", cluster_.File("far.yaml")});
    ASSERT_EQ(submitted.exit_code, 0) << submitted.err;
  }
  void StartNearWorker() {
    near_ = std::make_unique<Process>(
        std::vector<std::string>{Cluster::Binary("concur-worker"), "--coordinator",
                                 "127.0.0.1" + port_, "--name", "near", "--work-dir",
                                 cluster_.File("work-near"), "--cpus", "4"},
        cluster_.File("logs/near"),
        std::map<std::string, std::string>{{"XDG_STATE_HOME", cluster_.File("nowhere")}});
  }
  Output Concur(const std::vector<std::string>& arguments) {
    std::vector<std::string> argv = {Cluster::Binary("concur"), "--server", "127.0.0.1" + port_};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    return Cluster::Run(argv, cluster_.File("concur"),
                        {{"XDG_STATE_HOME", cluster_.File("nowhere")}});
  }
  bool WorkerIs(const std::string& name, const std::string& state) {
    return Concur({"-o", "csv", "worker", "get", name}).out.find(state) != std::string::npos;
  }
  void Cut() { ASSERT_EQ(Sh("ip link set " + device_ + " down").exit_code, 0); }
  void Join() { ASSERT_EQ(Sh("ip link set " + device_ + " up").exit_code, 0); }
  // The worker hears nothing but is heard; or the other rule of iptables, in its namespace.
  Output Filter(const std::string& rule) {
    return Sh(absl::StrCat("ip netns exec ", space_, " iptables ", rule));
  }
  void OpenGate() { cluster_.Write("gate", ""); }
  size_t Count(const std::string& name, int seed) {
    const std::string text = ReadFile(cluster_.File(absl::StrCat(name, "-", seed))).value_or("");
    return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  }

  Cluster cluster_;
  std::string space_;
  std::string device_;
  std::string net_;
  std::string port_;
  std::unique_ptr<Process> coordinator_;
  std::unique_ptr<Process> far_;
  std::unique_ptr<Process> near_;
};

TEST_F(NetworkTest, APartitionShorterThanTheLeaseCostsNothing) {
  ASSERT_NO_FATAL_FAILURE(Start("30s", 2));
  ASSERT_TRUE(Eventually([&] { return Count("runs", 1) + Count("runs", 2) == 2; }));
  Cut();
  OpenGate();  // the jobs end while nobody can be told
  ASSERT_TRUE(Eventually([&] { return Count("ends", 1) + Count("ends", 2) == 2; }));
  Join();
  EXPECT_EQ(Concur({"sweep", "wait", "s1"}).exit_code, 0);
  for (const int seed : {1, 2}) {
    EXPECT_EQ(Count("runs", seed), 1u);
    EXPECT_EQ(Count("evals", seed), 1u);
  }
  EXPECT_THAT(Concur({"-o", "json", "job", "get", "s1/0"}).out, HasSubstr("\"lost\": 0"));
}

TEST_F(NetworkTest, APartitionLongerThanTheLeaseGivesTheJobToAnotherWorkerAndCountsItOnce) {
  ASSERT_NO_FATAL_FAILURE(Start("2s", 1));
  ASSERT_TRUE(Eventually([&] { return Count("runs", 1) == 1; }));
  Cut();
  ASSERT_TRUE(Eventually([&] { return WorkerIs("far", "lost"); }));
  StartNearWorker();
  ASSERT_TRUE(Eventually([&] { return Count("runs", 1) == 2; }));
  OpenGate();  // both ends; only the near one's result is current
  EXPECT_EQ(Concur({"sweep", "wait", "s1"}).exit_code, 0);
  Join();
  ASSERT_TRUE(Eventually([&] { return WorkerIs("far", "live"); }));
  ASSERT_TRUE(Eventually([&] {
    return Concur({"-o", "json", "worker", "get", "far"}).out.find("\"running\": 0") !=
           std::string::npos;
  }));
  EXPECT_EQ(Count("runs", 1), 2u);
  EXPECT_EQ(Count("evals", 1), 1u);
  const Output job = Concur({"-o", "json", "job", "get", "s1/0"});
  EXPECT_THAT(job.out, HasSubstr("\"attempt\": 2"));
  EXPECT_THAT(job.out, HasSubstr("\"worker\": \"near\""));
}

TEST_F(NetworkTest, AHalfOpenConnectionIsFoundOutAndTheJobGoesOn) {
  ASSERT_NO_FATAL_FAILURE(Start("2s", 1));
  ASSERT_TRUE(Eventually([&] { return Count("runs", 1) == 1; }));
  const Output filtered = Filter("-A INPUT -j DROP");
  if (filtered.exit_code != 0) {
    GTEST_SKIP() << "iptables: " << filtered.err;
  }
  ASSERT_TRUE(Eventually([&] { return WorkerIs("far", "lost"); }));
  OpenGate();
  ASSERT_TRUE(Eventually([&] { return Count("ends", 1) == 1; }));
  ASSERT_EQ(Filter("-D INPUT -j DROP").exit_code, 0);
  // Nobody else took it: the attempt that was believed lost is the one that counts.
  EXPECT_EQ(Concur({"sweep", "wait", "s1"}).exit_code, 0);
  EXPECT_EQ(Count("runs", 1), 1u);
  EXPECT_EQ(Count("evals", 1), 1u);
  EXPECT_THAT(Concur({"-o", "json", "job", "get", "s1/0"}).out, HasSubstr("\"attempt\": 1"));
}

TEST_F(NetworkTest, ABadNetworkOnlyTakesLonger) {
  OpenGate();
  const Output lossy = Filter("-A INPUT -m statistic --mode random --probability 0.05 -j DROP");
  if (lossy.exit_code != 0) {
    GTEST_SKIP() << "iptables: " << lossy.err;
  }
  const Output slow = Sh(absl::StrCat("tc qdisc add dev ", device_, " root netem delay 200ms"));
  if (slow.exit_code != 0) {
    std::cout << "without latency, with 5 % loss alone: " << slow.err;
  }
  ASSERT_NO_FATAL_FAILURE(Start("10s", 8));
  EXPECT_EQ(Concur({"sweep", "wait", "s1"}).exit_code, 0);
  for (int seed = 1; seed <= 8; ++seed) {
    EXPECT_EQ(Count("runs", seed), 1u) << seed;
    EXPECT_EQ(Count("evals", seed), 1u) << seed;
  }
}

}  // namespace
}  // namespace concur::testing
