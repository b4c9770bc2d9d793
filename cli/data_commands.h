// `concur data …`: builds benchmarks, derives data sets from others, and checks them; no server.
#ifndef CONCUR_CLI_DATA_COMMANDS_H_
#define CONCUR_CLI_DATA_COMMANDS_H_

#include "cli/command.h"

namespace concur::cli {

// REQUIRES: `app` and `context` outlive the parsing of the command line.
void AddDataCommands(Command& app, CommandContext& context);

}  // namespace concur::cli

#endif  // CONCUR_CLI_DATA_COMMANDS_H_
