// SPDX-License-Identifier: Apache-2.0
// The columns of the tables in the order in which rows are written and read, and the statements
// made of them. Checksums cover the columns' numbers: a new column comes last.
//
// Immutable.
#ifndef CONCUR_STORE_SQL_TABLES_H_
#define CONCUR_STORE_SQL_TABLES_H_

#include <string>

#include "absl/strings/string_view.h"

namespace concur {

struct SqlTable {
  // `columns` without the checksum, which every table has last; the first `keys` are its key.
  SqlTable(absl::string_view name, int keys, absl::string_view columns);

  std::string insert;  // a parameter for each column and the checksum
  std::string upsert;  // the same, and replaces the row that has the key
  std::string add;     // the same, and changes nothing when a row has the key
  std::string select;  // up to WHERE
};

// The columns of a result, in the order of VisitFields; those of artifacts in the order of kinds.
// Outputs came later and stand last.
#define CONCUR_RESULT_COLUMNS                                                                  \
  "succeeded, failure, exit_code, message, start_time, run_time, memory_bytes_peak, metrics, " \
  "system, system_bytes, predictions, predictions_bytes, examples, examples_bytes, log, "      \
  "log_bytes, raw_metrics, raw_metrics_bytes, resumed_from, outputs, outputs_bytes"

struct SqlTables {
  SqlTable meta{"meta", 1, "name, value"};
  SqlTable counter{"counter", 1, "name, value"};
  SqlTable sweep{"sweep", 1,
                 "number, owner, name, request_id, create_time, paused, canceled, end_time, "
                 "forecast, priority, retry, budget, over_budget"};
  SqlTable sweep_spec{"sweep_spec", 1, "number, spec"};
  SqlTable process{"process", 1, "id, worker, incarnation"};
  SqlTable job{"job", 1,
               "key, state, attempt, failures, lost, failure, not_before, process, gpu_mask, "
               "reused_from, system_collected, no_reuse, update_time, deaths, death_shared, rung, "
               "whole, checkpoint, checkpoint_bytes, checkpoint_attempt"};
  SqlTable result{"result", 1, "key, " CONCUR_RESULT_COLUMNS};
  SqlTable attempt{"attempt", 2, "key, attempt, worker, end_time, " CONCUR_RESULT_COLUMNS};
  SqlTable step{"step", 2, "key, arrival, attempt, name, step, value"};
  SqlTable spent{"spent", 2, "key, attempt, tokens_in, tokens_out, usd_micros, time"};
  SqlTable worker{"worker", 1,
                  "name, incarnation, draining, last_seen, quarantine_end, quarantine_span, "
                  "quarantine_reason"};
  SqlTable blame{"blame", 2,
                 "worker, kind, sweep, approach, benchmark, is_train, failures, success_time"};
  SqlTable resource{"resource", 1, "name, amount, per_minute"};
  SqlTable pool{"pool", 1, "name, spec, paused, pause_reason, removing"};
  SqlTable pilot{"pilot", 1,
                 "name, pool, provider, phase, external_id, message, request_time, phase_time, "
                 "joined, image"};
};

const SqlTables& Tables();

}  // namespace concur

#endif  // CONCUR_STORE_SQL_TABLES_H_
