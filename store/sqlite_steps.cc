// SPDX-License-Identifier: Apache-2.0
// The SQLite store's rows of what jobs report and spend.
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

absl::Status SqliteStore::PutSpent(const std::vector<SpentRow>& rows) {
  CONCUR_ASSIGN_OR_RETURN(SqliteStatement * drop,
                          database_->Prepare("DELETE FROM spent WHERE key = ?1 AND attempt = ?2"));
  CONCUR_ASSIGN_OR_RETURN(
      SqliteStatement * add,
      database_->Prepare("INSERT INTO spent (key, attempt, tokens_in, tokens_out, usd_micros, "
                         "time, checksum) VALUES (?1,?2,?3,?4,?5,?6,?7)"));
  for (const SpentRow& row : rows) {
    // Deleted first, and not replaced, to know whether the row is a new one.
    drop->BindInt(1, JobKey(row.id));
    drop->BindInt(2, row.attempt.number);
    CONCUR_RETURN_IF_ERROR(drop->Run());
    RowsOf(row.id.sweep).spent += 1 - database_->changes();
    RowWriter writer(*add, checksum_);
    writer.Int(JobKey(row.id));
    writer.Int(row.attempt.number);
    VisitSpent(row.spent, [&](const char*, int64_t number) { writer.Int(number); });
    writer.Int(TimeToInt(row.time));
    CONCUR_RETURN_IF_ERROR(writer.Run());
  }
  return absl::OkStatus();
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
