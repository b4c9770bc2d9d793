// SPDX-License-Identifier: Apache-2.0
// A training whose worker is told to leave goes on elsewhere from its checkpoint, with real
// programs.
#include <sys/stat.h>

#include <csignal>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "tests/e2e/cluster.h"
#include "tests/testing/test.h"

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

// An evaluation of 1,000 examples that is killed at each tenth asks no example twice but the one at
// which it was killed, and what it has paid adds up.
constexpr int kEvaluationExamples = 1000;
constexpr int kEvaluationTenth = 100;

// Notes each question that it is asked.
constexpr char kEvaluationServer[] = R"(#!/usr/bin/env python3
import socketserver, sys
class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            with open(sys.argv[2], "ab") as file: file.write(line)
            self.wfile.write(b"1\n")
socketserver.ThreadingTCPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
)";

// Keeps its answers where the next attempt finds them. Before it saves the one of a tenth for the
// first time, it says so and waits to be killed. A question costs a cent.
constexpr char kEvaluationClient[] = R"(#!/usr/bin/env python3
import json, os, socket, sys, time
url, metrics, waiting = sys.argv[1:4]
path = os.environ["CONCUR_CHECKPOINT"] + "/answers"
answers = open(path).read().split() if os.path.exists(path) else []
server = socket.create_connection(("127.0.0.1", int(url.rsplit(":", 1)[1]))).makefile("rw")
kept = open(path, "a")
paid = 0
for number in range(len(answers) + 1, EXAMPLES + 1):
    server.write(f"{number}\n")
    server.flush()
    answer = server.readline().strip()
    paid += 1
    if number % TENTH == 0:
        print("concur-metric " + json.dumps({"step": paid, "name": "usd", "value": paid / 100}),
              flush=True)
        if not os.path.exists(f"{waiting}/{number}"):
            with open(f"{waiting}/new", "w") as file: file.write(str(os.getpid()))
            os.rename(f"{waiting}/new", f"{waiting}/{number}")
            time.sleep(600)
    kept.write(answer + "\n")
    kept.flush()
    answers.append(answer)
json.dump({"accuracy": answers.count("1") / EXAMPLES}, open(metrics, "w"))
)";

constexpr char kEvaluationSweep[] = R"(apiVersion: concur/v1
kind: Sweep
metadata: {name: evaluation}
spec:
  approaches:
    - metadata: {name: served}
      spec:
        version: "1"
        service:
          command: [python3, DIR/server.py, "{port}", DIR/asked]
          resources: {cpus: 0.1}
        predict:
          command: [python3, DIR/client.py, "{service.url}", "{metrics}", DIR/waiting]
  benchmarks:
    - metadata: {name: thousand}
      spec: {format: file, test: set.txt, metric: accuracy}
  retry: {failures_max: 20, backoff_min: 10ms, backoff_max: 20ms}
)";

TEST(CheckpointTest, AnEvaluationKilledAtEachTenthItAsksNoExampleTwiceButTheLast) {
  Cluster cluster;
  const std::string directory = cluster.dir().path();
  cluster.Write("set.txt", "x\n");
  cluster.Write("server.py", kEvaluationServer);
  cluster.Write("client.py", absl::StrReplaceAll(kEvaluationClient,
                                                 {{"EXAMPLES", absl::StrCat(kEvaluationExamples)},
                                                  {"TENTH", absl::StrCat(kEvaluationTenth)}}));
  cluster.Write("sweep.yaml", absl::StrReplaceAll(kEvaluationSweep, {{"DIR", directory}}));
  ASSERT_EQ(mkdir(cluster.File("waiting").c_str(), 0755), 0);
  cluster.StartCoordinator();
  cluster.StartWorker("w1", 2);
  const Output submitted = cluster.Concur({"sweep", "submit", cluster.File("sweep.yaml")});
  ASSERT_EQ(submitted.exit_code, 0) << submitted.err;
  for (int killed = kEvaluationTenth; killed <= kEvaluationExamples; killed += kEvaluationTenth) {
    const std::string file = cluster.File(absl::StrCat("waiting/", killed));
    ASSERT_TRUE(Eventually([&] { return ReadFile(file).ok(); })) << killed;
    int pid = 0;
    ASSERT_TRUE(absl::SimpleAtoi(*ReadFile(file), &pid));
    ASSERT_EQ(kill(pid, SIGKILL), 0);
  }
  const Output waited = cluster.Concur({"sweep", "wait", "s1"});
  EXPECT_EQ(waited.exit_code, 0) << waited.out << waited.err;

  std::map<int, int> asked;
  for (absl::string_view line :
       absl::StrSplit(*ReadFile(cluster.File("asked")), '\n', absl::SkipEmpty())) {
    int number = 0;
    ASSERT_TRUE(absl::SimpleAtoi(line, &number)) << line;
    ++asked[number];
  }
  EXPECT_EQ(asked.size(), size_t{kEvaluationExamples});
  for (const auto& [number, times] : asked) {
    EXPECT_EQ(times, number % kEvaluationTenth == 0 ? 2 : 1) << number;
  }
  const auto sweep =
      nlohmann::json::parse(cluster.Concur({"-o", "json", "sweep", "get", "s1"}).out);
  // Each attempt has paid for what it asked up to the tenth at which it was killed.
  EXPECT_DOUBLE_EQ(sweep.at("spent").at("usd").get<double>(), 10 + 0.01 * 9 + 0.01);
  EXPECT_NE(cluster.Concur({"scores", "s1"}).out.find("1.00"), std::string::npos);
}

}  // namespace
}  // namespace concur::testing
