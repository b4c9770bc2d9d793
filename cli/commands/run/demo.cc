// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/run/demo.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <ostream>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/command/command.h"
#include "base/data_directory.h"
#include "base/status_macros.h"
#include "cli/app/companion.h"
#include "cli/commands/run/up.h"

namespace concur::cli {
namespace {

using RunCommand = std::function<int(const std::vector<std::string>&, CommandContext&)>;

struct DemoFlags {
  std::string directory;
  int workers = 2;
  bool fresh = false;
};

void PrintHeading(CommandContext& context, const std::string& text) {
  const bool bold = context.color && context.err_is_terminal;
  context.err << "\n" << (bold ? "\x1b[1m" : "") << text << (bold ? "\x1b[0m" : "") << "\n";
  context.err << std::flush;
}

// Runs a command that users type, with the output mode of this one. False when it failed, which it
// has explained; the demo then ends with its exit code.
bool RunTyped(const RunCommand& run, CommandContext& context, std::ostream& out,
              const std::vector<std::string>& args) {
  context.out << std::flush;
  CommandContext typed{.out = out, .err = context.err, .output = context.output};
  typed.out_is_terminal = context.out_is_terminal;
  typed.err_is_terminal = context.err_is_terminal;
  typed.color = context.color;
  context.exit_code_override = run(args, typed);
  return context.exit_code_override == kExitOk;
}

bool BuildBenchmarks(const RunCommand& run, CommandContext& context, const std::string& data) {
  PrintHeading(context, absl::StrCat("Benchmarks from Debian's word list, WordNet and the King "
                                     "James Bible (",
                                     data, ")"));
  std::ostringstream tables;  // which nobody asked for
  for (const char* name : {"fuzzy", "wordnet", "cloze", "lastword"}) {
    if (!RunTyped(run, context, tables,
                  {"data", "build", name, "--out", absl::StrCat(data, "/", name), "--seed", "1",
                   "--train-questions", "600", "--test-questions", "300"})) {
      return false;
    }
  }
  return true;
}

// The scores and the matrix of the finished sweep.
void ShowResults(const RunCommand& run, CommandContext& context,
                 const std::vector<std::string>& connection) {
  const auto show = [&](const std::string& what, std::vector<std::string> args) {
    PrintHeading(context, absl::StrCat("concur ", absl::StrJoin(args, " "), ": ", what));
    args.insert(args.end(), connection.begin(), connection.end());
    return RunTyped(run, context, context.out, args);
  };
  if (show("exact match in percent, best of two settings", {"scores", "demo"})) {
    show("how similarly do two benchmarks rank the approaches? (Kendall's tau-b)",
         {"matrix", "demo", "--coefficient", "kendall"});
  }
}

absl::Status RunDemo(const RunCommand& run, CommandContext& context, const DemoFlags& flags) {
  std::error_code error;
  const std::string directory =
      std::filesystem::absolute(
          flags.directory.empty() ? DefaultDataDirectory() + "-demo" : flags.directory, error)
          .string();
  const std::string data = directory + "/data";
  UpFlags up;
  up.page = "none";  // it has ended before anybody could look
  up.workers = flags.workers;
  up.data_directory = directory + "/state";
  up.listen = "127.0.0.1:0";
  CONCUR_ASSIGN_OR_RETURN(const std::string configs, ConfigsDirectory());
  up.run = configs + "/sweeps/demo.yaml";
  up.variables = {"data=" + data};
  up.fresh = flags.fresh;
  if (!BuildBenchmarks(run, context, data)) {
    return absl::OkStatus();
  }
  PrintHeading(context, absl::StrCat("concur up --workers ", up.workers, " --data-dir ",
                                     up.data_directory, " --run ", up.run, " --var data=", data));
  up.then = [&](const std::string& address, const std::string& token_file) {
    if (context.exit_code_override == kExitOk) {
      ShowResults(run, context, {"--server", address, "--token-file", token_file});
    }
  };
  absl::Status status = Up(context, up);
  if (status.ok() && context.exit_code_override == kExitOk) {
    PrintHeading(context,
                 absl::StrCat("To explore further: concur up --data-dir ", up.data_directory,
                              ", and in another terminal:\n"
                              "concur report demo --out report.html"));
  }
  return status;
}

}  // namespace

void AddDemoCommand(Command& app, CommandContext& context, const RunCommand& run) {
  Command* const command = app.AddSubcommand(
      "demo",
      "Run a small study on this machine and show its matrix\n"
      "Builds four benchmarks from Debian's bible-kjv, wamerican and wordnet-base, trains and "
      "evaluates six approaches on them with local workers, and prints the scores and the "
      "concurrence matrix. Finished jobs do not run again.");
  const auto flags = std::make_shared<DemoFlags>();
  command
      ->AddOption("--dir", flags->directory,
                  "Where everything is kept (default: $XDG_DATA_HOME/concur-demo or "
                  "~/.local/share/concur-demo)")
      ->TypeName("DIR");
  command->AddOption("-n,--workers", flags->workers, "Number of workers")
      ->ShowDefault()
      ->TypeName("N")
      ->InRange(1, 1000);
  command->AddFlag("--fresh", flags->fresh, "Forget what earlier demos finished");
  command->Footer("Examples:\n  concur demo\n  concur demo --dir demo --workers 4 --fresh");
  OnRun(command, context, [flags, run, &context] { return RunDemo(run, context, *flags); });
}

}  // namespace concur::cli
