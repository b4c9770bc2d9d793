// SPDX-License-Identifier: Apache-2.0
#include "store/postgres_store.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "store/row_rules.h"
#include "store/sqlite_schema.h"

namespace concur {
namespace {

constexpr absl::Duration kReconnectWait = absl::Milliseconds(100);
// `turn` may not be NULL: a row of another epoch, or one that has lost a commit, is an error.
constexpr char kFence[] =
    "UPDATE leader SET turn = CASE WHEN epoch = $1 AND turn BETWEEN $2::bigint - 1 AND $2::bigint "
    "THEN $2::bigint END";
constexpr char kIsLatest[] = "SELECT count(*) FROM leader WHERE epoch = $1 AND turn = $2";
constexpr char kFenceSqlstate[] = "23502";

// The steps of SQLite's schema in PostgreSQL's words: both have the same tables.
std::string InPostgres(const char* step) {
  return absl::StrReplaceAll(step, {{" INTEGER", " BIGINT"},
                                    {" TEXT", " BYTEA"},
                                    {" BLOB", " BYTEA"},
                                    {" REAL", " DOUBLE PRECISION"},
                                    {" WITHOUT ROWID", ""}});
}

absl::Status CheckVersion(const PostgresDatabase& database, int64_t version) {
  if (version > kSchemaVersion) {
    return absl::FailedPreconditionError(absl::StrCat(
        database.path(), ": schema ", version, " was written by a newer Concur; this one knows ",
        "schemas up to ", kSchemaVersion, ": use the newer one, or restore an older backup"));
  }
  return absl::OkStatus();
}

// A connection in a transaction that sees one moment.
absl::StatusOr<std::unique_ptr<PostgresDatabase>> OpenToRead(const std::string& uri) {
  CONCUR_ASSIGN_OR_RETURN(std::unique_ptr<PostgresDatabase> database, PostgresDatabase::Open(uri));
  CONCUR_ASSIGN_OR_RETURN(
      const int64_t tables,
      database->QueryInt("SELECT count(*) FROM pg_tables WHERE schemaname = 'concur' AND "
                         "tablename = 'leader'"));
  int64_t version = 0;
  if (tables > 0) {
    CONCUR_RETURN_IF_ERROR(database->Execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"));
    CONCUR_ASSIGN_OR_RETURN(version, database->QueryInt("SELECT schema_version FROM leader"));
  }
  if (version == 0) {
    return absl::NotFoundError(
        absl::StrCat(database->path(), ": holds no database of Concur's yet"));
  }
  CONCUR_RETURN_IF_ERROR(CheckVersion(*database, version));
  if (version < kSchemaVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat(database->path(), ": schema ", version, " is older than this program's ",
                     kSchemaVersion, ": start the coordinator once to migrate it"));
  }
  return database;
}

}  // namespace

PostgresStore::PostgresStore(std::unique_ptr<PostgresDatabase> database,
                             std::unique_ptr<Leadership> leadership)
    : SqlStore(std::move(database)),
      postgres_(static_cast<PostgresDatabase&>(*database_)),
      leadership_(std::move(leadership)),
      epoch_(leadership_->acquired().epoch) {}

PostgresStore::~PostgresStore() = default;

absl::StatusOr<std::unique_ptr<PostgresStore>> PostgresStore::Open(const std::string& uri,
                                                                   LeadershipOptions options) {
  CONCUR_ASSIGN_OR_RETURN(std::unique_ptr<PostgresDatabase> database, PostgresDatabase::Open(uri));
  CONCUR_ASSIGN_OR_RETURN(std::unique_ptr<Leadership> leadership,
                          Leadership::Acquire(uri, *database, std::move(options)));
  std::unique_ptr<PostgresStore> store(
      new PostgresStore(std::move(database), std::move(leadership)));
  store->commits_ = store->leadership_->acquired().turn;
  CONCUR_RETURN_IF_ERROR(store->Migrate());
  CONCUR_ASSIGN_OR_RETURN(store->id_, ReadDatabaseId(store->postgres_));
  CONCUR_ASSIGN_OR_RETURN(const auto counters, ReadCounters(store->postgres_));
  if (counters.at(kCommitsCounter) != store->commits_) {
    return CommitsMissing(store->address(), counters.at(kCommitsCounter), store->commits_);
  }
  return store;
}

void PostgresStore::WarnIfUnsynced() {
  const absl::StatusOr<std::string> fsync = postgres_.QueryText("SHOW fsync");
  if (fsync.ok() && *fsync != "on") {
    LogWarning("the server does not sync its disk: acknowledged results may be lost with power",
               {{"database", postgres_.path()}, {"setting", "fsync"}});
  }
}

absl::Status PostgresStore::Migrate() {
  const int64_t version = leadership_->acquired().schema_version;
  CONCUR_RETURN_IF_ERROR(CheckVersion(postgres_, version));
  if (version == kSchemaVersion) {
    return absl::OkStatus();
  }
  SqlTransaction transaction(postgres_);
  CONCUR_RETURN_IF_ERROR(transaction.Begin());
  const int64_t steps_done = version == 0 ? 0 : version - kSchemaBaseline + 1;
  for (const char* step : SchemaSteps().subspan(static_cast<size_t>(steps_done))) {
    CONCUR_RETURN_IF_ERROR(postgres_.Execute(InPostgres(step)));
  }
  if (version == 0) {
    CONCUR_RETURN_IF_ERROR(MakeDatabaseId(postgres_).status());
  }
  CONCUR_RETURN_IF_ERROR(
      postgres_.Execute(absl::StrCat("UPDATE leader SET schema_version = ", kSchemaVersion)));
  CONCUR_RETURN_IF_ERROR(BeforeCommit());
  return transaction.Commit();
}

absl::Status PostgresStore::BeforeCommit() {
  CONCUR_ASSIGN_OR_RETURN(SqlStatement * fence, postgres_.Prepare(kFence));
  fence->BindInt(1, epoch_);
  fence->BindInt(2, commits_);
  return fence->Run();
}

absl::Status PostgresStore::CheckPlace() {
  CONCUR_RETURN_IF_ERROR(Usable());
  absl::Status leads = leadership_->Check();
  failed_ = !leads.ok();
  return leads;
}

absl::Status PostgresStore::CheckLeads() {
  CONCUR_RETURN_IF_ERROR(Usable());
  absl::Status leads = CheckFenced(*this, epoch_, commits_);
  failed_ = !leads.ok();
  return leads;
}

absl::Status PostgresStore::Commit(const Batch& batch) {
  CONCUR_RETURN_IF_ERROR(CheckPlace());
  CONCUR_RETURN_IF_ERROR(CheckBatch(batch));
  if (batch.empty() && !IsDeleting()) {
    return absl::OkStatus();
  }
  int64_t commits = commits_;
  absl::Status status = CommitFenced(*this, batch, epoch_, commits);
  commits_ = commits;
  failed_ = !status.ok() && !absl::IsResourceExhausted(status);
  is_ahead_ = !status.ok();
  return status;
}

absl::Status PostgresStore::Save(const Batch& batch, int64_t epoch, int64_t turn) {
  if (is_ahead_) {
    Forget();
  }
  is_ahead_ = true;
  epoch_ = epoch;
  commits_ = turn - 1;
  return Apply(batch);
}

absl::Status PostgresStore::Compare(int64_t epoch, int64_t turn) {
  CONCUR_ASSIGN_OR_RETURN(SqlStatement * compare, postgres_.Prepare(kIsLatest));
  compare->BindInt(1, epoch);
  compare->BindInt(2, turn);
  CONCUR_RETURN_IF_ERROR(compare->Step().status());
  const int64_t rows = compare->Int(0);
  compare->Reset();
  return rows == 1 ? absl::OkStatus() : Leadership::Refusal(postgres_);
}

bool PostgresStore::IsBroken() const { return postgres_.broken(); }

bool PostgresStore::IsFenced() const { return postgres_.sqlstate() == kFenceSqlstate; }

// The open transaction is the old connection's.
absl::Status PostgresStore::Connect() { return postgres_.Connect(); }

absl::StatusOr<LeaderRow> PostgresStore::MoveEpoch() { return leadership_->MoveEpoch(postgres_); }

absl::Status PostgresStore::CheckTime() { return leadership_->Check(); }

void PostgresStore::WaitToConnect() { absl::SleepFor(kReconnectWait); }

absl::StatusOr<std::vector<std::string>> CheckPostgres(const std::string& uri) {
  CONCUR_ASSIGN_OR_RETURN(std::unique_ptr<PostgresDatabase> database, OpenToRead(uri));
  std::vector<std::string> findings;
  // Damage is a finding; only what keeps us from looking is an error.
  const auto note = [&findings](const absl::Status& status) -> absl::Status {
    if (absl::IsDataLoss(status)) {
      findings.emplace_back(status.message());
      return absl::OkStatus();
    }
    return status;
  };
  CONCUR_RETURN_IF_ERROR(note(ReadDatabaseId(*database).status()));
  const absl::StatusOr<StoredState> state = ReadState(*database);
  CONCUR_RETURN_IF_ERROR(note(state.status()));
  if (state.ok()) {
    CONCUR_ASSIGN_OR_RETURN(const int64_t turn, database->QueryInt("SELECT turn FROM leader"));
    if (const int64_t commits = state->counters.at(kCommitsCounter); commits != turn) {
      CONCUR_RETURN_IF_ERROR(note(CommitsMissing(database->path(), commits, turn)));
    }
  }
  CONCUR_RETURN_IF_ERROR(note(ReadAttempts(*database, INT64_MIN, INT64_MAX).status()));
  return findings;
}

absl::StatusOr<DatabaseContents> ReadPostgres(const std::string& uri) {
  CONCUR_ASSIGN_OR_RETURN(std::unique_ptr<PostgresDatabase> database, OpenToRead(uri));
  return ReadContents(*database);
}

}  // namespace concur
