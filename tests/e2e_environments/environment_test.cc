// SPDX-License-Identifier: Apache-2.0
// Sweeps whose approaches need environments that exclude one another, on a worker under bubblewrap
// and one under Podman, as far as these work here. Exits with 77 where neither does.
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/digest.h"
#include "base/file.h"
#include "tests/e2e/cluster.h"
#include "tests/e2e_environments/three_systems.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

constexpr char kBusybox[] = "/bin/busybox";
constexpr char kNeeds[] =
    "needs busybox, and bubblewrap or Podman that work here: scripts/packages/environments.txt";

// Acts that a job in a root must not be able to do: it fails if a line is printed, or if the root
// lacks a program that tries.
constexpr char kEscapes[] =
    "for each in env grep mkdir mount touch; do command -v $each; done; "
    "mkdir $TMPDIR/mounted; "
    "(set +e; test -e DIRECTORY/secret && echo reads the machine; "
    "test -e DIRECTORY/data/token && echo reads the credentials; "
    "kill -0 PROCESS && echo reaches processes outside; "
    "touch /bin/new && echo writes the root; "
    "mount -t tmpfs none $TMPDIR/mounted && echo mounts; "
    "env | grep -i concur_token; true) > $TMPDIR/escapes; "
    "cat $TMPDIR/escapes; test ! -s $TMPDIR/escapes; ";

bool AnyProcessWith(const std::string& argument) {
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", none)) {
    const std::string line = ReadFile(entry.path() / "cmdline").value_or("");
    if (absl::StrContains(absl::StrReplaceAll(line, {{absl::string_view("\0", 1), " "}}),
                          absl::StrCat("sleep ", argument))) {
      return true;
    }
  }
  return false;
}

// Ways to change the file $t, which is behind the input $f. LINKS is outside of the sandboxes.
constexpr const char* kChanges[] = {"printf X | dd of=\"$t\" conv=notrunc",
                                    "echo X >> \"$t\"",
                                    ": > \"$t\"",
                                    "rm -f \"$t\"",
                                    "echo X > x; chmod 400 x; mv -f x \"$t\"",
                                    "echo X > x; ln -sf \"$PWD/x\" \"$t\"",
                                    "ln \"$t\" LINKS/of-$$-$(basename \"$t\")"};
constexpr char kEachInput[] =
    "find -L \"$@\" -type f | while read f; do t=$(readlink -f \"$f\"); "
    "chmod u+w \"$t\" \"$(dirname \"$t\")\"; CHANGE; done 2> changes; ";
constexpr char kHashInputs[] =
    "find -L \"$@\" -type f | while read f; do sha256sum < \"$f\"; done | sort; ";

constexpr char kNeighboursSweep[] = R"(apiVersion: concur/v1
kind: Sweep
metadata: {name: neighbours}
spec:
  approaches: [APPROACHES]
  benchmarks:
    - metadata: {name: task}
      spec: {format: file, train: train.txt, test: task.txt, metric: accuracy}
  seeds: {from: 1, to: SEEDS}
  retry: {failures_max: 1, lost_max: 3, backoff_min: 10ms, backoff_max: 100ms}
)";
constexpr char kNeighbour[] = R"(ENVIRONMENT  code: [code]
  train:
    command: [sh, -c, 'm=$1; shift; TRAIN echo system > $m', sh, "{model}", "{train}", "{code}"]
  predict:
    command: [sh, -c, 'm=$1; shift; PREDICT echo "{{\"accuracy\": 0.5}}" > $m', sh, "{metrics}",
              "{test}", "{model}", "{code}"]
)";

class EnvironmentTest : public ::testing::Test {
 protected:
  void SetUp() override {
    cluster_.Write("task.txt", "x");
    cluster_.StartCoordinator();
    // The worker's credentials, which no job may have.
    const std::string token = cluster_.File("data/token");
    ASSERT_TRUE(std::filesystem::exists(token));
    cluster_.SetWorkerEnvironment(
        {{"CONCUR_TOKEN_FILE", token}, {"CONCUR_TOKEN", ReadFile(token).value_or("")}});
  }
  void WriteSweep(const std::string& approaches) { WriteSeeds(cluster_, approaches, 3); }
  void StartWorkerWith(const std::string& name, const std::string& kinds) {
    cluster_.Write("worker.yaml",
                   "apiVersion: concur/v1\nkind: WorkerOptions\nspec: {stop_grace: 500ms}\n");
    cluster_.StartWorker(
        name, 2,
        {"--environments", kinds, "--environment-dir", cluster_.File("environments-" + name),
         "--options", cluster_.File("worker.yaml")});
  }
  // Starts one; whether its sandbox works on this machine.
  bool StartSandbox(const std::string& name, const std::string& sandbox) {
    StartWorkerWith(name, sandbox + ",venv");
    std::string row;
    Eventually([&] {
      for (absl::string_view line :
           absl::StrSplit(cluster_.Concur({"-o", "csv", "worker", "list"}).out, '\n')) {
        row = absl::StartsWith(line, name + ",") ? std::string(line) : row;
      }
      return !row.empty();
    });
    return absl::StrContains(row, sandbox);
  }
  // Starts a worker for each sandbox that works here; their names and sandboxes.
  std::map<std::string, std::string> StartSandboxes() {
    std::map<std::string, std::string> started;
    const std::map<std::string, std::string> all = {{"w1", "bubblewrap"}, {"w2", "podman"}};
    for (const auto& [name, sandbox] : all) {
      if (StartSandbox(name, sandbox)) {
        started[name] = sandbox;
      } else {
        cluster_.KillWorker(name, SIGTERM);
        std::cerr << "tested without " << sandbox << ", which does not work here\n";
      }
    }
    return std::filesystem::exists(kBusybox) ? started : std::map<std::string, std::string>();
  }

  // A root with busybox and a number.
  void MakeRoot(const std::string& name) {
    const std::string root = cluster_.File(name);
    ASSERT_TRUE(MakeDirectories(root + "/bin").ok());
    std::filesystem::copy_file(kBusybox, root + "/bin/busybox");
    for (const char* applet : {"sh", "cat", "chmod", "dd", "dirname", "find", "ln", "mv",
                               "readlink", "rm", "sha256sum", "sort", "test"}) {
      std::filesystem::create_symlink("busybox", absl::StrCat(root, "/bin/", applet));
    }
    cluster_.Write(name + "/number", "0.5");
    ASSERT_TRUE(Works(cluster_, {"tar", "-C", root, "-czf", cluster_.File(name + ".tar.gz"), "."}));
  }
  // The same root as an OCI archive, as tools write it.
  void MakeImage(const std::string& name) {
    MakeRoot(name);
    const std::string layout = cluster_.File(name + "-layout");
    ASSERT_TRUE(MakeDirectories(layout + "/blobs/sha256").ok());
    const auto add = [&](const std::string& contents) {
      const std::string digits = Sha256Of(contents).ToHex();
      cluster_.Write(absl::StrCat(name, "-layout/blobs/sha256/", digits), contents);
      return absl::StrCat(R"({"digest": "sha256:)", digits, R"("})");
    };
    const std::string layer = add(ReadFile(cluster_.File(name + ".tar.gz")).value_or(""));
    const std::string config = add(R"({"config": {"Env": ["PATH=/bin", "OF_IMAGE=yes"]}})");
    const std::string manifest =
        add(absl::StrCat(R"({"config": )", config, R"(, "layers": [)", layer, "]}"));
    cluster_.Write(name + "-layout/index.json", absl::StrCat(R"({"manifests": [)", manifest, "]}"));
    ASSERT_TRUE(
        Works(cluster_, {"tar", "-C", layout, "-cf", cluster_.File(name + "-image.tar"), "."}));
  }
  void ExpectKillsAndLimits(const std::string& worker, const std::vector<std::string>& roots);

  // An approach whose train and eval jobs run such scripts over all that they are given.
  void WriteNeighbour(const std::string& name, const std::string& environment,
                      const std::string& train, const std::string& predict) {
    WriteApproach(
        cluster_, name,
        absl::StrReplaceAll(
            kNeighbour, {{"ENVIRONMENT", environment}, {"TRAIN", train}, {"PREDICT", predict}}));
  }
  void WriteNeighbours(const std::vector<std::string>& approaches, int seeds) {
    cluster_.Write(
        "sweep.yaml",
        absl::StrReplaceAll(kNeighboursSweep, {{"APPROACHES", absl::StrJoin(approaches, ", ")},
                                               {"SEEDS", absl::StrCat(seeds)}}));
  }
  // The digests that the train and the eval job of the last seed print of all that they are given.
  std::string DigestsThatJobsRead(const std::string& kind, const std::string& environment,
                                  int seeds) {
    WriteNeighbour(kind, environment, kHashInputs, kHashInputs);
    WriteNeighbours({kind + ".yaml"}, seeds);
    const nlohmann::json sweep = nlohmann::json::parse(Submit(), nullptr, false);
    const std::string id = sweep.value("id", "");
    std::string digests;
    for (int job = 2 * seeds - 2; job < 2 * seeds; ++job) {
      absl::StrAppend(&digests, cluster_.Concur({"job", "logs", absl::StrCat(id, "/", job)}).out);
    }
    return digests;
  }
  // Each way of changing inputs in a train and in an eval job of another owner.
  Output Attack(const std::string& kind, const std::string& environment, const std::string& worker);

  std::string Submit() {
    const Output output =
        cluster_.Concur({"-o", "json", "sweep", "submit", "--wait", cluster_.File("sweep.yaml")});
    EXPECT_EQ(output.exit_code, 0)
        << output.out << output.err << cluster_.Concur({"sweep", "failures", "s1"}).out;
    return output.out;
  }

  Cluster cluster_;
};

TEST_F(EnvironmentTest, AnImageRunsOnEachSandboxAndWhatItWasMadeFromDecides) {
  if (StartSandboxes().empty()) {
    GTEST_SKIP() << kNeeds;
  }
  ASSERT_NO_FATAL_FAILURE(MakeImage("second"));
  const auto write = [&](const std::string& setup) {
    WriteApproach(cluster_, "image",
                  absl::StrCat(R"(  environment:
    image: second-image.tar
    setup: ["echo )",
                               setup, R"( > /setup"]
  predict:
    command: [sh, -euc, 'test $OF_IMAGE = yes; cat /setup; echo "{{\"accuracy\": $(cat /number)}}" > {metrics}']
)"));
  };
  write("done");
  WriteSweep("image.yaml");
  EXPECT_THAT(Submit(), HasSubstr("\"reused\": 0"));
  EXPECT_THAT(cluster_.Concur({"-o", "csv", "scores", "s1"}).out, HasSubstr("0.5"));

  EXPECT_THAT(Submit(), HasSubstr("\"reused\": 3"));
  write("other");
  EXPECT_THAT(Submit(), HasSubstr("\"reused\": 0"));
  EXPECT_THAT(cluster_.Concur({"job", "explain", "s3/0"}).out,
              AllOf(HasSubstr("differs in environment"), HasSubstr("echo other")));
}

// In each root on `worker`, the only one: a canceled job leaves no process, though it ignores
// signals and detaches, and one that takes more memory than it asked for ends as such.
void EnvironmentTest::ExpectKillsAndLimits(const std::string& worker,
                                           const std::vector<std::string>& roots) {
  for (const std::string& root : roots) {
    SCOPED_TRACE(absl::StrCat(root, " on ", worker));
    const std::string mark = absl::StrCat(8'000'000 + getpid());
    WriteApproach(cluster_, "stubborn",
                  InRoot(root, absl::StrCat("trap \"\" TERM; (setsid sleep ", mark, "1 &); sleep ",
                                            mark, "2; : {metrics} ", worker)));
    WriteSeeds(cluster_, "stubborn.yaml", 1);
    EXPECT_EQ(cluster_.Concur({"sweep", "submit", cluster_.File("sweep.yaml")}).exit_code, 0);
    ASSERT_TRUE(
        Eventually([&] { return AnyProcessWith(mark + "1") && AnyProcessWith(mark + "2"); }));
    EXPECT_EQ(cluster_.Concur({"sweep", "cancel", "environments"}).exit_code, 0);
    EXPECT_TRUE(Eventually([&] { return !AnyProcessWith(mark); })) << "a process lives on";

    WriteApproach(
        cluster_, "greedy",
        InRoot(root, absl::StrCat("x=$(head -c 400000000 /dev/zero | tr \"\\0\" x); sleep ", mark,
                                  "3; : {metrics} ", worker)) +
            "  resources: {cpus: 1, memory: 96MiB}\n  timeout: {predict: 60s}\n");
    WriteSeeds(cluster_, "greedy.yaml", 1);
    cluster_.Concur({"sweep", "submit", "--wait", cluster_.File("sweep.yaml")});
    const std::string failures = cluster_.Concur({"sweep", "failures", "environments"}).out;
    EXPECT_THAT(failures, HasSubstr("oom"));
  }
}

// Python 3.11 with a package, Debian 11 and a system of busybox alone: none has what another needs.
TEST_F(EnvironmentTest, OneSweepOfThreeSystemsOnTwoSandboxesSharesResultsAndContainsItsJobs) {
  const std::map<std::string, std::string> sandboxes = StartSandboxes();
  if (sandboxes.empty()) {
    GTEST_SKIP() << kNeeds;
  }
  cluster_.Write("secret", "of the machine");
  const std::string escapes = absl::StrReplaceAll(
      kEscapes, {{"DIRECTORY", cluster_.dir().path()}, {"PROCESS", absl::StrCat(getpid())}});
  const ThreeSystems systems = WriteThreeSystems(cluster_, escapes);
  for (const std::string& missing : systems.missing) {
    std::cerr << "tested without " << missing << "\n";
  }
  const std::string approaches = absl::StrJoin(systems.approaches, ", ");
  int seeds = 2;
  WriteSeeds(cluster_, approaches, seeds);
  EXPECT_THAT(Submit(), HasSubstr("\"reused\": 0"));
  const std::string scores = cluster_.Concur({"-o", "csv", "scores", "s1"}).out;
  for (const std::string& number : systems.numbers) {
    EXPECT_THAT(scores, HasSubstr(number));
  }

  // Each worker alone: what the other computed counts for it, and what is new runs under its own
  // sandbox with equal scores.
  for (const auto& [worker, sandbox] : sandboxes) {
    cluster_.KillWorker(worker, SIGTERM);
  }
  for (const auto& [worker, sandbox] : sandboxes) {
    ASSERT_TRUE(StartSandbox(worker, sandbox));
    const size_t reused = systems.approaches.size() * static_cast<size_t>(seeds);
    seeds += 2;
    WriteSeeds(cluster_, approaches, seeds);
    EXPECT_THAT(Submit(), HasSubstr(absl::StrCat("\"reused\": ", reused, ",")));
    EXPECT_EQ(cluster_.Concur({"-o", "csv", "scores", "environments"}).out, scores);
    ExpectKillsAndLimits(worker, systems.roots);
    cluster_.KillWorker(worker, SIGTERM);
  }
}

Output EnvironmentTest::Attack(const std::string& kind, const std::string& environment,
                               const std::string& worker) {
  const std::string token = cluster_.File("mallory.token");
  if (!std::filesystem::exists(token)) {
    Cluster::Run({Cluster::Binary("concur-coordinator"), "--data-dir", cluster_.File("data"),
                  "token", "create", "--user", "mallory", "--role", "submitter", "--out", token},
                 cluster_.File("admin"));
  }
  std::vector<std::string> approaches;
  for (const char* change : kChanges) {
    const std::string script =
        absl::StrReplaceAll(kEachInput, {{"CHANGE", change}, {"LINKS", cluster_.File("links")}});
    for (const bool trains : {true, false}) {
      const std::string name = absl::StrCat("mallory-", worker, "-", kind, "-", approaches.size());
      WriteNeighbour(name, environment, trains ? script : "", trains ? "" : script);
      approaches.push_back(name + ".yaml");
    }
  }
  WriteNeighbours(approaches, 1);
  const Output output = Cluster::Run({Cluster::Binary("concur"), "--server", cluster_.server(),
                                      "sweep", "submit", "--wait", cluster_.File("sweep.yaml")},
                                     cluster_.File("mallory"), {{"CONCUR_TOKEN_FILE", token}});
  // A link that one of them left outside is a way for later ones.
  for (const auto& link : std::filesystem::directory_iterator(cluster_.File("links"))) {
    std::filesystem::permissions(link.path(), std::filesystem::perms::owner_all);
    std::ofstream(link.path(), std::ios::app) << "X";
  }
  return output;
}

// Another owner's jobs change in many ways all that they are given; what jobs read that get the
// same bytes is hashed before and after.
TEST_F(EnvironmentTest, WhatAJobDoesToItsInputsReachesNoOtherOwnersJob) {
  const std::map<std::string, std::string> sandboxes = StartSandboxes();
  if (sandboxes.empty()) {
    GTEST_SKIP() << kNeeds;
  }
  ASSERT_NO_FATAL_FAILURE(MakeImage("second"));
  ASSERT_TRUE(MakeDirectories(cluster_.File("code/inner")).ok());
  ASSERT_TRUE(MakeDirectories(cluster_.File("links")).ok());
  cluster_.Write("code/run.txt", "code\n");
  cluster_.Write("code/inner/more.txt", "more code\n");
  cluster_.Write("requirements.txt", "");
  cluster_.Write("train.txt", "to train with\n");
  std::map<std::string, std::string> kinds = {
      {"plain", ""},
      {"root", "  environment: {root: second.tar.gz}\n"},
      {"image", "  environment: {image: second-image.tar}\n"}};
  if (Works(cluster_, {"python3", "-c", "import venv, ensurepip"})) {
    kinds["venv"] = "  environment: {venv: requirements.txt}\n";
  }
  for (const auto& [worker, sandbox] : sandboxes) {
    cluster_.KillWorker(worker, SIGTERM);
  }
  int seeds = 0;
  for (const auto& [worker, sandbox] : sandboxes) {
    ASSERT_TRUE(StartSandbox(worker, sandbox));
    for (const auto& [kind, environment] : kinds) {
      SCOPED_TRACE(absl::StrCat(kind, " on ", worker));
      const bool contained = kind == "root" || kind == "image";
      const std::string before = DigestsThatJobsRead(kind, environment, ++seeds);
      EXPECT_THAT(before, HasSubstr(Sha256Of("more code\n").ToHex()));
      const Output attack = Attack(kind, environment, worker);
      EXPECT_EQ(attack.exit_code == 0, contained) << attack.out << attack.err;
      EXPECT_EQ(DigestsThatJobsRead(kind, environment, ++seeds), before);
    }
    cluster_.KillWorker(worker, SIGTERM);
  }
  cluster_.KillCoordinator(SIGTERM);
  const Output check = Cluster::Run(
      {Cluster::Binary("concur-coordinator"), "--data-dir", cluster_.File("data"), "check"},
      cluster_.File("check"));
  EXPECT_EQ(check.exit_code, 0) << check.out << check.err;
}

TEST_F(EnvironmentTest, AJobThatNoWorkerCanRunSaysSo) {
  ASSERT_TRUE(MakeDirectories(cluster_.File("empty/etc")).ok());
  ASSERT_TRUE(Works(
      cluster_, {"tar", "-C", cluster_.File("empty"), "-cf", cluster_.File("empty.tar"), "etc"}));
  WriteApproach(cluster_, "root", R"(  environment: {root: empty.tar}
  predict: {command: [sh, -c, "echo > {metrics}"]}
)");
  WriteSweep("root.yaml");
  StartWorkerWith("w1", "none");
  ASSERT_TRUE(Eventually([&] {
    return cluster_.Concur({"worker", "list"}).out.find("w1") != std::string::npos;
  }));
  const Output submitted = cluster_.Concur({"sweep", "submit", cluster_.File("sweep.yaml")});
  EXPECT_EQ(submitted.exit_code, 0);
  EXPECT_THAT(submitted.err, HasSubstr("no worker known now has"));
  EXPECT_THAT(cluster_.Concur({"job", "explain", "s1/0"}).out,
              AllOf(HasSubstr("environment.root"), HasSubstr("install bubblewrap")));
}

}  // namespace
}  // namespace concur::testing

// Where a test was skipped and none failed, ctest says so.
int main(int argc, char** argv) {
  ::testing::InitGoogleMock(&argc, argv);
  const int failed = RUN_ALL_TESTS();
  return failed == 0 && ::testing::UnitTest::GetInstance()->skipped_test_count() > 0 ? 77 : failed;
}
