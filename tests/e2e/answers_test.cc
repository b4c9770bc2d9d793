// SPDX-License-Identifier: Apache-2.0
// Results of a sweep with real programs: the matrix that follows it, and the bundle that
// outlives its coordinator.
#include <signal.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/file.h"
#include "tests/e2e/cluster.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

// Three approaches whose scores follow from their names' numbers and the test file's.
std::string ApproachYaml(int number) {
  return absl::StrCat("    - metadata: {name: a", number, "}\n",
                      "      spec:\n        version: \"1\"\n        predict:\n",
                      "          command: [/bin/sh, -c, 'read b < {test}; printf "
                      "\"{{\\\"accuracy\\\": 0.%d}}\" $((",
                      number, " * b % 7 + 1)) > {metrics}']\n");
}

class AnswersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string sweep = "apiVersion: concur/v1\nkind: Sweep\nmetadata: {name: small}\nspec:\n";
    absl::StrAppend(&sweep, "  approaches:\n", ApproachYaml(1), ApproachYaml(2), ApproachYaml(4),
                    "  benchmarks:\n");
    for (const int number : {1, 2, 3}) {
      cluster_.Write(absl::StrCat("set-", number), absl::StrCat(number, "\n"));
      absl::StrAppend(&sweep, "    - metadata: {name: b", number, "}\n",
                      "      spec: {format: file, ", "train: set-", number, ", test: set-", number,
                      ", metric: accuracy}\n");
    }
    cluster_.Write("small.yaml", sweep);
    cluster_.StartCoordinator();
  }

  Cluster cluster_;
};

TEST_F(AnswersTest, WatchedMatrixEndsAsTheMatrixOfTheFinishedSweep) {
  ASSERT_EQ(cluster_.Concur({"sweep", "submit", cluster_.File("small.yaml")}).exit_code, 0);
  Process follower({Cluster::Binary("concur"), "--server", cluster_.server(), "-o", "jsonl",
                    "matrix", "s1", "--watch"},
                   cluster_.File("follow"));
  // The first matrix, of no scores at all, is there before any worker is.
  ASSERT_TRUE(Eventually([&] {
    const absl::StatusOr<std::string> seen = ReadFile(cluster_.File("follow.out"));
    return seen.ok() && seen->find('\n') != std::string::npos;
  }));
  cluster_.StartWorker("w1");
  ASSERT_EQ(follower.Wait(), 0);
  const absl::StatusOr<std::string> seen = ReadFile(cluster_.File("follow.out"));
  ASSERT_TRUE(seen.ok());
  const Output final = cluster_.Concur({"-o", "jsonl", "matrix", "s1", "--interval", "0"});
  ASSERT_EQ(final.exit_code, 0) << final.err;
  EXPECT_THAT(*seen, EndsWith(final.out));
}

TEST_F(AnswersTest, WatchingGoesOnThroughAnOrderlyRestartOfTheCoordinator) {
  ASSERT_EQ(cluster_.Concur({"sweep", "submit", cluster_.File("small.yaml")}).exit_code, 0);
  Process watcher(
      {Cluster::Binary("concur"), "--server", cluster_.server(), "sweep", "watch", "s1"},
      cluster_.File("watch"));
  const auto watcher_says = [&](absl::string_view text) {
    const absl::StatusOr<std::string> seen = ReadFile(cluster_.File("watch.err"));
    return seen.ok() && absl::StrContains(*seen, text);
  };
  ASSERT_TRUE(Eventually([&] { return watcher_says("0/9 jobs"); }));
  cluster_.KillCoordinator(SIGTERM);
  ASSERT_TRUE(Eventually([&] { return watcher_says("is away; waiting for it"); }));
  cluster_.StartCoordinator();
  cluster_.StartWorker("w1");
  EXPECT_EQ(watcher.Wait(), 0);
  EXPECT_TRUE(watcher_says("9/9 jobs"));
}

TEST_F(AnswersTest, BundleIsVerifiedWithoutItsCoordinator) {
  cluster_.StartWorker("w1");
  ASSERT_EQ(cluster_.RunSweep("small.yaml").exit_code, 0);
  const std::string bundle = cluster_.File("bundle");
  const Output exported = cluster_.Concur({"bundle", "write", "s1", "--out", bundle});
  ASSERT_EQ(exported.exit_code, 0) << exported.err;
  cluster_.KillCoordinator(SIGKILL);
  const Output verified = cluster_.Concur({"bundle", "verify", bundle});
  EXPECT_EQ(verified.exit_code, 0) << verified.out << verified.err;

  const std::string scores = absl::StrCat(bundle, "/scores.csv");
  const absl::StatusOr<std::string> contents = ReadFile(scores);
  ASSERT_TRUE(contents.ok()) << contents.status();
  ASSERT_THAT(*contents, HasSubstr("0.2"));
  cluster_.Write("bundle/scores.csv", absl::StrReplaceAll(*contents, {{"0.2", "0.3"}}));
  const Output damaged = cluster_.Concur({"bundle", "verify", bundle});
  EXPECT_NE(damaged.exit_code, 0);
  EXPECT_THAT(damaged.out + damaged.err, HasSubstr("scores.csv"));
}

}  // namespace
}  // namespace concur::testing
