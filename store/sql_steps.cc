// SPDX-License-Identifier: Apache-2.0
// A SQL store's rows of what jobs report and spend.
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "store/sql_store.h"
#include "store/sql_tables.h"

namespace concur {

absl::Status SqlStore::ChangeSteps(const Batch& batch) {
  const auto write = [&](SqlStatement& statement, const StepRow& row, int64_t* changed) {
    RowWriter writer(statement, checksum_);
    writer.Int(JobKey(row.id));
    writer.Int(static_cast<int64_t>(row.arrival));
    writer.Int(row.attempt.number);
    writer.Text(row.step.name);
    writer.Int(row.step.step);
    writer.Real(row.step.value);
    return writer.Run(changed);
  };
  if (!batch.put_steps.empty()) {
    // Nearly every row is a new one, and only those are counted.
    CONCUR_ASSIGN_OR_RETURN(SqlStatement * add, database_->Prepare(Tables().step.add));
    CONCUR_ASSIGN_OR_RETURN(SqlStatement * replace, database_->Prepare(Tables().step.upsert));
    std::vector<int64_t> added(batch.put_steps.size());
    for (size_t i = 0; i < added.size(); ++i) {
      CONCUR_RETURN_IF_ERROR(write(*add, batch.put_steps[i], &added[i]));
    }
    CONCUR_RETURN_IF_ERROR(database_->Flush());
    for (size_t i = 0; i < added.size(); ++i) {
      if (added[i] > 0) {
        ++RowsOf(batch.put_steps[i].id.sweep).steps;
      } else {
        CONCUR_RETURN_IF_ERROR(write(*replace, batch.put_steps[i], nullptr));
      }
    }
  }
  CONCUR_ASSIGN_OR_RETURN(SqlStatement * drop,
                          database_->Prepare("DELETE FROM step WHERE key = $1 AND arrival < $2"));
  for (const auto& [id, before] : batch.delete_steps) {
    drop->BindInt(1, JobKey(id));
    drop->BindInt(2, static_cast<int64_t>(before));
    CONCUR_RETURN_IF_ERROR(drop->Run(Dropped(id.sweep, &SweepRows::steps)));
  }
  return absl::OkStatus();
}

absl::Status SqlStore::PutSpent(const std::vector<SpentRow>& rows) {
  CONCUR_ASSIGN_OR_RETURN(SqlStatement * drop,
                          database_->Prepare("DELETE FROM spent WHERE key = $1 AND attempt = $2"));
  CONCUR_ASSIGN_OR_RETURN(SqlStatement * add, database_->Prepare(Tables().spent.insert));
  for (const SpentRow& row : rows) {
    // Deleted first, and not replaced, to know whether the row is a new one.
    drop->BindInt(1, JobKey(row.id));
    drop->BindInt(2, row.attempt.number);
    CONCUR_RETURN_IF_ERROR(drop->Run(Dropped(row.id.sweep, &SweepRows::spent)));
    ++RowsOf(row.id.sweep).spent;
    RowWriter writer(*add, checksum_);
    writer.Int(JobKey(row.id));
    writer.Int(row.attempt.number);
    VisitSpent(row.spent, [&](const char*, int64_t number) { writer.Int(number); });
    writer.Int(TimeToInt(row.time));
    CONCUR_RETURN_IF_ERROR(writer.Run());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<StepRow>> SqlStore::ListSteps(JobId job) {
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
