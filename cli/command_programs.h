// Which programs the commands of approaches start, and whether this machine has them.
//
// A command is argv, so its first argument is a program. More are found where they can be told: the
// programs of a script that a shell gets as an argument (sh -c), the script that an interpreter
// gets as a file, and what a script copies or links from an absolute path. What holds a placeholder
// or a variable of the shell is left out.
//
// Thread-safe (stateless functions).
#ifndef CONCUR_CLI_COMMAND_PROGRAMS_H_
#define CONCUR_CLI_COMMAND_PROGRAMS_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/sweep.h"

namespace concur::cli {

// The simple commands of a shell script, as words without their quotes. Here-documents are skipped.
// For finding programs, not for running anything: expansions stay as they are.
std::vector<std::vector<std::string>> ShellCommands(absl::string_view script);

// Names of programs, and absolute paths of programs, scripts and directories, that a command needs.
std::set<std::string> ProgramsOf(const std::vector<std::string>& command);

// Every program of the approaches, with the names of the approaches that need it.
std::map<std::string, std::set<std::string>> ProgramsOf(const SweepSpec& sweep);

// Where `program` is: itself when it is an absolute path that exists, else the first executable
// file of that name in the directories of `path` (as $PATH). "" when it is nowhere.
std::string FindProgram(const std::string& program, absl::string_view path);

}  // namespace concur::cli

#endif  // CONCUR_CLI_COMMAND_PROGRAMS_H_
