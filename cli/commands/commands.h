// SPDX-License-Identifier: Apache-2.0
// The commands of `concur`, by group. Each function adds one or several to `app`.
//
// REQUIRES, of all: `app` and `context` outlive the parsing of the command line.
#ifndef CONCUR_CLI_COMMANDS_COMMANDS_H_
#define CONCUR_CLI_COMMANDS_COMMANDS_H_

#include <string>
#include <vector>

#include "cli/app/context.h"

namespace concur::v1 {
class Sweep;
}  // namespace concur::v1

namespace concur::cli {

// Commands for a coordinator.

// `concurrence NEW`: from a benchmark to a verdict on its concurrence with another.
void AddConcurrenceCommand(Command& app, CommandContext& context);
// `init DIR`: writes a study to start from.
void AddInitCommand(Command& app, CommandContext& context);
// `up`, which starts one.
void AddUpCommand(Command& app, CommandContext& context);
// `sweep` with submit, submit-predictions, list, get, watch, wait, failures, pause, resume, cancel,
// retry, delete, and with validate and plan, which need no coordinator.
void AddSweepCommands(Command& app, CommandContext& context);
void AddSubmitCommand(Command& sweep, CommandContext& context);
// `sweep submit-predictions`: systems that others ran.
void AddSubmitPredictionsCommand(Command& sweep, CommandContext& context);
// `sweep steps`: what jobs reported while they ran.
void AddSweepStepsCommand(Command& sweep, CommandContext& context);
void AddSweepFileCommands(Command& sweep, CommandContext& context);
// `sweep simulate`: a forecast of how long a sweep takes.
void AddSimulateCommand(Command& sweep, CommandContext& context);
// `sweep schema KIND`: the JSON Schema of a kind of YAML file.
void AddSchemaCommand(Command& sweep, CommandContext& context);
// `job` with list, get, logs, explain.
void AddJobCommands(Command& app, CommandContext& context);
void AddJobListCommand(Command& job, CommandContext& context);
// `worker` with list, get, drain.
void AddWorkerCommands(Command& app, CommandContext& context);
// `resource` with list, set, delete: the named resources of the cluster.
void AddResourceCommands(Command& app, CommandContext& context);
// `pool` with list, get, explain, add, pause, resume, remove.
void AddPoolCommands(Command& app, CommandContext& context);
// `secret` with set, list, delete.
void AddSecretCommands(Command& app, CommandContext& context);
void AddAuditCommand(Command& app, CommandContext& context);
void AddTopCommand(Command& app, CommandContext& context);
// `usage`: what jobs took.
void AddUsageCommand(Command& app, CommandContext& context);

// Commands for results: of a sweep, of a bundle or of files.

void AddScoresCommand(Command& app, CommandContext& context);
void AddMatrixCommand(Command& app, CommandContext& context);
void AddCurveCommand(Command& app, CommandContext& context);
void AddUncertaintyCommand(Command& app, CommandContext& context);
void AddShiftCommand(Command& app, CommandContext& context);
void AddStrataCommand(Command& app, CommandContext& context);
void AddSignificanceCommand(Command& app, CommandContext& context);
void AddRankCommand(Command& app, CommandContext& context);
void AddTransferCommand(Command& app, CommandContext& context);
void AddScatterCommand(Command& app, CommandContext& context);
void AddReportCommand(Command& app, CommandContext& context);
void AddNextCommand(Command& app, CommandContext& context);
void AddDiffCommand(Command& app, CommandContext& context);
// `bundle` with write, convert, verify, load: results that outlive their coordinator.
void AddBundleCommands(Command& app, CommandContext& context);
// `bundle convert FORMAT PATH…`: result files of other programs as a bundle.
void AddBundleConvertCommand(Command& bundle, CommandContext& context);
// `bundle load`: imported results into a coordinator.
void AddBundleLoadCommand(Command& bundle, CommandContext& context);

// Commands for files alone.

// `adapt FORM`: converts the output of an evaluation program (docs/adapters.md).
void AddAdaptCommand(Command& app, CommandContext& context);
// `data` with fetch, import, build, score, and the commands of AddDataSetCommands.
void AddDataCommands(Command& app, CommandContext& context);
void AddImportCommand(Command& data, CommandContext& context);
// mixture, downsample, split, stats, validate: data sets from data sets, and about them; and
// `export FORMAT`, a data set in the form that other programs read.
void AddDataSetCommands(Command& data, CommandContext& context);
void AddExportCommand(Command& data, CommandContext& context);
// `data score`: exact match and F1 of a predictions file.
void AddDataScoreCommand(Command& data, CommandContext& context);

// Prints the sweep as `sweep get` does; after its progress was watched, people get only what the
// last line of that has not said. `services` are those that run, in words.
void PrintSweep(CommandContext& context, const v1::Sweep& sweep,
                const std::vector<std::string>& warnings = {}, bool was_watched = false,
                const std::string& services = "");

}  // namespace concur::cli

#endif  // CONCUR_CLI_COMMANDS_COMMANDS_H_
