// SPDX-License-Identifier: Apache-2.0
// A SQL store's rows of named resources, pools and pilots.
#include <string>

#include "base/status_macros.h"
#include "store/sql_store.h"
#include "store/sql_tables.h"

namespace concur {
namespace {

absl::Status Delete(SqlDatabase& database, absl::string_view sql,
                    const std::vector<std::string>& names) {
  CONCUR_ASSIGN_OR_RETURN(SqlStatement * drop, database.Prepare(sql));
  for (const std::string& name : names) {
    drop->BindText(1, name);
    CONCUR_RETURN_IF_ERROR(drop->Run());
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status SqlStore::ChangeResources(const Batch& batch) {
  if (batch.put_resources.empty() && batch.delete_resources.empty()) {
    return absl::OkStatus();
  }
  CONCUR_ASSIGN_OR_RETURN(SqlStatement * put, database_->Prepare(Tables().resource.upsert));
  for (const ResourceRow& row : batch.put_resources) {
    RowWriter writer(*put, checksum_);
    writer.Text(row.name);
    writer.Int(row.amount);
    if (row.per_minute > 0) {
      writer.Int(row.per_minute);
    } else {
      writer.Null();
    }
    CONCUR_RETURN_IF_ERROR(writer.Run());
  }
  CONCUR_RETURN_IF_ERROR(
      Delete(*database_, "DELETE FROM resource WHERE name = $1", batch.delete_resources));
  CONCUR_ASSIGN_OR_RETURN(const int64_t count,
                          database_->QueryInt("SELECT count(*) FROM resource"));
  return PutCounter(*database_, kResourcesCounter, count);
}

absl::Status SqlStore::ChangePools(const Batch& batch) {
  CONCUR_ASSIGN_OR_RETURN(SqlStatement * put_pool, database_->Prepare(Tables().pool.upsert));
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
      Delete(*database_, "DELETE FROM pool WHERE name = $1", batch.delete_pools));
  CONCUR_ASSIGN_OR_RETURN(SqlStatement * put_pilot, database_->Prepare(Tables().pilot.upsert));
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
  return Delete(*database_, "DELETE FROM pilot WHERE name = $1", batch.delete_pilots);
}

absl::Status SqlStore::PutPoolCounters(const Batch& batch) {
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
