// SPDX-License-Identifier: Apache-2.0
// Money: what an attempt has reported is counted once, also when the attempt was lost, and is kept
// once its worker has been answered. No attempt starts in a sweep whose budget is spent.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/spent.h"
#include "tests/sim/checker.h"

namespace concur::sim {

void Checker::OnSpent(const AttemptStep& step) {
  int64_t& reported = reported_spent_[step.id];
  reported = std::max<int64_t>(reported, std::llround(step.step.value * kUsdMicros));
}

void Checker::Apply(const Batch& batch, Amounts& spent) {
  for (const SpentRow& row : batch.put_spent) {
    spent[{row.id, row.attempt}] = row.spent.usd_micros;
  }
  for (const SweepId& id : batch.delete_sweeps) {
    std::erase_if(spent, [&](const auto& entry) { return entry.first.job.sweep == id; });
  }
}

int64_t Checker::SpentBy(SweepId id) const {
  int64_t sum = 0;
  for (const auto& [attempt, usd_micros] : spent_) {
    sum += attempt.job.sweep == id ? usd_micros : 0;
  }
  return sum;
}

void Checker::CheckSpent(const Batch& batch) {
  for (const SpentRow& row : batch.put_spent) {
    const AttemptId id{row.id, row.attempt};
    if (row.spent.usd_micros > reported_spent_[id]) {
      world_.Fail(absl::StrCat(id.ToString(), " was charged ", row.spent.usd_micros,
                               ", and has reported ", reported_spent_[id]));
    }
  }
  Apply(batch, spent_);
  for (const SweepRow& row : batch.put_sweeps) {
    const std::optional<size_t> planned = workload_.NumberOf(row.spec);
    if (planned) {
      budgets_[row.id] = row.budget_usd_micros.value_or(
          workload_.sweeps[*planned].expansion->spec().budget_usd_micros);
    }
    over_budget_ += row.over_budget ? 1 : 0;
  }
}

void Checker::CheckSpentKept(const Snapshot& snapshot) {
  Amounts loaded;
  for (const SpentRow& row : snapshot.spent) {
    loaded[{row.id, row.attempt}] = row.spent.usd_micros;
  }
  Amounts with = spent_;
  if (in_doubt_) {
    Apply(*in_doubt_, with);
    for (const SweepRow& row : in_doubt_->put_sweeps) {
      int64_t& budget = budgets_[row.id];  // either one may be durable
      budget = std::max(budget, row.budget_usd_micros.value_or(budget));
    }
  }
  if (loaded != spent_ && loaded != with) {
    world_.Fail("a restart does not find what was spent");
  }
  spent_ = std::move(loaded);
}

void Checker::CheckSpentSaved(const AttemptId& id, const ReportedStep& step) {
  const auto it = spent_.find(id);
  if (!IsAway(id.job.sweep) && rows_.contains(id.job) && step.value > 0 &&
      (it == spent_.end() || it->second < std::llround(step.value * kUsdMicros))) {
    world_.Fail(absl::StrCat(id.ToString(), " has spent ", step.value,
                             ", which was acknowledged and is not saved"));
  }
}

// Each was started when all that this turn's reports say was known.
void Checker::CheckBudgets(const std::vector<const JobRow*>& new_attempts) {
  for (const JobRow* row : new_attempts) {
    const auto budget = budgets_.find(row->id.sweep);
    if (row->state == JobState::kRunning && budget != budgets_.end() && budget->second > 0 &&
        SpentBy(row->id.sweep) >= budget->second) {
      world_.Fail(absl::StrCat("attempt ", row->attempt.number, " of ", row->id.ToString(),
                               " was started, and its sweep has spent ", SpentBy(row->id.sweep),
                               " of ", budget->second));
    }
  }
}

void Checker::CheckTotals(const Scheduler& scheduler) {
  if (!workload_.spends) {
    return;
  }
  for (const SweepId& id : scheduler.views().ListSweeps()) {
    const int64_t total = scheduler.views().FindSweep(id)->spent.usd_micros;
    if (total != SpentBy(id)) {
      world_.Fail(absl::StrCat(id.ToString(), " is said to have spent ", total,
                               ", and its attempts ", SpentBy(id)));
    }
  }
}

}  // namespace concur::sim
