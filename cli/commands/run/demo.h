// SPDX-License-Identifier: Apache-2.0
// `concur demo`: from nothing to a concurrence matrix on this machine.
#ifndef CONCUR_CLI_COMMANDS_RUN_DEMO_H_
#define CONCUR_CLI_COMMANDS_RUN_DEMO_H_

#include <functional>
#include <string>
#include <vector>

#include "cli/app/context.h"

namespace concur::cli {

// `run` runs the program with another command line: the demo consists of commands that users type.
// REQUIRES: `app` and `context` outlive the parsing of the command line.
void AddDemoCommand(
    Command& app, CommandContext& context,
    const std::function<int(const std::vector<std::string>& args, CommandContext& context)>& run);

}  // namespace concur::cli

#endif  // CONCUR_CLI_COMMANDS_RUN_DEMO_H_
