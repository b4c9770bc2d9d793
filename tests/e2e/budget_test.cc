// SPDX-License-Identifier: Apache-2.0
// Dollars that commands report: summed over kills, and kept within a budget.

#include <csignal>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/e2e/cluster.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

using nlohmann::json;

// A job spends one dollar, waits for a file, and spends another one.
std::string SpendingSweep(const std::string& go) {
  return absl::StrCat(R"(apiVersion: concur/v1
kind: Sweep
metadata: {name: paid}
spec:
  approaches:
    - metadata: {name: api}
      spec:
        version: "1"
        predict:
          command: [sh, -c, 'spend() (echo "concur-metric {{\"step\": 1, \"name\": \"usd\", \"value\": $1}}");
            spend 1; while test ! -e )",
                      go, R"(; do sleep 0.05; done; spend 2; : {test} {seed};
            printf "{{\"acc\": 1, \"tokens_in\": 50}}" > {metrics}']
  benchmarks:
    - metadata: {name: b}
      spec: {format: file, test: task.txt, metric: acc}
  seeds: [1, 2, 3]
  budget: {usd: 5}
)");
}

class BudgetTest : public ::testing::Test {
 protected:
  json Get() const {
    return json::parse(cluster_.Concur({"-o", "json", "sweep", "get", "paid"}).out);
  }
  double Usd() const { return Get()["spent"]["usd"]; }

  Cluster cluster_;
};

TEST_F(BudgetTest, KillsLoseNoDollarAndTheBudgetHoldsTheNextJobUntilItIsRaised) {
  cluster_.Write("task.txt", "x");
  cluster_.Write("paid.yaml", SpendingSweep(cluster_.File("go")));
  cluster_.StartCoordinator();
  cluster_.StartWorker("w1", 4);
  ASSERT_EQ(cluster_.Concur({"sweep", "submit", cluster_.File("paid.yaml")}).exit_code, 0);
  ASSERT_TRUE(Eventually([&] { return Usd() == 1; }));  // the probe runs alone
  EXPECT_EQ(Get()["counts"]["running"], 1);

  cluster_.KillCoordinator(SIGKILL);
  cluster_.KillWorker("w1", SIGKILL);
  cluster_.StartCoordinator();
  EXPECT_EQ(Usd(), 1);
  cluster_.StartWorker("w1", 4);
  ASSERT_TRUE(Eventually([&] { return Usd() == 2; }));  // the second attempt's

  // It ends with 3 dollars in all: another one like it would pass 5.
  cluster_.Write("go", "");
  ASSERT_TRUE(Eventually([&] { return Get()["over_budget"] == true; }));
  EXPECT_EQ(Get()["state"], "paused");
  EXPECT_EQ(Get()["counts"]["succeeded"], 1);
  EXPECT_THAT(cluster_.Concur({"job", "explain", "s1/2"}).out,
              HasSubstr("paused by its budget of $5.00: $3.00 spent"));
  EXPECT_THAT(cluster_.Concur({"top", "--once"}).out, HasSubstr("--budget-usd N` raises it"));
  cluster_.KillCoordinator(SIGKILL);
  cluster_.StartCoordinator();
  EXPECT_EQ(Get()["state"], "paused");

  ASSERT_EQ(cluster_.Concur({"sweep", "set", "paid", "--budget-usd", "20"}).exit_code, 0);
  EXPECT_EQ(cluster_.Concur({"sweep", "wait", "paid"}).exit_code, 0);
  EXPECT_EQ(Usd(), 7);
  const json usage = json::parse(cluster_.Concur({"-o", "json", "usage", "paid"}).out);
  ASSERT_EQ(usage.size(), 1u);
  EXPECT_EQ(usage[0]["usd"], 7);
  EXPECT_EQ(usage[0]["tokens_in"], 150);

  // Reused results cost nothing.
  EXPECT_EQ(cluster_.RunSweep("paid.yaml").exit_code, 0);
  EXPECT_EQ(json::parse(cluster_.Concur({"-o", "json", "sweep", "get", "s2"}).out)["spent"]["usd"],
            0);
}

}  // namespace
}  // namespace concur::testing
