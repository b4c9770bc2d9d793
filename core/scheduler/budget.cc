// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/budget.h"

#include <algorithm>
#include <optional>

namespace concur {

int64_t Budget::CostOf(const SweepRecord& sweep, uint32_t job) {
  return sweep.spent.MeanUsdMicros(sweep.SpentKindOf(job)).value_or(0);
}

void Budget::Add(const SweepRecord& sweep, uint32_t job) {
  const SpentLedger::Kind kind = sweep.SpentKindOf(job);
  const std::optional<int64_t> mean = sweep.spent.MeanUsdMicros(kind);
  if (!mean) {
    has_probe[kind.is_train ? 1 : 0] = true;
    return;
  }
  const SpentLedger::Attempts& attempts = sweep.spent.Of(job);
  const auto it = attempts.find(sweep.jobs[job].attempt);
  const int64_t already = it == attempts.end() ? 0 : it->second.spent.usd_micros;
  promised += std::max<int64_t>(0, *mean - already);
}

Budget BudgetOf(const SweepRecord& sweep, const RunningJobs& running) {
  Budget budget{.usd_micros = sweep.BudgetUsdMicros(), .spent = sweep.spent.total().usd_micros};
  for (const uint32_t job : running.RunningOf(sweep.row.id)) {
    budget.Add(sweep, job);
  }
  return budget;
}

}  // namespace concur
