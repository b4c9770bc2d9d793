// SPDX-License-Identifier: Apache-2.0
#include "cli/programs/concur_commands.h"

#include <string>
#include <vector>

#include "base/command/command.h"
#include "cli/app/companion.h"
#include "cli/commands/commands.h"
#include "cli/commands/data/annotate.h"
#include "cli/commands/run/demo.h"
#include "cli/programs/run_command_line.h"

namespace concur::cli {
namespace {

constexpr char kAbout[] =
    "Concur runs modeling approaches on benchmarks and tells how similarly the benchmarks rank "
    "them.";
constexpr char kExamples[] =
    "Examples:\n"
    "  concur demo                               a small study, start to matrix\n"
    "  concur init my-study                      files of a study to start from\n"
    "  concur up --workers 2 --run study.yaml    everything at once, on this machine\n"
    "  concur up --workers 2                     a coordinator and two workers\n"
    "  concur sweep submit study.yaml --watch    run a study\n"
    "  concur scores study                       what every approach scored\n"
    "  concur matrix study                       how alike the benchmarks are\n"
    "\n"
    "Exit codes: 0 ok, 1 error, 2 usage or invalid input, 3 not found,\n"
    "  4 state forbids it, 5 waited-for work failed, 6 denied, 7 no server,\n"
    "  124 time-out, 130 interrupted.\n"
    "Environment: CONCUR_SERVER, CONCUR_TOKEN_FILE, CONCUR_TOKEN, CONCUR_CA,\n"
    "  CONCUR_CERTIFICATE, CONCUR_KEY, CONCUR_OUTPUT, NO_COLOR, XDG_DATA_HOME,\n"
    "  XDG_STATE_HOME.";

// Commands renamed since 0.2.0. The line of a name goes after one release that has had it.
constexpr OldName kOldNames[] = {
    {"compare", "significance"},     {"cross", "transfer"},       {"export", "bundle write"},
    {"import", "bundle convert"},    {"page", "up --link"},       {"plan", "next"},
    {"schema", "sweep schema"},      {"score", "data score"},     {"simulate", "sweep simulate"},
    {"sweep import", "bundle load"}, {"verify", "bundle verify"},
};

void AddAllCommands(Command& app, CommandContext& context) {
  app.Heading("Run");
  AddInitCommand(app, context);
  AddDemoCommand(app, context, RunProgram);
  AddUpCommand(app, context);
  AddSweepCommands(app, context);
  AddConcurrenceCommand(app, context);
  AddNextCommand(app, context);

  app.Heading("Watch");
  AddTopCommand(app, context);
  AddJobCommands(app, context);
  AddUsageCommand(app, context);

  app.Heading("Results");
  AddScoresCommand(app, context);
  AddReportCommand(app, context);
  AddDiffCommand(app, context);
  AddBundleCommands(app, context);

  app.Heading("Analysis");
  AddMatrixCommand(app, context);
  AddUncertaintyCommand(app, context);
  AddCurveCommand(app, context);
  AddRankCommand(app, context);
  AddSignificanceCommand(app, context);
  AddTransferCommand(app, context);
  AddScatterCommand(app, context);
  AddShiftCommand(app, context);
  AddStrataCommand(app, context);

  app.Heading("Data");
  AddDataCommands(app, context);
  AddAdaptCommand(app, context);
  AddAnnotateCommand(app, context, [](const AnnotateFlags&, CommandContext& command_context) {
    return RunCompanion("concur-annotate", command_context);
  });

  app.Heading("Serve");
  AddWorkerCommands(app, context);
  AddResourceCommands(app, context);
  AddPoolCommands(app, context);
  AddSecretCommands(app, context);
  AddAuditCommand(app, context);
}

}  // namespace

int RunProgram(const std::vector<std::string>& args, CommandContext& context) {
  return RunCommandLine(args, {kAbout, kExamples, "concur", kOldNames}, context, AddAllCommands);
}

}  // namespace concur::cli
