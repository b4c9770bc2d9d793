// SPDX-License-Identifier: Apache-2.0
// The command line of `concur data fetch`: public files of the catalogue, resumed and verified.
#ifndef CONCUR_CLI_COMMANDS_DATA_DATA_FETCH_H_
#define CONCUR_CLI_COMMANDS_DATA_DATA_FETCH_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "cli/app/context.h"

namespace concur::cli {

struct FetchOptions {
  std::string name;  // an entry of the catalogue; empty: lists them
  std::string catalogue;
  std::string out;
  std::string revision;  // empty: as the entry says
  int64_t stall_seconds = 60;
};

// `run` does the work. In `concur`, it starts concur-fetch, which does it.
// REQUIRES: `data` and `context` outlive the parsing of the command line.
void AddFetchCommand(Command& data, CommandContext& context,
                     const std::function<absl::Status(const FetchOptions&, CommandContext&)>& run);

}  // namespace concur::cli

#endif  // CONCUR_CLI_COMMANDS_DATA_DATA_FETCH_H_
