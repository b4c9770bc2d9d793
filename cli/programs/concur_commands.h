// SPDX-License-Identifier: Apache-2.0
// The `concur` program as a function: takes the command line, returns the exit code.
#ifndef CONCUR_CLI_PROGRAMS_CONCUR_COMMANDS_H_
#define CONCUR_CLI_PROGRAMS_CONCUR_COMMANDS_H_

#include <string>
#include <vector>

#include "cli/app/context.h"

namespace concur::cli {

// Parses `args` (without the program's name), runs the command, and returns the exit code. Results
// go to context.out; errors, also those of the command line, to context.err.
int RunProgram(const std::vector<std::string>& args, CommandContext& context);

}  // namespace concur::cli

#endif  // CONCUR_CLI_PROGRAMS_CONCUR_COMMANDS_H_
