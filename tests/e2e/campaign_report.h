// SPDX-License-Identifier: Apache-2.0
// Kills of a campaign, what was acknowledged meanwhile, and which promises were broken.
//
// A value.
#ifndef CONCUR_TESTS_E2E_CAMPAIGN_REPORT_H_
#define CONCUR_TESTS_E2E_CAMPAIGN_REPORT_H_

#include <string>
#include <vector>

namespace concur::testing {

struct CampaignReport {
  // Kills that were done to it.
  int coordinator_kills = 0;
  int kills_while_starting = 0;  // those of them before the coordinator listened again
  int worker_kills = 0;
  // Counts of what was acknowledged, and so must never be forgotten.
  int submissions = 0;
  int repeated_submissions = 0;
  int cancels = 0;
  int retries = 0;
  int results_read = 0;  // results of jobs, each when it was first seen
  int reads = 0;         // reads of sweeps and of their jobs, by all clients
  // Describes what no order of all clients' calls explains; "" if there is nothing.
  std::string unexplained;
  // Counts of what there was in the end.
  int sweeps = 0;
  int jobs = 0;
  int attempts_started = 0;
  // Each is a broken promise, in words.
  std::vector<std::string> lost;
  std::vector<std::string> duplicated;
  std::vector<std::string> different;  // scores that are not those of an undisturbed run

  std::string ToString() const;
};

}  // namespace concur::testing

#endif  // CONCUR_TESTS_E2E_CAMPAIGN_REPORT_H_
