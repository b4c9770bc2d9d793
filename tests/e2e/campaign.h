// A campaign of kills: clients submit, cancel, retry and read back without pause while the
// coordinator and the workers are killed at random moments, and hold the service to everything that
// it acknowledged.
//
// Thread-compatible; RunCampaign starts the clients' threads and joins them.
#ifndef CONCUR_TESTS_E2E_CAMPAIGN_H_
#define CONCUR_TESTS_E2E_CAMPAIGN_H_

#include <cstdint>
#include <string>
#include <vector>

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

struct CampaignReport {
  // What was done to it.
  int coordinator_kills = 0;
  int kills_while_starting = 0;  // of them, before the coordinator listened again
  int worker_kills = 0;
  // What was acknowledged, and so must never be forgotten.
  int submissions = 0;
  int repeated_submissions = 0;
  int cancels = 0;
  int retries = 0;
  int results_read = 0;  // results of jobs, each when it was first seen
  // What there was in the end.
  int sweeps = 0;
  int jobs = 0;
  int attempts_started = 0;
  // Each is a broken promise, in words.
  std::vector<std::string> lost;
  std::vector<std::string> duplicated;
  std::vector<std::string> different;  // scores that are not those of an undisturbed run

  std::string ToString() const;
};

// `cluster` has no process yet. Ends when every kill was done and every sweep has ended.
CampaignReport RunCampaign(Cluster& cluster, const CampaignOptions& options);

}  // namespace concur::testing

#endif  // CONCUR_TESTS_E2E_CAMPAIGN_H_
