// SPDX-License-Identifier: Apache-2.0
// The Store in PostgreSQL: the same rows as in SQLite, in the schema `concur` of a database.
//
// One transaction for each Commit, whose last statement saves the commit's number in the row of the
// leader (store/postgres_leadership.h), if that row still has this store's epoch and the commit
// before. A commit whose outcome is unknown is looked up there.
//
// Thread-compatible; owned by the engine's thread.
#ifndef CONCUR_STORE_POSTGRES_STORE_H_
#define CONCUR_STORE_POSTGRES_STORE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/rows.h"
#include "store/fenced_commit.h"
#include "store/postgres.h"
#include "store/postgres_leadership.h"
#include "store/sql_reader.h"
#include "store/sql_store.h"

namespace concur {

class PostgresStore : public SqlStore, private FencedDatabase {
 public:
  // Opens the database of a connection URI, making or migrating its tables when needed.
  // FailedPrecondition when another coordinator leads (the message names it), or when a newer
  // Concur wrote it. DataLoss when it is damaged.
  static absl::StatusOr<std::unique_ptr<PostgresStore>> Open(const std::string& uri,
                                                             LeadershipOptions options);
  ~PostgresStore() override;

  // ResourceExhausted when the server's disk is full; the same batch may be tried again. After a
  // lost connection, connects again and finds out whether the batch was saved; when it was not,
  // saves it. FailedPrecondition when another coordinator leads. After any error but these two,
  // too, and InvalidArgument, the store must be opened anew.
  absl::Status Commit(const Batch& batch) override;
  // FailedPrecondition when another coordinator leads.
  absl::Status CheckPlace() override;
  // Asks the server.
  absl::Status CheckLeads() override;

  // The database's own name, given at its first opening.
  const std::string& id() const { return id_; }
  // The server and the database, without a password.
  const std::string& address() const { return database_->path(); }

  // Logs a warning when the server's setting fsync is off.
  void WarnIfUnsynced();

 private:
  PostgresStore(std::unique_ptr<PostgresDatabase> database, std::unique_ptr<Leadership> leadership);

  // Refuses, by an error of the statement, unless the leader's row has this epoch and the commit
  // before.
  absl::Status BeforeCommit() override;
  absl::Status Migrate();

  absl::Status Save(const Batch& batch, int64_t epoch, int64_t turn) override;
  absl::Status Compare(int64_t epoch, int64_t turn) override;
  bool IsBroken() const override;
  bool IsFenced() const override;
  absl::Status Connect() override;
  absl::StatusOr<LeaderRow> MoveEpoch() override;
  absl::Status CheckTime() override;
  void WaitToConnect() override;
  const std::string& Name() const override { return address(); }

  PostgresDatabase& postgres_;  // the base's
  std::unique_ptr<Leadership> leadership_;
  int64_t epoch_;
  bool is_ahead_ = false;  // memory has rows that were perhaps not saved
  std::string id_;
};

// Faults of the rows, as CheckDatabase (store/sqlite_store.h). May run while a coordinator leads.
absl::StatusOr<std::vector<std::string>> CheckPostgres(const std::string& uri);

// All that the database holds at one moment, as ReadDatabase.
absl::StatusOr<DatabaseContents> ReadPostgres(const std::string& uri);

}  // namespace concur

#endif  // CONCUR_STORE_POSTGRES_STORE_H_
