// SPDX-License-Identifier: Apache-2.0
// Methods replayed on recorded data: the commands of `scripts/bench` that say what early stopping
// and plans would have done.
//
// Thread-compatible.
#ifndef CONCUR_BENCH_REPLAYS_COMMANDS_H_
#define CONCUR_BENCH_REPLAYS_COMMANDS_H_

#include <string>
#include <vector>

#include "base/command/command.h"
#include "cli/app/context.h"

namespace concur::cli {

// `early-stop`, on a file of learning curves.
void AddEarlyStopCommand(Command& app, CommandContext& context);
// `plan`, on a complete table of scores.
void AddPlanReplayCommand(Command& app, CommandContext& context);

// Runs one of them; `args` begin with its name. As RunCommandLine.
int RunReplays(const std::vector<std::string>& args, CommandContext& context);

}  // namespace concur::cli

#endif  // CONCUR_BENCH_REPLAYS_COMMANDS_H_
