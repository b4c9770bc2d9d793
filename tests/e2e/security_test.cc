// SPDX-License-Identifier: Apache-2.0
// Who is let in, with real programs: every refusal has a message that says what to do, and exit
// code 6.
#include <signal.h>
#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "tests/e2e/cluster.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

constexpr int kDenied = 6;

// Its job writes its environment into the log.
constexpr char kSecuritySweep[] = R"(apiVersion: concur/v1
kind: Sweep
metadata: {name: small}
spec:
  approaches:
    - metadata: {name: env}
      spec:
        version: "1"
        train: {command: [/bin/sh, -c, "env; echo x > {model}; : {train}"]}
        predict: {command: [/bin/sh, -c, "printf '{{\"accuracy\": 0.5}}' > {metrics}; : {model} {test}"]}
  benchmarks:
    - metadata: {name: task}
      spec: {format: file, train: set.txt, test: set.txt, metric: accuracy}
  retry: {failures_max: 1}
)";

class SecurityTest : public ::testing::Test {
 protected:
  void SetUp() override {
    cluster_.Write("set.txt", "x\n");
    cluster_.Write("sweep.yaml", kSecuritySweep);
  }

  Output Admin(const std::vector<std::string>& arguments) {
    std::vector<std::string> argv = {Cluster::Binary("concur-coordinator"), "--data-dir",
                                     cluster_.File("data")};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    return Cluster::Run(argv, cluster_.File("admin"));
  }
  // The path of a file with a new token.
  std::string Token(const std::string& user, const std::string& role,
                    const std::string& expires_in = "1h") {
    const std::string path = cluster_.File(absl::StrCat(user, ".", role, ".token"));
    const Output made = Admin({"token", "create", "--user", user, "--role", role, "--expires-in",
                               expires_in, "--out", path});
    EXPECT_EQ(made.exit_code, 0) << made.err;
    return path;
  }
  // As somebody with only this token; "" for somebody without any.
  Output ConcurAs(const std::string& token_file, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {Cluster::Binary("concur"), "--server", cluster_.server()});
    std::map<std::string, std::string> env = {{"XDG_STATE_HOME", cluster_.File("nowhere")}};
    if (!token_file.empty()) {
      env["CONCUR_TOKEN_FILE"] = token_file;
    }
    return Cluster::Run(arguments, cluster_.File("as"), env);
  }
  static void ExpectDenied(const Output& output, const std::string& telling) {
    EXPECT_EQ(output.exit_code, kDenied) << output.err;
    EXPECT_THAT(output.err, HasSubstr(telling));
  }
  void MakeCertificates(const std::string& directory) {
    EXPECT_EQ(Admin({"init-tls", "--out", cluster_.File(directory)}).exit_code, 0);
  }

  Cluster cluster_;
};

TEST_F(SecurityTest, TheUserOfTheCoordinatorNeedsNothingAndOthersAToken) {
  cluster_.StartCoordinator();
  EXPECT_EQ(cluster_.Concur({"sweep", "list"}).exit_code, 0);
  ExpectDenied(ConcurAs("", {"sweep", "list"}), "--token-file");
  struct stat info {};
  ASSERT_EQ(stat(cluster_.File("data/token").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  ASSERT_EQ(stat(cluster_.File("data/tokens.json").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

// A data directory that existed with mode 0755 was taken as it was, and another user could read the
// database in it, which had 0644.
TEST_F(SecurityTest, TheDataDirectoryIsItsUsersAlone) {
  const auto mode_of = [&](const std::string& name) {
    struct stat info {};
    EXPECT_EQ(stat(cluster_.File(name).c_str(), &info), 0) << name;
    return info.st_mode & 07777;
  };
  cluster_.StartCoordinator();
  cluster_.KillCoordinator(SIGTERM);
  ASSERT_EQ(chmod(cluster_.File("data").c_str(), 0755), 0);
  ASSERT_EQ(chmod(cluster_.File("data/concur.db").c_str(), 0644), 0);
  cluster_.StartCoordinator();
  EXPECT_EQ(mode_of("data"), 0700u);
  for (const char* name :
       {"concur.db", "concur.db-wal", "concur.db.lock", "concur.db.mark", "address"}) {
    EXPECT_EQ(mode_of(absl::StrCat("data/", name)), 0600u) << name;
  }
  EXPECT_EQ(mode_of("data/artifacts"), 0700u);

  ASSERT_OK(MakeDirectories(cluster_.File("shared"), 0755));
  ASSERT_EQ(chmod(cluster_.File("shared").c_str(), 0755), 0);
  ASSERT_OK(WriteFileAtomically(cluster_.File("shared/thesis.tex"), "x"));
  const Output refused = Cluster::Run({Cluster::Binary("concur-coordinator"), "--data-dir",
                                       cluster_.File("shared"), "--listen", "127.0.0.1:0"},
                                      cluster_.File("refused"));
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, HasSubstr("chmod 700"));
  EXPECT_EQ(mode_of("shared"), 0755u);
}

// Both programs are started with the umask of this test, by which others could read.
TEST_F(SecurityTest, NobodyElseMayReadWhatTheProgramsAndTheirJobsWrite) {
  const mode_t before = umask(022);
  cluster_.StartCoordinator();
  cluster_.StartWorker("w1");
  umask(before);
  EXPECT_EQ(cluster_.RunSweep("sweep.yaml").exit_code, 0);
  cluster_.KillWorker("w1", SIGTERM);
  cluster_.KillCoordinator(SIGTERM);
  int files = 0;
  for (const char* root : {"data", "work-w1"}) {
    struct stat info {};
    ASSERT_EQ(stat(cluster_.File(root).c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 077, 0u) << root;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(cluster_.File(root))) {
      // An artifact, or a pack of them, may be read by all, in a directory that only its owner
      // enters.
      const std::string path = entry.path().string();
      if (lstat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
          path.find("/sha256/") == std::string::npos && path.find("/packs/") == std::string::npos) {
        EXPECT_EQ(info.st_mode & 077, 0u) << entry.path();
        ++files;
      }
    }
  }
  EXPECT_GT(files, 5);
}

TEST_F(SecurityTest, TokensThatAreNoGoodSayWhy) {
  cluster_.StartCoordinator();
  const std::string wrong = cluster_.File("wrong.token");
  ASSERT_OK(WriteFileAtomically(wrong, "concur_0123456789abcdef\n", 0600));
  ExpectDenied(ConcurAs(wrong, {"sweep", "list"}), "does not know the token");

  const std::string open = cluster_.File("open.token");
  ASSERT_OK(WriteFileAtomically(open, "concur_0123456789abcdef\n", 0644));
  ExpectDenied(ConcurAs(open, {"sweep", "list"}), "chmod 600");

  const std::string revoked = Token("ada", "viewer");
  EXPECT_EQ(ConcurAs(revoked, {"sweep", "list"}).exit_code, 0);
  EXPECT_EQ(Admin({"token", "revoke", "t2"}).exit_code, 0);
  ExpectDenied(ConcurAs(revoked, {"sweep", "list"}), "t2 of ada was revoked on");

  const std::string expired = Token("bob", "viewer", "1s");
  Eventually([&] { return ConcurAs(expired, {"sweep", "list"}).exit_code == kDenied; });
  ExpectDenied(ConcurAs(expired, {"sweep", "list"}), "t3 of bob expired on");
  EXPECT_THAT(Admin({"token", "list"}).out, AllOf(HasSubstr("revoked"), HasSubstr("expired")));
}

// A stream that was open when its token was revoked went on to its end.
TEST_F(SecurityTest, ARevokedTokenEndsItsOpenStreams) {
  cluster_.Write(
      "options.yaml",
      "apiVersion: concur/v1\nkind: CoordinatorOptions\nspec: {limits: {stalled_max: 2s}}\n");
  cluster_.StartCoordinator({"--options", cluster_.File("options.yaml")});
  ASSERT_EQ(cluster_.Concur({"sweep", "submit", cluster_.File("sweep.yaml")}).exit_code, 0);
  const std::string token = Token("ada", "viewer");
  Process watch({Cluster::Binary("concur"), "--server", cluster_.server(), "sweep", "watch", "s1"},
                cluster_.File("watch"),
                {{"XDG_STATE_HOME", cluster_.File("nowhere")}, {"CONCUR_TOKEN_FILE", token}});
  EXPECT_TRUE(
      Eventually([&] { return !ReadFile(cluster_.File("watch.err")).value_or("").empty(); }));
  EXPECT_EQ(Admin({"token", "revoke", "t2"}).exit_code, 0);
  EXPECT_EQ(watch.Wait(), kDenied);
  EXPECT_THAT(ReadFile(cluster_.File("watch.err")).value_or(""), HasSubstr("was revoked on"));
}

TEST_F(SecurityTest, RolesAndOwnersAreKeptApart) {
  cluster_.StartCoordinator();
  const std::string viewer = Token("eve", "viewer");
  const std::string worker = Token("w", "worker");
  const std::string ada = Token("ada", "submitter");
  const std::string bob = Token("bob", "submitter");
  const std::vector<std::string> submit = {"sweep", "submit", cluster_.File("sweep.yaml")};
  ExpectDenied(ConcurAs(viewer, submit), "role viewer");
  ExpectDenied(ConcurAs(worker, {"sweep", "list"}), "role worker");
  const Output submitted = ConcurAs(ada, submit);
  EXPECT_EQ(submitted.exit_code, 0) << submitted.err;
  EXPECT_THAT(ConcurAs(viewer, {"-o", "csv", "sweep", "list"}).out, HasSubstr("ada"));
  for (const char* change : {"pause", "resume", "cancel", "retry"}) {
    ExpectDenied(ConcurAs(bob, {"sweep", change, "s1"}), "s1 belongs to ada");
  }
  ExpectDenied(ConcurAs(bob, {"sweep", "delete", "s1", "--yes"}), "s1 belongs to ada");
  ExpectDenied(ConcurAs(ada, {"worker", "drain", "w1"}), "asks for admin");
  EXPECT_EQ(ConcurAs(ada, {"sweep", "pause", "s1"}).exit_code, 0);
  EXPECT_EQ(cluster_.Concur({"sweep", "cancel", "s1"}).exit_code, 0) << "an admin may";

  // Who did what is on record, refusals too.
  const std::string calls = ReadFile(cluster_.File("data/audit/calls.jsonl")).value_or("");
  EXPECT_THAT(calls, AllOf(HasSubstr(R"("user":"ada","token":"t4")"),
                           HasSubstr(R"("method":"CreateSweep","target":"small, request)"),
                           HasSubstr(R"("method":"PauseSweep","target":"s1","outcome":"ok")"),
                           Not(HasSubstr(R"("outcome":"permission_denied")"))));
  EXPECT_THAT(ReadFile(cluster_.File("data/audit/failed.jsonl")).value_or(""),
              HasSubstr(R"("outcome":"permission_denied")"));
  ExpectDenied(ConcurAs("", {"sweep", "cancel", "s1"}), "--token-file");
  EXPECT_THAT(ReadFile(cluster_.File("data/audit/refused.jsonl")).value_or(""),
              AllOf(HasSubstr(R"("method":"CancelSweep")"), HasSubstr("unauthenticated")));
  EXPECT_THAT(calls, Not(HasSubstr(std::string(absl::StripAsciiWhitespace(*ReadFile(ada))))));
}

TEST_F(SecurityTest, AWorkersTokenRunsJobsAndTheJobsDoNotSeeIt) {
  cluster_.StartCoordinator();
  const std::string token = Token("w", "worker");
  setenv("CONCUR_TOKEN", "concur_of_another", 1);  // NOLINT(concurrency-mt-unsafe)
  cluster_.StartWorker("w1", 2, {"--token-file", token});
  unsetenv("CONCUR_TOKEN");  // NOLINT(concurrency-mt-unsafe)
  const Output run = cluster_.RunSweep("sweep.yaml");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const Output log = cluster_.Concur({"job", "logs", "s1/0"});
  EXPECT_THAT(log.out, AllOf(HasSubstr("CONCUR_JOB="), Not(HasSubstr("TOKEN")),
                             Not(HasSubstr("concur_of_another"))));
  EXPECT_THAT(ReadFile(cluster_.File("data/audit/calls.jsonl")).value_or(""),
              HasSubstr(R"("method":"Sync","target":"w1, incarnation)"));
}

TEST_F(SecurityTest, AWorkerWithoutAGoodTokenSaysSoAndWaits) {
  cluster_.StartCoordinator();
  const std::string viewer = Token("eve", "viewer");
  cluster_.StartWorker("w1", 2, {"--token-file", viewer});
  EXPECT_TRUE(Eventually([&] {
    return ReadFile(cluster_.File("logs/worker-w1.err")).value_or("").find("asks for worker") !=
           std::string::npos;
  }));
  // Its token is renewed in place, and it joins.
  const std::string good = Token("w", "worker");
  ASSERT_OK(WriteFileAtomically(viewer, *ReadFile(good), 0600));
  EXPECT_EQ(cluster_.RunSweep("sweep.yaml").exit_code, 0);
}

TEST_F(SecurityTest, MutualTlsFromSubmissionToScore) {
  MakeCertificates("tls");
  MakeCertificates("other");
  const auto tls = [&](const std::string& name) { return cluster_.File("tls/" + name); };
  cluster_.StartCoordinator({"--tls-certificate", tls("server.pem"), "--tls-key", tls("server.key"),
                             "--tls-client-ca", tls("ca.pem")});
  ExpectDenied(ConcurAs(cluster_.File("data/token"), {"sweep", "list"}), "speaks TLS");
  // The coordinator's own user finds its CA, and a certificate.
  EXPECT_EQ(cluster_.Concur({"sweep", "list"}).exit_code, 0);
  ExpectDenied(cluster_.Concur({"--ca", cluster_.File("other/ca.pem"), "sweep", "list"}),
               "the CA of --ca did not sign");
  ExpectDenied(cluster_.Concur({"--ca", tls("ca.pem"), "sweep", "list"}),
               "asks for a certificate of the client");
  cluster_.StartWorker(
      "w1", 2,
      {"--ca", tls("ca.pem"), "--certificate", tls("client.pem"), "--key", tls("client.key")});
  const Output run = cluster_.Concur({"--ca", tls("ca.pem"), "--certificate", tls("client.pem"),
                                      "--key", tls("client.key"), "sweep", "submit",
                                      cluster_.File("sweep.yaml"), "--wait"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(ReadFile(cluster_.File("data/audit/calls.jsonl")).value_or(""),
              HasSubstr(R"("certificate":"concur-client")"));
}

TEST_F(SecurityTest, ListeningBeyondThisMachineNeedsTlsOrTheUglyFlag) {
  const Output refused = Admin({"--listen", "0.0.0.0:0"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("asks for TLS"), HasSubstr("init-tls")));
  cluster_.StartCoordinator({"--insecure-listen-without-authentication"});
  EXPECT_EQ(ConcurAs("", {"sweep", "list"}).exit_code, 0);
}

}  // namespace
}  // namespace concur::testing
