// `concur report`, and the commands about results that outlive their coordinator: `concur export`,
// `concur verify` and `concur diff`.
#ifndef CONCUR_CLI_REPORT_COMMANDS_H_
#define CONCUR_CLI_REPORT_COMMANDS_H_

#include "cli/command.h"

namespace concur::cli {

// REQUIRES, of both: `app` and `context` outlive the parsing of the command line.
void AddReportCommand(Command& app, CommandContext& context);
void AddBundleCommands(Command& app, CommandContext& context);

}  // namespace concur::cli

#endif  // CONCUR_CLI_REPORT_COMMANDS_H_
