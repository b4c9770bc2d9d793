// SPDX-License-Identifier: Apache-2.0
#include "store/sql_reader.h"

#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "core/sweep/sweep.h"
#include "store/row_codec.h"
#include "store/row_rules.h"
#include "store/sql_tables.h"

namespace concur {
namespace {

constexpr char kDeletingPrefix[] = "deleting s";
constexpr int64_t kUint32Max = std::numeric_limits<uint32_t>::max();
constexpr int64_t kKeyMax = static_cast<int64_t>(kSweepNumberMax << 32 | (kJobsMax - 1));

struct KeyRange {
  int64_t first = INT64_MIN;
  int64_t last = INT64_MAX;
};

// The keys of jobs of all other sweeps.
std::vector<KeyRange> KeysBut(const absl::btree_set<SweepId>& left_out) {
  std::vector<KeyRange> ranges(1);
  for (const SweepId& id : left_out) {
    ranges.back().last = JobKey(JobId{id, 0}) - 1;
    ranges.push_back({.first = JobKey(JobId{SweepId{id.number + 1}, 0})});
  }
  return ranges;
}

absl::Status Damaged(const SqlDatabase& database, absl::string_view row,
                     absl::string_view problem) {
  return absl::DataLossError(absl::StrCat(database.path(), ": ", row, ": ", problem));
}

// "s12/345", without asking whether such a job can be.
std::string KeyText(int64_t key) {
  const JobId id = JobOfKey(key);
  return absl::StrCat("s", id.sweep.number, "/", id.index);
}

// Calls `decode(reader)` for every row of a query; it returns the row's name, for errors.
template <typename Decode>
absl::Status ReadRows(SqlDatabase& database, absl::string_view sql, const Decode& decode,
                      std::initializer_list<int64_t> parameters = {}) {
  CONCUR_ASSIGN_OR_RETURN(SqlStatement * statement, database.Prepare(sql));
  int index = 0;
  for (const int64_t parameter : parameters) {
    statement->BindInt(++index, parameter);
  }
  RowChecksum checksum;
  for (;;) {
    CONCUR_ASSIGN_OR_RETURN(const bool has_row, statement->Step());
    if (!has_row) {
      return absl::OkStatus();
    }
    RowReader reader(*statement, checksum);
    absl::Status status = decode(reader);
    if (!status.ok()) {
      statement->Reset();
      return status;
    }
  }
}

absl::Status MissingSpec(const SqlDatabase& database, const SweepRow& row) {
  return Damaged(database, absl::StrCat("spec of sweep s", row.id.number), "is missing");
}

absl::Status ReadSweeps(SqlDatabase& database, Snapshot& snapshot) {
  CONCUR_RETURN_IF_ERROR(ReadRows(
      database, absl::StrCat(Tables().sweep.select, " ORDER BY number"), [&](RowReader& reader) {
        SweepRow& row = snapshot.sweeps.emplace_back();
        const int64_t number = reader.Int();
        row.id.number = static_cast<uint64_t>(number);
        row.owner = std::string(reader.Text());
        row.name = std::string(reader.Text());
        row.request_id = std::string(reader.Text());
        row.create_time = TimeOfInt(reader.Int());
        row.paused = reader.Bool();
        row.canceled = reader.Bool();
        if (const std::optional<int64_t> end_time = reader.OptionalInt()) {
          row.end_time = TimeOfInt(*end_time);
        }
        if (const std::optional<int64_t> forecast = reader.OptionalInt()) {
          row.forecast = DurationOfInt(*forecast);
        }
        if (const std::optional<int64_t> priority = reader.OptionalInt()) {
          row.priority = static_cast<int32_t>(*priority);
        }
        if (const std::optional<int64_t> next = reader.OptionalInt()) {
          row.retry = {.next = static_cast<uint64_t>(*next),
                       .was_canceled = std::exchange(row.canceled, false)};
        }
        row.budget_usd_micros = reader.OptionalInt(0, kSpentMax);
        row.over_budget = reader.OptionalInt(0, 1).value_or(0) == 1;
        return reader.Finish()
                   ? absl::OkStatus()
                   : Damaged(database, absl::StrCat("sweep s", number), reader.problem());
      }));
  size_t next = 0;
  CONCUR_RETURN_IF_ERROR(ReadRows(
      database, absl::StrCat(Tables().sweep_spec.select, " ORDER BY number"),
      [&](RowReader& reader) {
        const int64_t number = reader.Int();
        std::string spec(reader.Blob());
        const std::string name = absl::StrCat("spec of sweep s", number);
        if (!reader.Finish()) {
          return Damaged(database, name, reader.problem());
        }
        if (next == snapshot.sweeps.size() ||
            snapshot.sweeps[next].id.number > static_cast<uint64_t>(number)) {
          return Damaged(database, absl::StrCat("sweep s", number), "is missing, but has a spec");
        }
        if (snapshot.sweeps[next].id.number < static_cast<uint64_t>(number)) {
          return MissingSpec(database, snapshot.sweeps[next]);
        }
        snapshot.sweeps[next++].spec = std::move(spec);
        return absl::OkStatus();
      }));
  if (next != snapshot.sweeps.size()) {
    return MissingSpec(database, snapshot.sweeps[next]);
  }
  return absl::OkStatus();
}

absl::Status ReadProcesses(SqlDatabase& database, StoredState& state) {
  return ReadRows(database, Tables().process.select, [&](RowReader& reader) {
    const int64_t id = reader.Int();
    ProcessName& name = state.processes[id];
    name.worker = std::string(reader.Text());
    name.incarnation = std::string(reader.Text());
    return reader.Finish() ? absl::OkStatus()
                           : Damaged(database, absl::StrCat("process ", id), reader.problem());
  });
}

absl::Status DecodeJob(const SqlDatabase& database, RowReader& reader, StoredState& state) {
  JobRow& row = state.snapshot.jobs.emplace_back();
  const int64_t key = reader.Int(0, kKeyMax);
  row.id = JobOfKey(key);
  row.state = static_cast<JobState>(reader.Int(0, kJobStates - 1));
  row.attempt.number = static_cast<uint32_t>(reader.Int(0, kUint32Max));
  row.failures = static_cast<uint32_t>(reader.Int(0, kUint32Max));
  row.lost = static_cast<uint32_t>(reader.Int(0, kUint32Max));
  row.failure = static_cast<FailureClass>(reader.Int(0, kFailureClasses - 1));
  if (const std::optional<int64_t> not_before = reader.OptionalInt()) {
    row.not_before = TimeOfInt(*not_before);
  }
  const std::optional<int64_t> process = reader.OptionalInt();
  row.gpu_mask = static_cast<uint64_t>(reader.Int());
  if (const std::optional<int64_t> reused = reader.OptionalInt(0, kKeyMax)) {
    row.reused_from = JobOfKey(*reused);
  }
  row.system_collected = reader.Bool();
  row.no_reuse = reader.Bool();
  row.update_time = TimeOfInt(reader.Int());
  row.deaths = static_cast<uint32_t>(reader.OptionalInt(0, kUint32Max).value_or(0));
  row.death_shared = reader.OptionalInt(0, 1).value_or(0) == 1;
  row.rung = static_cast<uint32_t>(reader.OptionalInt(0, UINT8_MAX).value_or(0));
  row.whole = reader.OptionalInt(0, 1).value_or(0) == 1;
  row.checkpoint = reader.OptionalCheckpoint();
  if (!reader.Finish()) {
    return Damaged(database, absl::StrCat("job ", KeyText(key)), reader.problem());
  }
  if (process) {
    const auto it = state.processes.find(*process);
    if (it == state.processes.end()) {
      return Damaged(database, absl::StrCat("job ", KeyText(key)),
                     absl::StrCat("process ", *process, " is missing"));
    }
    row.worker = it->second.worker;
    row.incarnation = it->second.incarnation;
    state.used_processes.insert(*process);
  }
  return absl::OkStatus();
}

absl::Status ReadJobs(SqlDatabase& database, StoredState& state, KeyRange keys) {
  return ReadRows(database,
                  absl::StrCat(Tables().job.select, " WHERE key BETWEEN $1 AND $2 ORDER BY key"),
                  [&](RowReader& reader) { return DecodeJob(database, reader, state); },
                  {keys.first, keys.last});
}

absl::Status ReadResults(SqlDatabase& database, Snapshot& snapshot, KeyRange keys) {
  return ReadRows(
      database, absl::StrCat(Tables().result.select, " WHERE key BETWEEN $1 AND $2 ORDER BY key"),
      [&](RowReader& reader) {
        ResultRow& row = snapshot.results.emplace_back();
        const int64_t key = reader.Int(0, kKeyMax);
        row.id = JobOfKey(key);
        reader.Result(row.result);
        return reader.Finish() ? absl::OkStatus()
                               : Damaged(database, absl::StrCat("result of job ", KeyText(key)),
                                         reader.problem());
      },
      {keys.first, keys.last});
}

absl::Status ReadWorkers(SqlDatabase& database, Snapshot& snapshot) {
  return ReadRows(
      database, absl::StrCat(Tables().worker.select, " ORDER BY name"), [&](RowReader& reader) {
        WorkerRow& row = snapshot.workers.emplace_back();
        row.name = std::string(reader.Text());
        row.incarnation = std::string(reader.Text());
        row.draining = reader.Bool();
        row.last_seen = TimeOfInt(reader.Int());
        if (const std::optional<int64_t> end = reader.OptionalInt()) {
          row.quarantine_end = TimeOfInt(*end);
        }
        row.quarantine_span = DurationOfInt(reader.OptionalInt().value_or(0));
        row.quarantine_reason = std::string(reader.OptionalText());
        return reader.Finish()
                   ? absl::OkStatus()
                   : Damaged(database, absl::StrCat("worker ", row.name), reader.problem());
      });
}

absl::Status ReadBlames(SqlDatabase& database, Snapshot& snapshot) {
  return ReadRows(database, absl::StrCat(Tables().blame.select, " ORDER BY worker, kind"),
                  [&](RowReader& reader) {
                    BlameRow& row = snapshot.blames.emplace_back();
                    row.worker = std::string(reader.Text());
                    const absl::StatusOr<Digest> kind = Digest::FromBytes(reader.Blob());
                    row.kind = kind.value_or(Digest());
                    row.sweep.number = static_cast<uint64_t>(reader.Int(0, kSweepNumberMax));
                    row.approach = std::string(reader.Text());
                    row.benchmark = std::string(reader.Text());
                    row.is_train = reader.Bool();
                    row.failures = static_cast<uint32_t>(reader.Int(0, kUint32Max));
                    if (const std::optional<int64_t> time = reader.OptionalInt()) {
                      row.success_time = TimeOfInt(*time);
                    }
                    return reader.Finish() && kind.ok()
                               ? absl::OkStatus()
                               : Damaged(
                                     database,
                                     absl::StrCat("blame of worker ", row.worker, ", approach ",
                                                  row.approach, ", benchmark ", row.benchmark),
                                     kind.ok() ? reader.problem() : "expected a kind of 32 bytes");
                  });
}

absl::Status ReadResources(SqlDatabase& database, Snapshot& snapshot) {
  return ReadRows(
      database, absl::StrCat(Tables().resource.select, " ORDER BY name"), [&](RowReader& reader) {
        ResourceRow& row = snapshot.resources.emplace_back();
        row.name = std::string(reader.Text());
        row.amount = reader.Int(0, kUnitsMax);
        row.per_minute = reader.OptionalInt(1, kUnitsMax).value_or(0);
        return reader.Finish()
                   ? absl::OkStatus()
                   : Damaged(database, absl::StrCat("resource ", row.name), reader.problem());
      });
}

absl::Status ReadPools(SqlDatabase& database, Snapshot& snapshot) {
  CONCUR_RETURN_IF_ERROR(ReadRows(
      database, absl::StrCat(Tables().pool.select, " ORDER BY name"), [&](RowReader& reader) {
        PoolRow& row = snapshot.pools.emplace_back();
        row.name = std::string(reader.Text());
        row.spec = std::string(reader.Blob());
        row.paused = reader.Bool();
        row.pause_reason = std::string(reader.Text());
        row.removing = reader.Bool();
        return reader.Finish()
                   ? absl::OkStatus()
                   : Damaged(database, absl::StrCat("pool ", row.name), reader.problem());
      }));
  return ReadRows(
      database, absl::StrCat(Tables().pilot.select, " ORDER BY name"), [&](RowReader& reader) {
        PilotRow& row = snapshot.pilots.emplace_back();
        row.name = std::string(reader.Text());
        row.pool = std::string(reader.Text());
        row.provider = static_cast<uint8_t>(reader.Int(0, UINT8_MAX));
        row.phase = static_cast<PilotPhase>(reader.Int(0, kPilotPhases - 1));
        row.external_id = std::string(reader.Text());
        row.message = std::string(reader.Text());
        row.request_time = TimeOfInt(reader.Int());
        row.phase_time = TimeOfInt(reader.Int());
        row.joined = reader.Bool();
        row.image = std::string(reader.OptionalText());
        return reader.Finish()
                   ? absl::OkStatus()
                   : Damaged(database, absl::StrCat("pilot ", row.name), reader.problem());
      });
}

absl::Status ReadSpent(SqlDatabase& database, Snapshot& snapshot, KeyRange keys) {
  return ReadRows(
      database,
      absl::StrCat(Tables().spent.select, " WHERE key BETWEEN $1 AND $2 ORDER BY key, attempt"),
      [&](RowReader& reader) {
        SpentRow& row = snapshot.spent.emplace_back();
        const int64_t key = reader.Int(0, kKeyMax);
        row.id = JobOfKey(key);
        row.attempt.number = static_cast<uint32_t>(reader.Int(0, kUint32Max));
        VisitSpent(row.spent,
                   [&](const char*, int64_t& number) { number = reader.Int(0, kSpentMax); });
        row.time = TimeOfInt(reader.Int());
        return reader.Finish() ? absl::OkStatus()
                               : Damaged(database, absl::StrCat("spending of job ", KeyText(key)),
                                         reader.problem());
      },
      {keys.first, keys.last});
}

absl::Status CountAttempts(SqlDatabase& database, StoredState& state) {
  CONCUR_ASSIGN_OR_RETURN(
      SqlStatement * statement,
      database.Prepare("SELECT key >> 32, count(*) FROM attempt GROUP BY key >> 32"));
  for (;;) {
    CONCUR_ASSIGN_OR_RETURN(const bool has_row, statement->Step());
    if (!has_row) {
      return absl::OkStatus();
    }
    const SweepId sweep{static_cast<uint64_t>(statement->Int(0))};
    if (!state.left_out.contains(sweep) && !state.deleting.contains(sweep)) {
      state.attempts[sweep] = statement->Int(1);
    }
  }
}

// Checks that there are as many rows as the commits left. A flipped bit in a page's header can hide
// rows without any other trace.
absl::Status CheckCounts(const SqlDatabase& database, const StoredState& state) {
  absl::btree_map<std::string, int64_t> found;
  const auto count = [&found](const auto& rows, auto name) {
    std::optional<SweepId> sweep;
    int64_t* slot = nullptr;
    for (const auto& row : rows) {
      if (sweep != row.id.sweep) {
        sweep = row.id.sweep;
        slot = &found[name(row.id.sweep)];
      }
      ++*slot;
    }
  };
  count(state.snapshot.jobs, JobsCounter);
  count(state.snapshot.results, ResultsCounter);
  for (const auto& [sweep, attempts] : state.attempts) {
    found[AttemptsCounter(sweep)] = attempts;
  }
  for (const StepSeriesRow& row : state.snapshot.steps) {
    found[StepsCounter(row.id.sweep)] += row.series.count;
  }
  count(state.snapshot.spent, SpentCounter);
  found[kSweepsCounter] =
      static_cast<int64_t>(state.snapshot.sweeps.size() + state.left_out.size());
  found[kWorkersCounter] = static_cast<int64_t>(state.snapshot.workers.size());
  found[kBlamesCounter] = static_cast<int64_t>(state.snapshot.blames.size());
  found[kResourcesCounter] = static_cast<int64_t>(state.snapshot.resources.size());
  found[kPoolsCounter] = static_cast<int64_t>(state.snapshot.pools.size());
  found[kPilotsCounter] = static_cast<int64_t>(state.snapshot.pilots.size());
  absl::btree_map<std::string, int64_t> expected = state.counters;
  expected.erase(kCommitsCounter);
  expected.erase(kNextSweepCounter);
  expected.erase(kNextPilotCounter);
  expected.erase(kLastServiceCounter);
  for (const SweepId& id : state.left_out) {
    for (const auto name :
         {JobsCounter, ResultsCounter, AttemptsCounter, StepsCounter, SpentCounter}) {
      expected.erase(name(id));
    }
  }
  for (const auto& [name, value] : expected) {
    found.try_emplace(name, 0);
  }
  for (const auto& [name, value] : found) {
    const auto it = expected.find(name);
    const int64_t wanted = it == expected.end() ? 0 : it->second;
    if (value != wanted) {
      return Damaged(database, name, absl::StrCat("expected ", wanted, " rows, found ", value));
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::string JobsCounter(SweepId sweep) { return absl::StrCat("jobs s", sweep.number); }
std::string ResultsCounter(SweepId sweep) { return absl::StrCat("results s", sweep.number); }
std::string AttemptsCounter(SweepId sweep) { return absl::StrCat("attempts s", sweep.number); }

std::string StepsCounter(SweepId sweep) { return absl::StrCat("steps s", sweep.number); }
std::string SpentCounter(SweepId sweep) { return absl::StrCat("spent s", sweep.number); }
std::string DeletingCounter(SweepId sweep) { return absl::StrCat(kDeletingPrefix, sweep.number); }

absl::StatusOr<std::string> ReadDatabaseId(SqlDatabase& database) {
  std::string id;
  CONCUR_RETURN_IF_ERROR(ReadRows(database, Tables().meta.select, [&](RowReader& reader) {
    const std::string name(reader.Text());
    std::string value(reader.Text());
    if (!reader.Finish()) {
      return Damaged(database, absl::StrCat("meta ", name), reader.problem());
    }
    if (name == "id") {
      id = std::move(value);
    }
    return absl::OkStatus();
  }));
  if (id.empty()) {
    CONCUR_ASSIGN_OR_RETURN(const int64_t counters,
                            database.QueryInt("SELECT count(*) FROM counter"));
    if (counters > 0) {
      return Damaged(database, "meta id", "is missing");
    }
  }
  return id;
}

absl::StatusOr<absl::btree_map<std::string, int64_t>> ReadCounters(SqlDatabase& database) {
  absl::btree_map<std::string, int64_t> counters;
  CONCUR_RETURN_IF_ERROR(ReadRows(database, Tables().counter.select, [&](RowReader& reader) {
    std::string name(reader.Text());
    const int64_t value = reader.Int(0);
    if (!reader.Finish()) {
      return Damaged(database, absl::StrCat("counter ", name), reader.problem());
    }
    counters[std::move(name)] = value;
    return absl::OkStatus();
  }));
  for (const char* name : {kCommitsCounter, kNextSweepCounter, kSweepsCounter, kWorkersCounter}) {
    if (!counters.contains(name)) {
      return Damaged(database, absl::StrCat("counter ", name), "is missing");
    }
  }
  return counters;
}

absl::StatusOr<StoredState> ReadState(SqlDatabase& database, Store::ChooseLeftOut choose) {
  StoredState state;
  CONCUR_ASSIGN_OR_RETURN(state.counters, ReadCounters(database));
  state.snapshot.next_sweep_number = static_cast<uint64_t>(state.counters[kNextSweepCounter]);
  CONCUR_RETURN_IF_ERROR(ReadSweeps(database, state.snapshot));
  state.left_out = choose(state.snapshot.sweeps);
  std::erase_if(state.snapshot.sweeps,
                [&](const SweepRow& row) { return state.left_out.contains(row.id); });
  for (const auto& [name, value] : state.counters) {
    absl::string_view number = name;
    SweepId id;
    if (absl::ConsumePrefix(&number, kDeletingPrefix) && absl::SimpleAtoi(number, &id.number) &&
        id.number <= kSweepNumberMax) {
      state.deleting.insert(id);
    }
  }
  absl::btree_set<SweepId> unread = state.left_out;
  unread.insert(state.deleting.begin(), state.deleting.end());
  size_t jobs = 0;
  size_t results = 0;
  for (const SweepRow& row : state.snapshot.sweeps) {
    const auto count = [&](const std::string& name) {
      const auto it = state.counters.find(name);
      return it == state.counters.end() ? size_t{0} : static_cast<size_t>(it->second);
    };
    jobs += count(JobsCounter(row.id));
    results += count(ResultsCounter(row.id));
  }
  state.snapshot.jobs.reserve(jobs);
  state.snapshot.results.reserve(results);
  CONCUR_RETURN_IF_ERROR(ReadProcesses(database, state));
  const std::vector<KeyRange> ranges = KeysBut(unread);
  for (const KeyRange& keys : ranges) {
    CONCUR_RETURN_IF_ERROR(ReadJobs(database, state, keys));
  }
  for (const KeyRange& keys : ranges) {
    CONCUR_RETURN_IF_ERROR(ReadResults(database, state.snapshot, keys));
  }
  CONCUR_RETURN_IF_ERROR(CountAttempts(database, state));
  for (const KeyRange& keys : ranges) {
    CONCUR_RETURN_IF_ERROR(ReadSteps(database, keys.first, keys.last, [&](const StepRow& row) {
      AddStep(row, state.snapshot.steps);
    }));
    CONCUR_RETURN_IF_ERROR(ReadSpent(database, state.snapshot, keys));
  }
  CONCUR_RETURN_IF_ERROR(ReadWorkers(database, state.snapshot));
  CONCUR_RETURN_IF_ERROR(ReadBlames(database, state.snapshot));
  CONCUR_RETURN_IF_ERROR(ReadResources(database, state.snapshot));
  CONCUR_RETURN_IF_ERROR(ReadPools(database, state.snapshot));
  if (const auto it = state.counters.find(kNextPilotCounter); it != state.counters.end()) {
    state.snapshot.next_pilot_number = static_cast<uint64_t>(it->second);
  }
  if (const auto it = state.counters.find(kLastServiceCounter); it != state.counters.end()) {
    state.snapshot.last_service_number = static_cast<uint32_t>(it->second);
  }
  CONCUR_RETURN_IF_ERROR(CheckCounts(database, state));
  return state;
}

absl::StatusOr<std::vector<AttemptRow>> ReadAttempts(SqlDatabase& database, int64_t first,
                                                     int64_t last) {
  std::vector<AttemptRow> attempts;
  CONCUR_RETURN_IF_ERROR(ReadRows(
      database,
      absl::StrCat(Tables().attempt.select, " WHERE key BETWEEN $1 AND $2 ORDER BY key, attempt"),
      [&](RowReader& reader) {
        AttemptRow& row = attempts.emplace_back();
        const int64_t key = reader.Int(0, kKeyMax | kUint32Max);
        row.id = JobOfKey(key);
        row.attempt.number = static_cast<uint32_t>(reader.Int(0, kUint32Max));
        row.worker = std::string(reader.Text());
        row.end_time = TimeOfInt(reader.Int());
        reader.Result(row.result);
        return reader.Finish()
                   ? absl::OkStatus()
                   : Damaged(database,
                             absl::StrCat("attempt ", row.attempt.number, " of job ", KeyText(key)),
                             reader.problem());
      },
      {first, last}));
  return attempts;
}

absl::Status ReadSteps(SqlDatabase& database, int64_t first, int64_t last,
                       absl::FunctionRef<void(StepRow)> sink) {
  return ReadRows(
      database,
      absl::StrCat(Tables().step.select, " WHERE key BETWEEN $1 AND $2 ORDER BY key, arrival"),
      [&](RowReader& reader) {
        StepRow row;
        const int64_t key = reader.Int(0, kKeyMax);
        row.id = JobOfKey(key);
        row.arrival = static_cast<uint64_t>(reader.Int(0));
        row.attempt.number = static_cast<uint32_t>(reader.Int(0, kUint32Max));
        row.step.name = std::string(reader.Text());
        row.step.step = reader.Int(0, kStepMax);
        row.step.value = reader.Real();
        if (!reader.Finish()) {
          return Damaged(database, absl::StrCat("report ", row.arrival, " of job ", KeyText(key)),
                         reader.problem());
        }
        sink(std::move(row));
        return absl::OkStatus();
      },
      {first, last});
}

absl::StatusOr<DatabaseContents> ReadContents(SqlDatabase& database) {
  DatabaseContents contents;
  CONCUR_ASSIGN_OR_RETURN(StoredState state, ReadState(database));
  contents.snapshot = std::move(state.snapshot);
  for (const KeyRange& keys : KeysBut(state.deleting)) {
    CONCUR_ASSIGN_OR_RETURN(const std::vector<AttemptRow> attempts,
                            ReadAttempts(database, keys.first, keys.last));
    contents.attempts.insert(contents.attempts.end(), attempts.begin(), attempts.end());
    CONCUR_RETURN_IF_ERROR(ReadSteps(database, keys.first, keys.last, [&](StepRow row) {
      contents.snapshot.reports.push_back(std::move(row));
    }));
  }
  return contents;
}

}  // namespace concur
