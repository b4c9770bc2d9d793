// SPDX-License-Identifier: Apache-2.0
// The command line of `concur chaos`: simulates the whole system with faults and checks its
// guarantees; needs no server.
#ifndef CONCUR_CLI_COMMANDS_CHAOS_H_
#define CONCUR_CLI_COMMANDS_CHAOS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "cli/app/context.h"

namespace concur::cli {

struct ChaosFlags {
  uint64_t seed = 1;
  uint64_t seeds = 1;
  uint64_t steps = 0;  // 0: the simulation's default
  int jobs = 0;
  std::string bug = "none";
  bool trace = false;
};

// `run` does the work. In `concur`, it starts concur-chaos, which does it.
// REQUIRES: `app` and `context` outlive the parsing of the command line.
void AddChaosCommand(Command& app, CommandContext& context,
                     const std::function<absl::Status(const ChaosFlags&, CommandContext&)>& run);

}  // namespace concur::cli

#endif  // CONCUR_CLI_COMMANDS_CHAOS_H_
