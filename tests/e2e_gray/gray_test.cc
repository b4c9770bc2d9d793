// SPDX-License-Identifier: Apache-2.0
// Real programs that are slow, stopped, misinformed or half heard: docs/reliability.md, "Real
// faults".
//
// CONCUR_GRAY_FAULTS=n has n faults (default: two of each kind, of at most 400 ms; more than that:
// of up to 7 s, beyond a lease); CONCUR_GRAY_SEED=n draws others. Prints what was done.

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>

#include "absl/strings/numbers.h"
#include "tests/e2e/campaign.h"
#include "tests/e2e_gray/gray_trouble.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

constexpr int kFaultsOfATestRun = 2 * static_cast<int>(GrayTrouble::kKinds);

int NumberFrom(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe)
  int number = 0;
  return text != nullptr && absl::SimpleAtoi(text, &number) && number > 0 ? number : otherwise;
}

TEST(GrayTest, NothingIsLostOrDoubledAndEverythingEndsThoughProgramsAreHalfWell) {
  CampaignOptions options;
  options.seed = static_cast<uint64_t>(NumberFrom("CONCUR_GRAY_SEED", 1));
  const int faults = NumberFrom("CONCUR_GRAY_FAULTS", kFaultsOfATestRun);
  const std::chrono::milliseconds longest(faults > kFaultsOfATestRun ? 7'000 : 400);
  Cluster cluster;
  GrayTrouble trouble(cluster, options.seed, options.workers, faults, longest);
  const CampaignReport report = RunCampaign(cluster, options, trouble);
  std::cout << trouble.ToString() << report.ToString();
  for (const int count : trouble.counts()) {
    EXPECT_GE(count, std::min(faults / static_cast<int>(GrayTrouble::kKinds), 2));
  }
  // The programs felt it.
  EXPECT_GT(trouble.syncs_delayed(), 0);
  EXPECT_GT(trouble.clock_reads(), 0);
  EXPECT_GT(trouble.held_bytes(), 0u);
  EXPECT_GT(report.submissions, 0);
  EXPECT_EQ(report.unexplained, "");
  EXPECT_EQ(report.lost.size(), 0u);
  EXPECT_EQ(report.duplicated.size(), 0u);
  EXPECT_EQ(report.different.size(), 0u);
}

}  // namespace
}  // namespace concur::testing
