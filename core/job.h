// SPDX-License-Identifier: Apache-2.0
// The states of a job.
//
//   BLOCKED ──train done──▶ READY ──leased──▶ RUNNING ──result──▶ SUCCEEDED
//      │                     ▲  ▲               │  │
//      │                     │  └─lost, retry───┘  ├─ no retry left ─▶ FAILED
//      │                     └── BACKOFF ◀─retry───┘
//      └─train failed ─▶ SKIPPED          any unfinished ─cancel─▶ CANCELED
//
// In a sweep with early_stop a train job that comes to a rung returns from RUNNING to BLOCKED,
// until it goes on; when it has lost for good, it and the eval jobs of its cell are STOPPED.
//
// A job whose content key is already finished goes from BLOCKED or READY to SUCCEEDED
// without running (reused). RetryJobs returns FAILED, CANCELED and SKIPPED to READY, or to BLOCKED
// while the system that they need is missing. When the system of a SUCCEEDED train job was
// collected and is needed again, the train job returns to READY, or to BLOCKED while what it starts
// from is missing, and the jobs that wait for it to BLOCKED.
#ifndef CONCUR_CORE_JOB_H_
#define CONCUR_CORE_JOB_H_

#include <array>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace concur {

// Numbers are stable: they stand in the database.
enum class JobState : uint8_t {
  kBlocked = 0,
  kReady = 1,
  kBackoff = 2,
  kRunning = 3,
  kSucceeded = 4,
  kFailed = 5,
  kCanceled = 6,
  kSkipped = 7,
  kStopped = 8,
};
inline constexpr int kJobStates = 9;

constexpr bool IsTerminal(JobState state) { return state >= JobState::kSucceeded; }

// "blocked", "ready", "backoff", "running", "succeeded", "failed", "canceled", "skipped",
// "stopped".
absl::string_view JobStateName(JobState state);

// True if the scheduler may move a job from one state to the other.
bool IsLegalTransition(JobState from, JobState to);

// Number of jobs in each state.
using StateCounts = std::array<uint32_t, kJobStates>;

enum class SweepState : uint8_t {
  kActive = 0,
  kPaused = 1,
  kCanceling = 2,  // every job ended or canceled, attempts still being stopped
  kSucceeded = 3,  // every job succeeded, or was stopped by early_stop
  kFailed = 4,     // every job ended, some failed or were skipped
  kCanceled = 5,   // every job ended, some were canceled and none failed
};
inline constexpr int kSweepStates = 6;
// "active", "paused", "canceling", "succeeded", "failed", "canceled".
absl::string_view SweepStateName(SweepState state);
constexpr bool IsTerminal(SweepState state) { return state >= SweepState::kSucceeded; }

}  // namespace concur

#endif  // CONCUR_CORE_JOB_H_
