// SPDX-License-Identifier: Apache-2.0
// The faults of a simulated world, their rates and their counts.
//
// Values.
#ifndef CONCUR_TESTS_SIM_FAULTS_H_
#define CONCUR_TESTS_SIM_FAULTS_H_

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
  kDelay,      // long enough that later messages arrive before it
  kHangUp,     // a lost message whose sender gets an error at once
  kPartition,  // one way, between two machines
  // The coordinator's disk: of a commit, or of a start.
  kCommitLost,        // process killed before the commit
  kCommitTorn,        // power cut during the commit
  kCommitUnanswered,  // process killed after the commit
  kDiskFull,
  kReadError,
  // The worker's disk.
  kSpoolTorn,  // power cut during a write
  kSpoolFull,
  kSpoolReadError,
  // Machines.
  kCoordinatorKill,
  kCoordinatorPowerCut,
  kWorkerKill,
  kWorkerPowerCut,
  kWorkerDrain,       // drained, then restarted as a new incarnation
  kWorkerTerminated,  // a cluster sends SIGTERM to the worker and to its jobs, in any order
  kIdentityLost,      // restarted without knowing its last incarnation
  kNameClaimed,       // a second worker with the name of a live one
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
  kJobOrphaned,  // its processes outlive their worker and end unobserved
  kJobStuck,     // its executor misses the time-out, and reports late or only when told to stop
  // Services: of an instance.
  kServiceFails,  // before it is ready
  kServiceDies,   // after that
  // Two coordinators: caused by other faults.
  kLeadTaken,    // by the stand-by, from a coordinator that is paused or cut off
  kFormerWakes,  // after that, by a clock that stood still
};
inline constexpr size_t kFaults = 36;

// "drop", "commit-torn", …
absl::string_view FaultName(Fault fault);
// Every fault, in order.
std::array<Fault, kFaults> AllFaults();

using FaultCounts = std::array<uint64_t, kFaults>;

// The rate of each kind: for messages, commits and attempts a probability; for machines the weight
// among the machine faults, one of which happens every few seconds.
struct FaultRates {
  std::array<double, kFaults> rate{};
  // Rate of machine faults.
  double strikes_per_minute = 0;

  double operator[](Fault fault) const { return rate[static_cast<size_t>(fault)]; }

  // Each kind is absent in about half of the worlds and rare or frequent in the others, so that
  // faults that mask each other also occur alone.
  static FaultRates Draw(Random& random);
};

}  // namespace concur::sim

#endif  // CONCUR_TESTS_SIM_FAULTS_H_
