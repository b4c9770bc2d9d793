// SPDX-License-Identifier: Apache-2.0
// Messages of the API about sweeps, jobs, workers and scores: made from the scheduler's views.
//
// Stateless. Whatever takes the scheduler is called on the engine's thread.
#ifndef CONCUR_COORDINATOR_SERVICES_VIEWS_H_
#define CONCUR_COORDINATOR_SERVICES_VIEWS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "concur/v1/coordinator.pb.h"
#include "coordinator/engine/sweep_board.h"
#include "core/job_score.h"
#include "core/scheduler/scheduler.h"

namespace concur {

v1::Sweep SweepProto(const SweepView& sweep);
v1::Job JobProto(const Scheduler& scheduler, JobId id);
v1::Job JobProto(const Expansion& expansion, const JobView& job);
// REQUIRES: row.id.IsService(), of a job of the expansion.
v1::ServiceRecord ServiceRecordProto(const Expansion& expansion, const AttemptRow& row);
v1::Worker WorkerProto(const WorkerView& worker);
v1::NamedResource ResourceProto(const ResourceView& resource);
v1::JobEvent EventProto(const Expansion& expansion, const JobEvent& event, absl::Time time);
// Bytes of a v1::WatchSweepResponse.
WatchEncoder MakeWatchEncoder();

// "s12", or a name as ChooseSweep reads it; the sweep may be one that is not loaded. NotFound with
// the names that are near.
absl::StatusOr<SweepId> ResolveKnownSweep(const Scheduler& scheduler, const std::string& text,
                                          const std::string& user);
// The same of a sweep that is loaded; FailedPrecondition as of SchedulerViews::CheckLoaded.
absl::StatusOr<SweepId> ResolveSweep(const Scheduler& scheduler, const std::string& text,
                                     const std::string& user);
// "s12/345" of an existing job, or "NAME/345". NotFound.
absl::StatusOr<JobId> ResolveJob(const Scheduler& scheduler, const std::string& text,
                                 const std::string& user);

// The scores of a sweep's eval jobs from job index `first` on, at most `count`, with those that are
// missing; `next` is where the following page starts. `metric` empty: each benchmark's own.
std::vector<JobScore> PageOfScores(const Scheduler& scheduler, SweepId id, uint32_t first,
                                   uint32_t count, const std::string& metric, uint32_t* next);

}  // namespace concur

#endif  // CONCUR_COORDINATOR_SERVICES_VIEWS_H_
