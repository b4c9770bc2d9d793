// SPDX-License-Identifier: Apache-2.0
// Messages for command lines that the parser refused. Thread-safe (stateless functions).
#ifndef CONCUR_BASE_COMMAND_USAGE_ERROR_H_
#define CONCUR_BASE_COMMAND_USAGE_ERROR_H_

#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's
class App;
}  // namespace CLI

namespace concur {

// The message for a command line (without the program's name) that `app` refused with `error`; for
// an unknown command or option, with a suggestion.
std::string ExplainUsage(const CLI::App& app, const std::vector<std::string>& args,
                         const std::string& error);

// The program or the group of commands that was named without a command of it, and nothing else;
// null when something else was said.
const CLI::App* BareGroup(const CLI::App& app, const std::vector<std::string>& args);

}  // namespace concur

#endif  // CONCUR_BASE_COMMAND_USAGE_ERROR_H_
