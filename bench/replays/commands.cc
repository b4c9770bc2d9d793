// SPDX-License-Identifier: Apache-2.0
#include "bench/replays/commands.h"

#include <string>
#include <vector>

#include "cli/programs/run_command_line.h"

namespace concur::cli {

int RunReplays(const std::vector<std::string>& args, CommandContext& context) {
  return RunCommandLine(args,
                        {"What methods would have done on recorded data.", "", "scripts/bench"},
                        context, [](Command& app, CommandContext& command_context) {
                          AddEarlyStopCommand(app, command_context);
                          AddPlanReplayCommand(app, command_context);
                        });
}

}  // namespace concur::cli
