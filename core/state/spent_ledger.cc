// SPDX-License-Identifier: Apache-2.0
#include "core/state/spent_ledger.h"

#include <array>

#include "base/check.h"

namespace concur {
namespace {

constexpr uint32_t kAny = UINT32_MAX;

// The kind, its approach, and all jobs that train, or that do not.
std::array<SpentLedger::Kind, 3> LevelsOf(const SpentLedger::Kind& kind) {
  return {kind, {kind.is_train, kind.approach, kAny}, {kind.is_train, kAny, kAny}};
}

}  // namespace

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

std::optional<int64_t> SpentLedger::MeanUsdMicros(const Kind& kind) const {
  for (const Kind& level : LevelsOf(kind)) {
    if (const auto it = finished_.find(level); it != finished_.end()) {
      return it->second.usd_micros / it->second.jobs;
    }
  }
  return std::nullopt;
}

void SpentLedger::Count(uint32_t job, const Kind& kind, int sign, Costs& costs) const {
  Spent spent;
  for (const auto& [attempt, entry] : Of(job)) {
    spent += entry.spent;
  }
  for (const Kind& level : LevelsOf(kind)) {
    const auto it = costs.try_emplace(level).first;
    it->second.usd_micros += sign * spent.usd_micros;
    it->second.jobs += sign;
    if (it->second.jobs == 0) {
      CONCUR_CHECK(it->second.usd_micros == 0);
      costs.erase(it);
    }
  }
}

void SpentLedger::CheckInvariants(
    absl::FunctionRef<void(absl::FunctionRef<void(uint32_t, const Kind&)>)> for_each_finished)
    const {
  Spent sum;
  for (const auto& [job, attempts] : jobs_) {
    for (const auto& [attempt, entry] : attempts) {
      CONCUR_CHECK(attempt > 0 && !entry.spent.empty());
      sum += entry.spent;
    }
  }
  CONCUR_CHECK(sum == total_);
  Costs costs;
  for_each_finished([&](uint32_t job, const Kind& kind) { Count(job, kind, 1, costs); });
  CONCUR_CHECK(costs == finished_);
}

}  // namespace concur
