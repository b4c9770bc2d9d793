// SPDX-License-Identifier: Apache-2.0
// Where the jobs of all sweeps are besides their SweepRecord, by state: READY in `ready`, or in
// `suspects` when one must run alone; RUNNING in `running` and `reuse`; BACKOFF in `backoffs`;
// SUCCEEDED in `reuse` and `durations`; BLOCKED in `reuse` when it waits for an equal job.
//
// JobLifecycle moves jobs between them, ResultBook keeps what finished jobs left, and SweepBook
// registers kinds of jobs and pauses sweeps. Everybody else reads. JobLifecycle::CheckInvariants
// and ResultBook::CheckInvariants compare the places with the states.
//
// Thread-compatible.
#ifndef CONCUR_CORE_SCHEDULER_JOB_PLACES_H_
#define CONCUR_CORE_SCHEDULER_JOB_PLACES_H_

#include <cstdint>
#include <utility>

#include "absl/container/btree_set.h"
#include "core/ids.h"
#include "core/policy.h"
#include "core/state/backoffs.h"
#include "core/state/durations.h"
#include "core/state/ready_queue.h"
#include "core/state/reuse_index.h"
#include "core/state/running_jobs.h"
#include "core/state/suspects.h"

namespace concur {

struct JobPlaces {
  explicit JobPlaces(const SchedulerPolicy& policy) : suspects(policy.suspect_deaths) {}

  ReadyQueue ready;
  Suspects suspects;
  RunningJobs running;
  Backoffs backoffs;
  ReuseIndex reuse;
  Durations durations;
  // The blocks whose searches may choose a setting.
  absl::btree_set<std::pair<SweepId, uint32_t>> searches;
};

}  // namespace concur

#endif  // CONCUR_CORE_SCHEDULER_JOB_PLACES_H_
