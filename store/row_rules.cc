// SPDX-License-Identifier: Apache-2.0
#include "store/row_rules.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "core/fields.h"
#include "core/sweep/sweep.h"
#include "store/row_codec.h"

namespace concur {
namespace {

// Spelled here, so that the message does not depend on the numbers being in range.
std::string JobText(JobId id) { return absl::StrCat("s", id.sweep.number, "/", id.index); }

absl::Status CheckSweepId(SweepId id) {
  if (id.number > kSweepNumberMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("sweep s", id.number, ": expected a number up to ", kSweepNumberMax));
  }
  return absl::OkStatus();
}

absl::Status CheckJobId(JobId id) {
  if (id.sweep.number > kSweepNumberMax || id.index >= kJobsMax) {
    return absl::InvalidArgumentError(absl::StrCat("job ", JobText(id), ": expected a sweep up to ",
                                                   kSweepNumberMax, " and an index below ",
                                                   kJobsMax));
  }
  return absl::OkStatus();
}

absl::Status CheckResult(JobId id, const JobResult& result) {
  CONCUR_RETURN_IF_ERROR(CheckJobId(id));
  if (static_cast<int>(result.failure) >= kFailureClasses) {
    return absl::InvalidArgumentError(absl::StrCat("result of job ", JobText(id),
                                                   ": no failure class has the number ",
                                                   static_cast<int>(result.failure)));
  }
  for (const ArtifactRef& artifact : result.artifacts) {
    if (static_cast<int>(artifact.kind) >= kArtifactKinds) {
      return absl::InvalidArgumentError(absl::StrCat("result of job ", JobText(id),
                                                     ": no artifact kind has the number ",
                                                     static_cast<int>(artifact.kind)));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckArrival(uint64_t arrival) {
  return arrival > INT64_MAX ? absl::InvalidArgumentError(absl::StrCat(
                                   "report ", arrival, ": expected a number up to ", INT64_MAX))
                             : absl::OkStatus();
}

absl::Status CheckJob(const JobRow& row) {
  CONCUR_RETURN_IF_ERROR(CheckJobId(row.id));
  if (row.reused_from) {
    CONCUR_RETURN_IF_ERROR(CheckJobId(*row.reused_from));
  }
  if (static_cast<int>(row.state) >= kJobStates ||
      static_cast<int>(row.failure) >= kFailureClasses) {
    return absl::InvalidArgumentError(absl::StrCat(
        "job ", JobText(row.id), ": no state has the number ", static_cast<int>(row.state),
        ", or no failure class the number ", static_cast<int>(row.failure)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckBatch(const Batch& batch) {
  // A sweep's number is drawn from the counter, which stands one past the last.
  if (batch.next_sweep_number && *batch.next_sweep_number > kSweepNumberMax + 1) {
    return absl::InvalidArgumentError(absl::StrCat("next sweep number ", *batch.next_sweep_number,
                                                   ": expected at most ", kSweepNumberMax + 1));
  }
  for (const SweepRow& row : batch.put_sweeps) {
    CONCUR_RETURN_IF_ERROR(CheckSweepId(row.id));
  }
  for (const JobRow& row : batch.put_jobs) {
    CONCUR_RETURN_IF_ERROR(CheckJob(row));
  }
  for (const ResultRow& row : batch.put_results) {
    CONCUR_RETURN_IF_ERROR(CheckResult(row.id, row.result));
  }
  for (const JobId& id : batch.delete_results) {
    CONCUR_RETURN_IF_ERROR(CheckJobId(id));
  }
  for (const AttemptRow& row : batch.put_attempts) {
    CONCUR_RETURN_IF_ERROR(CheckResult(row.id.ServedJob(), row.result));
  }
  for (const StepRow& row : batch.put_steps) {
    CONCUR_RETURN_IF_ERROR(CheckJobId(row.id));
    CONCUR_RETURN_IF_ERROR(
        CheckReportedStep(FieldPath(absl::StrCat("report of job ", JobText(row.id))), row.step));
    CONCUR_RETURN_IF_ERROR(CheckArrival(row.arrival));
  }
  for (const auto& [id, before] : batch.delete_steps) {
    CONCUR_RETURN_IF_ERROR(CheckJobId(id));
    CONCUR_RETURN_IF_ERROR(CheckArrival(before));
  }
  for (const SpentRow& row : batch.put_spent) {
    CONCUR_RETURN_IF_ERROR(CheckJobId(row.id));
  }
  for (const BlameRow& row : batch.put_blames) {
    CONCUR_RETURN_IF_ERROR(CheckSweepId(row.sweep));
  }
  for (const PilotRow& row : batch.put_pilots) {
    if (static_cast<int>(row.phase) >= kPilotPhases) {
      return absl::InvalidArgumentError(absl::StrCat(
          "pilot ", row.name, ": no phase has the number ", static_cast<int>(row.phase)));
    }
  }
  for (const SweepId& id : batch.delete_sweeps) {
    CONCUR_RETURN_IF_ERROR(CheckSweepId(id));
  }
  return absl::OkStatus();
}

JobRow Canonical(JobRow row) {
  row.not_before = TimeOfInt(TimeToInt(row.not_before));
  row.update_time = TimeOfInt(TimeToInt(row.update_time));
  return row;
}

SweepRow Canonical(SweepRow row) {
  row.create_time = TimeOfInt(TimeToInt(row.create_time));
  if (row.end_time) {
    row.end_time = TimeOfInt(TimeToInt(*row.end_time));
  }
  if (row.forecast) {
    row.forecast = DurationOfInt(DurationToInt(*row.forecast));
  }
  return row;
}

WorkerRow Canonical(WorkerRow row) {
  row.last_seen = TimeOfInt(TimeToInt(row.last_seen));
  row.quarantine_end = TimeOfInt(TimeToInt(row.quarantine_end));
  row.quarantine_span = DurationOfInt(DurationToInt(row.quarantine_span));
  return row;
}

BlameRow Canonical(BlameRow row) {
  if (row.success_time) {
    row.success_time = TimeOfInt(TimeToInt(*row.success_time));
  }
  return row;
}

PilotRow Canonical(PilotRow row) {
  row.request_time = TimeOfInt(TimeToInt(row.request_time));
  row.phase_time = TimeOfInt(TimeToInt(row.phase_time));
  return row;
}

JobResult Canonical(JobResult result) {
  result.start_time = TimeOfInt(TimeToInt(result.start_time));
  result.run_time = DurationOfInt(DurationToInt(result.run_time));
  std::stable_sort(result.metrics.begin(), result.metrics.end(), ComesBefore);
  const auto by_kind = [](const ArtifactRef& a, const ArtifactRef& b) { return a.kind < b.kind; };
  std::stable_sort(result.artifacts.begin(), result.artifacts.end(), by_kind);
  // The last of equals stays: reversed, unique keeps the first.
  std::reverse(result.artifacts.begin(), result.artifacts.end());
  result.artifacts.erase(
      std::unique(result.artifacts.begin(), result.artifacts.end(),
                  [](const ArtifactRef& a, const ArtifactRef& b) { return a.kind == b.kind; }),
      result.artifacts.end());
  std::reverse(result.artifacts.begin(), result.artifacts.end());
  return result;
}

StepRow Canonical(StepRow row) {
  row.step.value += 0.0;  // a file has no negative zero
  return row;
}

void AddStep(const StepRow& row, std::vector<StepSeriesRow>& steps) {
  auto it = steps.rbegin();
  while (it != steps.rend() && it->id == row.id && it->series.name != row.step.name) {
    ++it;
  }
  if (it == steps.rend() || it->id != row.id) {
    steps.push_back({row.id, {row.step.name, 0, 0}, 0});
    it = steps.rbegin();
  }
  ++it->series.count;
  it->series.last = std::max(it->series.last, row.step.step);
  it->last_arrival = row.arrival;
}

AttemptRow Canonical(AttemptRow row) {
  row.end_time = TimeOfInt(TimeToInt(row.end_time));
  row.result = Canonical(std::move(row.result));
  return row;
}

}  // namespace concur
