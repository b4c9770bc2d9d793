// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/command/command.h"
#include "base/data_directory.h"
#include "base/status_macros.h"
#include "cli/app/context.h"
#include "cli/client/server_address.h"
#include "cli/commands/commands.h"
#include "cli/output/print.h"

namespace concur::cli {
namespace {

absl::Status PrintPage(CommandContext& context, std::string data_directory) {
  if (data_directory.empty()) {
    data_directory = DefaultDataDirectory();
  }
  CONCUR_ASSIGN_OR_RETURN(const std::string link, ReadPageLink(data_directory));
  Json record = Json::object();
  record["page"] = link;
  PrintDetails(context, {{"page", link}}, record);
  PrintNote(context, "the link logs in once; each \"concur page\" after that prints a new one");
  return absl::OkStatus();
}

}  // namespace

void AddPageCommand(Command& app, CommandContext& context) {
  Command* command =
      app.AddSubcommand("page", "The page of this machine's coordinator, with a link that logs in");
  const auto data_directory = std::make_shared<std::string>();
  command
      ->AddOption("--data-dir", *data_directory,
                  "The coordinator's (default: $XDG_DATA_HOME/concur or ~/.local/share/concur)")
      ->TypeName("DIR");
  command->Footer("Examples:\n  concur page\n  concur page --data-dir /tmp/demo -o json");
  OnRun(command, context,
        [data_directory, &context] { return PrintPage(context, *data_directory); });
}

}  // namespace concur::cli
