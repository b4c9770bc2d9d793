// SPDX-License-Identifier: Apache-2.0
// A campaign of kills: clients submit, cancel, retry and read back without pause while the
// coordinator and the workers are killed at random moments, and hold the service to everything that
// it acknowledged.
//
// Thread-compatible; RunCampaign starts the clients' threads and joins them.
#ifndef CONCUR_TESTS_E2E_CAMPAIGN_H_
#define CONCUR_TESTS_E2E_CAMPAIGN_H_

#include <cstdint>

#include "tests/e2e/campaign_report.h"
#include "tests/e2e/cluster.h"

namespace concur::testing {

struct CampaignOptions {
  uint64_t seed = 1;
  int coordinator_kills = 5;
  int worker_kills = 5;
  int workers = 2;
  int clients = 3;
  // A kill comes so many acknowledgements after the last one, at most.
  int acknowledgements_per_kill_max = 4;
};

// `cluster` has no process yet. Ends when every kill was done and every sweep has ended.
CampaignReport RunCampaign(Cluster& cluster, const CampaignOptions& options);

}  // namespace concur::testing

#endif  // CONCUR_TESTS_E2E_CAMPAIGN_H_
