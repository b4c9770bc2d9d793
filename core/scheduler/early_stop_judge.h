// SPDX-License-Identifier: Apache-2.0
// Brings jobs to the states that the rules of early stopping give them.
//
// Called in Dispatch, after a turn's reports and results: a result that came with the report that
// would have paused its job counts. How far a job was let go (its rung) is saved with it, in the
// turn's commit; with the reports, a restart has the same rules again.
//
// Thread-compatible.
#ifndef CONCUR_CORE_SCHEDULER_EARLY_STOP_JUDGE_H_
#define CONCUR_CORE_SCHEDULER_EARLY_STOP_JUDGE_H_

#include <cstdint>

#include "core/scheduler/early_stop_groups.h"
#include "core/scheduler/job_lifecycle.h"
#include "core/scheduler/job_places.h"
#include "core/scheduler/sweep_book.h"
#include "core/scheduler/turn.h"

namespace concur {

class EarlyStopJudge {
 public:
  EarlyStopJudge(Turn& turn, const JobPlaces& places, SweepBook& book, EarlyStopGroups& groups,
                 JobLifecycle& jobs)
      : turn_(turn), places_(places), book_(book), groups_(groups), jobs_(jobs) {}

  // Brings the jobs of all groups that changed to the states that their rules give them.
  void JudgeSettings();

 private:
  void JudgeGroup(SweepRecord& sweep, uint32_t group);

  Turn& turn_;
  const JobPlaces& places_;
  SweepBook& book_;
  EarlyStopGroups& groups_;
  JobLifecycle& jobs_;
};

}  // namespace concur

#endif  // CONCUR_CORE_SCHEDULER_EARLY_STOP_JUDGE_H_
