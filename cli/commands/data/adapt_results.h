// SPDX-License-Identifier: Apache-2.0
// `concur adapt results`: one run of an evaluation program as a job's metrics by part.
//
// Thread-compatible.
#ifndef CONCUR_CLI_COMMANDS_DATA_ADAPT_RESULTS_H_
#define CONCUR_CLI_COMMANDS_DATA_ADAPT_RESULTS_H_

namespace concur {
class Command;
}

namespace concur::cli {

struct CommandContext;

// Below `adapt`. REQUIRES: `context` outlives the parsing of the command line.
void AddAdaptResults(Command& adapt, CommandContext& context);

}  // namespace concur::cli

#endif  // CONCUR_CLI_COMMANDS_DATA_ADAPT_RESULTS_H_
