// Commands that speak with a coordinator, and `up`, which starts one.
//
// REQUIRES, of all: `app` and `context` outlive the parsing of the command line.
#ifndef CONCUR_CLI_ONLINE_COMMANDS_H_
#define CONCUR_CLI_ONLINE_COMMANDS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "analysis/score_table.h"
#include "cli/client.h"
#include "cli/command.h"
#include "concur/v1/coordinator.pb.h"

namespace concur::cli {

// `sweep` with submit, list, get, watch, wait, pause, resume, cancel, retry, delete. Returns the
// group, for more commands of it.
Command* AddSweepCommands(Command& app, CommandContext& context);
// `sweep submit`, into the group.
void AddSubmitCommand(Command& sweep, CommandContext& context);
// `job` with list, get, logs, explain.
void AddJobCommands(Command& app, CommandContext& context);
// `top`.
void AddTopCommand(Command& app, CommandContext& context);
// `worker` with list, get, drain.
void AddWorkerCommands(Command& app, CommandContext& context);
// `pool` with list, get, explain, add, pause, resume, remove.
void AddPoolCommands(Command& app, CommandContext& context);
// `scores`.
void AddScoresCommand(Command& app, CommandContext& context);
// `curve`, also offline from files.
void AddCurveCommand(Command& app, CommandContext& context);
// `uncertainty`, also offline from files.
void AddUncertaintyCommand(Command& app, CommandContext& context);
// `compare`, also offline from files.
void AddCompareCommand(Command& app, CommandContext& context);
// `rank`, `cross` and `scatter`, also offline from files.
void AddRankCommand(Command& app, CommandContext& context);
void AddScatterCommand(Command& app, CommandContext& context);
void AddCrossCommand(Command& app, CommandContext& context);
// `simulate`, also offline from files.
void AddSimulateCommand(Command& app, CommandContext& context);
// `up`.
void AddUpCommand(Command& app, CommandContext& context);

struct SubmitFlags {
  std::string file;
  std::vector<std::string> variables;  // NAME=VALUE
  std::string request_id;              // empty: a random one
  bool dry_run = false;
};
// Loads the sweep file, uploads what the server lacks, and submits. Warnings go to context.err.
absl::StatusOr<v1::CreateSweepResponse> SubmitSweep(CommandContext& context, Client& client,
                                                    const SubmitFlags& flags);
// "s12 demo: 360 jobs in 72 cells; 118 of them reuse a finished result".
std::string SubmittedText(const v1::Sweep& sweep);
// Prints the sweep as `sweep get` does.
void PrintSweep(CommandContext& context, const v1::Sweep& sweep,
                const std::vector<std::string>& warnings = {});

// The score table of a sweep as its `select` rule says, or as `select` ("best", …) does when it is
// not empty.
absl::StatusOr<analysis::ScoreTable> FetchScoreTable(Client& client, const std::string& sweep,
                                                     const std::string& metric,
                                                     const std::string& select);

}  // namespace concur::cli

#endif  // CONCUR_CLI_ONLINE_COMMANDS_H_
