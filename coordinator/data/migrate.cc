// SPDX-License-Identifier: Apache-2.0
#include "coordinator/data/migrate.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "coordinator/data/data_place.h"
#include "store/postgres_store.h"
#include "store/sqlite_store.h"

namespace concur {
namespace {

bool IsPostgres(const std::string& place) {
  return absl::StartsWith(place, "postgresql://") || absl::StartsWith(place, "postgres://");
}

Batch BatchOf(const DatabaseContents& contents) {
  const Snapshot& from = contents.snapshot;
  Batch batch;
  batch.next_sweep_number = from.next_sweep_number;
  batch.next_pilot_number = from.next_pilot_number;
  batch.last_service_number = from.last_service_number;
  batch.put_sweeps = from.sweeps;
  batch.put_jobs = from.jobs;
  batch.put_results = from.results;
  batch.put_attempts = contents.attempts;
  batch.put_steps = from.reports;
  batch.put_spent = from.spent;
  batch.put_workers = from.workers;
  batch.put_blames = from.blames;
  batch.put_resources = from.resources;
  batch.put_pools = from.pools;
  batch.put_pilots = from.pilots;
  return batch;
}

template <typename Rows>
absl::Status CompareRows(const char* name, const Rows& from, const Rows& to) {
  if (from.size() != to.size()) {
    return absl::DataLossError(
        absl::StrCat(name, ": ", from.size(), " rows were copied, and ", to.size(), " came back"));
  }
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i] != to[i]) {
      return absl::DataLossError(absl::StrCat(name, ": row ", i + 1, " is not the same"));
    }
  }
  return absl::OkStatus();
}

absl::Status Compare(const DatabaseContents& from, const DatabaseContents& to) {
  const Snapshot& a = from.snapshot;
  const Snapshot& b = to.snapshot;
  if (a.next_sweep_number != b.next_sweep_number || a.next_pilot_number != b.next_pilot_number ||
      a.last_service_number != b.last_service_number) {
    return absl::DataLossError("the numbers of the next sweep, pilot or service are not the same");
  }
  CONCUR_RETURN_IF_ERROR(CompareRows("sweeps", a.sweeps, b.sweeps));
  CONCUR_RETURN_IF_ERROR(CompareRows("jobs", a.jobs, b.jobs));
  CONCUR_RETURN_IF_ERROR(CompareRows("results", a.results, b.results));
  CONCUR_RETURN_IF_ERROR(CompareRows("attempts", from.attempts, to.attempts));
  CONCUR_RETURN_IF_ERROR(CompareRows("reports", a.reports, b.reports));
  CONCUR_RETURN_IF_ERROR(CompareRows("spendings", a.spent, b.spent));
  CONCUR_RETURN_IF_ERROR(CompareRows("workers", a.workers, b.workers));
  CONCUR_RETURN_IF_ERROR(CompareRows("blames", a.blames, b.blames));
  CONCUR_RETURN_IF_ERROR(CompareRows("resources", a.resources, b.resources));
  CONCUR_RETURN_IF_ERROR(CompareRows("pools", a.pools, b.pools));
  return CompareRows("pilots", a.pilots, b.pilots);
}

DataReport ReportOn(const DatabaseContents& contents) {
  DataReport report;
  report.sweeps = static_cast<int64_t>(contents.snapshot.sweeps.size());
  report.results = static_cast<int64_t>(contents.snapshot.results.size());
  return report;
}

absl::StatusOr<std::unique_ptr<PostgresStore>> Lead(const std::string& uri) {
  LeadershipOptions options;
  options.address = "nothing: it migrates";
  return PostgresStore::Open(uri, std::move(options));
}

void RemoveDatabaseFiles(const std::string& file) {
  for (const char* suffix : {"", "-wal", "-shm", ".mark"}) {
    unlink((file + suffix).c_str());
  }
}

absl::StatusOr<DataReport> ToPostgres(const std::string& directory, const std::string& uri) {
  const std::string file = directory + kDatabaseFile;
  CONCUR_RETURN_IF_ERROR(RequireDatabase(directory));
  // Both are held until the end, so that no coordinator starts on either.
  CONCUR_ASSIGN_OR_RETURN(std::unique_ptr<SqliteStore> source, SqliteStore::Open(file));
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<PostgresStore> target, Lead(uri));
  CONCUR_ASSIGN_OR_RETURN(const Snapshot held, target->Load());
  if (!held.sweeps.empty() || held.next_sweep_number != 1) {
    return absl::AlreadyExistsError(absl::StrCat(
        target->address(), ": holds rows already, which are not replaced; choose an empty ",
        "database, or drop its schema concur"));
  }
  CONCUR_ASSIGN_OR_RETURN(const DatabaseContents contents, ReadDatabase(file));
  CONCUR_RETURN_IF_ERROR(target->Commit(BatchOf(contents)));
  CONCUR_ASSIGN_OR_RETURN(const DatabaseContents copy, ReadPostgres(uri));
  CONCUR_RETURN_IF_ERROR(Compare(contents, copy));
  CONCUR_RETURN_IF_ERROR(RecordDatabase(directory, target->id(), target->address()));
  source.reset();  // closes its log
  unlink((file + ".mark").c_str());
  if (rename(file.c_str(), (file + ".migrated").c_str()) != 0) {
    return ErrnoStatus(errno, file, "rename");
  }
  CONCUR_RETURN_IF_ERROR(SyncDirectory(directory));
  return ReportOn(contents);
}

absl::StatusOr<DataReport> FromPostgres(const std::string& uri, const std::string& directory) {
  const std::string file = directory + kDatabaseFile;
  CONCUR_RETURN_IF_ERROR(RequireNoDatabase({directory, std::nullopt}));
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<PostgresStore> source, Lead(uri));
  CONCUR_RETURN_IF_ERROR(MakeDataDirectory(directory));
  // Another database's directory is refused.
  CONCUR_RETURN_IF_ERROR(RecordDatabase(directory, source->id(), source->address()));
  CONCUR_ASSIGN_OR_RETURN(const DatabaseContents contents, ReadPostgres(uri));
  const auto copy = [&]() -> absl::Status {
    CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<SqliteStore> target, SqliteStore::Open(file));
    CONCUR_RETURN_IF_ERROR(target->Commit(BatchOf(contents)));
    CONCUR_ASSIGN_OR_RETURN(const DatabaseContents copied, ReadDatabase(file));
    return Compare(contents, copied);
  };
  if (const absl::Status status = copy(); !status.ok()) {
    RemoveDatabaseFiles(file);
    return status;
  }
  const std::string record = directory + kDatabaseRecord;
  if (unlink(record.c_str()) != 0) {
    return ErrnoStatus(errno, record, "remove");
  }
  CONCUR_RETURN_IF_ERROR(SyncDirectory(directory));
  return ReportOn(contents);
}

}  // namespace

absl::StatusOr<DataReport> MigrateDatabase(const std::string& from, const std::string& to) {
  if (IsPostgres(from) == IsPostgres(to)) {
    return absl::InvalidArgumentError(
        "expected a data directory and a URI such as postgresql://concur@db.example.org/concur "
        "under --from and --to");
  }
  return IsPostgres(to) ? ToPostgres(from, to) : FromPostgres(from, to);
}

}  // namespace concur
