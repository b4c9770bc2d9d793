// SPDX-License-Identifier: Apache-2.0
// Faults of two coordinators on PostgreSQL with a synchronous replica: the one that leads is told
// to end, killed, stopped past its time, or hears nobody and is heard by nobody, database and users
// alike; the server is restarted; the server dies and its replica is promoted, as a tool for high
// availability would do it: commits do not wait for a replica until the next one streams.
//
// After each fault the time is measured until the first write is acknowledged, and until each
// client was answered. Then what ended is started again, and clients check what was acknowledged to
// them.
//
// Thread-compatible.
#ifndef CONCUR_TESTS_E2E_TWO_COORDINATORS_FAIL_OVER_TROUBLE_H_
#define CONCUR_TESTS_E2E_TWO_COORDINATORS_FAIL_OVER_TROUBLE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/random.h"
#include "tests/e2e/campaign.h"
#include "tests/e2e_gray/stall_proxy.h"
#include "tests/testing/postgres_server.h"

namespace concur::testing {

class FailOverTrouble : public Trouble {
 public:
  enum Kind { kTerminate = 0, kKill, kPause, kCut, kRestart, kPromote };
  static constexpr size_t kKinds = 6;

  // So many faults, the kinds in turn. REQUIRES: PostgresServer::Programs().
  FailOverTrouble(Cluster& cluster, uint64_t seed, int workers, int faults);
  ~FailOverTrouble() override;

  void Start() override;
  void Run(CampaignProgress& progress) override;

  // From each fault of a kind to the first acknowledged write that began after it.
  const std::vector<absl::Duration>& Resumed(Kind kind) const { return resumed_[kind]; }
  // The times of all kinds.
  std::vector<absl::Duration> Resumed() const;
  // The same until each client was answered.
  std::vector<absl::Duration> EachAnswered() const;
  // The smallest that `share` of them do not exceed.
  static absl::Duration Quantile(std::vector<absl::Duration> times, double share);
  // Number of attempts that were given up because their worker did not call, so that their jobs
  // were started anew.
  std::string AttemptsLost();
  // A table.
  std::string ToString() const;

 private:
  struct Coordinator;

  void Launch(Coordinator& coordinator);
  void StartAgainWhatEnded();
  // Null: nobody leads.
  Coordinator* Leader();
  // Until one coordinator leads, the other one is a stand-by, and the replica is synchronous.
  void Settle();
  // Until there was a write, and each client was answered.
  void WaitForClients(Kind kind, absl::Time begun, CampaignProgress& progress);
  // Makes the fault; returns when it had its effect.
  void Strike(Kind kind, Coordinator& leader);
  void Mend(Kind kind, Coordinator& leader);
  void Cut(Coordinator& coordinator, bool cut);
  // Connections to a server that is down are refused, on the coordinators' ways to it as well.
  void Refuse(size_t server, bool refused);
  PostgresServer& primary() { return *servers_[primary_]; }
  PostgresServer& replica() { return *servers_[1 - primary_]; }
  void SetSynchronous(const std::string& names);
  // The first column of the first row; "" when the server did not answer.
  std::string Query(const std::vector<std::string>& statements);

  Cluster& cluster_;
  Random random_;
  const int workers_;
  const int faults_;
  std::array<std::unique_ptr<PostgresServer>, 2> servers_;
  size_t primary_ = 0;
  std::array<std::unique_ptr<Coordinator>, 2> coordinators_;
  int launches_ = 0;
  std::array<std::vector<absl::Duration>, kKinds> resumed_;
  std::array<std::vector<absl::Duration>, kKinds> each_answered_;
};

}  // namespace concur::testing

#endif  // CONCUR_TESTS_E2E_TWO_COORDINATORS_FAIL_OVER_TROUBLE_H_
