// SPDX-License-Identifier: Apache-2.0
// The address of the coordinator, and that of its page.
//
// Thread-safe (stateless).
#ifndef CONCUR_CLI_CLIENT_SERVER_ADDRESS_H_
#define CONCUR_CLI_CLIENT_SERVER_ADDRESS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/app/context.h"

namespace concur::cli {

// The page's address with what logs its reader in, as the coordinator of a data directory on this
// machine wrote it. FailedPrecondition when none runs there, or none with a page.
absl::StatusOr<std::string> ReadPageLink(const std::string& data_directory);

// While one runs on a data directory, "concur up" holds this file of it locked.
inline constexpr char kUpLockFile[] = "up.lock";

// --server or CONCUR_SERVER, else what a coordinator wrote to the default data directory, else
// 127.0.0.1:7447. InvalidArgument when it is no list of addresses.
absl::StatusOr<std::string> ServerAddress(const CommandContext& context);

// The same, for commands that connect: they should not reach a coordinator of somebody else where
// the own one has no address yet. Waits up to `wait_max` for the address of a "concur up" that runs
// on the default data directory; Unavailable when it does not come.
absl::StatusOr<std::string> AwaitServerAddress(CommandContext& context,
                                               absl::Duration wait_max = absl::Seconds(10));

}  // namespace concur::cli

#endif  // CONCUR_CLI_CLIENT_SERVER_ADDRESS_H_
