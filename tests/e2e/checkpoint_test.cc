// SPDX-License-Identifier: Apache-2.0
// A training whose worker is told to leave goes on elsewhere from its checkpoint, with real
// programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/file.h"
#include "tests/e2e/cluster.h"
#include "tests/testing/status_matchers.h"

namespace concur::testing {
namespace {

// A training counts to 4, as far as the file `go` allows, and notes what it does: nothing depends
// on how fast the machine is.
constexpr char kCheckpointTrain[] = R"(#!/bin/sh
# DIRECTORY MODEL
step=$(cat "$CONCUR_CHECKPOINT/step" 2>/dev/null || echo 0)
echo "from $step" >> "$1/trail"
while test $step -lt 4; do
  step=$((step + 1))
  echo $step > "$CONCUR_CHECKPOINT/new" && mv "$CONCUR_CHECKPOINT/new" "$CONCUR_CHECKPOINT/step"
  echo "step $step" >> "$1/trail"
  while test $step -ge $(cat "$1/go"); do sleep 0.05; done
done
echo $step > "$2"
)";

constexpr char kCheckpointSweep[] = R"(apiVersion: concur/v1
kind: Sweep
metadata: {name: resumed}
spec:
  approaches:
    - metadata: {name: a}
      spec:
        version: "1"
        train: {command: [sh, DIR/train.sh, DIR, "{model}", "{train}"]}
        predict:
          command: [sh, -c, 'cat {test} > /dev/null;
            printf "{{\"acc\": $(cat {model})}}" > {metrics}']
  benchmarks:
    - metadata: {name: b}
      spec: {format: file, train: task.txt, test: task.txt, metric: acc}
)";

TEST(CheckpointTest, ATrainingGoesOnWhereItsWorkerWasWhenItHadToLeaveAlsoAfterARestart) {
  Cluster cluster;
  cluster.Write("task.txt", "x");
  cluster.Write("train.sh", kCheckpointTrain);
  cluster.Write("go", "2");
  cluster.Write("trail", "");
  cluster.Write("sweep.yaml",
                absl::StrReplaceAll(kCheckpointSweep, {{"DIR", cluster.dir().path()}}));
  cluster.Write("worker.yaml",
                "apiVersion: concur/v1\nkind: WorkerOptions\nspec: {drain_max: 0s}\n");
  const auto trail = [&] { return ReadFile(cluster.File("trail"), 1000).value_or(""); };
  cluster.StartCoordinator();
  cluster.StartWorker("w1", /*cpus=*/2, {"--options", cluster.File("worker.yaml")});
  ASSERT_EQ(cluster.Concur({"sweep", "submit", cluster.File("sweep.yaml")}).exit_code, 0);
  ASSERT_TRUE(Eventually([&] { return absl::EndsWith(trail(), "step 2\n"); }));

  cluster.KillWorker("w1", SIGTERM);
  const auto state = [&] {
    return nlohmann::json::parse(cluster.Concur({"-o", "json", "job", "get", "s1/0"}).out)["state"];
  };
  EXPECT_EQ(state(), "ready");
  cluster.KillCoordinator(SIGKILL);
  cluster.StartCoordinator();

  cluster.Write("go", "9");
  cluster.StartWorker("w2");
  const Output wait = cluster.Concur({"sweep", "wait", "s1"});
  EXPECT_EQ(wait.exit_code, 0) << wait.err;
  EXPECT_EQ(trail(), "from 0\nstep 1\nstep 2\nfrom 2\nstep 3\nstep 4\n");
  EXPECT_EQ(state(), "succeeded");
}

// An evaluation that asks for 40 answers, and is killed after every fourth.
constexpr char kAnswers[] = R"(#!/bin/sh
# DIRECTORY METRICS
n=$(cat "$CONCUR_CHECKPOINT/n" 2>/dev/null || echo 0)
while test $n -lt 40; do
  n=$((n + 1))
  echo $n >> "$1/asked"
  echo $n > "$CONCUR_CHECKPOINT/new" && mv "$CONCUR_CHECKPOINT/new" "$CONCUR_CHECKPOINT/n"
  test $((n % 4)) -ne 0 || kill -9 $$
done
printf '{"acc": 1}' > "$2"
)";

constexpr char kAnswersSweep[] = R"(apiVersion: concur/v1
kind: Sweep
metadata: {name: asked}
spec:
  approaches:
    - metadata: {name: a}
      spec:
        version: "1"
        predict: {command: [sh, DIR/ask.sh, DIR, "{metrics}", "{test}"]}
  benchmarks:
    - metadata: {name: b}
      spec: {format: file, test: task.txt, metric: acc}
  retry: {failures_max: 11, backoff_min: 1ms, backoff_max: 1ms}
)";

TEST(CheckpointTest, AKilledEvaluationAsksForNoAnswerTwice) {
  Cluster cluster;
  cluster.Write("task.txt", "x");
  cluster.Write("ask.sh", kAnswers);
  cluster.Write("sweep.yaml", absl::StrReplaceAll(kAnswersSweep, {{"DIR", cluster.dir().path()}}));
  cluster.StartCoordinator();
  cluster.StartWorker("w1");
  ASSERT_EQ(cluster.Concur({"sweep", "submit", cluster.File("sweep.yaml")}).exit_code, 0);
  const Output wait = cluster.Concur({"sweep", "wait", "s1"});
  EXPECT_EQ(wait.exit_code, 0) << wait.err;
  std::string all;
  for (int answer = 1; answer <= 40; ++answer) {
    absl::StrAppend(&all, answer, "\n");
  }
  EXPECT_EQ(ReadFile(cluster.File("asked"), 1000).value_or(""), all);
}

}  // namespace
}  // namespace concur::testing
