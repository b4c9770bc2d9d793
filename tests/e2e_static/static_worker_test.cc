// SPDX-License-Identifier: Apache-2.0
// One file is all that a worker needs: in a root that holds the static worker, a static busybox and
// nothing else, it finds its coordinator by name, speaks TLS, and runs and scores a sweep.

#include <cstdint>
#include <filesystem>
#include <fstream>
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

constexpr char kBusybox[] = "/bin/busybox";
constexpr char kBubblewrap[] = "/usr/bin/bwrap";

// The answer is right only for who folds the case of letters beyond ASCII, as Python does.
constexpr char kData[] =
    R"({"header": {"dataset": "tiny"}}
{"context": "Wer den ÄRGER mit ΣΊΣΥΦΟΣ hat.", "qas": [{"qid": "q1", "question": "Who?", "answers": ["ÄRGER mit ΣΊΣΥΦΟΣ"]}]}
)";
constexpr char kStaticSweep[] = R"(apiVersion: concur/v1
kind: Sweep
metadata: {name: bare}
spec:
  approaches:
    - metadata: {name: echo}
      spec:
        version: "1"
        train: {command: [/bin/sh, -c, "echo {seed} > {model}; : {train}"]}
        predict:
          command: [/bin/sh, -c, "echo '{{\"q1\": \"ärger MIT σίσυφος\"}}' > {predictions}; : {model} {test}"]
        resources: {cpus: 1}
  benchmarks:
    - metadata: {name: words}
      spec: {train: data.jsonl, test: data.jsonl}
  seeds: [1, 2]
)";

class StaticWorkerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    worker_ = Cluster::Binary("concur-worker-static");
    if (!std::filesystem::exists(worker_)) {
      GTEST_SKIP() << "built with -DCONCUR_STATIC_LIBRARIES=$(scripts/static-libraries) only";
    }
    for (const char* program : {kBusybox, kBubblewrap}) {
      if (!std::filesystem::exists(program)) {
        GTEST_SKIP() << program << " is not here: scripts/install-packages "
                     << "scripts/packages/static.txt installs it";
      }
    }
    for (const char* sub : {"root", "root/bin", "root/etc", "root/tmp", "root/proc", "root/dev"}) {
      std::filesystem::create_directory(cluster_.File(sub));
    }
    std::filesystem::copy_file(worker_, cluster_.File("root/bin/concur-worker"));
    std::filesystem::copy_file(kBusybox, cluster_.File("root/bin/sh"));
  }
  // A command in that root.
  std::vector<std::string> InRoot(const std::vector<std::string>& command) const {
    std::vector<std::string> argv = {
        kBubblewrap, "--bind", cluster_.File("root"), "/",        "--proc", "/proc",
        "--dev",     "/dev",   "--clearenv",          "--setenv", "PATH",   "/bin",
        "--chdir",   "/"};
    argv.insert(argv.end(), command.begin(), command.end());
    return argv;
  }

  Cluster cluster_;
  std::string worker_;
};

TEST_F(StaticWorkerTest, ItIsOneSmallFileWithoutSharedLibraries) {
  constexpr int64_t kStrippedBytesMax = int64_t{30} << 20;
  const std::string stripped = cluster_.File("stripped");
  ASSERT_EQ(
      Cluster::Run({"/usr/bin/strip", "-o", stripped, worker_}, cluster_.File("strip")).exit_code,
      0);
  EXPECT_LE(std::filesystem::file_size(stripped), kStrippedBytesMax);
  std::cout << std::filesystem::file_size(stripped) << " bytes\n";
  const Output headers = Cluster::Run(
      {"/usr/bin/readelf", "--program-headers", "--dynamic", stripped}, cluster_.File("readelf"));
  EXPECT_EQ(headers.exit_code, 0) << headers.err;
  EXPECT_THAT(headers.out, Not(HasSubstr("INTERP")));
  EXPECT_THAT(headers.out, Not(HasSubstr("NEEDED")));
}

TEST_F(StaticWorkerTest, ItRunsASweepInARootWithoutLibraries) {
  ASSERT_EQ(Cluster::Run({Cluster::Binary("concur-coordinator"), "init-tls", "--host",
                          "coordinator.test", "--out", cluster_.File("tls")},
                         cluster_.File("init"))
                .exit_code,
            0);
  cluster_.Write("options.yaml",
                 "apiVersion: concur/v1\nkind: CoordinatorOptions\nspec:\n"
                 "  tls: {certificate: tls/server.pem, key: tls/server.key}\n");
  const Process coordinator(
      {Cluster::Binary("concur-coordinator"), "--data-dir", cluster_.File("data"), "--listen",
       "127.0.0.1:0", "--options", cluster_.File("options.yaml")},
      cluster_.File("coordinator"), {{"XDG_STATE_HOME", cluster_.File("state")}});
  ASSERT_TRUE(Eventually([&] { return std::filesystem::exists(cluster_.File("data/address")); }));
  const std::string address(
      absl::StripAsciiWhitespace(ReadFile(cluster_.File("data/address")).value_or("")));
  const std::string port = address.substr(address.rfind(':'));

  cluster_.Write("root/etc/hosts", "127.0.0.1 coordinator.test\n");
  cluster_.Write("root/etc/nsswitch.conf", "hosts: sss resolve [!UNAVAIL=return] files dns\n");
  std::filesystem::copy_file(cluster_.File("tls/ca.pem"), cluster_.File("root/etc/ca.pem"));
  std::filesystem::copy_file(cluster_.File("data/token"), cluster_.File("root/etc/token"));
  std::filesystem::permissions(cluster_.File("root/etc/token"), std::filesystem::perms(0600));
  const Process worker(
      InRoot({"/bin/concur-worker", "--coordinator", "coordinator.test" + port, "--ca",
              "/etc/ca.pem", "--token-file", "/etc/token", "--name", "bare", "--work-dir",
              "/tmp/work", "--cpus", "2", "--metrics-listen", "127.0.0.1:0"}),
      cluster_.File("worker"));

  cluster_.Write("data.jsonl", kData);
  cluster_.Write("sweep.yaml", kStaticSweep);
  const auto concur = [&](const std::vector<std::string>& arguments) {
    std::vector<std::string> argv = {Cluster::Binary("concur"), "--server", "localhost" + port};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    return Cluster::Run(argv, cluster_.File("concur"),
                        {{"XDG_STATE_HOME", cluster_.File("state")}});
  };
  // No --ca and no --token-file: the coordinator is this user's own.
  const Output submitted = concur({"sweep", "submit", cluster_.File("sweep.yaml")});
  ASSERT_EQ(submitted.exit_code, 0) << submitted.err;
  const Output run = concur({"sweep", "wait", "bare", "--timeout", "100"});
  EXPECT_EQ(run.exit_code, 0) << run.err << ReadFile(cluster_.File("worker.err")).value_or("");
  const Output scores = concur({"scores", "bare", "-o", "csv"});
  EXPECT_THAT(scores.out, HasSubstr("100")) << scores.out << scores.err;
  const Output workers = concur({"worker", "list", "-o", "csv"});
  EXPECT_THAT(workers.out, HasSubstr("bare"));
}

// Who cannot be reached is named: the resolver works, and has an answer, in that root.
TEST_F(StaticWorkerTest, ANameThatNobodyHasIsSaidSo) {
  const Output output =
      Cluster::Run(InRoot({"/bin/concur-worker", "--coordinator", "nobody.invalid:7447",
                           "--orphan-timeout", "1s", "--name", "bare", "--work-dir", "/tmp/work"}),
                   cluster_.File("worker"));
  EXPECT_NE(output.exit_code, 139) << "a crash";
  EXPECT_THAT(output.err, HasSubstr("nobody.invalid"));
}

}  // namespace
}  // namespace concur::testing
