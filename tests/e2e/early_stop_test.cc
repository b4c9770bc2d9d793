// SPDX-License-Identifier: Apache-2.0
// A sweep whose settings stop early, with real programs.

#include <csignal>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/file.h"
#include "tests/e2e/cluster.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

// A training reports the steps up to the one that the file `go` allows, and waits there: nothing
// depends on how fast the machine is. What comes to the end leaves a line in a file.
constexpr char kEarlyStopTrain[] = R"(#!/bin/sh
# DIRECTORY QUALITY MODEL
trap 'exit 1' TERM
step=1
while test $step -le 3; do
  echo "concur-metric {\"step\": $step, \"name\": \"acc\", \"value\": $2.$step}"
  while test $step -ge $(cat "$1/go"); do sleep 0.05; done
  step=$((step + 1))
done
echo "$2" > "$3"
echo "$2" >> "$1/trained"
)";

constexpr char kEarlyStopSweep[] = R"(apiVersion: concur/v1
kind: Sweep
metadata: {name: early}
spec:
  approaches:
    - metadata: {name: a}
      spec:
        version: "1"
        train: {command: [sh, DIR/train.sh, DIR, "{hp.q}", "{model}", "{train}"]}
        predict:
          command: [sh, -c, 'cat {test} > /dev/null;
            printf "{{\"acc\": $(cat {model})}}" > {metrics}']
        hyperparameters: {default: {q: 1}, space: {q: {choice: [2, 3, 4, 5]}}}
  benchmarks:
    - metadata: {name: b}
      spec: {format: file, train: task.txt, test: task.txt, metric: acc}
  settings: {random: 3, seed: 2}
  early_stop: {metric: acc, min: 1, max: 3, eta: 4}
)";

TEST(EarlyStopTest, ASweepTrainsOneSettingToItsEndAndMarksTheOthersAlsoAfterARestart) {
  Cluster cluster;
  cluster.Write("task.txt", "x");
  cluster.Write("train.sh", kEarlyStopTrain);
  cluster.Write("go", "1");
  cluster.Write("sweep.yaml",
                absl::StrReplaceAll(kEarlyStopSweep, {{"DIR", cluster.dir().path()}}));
  cluster.StartCoordinator();
  cluster.StartWorker("w1", /*cpus=*/4);
  const Output plan = cluster.Concur({"sweep", "plan", cluster.File("sweep.yaml")});
  EXPECT_THAT(plan.out, HasSubstr("stop by asha, most acc, steps 1 to 3, eta 4"));
  ASSERT_EQ(cluster.Concur({"sweep", "submit", cluster.File("sweep.yaml")}).exit_code, 0);

  // Each reports one step; three of the four wait, without a process, for the best.
  const auto list = [&](const std::string& state) {
    return cluster.Concur({"-o", "csv", "job", "list", "s1", "--state", state}).out;
  };
  const auto count = [](const std::string& text, const std::string& part) {
    int found = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
      ++found;
    }
    return found;
  };
  const auto train_jobs = [&](const std::string& state) {
    std::vector<std::string> ids;
    for (const absl::string_view line : absl::StrSplit(list(state), '\n')) {
      if (absl::StrContains(line, ",train,")) {
        ids.emplace_back(line.substr(0, line.find(',')));
      }
    }
    return ids;
  };
  const auto steps = [&] {
    return count(cluster.Concur({"-o", "csv", "sweep", "steps", "s1"}).out, ",acc,");
  };
  ASSERT_TRUE(Eventually([&] {
    return steps() == 4 && train_jobs("blocked").size() == 3 && train_jobs("running").size() == 1;
  }));
  const std::vector<std::string> running = train_jobs("running");
  cluster.KillCoordinator(SIGKILL);
  cluster.StartCoordinator();
  EXPECT_THAT(train_jobs("blocked"), SizeIs(3));
  EXPECT_EQ(train_jobs("running"), running);
  EXPECT_EQ(steps(), 4);

  cluster.Write("go", "9");
  const Output wait = cluster.Concur({"sweep", "wait", "s1"});
  EXPECT_EQ(wait.exit_code, 0) << wait.err;
  const Output status = cluster.Concur({"sweep", "get", "s1"});
  EXPECT_THAT(status.out, HasSubstr("2 succeeded, 6 stopped"));
  EXPECT_EQ(
      nlohmann::json::parse(cluster.Concur({"-o", "json", "sweep", "get", "s1"}).out)["state"],
      "succeeded");
  EXPECT_EQ(train_jobs("succeeded"), running);
  const absl::StatusOr<std::string> trained = ReadFile(cluster.File("trained"), 1000);
  ASSERT_OK(trained.status());
  EXPECT_EQ(count(*trained, "\n"), 1) << *trained << "came to the end of the training";
  EXPECT_THAT(train_jobs("stopped"), SizeIs(3));
  EXPECT_EQ(count(list("stopped"), ",eval,"), 3);
  const Output each = cluster.Concur({"scores", "s1", "--select", "each"});
  EXPECT_EQ(count(each.out, "stopped"), 3 + 1) << each.out;  // and in the note
  EXPECT_THAT(each.out, HasSubstr("3 of 4 cells have no score: 3 stopped."));
  EXPECT_THAT(cluster.Concur({"scores", "s1"}).out, HasSubstr("or stopped"));
}

}  // namespace
}  // namespace concur::testing
