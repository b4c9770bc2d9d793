// The programs that lie beside this one.
#ifndef CONCUR_CLI_COMPANION_H_
#define CONCUR_CLI_COMPANION_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/command.h"

namespace concur::cli {

// The directory of this program.
absl::StatusOr<std::string> ProgramDirectory();

// The path of a program in that directory. FailedPrecondition: it is not there, or not executable.
absl::StatusOr<std::string> CompanionProgram(const std::string& name);

// Runs that program with this one's command line, in its place; returns only an error. For commands
// whose libraries all others would have to wait for at their start.
absl::Status RunCompanion(const std::string& name, const CommandContext& context);

}  // namespace concur::cli

#endif  // CONCUR_CLI_COMPANION_H_
