// SPDX-License-Identifier: Apache-2.0
// What a campaign of kills did, what was acknowledged meanwhile, and which promises were broken.
//
// A value.
#ifndef CONCUR_TESTS_E2E_CAMPAIGN_REPORT_H_
#define CONCUR_TESTS_E2E_CAMPAIGN_REPORT_H_

#include <string>
#include <vector>

namespace concur::testing {

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
  int reads = 0;         // of sweeps and of their jobs, by all clients
  // What no order of all clients' calls explains; "" if there is nothing.
  std::string unexplained;
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

}  // namespace concur::testing

#endif  // CONCUR_TESTS_E2E_CAMPAIGN_REPORT_H_
