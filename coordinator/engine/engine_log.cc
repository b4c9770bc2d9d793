// SPDX-License-Identifier: Apache-2.0
#include "coordinator/engine/engine_log.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/log.h"

namespace concur {
namespace {

// A turn that cancels a large sweep must not write a line for each of its jobs.
constexpr size_t kLinesPerTurnMax = 100;

std::string SweepStateText(const SweepRow& row) {
  if (row.end_time.has_value()) {
    return row.canceled ? "canceled" : "ended";
  }
  return row.canceled      ? "canceling"
         : row.paused      ? "paused"
         : row.over_budget ? "paused by its budget"
                           : "active";
}

void LogEvent(const JobEvent& event) {
  LogFields fields = {{"sweep", event.id.sweep.ToString()},
                      {"job", event.id.ToString()},
                      {"attempt", absl::StrCat(event.attempt.number)}};
  if (!event.worker.empty()) {
    fields.push_back({"worker", event.worker});
  }
  if (event.failure != FailureClass::kNone && event.state != JobState::kSucceeded) {
    fields.push_back({"class", std::string(FailureClassName(event.failure))});
  }
  if (!event.message.empty()) {
    fields.push_back({"reason", event.message});
  }
  const bool bad = event.state == JobState::kFailed;
  Log(bad ? LogLevel::kWarning : LogLevel::kDebug, absl::StrCat("job ", JobStateName(event.state)),
      fields);
}

}  // namespace

void EngineLog::OnTurn(const Turn&, const Effects& effects) {
  LogSweeps(effects);
  LogWorkers(effects);
  LogAttempts(effects);
}

void EngineLog::LogSweeps(const Effects& effects) {
  for (const SweepRow& row : effects.batch.put_sweeps) {
    std::string state = SweepStateText(row);
    const auto [it, is_new] = sweeps_.try_emplace(row.id);
    if (!is_new && it->second == state) {
      continue;
    }
    LogInfo(is_new && state == "active" ? "sweep submitted" : absl::StrCat("sweep ", state),
            {{"sweep", row.id.ToString()}, {"name", row.name}, {"owner", row.owner}});
    it->second = std::move(state);
  }
  for (const SweepId& id : effects.batch.delete_sweeps) {
    LogInfo("sweep deleted", {{"sweep", id.ToString()}});
    sweeps_.erase(id);
  }
}

void EngineLog::LogQuarantine(const WorkerRow& row) {
  const auto it = quarantines_.find(row.name);
  if (row.quarantine_end == absl::InfinitePast()) {
    if (it != quarantines_.end()) {
      LogInfo("worker left quarantine", {{"worker", row.name}});
      quarantines_.erase(it);
    }
  } else if (it == quarantines_.end() || it->second != row.quarantine_end) {
    LogWarning("worker is in quarantine", {{"worker", row.name},
                                           {"until", FormatIsoTime(row.quarantine_end)},
                                           {"reason", row.quarantine_reason}});
    quarantines_[row.name] = row.quarantine_end;
  }
}

void EngineLog::LogWorkers(const Effects& effects) {
  for (const WorkerRow& row : effects.batch.put_workers) {
    LogQuarantine(row);
    std::string state = absl::StrCat(row.incarnation, row.draining ? " draining" : "");
    const auto [it, is_new] = workers_.try_emplace(row.name);
    if (!is_new && it->second == state) {
      continue;
    }
    LogInfo(row.draining ? "worker is to drain"
            : is_new     ? "worker joined"
                         : "worker came back",
            {{"worker", row.name}, {"incarnation", row.incarnation}});
    it->second = std::move(state);
  }
  for (const std::string& name : effects.batch.delete_workers) {
    LogInfo("worker gone", {{"worker", name}});
    workers_.erase(name);
    quarantines_.erase(name);
  }
}

void EngineLog::LogAttempts(const Effects& effects) {
  size_t lines = 0;
  for (const AttemptRow& row : effects.batch.put_attempts) {
    if (row.id.IsService()) {
      continue;
    }
    if (++lines > kLinesPerTurnMax) {
      break;
    }
    LogInfo("attempt did not succeed",
            {{"sweep", row.id.sweep.ToString()},
             {"job", row.id.ToString()},
             {"attempt", absl::StrCat(row.attempt.number)},
             {"worker", row.worker},
             {"class", std::string(FailureClassName(row.result.failure))},
             {"reason", row.result.message}});
  }
  if (lines > kLinesPerTurnMax) {
    LogInfo("more attempts did not succeed at the same time",
            {{"attempts", absl::StrCat(effects.batch.put_attempts.size() - kLinesPerTurnMax)}});
  }
  lines = 0;
  for (const JobEvent& event : effects.events) {
    if (++lines > kLinesPerTurnMax) {
      break;
    }
    LogEvent(event);
  }
}

}  // namespace concur
