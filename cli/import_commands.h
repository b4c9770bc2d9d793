// concur data import: raw files of published benchmarks in the internal form.
#ifndef CONCUR_CLI_IMPORT_COMMANDS_H_
#define CONCUR_CLI_IMPORT_COMMANDS_H_

#include "cli/command.h"

namespace concur::cli {

void AddImportCommand(Command& data, CommandContext& context);

}  // namespace concur::cli

#endif  // CONCUR_CLI_IMPORT_COMMANDS_H_
