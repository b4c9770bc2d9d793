// SPDX-License-Identifier: Apache-2.0
// The SQLite store's rows of named resources, pools and pilots.
#include <string>

#include "base/status_macros.h"
#include "store/sqlite_store.h"

namespace concur {
namespace {

absl::Status Delete(SqliteDatabase& database, absl::string_view sql,
                    const std::vector<std::string>& names) {
  CONCUR_ASSIGN_OR_RETURN(SqliteStatement * drop, database.Prepare(sql));
  for (const std::string& name : names) {
    drop->BindText(1, name);
    CONCUR_RETURN_IF_ERROR(drop->Run());
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status SqliteStore::ChangeResources(const Batch& batch) {
  if (batch.put_resources.empty() && batch.delete_resources.empty()) {
    return absl::OkStatus();
  }
  CONCUR_ASSIGN_OR_RETURN(
      SqliteStatement * put,
      database_->Prepare(
          "INSERT OR REPLACE INTO resource (name, amount, checksum) VALUES (?1,?2,?3)"));
  for (const ResourceRow& row : batch.put_resources) {
    RowWriter writer(*put, checksum_);
    writer.Text(row.name);
    writer.Int(row.amount);
    CONCUR_RETURN_IF_ERROR(writer.Run());
  }
  CONCUR_RETURN_IF_ERROR(
      Delete(*database_, "DELETE FROM resource WHERE name = ?1", batch.delete_resources));
  CONCUR_ASSIGN_OR_RETURN(const int64_t count,
                          database_->QueryInt("SELECT count(*) FROM resource"));
  return PutCounter(*database_, kResourcesCounter, count);
}

absl::Status SqliteStore::ChangePools(const Batch& batch) {
  CONCUR_ASSIGN_OR_RETURN(
      SqliteStatement * put_pool,
      database_->Prepare("INSERT OR REPLACE INTO pool (name, spec, paused, pause_reason, removing, "
                         "checksum) VALUES (?1,?2,?3,?4,?5,?6)"));
  for (const PoolRow& row : batch.put_pools) {
    RowWriter writer(*put_pool, checksum_);
    writer.Text(row.name);
    writer.Blob(row.spec);
    writer.Int(row.paused ? 1 : 0);
    writer.Text(row.pause_reason);
    writer.Int(row.removing ? 1 : 0);
    CONCUR_RETURN_IF_ERROR(writer.Run());
  }
  CONCUR_RETURN_IF_ERROR(
      Delete(*database_, "DELETE FROM pool WHERE name = ?1", batch.delete_pools));
  CONCUR_ASSIGN_OR_RETURN(
      SqliteStatement * put_pilot,
      database_->Prepare("INSERT OR REPLACE INTO pilot (name, pool, provider, phase, external_id, "
                         "message, request_time, phase_time, joined, image, checksum) "
                         "VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11)"));
  for (const PilotRow& row : batch.put_pilots) {
    RowWriter writer(*put_pilot, checksum_);
    writer.Text(row.name);
    writer.Text(row.pool);
    writer.Int(row.provider);
    writer.Int(static_cast<int64_t>(row.phase));
    writer.Text(row.external_id);
    writer.Text(row.message);
    writer.Int(TimeToInt(row.request_time));
    writer.Int(TimeToInt(row.phase_time));
    writer.Int(row.joined ? 1 : 0);
    writer.OptionalText(row.image);
    CONCUR_RETURN_IF_ERROR(writer.Run());
  }
  return Delete(*database_, "DELETE FROM pilot WHERE name = ?1", batch.delete_pilots);
}

absl::Status SqliteStore::PutPoolCounters(const Batch& batch) {
  if (batch.next_pilot_number) {
    CONCUR_RETURN_IF_ERROR(
        PutCounter(*database_, kNextPilotCounter, static_cast<int64_t>(*batch.next_pilot_number)));
  }
  if (!batch.put_pools.empty() || !batch.delete_pools.empty()) {
    CONCUR_ASSIGN_OR_RETURN(const int64_t pools, database_->QueryInt("SELECT count(*) FROM pool"));
    CONCUR_RETURN_IF_ERROR(PutCounter(*database_, kPoolsCounter, pools));
  }
  if (!batch.put_pilots.empty() || !batch.delete_pilots.empty()) {
    CONCUR_ASSIGN_OR_RETURN(const int64_t pilots,
                            database_->QueryInt("SELECT count(*) FROM pilot"));
    CONCUR_RETURN_IF_ERROR(PutCounter(*database_, kPilotsCounter, pilots));
  }
  return absl::OkStatus();
}

}  // namespace concur
