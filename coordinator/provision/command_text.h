// SPDX-License-Identifier: Apache-2.0
// Requests to the programs of a pool with `provider: command`, and what they print; the contract
// is in docs/clusters.md.
//
// Pure functions.
#ifndef CONCUR_COORDINATOR_PROVISION_COMMAND_TEXT_H_
#define CONCUR_COORDINATOR_PROVISION_COMMAND_TEXT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/run_command.h"
#include "coordinator/provision/provider.h"
#include "core/pools/pool.h"
#include "core/pools/pools.h"

namespace concur::provision {

// The files of a coordinator's pilots within `tokens`, on a file system of the nodes.
std::string TokenFile(const std::string& tokens, const PilotSetup& setup);
std::string KeyFile(const std::string& tokens, const PilotSetup& setup);
// Where this pilot's script says why its setup failed.
std::string FailureFile(const std::string& tokens, const PilotSetup& setup,
                        const std::string& pilot);

// The pilot of such a file's name; "" when it is another.
std::string PilotOfFailureFile(absl::string_view name, const PilotSetup& setup);

// submit, with the pilot's script on its standard input. The script reads secrets from `tokens`.
CommandRequest SubmitRequest(const PoolSpec& pool, const PilotSetup& setup,
                             const std::string& tokens, const std::string& pilot, bool has_token);
// list, which asks for every pilot of the coordinator.
CommandRequest ListRequest(const std::string& directory, const PilotSetup& setup);
// cancel, with "NAME<tab>ID" lines on its standard input.
CommandRequest CancelRequest(const std::string& directory, const PilotSetup& setup,
                             const std::vector<PilotReport>& pilots);

// The engine's id from what submit printed; DataLoss when it is something else than a line.
absl::StatusOr<std::string> ParseSubmit(absl::string_view program, absl::string_view out);
// The pilots' reports from what list printed. DataLoss when a line is not as it must be, or the
// last one is cut: then nothing of it is to be believed.
absl::StatusOr<std::vector<PilotReport>> ParseList(absl::string_view program, absl::string_view out,
                                                   const PilotSetup& setup);

}  // namespace concur::provision

#endif  // CONCUR_COORDINATOR_PROVISION_COMMAND_TEXT_H_
