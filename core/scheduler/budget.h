// SPDX-License-Identifier: Apache-2.0
// The amounts that a sweep with a budget has spent and that its running jobs are expected to.
//
// A job is expected to cost what such jobs have cost in its sweep (SpentLedger::MeanUsdMicros).
// Until one has finished nobody knows: then one job that trains and one that does not run at a
// time, as probes. Nothing starts once the budget is spent, so it is passed by what ran at most.
//
// Values.
#ifndef CONCUR_CORE_SCHEDULER_BUDGET_H_
#define CONCUR_CORE_SCHEDULER_BUDGET_H_

#include <array>
#include <cstdint>

#include "core/state/running_jobs.h"
#include "core/state/sweep_record.h"

namespace concur {

struct Budget {
  int64_t usd_micros = 0;
  int64_t spent = 0;
  int64_t promised = 0;                     // to the jobs that run, beyond what they have spent
  std::array<bool, 2> has_probe = {false};  // a job of unknown cost runs; by whether it trains

  // The job starts.
  void Add(const SweepRecord& sweep, uint32_t job);
  // True if its cost is known, or it may be the probe.
  bool MayProbe(bool is_train) const { return !has_probe[is_train ? 1 : 0]; }
  // The cost that is expected of a new attempt of the job; 0: unknown.
  static int64_t CostOf(const SweepRecord& sweep, uint32_t job);
  bool Fits(const SweepRecord& sweep, uint32_t job) const {
    return spent < usd_micros && spent + promised + CostOf(sweep, job) <= usd_micros;
  }
};

// REQUIRES: the sweep has a budget.
Budget BudgetOf(const SweepRecord& sweep, const RunningJobs& running);

}  // namespace concur

#endif  // CONCUR_CORE_SCHEDULER_BUDGET_H_
