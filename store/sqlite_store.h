// SPDX-License-Identifier: Apache-2.0
// The Store in a SQLite database: what the coordinator runs on.
//
// One transaction for each Commit, in a write-ahead log that is synced before Commit returns, so
// that what was acknowledged survives a killed process and a power cut. Tables and their checksums
// are described in docs/storage.md. Beside the database lie PATH-wal and PATH-shm (SQLite's),
// PATH.lock (who has it open) and PATH.mark (how many commits were acknowledged).
//
// Thread-compatible; owned by the engine's thread. Readers in other processes, the sqlite3 shell
// among them, disturb nothing.
#ifndef CONCUR_STORE_SQLITE_STORE_H_
#define CONCUR_STORE_SQLITE_STORE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/rows.h"
#include "store/file_watch.h"
#include "store/row_codec.h"
#include "store/sqlite.h"
#include "store/sqlite_reader.h"
#include "store/store.h"
#include "store/store_lock.h"

namespace concur {

struct SqliteStoreOptions {
  int64_t cache_bytes = int64_t{32} << 20;  // SQLite's page cache
  int64_t pages_max = 0;                    // refuse to grow beyond; 0: no limit of our own
  // A checkpoint costs two syncs; at 16 MiB they are rare, and a restart still reads the log at
  // once.
  int64_t checkpoint_pages = 4096;
  std::string vfs;  // SQLite's way to reach files: a name that it knows; "": its usual way
};

class SqliteStore : public Store {
 public:
  // Opens the database at `path`, making or migrating it when needed; its directory must exist.
  // FailedPrecondition when another process has it open (the message names it), when a newer Concur
  // wrote it, or when it is some other program's file. DataLoss when it is damaged or when
  // acknowledged commits are missing from it.
  static absl::StatusOr<std::unique_ptr<SqliteStore>> Open(
      const std::string& path, const SqliteStoreOptions& options = SqliteStoreOptions());
  ~SqliteStore() override;

  absl::StatusOr<Snapshot> Load() override;
  absl::StatusOr<Snapshot> LoadPart(ChooseLeftOut choose) override;
  // ResourceExhausted when the disk is full; the same batch may be tried again, at the cost of
  // reading the database once. After any other error but InvalidArgument every later call is
  // FailedPrecondition: the store must be opened anew.
  absl::Status Commit(const Batch& batch) override;
  absl::StatusOr<std::vector<AttemptRow>> ListAttempts(JobId job) override;
  absl::StatusOr<std::vector<AttemptRow>> ListSweepAttempts(SweepId sweep) override;
  absl::StatusOr<std::vector<StepRow>> ListSteps(JobId job) override;

  // Gives free pages at the end of the file back to the file system, at most so many.
  absl::Status Vacuum(int64_t pages_max);

  // FailedPrecondition when the database or its log was deleted or replaced. What had been
  // committed is saved in PATH.rescued first.
  absl::Status CheckPlace() override;

 private:
  // Which jobs of a sweep have a row, and how many.
  class RowSet {
   public:
    bool Insert(uint32_t index);  // true when it is new
    bool Erase(uint32_t index);   // true when it was there
    int64_t size() const { return size_; }

   private:
    std::vector<bool> rows_;
    int64_t size_ = 0;
  };
  struct SweepRows {
    RowSet jobs;
    RowSet results;
    int64_t attempts = 0;
    int64_t steps = 0;
    int64_t spent = 0;
    bool changed = false;  // within the open transaction
    // Values of the counters of jobs, results, attempts, steps and spendings; 0 also when there is
    // none.
    std::array<int64_t, 5> counted = {};

    std::array<int64_t, 5> Count() const {
      return {jobs.size(), results.size(), attempts, steps, spent};
    }
  };

  SqliteStore(StoreLock lock, std::unique_ptr<SqliteDatabase> database, CommitMark mark);

  absl::Status Usable() const;
  // Keeps what Commit must know and Load tells: rows, processes and counters.
  void Remember(const StoredState& state);
  absl::Status EnsureRemembered();
  absl::Status DropUnusedProcesses(const StoredState& state);

  absl::Status Apply(const Batch& batch);
  absl::Status DropCounter(const std::string& name);
  absl::Status PutSweeps(const std::vector<SweepRow>& rows);
  absl::Status PutJobs(const std::vector<JobRow>& rows);
  absl::Status PutResults(const std::vector<ResultRow>& rows);
  absl::Status DeleteResults(const std::vector<JobId>& ids);
  absl::Status PutAttempts(const std::vector<AttemptRow>& rows);
  absl::Status ChangeSteps(const Batch& batch);
  absl::Status PutSpent(const std::vector<SpentRow>& rows);
  absl::Status ChangeWorkers(const Batch& batch);
  absl::Status PutBlames(const std::vector<BlameRow>& rows);
  absl::Status PutWorkerCounters(const Batch& batch);
  absl::Status ChangeResources(const Batch& batch);
  absl::Status ChangePools(const Batch& batch);
  absl::Status PutPoolCounters(const Batch& batch);
  absl::Status DeleteSweeps(const std::vector<SweepId>& ids);
  absl::Status PutCounters(const Batch& batch);
  // The number of a worker's process, given out and saved at its first use.
  absl::StatusOr<int64_t> ProcessOf(const std::string& worker, const std::string& incarnation);
  SweepRows& RowsOf(SweepId sweep);

  // Destroyed last: the lock is held until the database is closed.
  StoreLock lock_;
  std::unique_ptr<SqliteDatabase> database_;
  CommitMark mark_;
  FileWatch files_;
  bool remembered_ = false;
  absl::btree_set<SweepId> left_out_;  // by the last Load
  bool failed_ = false;
  int64_t commits_ = 0;
  absl::flat_hash_map<SweepId, SweepRows> rows_;
  std::vector<SweepId> changed_sweeps_;
  absl::flat_hash_map<SweepId, int32_t> spec_checksums_;
  absl::flat_hash_map<ProcessName, int64_t> processes_;
  // The latest answer of ProcessOf: results come in runs from one worker.
  std::pair<ProcessName, int64_t> latest_process_;
  int64_t next_process_ = 1;
  int64_t blames_ = 0;  // rows
  RowChecksum checksum_;
};

// Faults of the database at `path`: a sentence for each, which names the row or page, or tells how
// many acknowledged commits are missing; empty when it is sound. Reads only; may run while a
// coordinator has it open.
absl::StatusOr<std::vector<std::string>> CheckDatabase(const std::string& path);

struct DatabaseContents {
  Snapshot snapshot;
  std::vector<AttemptRow> attempts;  // by job, and then oldest first
};
// All that the database at `path` holds at one moment. Reads only; may run while a coordinator has
// it open. DataLoss as SqliteStore::Load.
absl::StatusOr<DatabaseContents> ReadDatabase(const std::string& path);

// The name that the database at `path` got at its first opening, and the number of its commits.
// FailedPrecondition when it has none yet, or another schema. May run while a coordinator has it
// open.
absl::StatusOr<CommitMark::Mark> IdAndCommitsOf(const std::string& path);

// Writes a consistent copy of the database, as of now, to the new file `to`, and checks it. May run
// while a coordinator has it open. AlreadyExists when `to` exists; on failure there is no `to`.
absl::Status BackupDatabase(const std::string& path, const std::string& to);

// Puts the copy `from` in the place of the database at `path`, which no process may have open. The
// old files are kept beside it under names that end in ".replaced". DataLoss, and nothing changed,
// when the copy is damaged.
absl::Status RestoreDatabase(const std::string& from, const std::string& path);

}  // namespace concur

#endif  // CONCUR_STORE_SQLITE_STORE_H_
