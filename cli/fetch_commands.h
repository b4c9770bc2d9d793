// concur data fetch: public files of the catalogue, resumed and verified.
#ifndef CONCUR_CLI_FETCH_COMMANDS_H_
#define CONCUR_CLI_FETCH_COMMANDS_H_

#include "cli/command.h"

namespace concur::cli {

void AddFetchCommand(Command& data, CommandContext& context);

}  // namespace concur::cli

#endif  // CONCUR_CLI_FETCH_COMMANDS_H_
