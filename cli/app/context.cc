// SPDX-License-Identifier: Apache-2.0
#include "cli/app/context.h"

#include <functional>
#include <utility>

#include "absl/status/status.h"
#include "base/command/command.h"

namespace concur::cli {

int ExitCodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kExitOk;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
      return kExitUsage;
    case absl::StatusCode::kNotFound:
      return kExitNotFound;
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kAlreadyExists:
      return kExitPrecondition;
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
      return kExitDenied;
    case absl::StatusCode::kUnavailable:
      return kExitUnavailable;
    case absl::StatusCode::kDeadlineExceeded:
      return kExitTimeout;
    case absl::StatusCode::kCancelled:
      return kExitInterrupted;
    default:
      return kExitError;
  }
}

void OnRun(Command* command, CommandContext& context, std::function<absl::Status()> work) {
  command->OnParsed([&context, work = std::move(work)] {
    if (!context.parse_only) {
      context.status = work();
    }
  });
}

}  // namespace concur::cli
