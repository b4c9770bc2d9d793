// SPDX-License-Identifier: Apache-2.0
// `concur annotate` as a process: its mistakes, a restart, an orderly end, a train job's system.
// Annotators drive its page in scripts/test-page annotate.
#include <signal.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "tests/e2e/cluster.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

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
  refused(2, with("--system", dir_.File("train.jsonl")), "another one's copy");
  refused(2, with("--approach", dir_.File("approach.yaml")), "--approach: expected");
  refused(2, with("--reviewer", "two words"), "annotator: expected");
  refused(2, Serving({"--system", "none", "--held-out", "2"}), "settings: expected fractions");
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
  const Output status =
      Run(Command({"status", dir_.File("room"), "-o", "csv", "--pay-question", "0.5"}));
  EXPECT_EQ(status.exit_code, 0) << status.err;
  EXPECT_THAT(status.out, HasSubstr("\nada,yes,0,0,0,0,"));
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

TEST_F(AnnotateTest, ATrainJobsSystemIsFetchedAndAnswersHere) {
  Cluster cluster;
  cluster.Write("train.jsonl", kTrainData);
  cluster.Write("span.yaml", kSpanApproach);
  cluster.Write("sweep.yaml", kSpanSweep);
  cluster.StartCoordinator();
  cluster.StartWorker("w", 2);
  const Output trained = cluster.RunSweep("sweep.yaml");
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  std::vector<std::string> more = {"--server", cluster.server(), "--system",
                                   "s1/0",     "--approach",     cluster.File("span.yaml")};
  EXPECT_FALSE(Serve(more).empty()) << "it has answered";
  EXPECT_EQ(Stop(), 0);
  // As command lines said when there was another place.
  more.insert(more.end(), {"--system-on", "here"});
  EXPECT_FALSE(Serve(more).empty());
  EXPECT_EQ(Stop(), 0);
  more.back() = "worker";
  const Output refused = Run(Serving(more));
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("--system-on: expected here, as systems answer on this"));
}

}  // namespace
}  // namespace concur::testing
