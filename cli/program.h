// The `concur` program without its process: the command line in, an exit code out.
#ifndef CONCUR_CLI_PROGRAM_H_
#define CONCUR_CLI_PROGRAM_H_

#include <string>
#include <vector>

#include "cli/command.h"

namespace concur::cli {

// Parses `args` (without the program's name), runs the command, and returns the exit code. Results
// go to context.out; errors, also those of the command line, to context.err.
int RunProgram(const std::vector<std::string>& args, CommandContext& context);

}  // namespace concur::cli

#endif  // CONCUR_CLI_PROGRAM_H_
