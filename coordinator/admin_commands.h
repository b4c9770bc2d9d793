// SPDX-License-Identifier: Apache-2.0
// The commands of `concur-coordinator` on a data directory. All but `restore` and `migrate` work
// while a coordinator runs on it.
//
// Thread-compatible.
#ifndef CONCUR_COORDINATOR_ADMIN_COMMANDS_H_
#define CONCUR_COORDINATOR_ADMIN_COMMANDS_H_

#include <functional>

#include "absl/status/status.h"
#include "coordinator/data/data_place.h"

namespace concur {

class Command;

// The work of the given command; empty when none was given.
using AdminWork = std::function<absl::Status(const DataPlace& place)>;

// `token` with create, list, revoke. REQUIRES: both outlive the parsing of the command line.
void AddTokenCommands(Command& app, AdminWork* work);
// `init-tls`. REQUIRES: as above.
void AddInitTlsCommand(Command& app, AdminWork* work);
// `check`, `backup`, `restore`, `migrate` and `ship`. REQUIRES: as above.
void AddDataCommands(Command& app, AdminWork* work);

}  // namespace concur

#endif  // CONCUR_COORDINATOR_ADMIN_COMMANDS_H_
