// `concur sweep validate FILE` and `concur sweep plan FILE`: what a sweep file says and how many
// jobs it makes, without a coordinator.
//
// Thread-compatible.
#ifndef CONCUR_CLI_SWEEP_FILES_H_
#define CONCUR_CLI_SWEEP_FILES_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/command.h"

namespace concur::cli {

// Adds `validate` and `plan` under `concur sweep`.
void AddSweepFileCommands(Command& sweep_app, CommandContext& context);

// The values of --var NAME=VALUE. InvalidArgument when one has no name or stands twice.
absl::StatusOr<std::map<std::string, std::string>> ParseVariables(
    const std::vector<std::string>& flags);

}  // namespace concur::cli

#endif  // CONCUR_CLI_SWEEP_FILES_H_
