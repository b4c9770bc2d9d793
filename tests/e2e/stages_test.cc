// SPDX-License-Identifier: Apache-2.0
// Trainings that start from other trainings' systems, with real programs: one source for all
// benchmarks, also when a worker dies in between and in a second sweep.

#include <csignal>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/file.h"
#include "tests/e2e/cluster.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

// Notes what it trains, waits until it may, and leaves a folder: what it started from, with a line
// more.
constexpr char kStageTrain[] = R"sh(#!/bin/sh
# DIRECTORY NAME MODEL TRAIN [START]
echo "$2 on $(cat "$4")" >> "$1/trail"
while ! test -e "$1/go-$2"; do sleep 0.05; done
mkdir "$3"
if test -n "$5"; then cat "$5/lines" > "$3/lines"; fi
cat "$4" >> "$3/lines"
)sh";

constexpr char kStageSweep[] = R"(apiVersion: concur/v1
kind: Sweep
metadata: {name: stages}
spec:
  approaches:
    - metadata: {name: source}
      spec:
        version: "1"
        train: {command: [sh, DIR/train.sh, DIR, source, "{model}", "{train}"]}
    - metadata: {name: first}
      spec:
        version: "1"
        train_from: {approach: source, benchmark: text}
        train: {command: [sh, DIR/train.sh, DIR, first, "{model}", "{train}", "{start}"]}
        predict: {command: PREDICT}
    - metadata: {name: second}
      spec:
        version: "1"
        train_from: {approach: first, benchmark: same}
        train: {command: [sh, DIR/train.sh, DIR, second, "{model}", "{train}", "{start}"]}
        predict: {command: PREDICT}
  benchmarks:
    - metadata: {name: text}
      spec: {format: file, train: text.txt}
    - metadata: {name: b}
      spec: {format: file, train: b.txt, test: b.txt, metric: lines}
    - metadata: {name: c}
      spec: {format: file, train: c.txt, test: c.txt, metric: lines}
MORE)";

constexpr char kCountLines[] =
    R"([sh, -c, 'printf "{{\"lines\": $(cat {model}/lines | wc -l)}}" > {metrics}'])";

TEST(StagesTest, OneSourceServesAllBenchmarksAlsoOfASecondSweep) {
  Cluster cluster;
  const std::string sweep =
      absl::StrReplaceAll(kStageSweep, {{"DIR", cluster.dir().path()}, {"PREDICT", kCountLines}});
  for (const char* name : {"text", "b", "c", "d"}) {
    cluster.Write(absl::StrCat(name, ".txt"), absl::StrCat(name, "\n"));
  }
  cluster.Write("train.sh", kStageTrain);
  cluster.Write("trail", "");
  cluster.Write("sweep.yaml", absl::StrReplaceAll(sweep, {{"MORE", ""}}));
  const auto trail = [&] { return ReadFile(cluster.File("trail"), 10'000).value_or(""); };
  const auto explain = [&](const std::string& job) {
    return cluster.Concur({"job", "explain", job}).out;
  };
  cluster.StartCoordinator();
  cluster.StartWorker("w1");
  const Output submitted = cluster.Concur({"sweep", "submit", cluster.File("sweep.yaml")});
  ASSERT_EQ(submitted.exit_code, 0) << submitted.err;
  ASSERT_TRUE(Eventually([&] { return trail() == "source on text\n"; }));
  EXPECT_THAT(explain("s1/1"), HasSubstr("waits for the train job that it starts from s1/0"));

  // It is lost with its worker, and what waits for it goes on waiting.
  cluster.KillWorker("w1", SIGKILL);
  cluster.StartWorker("w1");
  ASSERT_TRUE(Eventually([&] { return trail() == "source on text\nsource on text\n"; }));
  EXPECT_THAT(explain("s1/1"), HasSubstr("waits for the train job that it starts from s1/0"));
  cluster.Write("go-source", "");
  ASSERT_TRUE(Eventually([&] { return absl::StrContains(trail(), "first on b\n"); }));

  // The next stage is lost, too. What it starts from is not.
  cluster.KillWorker("w1", SIGKILL);
  cluster.KillCoordinator(SIGKILL);
  cluster.StartCoordinator();
  cluster.StartWorker("w1");
  cluster.Write("go-first", "");
  cluster.Write("go-second", "");
  const Output wait = cluster.Concur({"sweep", "wait", "s1"});
  EXPECT_EQ(wait.exit_code, 0) << wait.err;
  const Output scores = cluster.Concur({"-o", "csv", "scores", "s1"});
  EXPECT_EQ(scores.out, "approach,b,c\nfirst,2,2\nsecond,3,3\n") << scores.err;

  cluster.Write("trail", "");
  cluster.Write("more.yaml", absl::StrReplaceAll(
                                 sweep, {{"MORE",
                                          "    - metadata: {name: d}\n      spec: {format: "
                                          "file, train: d.txt, test: d.txt, metric: lines}\n"}}));
  const Output more = cluster.RunSweep("more.yaml");
  EXPECT_EQ(more.exit_code, 0) << more.err;
  EXPECT_EQ(trail(), "first on d\nsecond on d\n");
}

}  // namespace
}  // namespace concur::testing
