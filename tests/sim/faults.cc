// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/faults.h"

#include <array>

namespace concur::sim {
namespace {

struct FaultRow {
  Fault fault;
  absl::string_view name;
  double rate_max;  // drawn below this; 0: other faults cause it
};

// Rates of messages, commits, starts and attempts are chances; those of machines are weights.
constexpr std::array<FaultRow, kFaults> kRows = {{
    {Fault::kDrop, "drop", 0.15},
    {Fault::kDuplicate, "duplicate", 0.15},
    {Fault::kDelay, "delay", 0.2},
    {Fault::kHangUp, "hang-up", 0.1},
    {Fault::kPartition, "partition", 2},
    {Fault::kCommitLost, "commit-lost", 0.02},
    {Fault::kCommitTorn, "commit-torn", 0.02},
    {Fault::kCommitUnanswered, "commit-unanswered", 0.02},
    {Fault::kDiskFull, "disk-full", 0.01},
    {Fault::kReadError, "read-error", 0.2},
    {Fault::kSpoolTorn, "spool-torn", 0.05},
    {Fault::kSpoolFull, "spool-full", 0.05},
    {Fault::kSpoolReadError, "spool-read-error", 0.1},
    {Fault::kCoordinatorKill, "coordinator-kill", 1},
    {Fault::kCoordinatorPowerCut, "coordinator-power-cut", 1},
    {Fault::kWorkerKill, "worker-kill", 2},
    {Fault::kWorkerPowerCut, "worker-power-cut", 2},
    {Fault::kWorkerDrain, "worker-drain", 0.5},
    {Fault::kWorkerTerminated, "worker-terminated", 0.5},
    {Fault::kIdentityLost, "identity-lost", 0.3},
    {Fault::kNameClaimed, "name-claimed", 0.5},
    {Fault::kPause, "pause", 1},
    {Fault::kClockJump, "clock-jump", 1},
    {Fault::kSlow, "slow", 1},
    {Fault::kJobFails, "job-fails", 0.15},
    {Fault::kJobOutOfMemory, "job-oom", 0.05},
    {Fault::kJobHangs, "job-hangs", 0.05},
    {Fault::kJobSpawnFails, "job-spawn-fails", 0.05},
    {Fault::kJobBadOutput, "job-bad-output", 0.05},
    {Fault::kJobTemporary, "job-temporary", 0.1},
    {Fault::kJobOrphaned, "job-orphaned", 0.5},
    {Fault::kJobStuck, "job-stuck", 0.1},
    {Fault::kServiceFails, "service-fails", 0.3},
    {Fault::kServiceDies, "service-dies", 0.3},
    {Fault::kLeadTaken, "lead-taken", 0},
    {Fault::kFormerWakes, "former-wakes", 0},
}};

constexpr bool RowsAreInOrder() {
  for (size_t i = 0; i < kRows.size(); ++i) {
    if (kRows[i].fault != static_cast<Fault>(i) || kRows[i].name.empty()) {
      return false;
    }
  }
  return true;
}
static_assert(RowsAreInOrder());

}  // namespace

absl::string_view FaultName(Fault fault) { return kRows[static_cast<size_t>(fault)].name; }

std::array<Fault, kFaults> AllFaults() {
  std::array<Fault, kFaults> faults{};
  for (size_t i = 0; i < kFaults; ++i) {
    faults[i] = static_cast<Fault>(i);
  }
  return faults;
}

FaultRates FaultRates::Draw(Random& random) {
  FaultRates rates;
  for (const FaultRow& row : kRows) {
    if (row.rate_max == 0) {
      continue;
    }
    const bool present = random.Chance(0.5);
    const double uniform = random.Uniform();
    rates.rate[static_cast<size_t>(row.fault)] = present ? row.rate_max * uniform * uniform : 0;
  }
  rates.strikes_per_minute = random.Chance(0.9) ? 1 + 7 * random.Uniform() : 0;
  return rates;
}

}  // namespace concur::sim
