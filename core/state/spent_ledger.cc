// SPDX-License-Identifier: Apache-2.0
#include "core/state/spent_ledger.h"

#include "base/check.h"

namespace concur {

const SpentLedger::Entry* SpentLedger::Report(uint32_t job, uint32_t attempt, const Spent& spent,
                                              absl::Time now) {
  if (spent.empty()) {
    return nullptr;
  }
  Entry& entry = jobs_[job][attempt];
  const Spent before = entry.spent;
  if (!entry.spent.Grow(spent)) {
    return nullptr;
  }
  entry.time = now;
  total_ += {.tokens_in = entry.spent.tokens_in - before.tokens_in,
             .tokens_out = entry.spent.tokens_out - before.tokens_out,
             .usd_micros = entry.spent.usd_micros - before.usd_micros};
  return &entry;
}

const SpentLedger::Attempts& SpentLedger::Of(uint32_t job) const {
  static const Attempts& none = *new Attempts;
  const auto it = jobs_.find(job);
  return it == jobs_.end() ? none : it->second;
}

void SpentLedger::CheckInvariants() const {
  Spent sum;
  for (const auto& [job, attempts] : jobs_) {
    for (const auto& [attempt, entry] : attempts) {
      CONCUR_CHECK(attempt > 0 && !entry.spent.empty());
      sum += entry.spent;
    }
  }
  CONCUR_CHECK(sum == total_);
}

}  // namespace concur
