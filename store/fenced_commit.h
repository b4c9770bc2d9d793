// SPDX-License-Identifier: Apache-2.0
// Commits to a database that another coordinator may take over, and whose answers may be lost
// (docs/design/021-postgresql.md).
//
// Thread-compatible.
#ifndef CONCUR_STORE_FENCED_COMMIT_H_
#define CONCUR_STORE_FENCED_COMMIT_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "store/store.h"

namespace concur {

// The leader's row as of a call that changed it.
struct LeaderRow {
  int64_t epoch = 0;
  int64_t turn = 0;  // number of the latest commit
  int64_t schema_version = 0;
};

// A connection to the database, as the coordinator that leads has it.
class FencedDatabase {
 public:
  virtual ~FencedDatabase() = default;

  // Saves the batch as commit number `turn`, unless the leader's row has another epoch, or another
  // commit than the one before. After an error nothing was saved, but when the connection was lost
  // the outcome is unknown.
  virtual absl::Status Save(const Batch& batch, int64_t epoch, int64_t turn) = 0;
  // Fails as Save does, and saves nothing.
  virtual absl::Status Compare(int64_t epoch, int64_t turn) = 0;
  // The connection was lost.
  virtual bool IsBroken() const = 0;
  // The latest error was the fence's: epoch or turn are others.
  virtual bool IsFenced() const = 0;
  virtual absl::Status Connect() = 0;
  // Gives the row a new epoch, after which no transaction of the old one can commit.
  // FailedPrecondition when the row is another coordinator's.
  virtual absl::StatusOr<LeaderRow> MoveEpoch() = 0;
  // FailedPrecondition when this coordinator's time is over, by its own clock.
  virtual absl::Status CheckTime() = 0;
  virtual void WaitToConnect() = 0;
  // The database in messages.
  virtual const std::string& Name() const = 0;
};

// DataLoss: the database lacks commits.
absl::Status CommitsMissing(const std::string& database, int64_t found, int64_t expected);

// Saves the batch after commit number `commits`, and counts it. When the connection is lost,
// connects again, finds out whether the batch was saved, and saves it if not. ResourceExhausted:
// the same batch may be tried again. After any other error nothing more may be saved.
absl::Status CommitFenced(FencedDatabase& database, const Batch& batch, int64_t& epoch,
                          int64_t& commits);

// OK if commit number `commits` is still the latest one, whatever any clock says.
absl::Status CheckFenced(FencedDatabase& database, int64_t epoch, int64_t commits);

}  // namespace concur

#endif  // CONCUR_STORE_FENCED_COMMIT_H_
