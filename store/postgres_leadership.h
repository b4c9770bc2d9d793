// SPDX-License-Identifier: Apache-2.0
// Leadership of one coordinator, by the one row of the table `leader`: who holds it, since when,
// until when by the database's clock, and an epoch that grows with every holder.
//
// The holder renews the row. Every commit has the epoch in its condition (PostgresStore), so that a
// late holder changes nothing whatever its clock says; expiry only decides when another may take
// the row, and when a holder that cannot renew must end.
//
// Thread-safe.
#ifndef CONCUR_STORE_POSTGRES_LEADERSHIP_H_
#define CONCUR_STORE_POSTGRES_LEADERSHIP_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "store/fenced_commit.h"
#include "store/postgres.h"

namespace concur {

struct LeadershipOptions {
  std::string address;  // where the coordinator listens, for people
  absl::Duration lease = absl::Seconds(6);
  absl::Duration renew_interval = absl::Seconds(2);
  // A holder that could not renew ends this much before its time.
  absl::Duration margin = absl::Milliseconds(500);
  // Called again and again while another coordinator leads, with its name: waits a moment; false
  // gives up. Null: nobody waits.
  std::function<bool(const std::string& leader)> wait;
  // Called when this coordinator has taken the row, with its name as `wait` of others gets it. An
  // error gives the row back. May be null.
  std::function<absl::Status(const std::string& leader)> on_acquired;
  // Called once, by a thread of its own, when the row is another's or could not be renewed in time:
  // the process must end. May be null.
  std::function<void(const absl::Status& why)> on_lost;
};

class Leadership {
 public:
  // Takes the row, which is made if needed. When another coordinator has it: FailedPrecondition,
  // naming the holder and its time, or, with options.wait, waits until the row is free or expired;
  // Cancelled when `wait` gives up. `database` is used by this call only.
  static absl::StatusOr<std::unique_ptr<Leadership>> Acquire(const std::string& uri,
                                                             PostgresDatabase& database,
                                                             LeadershipOptions options);
  // Gives the row back at once.
  ~Leadership();
  Leadership(const Leadership&) = delete;
  Leadership& operator=(const Leadership&) = delete;

  // FailedPrecondition when it was lost, or has not been renewed in time.
  absl::Status Check();

  // The row as of the call that took it.
  const LeaderRow& acquired() const { return acquired_; }
  // As FencedDatabase::MoveEpoch.
  absl::StatusOr<LeaderRow> MoveEpoch(PostgresDatabase& database) const;

  // "another coordinator leads: …".
  static absl::Status Refusal(PostgresDatabase& database);

 private:
  Leadership(std::string uri, std::string id, LeadershipOptions options)
      : uri_(std::move(uri)), id_(std::move(id)), options_(std::move(options)) {}

  // nullopt: another has it.
  absl::StatusOr<std::optional<LeaderRow>> TryAcquire(PostgresDatabase& database);
  void RenewLoop();
  void WatchLoop();
  absl::Status Renew(PostgresDatabase& database);
  void Lose(const absl::Status& why);
  // Waits; true when this object is to end.
  bool StoppedWithin(absl::Duration span);

  const std::string uri_;
  const std::string id_;  // no other holder's
  const LeadershipOptions options_;
  SystemClock clock_;
  std::string name_;
  LeaderRow acquired_;
  std::thread renewer_;
  std::thread watcher_;
  Mutex mutex_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Time deadline_ ABSL_GUARDED_BY(mutex_);
  absl::Status lost_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace concur

#endif  // CONCUR_STORE_POSTGRES_LEADERSHIP_H_
