// SPDX-License-Identifier: Apache-2.0
#include "cli/programs/concur_commands.h"

#include <string>
#include <vector>

#include "cli/app/companion.h"
#include "cli/commands/annotate.h"
#include "cli/commands/chaos.h"
#include "cli/commands/commands.h"
#include "cli/commands/demo.h"
#include "cli/programs/run_command_line.h"

namespace concur::cli {
namespace {

constexpr char kAbout[] =
    "Concur runs modeling approaches on benchmarks and tells how similarly the benchmarks rank "
    "them.";
constexpr char kExamples[] =
    "Examples:\n"
    "  concur demo                                            a small study, start to matrix\n"
    "  concur init my-study                                   files of a study to start from\n"
    "  concur up --workers 2 --run study.yaml                 everything at once, on this machine\n"
    "  concur up --workers 2                                  a coordinator and two workers\n"
    "  concur sweep submit study.yaml --watch                 run a study\n"
    "  concur scores study                                    what every approach scored\n"
    "  concur matrix study                                    how alike the benchmarks are\n"
    "\n"
    "Exit codes: 0 ok, 1 error, 2 usage or invalid input, 3 not found, 4 state forbids it,\n"
    "  5 waited-for work failed, 6 denied, 7 no server, 124 time-out, 130 interrupted.\n"
    "Environment: CONCUR_SERVER, CONCUR_TOKEN_FILE, CONCUR_TOKEN, CONCUR_CA, CONCUR_CERTIFICATE,\n"
    "  CONCUR_KEY, CONCUR_OUTPUT, NO_COLOR, XDG_DATA_HOME, XDG_STATE_HOME.";

void AddAllCommands(Command& app, CommandContext& context) {
  AddInitCommand(app, context);
  AddUpCommand(app, context);
  AddDemoCommand(app, context, RunProgram);
  AddSweepCommands(app, context);
  AddJobCommands(app, context);
  AddWorkerCommands(app, context);
  AddTopCommand(app, context);
  AddUsageCommand(app, context);
  AddPageCommand(app, context);
  AddPoolCommands(app, context);
  AddAuditCommand(app, context);
  AddScoresCommand(app, context);
  AddMatrixCommand(app, context);
  AddCurveCommand(app, context);
  AddSimulateCommand(app, context);
  AddPlanCommand(app, context);
  AddEarlyStopCommand(app, context);
  AddUncertaintyCommand(app, context);
  AddShiftCommand(app, context);
  AddStrataCommand(app, context);
  AddCompareCommand(app, context);
  AddRankCommand(app, context);
  AddCrossCommand(app, context);
  AddScatterCommand(app, context);
  AddReportCommand(app, context);
  AddBundleCommands(app, context);
  AddImportResultsCommand(app, context);
  AddScoreCommands(app, context);
  AddDataCommands(app, context);
  AddAdaptCommand(app, context);
  AddAnnotateCommand(app, context, [](const AnnotateFlags&, CommandContext& command_context) {
    return RunCompanion("concur-annotate", command_context);
  });
  AddSchemaCommand(app, context);
  AddChaosCommand(app, context, [](const ChaosFlags&, CommandContext& command_context) {
    return RunCompanion("concur-chaos", command_context);
  });
}

}  // namespace

int RunProgram(const std::vector<std::string>& args, CommandContext& context) {
  return RunCommandLine(args, {kAbout, kExamples}, context, AddAllCommands);
}

}  // namespace concur::cli
