// SPDX-License-Identifier: Apache-2.0
// Where the coordinator is, and where one keeps its data unless told otherwise.
//
// Thread-safe (stateless).
#ifndef CONCUR_CLI_CLIENT_SERVER_ADDRESS_H_
#define CONCUR_CLI_CLIENT_SERVER_ADDRESS_H_

#include <string>

#include "absl/status/statusor.h"
#include "cli/app/context.h"

namespace concur::cli {

// $XDG_DATA_HOME/concur, else ~/.local/share/concur.
std::string DefaultDataDirectory();

// --server or CONCUR_SERVER, else what a coordinator wrote to the default data directory, else
// 127.0.0.1:7447. InvalidArgument when it is no address.
absl::StatusOr<std::string> ServerAddress(const CommandContext& context);

}  // namespace concur::cli

#endif  // CONCUR_CLI_CLIENT_SERVER_ADDRESS_H_
