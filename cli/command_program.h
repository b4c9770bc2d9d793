// What the programs with commands share: the command line read, its errors explained, the result
// turned into an exit code.
#ifndef CONCUR_CLI_COMMAND_PROGRAM_H_
#define CONCUR_CLI_COMMAND_PROGRAM_H_

#include <functional>
#include <string>
#include <vector>

#include "cli/command.h"

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

#endif  // CONCUR_CLI_COMMAND_PROGRAM_H_
