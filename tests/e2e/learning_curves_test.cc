// SPDX-License-Identifier: Apache-2.0
// What commands report in their logs, read back as learning curves and replayed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/e2e/cluster.h"

namespace concur::testing {
namespace {

using ::testing::HasSubstr;

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

TEST(LearningCurvesTest, WhatJobsReportIsReadFromTheirLogsAlsoOfReusedResults) {
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
  cluster.Write("curves.csv", steps.out);
  const Output replay =
      cluster.Concur({"-o", "csv", "early-stop", cluster.File("curves.csv"), "--eta", "2"});
  EXPECT_EQ(replay.exit_code, 0) << replay.err;
  EXPECT_THAT(replay.out, HasSubstr("\na,b,1,2,1,1,1,2.2,2.2,yes,"));

  ASSERT_EQ(cluster.RunSweep("sweep.yaml").exit_code, 0);
  EXPECT_THAT(cluster.Concur({"-o", "csv", "sweep", "steps", "s2"}).out,
              HasSubstr("s2/2,a,b,1,1,2,acc,2.2,"));
}

}  // namespace
}  // namespace concur::testing
