// What a coordinator's options forbid is refused with the option's name, and leaves nothing behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tests/e2e/cluster.h"

namespace concur::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// One approach whose job writes a model of 4,000 bytes, on `seeds` seeds: two jobs each.
std::string Sweep(int seeds) {
  return absl::StrCat(R"(apiVersion: concur/v1
kind: Sweep
metadata: {name: small}
spec:
  approaches:
    - metadata: {name: zeros}
      spec:
        version: "1"
        train: {command: [/bin/sh, -c, "head -c 4000 /dev/zero > {model}; : {train} {seed}"]}
        predict: {command: [/bin/sh, -c, "printf '{{\"accuracy\": 0.5}}' > {metrics}; : {model} {test}"]}
        resources: {cpus: 2}
  benchmarks:
    - metadata: {name: task}
      spec: {format: file, train: set.txt, test: set.txt, metric: accuracy}
  retry: {failures_max: 1}
  seeds: {from: 1, to: )",
                      seeds, "}\n");
}

class LimitsTest : public ::testing::Test {
 protected:
  void Start(absl::string_view spec) {
    cluster_.Write("set.txt", "x\n");
    cluster_.Write("options.yaml",
                   absl::StrCat("apiVersion: concur/v1\nkind: CoordinatorOptions\nspec: ", spec));
    cluster_.StartCoordinator({"--options", cluster_.File("options.yaml")});
  }
  Output Submit(int seeds) {
    cluster_.Write("sweep.yaml", Sweep(seeds));
    return cluster_.Concur({"sweep", "submit", cluster_.File("sweep.yaml")});
  }
  std::string Sweeps() { return cluster_.Concur({"-o", "csv", "sweep", "list"}).out; }

  Cluster cluster_;
};

TEST_F(LimitsTest, SweepOfTooManyJobsIsRefused) {
  Start("{limits: {jobs_per_sweep_max: 15}}\n");
  const Output refused = Submit(8);
  EXPECT_EQ(refused.exit_code, 1) << refused.out;
  EXPECT_THAT(refused.err, AllOf(HasSubstr("16 jobs"), HasSubstr("jobs_per_sweep_max")));
  EXPECT_THAT(Sweeps(), Not(HasSubstr("small")));
}

TEST_F(LimitsTest, OneSweepTooManyIsRefusedUntilOneIsDeleted) {
  Start("{limits: {sweeps_max: 1}}\n");
  EXPECT_EQ(Submit(1).exit_code, 0);
  const Output refused = Submit(2);
  EXPECT_EQ(refused.exit_code, 1) << refused.out;
  EXPECT_THAT(refused.err, HasSubstr("limits.sweeps_max"));
  EXPECT_THAT(Sweeps(), Not(HasSubstr("s2")));
  EXPECT_EQ(cluster_.Concur({"sweep", "cancel", "s1"}).exit_code, 0);
  EXPECT_EQ(cluster_.Concur({"sweep", "delete", "s1"}).exit_code, 0);
  EXPECT_EQ(Submit(2).exit_code, 0);
}

TEST_F(LimitsTest, RequestThatFitsInNoPoolIsRefused) {
  Start("{pools: [{name: tiny, max: {cpus: 1, memory: 4GiB}}]}\n");
  const Output refused = Submit(1);
  EXPECT_EQ(refused.exit_code, 2) << refused.out;
  EXPECT_THAT(refused.err, AllOf(HasSubstr("approaches[0].train.resources"), HasSubstr("tiny"),
                                 HasSubstr("cpus 2")));
  EXPECT_THAT(Sweeps(), Not(HasSubstr("small")));
}

TEST_F(LimitsTest, SweepBeyondItsOwnersQuotaIsRefusedAndTheUseIsShown) {
  Start("{owner: ada, quotas: {owners: [{name: ada, stored_bytes_max: 3B}]}}\n");
  EXPECT_EQ(Submit(1).exit_code, 0);
  EXPECT_THAT(cluster_.Concur({"sweep", "get", "s1"}).out, HasSubstr("2 B of 3 B stored"));
  cluster_.Write("set.txt", "other\n");
  const Output refused = Submit(2);
  EXPECT_EQ(refused.exit_code, 1) << refused.out;
  EXPECT_THAT(refused.err, AllOf(HasSubstr("ada stores 2 bytes"), HasSubstr("this adds 6"),
                                 HasSubstr("stored_bytes_max of 3")));
  EXPECT_THAT(Sweeps(), Not(HasSubstr("s2")));
}

TEST_F(LimitsTest, DataSetOfTooManyBytesIsRefused) {
  Start("{limits: {artifact_bytes_max: 1B}}\n");
  const Output refused = Submit(1);
  EXPECT_EQ(refused.exit_code, 1) << refused.out;
  EXPECT_THAT(refused.err, AllOf(HasSubstr("limits.artifact_bytes_max, 1"), HasSubstr("set.txt")));
  EXPECT_THAT(Sweeps(), Not(HasSubstr("small")));
}

}  // namespace
}  // namespace concur::testing
