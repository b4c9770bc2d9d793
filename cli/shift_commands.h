// `concur shift` and `concur strata`: how scores on one test set predict scores on others.
#ifndef CONCUR_CLI_SHIFT_COMMANDS_H_
#define CONCUR_CLI_SHIFT_COMMANDS_H_

#include "cli/command.h"
#include "cli/matrix_commands.h"

namespace concur::cli {

// Adds the command. Without `fetch` only the offline form, --scores, is there.
void AddShiftCommand(Command& app, CommandContext& context, FetchTable fetch = nullptr);

// Adds `strata`, which is offline.
void AddStrataCommand(Command& app, CommandContext& context);

}  // namespace concur::cli

#endif  // CONCUR_CLI_SHIFT_COMMANDS_H_
