// SPDX-License-Identifier: Apache-2.0
// Chooses the settings of searches (SearchSpec, core/search/tpe.h).
//
// A block's settings are chosen in order, so that at most SearchSpec::parallel of its trials are
// without a result. The first third, ten at most, is sampled as without a search. A chosen setting
// is put into the sweep's spec, which is saved in the commit of the turn, before any of its jobs
// can reach a worker: a restart never chooses it again. Until then its jobs are BLOCKED.
//
// A trial's score is the mean over its seeds and the benchmarks of Expansion::ComparedOn. A trial
// fails when one of these jobs ends without success; one that was canceled says nothing.
//
// Called in Dispatch, after a turn's results and requests. Thread-compatible.
#ifndef CONCUR_CORE_SCHEDULER_SETTING_SEARCH_H_
#define CONCUR_CORE_SCHEDULER_SETTING_SEARCH_H_

#include <cstdint>
#include <vector>

#include "core/policy.h"
#include "core/scheduler/job_lifecycle.h"
#include "core/scheduler/job_places.h"
#include "core/scheduler/sweep_book.h"
#include "core/scheduler/turn.h"
#include "core/search/tpe.h"
#include "core/sweep/expansion.h"

namespace concur {

// The trials of a block's search whose settings are chosen, without canceled ones.
std::vector<Trial> TrialsOf(const SweepRecord& sweep, uint32_t block);
// The number of those that have no result yet.
uint32_t PendingTrials(const std::vector<Trial>& trials);

class SettingSearch {
 public:
  SettingSearch(const SchedulerPolicy& policy, Turn& turn, JobPlaces& places, SweepBook& book,
                JobLifecycle& jobs)
      : policy_(policy), turn_(turn), places_(places), book_(book), jobs_(jobs) {}

  // Chooses the next settings of all searches in which a job has ended, or returned.
  void ChooseSettings();
  bool HasDue() const { return !places_.searches.empty(); }
  // Ends the process when a search could choose a setting, and has not. REQUIRES: nothing is due.
  void CheckInvariants() const;

 private:
  void ChooseIn(const SweepRecord& sweep, uint32_t block, std::vector<Proposal>* chosen) const;
  void Begin(SweepRecord& sweep, const Proposal& chosen);

  const SchedulerPolicy& policy_;
  Turn& turn_;
  JobPlaces& places_;
  SweepBook& book_;
  JobLifecycle& jobs_;
};

}  // namespace concur

#endif  // CONCUR_CORE_SCHEDULER_SETTING_SEARCH_H_
