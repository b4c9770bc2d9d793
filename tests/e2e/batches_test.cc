// SPDX-License-Identifier: Apache-2.0
// `sweep submit --until` and `bundle load` with real processes.
#include <signal.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/e2e/cluster.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

using nlohmann::json;

// Scores that follow from the names: benchmarks "one" and "two" rank approaches alike, "odd" does
// not. Every run leaves a line in RUNS.
constexpr char kApproach[] = R"(
    - metadata: {name: aNUMBER}
      spec:
        version: "1"
        predict: {command: [/bin/sh, -c, "echo aNUMBER >> DIR/runs; case $CONCUR_BENCHMARK in odd) s=ODD;; *) s=NUMBER;; esac; printf '{{\"acc\": %s}}' $s > {metrics}; : {test} {seed}"]})";
constexpr int kApproaches = 24;

constexpr char kStages[] = R"(apiVersion: concur/v1
kind: Sweep
metadata: {name: stages}
spec:
  approaches:
    - metadata: {name: a}
      spec:
        version: "1"
        train: {command: [t, "{train}", "{model}"]}
        predict: {command: [p, "{model}", "{metrics}"]}
    - metadata: {name: b}
      spec:
        version: "1"
        train_from: {approach: a, benchmark: same}
        train: {command: [t, "{train}", "{model}", "{start}"]}
        predict: {command: [p, "{model}", "{metrics}"]}
  benchmarks:
    - metadata: {name: x}
      spec: {format: file, train: study.yaml, test: study.yaml, metric: m}
)";

constexpr char kStopsEarly[] = R"(apiVersion: concur/v1
kind: Sweep
metadata: {name: stops}
spec:
  approaches:
    - metadata: {name: a}
      spec:
        version: "1"
        train: {command: [/bin/true, "{train}", "{model}"]}
        predict: {command: [/bin/true, "{model}", "{test}", "{metrics}"]}
        hyperparameters: {default: {q: 1}, space: {q: {choice: [2, 3]}}}
  benchmarks:
    - metadata: {name: b}
      spec: {format: file, train: one.txt, test: one.txt, metric: acc}
  settings: {random: 1}
  early_stop: {metric: acc, max: 9}
)";

class BatchesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string sweep =
        "apiVersion: concur/v1\nkind: Sweep\nmetadata: {name: study}\nspec:\n  approaches:";
    for (int i = 0; i < kApproaches; ++i) {
      absl::StrAppend(&sweep, absl::StrReplaceAll(kApproach, {{"NUMBER", absl::StrCat(i)},
                                                              {"ODD", absl::StrCat(i * 7 % 24)},
                                                              {"DIR", cluster_.dir().path()}}));
    }
    absl::StrAppend(&sweep, "\n  benchmarks:\n");
    for (const char* name : {"one", "two", "odd"}) {
      cluster_.Write(absl::StrCat(name, ".txt"), name);
      absl::StrAppend(&sweep, "    - metadata: {name: ", name,
                      "}\n      spec: {format: file, test: ", name, ".txt, metric: acc}\n");
    }
    cluster_.Write("study.yaml", sweep);
    cluster_.StartCoordinator();
  }

  size_t Runs() const {
    const Output lines =
        Cluster::Run({"/usr/bin/wc", "-l", cluster_.File("runs")}, cluster_.dir().path());
    return static_cast<size_t>(std::stoul("0" + lines.out));
  }
  Output SubmitUntil(const std::string& until) const {
    return cluster_.Concur(
        {"-o", "json", "sweep", "submit", cluster_.File("study.yaml"), "--until", until});
  }

  Cluster cluster_;
};

TEST_F(BatchesTest, ASweepRunsInBatchesUntilEnoughIsKnownAndGoesOnWhereItWas) {
  cluster_.StartWorker("w", 8);
  const Output first = SubmitUntil("tau ±0.8");
  ASSERT_EQ(first.exit_code, 0) << first.out << first.err;
  const json told = json::parse(first.out);
  EXPECT_TRUE(told["until"]["known"]);
  EXPECT_THAT(told["until"]["why"], HasSubstr("known to ± 0.8"));
  const size_t looks = told["until"]["looks"].size();
  const size_t cells = told["until"]["looks"].back()["cells"];
  EXPECT_LT(cells, 72u);
  size_t left_out = 0;
  for (const json& row : told["until"]["left_out"]) {
    left_out += row["benchmarks"].size();
  }
  EXPECT_EQ(left_out, 72 - cells);
  EXPECT_EQ(Runs(), cells) << "no cell ran twice";

  // The same again: the same sweeps.
  const Output again = SubmitUntil("tau ±0.8");
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(json::parse(again.out)["id"], told["id"]);
  EXPECT_EQ(json::parse(again.out)["until"], told["until"]);
  EXPECT_EQ(Runs(), cells);

  // To know more, it goes on; the whole table runs each cell once.
  const Output more = SubmitUntil("tau ±0.01");
  ASSERT_EQ(more.exit_code, 0) << more.err;
  const json whole = json::parse(more.out);
  EXPECT_FALSE(whole["until"]["known"]);
  EXPECT_THAT(whole["until"]["left_out"], SizeIs(0));
  EXPECT_GT(whole["until"]["looks"].size(), looks);
  EXPECT_EQ(Runs(), 72u);
  EXPECT_EQ(whole["until"]["looks"].back()["half_width"], 0);
}

// All state of --until is in the sweeps of its batches: whatever dies, the command goes on.
TEST_F(BatchesTest, ABatchOutlivesTheCommandAndTheCoordinator) {
  const auto sweeps = [this] {
    const Output list = cluster_.Concur({"-o", "json", "sweep", "list"});
    return list.exit_code == 0 ? json::parse(list.out).size() : 0;
  };
  {
    // No worker: the first batch waits. The command is killed when the block ends.
    const Process command({Cluster::Binary("concur"), "--server", cluster_.server(), "sweep",
                           "submit", cluster_.File("study.yaml"), "--until", "rho ±0.9"},
                          cluster_.File("until.log"));
    ASSERT_TRUE(Eventually([&] { return sweeps() == 1; }));
  }
  cluster_.KillCoordinator(SIGKILL);
  cluster_.StartCoordinator();
  EXPECT_EQ(sweeps(), 1u);
  cluster_.StartWorker("w", 8);
  // The command dies again, at some moment between the first result and the end.
  {
    const Process command({Cluster::Binary("concur"), "--server", cluster_.server(), "sweep",
                           "submit", cluster_.File("study.yaml"), "--until", "rho ±0.9"},
                          cluster_.File("until.log"));
    ASSERT_TRUE(Eventually([&] { return Runs() > 0; }));
  }
  cluster_.KillCoordinator(SIGKILL);
  cluster_.StartCoordinator();
  const Output last = SubmitUntil("rho ±0.9");
  ASSERT_EQ(last.exit_code, 0) << last.out << last.err;
  const json told = json::parse(last.out)["until"];
  EXPECT_EQ(told["coefficient"], "spearman");
  EXPECT_TRUE(told["known"]);
  EXPECT_EQ(sweeps(), told["looks"].size()) << "a sweep for each batch, and each once";
  EXPECT_EQ(Runs(), told["looks"].back()["cells"]) << "no cell ran twice";
}

TEST_F(BatchesTest, WhatCannotBeRunInBatchesIsRefusedBeforeAnythingIsSubmitted) {
  EXPECT_THAT(SubmitUntil("gamma 0.1").out + SubmitUntil("gamma 0.1").err,
              HasSubstr("--until: expected"));
  const Output dry = cluster_.Concur(
      {"sweep", "submit", cluster_.File("study.yaml"), "--until", "tau ±0.1", "--dry-run"});
  EXPECT_EQ(dry.exit_code, 2);
  EXPECT_THAT(dry.err, HasSubstr("expected neither --dry-run nor --rerun"));
  cluster_.Write("stops.yaml", kStopsEarly);
  const Output stops =
      cluster_.Concur({"sweep", "submit", cluster_.File("stops.yaml"), "--until", "tau ±0.1"});
  EXPECT_EQ(stops.exit_code, 2);
  EXPECT_THAT(stops.err, HasSubstr("--until: expected a sweep without early_stop"));
  cluster_.Write("stages.yaml", kStages);
  const Output stages =
      cluster_.Concur({"sweep", "submit", cluster_.File("stages.yaml"), "--until", "tau ±0.1"});
  EXPECT_EQ(stages.exit_code, 2);
  EXPECT_THAT(stages.err, HasSubstr("--until: expected approaches without train_from"));
  EXPECT_THAT(cluster_.Concur({"-o", "json", "sweep", "list"}).out, Not(HasSubstr("study")));
}

TEST_F(BatchesTest, AnImportSurvivesKillsAndIsReadLikeASweep) {
  std::string board = "Model\tOrg\tTask one\tTask two\n";
  for (int i = 0; i < 600; ++i) {  // more than a turn of the engine takes
    absl::StrAppend(&board, "org/model ", i, "\torg\t", i, ".5\t",
                    i == 3 ? "" : absl::StrCat(900 - i), "\n");
  }
  cluster_.Write("board.tsv", board);
  const std::string bundle = cluster_.File("board");
  ASSERT_EQ(
      cluster_
          .Concur({"bundle", "convert", "leaderboard", cluster_.File("board.tsv"), "--out", bundle})
          .exit_code,
      0);
  const Output imported = cluster_.Concur({"-o", "json", "bundle", "load", bundle});
  ASSERT_EQ(imported.exit_code, 0) << imported.err;
  const std::string id = json::parse(imported.out)["id"];
  cluster_.KillCoordinator(SIGKILL);
  cluster_.StartCoordinator();
  const Output again = cluster_.Concur({"-o", "json", "bundle", "load", bundle});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(json::parse(again.out)["id"], id);

  const Output scores = cluster_.Concur({"-o", "json", "scores", id, "--by-job"});
  ASSERT_EQ(scores.exit_code, 0) << scores.err;
  const json list = json::parse(scores.out);
  ASSERT_THAT(list, SizeIs(1200));
  EXPECT_EQ(list[2]["approach"], "org/model 1");
  EXPECT_EQ(list[2]["value"], 1.5);
  EXPECT_THAT(std::string(list[2]["source"]["file"]), HasSubstr("board.tsv"));
  EXPECT_EQ(list[7]["state"], "canceled") << "the gap";
  EXPECT_TRUE(list[7]["source"].is_null());
  EXPECT_THAT(cluster_.Concur({"job", "explain", id + "/2"}).out, HasSubstr("imported, not run"));
  EXPECT_THAT(cluster_.Concur({"matrix", id}).out, HasSubstr("1 of 1200 scores are missing"));

  // Out again: every score and source of the bundle, under the sweep's id.
  const std::string out = cluster_.File("out");
  const Output exported = cluster_.Concur({"bundle", "write", id, "--out", out});
  ASSERT_EQ(exported.exit_code, 0) << exported.err;
  EXPECT_EQ(cluster_.Concur({"bundle", "verify", out}).exit_code, 0);
  const Output same = cluster_.Concur({"-o", "json", "bundle", "load", out, "--name", "copy"});
  EXPECT_EQ(same.exit_code, 0) << same.err;
  EXPECT_THAT(cluster_.Concur({"sweep", "retry", id}).err, HasSubstr("was imported"));
}

}  // namespace
}  // namespace concur::testing
