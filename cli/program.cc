#include "cli/program.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/score_table.h"
#include "base/status_macros.h"
#include "cli/adapt_command.h"
#include "cli/chaos_commands.h"
#include "cli/client.h"
#include "cli/command_program.h"
#include "cli/companion.h"
#include "cli/data_commands.h"
#include "cli/matrix_commands.h"
#include "cli/online_commands.h"
#include "cli/report_commands.h"
#include "cli/score_commands.h"
#include "cli/shift_commands.h"
#include "cli/sweep_files.h"

namespace concur::cli {
namespace {

constexpr char kAbout[] =
    "Concur runs modeling approaches on benchmarks and tells how similarly the benchmarks rank "
    "them.";
constexpr char kExamples[] =
    "Examples:\n"
    "  concur up --workers 2 --run study.yaml                 everything at once, on this machine\n"
    "  concur up --workers 2                                  a coordinator and two workers\n"
    "  concur sweep submit study.yaml --watch                 run a study\n"
    "  concur scores study                                    what every approach scored\n"
    "  concur matrix study                                     how alike the benchmarks are\n"
    "\n"
    "Exit codes: 0 ok, 1 error, 2 usage or invalid input, 3 not found, 4 state forbids it,\n"
    "  5 waited-for work failed, 6 denied, 7 no server, 124 time-out, 130 interrupted.\n"
    "Environment: CONCUR_SERVER, CONCUR_TOKEN_FILE, CONCUR_TOKEN, CONCUR_CA, CONCUR_CERTIFICATE,\n"
    "  CONCUR_KEY, CONCUR_OUTPUT, NO_COLOR, XDG_DATA_HOME, XDG_STATE_HOME.";

void AddAllCommands(Command& app, CommandContext& context) {
  const FetchTable fetch =
      [&context](const std::string& sweep) -> absl::StatusOr<analysis::ScoreTable> {
    CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
    return FetchScoreTable(*client, sweep, "", "");
  };
  AddUpCommand(app, context);
  Command* sweep = AddSweepCommands(app, context);
  AddSweepFileCommands(*sweep, context);
  AddJobCommands(app, context);
  AddWorkerCommands(app, context);
  AddTopCommand(app, context);
  AddPoolCommands(app, context);
  AddScoresCommand(app, context);
  AddMatrixCommand(app, context, fetch);
  AddCurveCommand(app, context);
  AddSimulateCommand(app, context);
  AddUncertaintyCommand(app, context);
  AddShiftCommand(app, context, fetch);
  AddStrataCommand(app, context);
  AddCompareCommand(app, context);
  AddRankCommand(app, context);
  AddCrossCommand(app, context);
  AddScatterCommand(app, context);
  AddReportCommand(app, context);
  AddBundleCommands(app, context);
  AddScoreCommands(app, context);
  AddDataCommands(app, context);
  AddAdaptCommand(app, context);
  AddChaosCommand(app, context, [](const ChaosFlags&, CommandContext& command_context) {
    return RunCompanion("concur-chaos", command_context);
  });
}

}  // namespace

int RunProgram(const std::vector<std::string>& args, CommandContext& context) {
  return RunCommandLine(args, {kAbout, kExamples}, context, AddAllCommands);
}

}  // namespace concur::cli
