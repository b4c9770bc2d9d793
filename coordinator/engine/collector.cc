// SPDX-License-Identifier: Apache-2.0
#include "coordinator/engine/collector.h"

#include <sys/file.h>

#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "store/artifacts/file_blocks.h"

namespace concur {
namespace {

// Tells whether the jobs that read a train job's system have all ended, and all succeeded.
std::pair<bool, bool> DependentsOf(const Scheduler& scheduler, const SweepView& sweep,
                                   JobId train) {
  bool ended = !sweep.row->retry;  // else some are still to be returned to the queue
  bool succeeded = true;
  sweep.expansion->ForEachDependent(train.index, [&](uint32_t job) {
    const JobState state = scheduler.views().JobStateOf({train.sweep, job});
    ended = ended && IsTerminal(state);
    succeeded = succeeded && state == JobState::kSucceeded;
  });
  return {ended, succeeded};
}

void PlanSweep(const Scheduler& scheduler, SweepId id, RetentionPlanner& planner) {
  const SweepView sweep = *scheduler.views().FindSweep(id);
  const RetainedSweep retained{sweep.expansion->spec().keep, IsTerminal(sweep.state)};
  for (const SweepFile& file : FilesOf(sweep.expansion->spec())) {
    planner.AddFile(retained, file);
  }
  for (uint32_t index = 0; index < sweep.expansion->job_count(); ++index) {
    const JobView job = scheduler.views().ViewJob({id, index});
    if (job.checkpoint) {
      planner.AddLive(job.checkpoint->digest);
    }
    if (job.result == nullptr) {
      continue;
    }
    RetainedJob row{.id = job.id, .state = job.state};
    row.system_collected = job.system_collected;
    if (sweep.expansion->Locate(index).is_train) {
      std::tie(row.dependents_ended, row.dependents_succeeded) =
          DependentsOf(scheduler, sweep, job.id);
    }
    planner.AddJob(retained, row, *job.result);
  }
}

}  // namespace

absl::StatusOr<RetentionPlan> PlanRetention(const Scheduler& scheduler, Store& store) {
  if (const SweepBook::LeftOuts& left_out = scheduler.views().left_out(); !left_out.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("artifacts are kept while some sweep is not loaded, which may need them: ",
                     scheduler.views().CheckLoaded(left_out.begin()->first).message()));
  }
  RetentionPlanner planner;
  for (const SweepId& id : scheduler.views().ListSweeps()) {
    PlanSweep(scheduler, id, planner);
    CONCUR_ASSIGN_OR_RETURN(const std::vector<AttemptRow> attempts, store.ListSweepAttempts(id));
    for (const AttemptRow& attempt : attempts) {
      planner.AddAttempt(attempt.result);
    }
  }
  return planner.Finish();
}

Collector::Collector(Clock& clock, Engine& engine, Store& store, ArtifactStore& artifacts,
                     ThreadPool& pool, CollectorOptions options)
    : clock_(clock),
      engine_(engine),
      store_(store),
      artifacts_(artifacts),
      pool_(pool),
      options_(std::move(options)) {}

void Collector::Start() {
  pool_.SubmitAfter(options_.interval, [this] {
    Collect([](absl::StatusOr<int64_t> freed) {
      if (absl::IsUnavailable(freed.status())) {
        LogInfo("artifacts are collected later: a backup, a check or an earlier collection runs");
      } else if (!freed.ok()) {
        LogWarning("cannot collect artifacts", {{"error", freed.status().ToString()}});
      } else if (*freed > 0) {
        LogInfo("collected artifacts", {{"bytes", absl::StrCat(*freed)}});
      }
    });
    Start();
  });
}

void PlanCollection(Engine& engine, Store& store,
                    std::function<void(absl::StatusOr<RetentionPlan>)> done) {
  engine.Call<RetentionPlan>(
      [&store](Scheduler& scheduler) -> absl::StatusOr<RetentionPlan> {
        CONCUR_ASSIGN_OR_RETURN(RetentionPlan plan, PlanRetention(scheduler, store));
        scheduler.MarkSystemsCollected(plan.lost_systems);
        return plan;
      },
      std::move(done));
}

void Collector::Collect(std::function<void(absl::StatusOr<int64_t>)> done) {
  PlanCollection(
      engine_, store_, [this, done = std::move(done)](absl::StatusOr<RetentionPlan> plan) {
        if (!plan.ok()) {
          done(plan.status());
          return;
        }
        const absl::Time before = clock_.Now() - options_.grace;
        auto live = std::make_shared<RetentionPlan>(*std::move(plan));  // into a copyable closure
        pool_.Submit([this, live, before, done] {
          const absl::StatusOr<FileDescriptor> lock = LockFile(options_.lock, LOCK_EX | LOCK_NB);
          done(lock.ok() ? artifacts_.Collect(live->live, before) : lock.status());
        });
      });
}

}  // namespace concur
