// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite_store.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "store/row_rules.h"
#include "store/sqlite_schema.h"

namespace concur {
namespace {

// Pages given back after sweeps were deleted; the rest waits for new rows.
constexpr int64_t kVacuumPagesMax = 4096;
constexpr size_t kUnusedProcessesMax = 1000;
// Beside the database: what a coordinator saved when the database was deleted underneath it.
constexpr char kRescued[] = ".rescued";

constexpr char kPutJob[] =
    "INSERT OR REPLACE INTO job (key, state, attempt, failures, lost, failure, not_before, "
    "process, gpu_mask, reused_from, system_collected, no_reuse, update_time, deaths, "
    "death_shared, rung, whole, checkpoint, checkpoint_bytes, checkpoint_attempt, checksum) "
    "VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19,?20,?21)";
constexpr char kPutResult[] =
    "INSERT OR REPLACE INTO result (key, " CONCUR_RESULT_COLUMNS
    ", checksum) "
    "VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19,?20,?21,?22,"
    "?23)";
constexpr char kPutAttempt[] =
    "INSERT INTO attempt (key, attempt, worker, end_time, " CONCUR_RESULT_COLUMNS
    ", checksum) "
    "VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19,?20,?21,?22,?23,"
    "?24,?25,?26)";

// In the order of SweepRows::Count.
constexpr std::array<std::string (*)(SweepId), 5> kSweepCounters = {
    JobsCounter, ResultsCounter, AttemptsCounter, StepsCounter, SpentCounter};

bool IsSorted(const std::vector<Metric>& metrics) {
  return std::is_sorted(metrics.begin(), metrics.end(), ComesBefore);
}

// Settings of a connection that writes. The first two take effect in a new file only.
absl::Status Configure(SqliteDatabase& database, const SqliteStoreOptions& options) {
  CONCUR_RETURN_IF_ERROR(database.Execute(absl::StrCat("PRAGMA page_size = ", kDatabasePageBytes,
                                                       "; PRAGMA auto_vacuum = INCREMENTAL")));
  CONCUR_ASSIGN_OR_RETURN(const std::string mode, database.QueryText("PRAGMA journal_mode = WAL"));
  if (mode != "wal") {
    return absl::FailedPreconditionError(
        absl::StrCat(database.path(), ": this file system cannot hold a write-ahead log (journal ",
                     "mode is \"", mode, "\"): choose a data directory on a local disk"));
  }
  CONCUR_RETURN_IF_ERROR(database.Execute(absl::StrCat(
      "PRAGMA synchronous = FULL; PRAGMA secure_delete = OFF; PRAGMA temp_store = MEMORY; ",
      "PRAGMA cache_size = ", -options.cache_bytes / 1024, "; PRAGMA wal_autocheckpoint = ",
      options.checkpoint_pages, "; PRAGMA journal_size_limit = ", kDatabaseLogBytesMax)));
  if (options.pages_max > 0) {
    return database.Execute(absl::StrCat("PRAGMA max_page_count = ", options.pages_max));
  }
  return absl::OkStatus();
}

// The database's own name, given at its first opening together with the counters.
absl::StatusOr<std::string> ReadOrMakeDatabaseId(SqliteDatabase& database) {
  CONCUR_ASSIGN_OR_RETURN(std::string id, ReadDatabaseId(database));
  if (!id.empty()) {
    return id;
  }
  CONCUR_ASSIGN_OR_RETURN(id, NewUniqueId());
  SqliteTransaction transaction(database);
  CONCUR_RETURN_IF_ERROR(transaction.Begin());
  CONCUR_ASSIGN_OR_RETURN(
      SqliteStatement * insert,
      database.Prepare("INSERT INTO meta (name, value, checksum) VALUES (?1,?2,?3)"));
  RowChecksum checksum;
  RowWriter writer(*insert, checksum);
  writer.Text("id");
  writer.Text(id);
  CONCUR_RETURN_IF_ERROR(writer.Run());
  CONCUR_RETURN_IF_ERROR(PutCounter(database, kCommitsCounter, 0));
  CONCUR_RETURN_IF_ERROR(PutCounter(database, kNextSweepCounter, 1));
  CONCUR_RETURN_IF_ERROR(PutCounter(database, kSweepsCounter, 0));
  CONCUR_RETURN_IF_ERROR(PutCounter(database, kWorkersCounter, 0));
  CONCUR_RETURN_IF_ERROR(transaction.Commit());
  return id;
}

}  // namespace

bool SqliteStore::RowSet::Insert(uint32_t index) {
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

bool SqliteStore::RowSet::Erase(uint32_t index) {
  if (index >= rows_.size() || !rows_[index]) {
    return false;
  }
  rows_[index] = false;
  --size_;
  return true;
}

SqliteStore::SqliteStore(StoreLock lock, std::unique_ptr<SqliteDatabase> database, CommitMark mark)
    : lock_(std::move(lock)), database_(std::move(database)), mark_(std::move(mark)) {}

SqliteStore::~SqliteStore() = default;

absl::StatusOr<std::unique_ptr<SqliteStore>> SqliteStore::Open(const std::string& path,
                                                               const SqliteStoreOptions& options) {
  CONCUR_ASSIGN_OR_RETURN(StoreLock lock, StoreLock::Acquire(path));
  if (options.vfs.empty()) {
    std::error_code ignored;
    if (std::filesystem::exists(path + kRescued, ignored)) {
      return absl::FailedPreconditionError(absl::StrCat(
          path, kRescued, ": was saved when ", path, " was deleted or replaced under a running ",
          "coordinator, and has all that was acknowledged: move it to ", path, " (and remove ",
          path, "-wal, -shm and .mark), or move it away to go on without it"));
    }
    // SQLite gives its log and its index the rights of the database.
    CONCUR_RETURN_IF_ERROR(MakePrivateFile(path));
  }
  CONCUR_ASSIGN_OR_RETURN(std::unique_ptr<SqliteDatabase> database,
                          SqliteDatabase::Open(path, SqliteDatabase::Mode::kCreate, options.vfs));
  // A stranger's file is refused before any setting is written to it.
  CONCUR_RETURN_IF_ERROR(SchemaVersionOf(*database).status());
  CONCUR_RETURN_IF_ERROR(Configure(*database, options));
  CONCUR_RETURN_IF_ERROR(MigrateSchema(*database));
  CONCUR_ASSIGN_OR_RETURN(const std::string id, ReadOrMakeDatabaseId(*database));
  CONCUR_ASSIGN_OR_RETURN(CommitMark mark, CommitMark::Open(path, id));
  const std::string parent = std::filesystem::path(path).parent_path().string();
  CONCUR_RETURN_IF_ERROR(SyncDirectory(parent.empty() ? "." : parent));

  CONCUR_ASSIGN_OR_RETURN(const auto counters, ReadCounters(*database));
  const int64_t commits = counters.at(kCommitsCounter);
  CONCUR_ASSIGN_OR_RETURN(const std::optional<CommitMark::Mark> marked, mark.Read());
  CONCUR_RETURN_IF_ERROR(CheckMark(path, id, marked, commits));
  CONCUR_RETURN_IF_ERROR(mark.Write(commits));

  std::unique_ptr<SqliteStore> store(
      new SqliteStore(std::move(lock), std::move(database), std::move(mark)));
  store->commits_ = commits;
  if (options.vfs.empty()) {
    CONCUR_RETURN_IF_ERROR(store->files_.Add(path));
    CONCUR_RETURN_IF_ERROR(store->files_.Add(path + "-wal"));
  }
  return store;
}

absl::Status SqliteStore::Usable() const {
  if (failed_) {
    return absl::FailedPreconditionError(
        absl::StrCat(database_->path(), ": a commit failed; open the store anew"));
  }
  return absl::OkStatus();
}

absl::Status SqliteStore::CheckPlace() {
  CONCUR_RETURN_IF_ERROR(Usable());
  absl::Status changed = files_.Check();
  if (changed.ok()) {
    return changed;
  }
  failed_ = true;
  // The open files still have everything.
  const std::string rescued = database_->path() + kRescued;
  absl::Status saved = MakePrivateFile(rescued);
  if (saved.ok()) {
    const absl::StatusOr<SqliteStatement*> copy = database_->Prepare("VACUUM INTO ?1");
    saved = copy.status();
    if (copy.ok()) {
      (*copy)->BindText(1, rescued);
      saved = (*copy)->Run();
    }
  }
  return absl::FailedPreconditionError(absl::StrCat(
      changed.message(), ": nothing more is acknowledged; what had been acknowledged ",
      saved.ok() ? absl::StrCat("was saved in ", rescued)
                 : absl::StrCat("could not be saved in ", rescued, ": ", saved.message())));
}

SqliteStore::SweepRows& SqliteStore::RowsOf(SweepId sweep) {
  SweepRows& rows = rows_[sweep];
  if (!rows.changed) {
    rows.changed = true;
    changed_sweeps_.push_back(sweep);
  }
  return rows;
}

void SqliteStore::Remember(const StoredState& state) {
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
  processes_.clear();
  for (const auto& [id, name] : state.processes) {
    processes_[name] = id;
    next_process_ = std::max(next_process_, id + 1);
  }
  latest_process_ = {};
  blames_ = static_cast<int64_t>(state.snapshot.blames.size());
  remembered_ = true;
}

absl::Status SqliteStore::EnsureRemembered() {
  if (remembered_) {
    return absl::OkStatus();
  }
  CONCUR_ASSIGN_OR_RETURN(
      const StoredState state,
      ReadState(*database_, [this](const std::vector<SweepRow>&) { return left_out_; }));
  Remember(state);
  return absl::OkStatus();
}

absl::StatusOr<Snapshot> SqliteStore::Load() {
  return LoadPart([](const std::vector<SweepRow>&) { return absl::btree_set<SweepId>(); });
}

absl::StatusOr<Snapshot> SqliteStore::LoadPart(ChooseLeftOut choose) {
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

absl::Status SqliteStore::DropUnusedProcesses(const StoredState& state) {
  SqliteTransaction transaction(*database_);
  CONCUR_RETURN_IF_ERROR(transaction.Begin());
  CONCUR_ASSIGN_OR_RETURN(SqliteStatement * statement,
                          database_->Prepare("DELETE FROM process WHERE id = ?1"));
  for (const auto& [id, name] : state.processes) {
    if (!state.used_processes.contains(id)) {
      statement->BindInt(1, id);
      CONCUR_RETURN_IF_ERROR(statement->Run());
    }
  }
  return transaction.Commit();
}

absl::Status SqliteStore::Commit(const Batch& batch) {
  CONCUR_RETURN_IF_ERROR(Usable());
  CONCUR_RETURN_IF_ERROR(CheckBatch(batch));
  if (batch.empty()) {
    return absl::OkStatus();
  }
  CONCUR_RETURN_IF_ERROR(CheckPlace());
  const int64_t commits = commits_;
  absl::Status status = Apply(batch);
  if (absl::IsResourceExhausted(status)) {
    // Rolled back; what is remembered of rows is not. A checkpoint lets the log begin anew, which
    // may be all the space that is needed.
    commits_ = commits;
    remembered_ = false;
    database_->Execute("PRAGMA wal_checkpoint(RESTART)").IgnoreError();
    return status;
  }
  if (!status.ok()) {
    failed_ = true;
    return status;
  }
  // The commit is durable. A mark that could not be written only makes a later check weaker.
  mark_.Write(commits_).IgnoreError();
  if (!batch.delete_sweeps.empty()) {
    Vacuum(kVacuumPagesMax).IgnoreError();
  }
  return absl::OkStatus();
}

absl::Status SqliteStore::Apply(const Batch& batch) {
  CONCUR_RETURN_IF_ERROR(EnsureRemembered());
  SqliteTransaction transaction(*database_);
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
  CONCUR_RETURN_IF_ERROR(DeleteSweeps(batch.delete_sweeps));
  CONCUR_RETURN_IF_ERROR(PutCounters(batch));
  return transaction.Commit();
}

absl::Status SqliteStore::DropCounter(const std::string& name) {
  CONCUR_ASSIGN_OR_RETURN(SqliteStatement * statement,
                          database_->Prepare("DELETE FROM counter WHERE name = ?1"));
  statement->BindText(1, name);
  return statement->Run();
}

absl::Status SqliteStore::PutCounters(const Batch& batch) {
  CONCUR_RETURN_IF_ERROR(PutCounter(*database_, kCommitsCounter, ++commits_));
  if (batch.next_sweep_number) {
    CONCUR_RETURN_IF_ERROR(
        PutCounter(*database_, kNextSweepCounter, static_cast<int64_t>(*batch.next_sweep_number)));
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

absl::Status SqliteStore::PutSweeps(const std::vector<SweepRow>& rows) {
  CONCUR_ASSIGN_OR_RETURN(
      SqliteStatement * put,
      database_->Prepare("INSERT OR REPLACE INTO sweep (number, owner, name, request_id, "
                         "create_time, paused, canceled, end_time, forecast, priority, "
                         "retry, budget, over_budget, checksum) VALUES "
                         "(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14)"));
  CONCUR_ASSIGN_OR_RETURN(
      SqliteStatement * put_spec,
      database_->Prepare(
          "INSERT OR REPLACE INTO sweep_spec (number, spec, checksum) VALUES (?1,?2,?3)"));
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

absl::StatusOr<int64_t> SqliteStore::ProcessOf(const std::string& worker,
                                               const std::string& incarnation) {
  if (latest_process_.second != 0 && latest_process_.first.worker == worker &&
      latest_process_.first.incarnation == incarnation) {
    return latest_process_.second;
  }
  const auto [it, inserted] =
      processes_.try_emplace(ProcessName{worker, incarnation}, next_process_);
  if (inserted) {
    CONCUR_ASSIGN_OR_RETURN(
        SqliteStatement * statement,
        database_->Prepare(
            "INSERT INTO process (id, worker, incarnation, checksum) VALUES (?1,?2,?3,?4)"));
    RowWriter writer(*statement, checksum_);
    writer.Int(next_process_++);
    writer.Text(worker);
    writer.Text(incarnation);
    CONCUR_RETURN_IF_ERROR(writer.Run());
  }
  latest_process_ = *it;
  return it->second;
}

absl::Status SqliteStore::PutJobs(const std::vector<JobRow>& rows) {
  CONCUR_ASSIGN_OR_RETURN(SqliteStatement * statement, database_->Prepare(kPutJob));
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

absl::Status SqliteStore::PutResults(const std::vector<ResultRow>& rows) {
  CONCUR_ASSIGN_OR_RETURN(SqliteStatement * statement, database_->Prepare(kPutResult));
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

absl::Status SqliteStore::DeleteResults(const std::vector<JobId>& ids) {
  CONCUR_ASSIGN_OR_RETURN(SqliteStatement * statement,
                          database_->Prepare("DELETE FROM result WHERE key = ?1"));
  for (const JobId& id : ids) {
    statement->BindInt(1, JobKey(id));
    CONCUR_RETURN_IF_ERROR(statement->Run());
    RowsOf(id.sweep).results.Erase(id.index);
  }
  return absl::OkStatus();
}

absl::Status SqliteStore::PutAttempts(const std::vector<AttemptRow>& rows) {
  CONCUR_ASSIGN_OR_RETURN(SqliteStatement * statement, database_->Prepare(kPutAttempt));
  CONCUR_ASSIGN_OR_RETURN(
      SqliteStatement * drop,
      database_->Prepare("DELETE FROM attempt WHERE key = ?1 AND attempt = ?2"));
  for (const AttemptRow& row : rows) {
    // Deleted first, and not replaced, to know whether the row is a new one.
    drop->BindInt(1, JobKey(row.id));
    drop->BindInt(2, row.attempt.number);
    CONCUR_RETURN_IF_ERROR(drop->Run());
    RowsOf(row.id.sweep).attempts += 1 - database_->changes();
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

absl::Status SqliteStore::DeleteSweeps(const std::vector<SweepId>& ids) {
  for (const SweepId& id : ids) {
    for (const char* table : {"job", "result", "attempt", "step", "spent"}) {
      CONCUR_ASSIGN_OR_RETURN(
          SqliteStatement * drop,
          database_->Prepare(absl::StrCat("DELETE FROM ", table, " WHERE key >= ?1 AND key < ?2")));
      drop->BindInt(1, JobKey(JobId{id, 0}));
      drop->BindInt(2, JobKey(JobId{SweepId{id.number + 1}, 0}));
      CONCUR_RETURN_IF_ERROR(drop->Run());
    }
    for (const char* table : {"sweep", "sweep_spec"}) {
      CONCUR_ASSIGN_OR_RETURN(
          SqliteStatement * drop,
          database_->Prepare(absl::StrCat("DELETE FROM ", table, " WHERE number = ?1")));
      drop->BindInt(1, static_cast<int64_t>(id.number));
      CONCUR_RETURN_IF_ERROR(drop->Run());
    }
    for (const auto& name : kSweepCounters) {
      CONCUR_RETURN_IF_ERROR(DropCounter(name(id)));
    }
    rows_.erase(id);
    spec_checksums_.erase(id);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<AttemptRow>> SqliteStore::ListAttempts(JobId job) {
  CONCUR_RETURN_IF_ERROR(Usable());
  if (job.sweep.number > kSweepNumberMax) {
    return std::vector<AttemptRow>();
  }
  return ReadAttempts(*database_, JobKey(job), JobKey(job));
}

absl::StatusOr<std::vector<AttemptRow>> SqliteStore::ListSweepAttempts(SweepId sweep) {
  CONCUR_RETURN_IF_ERROR(Usable());
  if (sweep.number > kSweepNumberMax) {
    return std::vector<AttemptRow>();
  }
  return ReadAttempts(*database_, JobKey(JobId{sweep, 0}), JobKey(JobId{sweep, UINT32_MAX}));
}

absl::Status SqliteStore::Vacuum(int64_t pages_max) {
  CONCUR_RETURN_IF_ERROR(Usable());
  return database_->Execute(absl::StrCat("PRAGMA incremental_vacuum(", pages_max, ")"));
}

}  // namespace concur
