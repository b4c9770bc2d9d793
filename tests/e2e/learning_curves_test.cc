// SPDX-License-Identifier: Apache-2.0
// Reports of running commands, printed as learning curves.

#include <csignal>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/e2e/cluster.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

// The second of two settings is better at every step.
constexpr char kSweep[] = R"(apiVersion: concur/v1
kind: Sweep
metadata: {name: curves}
spec:
  approaches:
    - metadata: {name: a}
      spec:
        version: "1"
        train:
          command: [sh, -c, 'cp {train} {model}; for i in 1 2; do
            echo "concur-metric {{\"step\": $i, \"name\": \"acc\", \"value\": {hp.q}.$i}}"; done']
        predict:
          command: [sh, -c, 'cat {model} {test} > /dev/null;
            printf "{{\"acc\": {hp.q}}}" > {metrics}']
        hyperparameters: {default: {q: 1}, space: {q: {choice: [2]}}}
  benchmarks:
    - metadata: {name: b}
      spec: {format: file, train: task.txt, test: task.txt, metric: acc}
  settings: {random: 1, seed: 1}
)";

TEST(LearningCurvesTest, WhatJobsReportIsPrintedAlsoOfReusedResults) {
  Cluster cluster;
  cluster.Write("task.txt", "x");
  cluster.Write("sweep.yaml", kSweep);
  cluster.StartCoordinator();
  cluster.StartWorker("w1");
  ASSERT_EQ(cluster.RunSweep("sweep.yaml").exit_code, 0);
  const Output steps = cluster.Concur({"-o", "csv", "sweep", "steps", "s1"});
  ASSERT_EQ(steps.exit_code, 0) << steps.err;
  for (const char* row : {"s1/0,a,b,0,1,1,acc,1.1,", "s1/0,a,b,0,1,2,acc,1.2,",
                          "s1/2,a,b,1,1,1,acc,2.1,", "s1/2,a,b,1,1,2,acc,2.2,"}) {
    EXPECT_THAT(steps.out, HasSubstr(row));
  }

  ASSERT_EQ(cluster.RunSweep("sweep.yaml").exit_code, 0);
  EXPECT_THAT(cluster.Concur({"-o", "csv", "sweep", "steps", "s2"}).out,
              HasSubstr("s2/2,a,b,1,1,2,acc,2.2,"));
}

// Reports were read from the logs of jobs that had ended, and of a long log its middle was cut.
TEST(LearningCurvesTest, ReportsAreThereWhileTheJobRunsAndAfterBothSidesWereKilled) {
  Cluster cluster;
  cluster.Write("task.txt", "x");
  const std::string go = cluster.File("go");
  cluster.Write("sweep.yaml", absl::StrReplaceAll(
                                  kSweep, {{"; done'", absl::StrCat("; done; while test ! -e ", go,
                                                                    "; do sleep 0.05; done'")}}));
  cluster.StartCoordinator();
  cluster.StartWorker("w1");
  ASSERT_EQ(cluster.Concur({"sweep", "submit", cluster.File("sweep.yaml")}).exit_code, 0);
  const auto count = [&](const std::string& row) {
    const std::string out = cluster.Concur({"-o", "csv", "sweep", "steps", "s1"}).out;
    size_t rows = 0;
    for (size_t at = out.find(row); at != std::string::npos; at = out.find(row, at + 1)) {
      ++rows;
    }
    return rows;
  };
  ASSERT_TRUE(Eventually([&] { return count("s1/0,a,b,0,1,2,acc,1.2,") == 1; }));
  EXPECT_THAT(cluster.Concur({"job", "get", "s1/0"}).out, HasSubstr("1.2000 at step 2"));
  cluster.KillCoordinator(SIGKILL);
  cluster.KillWorker("w1", SIGKILL);
  cluster.StartCoordinator();
  cluster.StartWorker("w1");
  EXPECT_EQ(count("s1/0,a,b,0,1,2,acc,1.2,"), 1u);
  cluster.Write("go", "");
  ASSERT_EQ(cluster.Concur({"sweep", "wait", "s1"}).exit_code, 0);
  EXPECT_EQ(count("s1/0,a,b,0,1,1,acc,1.1,"), 1u);  // the second attempt reports it again
  EXPECT_EQ(count("s1/0,"), 2u);
}

}  // namespace
}  // namespace concur::testing
