// SPDX-License-Identifier: Apache-2.0
// Parses a command line, explains its errors, runs the command and returns the exit code. Shared by
// `concur`, `concur-annotate`, `concur-fetch`, and programs of tests/ and bench/.
#ifndef CONCUR_CLI_PROGRAMS_RUN_COMMAND_LINE_H_
#define CONCUR_CLI_PROGRAMS_RUN_COMMAND_LINE_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "cli/app/context.h"

namespace concur::cli {

// A command that was renamed: "sweep import", "bundle load". The old name runs the new command,
// with a warning.
struct OldName {
  absl::string_view old_name;
  absl::string_view new_name;
};

struct ProgramText {
  std::string about;
  std::string footer;
  std::string name = "concur";
  absl::Span<const OldName> old_names = {};
};

// Parses `given` (without the program's name), runs the command among those that `add` declares, or
// `app` itself if `add` declares none, and returns the exit code. Results go to context.out;
// errors, also those of the command line, to context.err.
int RunCommandLine(const std::vector<std::string>& given, const ProgramText& text,
                   CommandContext& context,
                   const std::function<void(Command& app, CommandContext& context)>& add);

// The body of main: `run` with the process's arguments, streams and terminal. An output that cannot
// be written is an error.
int RunAsProcess(
    int argc, char** argv,
    const std::function<int(const std::vector<std::string>& args, CommandContext& context)>& run);

}  // namespace concur::cli

#endif  // CONCUR_CLI_PROGRAMS_RUN_COMMAND_LINE_H_
