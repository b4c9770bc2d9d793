// SPDX-License-Identifier: Apache-2.0
// Names that a coordinator knows, for completion in a shell.
//
// Thread-safe (stateless function).
#ifndef CONCUR_CLI_CLIENT_COMPLETION_H_
#define CONCUR_CLI_CLIENT_COMPLETION_H_

#include <string>
#include <utility>
#include <vector>

#include "cli/app/context.h"

namespace concur::cli {

// Names that may stand where `type` is expected ("SWEEP", "JOB", "WORKER" or "POOL"), each with its
// meaning. Jobs come once the sweep in `prefix` ("s12/") says whose; before that the sweeps do.
// Empty for other types, and when the coordinator does not answer at once.
std::vector<std::pair<std::string, std::string>> NamesOf(const CommandContext& context,
                                                         const std::string& type,
                                                         const std::string& prefix);

}  // namespace concur::cli

#endif  // CONCUR_CLI_CLIENT_COMPLETION_H_
