// SPDX-License-Identifier: Apache-2.0
// Programs in the directory of this one, how to run them, and the files installed with them.
#ifndef CONCUR_CLI_APP_COMPANION_H_
#define CONCUR_CLI_APP_COMPANION_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/app/context.h"

namespace concur::cli {

// The directory of this program.
absl::StatusOr<std::string> ProgramDirectory();

// The shipped configurations: those installed with this program, else those of the sources that it
// was built from, else "configs" in the current directory. NotFound: there are none, with the
// remedy.
absl::StatusOr<std::string> ConfigsDirectory();

// The path of a program in that directory. FailedPrecondition: it is not there, or not executable.
absl::StatusOr<std::string> CompanionProgram(const std::string& name);

// Replaces this process with that program, given the same command line; returns only on failure.
// Commands that need large libraries live in such programs, so that the others start fast.
absl::Status RunCompanion(const std::string& name, const CommandContext& context);

}  // namespace concur::cli

#endif  // CONCUR_CLI_APP_COMPANION_H_
