// `concur data mixture|downsample|split|stats|validate`: data sets from data sets, and about them.
#ifndef CONCUR_CLI_DATA_SET_COMMANDS_H_
#define CONCUR_CLI_DATA_SET_COMMANDS_H_

#include "cli/command.h"

namespace concur::cli {

// Adds the commands to `data`, the `concur data` command.
// REQUIRES: `data` and `context` outlive the parsing of the command line.
void AddDataSetCommands(Command& data, CommandContext& context);

}  // namespace concur::cli

#endif  // CONCUR_CLI_DATA_SET_COMMANDS_H_
