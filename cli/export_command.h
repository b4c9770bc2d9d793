// `concur data export FORMAT`: a data set in the form that other programs read.
//
// Thread-compatible.
#ifndef CONCUR_CLI_EXPORT_COMMAND_H_
#define CONCUR_CLI_EXPORT_COMMAND_H_

#include "cli/command.h"

namespace concur::cli {

// Adds `export` under `concur data`.
void AddExportCommand(Command& data, CommandContext& context);

}  // namespace concur::cli

#endif  // CONCUR_CLI_EXPORT_COMMAND_H_
