// SPDX-License-Identifier: Apache-2.0
#include "core/job.h"

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/names.h"

namespace concur {
namespace {

constexpr std::array<absl::string_view, kJobStates> kJobStateNames = {
    "blocked", "ready",    "backoff", "running", "succeeded",
    "failed",  "canceled", "skipped", "stopped"};

constexpr std::array<absl::string_view, kSweepStates> kSweepStateNames = {
    "active", "paused", "canceling", "succeeded", "failed", "canceled"};

constexpr uint16_t Bit(JobState state) {
  return static_cast<uint16_t>(1u << static_cast<unsigned>(state));
}

template <typename... States>
constexpr uint16_t Bits(States... states) {
  return static_cast<uint16_t>((0u | ... | Bit(states)));
}

// [from] -> the states that may follow.
constexpr std::array<uint16_t, kJobStates> kNextStates = {
    // BLOCKED; SUCCEEDED, BACKOFF and FAILED as READY, for those that wait for equal work
    Bits(JobState::kReady, JobState::kSucceeded, JobState::kCanceled, JobState::kSkipped,
         JobState::kBackoff, JobState::kFailed, JobState::kStopped),
    // READY; BLOCKED to wait for equal work, or by early_stop; BACKOFF and FAILED by a late result
    // of a lost attempt
    Bits(JobState::kRunning, JobState::kSucceeded, JobState::kCanceled, JobState::kSkipped,
         JobState::kBlocked, JobState::kBackoff, JobState::kFailed, JobState::kStopped),
    // BACKOFF; BLOCKED and STOPPED by what an attempt reported before it failed
    Bits(JobState::kReady, JobState::kCanceled, JobState::kSkipped, JobState::kBlocked,
         JobState::kStopped),
    // RUNNING; BLOCKED by early_stop
    Bits(JobState::kSucceeded, JobState::kReady, JobState::kBackoff, JobState::kFailed,
         JobState::kCanceled, JobState::kBlocked, JobState::kStopped),
    // SUCCEEDED: somebody asked to run it again, or its system is gone and needed
    Bits(JobState::kReady, JobState::kBlocked),
    // FAILED
    Bits(JobState::kReady, JobState::kBlocked),
    // CANCELED
    Bits(JobState::kReady, JobState::kBlocked),
    // SKIPPED
    Bits(JobState::kBlocked, JobState::kReady),
    // STOPPED
    Bits(JobState::kBlocked, JobState::kReady),
};

}  // namespace

absl::string_view JobStateName(JobState state) { return NameIn(kJobStateNames, state); }

bool IsLegalTransition(JobState from, JobState to) {
  const auto row = static_cast<size_t>(from);
  return row < kNextStates.size() && static_cast<size_t>(to) < kJobStates &&
         (kNextStates[row] & Bit(to)) != 0;
}

absl::string_view SweepStateName(SweepState state) { return NameIn(kSweepStateNames, state); }

}  // namespace concur
