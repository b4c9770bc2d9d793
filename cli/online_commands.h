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
CLI::App* AddSweepCommands(CLI::App& app, CommandContext& context);
// `sweep submit`, into the group.
void AddSubmitCommand(CLI::App& sweep, CommandContext& context);
// `job` with list, get, logs, explain.
void AddJobCommands(CLI::App& app, CommandContext& context);
// `top`.
void AddTopCommand(CLI::App& app, CommandContext& context);
// `worker` with list, get, drain.
void AddWorkerCommands(CLI::App& app, CommandContext& context);
// `pool` with list, get, explain, add, pause, resume, remove.
void AddPoolCommands(CLI::App& app, CommandContext& context);
// `scores`.
void AddScoresCommand(CLI::App& app, CommandContext& context);
// `curve`, also offline from files.
void AddCurveCommand(CLI::App& app, CommandContext& context);
// `uncertainty`, also offline from files.
void AddUncertaintyCommand(CLI::App& app, CommandContext& context);
// `compare`, also offline from files.
void AddCompareCommand(CLI::App& app, CommandContext& context);
// `rank`, `cross` and `scatter`, also offline from files.
void AddRankCommand(CLI::App& app, CommandContext& context);
void AddScatterCommand(CLI::App& app, CommandContext& context);
void AddCrossCommand(CLI::App& app, CommandContext& context);
// `simulate`, also offline from files.
void AddSimulateCommand(CLI::App& app, CommandContext& context);
// `up`.
void AddUpCommand(CLI::App& app, CommandContext& context);

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
