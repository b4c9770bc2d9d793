// `concur score`: exact match and F1 of a predictions file, without a server.
#ifndef CONCUR_CLI_SCORE_COMMANDS_H_
#define CONCUR_CLI_SCORE_COMMANDS_H_

#include "cli/command.h"

namespace concur::cli {

// REQUIRES: `app` and `context` outlive the parsing of the command line.
void AddScoreCommands(Command& app, CommandContext& context);

}  // namespace concur::cli

#endif  // CONCUR_CLI_SCORE_COMMANDS_H_
