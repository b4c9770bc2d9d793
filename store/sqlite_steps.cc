// SPDX-License-Identifier: Apache-2.0
// The SQLite store's rows of what jobs report.
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "store/sqlite_store.h"

namespace concur {

#define CONCUR_STEP_VALUES                                           \
  " INTO step (key, arrival, attempt, name, step, value, checksum) " \
  "VALUES (?1,?2,?3,?4,?5,?6,?7)"

absl::Status SqliteStore::ChangeSteps(const Batch& batch) {
  CONCUR_ASSIGN_OR_RETURN(SqliteStatement * add,
                          database_->Prepare("INSERT OR IGNORE" CONCUR_STEP_VALUES));
  CONCUR_ASSIGN_OR_RETURN(SqliteStatement * replace,
                          database_->Prepare("REPLACE" CONCUR_STEP_VALUES));
  const auto write = [&](SqliteStatement& statement, const StepRow& row) {
    RowWriter writer(statement, checksum_);
    writer.Int(JobKey(row.id));
    writer.Int(static_cast<int64_t>(row.arrival));
    writer.Int(row.attempt.number);
    writer.Text(row.step.name);
    writer.Int(row.step.step);
    writer.Real(row.step.value);
    return writer.Run();
  };
  for (const StepRow& row : batch.put_steps) {
    // Nearly every row is a new one, and only those are counted.
    CONCUR_RETURN_IF_ERROR(write(*add, row));
    if (database_->changes() > 0) {
      ++RowsOf(row.id.sweep).steps;
    } else {
      CONCUR_RETURN_IF_ERROR(write(*replace, row));
    }
  }
  CONCUR_ASSIGN_OR_RETURN(SqliteStatement * drop,
                          database_->Prepare("DELETE FROM step WHERE key = ?1 AND arrival < ?2"));
  for (const auto& [id, before] : batch.delete_steps) {
    drop->BindInt(1, JobKey(id));
    drop->BindInt(2, static_cast<int64_t>(before));
    CONCUR_RETURN_IF_ERROR(drop->Run());
    RowsOf(id.sweep).steps -= database_->changes();
  }
  return absl::OkStatus();
}

#undef CONCUR_STEP_VALUES

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
