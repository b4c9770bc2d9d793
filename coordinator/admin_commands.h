// What `concur-coordinator` does beside serving: commands on a data directory, all of which but
// `restore` work while a coordinator runs on it.
#ifndef CONCUR_COORDINATOR_ADMIN_COMMANDS_H_
#define CONCUR_COORDINATOR_ADMIN_COMMANDS_H_

#include <functional>

#include "absl/status/status.h"
#include "coordinator/data_place.h"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's
class App;
}

namespace concur {

// What the command that was given does; empty when none was.
using AdminWork = std::function<absl::Status(const DataPlace& place)>;

// `token` with create, list, revoke. REQUIRES: both outlive the parsing of the command line.
void AddTokenCommands(CLI::App& app, AdminWork* work);
// `init-tls`. REQUIRES: as above.
void AddInitTlsCommand(CLI::App& app, AdminWork* work);
// `check`, `backup` and `restore`. REQUIRES: as above.
void AddDataCommands(CLI::App& app, AdminWork* work);

}  // namespace concur

#endif  // CONCUR_COORDINATOR_ADMIN_COMMANDS_H_
