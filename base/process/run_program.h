// SPDX-License-Identifier: Apache-2.0
// Runs a program to its end, for what a worker does itself: building environments, trying
// sandboxes.
//
// Thread-safe (stateless). Blocks the calling thread.
#ifndef CONCUR_BASE_PROCESS_RUN_PROGRAM_H_
#define CONCUR_BASE_PROCESS_RUN_PROGRAM_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/process/process.h"

namespace concur::process {

struct ProgramLimits {
  absl::Duration timeout = absl::Seconds(30);
  std::function<bool()> is_canceled = nullptr;  // asked a few times a second
  std::string log = {};                         // its output is appended to this file; "": nowhere
};

struct ProgramEnd {
  int exit_code = 0;   // 128 + signal when killed by one
  std::string output;  // the last bytes that it printed
};

// The program's end, whatever its exit code. DeadlineExceeded or Cancelled: it was killed. Errors
// of StartProcess when it could not be started.
absl::StatusOr<ProgramEnd> RunProgram(const Command& command, const ProgramLimits& limits);

}  // namespace concur::process

#endif  // CONCUR_BASE_PROCESS_RUN_PROGRAM_H_
