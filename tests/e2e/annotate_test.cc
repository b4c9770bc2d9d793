// SPDX-License-Identifier: Apache-2.0
// `concur annotate` as a process: its mistakes, a restart, an orderly end; and systems that answer
// on workers. Annotators drive its page in scripts/test-page annotate.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "cli/programs/concur_annotate/remote_system.h"
#include "tests/e2e/cluster.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace concur::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kTrainData[] =
    "{\"context\": \"Ada lives in Bern.\", \"qas\": [{\"qid\": \"1\", \"question\": \"Who?\", "
    "\"answers\": [\"Ada\"]}]}\n";

class AnnotateTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Write("passages.jsonl", "{\"id\": \"a\", \"text\": \"Ada lives in Bern.\"}\n");
    Write("train.jsonl", kTrainData);
    Write("approach.yaml",
          "apiVersion: concur/v1\nkind: Approach\nmetadata: {name: span}\nspec:\n  version: 1\n"
          "  predict: {command: [concur-qa, predict, \"--data={test}\"]}\n"
          "  serve: {command: [concur-qa, serve, \"--model={model}\"]}\n");
  }
  void Write(const std::string& name, const std::string& text) const {
    ASSERT_OK(WriteFileAtomically(dir_.File(name), text));
  }
  std::vector<std::string> Command(const std::vector<std::string>& more) const {
    std::vector<std::string> argv = {Cluster::Binary("concur"), "annotate"};
    argv.insert(argv.end(), more.begin(), more.end());
    return argv;
  }
  std::vector<std::string> Serving(std::vector<std::string> more) const {
    const std::vector<std::string> common = {
        "--dir",      dir_.File("room"),           "--listen", "127.0.0.1:0",
        "--passages", dir_.File("passages.jsonl"), "-o",       "json"};
    more.insert(more.end(), common.begin(), common.end());
    return Command(more);
  }
  Output Run(const std::vector<std::string>& argv) const {
    return Cluster::Run(argv, dir_.File("run"));
  }
  // Serves until it has printed its links; what it printed.
  nlohmann::json Serve(const std::vector<std::string>& more) {
    const std::string log = dir_.File(absl::StrCat("log", ++starts_));
    process_ = std::make_unique<Process>(Serving(more), log);
    nlohmann::json printed = nlohmann::json::object();
    EXPECT_TRUE(Eventually([&] {
      const nlohmann::json read =
          nlohmann::json::parse(ReadFile(log + ".out").value_or(""), nullptr, false);
      if (read.is_object()) {
        printed = read;
      }
      return read.is_object();
    }));
    return printed;
  }
  int Stop() {
    process_->Signal(SIGINT);
    return process_->Wait();
  }

  TempDir dir_;
  std::unique_ptr<Process> process_;
  int starts_ = 0;
};

TEST_F(AnnotateTest, MistakesAreNamedWithTheirOption) {
  const auto refused = [&](int exit_code, const std::vector<std::string>& argv,
                           const std::string& part) {
    const Output output = Run(argv);
    EXPECT_EQ(output.exit_code, exit_code) << output.err;
    EXPECT_THAT(output.err, HasSubstr(part));
  };
  refused(2, Command({"--dir", dir_.File("none"), "--system", "none", "--listen", "127.0.0.1:0"}),
          "--passages: expected");
  refused(2, Serving({}), "--system: expected");
  refused(2, Serving({"--system", dir_.File("train.jsonl")}), "--approach: expected");
  refused(2, Serving({"--system", "none", "--annotator", "two words"}), "annotator: expected");
  const std::vector<std::string> trained = {"--system", dir_.File("train.jsonl"), "--approach",
                                            dir_.File("approach.yaml")};
  const auto with = [&](const std::string& option, const std::string& value) {
    std::vector<std::string> more = trained;
    more.insert(more.end(), {option, value});
    return Serving(more);
  };
  refused(2, with("--memory", "much"), "--memory: expected");
  refused(2, with("--sandbox", "chroot"), "--sandbox: expected auto");
  refused(2, Serving({"--system", "none", "--win-above", "40"}), "settings: expected fractions");
  refused(3, Serving({"--system", "none", "--new-link", "nobody"}), "no annotator nobody");
  refused(2,
          Command({"--dir", dir_.File("room"), "--passages", dir_.File("passages.jsonl"),
                   "--system", "none", "--listen", "0.0.0.0:0"}),
          "--listen: expected");
  // A file that is no model: the system is tried before anybody is let in.
  refused(4, Serving(trained), "exit code 78");
  EXPECT_THAT(ReadFile(dir_.File("room/system.log")).value(), HasSubstr("expected a model file"));
  // None of these has made a room, whose settings would stay.
  refused(3, Command({"status", dir_.File("room")}), "no room here");
  Serve({"--system", "none"});
  EXPECT_EQ(Stop(), 0);
  refused(4, Serving({"--system", "none", "--validators", "3"}), "keeps the settings");
  refused(4, Command({"export", dir_.File("room"), "--out", dir_.File("out")}), "at least 3");
}

TEST_F(AnnotateTest, ARestartGoesOnWithTheSamePeopleAndEndsInOrder) {
  const Output trained =
      Run({Cluster::Binary("concur-qa"), "train", "--approach=random-span",
           "--train=" + dir_.File("train.jsonl"), "--model=" + dir_.File("model")});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  const std::vector<std::string> more = {"--system",    dir_.File("model"),
                                         "--approach",  dir_.File("approach.yaml"),
                                         "--annotator", "ada"};
  const nlohmann::json first = Serve(more);
  ASSERT_EQ(first["links"].size(), 1u);
  EXPECT_EQ(first["links"][0]["annotator"], "ada");
  const Output second = Run(Serving(more));
  EXPECT_EQ(second.exit_code, 4);
  EXPECT_THAT(second.err, HasSubstr("has this room open"));
  EXPECT_EQ(Stop(), 0);

  const nlohmann::json again = Serve(more);
  EXPECT_TRUE(again["links"].empty()) << "ada has had a link";
  EXPECT_EQ(Stop(), 0);
  const Output status = Run(Command({"status", dir_.File("room"), "-o", "csv"}));
  EXPECT_EQ(status.exit_code, 0) << status.err;
  EXPECT_THAT(status.out, HasSubstr("\nada,yes,0,0,0,0,"));
}

// --- on a worker ---------------------------------------------------------------------------------

// A system that says on which machine it is: $WHERE of its worker, as the answer.
constexpr char kTellingApproach[] = R"(apiVersion: concur/v1
kind: Approach
metadata: {name: telling}
spec:
  version: "1"
  train: {command: [/bin/sh, -c, "echo trained > {model}; : {train}"]}
  predict:
    command: [/bin/sh, -c, "printf '{{\"accuracy\": 0.5}}' > {metrics}; : {model} {test}"]
    resources: {cpus: 1, memory: 256MiB}
  serve: {command: [/bin/sh, "SCRIPT", "{model}"]}
)";
constexpr char kTellingScript[] = R"sh(
echo $$ >> "$PIDS"
while read -r line; do
  id=${line#*:}; id=${id%%,*}
  case $line in
    *hang*) if mkdir "$PIDS.hung" 2> /dev/null; then kill -STOP $$; fi;;
    *hog*) x=$(head -c 600000000 /dev/zero | tr '\0' x);;
    *endless*) cat /dev/zero;;
    *binary*) head -c 100000 /dev/urandom; echo;;
  esac
  printf '{"id":%s,"answer":"%s on %s"}\n' "$id" "$(cat "$1")" "$WHERE"
done
)sh";
constexpr char kTellingSweep[] = R"(apiVersion: concur/v1
kind: Sweep
metadata: {name: telling}
spec:
  approaches: [approach.yaml]
  benchmarks:
    - metadata: {name: task}
      spec: {format: file, train: set.txt, test: set.txt, metric: accuracy}
)";

class ServedElsewhereTest : public ::testing::Test {
 protected:
  void SetUp() override {
    cluster_.Write("set.txt", "x\n");
    cluster_.Write("serve.sh", kTellingScript);
    cluster_.Write("approach.yaml",
                   absl::StrReplaceAll(kTellingApproach, {{"SCRIPT", cluster_.File("serve.sh")}}));
    cluster_.Write("sweep.yaml", kTellingSweep);
    cluster_.StartCoordinator();
  }
  void StartWorker(const std::string& name,
                   const std::vector<std::string>& more = {"--serve-systems", "1"}) {
    cluster_.SetWorkerEnvironment({{"WHERE", name}, {"PIDS", cluster_.File("pids-" + name)}});
    std::vector<std::string> arguments = {"--env-pass", "WHERE", "--env-pass", "PIDS"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    cluster_.StartWorker(name, 2, arguments);
  }
  // Asks the system of s1/0 on a worker; each call is one conversation.
  std::unique_ptr<cli::RemoteSystem> Open(const rpc::CredentialFiles& credentials = {}) {
    return cli::RemoteSystem::Open({.address = cluster_.server(),
                                    .credentials = credentials,
                                    .job = "s1/0",
                                    .command = {"/bin/sh", cluster_.File("serve.sh"), "{model}"},
                                    .answer_max = absl::Seconds(30),
                                    .on_change = nullptr})
        .value();
  }
  std::vector<pid_t> PidsOn(const std::string& worker) const {
    std::vector<pid_t> pids;
    const std::string text = ReadFile(cluster_.File("pids-" + worker)).value_or("");
    for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
      int pid = 0;
      EXPECT_TRUE(absl::SimpleAtoi(line, &pid));
      pids.push_back(pid);
    }
    return pids;
  }
  static bool IsDead(pid_t pid) {
    return kill(pid, 0) != 0 ||
           absl::StrContains(ReadFile(absl::StrCat("/proc/", pid, "/stat")).value_or(") Z "),
                             ") Z ");
  }

  // Workers on which a system answers now.
  std::string Serving() const {
    const auto workers = nlohmann::json::parse(
        cluster_.Concur({"worker", "list", "-o", "json"}).out, nullptr, /*allow_exceptions=*/false);
    std::vector<std::string> names;
    for (const auto& worker : workers) {
      if (!worker["serving"].empty()) {
        names.push_back(worker["name"]);
      }
    }
    return absl::StrJoin(names, " ");
  }

  Cluster cluster_;
};

TEST_F(ServedElsewhereTest, ASystemAnswersOnTheWorkerAndAnotherTakesOver) {
  StartWorker("a");
  ASSERT_EQ(cluster_.RunSweep("sweep.yaml").exit_code, 0);
  const auto system = Open();
  EXPECT_EQ(system->AnswerAtLast("A passage.", "Who?").value_or(""), "trained on a");
  EXPECT_TRUE(Eventually([&] { return system->Standing().empty(); })) << "said after the answer";
  EXPECT_EQ(Serving(), "a");

  // Killed while it answers: the question is asked again on the other one.
  StartWorker("b");
  std::thread asks([&] {
    EXPECT_EQ(system->AnswerAtLast("A passage.", "hang once?").value_or(""), "trained on b");
  });
  EXPECT_TRUE(Eventually([&] { return std::filesystem::exists(cluster_.File("pids-a.hung")); }));
  // The other worker has its own file: it hangs only where this one is not there.
  std::filesystem::create_directory(cluster_.File("pids-b.hung"));
  cluster_.KillWorker("a", SIGKILL);
  asks.join();
  EXPECT_TRUE(Eventually([&] { return IsDead(PidsOn("a").front()); }));

  // A drained worker hands it on.
  StartWorker("c");
  EXPECT_TRUE(Eventually([&] {
    return absl::StrContains(cluster_.Concur({"worker", "list", "-o", "json"}).out, "\"c\"");
  }));
  EXPECT_EQ(cluster_.Concur({"worker", "drain", "b"}).exit_code, 0);
  EXPECT_TRUE(Eventually(
      [&] { return system->Answer("A passage.", "Who?").value_or("") == "trained on c"; }));
  EXPECT_TRUE(Eventually([&] { return IsDead(PidsOn("b").back()); }));
}

TEST_F(ServedElsewhereTest, ASystemThatBreaksItsLimitsHurtsNobody) {
  StartWorker("a");
  ASSERT_EQ(cluster_.RunSweep("sweep.yaml").exit_code, 0);
  const auto system = Open();
  EXPECT_OK(system->AnswerAtLast("A passage.", "Who?"));
  const auto fails = [&](const std::string& question, const std::string& why) {
    EXPECT_THAT(system->Answer("A passage.", question),
                StatusIs(absl::StatusCode::kUnavailable, HasSubstr(why)));
    // It is started again.
    EXPECT_TRUE(Eventually([&] { return system->Answer("A passage.", "Who?").ok(); }));
  };
  fails("hog?", "memory");
  fails("endless?", "line of more than");
  fails("binary?", "printed a line");
}

constexpr char kSpanSweep[] = R"(apiVersion: concur/v1
kind: Sweep
metadata: {name: span}
spec:
  approaches: [span.yaml]
  benchmarks:
    - metadata: {name: task}
      spec: {train: train.jsonl, test: train.jsonl}
)";
constexpr char kSpanApproach[] = R"(apiVersion: concur/v1
kind: Approach
metadata: {name: span}
spec:
  version: "1"
  train: {command: [concur-qa, train, --approach=random-span, "--train={train}", "--model={model}"]}
  predict: {command: [concur-qa, predict, "--model={model}", "--data={test}", "--predictions={predictions}"]}
  serve: {command: [concur-qa, serve, "--model={model}"]}
)";

TEST_F(ServedElsewhereTest, AnnotateUsesAWorkerThatServesElseThisMachine) {
  cluster_.Write("passages.jsonl", "{\"id\": \"a\", \"text\": \"Ada lives in Bern.\"}\n");
  cluster_.Write("train.jsonl", kTrainData);
  cluster_.Write("span.yaml", kSpanApproach);
  cluster_.Write("span-sweep.yaml", kSpanSweep);
  StartWorker("none", {});  // none serves unless it is told to
  const Output trained = cluster_.RunSweep("span-sweep.yaml");
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  int run = 0;
  // What it prints on standard error until it serves; then it is killed.
  const auto serve = [&](const std::string& where, const std::string& serving) {
    const std::string log = cluster_.File(absl::StrCat("annotate", ++run));
    const Process process({Cluster::Binary("concur"), "--server", cluster_.server(), "annotate",
                           "--dir", cluster_.File(absl::StrCat("room", run)), "--listen",
                           "127.0.0.1:0", "--passages", cluster_.File("passages.jsonl"), "--system",
                           "s1/0", "--approach", cluster_.File("span.yaml"), "--system-on", where},
                          log);
    EXPECT_TRUE(Eventually([&] {
      return absl::StrContains(ReadFile(log + ".out").value_or(""), "127.0.0.1");
    })) << ReadFile(log + ".err").value_or("");
    EXPECT_EQ(Serving(), serving);
    return ReadFile(log + ".err").value_or("");
  };
  EXPECT_THAT(serve("auto", ""), HasSubstr("the system answers on this machine: no worker"));
  StartWorker("a");
  EXPECT_THAT(serve("worker", "a"), HasSubstr("the system answers on a"));
  EXPECT_TRUE(Eventually([&] { return Serving().empty(); })) << "its room is gone";
  EXPECT_THAT(serve("auto", "a"), HasSubstr("the system answers on a"));
  EXPECT_TRUE(Eventually([&] { return Serving().empty(); })) << "its room is gone";
  EXPECT_THAT(serve("here", ""), Not(HasSubstr("answers on")));
}

TEST_F(ServedElsewhereTest, OneThatWaitsForAWorkerEndsWhenItIsCanceled) {
  StartWorker("none", {});
  ASSERT_EQ(cluster_.RunSweep("sweep.yaml").exit_code, 0);
  const auto system = Open();
  EXPECT_EQ(system->CountPlaces().value_or(7), 0u);
  EXPECT_FALSE(system->AwaitWorker(absl::InfiniteDuration())) << "there is no place for it";
  std::thread cancels([&system] { system->Cancel(); });
  EXPECT_THAT(system->AnswerAtLast("A passage.", "Who?"),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("is being closed")));
  cancels.join();
}

TEST_F(ServedElsewhereTest, WhoMayNotHaveItAnsweredIsToldSo) {
  StartWorker("a");
  ASSERT_EQ(cluster_.RunSweep("sweep.yaml").exit_code, 0);
  for (const auto& [role, why] : std::vector<std::pair<std::string, std::string>>{
           {"viewer", "asks for submitter"}, {"submitter", "s1/0 belongs to"}}) {
    const std::string token = cluster_.File(role);
    const Output made = Cluster::Run(
        {Cluster::Binary("concur-coordinator"), "--data-dir", cluster_.File("data"), "token",
         "create", "--user", "eve", "--role", role, "--expires-in", "1h", "--out", token},
        cluster_.File("admin"));
    ASSERT_EQ(made.exit_code, 0) << made.err;
    rpc::CredentialFiles files;
    files.token = token;
    const auto system = Open(files);
    EXPECT_THAT(system->CountPlaces().status(),
                StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr(why)));
    EXPECT_THAT(system->Answer("A passage.", "Who?"),
                StatusIs(absl::StatusCode::kUnavailable, HasSubstr(why)));
  }
}

}  // namespace
}  // namespace concur::testing
