// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite_schema.h"

#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/status_macros.h"

namespace concur {
namespace {

// Jobs are rows of plain tables whose integer key is sweep << 32 | index: beside a table without
// rowid and with the key (sweep, job) it is 16 % smaller and 16 % faster to write (measured with
// 200,000 rows in batches of 500), and the rows still lie in the order of the jobs.
//
// Every row carries a checksum of its values (store/row_codec.h), and `counter` how many rows there
// must be: SQLite itself would not notice a flipped bit within a row.
//
// A column that is NULL adds nothing to a row's checksum: a step that adds a column leaves the
// checksums of older rows as they are.
constexpr char kBaseline[] = R"sql(
CREATE TABLE meta (
  name     TEXT PRIMARY KEY,
  value    TEXT NOT NULL,
  checksum INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE counter (
  name     TEXT PRIMARY KEY,
  value    INTEGER NOT NULL,
  checksum INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE sweep (
  number      INTEGER PRIMARY KEY,
  owner       TEXT NOT NULL,
  name        TEXT NOT NULL,
  request_id  TEXT NOT NULL,
  create_time INTEGER NOT NULL,
  paused      INTEGER NOT NULL,
  canceled    INTEGER NOT NULL,
  end_time    INTEGER,
  checksum    INTEGER NOT NULL,
  forecast    INTEGER
);

CREATE TABLE sweep_spec (
  number   INTEGER PRIMARY KEY,
  spec     BLOB NOT NULL,
  checksum INTEGER NOT NULL
);

CREATE TABLE process (
  id          INTEGER PRIMARY KEY,
  worker      TEXT NOT NULL,
  incarnation TEXT NOT NULL,
  checksum    INTEGER NOT NULL
);

CREATE TABLE job (
  key              INTEGER PRIMARY KEY,
  state            INTEGER NOT NULL,
  attempt          INTEGER NOT NULL,
  failures         INTEGER NOT NULL,
  lost             INTEGER NOT NULL,
  failure          INTEGER NOT NULL,
  not_before       INTEGER,
  process          INTEGER,
  gpu_mask         INTEGER NOT NULL,
  reused_from      INTEGER,
  system_collected INTEGER NOT NULL,
  no_reuse INTEGER NOT NULL,
  update_time      INTEGER NOT NULL,
  checksum         INTEGER NOT NULL
);

CREATE TABLE result (
  key               INTEGER PRIMARY KEY,
  succeeded         INTEGER NOT NULL,
  failure           INTEGER NOT NULL,
  exit_code         INTEGER NOT NULL,
  message           TEXT,
  start_time        INTEGER NOT NULL,
  run_time          INTEGER NOT NULL,
  memory_bytes_peak INTEGER NOT NULL,
  metrics           TEXT,
  system            BLOB,
  system_bytes      INTEGER,
  predictions       BLOB,
  predictions_bytes INTEGER,
  examples          BLOB,
  examples_bytes    INTEGER,
  log               BLOB,
  log_bytes         INTEGER,
  raw_metrics       BLOB,
  raw_metrics_bytes INTEGER,
  checksum          INTEGER NOT NULL
);

CREATE TABLE attempt (
  key               INTEGER NOT NULL,
  attempt           INTEGER NOT NULL,
  worker            TEXT NOT NULL,
  end_time          INTEGER NOT NULL,
  succeeded         INTEGER NOT NULL,
  failure           INTEGER NOT NULL,
  exit_code         INTEGER NOT NULL,
  message           TEXT,
  start_time        INTEGER NOT NULL,
  run_time          INTEGER NOT NULL,
  memory_bytes_peak INTEGER NOT NULL,
  metrics           TEXT,
  system            BLOB,
  system_bytes      INTEGER,
  predictions       BLOB,
  predictions_bytes INTEGER,
  examples          BLOB,
  examples_bytes    INTEGER,
  log               BLOB,
  log_bytes         INTEGER,
  raw_metrics       BLOB,
  raw_metrics_bytes INTEGER,
  checksum          INTEGER NOT NULL,
  PRIMARY KEY (key, attempt)
) WITHOUT ROWID;

CREATE TABLE worker (
  name              TEXT PRIMARY KEY,
  incarnation       TEXT NOT NULL,
  draining          INTEGER NOT NULL,
  last_seen         INTEGER NOT NULL,
  checksum          INTEGER NOT NULL,
  quarantine_end    INTEGER,
  quarantine_span   INTEGER,
  quarantine_reason TEXT
) WITHOUT ROWID;

CREATE TABLE pool (
  name         TEXT PRIMARY KEY,
  spec         BLOB NOT NULL,
  paused       INTEGER NOT NULL,
  pause_reason TEXT NOT NULL,
  removing     INTEGER NOT NULL,
  checksum     INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE pilot (
  name         TEXT PRIMARY KEY,
  pool         TEXT NOT NULL,
  provider     INTEGER NOT NULL,
  phase        INTEGER NOT NULL,
  external_id  TEXT NOT NULL,
  message      TEXT NOT NULL,
  request_time INTEGER NOT NULL,
  phase_time   INTEGER NOT NULL,
  joined       INTEGER NOT NULL,
  checksum     INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE blame (
  worker       TEXT NOT NULL,
  approach     TEXT NOT NULL,
  benchmark    TEXT NOT NULL,
  is_train     INTEGER NOT NULL,
  failures     INTEGER NOT NULL,
  success_time INTEGER,
  checksum     INTEGER NOT NULL,
  PRIMARY KEY (worker, approach, benchmark, is_train)
) WITHOUT ROWID;
)sql";

// Workers are blamed by what jobs are made of, and no longer by names of approaches and benchmarks.
// Blame that was held under a name cannot be told apart: it is dropped, while quarantines stay.
constexpr char kSchema5[] = R"sql(
DROP TABLE blame;

CREATE TABLE blame (
  worker       TEXT NOT NULL,
  kind         BLOB NOT NULL,
  sweep        INTEGER NOT NULL,
  approach     TEXT NOT NULL,
  benchmark    TEXT NOT NULL,
  is_train     INTEGER NOT NULL,
  failures     INTEGER NOT NULL,
  success_time INTEGER,
  checksum     INTEGER NOT NULL,
  PRIMARY KEY (worker, kind)
) WITHOUT ROWID;

DELETE FROM counter WHERE name = 'blames';

-- How often in a row a job's worker died while it ran; NULL: never.
ALTER TABLE job ADD COLUMN deaths INTEGER;
ALTER TABLE job ADD COLUMN death_shared INTEGER;
)sql";

// Steps that jobs report while they run, in the order in which they arrived.
constexpr char kSchema6[] = R"sql(
CREATE TABLE step (
  key      INTEGER NOT NULL,
  arrival  INTEGER NOT NULL,
  attempt  INTEGER NOT NULL,
  name     TEXT NOT NULL,
  step     INTEGER NOT NULL,
  value    REAL NOT NULL,
  checksum INTEGER NOT NULL,
  PRIMARY KEY (key, arrival)
) WITHOUT ROWID;
)sql";

// Rung up to which early stopping lets a job train; NULL: it stands at the start. And whether
// somebody asked for the job to be trained to its end; NULL: no.
constexpr char kSchema7[] = R"sql(
ALTER TABLE job ADD COLUMN rung INTEGER;
ALTER TABLE job ADD COLUMN whole INTEGER;
)sql";

// Checkpoint that a job's next attempt resumes, and attempt whose checkpoint a result used; NULL:
// it begins, or began, anew. And the image of jobs that a pilot was started for; NULL: its pool's.
constexpr char kSchema8[] = R"sql(
ALTER TABLE job ADD COLUMN checkpoint BLOB;
ALTER TABLE job ADD COLUMN checkpoint_bytes INTEGER;
ALTER TABLE job ADD COLUMN checkpoint_attempt INTEGER;
ALTER TABLE result ADD COLUMN resumed_from INTEGER;
ALTER TABLE attempt ADD COLUMN resumed_from INTEGER;
ALTER TABLE pilot ADD COLUMN image TEXT;
)sql";

// The priority that a sweep was given after its submission; NULL: its specification's.
constexpr char kSchema9[] = R"sql(
ALTER TABLE sweep ADD COLUMN priority INTEGER;
)sql";

// SweepRow::Retry::next of a sweep that is being retried, whose `canceled` then is was_canceled.
constexpr char kSchema10[] = R"sql(
ALTER TABLE sweep ADD COLUMN retry INTEGER;
)sql";

// Files that a job left in {output}; NULL: none are kept. And named resources that somebody has
// set.
constexpr char kSchema11[] = R"sql(
ALTER TABLE result ADD COLUMN outputs BLOB;
ALTER TABLE result ADD COLUMN outputs_bytes INTEGER;
ALTER TABLE attempt ADD COLUMN outputs BLOB;
ALTER TABLE attempt ADD COLUMN outputs_bytes INTEGER;

CREATE TABLE resource (
  name     TEXT PRIMARY KEY,
  amount   INTEGER NOT NULL,
  checksum INTEGER NOT NULL
) WITHOUT ROWID;
)sql";

// Amounts that attempts have spent; a sweep's budget as changed since its submission, in millionths
// of a dollar; NULL: its specification's. And whether the sweep waits for a larger one; NULL: no.
constexpr char kSchema12[] = R"sql(
CREATE TABLE spent (
  key        INTEGER NOT NULL,
  attempt    INTEGER NOT NULL,
  tokens_in  INTEGER NOT NULL,
  tokens_out INTEGER NOT NULL,
  usd_micros INTEGER NOT NULL,
  time       INTEGER NOT NULL,
  checksum   INTEGER NOT NULL,
  PRIMARY KEY (key, attempt)
) WITHOUT ROWID;

ALTER TABLE sweep ADD COLUMN budget INTEGER;
ALTER TABLE sweep ADD COLUMN over_budget INTEGER;
)sql";

// Starts a minute of jobs that use a named resource; NULL: any number.
constexpr char kSchema13[] = R"sql(
ALTER TABLE resource ADD COLUMN per_minute INTEGER;
)sql";

constexpr const char* kMigrations[] = {kBaseline, kSchema5,  kSchema6,  kSchema7,  kSchema8,
                                       kSchema9,  kSchema10, kSchema11, kSchema12, kSchema13};
static_assert(std::size(kMigrations) == kSchemaVersion - kSchemaBaseline + 1);

// Times are nanoseconds since 1970; the views show them as ISO 8601.
constexpr char kViews[] = R"sql(
DROP VIEW IF EXISTS sweeps;
DROP VIEW IF EXISTS jobs;
DROP VIEW IF EXISTS scores;
DROP VIEW IF EXISTS artifacts;
DROP VIEW IF EXISTS attempts;
DROP VIEW IF EXISTS pilots;
DROP VIEW IF EXISTS blames;
DROP VIEW IF EXISTS steps;
DROP VIEW IF EXISTS spendings;

CREATE VIEW sweeps AS
SELECT 's' || number AS sweep, owner, name, paused, canceled,
       strftime('%Y-%m-%dT%H:%M:%SZ', create_time / 1000000000, 'unixepoch') AS create_time,
       strftime('%Y-%m-%dT%H:%M:%SZ', end_time / 1000000000, 'unixepoch') AS end_time,
       forecast / 1e9 AS forecast_seconds, (end_time - create_time) / 1e9 AS took_seconds,
       length(spec) AS spec_bytes
FROM sweep JOIN sweep_spec USING (number);

CREATE VIEW jobs AS
SELECT job.key AS key, 's' || (job.key >> 32) AS sweep,
       's' || (job.key >> 32) || '/' || (job.key & 4294967295) AS job,
       CASE state WHEN 0 THEN 'blocked' WHEN 1 THEN 'ready' WHEN 2 THEN 'backoff'
                  WHEN 3 THEN 'running' WHEN 4 THEN 'succeeded' WHEN 5 THEN 'failed'
                  WHEN 6 THEN 'canceled' WHEN 7 THEN 'skipped' WHEN 8 THEN 'stopped'
       END AS state,
       attempt, failures, lost, coalesce(deaths, 0) AS deaths,
       CASE job.failure WHEN 0 THEN 'none' WHEN 1 THEN 'failed' WHEN 2 THEN 'oom'
                        WHEN 3 THEN 'timeout' WHEN 4 THEN 'lost' WHEN 5 THEN 'preempted'
                        WHEN 6 THEN 'spawn' WHEN 7 THEN 'invalid-output' WHEN 8 THEN 'config'
                        WHEN 9 THEN 'temporary' WHEN 10 THEN 'worker'
                        WHEN 11 THEN 'poison' WHEN 12 THEN 'service' END AS failure,
       process.worker AS worker, process.incarnation AS incarnation,
       CASE WHEN reused_from IS NOT NULL
            THEN 's' || (reused_from >> 32) || '/' || (reused_from & 4294967295)
       END AS reused_from,
       strftime('%Y-%m-%dT%H:%M:%fZ', update_time / 1e9, 'unixepoch') AS update_time,
       result.exit_code AS exit_code, result.message AS message,
       result.run_time / 1e9 AS run_seconds, result.memory_bytes_peak AS memory_bytes_peak
FROM job LEFT JOIN process ON process.id = job.process LEFT JOIN result ON result.key = job.key;

CREATE VIEW scores AS
SELECT result.key AS key, 's' || (result.key >> 32) AS sweep,
       's' || (result.key >> 32) || '/' || (result.key & 4294967295) AS job,
       metric.key AS metric, json_extract(metric.value, '$[0]') AS value,
       json_extract(metric.value, '$[1]') AS examples
FROM result, json_each(result.metrics) AS metric;

CREATE VIEW artifacts AS
SELECT key, 's' || (key >> 32) || '/' || (key & 4294967295) AS job, kind,
       lower(hex(digest)) AS sha256, bytes
FROM (SELECT key, 'system' AS kind, system AS digest, system_bytes AS bytes FROM result
      UNION ALL SELECT key, 'predictions', predictions, predictions_bytes FROM result
      UNION ALL SELECT key, 'examples', examples, examples_bytes FROM result
      UNION ALL SELECT key, 'log', log, log_bytes FROM result
      UNION ALL SELECT key, 'metrics', raw_metrics, raw_metrics_bytes FROM result
      UNION ALL SELECT key, 'outputs', outputs, outputs_bytes FROM result)
WHERE digest IS NOT NULL;

CREATE VIEW attempts AS
SELECT key, 's' || (key >> 32) || '/' || (key & 4294967295) AS job, attempt, worker,
       strftime('%Y-%m-%dT%H:%M:%fZ', end_time / 1e9, 'unixepoch') AS end_time,
       CASE failure WHEN 0 THEN 'none' WHEN 1 THEN 'failed' WHEN 2 THEN 'oom'
                    WHEN 3 THEN 'timeout' WHEN 4 THEN 'lost' WHEN 5 THEN 'preempted'
                    WHEN 6 THEN 'spawn' WHEN 7 THEN 'invalid-output' WHEN 8 THEN 'config'
                    WHEN 9 THEN 'temporary' WHEN 10 THEN 'worker'
                        WHEN 11 THEN 'poison' WHEN 12 THEN 'service' END AS failure,
       exit_code, message, run_time / 1e9 AS run_seconds
FROM attempt;

CREATE VIEW pilots AS
SELECT name, pool,
       CASE provider WHEN 0 THEN 'local' WHEN 1 THEN 'slurm' WHEN 2 THEN 'kubernetes'
                     WHEN 3 THEN 'command' END AS provider,
       CASE phase WHEN 0 THEN 'requested' WHEN 1 THEN 'pending' WHEN 2 THEN 'starting'
                  WHEN 3 THEN 'working' WHEN 4 THEN 'stopping' WHEN 5 THEN 'gone' END AS phase,
       external_id, message, image,
       strftime('%Y-%m-%dT%H:%M:%fZ', request_time / 1e9, 'unixepoch') AS request_time
FROM pilot;

CREATE VIEW blames AS
SELECT 's' || sweep AS sweep, approach, benchmark,
       CASE is_train WHEN 1 THEN 'train' ELSE 'eval' END AS kind, worker, failures,
       strftime('%Y-%m-%dT%H:%M:%fZ', success_time / 1e9, 'unixepoch') AS success_time
FROM blame;

CREATE VIEW steps AS
SELECT key, 's' || (key >> 32) || '/' || (key & 4294967295) AS job, attempt, name, step, value,
       arrival
FROM step;

CREATE VIEW spendings AS
SELECT key, 's' || (key >> 32) || '/' || (key & 4294967295) AS job, attempt, tokens_in, tokens_out,
       usd_micros / 1e6 AS usd, strftime('%Y-%m-%dT%H:%M:%fZ', time / 1e9, 'unixepoch') AS time
FROM spent;
)sql";

}  // namespace

absl::Span<const char* const> SchemaSteps() { return kMigrations; }

absl::StatusOr<int64_t> SchemaVersionOf(SqliteDatabase& database) {
  CONCUR_ASSIGN_OR_RETURN(const int64_t version, database.QueryInt("PRAGMA user_version"));
  CONCUR_ASSIGN_OR_RETURN(const int64_t application, database.QueryInt("PRAGMA application_id"));
  CONCUR_ASSIGN_OR_RETURN(const int64_t tables,
                          database.QueryInt("SELECT count(*) FROM sqlite_schema"));
  const bool empty = version == 0 && application == 0 && tables == 0;
  if (!empty && (application != kApplicationId || version < 1)) {
    return absl::FailedPreconditionError(
        absl::StrCat(database.path(), ": expected a Concur database, got another program's"));
  }
  if (version > kSchemaVersion) {
    return absl::FailedPreconditionError(absl::StrCat(
        database.path(), ": schema ", version, " was written by a newer Concur; this one knows ",
        "schemas up to ", kSchemaVersion, ": use the newer one, or restore an older backup"));
  }
  if (!empty && version < kSchemaBaseline) {
    return absl::FailedPreconditionError(absl::StrCat(
        database.path(), ": schema ", version, " was written by a Concur before 0.1.0; this one ",
        "knows schemas from ", kSchemaBaseline,
        " on: start a coordinator of 0.2.0 on it once, which migrates it"));
  }
  return version;
}

absl::Status CheckSchema(SqliteDatabase& database) {
  CONCUR_ASSIGN_OR_RETURN(const int64_t version, SchemaVersionOf(database));
  if (version == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(database.path(), ": expected a Concur database, got an empty one"));
  }
  if (version < kSchemaVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat(database.path(), ": schema ", version, " is older than this program's ",
                     kSchemaVersion, ": start the coordinator once to migrate it"));
  }
  return absl::OkStatus();
}

absl::Status MigrateSchema(SqliteDatabase& database) {
  CONCUR_ASSIGN_OR_RETURN(const int64_t version, SchemaVersionOf(database));
  if (version == kSchemaVersion) {
    return absl::OkStatus();
  }
  SqlTransaction transaction(database);
  CONCUR_RETURN_IF_ERROR(transaction.Begin());
  const int64_t steps_done = version == 0 ? 0 : version - kSchemaBaseline + 1;
  for (const char* step : SchemaSteps().subspan(steps_done)) {
    CONCUR_RETURN_IF_ERROR(database.Execute(step));
  }
  CONCUR_RETURN_IF_ERROR(database.Execute(kViews));
  CONCUR_RETURN_IF_ERROR(
      database.Execute(absl::StrCat("PRAGMA application_id = ", kApplicationId)));
  CONCUR_RETURN_IF_ERROR(database.Execute(absl::StrCat("PRAGMA user_version = ", kSchemaVersion)));
  return transaction.Commit();
}

}  // namespace concur
