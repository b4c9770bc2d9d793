// SPDX-License-Identifier: Apache-2.0
// A SQL store's rows of workers and of what they are blamed for.
#include <string>
#include <vector>

#include "base/status_macros.h"
#include "store/sql_store.h"
#include "store/sql_tables.h"

namespace concur {

absl::Status SqlStore::ChangeWorkers(const Batch& batch) {
  CONCUR_ASSIGN_OR_RETURN(SqlStatement * put, database_->Prepare(Tables().worker.upsert));
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
  CONCUR_ASSIGN_OR_RETURN(SqlStatement * drop,
                          database_->Prepare("DELETE FROM worker WHERE name = $1"));
  for (const std::string& name : batch.delete_workers) {
    drop->BindText(1, name);
    CONCUR_RETURN_IF_ERROR(drop->Run());
  }
  return absl::OkStatus();
}

absl::Status SqlStore::PutBlames(const std::vector<BlameRow>& rows) {
  CONCUR_ASSIGN_OR_RETURN(SqlStatement * drop,
                          database_->Prepare("DELETE FROM blame WHERE worker = $1 AND kind = $2"));
  CONCUR_ASSIGN_OR_RETURN(SqlStatement * put, database_->Prepare(Tables().blame.insert));
  for (const BlameRow& row : rows) {
    const std::string kind = row.kind.ToBytes();  // bound, not copied
    // Deleted first, and not replaced, to know whether the row is a new one.
    drop->BindText(1, row.worker);
    drop->BindBlob(2, kind);
    CONCUR_RETURN_IF_ERROR(drop->Run(&blames_dropped_));
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

absl::Status SqlStore::PutWorkerCounters(const Batch& batch) {
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
