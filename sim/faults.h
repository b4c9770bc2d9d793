// What can go wrong in a simulated world, how often, and how often it did.
//
// Values.
#ifndef CONCUR_SIM_FAULTS_H_
#define CONCUR_SIM_FAULTS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "base/random.h"

namespace concur::sim {

enum class Fault : uint8_t {
  // Network: of a message.
  kDrop,
  kDuplicate,
  kDelay,      // so long that later messages overtake it
  kHangUp,     // a lost message whose sender is told at once, not after its time-out
  kPartition,  // one way, between two machines
  // The coordinator's disk: of a commit, or of a start.
  kCommitLost,        // killed before the commit
  kCommitTorn,        // power cut within the commit
  kCommitUnanswered,  // killed after the commit
  kDiskFull,
  kReadError,
  // The worker's disk.
  kSpoolTorn,  // power cut within a write
  kSpoolFull,
  kSpoolReadError,
  // Machines.
  kCoordinatorKill,
  kCoordinatorPowerCut,
  kWorkerKill,
  kWorkerPowerCut,
  kWorkerDrain,   // an orderly end, and a new incarnation
  kIdentityLost,  // a restart that does not know the incarnation before it
  kNameClaimed,   // a second worker with the name of a live one
  kPause,
  kClockJump,
  kSlow,
  // Processes: of an attempt.
  kJobFails,
  kJobOutOfMemory,
  kJobHangs,
  kJobSpawnFails,
  kJobBadOutput,
  kJobTemporary,
  kJobOrphaned,  // its processes outlive their worker, and end while nobody looks
};
inline constexpr size_t kFaults = 30;

// "drop", "commit-torn", …
absl::string_view FaultName(Fault fault);
// Every fault, in order.
std::array<Fault, kFaults> AllFaults();

using FaultCounts = std::array<uint64_t, kFaults>;

// How often each kind happens: for messages, commits and attempts the chance of each; for machines
// the weight among the events that strike every few seconds.
struct FaultRates {
  std::array<double, kFaults> rate{};
  // How often a machine is struck.
  double strikes_per_minute = 0;

  double operator[](Fault fault) const { return rate[static_cast<size_t>(fault)]; }

  // Each kind is absent in about half of the worlds, and rare or frequent in the others: faults
  // that hide each other also occur alone.
  static FaultRates Draw(Random& random);
};

}  // namespace concur::sim

#endif  // CONCUR_SIM_FAULTS_H_
