// SPDX-License-Identifier: Apache-2.0
// Reads a whole database as untrusted input: checks every row's checksum, types and ranges, and the
// number of rows.
//
// Thread-compatible, as the database it is given.
#ifndef CONCUR_STORE_SQL_READER_H_
#define CONCUR_STORE_SQL_READER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/rows.h"
#include "store/sql.h"
#include "store/store.h"

namespace concur {

// A process of a worker, named once and then by number in the rows of its jobs.
struct ProcessName {
  std::string worker;
  std::string incarnation;

  friend bool operator==(const ProcessName&, const ProcessName&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const ProcessName& name) {
    return H::combine(std::move(h), name.worker, name.incarnation);
  }
};

struct StoredState {
  Snapshot snapshot;
  absl::btree_map<std::string, int64_t> counters;
  absl::flat_hash_map<int64_t, ProcessName> processes;
  absl::flat_hash_set<int64_t> used_processes;  // those that a job names
  absl::btree_map<SweepId, int64_t> attempts;   // number for each sweep; they are not read
  absl::btree_set<SweepId> left_out;            // sweeps of which nothing is here
  absl::btree_set<SweepId> deleting;  // deleted sweeps with rows, of which nothing is here
};

// Names of counters: commits so far, the next sweep's number, and numbers of rows.
inline constexpr char kCommitsCounter[] = "commits";
inline constexpr char kNextSweepCounter[] = "next_sweep";
inline constexpr char kSweepsCounter[] = "sweeps";
inline constexpr char kWorkersCounter[] = "workers";
// These six may be absent: then they are 0, and the next pilot's number 1.
inline constexpr char kBlamesCounter[] = "blames";
inline constexpr char kNextPilotCounter[] = "next_pilot";
inline constexpr char kLastServiceCounter[] = "last_service";
inline constexpr char kResourcesCounter[] = "resources";
inline constexpr char kPoolsCounter[] = "pools";
inline constexpr char kPilotsCounter[] = "pilots";
// Those of sweeps may be absent, too: then they are 0.
std::string JobsCounter(SweepId sweep);      // "jobs s12"
std::string ResultsCounter(SweepId sweep);   // "results s12"
std::string AttemptsCounter(SweepId sweep);  // "attempts s12"
std::string StepsCounter(SweepId sweep);     // "steps s12"
std::string SpentCounter(SweepId sweep);     // "spent s12"
// It is there, and 0, while rows of a deleted sweep are.
std::string DeletingCounter(SweepId sweep);  // "deleting s12"

// The database's own name; "" when it is new, and has none yet.
absl::StatusOr<std::string> ReadDatabaseId(SqlDatabase& database);

// Everything in the database but the attempts, which are counted only, and the sweeps that `choose`
// returns of all. DataLoss, naming the row, at the first that is not as it was written; DataLoss,
// naming the sweep, when rows are missing.
absl::StatusOr<StoredState> ReadState(
    SqlDatabase& database,
    Store::ChooseLeftOut choose = [](const auto&) { return absl::btree_set<SweepId>(); });

// The counters alone. DataLoss when one of those above is missing, which are there from the start.
absl::StatusOr<absl::btree_map<std::string, int64_t>> ReadCounters(SqlDatabase& database);

// The attempts of the jobs with keys from `first` to `last`, by job and then oldest first.
absl::StatusOr<std::vector<AttemptRow>> ReadAttempts(SqlDatabase& database, int64_t first,
                                                     int64_t last);

// Steps that the jobs with keys from `first` to `last` reported, by job and then as they arrived.
absl::Status ReadSteps(SqlDatabase& database, int64_t first, int64_t last,
                       absl::FunctionRef<void(StepRow)> sink);

struct DatabaseContents {
  Snapshot snapshot;
  std::vector<AttemptRow> attempts;  // by job, and then oldest first
};
// All that the database holds, with the reports. REQUIRES: an open transaction that sees one
// moment.
absl::StatusOr<DatabaseContents> ReadContents(SqlDatabase& database);

}  // namespace concur

#endif  // CONCUR_STORE_SQL_READER_H_
