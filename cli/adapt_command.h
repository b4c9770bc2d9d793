// `concur adapt FORM`: what an evaluation program wrote, as what a job must leave
// (docs/adapters.md).
//
// Thread-compatible.
#ifndef CONCUR_CLI_ADAPT_COMMAND_H_
#define CONCUR_CLI_ADAPT_COMMAND_H_

#include "cli/command.h"

namespace concur::cli {

void AddAdaptCommand(Command& app, CommandContext& context);

}  // namespace concur::cli

#endif  // CONCUR_CLI_ADAPT_COMMAND_H_
