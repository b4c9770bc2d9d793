// SPDX-License-Identifier: Apache-2.0
// Real programs, killed at random moments under load: docs/reliability.md, "Real faults".
//
// CONCUR_CAMPAIGN_KILLS=n kills the coordinator n times and workers as often (default: 5);
// CONCUR_CAMPAIGN_SEED=n draws other moments. Prints what was done and acknowledged.
#include "tests/e2e/campaign.h"

#include <cstdlib>
#include <iostream>

#include "absl/strings/numbers.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

int NumberFrom(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe)
  int number = 0;
  return text != nullptr && absl::SimpleAtoi(text, &number) && number > 0 ? number : otherwise;
}

TEST(CampaignTest, NothingAcknowledgedIsLostOrDoubledThoughProgramsAreKilled) {
  CampaignOptions options;
  options.seed = static_cast<uint64_t>(NumberFrom("CONCUR_CAMPAIGN_SEED", 1));
  options.coordinator_kills = options.worker_kills = NumberFrom("CONCUR_CAMPAIGN_KILLS", 5);
  Cluster cluster;
  const CampaignReport report = RunCampaign(cluster, options);
  std::cout << report.ToString();
  EXPECT_EQ(report.coordinator_kills, options.coordinator_kills);
  EXPECT_EQ(report.worker_kills, options.worker_kills);
  EXPECT_GT(report.submissions, 0);
  EXPECT_GT(report.results_read, 0);
  EXPECT_EQ(report.unexplained, "");
  EXPECT_EQ(report.lost.size(), 0u);
  EXPECT_EQ(report.duplicated.size(), 0u);
  EXPECT_EQ(report.different.size(), 0u);
}

}  // namespace
}  // namespace concur::testing
