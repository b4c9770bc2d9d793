// SPDX-License-Identifier: Apache-2.0
// A sweep on workers that a Kubernetes pool starts. The API server is the test's; its kubelet runs
// a Job's command as a process of this machine.
#include <signal.h>
#include <sys/wait.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/e2e/cluster.h"
#include "tests/testing/kube_server.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

constexpr char kOptions[] = R"(apiVersion: concur/v1
kind: CoordinatorOptions
spec:
  pools:
    - name: pods
      provider: kubernetes
      workers: {max: 2}
      resources: {cpus: 1}
      idle_timeout: 1s
      kubernetes: {image: "localhost/concur:dev"}
)";

constexpr char kSweep[] = R"(apiVersion: concur/v1
kind: Sweep
metadata: {name: one}
spec:
  approaches:
    - metadata: {name: plain}
      spec:
        version: "1"
        train: {command: [/bin/sh, -c, "echo model > {model}; : {train} {seed}"]}
        predict:
          command: [/bin/sh, -c, "printf '{{\"accuracy\": 0.5}}' > {metrics}; : {model} {test}"]
        resources: {cpus: 1}
  benchmarks:
    - metadata: {name: task}
      spec: {format: file, train: data.txt, test: data.txt, metric: accuracy}
  seeds: {from: 1, to: 20}
)";

// Runs the pods of the server's Jobs as processes, until it is dropped.
class Kubelet {
 public:
  Kubelet(KubeServer& server, const Cluster& cluster)
      : server_(server), cluster_(cluster), thread_([this] { Run(); }) {}
  ~Kubelet() {
    ending_ = true;
    thread_.join();
    for (auto& [job, pod] : pods_) {
      SignalPod(*pod, SIGKILL);
      pod->waiter.join();
    }
  }
  int started() const { return started_; }
  // Images of the pods that were started; and whether something was put into them before.
  std::map<std::string, bool> images() const {
    const std::lock_guard<std::mutex> lock(images_mutex_);
    return images_;
  }

 private:
  struct Pod {
    std::unique_ptr<Process> process;  // its waiter's, once that runs
    pid_t pid = -1;
    std::mutex mutex;
    bool ended = false;  // under the mutex
    std::thread waiter;
    std::atomic<bool> over = false;
    std::atomic<int> code = 0;
    bool stopped = false;
    bool told = false;
  };

  // To a process that was started here and has not been waited for.
  static void SignalPod(Pod& pod, int signal) {
    const std::lock_guard<std::mutex> lock(pod.mutex);
    if (!pod.ended && pod.pid > 0) {
      kill(pod.pid, signal);
    }
  }

  void Run() {
    while (!ending_) {
      for (const nlohmann::json& job : server_.All("jobs")) {
        const std::string name = job["metadata"]["name"];
        if (pods_.find(name) == pods_.end()) {
          Start(name, job);
        }
      }
      for (auto& [name, pod] : pods_) {
        Look(name, *pod);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }

  void Start(const std::string& name, const nlohmann::json& job) {
    const nlohmann::json& container = job["spec"]["template"]["spec"]["containers"][0];
    const bool has_worker_put_in = job["spec"]["template"]["spec"].contains("initContainers");
    {
      const std::lock_guard<std::mutex> lock(images_mutex_);
      images_[container["image"]] = has_worker_put_in;
    }
    std::vector<std::string> argv;
    for (const nlohmann::json& word : container["command"]) {
      argv.push_back(
          absl::StrReplaceAll(word.get<std::string>(),
                              {{"concur-worker", Cluster::Binary("concur-worker")},
                               {"/opt/concur-pod/concur-worker", Cluster::Binary("concur-worker")},
                               {"/var/lib/concur-worker/run", cluster_.File("pod-" + name)},
                               {"/etc/concur", cluster_.File("pod-" + name + "-credentials")},
                               {"0.0.0.0:9465", "127.0.0.1:0"}}));
    }
    if (!has_worker_put_in) {
      // The podman and skopeo of this machine are not in Concur's image.
      argv.insert(argv.end(), {"--environments", "none"});
    }
    MountSecrets(job["spec"]["template"]["spec"], cluster_.File("pod-" + name + "-credentials"));
    std::map<std::string, std::string> env;
    for (const nlohmann::json& variable : container["env"]) {
      if (variable["name"] == "CONCUR_POD_VARIABLES") {
        env["OF_POOL"] = "yes";
        env["OF_IMAGE"] = "yes";
        env["CONCUR_POD_VARIABLES"] = variable["value"];
      }
      if (variable.contains("valueFrom")) {
        const nlohmann::json& from = variable["valueFrom"]["secretKeyRef"];
        env[variable["name"]] =
            server_.Get("secrets", from["name"])["stringData"][from["key"].get<std::string>()];
      }
    }
    auto pod = std::make_unique<Pod>();
    pod->process = std::make_unique<Process>(argv, cluster_.File(absl::StrCat("logs/", name)), env);
    pod->pid = pod->process->pid();
    pod->waiter = std::thread([raw = pod.get()] {
      // Marked as over before its number can be another process's.
      siginfo_t info{};
      waitid(P_PID, static_cast<id_t>(raw->pid), &info, WEXITED | WNOWAIT);
      {
        const std::lock_guard<std::mutex> lock(raw->mutex);
        raw->ended = true;
      }
      raw->code = raw->process->Wait();
      raw->over = true;
    });
    pods_[name] = std::move(pod);
    ++started_;
    server_.PutPod(name, {{"phase", "Running"}});
  }

  // The files of the pod's Secrets, in one directory.
  void MountSecrets(const nlohmann::json& pod, const std::string& directory) {
    std::filesystem::create_directory(directory);
    for (const nlohmann::json& volume : pod["volumes"]) {
      if (!volume.contains("secret")) {
        continue;
      }
      const nlohmann::json secret = server_.Get("secrets", volume["secret"]["secretName"]);
      for (const nlohmann::json& item : volume["secret"]["items"]) {
        const std::string key = item["key"];
        EXPECT_TRUE(secret["stringData"].contains(key)) << key;
        std::ofstream(directory + "/" + item["path"].get<std::string>())
            << secret["stringData"].value(key, "");
      }
    }
  }

  void Look(const std::string& name, Pod& pod) {
    const bool deleted = server_.Get("jobs", name).is_null();
    if (deleted && !pod.stopped && !pod.over) {
      pod.stopped = true;
      SignalPod(pod, SIGTERM);
    }
    if (pod.over && !pod.told && !deleted) {
      pod.told = true;
      const bool good = pod.code == 0;
      server_.PutPod(name, {{"phase", good ? "Succeeded" : "Failed"}});
      server_.EndJob(name, good ? "Complete" : "Failed", good ? "" : "BackoffLimitExceeded");
    }
  }

  KubeServer& server_;
  const Cluster& cluster_;
  std::map<std::string, std::unique_ptr<Pod>> pods_;
  std::atomic<bool> ending_ = false;
  std::atomic<int> started_ = 0;
  mutable std::mutex images_mutex_;
  std::map<std::string, bool> images_;  // under it
  std::thread thread_;
};

class KubernetesPoolTest : public ::testing::Test {
 protected:
  KubernetesPoolTest() {
    cluster_.Write("options.yaml", kOptions);
    cluster_.Write("data.txt", "data");
    cluster_.Write("one.yaml", kSweep);
  }
  void StartCoordinator() {
    setenv("KUBECONFIG", cluster_.File("kubeconfig").c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
    cluster_.StartCoordinator({"--options", cluster_.File("options.yaml")});
  }
  std::string Explanation() { return cluster_.Concur({"pool", "explain", "pods"}).out; }

  KubeServer server_;
  Cluster cluster_;
};

TEST_F(KubernetesPoolTest, ASweepRunsInPodsOnceTheQuotaLetsItAndTheyGoAway) {
  cluster_.Write("kubeconfig", server_.Kubeconfig("good"));
  server_.RequireToken("good");
  StartCoordinator();
  const Kubelet kubelet(server_, cluster_);
  server_.Refuse("create jobs", 403, "exceeded quota: team, limited: count/jobs.batch=0");
  EXPECT_EQ(cluster_.Concur({"sweep", "submit", cluster_.File("one.yaml")}).exit_code, 0);
  EXPECT_TRUE(Eventually([&] {
    return Explanation().find("exceeded quota: team") != std::string::npos;
  })) << Explanation();
  const Output run = cluster_.Concur({"sweep", "wait", "s1"});
  EXPECT_EQ(run.exit_code, 0) << run.err << Explanation();
  EXPECT_GE(kubelet.started(), 1);
  EXPECT_LE(kubelet.started(), 2);
  // Idle ones are told to leave: their Jobs end by themselves.
  EXPECT_TRUE(Eventually([&] {
    for (const nlohmann::json& job : server_.All("jobs")) {
      if (!job.contains("status")) {
        return false;
      }
    }
    return true;
  }));
}

// Two images and none: each job runs in a pod of its own image, with that image's variables.
TEST_F(KubernetesPoolTest, JobsRunInPodsOfTheirImages) {
  cluster_.Write("kubeconfig", server_.Kubeconfig("good"));
  cluster_.Write(
      "options.yaml",
      absl::StrReplaceAll(kOptions, {{R"({image: "localhost/concur:dev"})",
                                      R"({image: "localhost/concur:dev", job_images: true, )"
                                      R"(env: {OF_POOL: "yes"}})"}}));
  const auto image = [](const std::string& name) {
    return absl::StrCat("registry/", name, "@sha256:", std::string(64, name[0]));
  };
  for (const char* name : {"a", "b"}) {
    cluster_.Write(
        absl::StrCat(name, ".yaml"),
        absl::StrReplaceAll(
            kSweep,
            {{"name: one", absl::StrCat("name: of-", name)},
             {"version: \"1\"",
              absl::StrCat("version: \"1\"\n        environment: {image: \"", image(name), "\"}")},
             {"echo model >", "test \\\"$OF_IMAGE$OF_POOL$CONCUR_TOKEN\\\" = yes && echo model >"},
             {"to: 20", "to: 5"}}));
  }
  StartCoordinator();
  const Kubelet kubelet(server_, cluster_);
  for (const char* name : {"a", "b", "one"}) {
    const Output submitted =
        cluster_.Concur({"sweep", "submit", cluster_.File(absl::StrCat(name, ".yaml"))});
    ASSERT_EQ(submitted.exit_code, 0) << submitted.err;
  }
  // More images than pods at a time: idle ones make room.
  for (const char* sweep : {"s1", "s2", "s3"}) {
    const Output run = cluster_.Concur({"sweep", "wait", sweep, "--timeout", "60"});
    EXPECT_EQ(run.exit_code, 0) << run.out << run.err << Explanation();
  }
  EXPECT_EQ(kubelet.images(),
            (std::map<std::string, bool>{
                {"localhost/concur:dev", false}, {image("a"), true}, {image("b"), true}}));
}

TEST_F(KubernetesPoolTest, PodsHaveTheirCertificateAndTokenFromASecret) {
  cluster_.Write("kubeconfig", server_.Kubeconfig("good"));
  const auto tls = [&](const std::string& name) { return cluster_.File("tls/" + name); };
  ASSERT_EQ(Cluster::Run(
                {Cluster::Binary("concur-coordinator"), "init-tls", "--out", cluster_.File("tls")},
                cluster_.File("init"))
                .exit_code,
            0);
  cluster_.Write("options.yaml",
                 absl::StrCat(kOptions,
                              "  tls: {certificate: tls/server.pem, key: tls/server.key, "
                              "client_ca: tls/ca.pem}\n"));
  StartCoordinator();
  const Kubelet kubelet(server_, cluster_);
  const std::vector<std::string> credentials = {
      "--ca", tls("ca.pem"), "--certificate", tls("client.pem"), "--key", tls("client.key")};
  std::vector<std::string> submit = {"sweep", "submit", cluster_.File("one.yaml"), "--wait"};
  submit.insert(submit.end(), credentials.begin(), credentials.end());
  const Output run = cluster_.Concur(submit);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  for (const nlohmann::json& secret : server_.All("secrets")) {
    EXPECT_EQ(secret["stringData"].size(), 4u) << "token, ca.pem, client.pem, client.key";
  }
}

TEST_F(KubernetesPoolTest, AClusterThatCannotBeReachedIsExplained) {
  {
    const KubeServer gone;
    cluster_.Write("kubeconfig", gone.Kubeconfig("t"));
  }
  StartCoordinator();
  EXPECT_EQ(cluster_.Concur({"sweep", "submit", cluster_.File("one.yaml")}).exit_code, 0);
  EXPECT_TRUE(Eventually([&] {
    return Explanation().find("kubernetes: http://127.0.0.1") != std::string::npos;
  })) << Explanation();
}

}  // namespace
}  // namespace concur::testing
