// SPDX-License-Identifier: Apache-2.0
// Parses a command line, explains its errors, runs the command and returns the exit code. Shared by
// `concur`, `concur-annotate`, `concur-fetch` and `concur-chaos`.
#ifndef CONCUR_CLI_PROGRAMS_RUN_COMMAND_LINE_H_
#define CONCUR_CLI_PROGRAMS_RUN_COMMAND_LINE_H_

#include <functional>
#include <string>
#include <vector>

#include "cli/app/context.h"

namespace concur::cli {

struct ProgramText {
  std::string about;
  std::string footer;
};

// Parses `args` (without the program's name), runs the command among those that `add` declares, and
// returns the exit code. Results go to context.out; errors, also those of the command line, to
// context.err.
int RunCommandLine(const std::vector<std::string>& args, const ProgramText& text,
                   CommandContext& context,
                   const std::function<void(Command& app, CommandContext& context)>& add);

// The body of main: `run` with the process's arguments, streams and terminal. An output that cannot
// be written is an error.
int RunAsProcess(
    int argc, char** argv,
    const std::function<int(const std::vector<std::string>& args, CommandContext& context)>& run);

}  // namespace concur::cli

#endif  // CONCUR_CLI_PROGRAMS_RUN_COMMAND_LINE_H_
