// SPDX-License-Identifier: Apache-2.0
// Use of services: each instance is charged once, by its worker's report of its end, or until its
// worker was lost; and nearly all of it is saved while it runs.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/state/services.h"
#include "tests/sim/checker.h"

namespace concur::sim {
namespace {

// Numbers of instances that start together are seconds apart, and those of many run ahead of time.
constexpr absl::Duration kStartSlack = absl::Minutes(1);

// True if the worker did not say how long the instance ran.
bool IsEstimate(const AttemptRow& row) {
  return row.result.failure == FailureClass::kLost || row.result.failure == FailureClass::kNone;
}

}  // namespace

bool Checker::MustBeCharged(const AttemptId& service) const {
  const SweepId sweep = service.job.sweep;
  return planned_.contains(sweep) && !IsAway(sweep);
}

void Checker::CheckServiceUse(const AttemptRow& row) {
  const AttemptId id{row.id, row.attempt};
  if (!started_.contains(id)) {
    world_.Fail(absl::StrCat(id.ToString(), " is charged, and no worker has started it"));
  }
  // An estimate begins when the instance was started, unless the clock was set back since.
  const auto& reports = reports_[id];
  const bool is_reported = std::any_of(
      reports.begin(), reports.end(),
      [&](const FinishedAttempt& report) { return report.result.run_time == row.result.run_time; });
  const absl::Time start = Services::TimeOf(id.attempt);
  if (IsEstimate(row)
          ? row.end_time >= start && row.end_time - row.result.run_time < start - kStartSlack
          : !is_reported) {
    world_.Fail(absl::StrCat(id.ToString(), " is charged ",
                             absl::FormatDuration(row.result.run_time), ", which it has not run"));
  }
  charged_[id] = row;
}

// A call that the worker's next one supersedes is answered before its turn is saved: what must be
// saved is checked after the turn.
void Checker::NoteServices(const SyncRequest& request, absl::Time called) {
  for (const RunningService& service : request.services) {
    ListedService& listed = services_[service.id];
    listed = {request.worker.name, request.worker.incarnation,
              listed.worker.empty() ? called : listed.first, called, listed.calls + 1};
  }
}

// The use of an instance that runs, lost if the coordinator and its worker are.
void Checker::CheckServiceSaved(const AttemptId& id, const ListedService& listed) {
  if (!MustBeCharged(id)) {
    return;
  }
  // The clock may have been set back since the start.
  const absl::Duration run = listed.last - std::max(listed.first, Services::TimeOf(id.attempt));
  const auto row = charged_.find(id);
  if (row != charged_.end() && !IsEstimate(row->second)) {
    return;
  }
  const absl::Duration saved =
      row == charged_.end() ? absl::ZeroDuration() : row->second.result.run_time;
  if (saved + kServiceChargeInterval + kStartSlack < run) {
    world_.Fail(absl::StrCat(id.ToString(), " has run for ", absl::FormatDuration(run),
                             ", and that is not saved"));
  }
}

// A job is sent when all services that it asks are ready, and none that another approach has is
// told to stop while it asks it.
void Checker::CheckNeeds(const SyncRequest& request, const SyncResponse& response) {
  std::set<AttemptId> stopped;
  for (const StopOrder& stop : response.stop) {
    stopped.insert(stop.id);
  }
  std::vector<AttemptId> present = request.running;
  for (const JobOrder& order : response.start) {
    present.push_back(order.id);
    for (const auto& asked : order.services) {
      const AttemptId id = asked.second;
      const auto listed =
          std::find_if(request.services.begin(), request.services.end(),
                       [&](const RunningService& service) { return service.id == id; });
      // The first attempt stands for one that has ended.
      if (id.attempt.number > 1 && (listed == request.services.end() || !listed->ready)) {
        world_.Fail(absl::StrCat(order.id.ToString(), " is sent, and ", id.ToString(),
                                 ", which it asks, is not ready there"));
      }
      if (!asked.first.empty()) {
        asks_[order.id].insert(id);
      }
    }
  }
  for (const StopOrder& stop : response.stop) {
    for (const AttemptId& id : present) {
      const auto asks = asks_.find(id);
      if (stop.reason == StopReason::kCanceled && asks != asks_.end() &&
          asks->second.contains(stop.id) && !stopped.contains(id) && MustBeCharged(id)) {
        world_.Fail(
            absl::StrCat(stop.id.ToString(), " is told to stop, and ", id.ToString(), " asks it"));
      }
    }
  }
}

void Checker::CheckServiceReported(const AttemptId& service) {
  services_.erase(service);
  const auto& reports = reports_[service];
  const bool has_run = std::any_of(
      reports.begin(), reports.end(),
      [](const FinishedAttempt& report) { return report.result.run_time > absl::ZeroDuration(); });
  if (!MustBeCharged(service) || !has_run) {
    return;
  }
  const auto row = charged_.find(service);
  if (row == charged_.end() || IsEstimate(row->second)) {
    world_.Fail(absl::StrCat("the end of ", service.ToString(),
                             " was acknowledged, and its run time is not saved"));
  }
}

void Checker::CheckServices(const Scheduler& scheduler) {
  std::map<std::string, std::string> incarnations;  // workers that are not lost
  for (const WorkerView& worker : scheduler.views().ListWorkers()) {
    if (!worker.lost) {
      incarnations[worker.info.name] = worker.info.incarnation;
    }
  }
  std::erase_if(services_, [&](const auto& entry) {
    const auto& [id, listed] = entry;
    CheckServiceSaved(id, listed);
    const auto worker = incarnations.find(listed.worker);
    if (worker != incarnations.end() && worker->second == listed.incarnation) {
      return false;
    }
    const auto row = charged_.find(id);
    // After a restart it is charged from the second call on that lists it.
    if (MustBeCharged(id) && listed.calls > 1 &&
        (row == charged_.end() ||
         (IsEstimate(row->second) && row->second.end_time < listed.last))) {
      world_.Fail(absl::StrCat(id.ToString(), " was lost with its worker ", listed.worker,
                               ", and what it ran is not saved"));
    }
    return true;
  });
}

}  // namespace concur::sim
