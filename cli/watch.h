// Following a sweep until it has ended: shared by `sweep submit --watch`, `sweep watch`,
// `sweep wait` and `up --run`.
//
// Thread-compatible.
#ifndef CONCUR_CLI_WATCH_H_
#define CONCUR_CLI_WATCH_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/client.h"
#include "cli/command.h"
#include "concur/v1/coordinator.pb.h"

namespace concur::cli {

struct WatchOptions {
  bool quiet = false;  // no progress, only wait
  // JSON lines: every event to context.out.
  bool print_events = false;
  absl::Duration timeout = absl::InfiniteDuration();
  // How long the server may be away.
  absl::Duration outage_max = absl::Minutes(10);
  // Said after an interruption: how to go on. Empty: the usual hint.
  std::string detach_hint;
};

// Returns the sweep as it ended. Cancelled when interrupted (the sweep goes on, and context.err has
// said so); DeadlineExceeded after the time-out.
absl::StatusOr<v1::Sweep> FollowSweep(CommandContext& context, Client& client,
                                      const std::string& sweep, const WatchOptions& options);

// Sets exit code 5 unless every job of the ended sweep succeeded, and says what failed.
void ReportEnd(CommandContext& context, const v1::Sweep& sweep);

}  // namespace concur::cli

#endif  // CONCUR_CLI_WATCH_H_
