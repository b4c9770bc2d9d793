// SPDX-License-Identifier: Apache-2.0
// Which programs the commands of approaches start, and whether this machine has them.
//
// A command is argv, so its first argument is a program. Further ones are recognized: the programs
// in a shell script given as an argument (sh -c), the script file given to an interpreter, the
// program that env, nice, nohup, setsid, time and timeout start, and files that a script copies or
// links from an absolute path. Words with placeholders or shell variables are skipped.
//
// Thread-safe (stateless functions).
#ifndef CONCUR_CLI_SWEEP_REQUIRED_PROGRAMS_H_
#define CONCUR_CLI_SWEEP_REQUIRED_PROGRAMS_H_

#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace concur::cli {

// The simple commands of a shell script, as words without their quotes. Here-documents are skipped.
// For finding programs, not for running anything: expansions stay as they are.
std::vector<std::vector<std::string>> ShellCommands(absl::string_view script);

// True of shells, python3.11, perl and the like, by their names: they run scripts.
bool IsInterpreter(const std::string& program);

// Names of programs, and absolute paths of programs, scripts and directories, that a command needs;
// "./NAME" for those that it expects where it is started.
std::set<std::string> ProgramsOf(const std::vector<std::string>& command);

// Where `program` is: itself when it is an absolute path that exists, else the first executable
// file of that name in the directories of `path` (as $PATH). "" when it is nowhere, or relative.
std::string FindProgram(const std::string& program, absl::string_view path);

}  // namespace concur::cli

#endif  // CONCUR_CLI_SWEEP_REQUIRED_PROGRAMS_H_
