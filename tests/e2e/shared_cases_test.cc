// SPDX-License-Identifier: Apache-2.0
// Stored sweeps that were once answered wrongly; tests are skipped without them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/e2e/cluster.h"
#include "tests/testing/shared_data.h"

namespace concur::testing {
namespace {

using ::testing::HasSubstr;

TEST(SweepCasesTest, CompareMinimized) {
  CONCUR_SHARED_DATA_OR_SKIP(path, "../cases/compare-minimized/c.yaml");
  Cluster cluster;
  cluster.StartCoordinator();
  cluster.StartWorker("w1");
  ASSERT_EQ(cluster.Concur({"sweep", "submit", "--wait", path}).exit_code, 0);
  const Output compared = cluster.Concur({"significance", "cmp"});
  EXPECT_THAT(compared.out, HasSubstr("over 0 tests")) << compared.err;
  EXPECT_THAT(compared.out, HasSubstr("good: the mean of its per-example scores, 0.9, is not"));
}

TEST(SweepCasesTest, BestOnOtherSeedsTies) {
  CONCUR_SHARED_DATA_OR_SKIP(path, "../cases/best-on-other-seeds-ties/tie.yaml");
  Cluster cluster;
  cluster.StartCoordinator();
  cluster.StartWorker("w1");
  ASSERT_EQ(cluster.Concur({"sweep", "submit", "--wait", path}).exit_code, 0);
  const Output scores = cluster.Concur({"scores", "tie", "--select", "best-on-other-seeds"});
  EXPECT_THAT(scores.out, HasSubstr("0.2900 ±0.0424  0.7100 ±0.0424")) << scores.err;
}

}  // namespace
}  // namespace concur::testing
