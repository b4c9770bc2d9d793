// SPDX-License-Identifier: Apache-2.0
// Two coordinators whose leader, network or database fails under load: docs/two-coordinators.md.
//
// CONCUR_FAULTS=n has n faults, the kinds in turn, with ten clients (default: one of each kind,
// with four); CONCUR_FAULTS_SEED=n draws other moments. Prints how soon writes went on.

#include <cstdlib>
#include <iostream>

#include "absl/strings/numbers.h"
#include "absl/time/time.h"
#include "tests/e2e/campaign.h"
#include "tests/e2e_two_coordinators/fail_over_trouble.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

int NumberFrom(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe)
  int number = 0;
  return text != nullptr && absl::SimpleAtoi(text, &number) && number > 0 ? number : otherwise;
}

TEST(TwoCoordinatorsTest, NothingAcknowledgedIsLostAndWritesGoOnWhenOneFails) {
  if (PostgresServer::Programs().empty()) {
    GTEST_SKIP() << "/usr/lib/postgresql has no server: scripts/install-packages "
                    "scripts/packages/postgresql.txt installs one";
  }
  constexpr int kFaultsOfATestRun = static_cast<int>(FailOverTrouble::kKinds);
  const int faults = NumberFrom("CONCUR_FAULTS", kFaultsOfATestRun);
  CampaignOptions options;
  options.seed = static_cast<uint64_t>(NumberFrom("CONCUR_FAULTS_SEED", 1));
  options.workers = 3;
  options.clients = faults > kFaultsOfATestRun ? 10 : 4;
  options.submit_chance = 0.03;
  Cluster cluster;
  FailOverTrouble trouble(cluster, options.seed, options.workers, faults);
  const CampaignReport report = RunCampaign(cluster, options, trouble);
  std::cout << trouble.ToString() << report.ToString();
  EXPECT_EQ(trouble.Resumed().size(), static_cast<size_t>(faults));
  EXPECT_LT(FailOverTrouble::Quantile(trouble.Resumed(), 0.99), absl::Seconds(10));
  EXPECT_LT(FailOverTrouble::Quantile(trouble.EachAnswered(), 0.99), absl::Seconds(15));
  EXPECT_EQ(trouble.AttemptsLost(), "0") << "a job was started anew";
  EXPECT_GT(report.submissions, 0);
  EXPECT_GT(report.results_read, 0);
  EXPECT_EQ(report.unexplained, "");
  EXPECT_EQ(report.lost.size(), 0u);
  EXPECT_EQ(report.duplicated.size(), 0u);
  EXPECT_EQ(report.different.size(), 0u);
}

}  // namespace
}  // namespace concur::testing
