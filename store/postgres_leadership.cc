// SPDX-License-Identifier: Apache-2.0
#include "store/postgres_leadership.h"

#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "store/store_lock.h"

namespace concur {
namespace {

// Two that start at once make the table one after the other; the lock ends with its transaction.
constexpr char kMakeTable[] = R"sql(
BEGIN;
SELECT pg_advisory_xact_lock(1131303797);
CREATE TABLE IF NOT EXISTS leader (
  one            INTEGER PRIMARY KEY CHECK (one = 1),
  schema_version BIGINT NOT NULL,
  epoch          BIGINT NOT NULL,
  turn           BIGINT NOT NULL,
  holder         TEXT,
  address        TEXT,
  since          TIMESTAMPTZ,
  expiry         TIMESTAMPTZ
);
INSERT INTO leader (one, schema_version, epoch, turn) VALUES (1, 0, 0, 0) ON CONFLICT DO NOTHING;
COMMIT)sql";

#define CONCUR_EXPIRY "clock_timestamp() + $1 * interval '1 second'"
constexpr char kAcquire[] =
    "UPDATE leader SET expiry = " CONCUR_EXPIRY
    ", holder = $2, address = $3, epoch = epoch + 1, since = clock_timestamp() "
    "WHERE holder IS NULL OR expiry < clock_timestamp() RETURNING epoch, turn, schema_version";
// Not once its sender's time is over: it may have waited for the row.
constexpr char kRenew[] = "UPDATE leader SET expiry = " CONCUR_EXPIRY
                          " WHERE holder = $2 AND clock_timestamp() < statement_timestamp() + "
                          "$3 * interval '1 second'";
#undef CONCUR_EXPIRY
constexpr char kMoveEpoch[] =
    "UPDATE leader SET epoch = epoch + 1 WHERE holder = $1 RETURNING epoch, turn, schema_version";
constexpr char kRelease[] = "UPDATE leader SET holder = NULL WHERE holder = $1";
// A former holder may have been paused within a transaction, which locks rows. Only transactions
// that write have a backend_xid: one that checks the database goes on.
constexpr char kEndOthers[] =
    "SELECT count(*) FILTER (WHERE pg_terminate_backend(pid)) FROM pg_stat_activity "
    "WHERE datname = current_database() AND usename = current_user AND pid <> pg_backend_pid() "
    "AND application_name = 'concur-coordinator' AND backend_xid IS NOT NULL";
constexpr char kLeader[] = "SELECT coalesce(address, 'nobody') FROM leader";
constexpr char kHolder[] =
    "SELECT format('%s, since %s: end it by SIGTERM, or, if it has died, start again after %s', "
    "coalesce(address, 'nobody'), "
    "to_char(since AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'), "
    "to_char(expiry AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')) FROM leader";

// The row that an UPDATE returns; nullopt when it changed none.
absl::StatusOr<std::optional<LeaderRow>> ReadRow(SqlStatement& update) {
  CONCUR_ASSIGN_OR_RETURN(const bool has_row, update.Step());
  if (!has_row) {
    return std::optional<LeaderRow>();
  }
  const LeaderRow row = {update.Int(0), update.Int(1), update.Int(2)};
  // The change is only certain at the statement's end.
  CONCUR_RETURN_IF_ERROR(update.Step().status());
  return std::optional<LeaderRow>(row);
}

absl::Status MakeTable(PostgresDatabase& database) {
  // Users who may not create schemas can use one that exists.
  CONCUR_ASSIGN_OR_RETURN(
      const int64_t schemas,
      database.QueryInt("SELECT count(*) FROM pg_namespace WHERE nspname = 'concur'"));
  if (schemas == 0) {
    CONCUR_RETURN_IF_ERROR(database.Execute("CREATE SCHEMA IF NOT EXISTS concur"));
  }
  absl::Status made = database.Execute(kMakeTable);
  if (!made.ok()) {
    database.Execute("ROLLBACK").IgnoreError();
  }
  return made;
}

}  // namespace

absl::Status Leadership::Refusal(PostgresDatabase& database) {
  CONCUR_ASSIGN_OR_RETURN(const std::string holder, database.QueryText(kHolder));
  return absl::FailedPreconditionError(
      absl::StrCat(database.path(), ": another coordinator leads: ", holder));
}

absl::StatusOr<std::optional<LeaderRow>> Leadership::TryAcquire(PostgresDatabase& database) {
  const absl::Time begin = clock_.Now();
  CONCUR_ASSIGN_OR_RETURN(SqlStatement * acquire, database.Prepare(kAcquire));
  acquire->BindReal(1, absl::ToDoubleSeconds(options_.lease));
  acquire->BindText(2, id_);
  acquire->BindText(3, name_);
  CONCUR_ASSIGN_OR_RETURN(const std::optional<LeaderRow> row, ReadRow(*acquire));
  if (row) {
    const MutexLock lock(mutex_);
    deadline_ = begin + options_.lease - options_.margin;
  }
  return row;
}

absl::StatusOr<std::unique_ptr<Leadership>> Leadership::Acquire(const std::string& uri,
                                                                PostgresDatabase& database,
                                                                LeadershipOptions options) {
  CONCUR_RETURN_IF_ERROR(MakeTable(database));
  CONCUR_ASSIGN_OR_RETURN(std::string id, NewUniqueId());
  std::unique_ptr<Leadership> leadership(new Leadership(uri, std::move(id), std::move(options)));
  char host[256] = "localhost";
  gethostname(host, sizeof host - 1);
  leadership->name_ =
      absl::StrCat(host, " process ", getpid(), " on ", leadership->options_.address);
  absl::StatusOr<std::optional<LeaderRow>> row = leadership->TryAcquire(database);
  std::string leader;
  while ((row.ok() && !row->has_value()) || (database.broken() && !leader.empty())) {
    if (!leadership->options_.wait) {
      return Refusal(database);
    }
    // A connection that is lost meanwhile is made again by the next statement.
    const absl::StatusOr<std::string> now = database.QueryText(kLeader);
    if (now.ok()) {
      leader = *now;
    } else if (leader.empty()) {
      return now.status();
    }
    if (!leadership->options_.wait(leader)) {
      return absl::CancelledError("ended while another coordinator led");
    }
    row = leadership->TryAcquire(database);
  }
  CONCUR_RETURN_IF_ERROR(row.status());
  leadership->acquired_ = **row;
  CONCUR_RETURN_IF_ERROR(database.QueryInt(kEndOthers).status());
  leadership->renewer_ = std::thread([self = leadership.get()] { self->RenewLoop(); });
  leadership->watcher_ = std::thread([self = leadership.get()] { self->WatchLoop(); });
  if (leadership->options_.on_acquired) {
    CONCUR_RETURN_IF_ERROR(leadership->options_.on_acquired(leadership->name_));
  }
  return leadership;
}

Leadership::~Leadership() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  if (renewer_.joinable()) {
    renewer_.join();
    watcher_.join();
  }
}

absl::StatusOr<LeaderRow> Leadership::MoveEpoch(PostgresDatabase& database) const {
  CONCUR_ASSIGN_OR_RETURN(SqlStatement * move, database.Prepare(kMoveEpoch));
  move->BindText(1, id_);
  CONCUR_ASSIGN_OR_RETURN(const std::optional<LeaderRow> row, ReadRow(*move));
  if (!row) {
    return Refusal(database);
  }
  return *row;
}

absl::Status Leadership::Check() {
  const MutexLock lock(mutex_);
  if (lost_.ok() && clock_.Now() >= deadline_) {
    return absl::FailedPreconditionError(
        "the row of the leading coordinator could not be renewed in time: nothing more is saved");
  }
  return lost_;
}

bool Leadership::StoppedWithin(absl::Duration span) {
  const MutexLock lock(mutex_);
  const absl::Time end = clock_.Now() + span;
  for (absl::Time now = clock_.Now(); !stopping_ && now < end; now = clock_.Now()) {
    changed_.WaitWithTimeout(mutex_, end - now);
  }
  return stopping_;
}

absl::Status Leadership::Renew(PostgresDatabase& database) {
  const absl::Time begin = clock_.Now();
  CONCUR_ASSIGN_OR_RETURN(SqlStatement * renew, database.Prepare(kRenew));
  renew->BindReal(1, absl::ToDoubleSeconds(options_.lease));
  renew->BindText(2, id_);
  {
    const MutexLock lock(mutex_);
    renew->BindReal(3, absl::ToDoubleSeconds(deadline_ - begin));
  }
  int64_t rows = 0;
  CONCUR_RETURN_IF_ERROR(renew->Run(&rows));
  if (rows == 0) {
    CONCUR_RETURN_IF_ERROR(Check());
    return Refusal(database);
  }
  const MutexLock lock(mutex_);
  deadline_ = begin + options_.lease - options_.margin;
  changed_.NotifyAll();
  return absl::OkStatus();
}

// Has a connection of its own: commits may be long.
void Leadership::RenewLoop() {
  std::unique_ptr<PostgresDatabase> database;
  for (absl::Duration wait = options_.renew_interval; !StoppedWithin(wait);) {
    absl::Status status;
    if (database == nullptr) {
      auto opened = PostgresDatabase::Open(uri_, options_.lease / 3);
      status = opened.status();
      if (opened.ok()) {
        database = *std::move(opened);
        // One that waits, as for a commit that waits for a replica, would be carried out when this
        // process has ended, and keep the others waiting for its time.
        status = database->Execute(absl::StrCat(
            "SET lock_timeout = ", absl::ToInt64Milliseconds(options_.renew_interval / 4)));
      }
    }
    if (status.ok()) {
      status = Renew(*database);
    }
    if (absl::IsFailedPrecondition(status)) {
      Lose(status);
      break;
    }
    if (database != nullptr && database->broken()) {
      database.reset();
    }
    // A failed attempt is repeated soon; the other thread watches the time.
    wait = status.ok() ? options_.renew_interval : options_.renew_interval / 10;
  }
  if (database == nullptr) {
    if (auto opened = PostgresDatabase::Open(uri_, options_.lease / 3); opened.ok()) {
      database = *std::move(opened);
    }
  }
  if (database != nullptr) {
    if (const absl::StatusOr<SqlStatement*> release = database->Prepare(kRelease); release.ok()) {
      (*release)->BindText(1, id_);
      (*release)->Run().IgnoreError();  // else it expires
    }
  }
}

void Leadership::WatchLoop() {
  for (;;) {
    absl::Duration left;
    {
      const MutexLock lock(mutex_);
      left = deadline_ - clock_.Now();
    }
    // Perhaps it was renewed just now.
    if (left <= absl::ZeroDuration() && !Check().ok()) {
      Lose(Check());
      return;
    }
    if (StoppedWithin(left)) {
      return;
    }
  }
}

void Leadership::Lose(const absl::Status& why) {
  {
    const MutexLock lock(mutex_);
    if (!lost_.ok() || why.ok() || stopping_) {
      return;
    }
    lost_ = why;
  }
  if (options_.on_lost) {
    options_.on_lost(why);
  }
}

}  // namespace concur
