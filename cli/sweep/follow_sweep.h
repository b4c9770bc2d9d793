// SPDX-License-Identifier: Apache-2.0
// Following a sweep until it has ended: shared by `sweep submit --watch`, `sweep watch`,
// `sweep wait` and `up --run`.
//
// Thread-compatible.
#ifndef CONCUR_CLI_SWEEP_FOLLOW_SWEEP_H_
#define CONCUR_CLI_SWEEP_FOLLOW_SWEEP_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/app/context.h"
#include "cli/client/client.h"
#include "concur/v1/coordinator.pb.h"

namespace concur::cli {

struct WatchOptions {
  bool quiet = false;  // no progress, only wait
  // JSON lines: every event to context.out.
  bool print_events = false;
  // Only events after this cursor, which an earlier event had; empty: from now on.
  std::string after;
  absl::Duration timeout = absl::InfiniteDuration();
  // Longest time that the server may be away.
  absl::Duration outage_max = absl::Minutes(10);
  // Said after an interruption: how to go on. Empty: the usual hint.
  std::string detach_hint;
};

// Returns the sweep as it ended. Cancelled when interrupted (the sweep goes on, and context.err has
// said so); DeadlineExceeded after the time-out.
absl::StatusOr<v1::Sweep> FollowSweep(CommandContext& context, Client& client,
                                      const std::string& sweep, const WatchOptions& options);

// Text to print that says how to run failed jobs again, which differs when files were changed.
std::string RetryHint(const std::string& sweep);

// Sets exit code 5 unless every job of the ended sweep succeeded, and says what failed.
void ReportEnd(CommandContext& context, const v1::Sweep& sweep);

}  // namespace concur::cli

#endif  // CONCUR_CLI_SWEEP_FOLLOW_SWEEP_H_
