// SPDX-License-Identifier: Apache-2.0
// One user of a campaign: acts, remembers every acknowledgement, and checks all of it.
//
// Thread-compatible: each client has a thread of its own.
#ifndef CONCUR_TESTS_E2E_CAMPAIGN_CLIENT_H_
#define CONCUR_TESTS_E2E_CAMPAIGN_CLIENT_H_

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/random.h"
#include "core/ids.h"
#include "tests/e2e/campaign_history.h"
#include "tests/e2e/campaign_report.h"
#include "tests/e2e/cluster.h"
#include "tests/sim/history.h"

namespace concur::testing {

// Sweeps of these jobs write "JOB ATTEMPT" into the file `starts` of the cluster when they start.
// Seed kFailingSeed fails until there is a file `mended`; kLongSeed takes 3 s if there is a file
// `long`.
inline constexpr int kCampaignSeeds = 4;
inline constexpr int kFailingSeed = 3;
inline constexpr int kLongSeed = 4;
// The text of a sweep; sweeps of one version have equal cells.
std::string CampaignSweep(const Cluster& cluster, const std::string& name, int version);
// Files that its jobs read and run.
void WriteCampaignFiles(Cluster& cluster);

// When a command that changed something was started, and when it had its answer.
struct AcknowledgedWrite {
  absl::Time begun = absl::InfinitePast();
  absl::Time ended = absl::InfinitePast();
};

// Eval jobs' scores by seed.
using SeedScores = std::map<int, double>;

class CampaignClient {
 public:
  // `cluster` and `history` outlive the client. With `submit_chance` of all that it changes it
  // submits.
  CampaignClient(Cluster& cluster, CampaignHistory& history, int number, uint64_t seed,
                 double submit_chance);

  // Submits a sweep of that version.
  void SubmitVersion(int version);
  // Does one thing, drawn at random, until it is acknowledged.
  void Act();
  // Compares a list of all sweeps with what was acknowledged of its own.
  void CheckSweeps();
  // Nothing is killed any more: retries what failed, waits for every end, and checks everything.
  void Finish();

  struct Seen {
    int attempt = 0;
    std::string state;
    std::string metrics;  // a succeeded job's, as JSON
  };
  struct Known {
    std::string id;
    std::string name;
    int version = 0;
    bool canceled = false;  // a cancel was acknowledged, and no later retry
    // A cancel came after the sweep's end and so changed nothing, or a retry's answer was lost.
    bool unsure = false;
    std::map<std::string, Seen> jobs;
  };
  const std::vector<Known>& sweeps() const { return sweeps_; }
  // The scores of a sweep as read last.
  static SeedScores ScoresOf(const Known& sweep);
  const AcknowledgedWrite& latest_write() const { return latest_write_; }
  CampaignReport report;

 private:
  Output Concur(const std::vector<std::string>& arguments) const;
  // Repeats while the answer is that the coordinator cannot be reached. Nullopt, and a finding of
  // what was lost, after any other refusal.
  std::optional<nlohmann::json> Ask(const std::vector<std::string>& arguments,
                                    const std::string& promise);
  void Cancel(Known& sweep);
  void Retry(Known& sweep);
  void Read(Known& sweep);
  // As a user who only looks: at any client's sweep.
  void LookAt(SweepId sweep);
  std::optional<nlohmann::json> ReadSweep(SweepId sweep);
  std::optional<nlohmann::json> ReadJobs(SweepId sweep);
  void CheckState(const Known& sweep, const nlohmann::json& answer);
  void CheckJob(Known& sweep, const nlohmann::json& job);

  Cluster& cluster_;
  CampaignHistory& history_;
  const int number_;
  const double submit_chance_;
  Random random_;
  std::vector<Known> sweeps_;
  AcknowledgedWrite latest_write_;
};

}  // namespace concur::testing

#endif  // CONCUR_TESTS_E2E_CAMPAIGN_CLIENT_H_
