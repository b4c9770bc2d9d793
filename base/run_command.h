// SPDX-License-Identifier: Apache-2.0
// Runs an external program to its end, with bounded time and output, or starts one. No shell.
//
// Thread-safe (stateless). RunCommand blocks the calling thread.
#ifndef CONCUR_BASE_RUN_COMMAND_H_
#define CONCUR_BASE_RUN_COMMAND_H_

#include <spawn.h>
#include <sys/types.h>

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace concur {

struct CommandRequest {
  std::vector<std::string> argv;           // argv[0] is looked for in PATH
  std::map<std::string, std::string> env;  // over this process's own environment
  bool inherits_env = true;                // else `env` is all that it has
  std::string input;                       // contents of its standard input
  absl::Duration timeout = absl::Seconds(30);
  size_t output_bytes_max = size_t{64} << 20;
};

struct CommandResult {
  int exit_code = 0;  // 128 + signal when killed by one
  std::string out;
  std::string err;  // at most 64 KiB of it
};

// The program's end, whatever its exit code. DeadlineExceeded: it was killed when its time was
// over; ResourceExhausted: it printed more than it may, and was killed; NotFound: there is no such
// program.
absl::StatusOr<CommandResult> RunCommand(const CommandRequest& request);

// Starts a program, which the caller waits for: argv[0] is looked for in PATH, no signal is
// blocked, and those that end a program do so. `apart` is POSIX_SPAWN_SETPGROUP or
// POSIX_SPAWN_SETSID: what it starts is a group, or a session, of its own.
absl::StatusOr<pid_t> Spawn(const std::vector<std::string>& argv,
                            const std::vector<std::string>& environment,
                            const posix_spawn_file_actions_t& actions, short apart);

// "PROGRAM: " and what a failed program printed to its standard error, as one line of bounded
// length; or with which code it ended, if it said nothing.
std::string WhatItSaid(absl::string_view program, const CommandResult& result);

}  // namespace concur

#endif  // CONCUR_BASE_RUN_COMMAND_H_
