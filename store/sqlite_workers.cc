// SPDX-License-Identifier: Apache-2.0
// The SQLite store's rows of workers and of what they are blamed for.
#include <string>
#include <vector>

#include "base/status_macros.h"
#include "store/sqlite_store.h"

namespace concur {

absl::Status SqliteStore::ChangeWorkers(const Batch& batch) {
  CONCUR_ASSIGN_OR_RETURN(
      SqliteStatement * put,
      database_->Prepare("INSERT OR REPLACE INTO worker (name, incarnation, draining, last_seen, "
                         "quarantine_end, quarantine_span, quarantine_reason, checksum) "
                         "VALUES (?1,?2,?3,?4,?5,?6,?7,?8)"));
  for (const WorkerRow& row : batch.put_workers) {
    RowWriter writer(*put, checksum_);
    writer.Text(row.name);
    writer.Text(row.incarnation);
    writer.Int(row.draining ? 1 : 0);
    writer.Int(TimeToInt(row.last_seen));
    if (row.quarantine_end == absl::InfinitePast()) {
      writer.Null();
    } else {
      writer.Int(TimeToInt(row.quarantine_end));
    }
    if (row.quarantine_span == absl::ZeroDuration()) {
      writer.Null();
    } else {
      writer.Int(DurationToInt(row.quarantine_span));
    }
    writer.OptionalText(row.quarantine_reason);
    CONCUR_RETURN_IF_ERROR(writer.Run());
  }
  CONCUR_ASSIGN_OR_RETURN(SqliteStatement * drop,
                          database_->Prepare("DELETE FROM worker WHERE name = ?1"));
  for (const std::string& name : batch.delete_workers) {
    drop->BindText(1, name);
    CONCUR_RETURN_IF_ERROR(drop->Run());
  }
  return absl::OkStatus();
}

absl::Status SqliteStore::PutBlames(const std::vector<BlameRow>& rows) {
  CONCUR_ASSIGN_OR_RETURN(SqliteStatement * drop,
                          database_->Prepare("DELETE FROM blame WHERE worker = ?1 AND kind = ?2"));
  CONCUR_ASSIGN_OR_RETURN(
      SqliteStatement * put,
      database_->Prepare("INSERT INTO blame (worker, kind, sweep, approach, benchmark, is_train, "
                         "failures, success_time, checksum) VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9)"));
  for (const BlameRow& row : rows) {
    const std::string kind = row.kind.ToBytes();  // bound, not copied
    // Deleted first, and not replaced, to know whether the row is a new one.
    drop->BindText(1, row.worker);
    drop->BindBlob(2, kind);
    CONCUR_RETURN_IF_ERROR(drop->Run());
    blames_ -= database_->changes();
    if (row.empty()) {
      continue;
    }
    RowWriter writer(*put, checksum_);
    writer.Text(row.worker);
    writer.Blob(kind);
    writer.Int(static_cast<int64_t>(row.sweep.number));
    writer.Text(row.approach);
    writer.Text(row.benchmark);
    writer.Int(row.is_train ? 1 : 0);
    writer.Int(row.failures);
    if (row.success_time) {
      writer.Int(TimeToInt(*row.success_time));
    } else {
      writer.Null();
    }
    CONCUR_RETURN_IF_ERROR(writer.Run());
    ++blames_;
  }
  return absl::OkStatus();
}

absl::Status SqliteStore::PutWorkerCounters(const Batch& batch) {
  if (!batch.put_workers.empty() || !batch.delete_workers.empty()) {
    CONCUR_ASSIGN_OR_RETURN(const int64_t workers,
                            database_->QueryInt("SELECT count(*) FROM worker"));
    CONCUR_RETURN_IF_ERROR(PutCounter(*database_, kWorkersCounter, workers));
  }
  if (!batch.put_blames.empty()) {
    CONCUR_RETURN_IF_ERROR(PutCounter(*database_, kBlamesCounter, blames_));
  }
  return absl::OkStatus();
}

}  // namespace concur
