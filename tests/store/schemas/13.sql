-- SPDX-License-Identifier: Apache-2.0
-- Schema 13 with the rows of ScriptOfBatches (tests/store/store_rows.cc), as `sqlite3 FILE .dump` gives it.
PRAGMA application_id = 1131307893;
PRAGMA user_version = 13;
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
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
  checksum          INTEGER NOT NULL, resumed_from INTEGER, outputs BLOB, outputs_bytes INTEGER,
  PRIMARY KEY (key, attempt)
) WITHOUT ROWID;
INSERT INTO attempt VALUES(4294967296,1,'node-2',1700000006000000002,0,7,-1,'predictions.json:3: expected a string, got "\u0000"',1700000005000000001,3600000000003,5497558138880,'{"exact_match":[33.333333333333336,10570],"f1":[-0,0],"loss \"x\" \\ \u000a":[1e-300,1152921504606846976]}',X'6439e5605c9f82072fbebf09f5730196a1a496921d3da4e93bbaf21dfbdf9f9e',1,X'f704638b5ae224c9b2460440bbd785a1691f2572d829a7476b291a965a08320a',1024,X'0984b8a8a5d5cffea9bf00c894d3be1cdab7fbe2e01fc3744c918759ad19355e',1048576,X'3a8c8a9a51a19a6cf7566628936a686a3ef514c68f28684a329b64acb1c20c5a',1073741824,X'be4cd3763c77294cc59468f71890208e83c4f438713fac19e67fa801baac171e',1099511627776,1396613623,NULL,NULL,NULL);
INSERT INTO attempt VALUES(4294967296,2,'node-2',1700000006000000002,0,7,-1,'predictions.json:3: expected a string, got "\u0000"',1700000005000000001,3600000000003,5497558138880,'{"exact_match":[33.333333333333336,10570],"f1":[-0,0],"loss \"x\" \\ \u000a":[1e-300,1152921504606846976]}',X'6439e5605c9f82072fbebf09f5730196a1a496921d3da4e93bbaf21dfbdf9f9e',1,X'f704638b5ae224c9b2460440bbd785a1691f2572d829a7476b291a965a08320a',1024,X'0984b8a8a5d5cffea9bf00c894d3be1cdab7fbe2e01fc3744c918759ad19355e',1048576,X'3a8c8a9a51a19a6cf7566628936a686a3ef514c68f28684a329b64acb1c20c5a',1073741824,X'be4cd3763c77294cc59468f71890208e83c4f438713fac19e67fa801baac171e',1099511627776,1712497120,NULL,NULL,NULL);
CREATE TABLE counter (
  name     TEXT PRIMARY KEY,
  value    INTEGER NOT NULL,
  checksum INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO counter VALUES('attempts s1',2,2100243460);
INSERT INTO counter VALUES('attempts s3',0,-1732935184);
INSERT INTO counter VALUES('attempts s4',0,276856084);
INSERT INTO counter VALUES('commits',18,-1226361279);
INSERT INTO counter VALUES('jobs s1',2,-1640658267);
INSERT INTO counter VALUES('jobs s3',1,412209371);
INSERT INTO counter VALUES('jobs s4',1,394514644);
INSERT INTO counter VALUES('next_sweep',5,-632391838);
INSERT INTO counter VALUES('results s1',1,-1288208048);
INSERT INTO counter VALUES('results s3',0,1040360922);
INSERT INTO counter VALUES('results s4',1,2006818656);
INSERT INTO counter VALUES('sweeps',3,1019959680);
INSERT INTO counter VALUES('workers',2,-235217810);
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
, deaths INTEGER, death_shared INTEGER, rung INTEGER, whole INTEGER, checkpoint BLOB, checkpoint_bytes INTEGER, checkpoint_attempt INTEGER);
INSERT INTO job VALUES(4294967296,4,3,2,1,10,1700000003000000007,2,-9223372036854775807,30164771071,1,1,1700000004999999999,-477213443,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO job VALUES(4294967298,2,3,2,1,10,1700000003000000007,1,-9223372036854775807,30164771071,1,1,1700000004999999999,-1092142349,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO job VALUES(12984901887,2,3,2,1,10,1700000003000000007,1,-9223372036854775807,30164771071,1,1,1700000004999999999,-902253739,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO job VALUES(17179869184,2,3,2,1,10,1700000003000000007,1,-9223372036854775807,30164771071,1,1,1700000004999999999,-586949648,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE meta (
  name     TEXT PRIMARY KEY,
  value    TEXT NOT NULL,
  checksum INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO meta VALUES('id','4a4f43c0f66a86f8f4f7843a439724f3',-1960344766);
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
, image TEXT) WITHOUT ROWID;
CREATE TABLE pool (
  name         TEXT PRIMARY KEY,
  spec         BLOB NOT NULL,
  paused       INTEGER NOT NULL,
  pause_reason TEXT NOT NULL,
  removing     INTEGER NOT NULL,
  checksum     INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE process (
  id          INTEGER PRIMARY KEY,
  worker      TEXT NOT NULL,
  incarnation TEXT NOT NULL,
  checksum    INTEGER NOT NULL
);
INSERT INTO process VALUES(1,'node-1','0f1e2d3c',893804083);
INSERT INTO process VALUES(2,'w0','0f1e2d3c',1907319760);
INSERT INTO process VALUES(3,'w1','0f1e2d3c',-1245913014);
INSERT INTO process VALUES(4,'w2','0f1e2d3c',706061167);
INSERT INTO process VALUES(5,'w3','0f1e2d3c',-1430441472);
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
, resumed_from INTEGER, outputs BLOB, outputs_bytes INTEGER);
INSERT INTO result VALUES(4294967296,1,7,-1,'predictions.json:3: expected a string, got "\u0000"',1700000005000000001,3600000000003,5497558138880,'{"exact_match":[33.333333333333336,10570],"f1":[-0,0],"loss \"x\" \\ \u000a":[1e-300,1152921504606846976]}',X'6439e5605c9f82072fbebf09f5730196a1a496921d3da4e93bbaf21dfbdf9f9e',1,X'f704638b5ae224c9b2460440bbd785a1691f2572d829a7476b291a965a08320a',1024,X'0984b8a8a5d5cffea9bf00c894d3be1cdab7fbe2e01fc3744c918759ad19355e',1048576,X'3a8c8a9a51a19a6cf7566628936a686a3ef514c68f28684a329b64acb1c20c5a',1073741824,X'be4cd3763c77294cc59468f71890208e83c4f438713fac19e67fa801baac171e',1099511627776,1662587084,NULL,NULL,NULL);
INSERT INTO result VALUES(17179869184,1,7,-1,'predictions.json:3: expected a string, got "\u0000"',1700000005000000001,3600000000003,5497558138880,'{"exact_match":[33.333333333333336,10570],"f1":[-0,0],"loss \"x\" \\ \u000a":[1e-300,1152921504606846976]}',X'6439e5605c9f82072fbebf09f5730196a1a496921d3da4e93bbaf21dfbdf9f9e',1,X'f704638b5ae224c9b2460440bbd785a1691f2572d829a7476b291a965a08320a',1024,X'0984b8a8a5d5cffea9bf00c894d3be1cdab7fbe2e01fc3744c918759ad19355e',1048576,X'3a8c8a9a51a19a6cf7566628936a686a3ef514c68f28684a329b64acb1c20c5a',1073741824,X'be4cd3763c77294cc59468f71890208e83c4f438713fac19e67fa801baac171e',1099511627776,781305933,NULL,NULL,NULL);
CREATE TABLE sweep (
  number      INTEGER PRIMARY KEY,
  owner       TEXT NOT NULL,
  name        TEXT NOT NULL,
  request_id  TEXT NOT NULL,
  create_time INTEGER NOT NULL,
  paused      INTEGER NOT NULL,
  canceled    INTEGER NOT NULL,
  end_time    INTEGER,
  checksum    INTEGER NOT NULL
, forecast INTEGER, priority INTEGER, retry INTEGER, budget INTEGER, over_budget INTEGER);
INSERT INTO sweep VALUES(1,'ada',replace('a sweep of "quotes", é and\nlines','\n',char(10)),'request-1',1700000001123456789,1,1,1700000002000000005,1829937409,NULL,NULL,NULL,NULL,NULL);
INSERT INTO sweep VALUES(3,'ada',replace('a sweep of "quotes", é and\nlines','\n',char(10)),'request-3',1700000001123456789,0,0,NULL,739687488,NULL,NULL,NULL,NULL,NULL);
INSERT INTO sweep VALUES(4,'ada',replace('a sweep of "quotes", é and\nlines','\n',char(10)),'request-4',1700000001123456789,1,1,1700000002000000005,2047172122,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE sweep_spec (
  number   INTEGER PRIMARY KEY,
  spec     BLOB NOT NULL,
  checksum INTEGER NOT NULL
);
INSERT INTO sweep_spec VALUES(1,X'0001207370656320ff',742904597);
INSERT INTO sweep_spec VALUES(3,X'0001207370656320ff',1577830126);
INSERT INTO sweep_spec VALUES(4,X'0001207370656320ff',859757891);
CREATE TABLE worker (
  name        TEXT PRIMARY KEY,
  incarnation TEXT NOT NULL,
  draining    INTEGER NOT NULL,
  last_seen   INTEGER NOT NULL,
  checksum    INTEGER NOT NULL
, quarantine_end INTEGER, quarantine_span INTEGER, quarantine_reason TEXT) WITHOUT ROWID;
INSERT INTO worker VALUES('w2','incarnation of w2',1,1700000007000000003,1744978451,NULL,NULL,NULL);
INSERT INTO worker VALUES('w3','incarnation of w3',1,1700000007000000003,760635257,NULL,NULL,NULL);
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
CREATE TABLE resource (
  name     TEXT PRIMARY KEY,
  amount   INTEGER NOT NULL,
  checksum INTEGER NOT NULL
, per_minute INTEGER) WITHOUT ROWID;
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
CREATE VIEW blames AS
SELECT 's' || sweep AS sweep, approach, benchmark,
       CASE is_train WHEN 1 THEN 'train' ELSE 'eval' END AS kind, worker, failures,
       strftime('%Y-%m-%dT%H:%M:%fZ', success_time / 1e9, 'unixepoch') AS success_time
FROM blame;
CREATE VIEW steps AS
SELECT key, 's' || (key >> 32) || '/' || (key & 4294967295) AS job, attempt, name, step, value,
       arrival
FROM step;
CREATE VIEW pilots AS
SELECT name, pool,
       CASE provider WHEN 0 THEN 'local' WHEN 1 THEN 'slurm' WHEN 2 THEN 'kubernetes'
                     WHEN 3 THEN 'command' END AS provider,
       CASE phase WHEN 0 THEN 'requested' WHEN 1 THEN 'pending' WHEN 2 THEN 'starting'
                  WHEN 3 THEN 'working' WHEN 4 THEN 'stopping' WHEN 5 THEN 'gone' END AS phase,
       external_id, message, image,
       strftime('%Y-%m-%dT%H:%M:%fZ', request_time / 1e9, 'unixepoch') AS request_time
FROM pilot;
CREATE VIEW spendings AS
SELECT key, 's' || (key >> 32) || '/' || (key & 4294967295) AS job, attempt, tokens_in, tokens_out,
       usd_micros / 1e6 AS usd, strftime('%Y-%m-%dT%H:%M:%fZ', time / 1e9, 'unixepoch') AS time
FROM spent;
COMMIT;
