// SPDX-License-Identifier: Apache-2.0
// A campaign: clients submit, cancel, retry and read back without pause while the coordinator and
// the workers are in trouble, as when they are killed at random moments, and hold the service to
// everything that it acknowledged.
//
// Thread-compatible; RunCampaign starts the clients' threads and joins them.
#ifndef CONCUR_TESTS_E2E_CAMPAIGN_H_
#define CONCUR_TESTS_E2E_CAMPAIGN_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "tests/e2e/campaign_client.h"
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
  double submit_chance = 0.2;  // a share of all that a client changes
};

// Options of a coordinator. The lease is short, so that what a dead worker had is soon given to
// another.
inline constexpr char kCampaignOptions[] =
    "apiVersion: concur/v1\nkind: CoordinatorOptions\n"
    "spec: {lease: 5s, sync_park_max: 1s}\n";

// Acknowledgements so far. Thread-safe.
class CampaignProgress {
 public:
  explicit CampaignProgress(int clients) : noted_(static_cast<size_t>(clients)) {}

  // A client did something; `latest` is the latest write that was acknowledged to it.
  void Note(int client, const AcknowledgedWrite& latest);
  void WaitForMore(int more);
  // When the first write that began after `moment` was acknowledged; nullopt if none is within
  // `wait`.
  std::optional<absl::Time> WaitForWrite(absl::Time moment, std::chrono::milliseconds wait);
  // True as soon as each client did something after `moment`; false after `wait`.
  bool WaitForEach(absl::Time moment, std::chrono::milliseconds wait);

  // Each client checks all that was acknowledged to it.
  void AskForChecks() { ++checks_; }
  int checks() const { return checks_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
  std::vector<AcknowledgedWrite> writes_;
  std::vector<absl::Time> noted_;  // when each client did something last
  std::atomic<int> checks_{0};
};

// Faults that happen to the programs.
class Trouble {
 public:
  virtual ~Trouble() = default;
  // Starts the coordinator and the workers.
  virtual void Start() = 0;
  // Makes all of it; returns when there is no more.
  virtual void Run(CampaignProgress& progress) = 0;
};

// `cluster` has no process yet. Ends when every kill was done and every sweep has ended.
CampaignReport RunCampaign(Cluster& cluster, const CampaignOptions& options);
// The same with trouble of another kind.
CampaignReport RunCampaign(Cluster& cluster, const CampaignOptions& options, Trouble& trouble);

}  // namespace concur::testing

#endif  // CONCUR_TESTS_E2E_CAMPAIGN_H_
