// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/data/data_fetch.h"

#include <memory>
#include <string>

#include "base/command/command.h"

namespace concur::cli {

void AddFetchCommand(Command& data, CommandContext& context,
                     const std::function<absl::Status(const FetchOptions&, CommandContext&)>& run) {
  Command* const command = data.AddSubcommand(
      "fetch",
      "download public data and checkpoints, resumed and verified; without a name, a list");
  const auto options = std::make_shared<FetchOptions>();
  command->AddOption("name", options->name, "an entry of the catalogue");
  command->AddOption(
      "--catalogue", options->catalogue,
      "directory of the catalogue's files (default: the one that comes with concur)");
  command->AddOption("--out", options->out, "directory to write to (default: the name)");
  command->AddOption("--revision", options->revision,
                     "which of the publisher's revisions, where it has several (default: as the "
                     "catalogue says)");
  command
      ->AddOption("--stall-seconds", options->stall_seconds,
                  "try a transfer again when nothing has arrived for this long")
      ->InRange(1, 3600)
      ->ShowDefault();
  command->Footer(
      "Where the catalogue has no digest, the file FETCHED keeps the one with which a file first\n"
      "came, and its address; another file is refused later.\n"
      "Examples:\n"
      "  concur data fetch\n"
      "  concur data fetch squad --out data/squad\n"
      "  concur data fetch bert-base-uncased");
  OnRun(command, context, [options, run, &context] { return run(*options, context); });
}

}  // namespace concur::cli
