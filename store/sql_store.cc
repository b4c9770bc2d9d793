// SPDX-License-Identifier: Apache-2.0
#include "store/sql_store.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "store/row_rules.h"
#include "store/sql_tables.h"
#include "store/store_lock.h"

namespace concur {
namespace {

constexpr size_t kUnusedProcessesMax = 1000;
// In the order of SweepRows::Count.
constexpr std::array<std::string (*)(SweepId), 5> kSweepCounters = {
    JobsCounter, ResultsCounter, AttemptsCounter, StepsCounter, SpentCounter};

bool IsSorted(const std::vector<Metric>& metrics) {
  return std::is_sorted(metrics.begin(), metrics.end(), ComesBefore);
}

}  // namespace

SqlStore::SqlStore(std::unique_ptr<SqlDatabase> database) : database_(std::move(database)) {}

SqlStore::~SqlStore() = default;

bool SqlStore::RowSet::Insert(uint32_t index) {
  if (index >= rows_.size()) {
    rows_.resize(size_t{index} + 1);
  }
  if (rows_[index]) {
    return false;
  }
  rows_[index] = true;
  ++size_;
  return true;
}

bool SqlStore::RowSet::Erase(uint32_t index) {
  if (index >= rows_.size() || !rows_[index]) {
    return false;
  }
  rows_[index] = false;
  --size_;
  return true;
}

absl::Status SqlStore::Usable() const {
  if (failed_) {
    return absl::FailedPreconditionError(
        absl::StrCat(database_->path(), ": a commit failed; open the store anew"));
  }
  return absl::OkStatus();
}

SqlStore::SweepRows& SqlStore::RowsOf(SweepId sweep) {
  SweepRows& rows = rows_[sweep];
  if (!rows.changed) {
    rows.changed = true;
    changed_sweeps_.push_back(sweep);
  }
  return rows;
}

void SqlStore::Remember(const StoredState& state) {
  rows_.clear();
  for (const JobRow& row : state.snapshot.jobs) {
    rows_[row.id.sweep].jobs.Insert(row.id.index);
  }
  for (const ResultRow& row : state.snapshot.results) {
    rows_[row.id.sweep].results.Insert(row.id.index);
  }
  for (const auto& [sweep, attempts] : state.attempts) {
    rows_[sweep].attempts = attempts;
  }
  for (const StepSeriesRow& row : state.snapshot.steps) {
    rows_[row.id.sweep].steps += row.series.count;
  }
  for (const SpentRow& row : state.snapshot.spent) {
    ++rows_[row.id.sweep].spent;
  }
  for (auto& [sweep, rows] : rows_) {
    rows.counted = rows.Count();
  }
  spec_checksums_.clear();
  for (const SweepRow& row : state.snapshot.sweeps) {
    checksum_.Clear();
    checksum_.AddBytes(0, row.spec);
    spec_checksums_[row.id] = checksum_.Finish();
  }
  for (const SweepId& id : state.left_out) {
    spec_checksums_[id] = 0;  // it counts as a sweep
  }
  deleting_.assign(state.deleting.begin(), state.deleting.end());
  processes_.clear();
  for (const auto& [id, name] : state.processes) {
    processes_[name] = id;
    next_process_ = std::max(next_process_, id + 1);
  }
  latest_process_ = {};
  blames_ = static_cast<int64_t>(state.snapshot.blames.size());
  remembered_ = true;
}

absl::Status SqlStore::EnsureRemembered() {
  if (remembered_) {
    return absl::OkStatus();
  }
  const auto choose = [this](const std::vector<SweepRow>& sweeps) {
    absl::btree_set<SweepId> left_out;  // those that were not deleted since
    for (const SweepRow& row : sweeps) {
      if (left_out_.contains(row.id)) {
        left_out.insert(row.id);
      }
    }
    return left_out;
  };
  CONCUR_ASSIGN_OR_RETURN(const StoredState state, ReadState(*database_, choose));
  Remember(state);
  return absl::OkStatus();
}

absl::StatusOr<Snapshot> SqlStore::Load() {
  return LoadPart([](const std::vector<SweepRow>&) { return absl::btree_set<SweepId>(); });
}

absl::StatusOr<Snapshot> SqlStore::LoadPart(ChooseLeftOut choose) {
  CONCUR_RETURN_IF_ERROR(Usable());
  CONCUR_ASSIGN_OR_RETURN(StoredState state, ReadState(*database_, choose));
  left_out_ = state.left_out;
  // Jobs that were not read may name some.
  if (left_out_.empty() &&
      state.processes.size() > 2 * state.used_processes.size() + kUnusedProcessesMax) {
    CONCUR_RETURN_IF_ERROR(DropUnusedProcesses(state));
    absl::erase_if(state.processes,
                   [&](const auto& entry) { return !state.used_processes.contains(entry.first); });
  }
  Remember(state);
  return std::move(state.snapshot);
}

absl::Status SqlStore::DropUnusedProcesses(const StoredState& state) {
  SqlTransaction transaction(*database_);
  CONCUR_RETURN_IF_ERROR(transaction.Begin());
  CONCUR_ASSIGN_OR_RETURN(SqlStatement * statement,
                          database_->Prepare("DELETE FROM process WHERE id = $1"));
  for (const auto& [id, name] : state.processes) {
    if (!state.used_processes.contains(id)) {
      statement->BindInt(1, id);
      CONCUR_RETURN_IF_ERROR(statement->Run());
    }
  }
  CONCUR_RETURN_IF_ERROR(BeforeCommit());
  return transaction.Commit();
}

absl::Status SqlStore::Apply(const Batch& batch) {
  CONCUR_RETURN_IF_ERROR(EnsureRemembered());
  dropped_.clear();
  blames_dropped_ = 0;
  SqlTransaction transaction(*database_);
  CONCUR_RETURN_IF_ERROR(transaction.Begin());
  changed_sweeps_.clear();
  CONCUR_RETURN_IF_ERROR(PutSweeps(batch.put_sweeps));
  CONCUR_RETURN_IF_ERROR(PutJobs(batch.put_jobs));
  CONCUR_RETURN_IF_ERROR(PutResults(batch.put_results));
  CONCUR_RETURN_IF_ERROR(DeleteResults(batch.delete_results));
  CONCUR_RETURN_IF_ERROR(PutAttempts(batch.put_attempts));
  CONCUR_RETURN_IF_ERROR(ChangeSteps(batch));
  CONCUR_RETURN_IF_ERROR(PutSpent(batch.put_spent));
  CONCUR_RETURN_IF_ERROR(ChangeWorkers(batch));
  CONCUR_RETURN_IF_ERROR(PutBlames(batch.put_blames));
  CONCUR_RETURN_IF_ERROR(ChangeResources(batch));
  CONCUR_RETURN_IF_ERROR(ChangePools(batch));
  if (!dropped_.empty() || !batch.put_blames.empty()) {
    CONCUR_RETURN_IF_ERROR(CountDropped());
  }
  CONCUR_RETURN_IF_ERROR(DeleteSweeps(batch.delete_sweeps));
  CONCUR_RETURN_IF_ERROR(DeleteRows());
  CONCUR_RETURN_IF_ERROR(PutCounters(batch));
  CONCUR_RETURN_IF_ERROR(BeforeCommit());
  return transaction.Commit();
}

int64_t* SqlStore::Dropped(SweepId sweep, int64_t SweepRows::*rows) {
  return &dropped_.emplace_back(DroppedRows{sweep, rows}).count;
}

absl::Status SqlStore::CountDropped() {
  CONCUR_RETURN_IF_ERROR(database_->Flush());
  for (const DroppedRows& dropped : dropped_) {
    RowsOf(dropped.sweep).*dropped.rows -= dropped.count;
  }
  blames_ -= blames_dropped_;
  return absl::OkStatus();
}

absl::Status SqlStore::DropCounter(const std::string& name) {
  CONCUR_ASSIGN_OR_RETURN(SqlStatement * statement,
                          database_->Prepare("DELETE FROM counter WHERE name = $1"));
  statement->BindText(1, name);
  return statement->Run();
}

absl::Status SqlStore::PutCounters(const Batch& batch) {
  CONCUR_RETURN_IF_ERROR(PutCounter(*database_, kCommitsCounter, ++commits_));
  if (batch.next_sweep_number) {
    CONCUR_RETURN_IF_ERROR(
        PutCounter(*database_, kNextSweepCounter, static_cast<int64_t>(*batch.next_sweep_number)));
  }
  if (batch.last_service_number) {
    CONCUR_RETURN_IF_ERROR(PutCounter(*database_, kLastServiceCounter, *batch.last_service_number));
  }
  if (!batch.put_sweeps.empty() || !batch.delete_sweeps.empty()) {
    CONCUR_RETURN_IF_ERROR(
        PutCounter(*database_, kSweepsCounter, static_cast<int64_t>(spec_checksums_.size())));
  }
  for (const SweepId& sweep : changed_sweeps_) {
    const auto it = rows_.find(sweep);
    if (it == rows_.end() || !it->second.changed) {
      continue;  // deleted since
    }
    SweepRows& rows = it->second;
    rows.changed = false;
    const std::array<int64_t, 5> counts = rows.Count();
    for (size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] != rows.counted[i]) {
        CONCUR_RETURN_IF_ERROR(PutCounter(*database_, kSweepCounters[i](sweep), counts[i]));
      }
    }
    rows.counted = counts;
  }
  CONCUR_RETURN_IF_ERROR(PutWorkerCounters(batch));
  return PutPoolCounters(batch);
}

absl::Status SqlStore::PutSweeps(const std::vector<SweepRow>& rows) {
  CONCUR_ASSIGN_OR_RETURN(SqlStatement * put, database_->Prepare(Tables().sweep.upsert));
  CONCUR_ASSIGN_OR_RETURN(SqlStatement * put_spec, database_->Prepare(Tables().sweep_spec.upsert));
  for (const SweepRow& row : rows) {
    RowWriter writer(*put, checksum_);
    writer.Int(static_cast<int64_t>(row.id.number));
    writer.Text(row.owner);
    writer.Text(row.name);
    writer.Text(row.request_id);
    writer.Int(TimeToInt(row.create_time));
    writer.Int(row.paused ? 1 : 0);
    writer.Int(row.canceled || (row.retry && row.retry->was_canceled) ? 1 : 0);
    if (row.end_time) {
      writer.Int(TimeToInt(*row.end_time));
    } else {
      writer.Null();
    }
    if (row.forecast) {
      writer.Int(DurationToInt(*row.forecast));
    } else {
      writer.Null();
    }
    if (row.priority) {
      writer.Int(*row.priority);
    } else {
      writer.Null();
    }
    if (row.retry) {
      writer.Int(static_cast<int64_t>(row.retry->next));
    } else {
      writer.Null();
    }
    if (row.budget_usd_micros) {
      writer.Int(*row.budget_usd_micros);
    } else {
      writer.Null();
    }
    if (row.over_budget) {
      writer.Int(1);
    } else {
      writer.Null();
    }
    CONCUR_RETURN_IF_ERROR(writer.Run());
    // A spec may have megabytes: it is written when it changes, by what a search chooses.
    checksum_.Clear();
    checksum_.AddBytes(0, row.spec);
    const int32_t checksum = checksum_.Finish();
    const auto [it, inserted] = spec_checksums_.try_emplace(row.id, checksum);
    if (inserted || it->second != checksum) {
      it->second = checksum;
      RowWriter spec_writer(*put_spec, checksum_);
      spec_writer.Int(static_cast<int64_t>(row.id.number));
      spec_writer.Blob(row.spec);
      CONCUR_RETURN_IF_ERROR(spec_writer.Run());
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> SqlStore::ProcessOf(const std::string& worker,
                                            const std::string& incarnation) {
  if (latest_process_.second != 0 && latest_process_.first.worker == worker &&
      latest_process_.first.incarnation == incarnation) {
    return latest_process_.second;
  }
  const auto [it, inserted] =
      processes_.try_emplace(ProcessName{worker, incarnation}, next_process_);
  if (inserted) {
    CONCUR_ASSIGN_OR_RETURN(SqlStatement * statement, database_->Prepare(Tables().process.insert));
    RowWriter writer(*statement, checksum_);
    writer.Int(next_process_++);
    writer.Text(worker);
    writer.Text(incarnation);
    CONCUR_RETURN_IF_ERROR(writer.Run());
  }
  latest_process_ = *it;
  return it->second;
}

absl::Status SqlStore::PutJobs(const std::vector<JobRow>& rows) {
  CONCUR_ASSIGN_OR_RETURN(SqlStatement * statement, database_->Prepare(Tables().job.upsert));
  for (const JobRow& row : rows) {
    int64_t process = 0;
    if (!row.worker.empty() || !row.incarnation.empty()) {
      CONCUR_ASSIGN_OR_RETURN(process, ProcessOf(row.worker, row.incarnation));
    }
    RowWriter writer(*statement, checksum_);
    writer.Int(JobKey(row.id));
    writer.Int(static_cast<int64_t>(row.state));
    writer.Int(row.attempt.number);
    writer.Int(row.failures);
    writer.Int(row.lost);
    writer.Int(static_cast<int64_t>(row.failure));
    if (row.not_before == absl::InfinitePast()) {
      writer.Null();
    } else {
      writer.Int(TimeToInt(row.not_before));
    }
    if (process == 0) {
      writer.Null();
    } else {
      writer.Int(process);
    }
    writer.Int(static_cast<int64_t>(row.gpu_mask));
    if (row.reused_from) {
      writer.Int(JobKey(*row.reused_from));
    } else {
      writer.Null();
    }
    writer.Int(row.system_collected ? 1 : 0);
    writer.Int(row.no_reuse ? 1 : 0);
    writer.Int(TimeToInt(row.update_time));
    if (row.deaths == 0) {
      writer.Null();
      writer.Null();
    } else {
      writer.Int(row.deaths);
      writer.Int(row.death_shared ? 1 : 0);
    }
    if (row.rung == 0) {
      writer.Null();
    } else {
      writer.Int(row.rung);
    }
    if (row.whole) {
      writer.Int(1);
    } else {
      writer.Null();
    }
    writer.OptionalCheckpoint(row.checkpoint);
    CONCUR_RETURN_IF_ERROR(writer.Run());
    RowsOf(row.id.sweep).jobs.Insert(row.id.index);
  }
  return absl::OkStatus();
}

absl::Status SqlStore::PutResults(const std::vector<ResultRow>& rows) {
  CONCUR_ASSIGN_OR_RETURN(SqlStatement * statement, database_->Prepare(Tables().result.upsert));
  for (const ResultRow& row : rows) {
    std::optional<JobResult> sorted;
    if (!IsSorted(row.result.metrics)) {
      sorted = Canonical(row.result);
    }
    RowWriter writer(*statement, checksum_);
    writer.Int(JobKey(row.id));
    writer.Result(sorted ? *sorted : row.result);
    CONCUR_RETURN_IF_ERROR(writer.Run());
    RowsOf(row.id.sweep).results.Insert(row.id.index);
  }
  return absl::OkStatus();
}

absl::Status SqlStore::DeleteResults(const std::vector<JobId>& ids) {
  CONCUR_ASSIGN_OR_RETURN(SqlStatement * statement,
                          database_->Prepare("DELETE FROM result WHERE key = $1"));
  for (const JobId& id : ids) {
    statement->BindInt(1, JobKey(id));
    CONCUR_RETURN_IF_ERROR(statement->Run());
    RowsOf(id.sweep).results.Erase(id.index);
  }
  return absl::OkStatus();
}

absl::Status SqlStore::PutAttempts(const std::vector<AttemptRow>& rows) {
  CONCUR_ASSIGN_OR_RETURN(SqlStatement * statement, database_->Prepare(Tables().attempt.insert));
  CONCUR_ASSIGN_OR_RETURN(
      SqlStatement * drop,
      database_->Prepare("DELETE FROM attempt WHERE key = $1 AND attempt = $2"));
  for (const AttemptRow& row : rows) {
    // Deleted first, and not replaced, to know whether the row is a new one.
    drop->BindInt(1, JobKey(row.id));
    drop->BindInt(2, row.attempt.number);
    CONCUR_RETURN_IF_ERROR(drop->Run(Dropped(row.id.sweep, &SweepRows::attempts)));
    ++RowsOf(row.id.sweep).attempts;
    std::optional<JobResult> sorted;
    if (!IsSorted(row.result.metrics)) {
      sorted = Canonical(row.result);
    }
    RowWriter writer(*statement, checksum_);
    writer.Int(JobKey(row.id));
    writer.Int(row.attempt.number);
    writer.Text(row.worker);
    writer.Int(TimeToInt(row.end_time));
    writer.Result(sorted ? *sorted : row.result);
    CONCUR_RETURN_IF_ERROR(writer.Run());
  }
  return absl::OkStatus();
}

absl::Status SqlStore::DeleteSweeps(const std::vector<SweepId>& ids) {
  for (const SweepId& id : ids) {
    for (const char* table : {"sweep", "sweep_spec"}) {
      CONCUR_ASSIGN_OR_RETURN(
          SqlStatement * drop,
          database_->Prepare(absl::StrCat("DELETE FROM ", table, " WHERE number = $1")));
      drop->BindInt(1, static_cast<int64_t>(id.number));
      CONCUR_RETURN_IF_ERROR(drop->Run());
    }
    for (const auto& name : kSweepCounters) {
      CONCUR_RETURN_IF_ERROR(DropCounter(name(id)));
    }
    CONCUR_RETURN_IF_ERROR(PutCounter(*database_, DeletingCounter(id), 0));
    deleting_.push_back(id);
    rows_.erase(id);
    spec_checksums_.erase(id);
  }
  return absl::OkStatus();
}

// A sweep may have millions of rows.
absl::Status SqlStore::DeleteRows() {
  for (int64_t left = delete_rows_; !deleting_.empty(); deleting_.pop_front()) {
    const int64_t first = JobKey(JobId{deleting_.front(), 0});
    for (const char* table : {"job", "result", "attempt", "step", "spent"}) {
      CONCUR_ASSIGN_OR_RETURN(
          SqlStatement * find,
          database_->Prepare(absl::StrCat("SELECT count(*), max(key) FROM (SELECT key FROM ", table,
                                          " WHERE key >= $1 AND key < $2 ORDER BY key LIMIT $3) "
                                          "AS slice")));
      find->BindInt(1, first);
      find->BindInt(2, JobKey(JobId{SweepId{deleting_.front().number + 1}, 0}));
      find->BindInt(3, left);
      CONCUR_RETURN_IF_ERROR(find->Step().status());
      const int64_t rows = find->Int(0);
      const int64_t last = rows == 0 ? first : find->Int(1);
      find->Reset();
      CONCUR_ASSIGN_OR_RETURN(SqlStatement * drop,
                              database_->Prepare(absl::StrCat("DELETE FROM ", table,
                                                              " WHERE key >= $1 AND key <= $2")));
      drop->BindInt(1, first);
      drop->BindInt(2, last);
      CONCUR_RETURN_IF_ERROR(drop->Run());
      left -= rows;
      if (left <= 0) {
        return absl::OkStatus();
      }
    }
    CONCUR_RETURN_IF_ERROR(DropCounter(DeletingCounter(deleting_.front())));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<AttemptRow>> SqlStore::ListAttempts(JobId job) {
  CONCUR_RETURN_IF_ERROR(Usable());
  if (job.sweep.number > kSweepNumberMax) {
    return std::vector<AttemptRow>();
  }
  return ReadAttempts(*database_, JobKey(job), JobKey(job));
}

absl::StatusOr<std::vector<AttemptRow>> SqlStore::ListSweepAttempts(SweepId sweep) {
  return ListAttemptsFrom({sweep, 0}, {sweep, kServiceBit - 1});
}

absl::StatusOr<std::vector<AttemptRow>> SqlStore::ListServiceUse(SweepId sweep) {
  return ListAttemptsFrom({sweep, kServiceBit}, {sweep, UINT32_MAX});
}

absl::StatusOr<std::vector<AttemptRow>> SqlStore::ListAttemptsFrom(JobId first, JobId last) {
  CONCUR_RETURN_IF_ERROR(Usable());
  if (first.sweep.number > kSweepNumberMax) {
    return std::vector<AttemptRow>();
  }
  return ReadAttempts(*database_, JobKey(first), JobKey(last));
}

absl::StatusOr<std::string> MakeDatabaseId(SqlDatabase& database) {
  CONCUR_ASSIGN_OR_RETURN(std::string id, NewUniqueId());
  CONCUR_ASSIGN_OR_RETURN(SqlStatement * insert, database.Prepare(Tables().meta.insert));
  RowChecksum checksum;
  RowWriter writer(*insert, checksum);
  writer.Text("id");
  writer.Text(id);
  CONCUR_RETURN_IF_ERROR(writer.Run());
  CONCUR_RETURN_IF_ERROR(PutCounter(database, kCommitsCounter, 0));
  CONCUR_RETURN_IF_ERROR(PutCounter(database, kNextSweepCounter, 1));
  CONCUR_RETURN_IF_ERROR(PutCounter(database, kSweepsCounter, 0));
  CONCUR_RETURN_IF_ERROR(PutCounter(database, kWorkersCounter, 0));
  return id;
}

}  // namespace concur
