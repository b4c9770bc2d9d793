// SPDX-License-Identifier: Apache-2.0
// A Store in a SQL database: rows, checksums and counters (docs/storage.md), the same in SQLite and
// in PostgreSQL. Derived classes open the database and decide what a failed transaction means.
//
// Thread-compatible; owned by the engine's thread.
#ifndef CONCUR_STORE_SQL_STORE_H_
#define CONCUR_STORE_SQL_STORE_H_

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/rows.h"
#include "store/row_codec.h"
#include "store/sql.h"
#include "store/sql_reader.h"
#include "store/store.h"

namespace concur {

class SqlStore : public Store {
 public:
  ~SqlStore() override;

  absl::StatusOr<Snapshot> Load() override;
  absl::StatusOr<Snapshot> LoadPart(ChooseLeftOut choose) override;
  absl::StatusOr<std::vector<AttemptRow>> ListAttempts(JobId job) override;
  absl::StatusOr<std::vector<AttemptRow>> ListSweepAttempts(SweepId sweep) override;
  absl::StatusOr<std::vector<AttemptRow>> ListServiceUse(SweepId sweep) override;
  absl::StatusOr<std::vector<StepRow>> ListSteps(JobId job) override;
  bool IsDeleting() const override { return !deleting_.empty(); }
  // Rows of deleted sweeps that a commit removes.
  void set_delete_rows(int64_t rows) { delete_rows_ = rows; }

 protected:
  explicit SqlStore(std::unique_ptr<SqlDatabase> database);

  // FailedPrecondition after a commit failed.
  absl::Status Usable() const;
  // Saves the batch in one transaction, as commit number commits_ + 1. On an error nothing is
  // saved, but memory is ahead of the database until Forget.
  absl::Status Apply(const Batch& batch);
  // The next Apply reads the database again.
  void Forget() { remembered_ = false; }
  // The last statements of every transaction.
  virtual absl::Status BeforeCommit() { return absl::OkStatus(); }

  std::unique_ptr<SqlDatabase> database_;
  bool failed_ = false;
  int64_t commits_ = 0;

 private:
  absl::StatusOr<std::vector<AttemptRow>> ListAttemptsFrom(JobId first, JobId last);
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

  // Rows that a DELETE dropped, known after Flush.
  struct DroppedRows {
    SweepId sweep;
    int64_t SweepRows::*rows = nullptr;
    int64_t count = 0;
  };

  // Keeps what Commit must know and Load tells: rows, processes and counters.
  void Remember(const StoredState& state);
  absl::Status EnsureRemembered();
  absl::Status DropUnusedProcesses(const StoredState& state);

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
  absl::Status DeleteRows();
  absl::Status PutCounters(const Batch& batch);
  // The number of a worker's process, given out and saved at its first use.
  absl::StatusOr<int64_t> ProcessOf(const std::string& worker, const std::string& incarnation);
  SweepRows& RowsOf(SweepId sweep);

  // Where a DELETE counts the rows that it drops from a sweep's.
  int64_t* Dropped(SweepId sweep, int64_t SweepRows::*rows);
  absl::Status CountDropped();

  bool remembered_ = false;
  absl::btree_set<SweepId> left_out_;  // by the last Load
  absl::flat_hash_map<SweepId, SweepRows> rows_;
  std::vector<SweepId> changed_sweeps_;
  absl::flat_hash_map<SweepId, int32_t> spec_checksums_;
  absl::flat_hash_map<ProcessName, int64_t> processes_;
  // The latest answer of ProcessOf: results come in runs from one worker.
  std::pair<ProcessName, int64_t> latest_process_;
  int64_t next_process_ = 1;
  int64_t blames_ = 0;  // rows
  int64_t blames_dropped_ = 0;
  std::deque<DroppedRows> dropped_;
  std::deque<SweepId> deleting_;  // deleted sweeps that may have rows
  int64_t delete_rows_ = 5'000;
  RowChecksum checksum_;
};

// Names a new database, and makes the counters that are there from the start. Within a transaction.
absl::StatusOr<std::string> MakeDatabaseId(SqlDatabase& database);

}  // namespace concur

#endif  // CONCUR_STORE_SQL_STORE_H_
