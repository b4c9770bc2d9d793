// SPDX-License-Identifier: Apache-2.0
// A database server that two coordinators use, as PostgresStore uses PostgreSQL: rows, the leader's
// row with an expiry by the server's own clock, connections that break during a commit, commits
// that are carried out after their sender has ended, and times without an answer.
//
// Commits are those of store/fenced_commit.h; also injects its bugs.
//
// One thread.
#ifndef CONCUR_TESTS_SIM_DISKS_DATABASE_H_
#define CONCUR_TESTS_SIM_DISKS_DATABASE_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "store/fenced_commit.h"
#include "store/memory_store.h"
#include "store/store.h"
#include "tests/sim/disks/store_disk.h"
#include "tests/sim/world.h"

namespace concur::sim {

class DatabaseDisk : public StoreDisk {
 public:
  explicit DatabaseDisk(World& world);

  // Takes the leader's row. REQUIRES: MayTake.
  absl::StatusOr<std::unique_ptr<Store>> Open() override;
  void Restart(bool /*power_cut*/) override {}
  bool power_is_cut() const override { return false; }
  bool TookFault() override { return std::exchange(took_fault_, false); }

  // The row is free, or has expired: a stand-by asks.
  bool MayTake() const;
  // The latest holder renews its time, unless the server does not answer.
  bool Renew();
  // The latest holder gives the row back.
  void Release() { held_ = false; }
  // Answers nobody for a while, as during a fail-over, or the leader only.
  void Pause(absl::Duration duration, bool leader_only);
  // When the leader gets answers again.
  absl::Time leader_paused_until() const { return std::max(leader_paused_until_, paused_until_); }

 private:
  class Session;

  absl::Time Now() const { return world_.now() + offset_; }
  // A transaction as it reaches the server.
  bool Execute(const Batch& batch, int64_t epoch, int64_t turn);

  World& world_;
  const absl::Duration offset_;  // between the server's clock and the world's
  MemoryStore rows_;
  LeaderRow row_;
  uint64_t holder_ = 0;  // number of the session that took the row last
  bool held_ = false;
  absl::Time expiry_ = absl::InfinitePast();  // by the server's clock
  absl::Time paused_until_ = absl::InfinitePast();
  absl::Time leader_paused_until_ = absl::InfinitePast();
  bool took_fault_ = false;
};

}  // namespace concur::sim

#endif  // CONCUR_TESTS_SIM_DISKS_DATABASE_H_
