// The command line of `concur chaos`: the whole system, simulated with faults, in search of a
// broken promise; no server.
#ifndef CONCUR_CLI_CHAOS_COMMANDS_H_
#define CONCUR_CLI_CHAOS_COMMANDS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "cli/command.h"

namespace concur::cli {

struct ChaosFlags {
  uint64_t seed = 1;
  uint64_t seeds = 1;
  uint64_t steps = 0;  // 0: as the simulation has it
  int jobs = 0;
  std::string bug = "none";
  bool trace = false;
};

// `run` does the work: in concur, it runs concur-chaos, which does it.
// REQUIRES: `app` and `context` outlive the parsing of the command line.
void AddChaosCommand(Command& app, CommandContext& context,
                     const std::function<absl::Status(const ChaosFlags&, CommandContext&)>& run);

}  // namespace concur::cli

#endif  // CONCUR_CLI_CHAOS_COMMANDS_H_
