// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/scheduler.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "core/scheduler/restorer.h"
#include "core/state/sweep_record.h"

namespace concur {

absl::StatusOr<std::unique_ptr<Scheduler>> Scheduler::Restore(
    SchedulerPolicy policy, Snapshot snapshot,
    std::vector<std::shared_ptr<const Expansion>> expansions, absl::Time now,
    SweepBook::LeftOuts left_out) {
  auto scheduler = std::make_unique<Scheduler>(std::move(policy));
  Scheduler& s = *scheduler;
  s.turn_.AdvanceTo(now);
  s.book_.RestoreLeftOut(std::move(left_out));
  Restorer restorer(s.policy_, s.turn_, s.places_, s.book_, s.results_, s.workers_, s.groups_,
                    s.jobs_);
  CONCUR_RETURN_IF_ERROR(restorer.Restore(std::move(snapshot), std::move(expansions)));
  s.requests_.Restore();
  return scheduler;
}

void Scheduler::AdvanceTo(absl::Time now) {
  turn_.AdvanceTo(now);
  exchange_.EndDeadlines();
  jobs_.EndBackoffs();
  requests_.Continue();
}

void Scheduler::ResumeAt(absl::Time now, absl::Duration paused) {
  turn_.AdvanceTo(now);
  if (paused > absl::ZeroDuration()) {
    exchange_.ExtendLeases(paused);
  }
}

absl::Time Scheduler::NextDeadline() const {
  return requests_.HasOpen()
             ? turn_.now()
             : std::min({places_.backoffs.NextEnd(), workers_.roster().NextDeadline(),
                         book_.resources().NextToken(turn_.now()),
                         book_.services().NextDeadline(turn_.now(), [this](uint32_t service) {
                           return workers_.WaitingFor(service) > 0;
                         })});
}

Effects Scheduler::TakeEffects() {
  Batch& batch = turn_.batch();
  for (const JobId& id : turn_.TakeJobs()) {
    if (book_.HasJob(id)) {
      batch.put_jobs.push_back(jobs_.RowOf(id));
    }
  }
  for (const JobId& id : turn_.TakeResults()) {
    if (!book_.HasJob(id)) {
      continue;
    }
    if (const JobResult* result = book_.SweepOf(id).jobs.ResultOf(id.index)) {
      batch.put_results.push_back({id, *result});
    } else {
      batch.delete_results.push_back(id);
    }
  }
  for (const SweepId& id : turn_.TakeSweeps()) {
    if (const auto it = book_.all().find(id); it != book_.all().end()) {
      batch.put_sweeps.push_back(it->second->row);
    }
  }
  workers_.SaveBlame();
  return turn_.TakeEffects();
}

void Scheduler::CheckInvariants() const {
  book_.CheckInvariants();
  requests_.CheckInvariants();
  workers_.CheckInvariants();
  results_.CheckInvariants();
  for (const auto& [id, sweep] : book_.all()) {
    if (sweep->early_stop) {
      groups_.CheckInvariants(*sweep);
    }
  }
  jobs_.CheckInvariants();
  if (!search_.HasDue()) {
    search_.CheckInvariants();
  }
}

}  // namespace concur
