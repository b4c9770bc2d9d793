// `concur chaos`: the whole system, simulated with faults, in search of a broken promise; no
// server.
#ifndef CONCUR_CLI_CHAOS_COMMANDS_H_
#define CONCUR_CLI_CHAOS_COMMANDS_H_

#include "cli/command.h"

namespace concur::cli {

// REQUIRES: `app` and `context` outlive the parsing of the command line.
void AddChaosCommand(Command& app, CommandContext& context);

}  // namespace concur::cli

#endif  // CONCUR_CLI_CHAOS_COMMANDS_H_
