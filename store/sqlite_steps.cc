// SPDX-License-Identifier: Apache-2.0
// The SQLite store's rows of what jobs report.
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "store/sqlite_store.h"

namespace concur {

absl::Status SqliteStore::ChangeSteps(const Batch& batch) {
  CONCUR_ASSIGN_OR_RETURN(SqliteStatement * replace,
                          database_->Prepare("DELETE FROM step WHERE key = ?1 AND arrival = ?2"));
  CONCUR_ASSIGN_OR_RETURN(
      SqliteStatement * put,
      database_->Prepare("INSERT INTO step (key, arrival, attempt, name, step, value, checksum) "
                         "VALUES (?1,?2,?3,?4,?5,?6,?7)"));
  for (const StepRow& row : batch.put_steps) {
    // Deleted first, and not replaced, to know whether the row is a new one.
    replace->BindInt(1, JobKey(row.id));
    replace->BindInt(2, static_cast<int64_t>(row.arrival));
    CONCUR_RETURN_IF_ERROR(replace->Run());
    StepsOf(row.id.sweep) += 1 - database_->changes();
    RowWriter writer(*put, checksum_);
    writer.Int(JobKey(row.id));
    writer.Int(static_cast<int64_t>(row.arrival));
    writer.Int(row.attempt.number);
    writer.Text(row.step.name);
    writer.Int(row.step.step);
    writer.Real(row.step.value);
    CONCUR_RETURN_IF_ERROR(writer.Run());
  }
  CONCUR_ASSIGN_OR_RETURN(SqliteStatement * drop,
                          database_->Prepare("DELETE FROM step WHERE key = ?1 AND arrival < ?2"));
  for (const auto& [id, before] : batch.delete_steps) {
    drop->BindInt(1, JobKey(id));
    drop->BindInt(2, static_cast<int64_t>(before));
    CONCUR_RETURN_IF_ERROR(drop->Run());
    StepsOf(id.sweep) -= database_->changes();
  }
  return absl::OkStatus();
}

int64_t& SqliteStore::StepsOf(SweepId sweep) {
  SweepRows& rows = RowsOf(sweep);
  rows.steps_changed = true;
  return rows.steps;
}

absl::StatusOr<std::vector<StepRow>> SqliteStore::ListSteps(JobId job) {
  CONCUR_RETURN_IF_ERROR(Usable());
  std::vector<StepRow> steps;
  if (job.sweep.number > kSweepNumberMax) {
    return steps;
  }
  CONCUR_RETURN_IF_ERROR(ReadSteps(*database_, JobKey(job), JobKey(job),
                                   [&](StepRow row) { steps.push_back(std::move(row)); }));
  return steps;
}

}  // namespace concur
