#include "cli/command_program.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/suggest.h"
#include "cli/command_line.h"
#include "cli/output.h"

namespace concur::cli {
namespace {

std::vector<std::string> CommandsOf(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

const CLI::App* FindCommand(const CLI::App& app, const std::string& name) {
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_name() == name) {
      return command;
    }
  }
  return nullptr;
}

std::vector<std::string> OptionsOf(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* level = &app; level != nullptr; level = level->get_parent()) {
    for (const CLI::Option* option : level->get_options()) {
      for (const std::string& name : option->get_lnames()) {
        names.push_back("--" + name);
      }
    }
  }
  return names;
}

const CLI::Option* FindOption(const CLI::App& app, const std::string& name) {
  for (const CLI::App* level = &app; level != nullptr; level = level->get_parent()) {
    if (const CLI::Option* option = level->get_option_no_throw(name)) {
      return option;
    }
  }
  return nullptr;
}

// What is wrong with a command line that the parser refused, said better where that is possible:
// an unknown command or option, with the one that was probably meant.
std::string ExplainUsage(const CLI::App& app, const std::vector<std::string>& args,
                         const std::string& error) {
  const CLI::App* command = &app;
  for (size_t i = 0; i < args.size() && args[i] != "--"; ++i) {
    const std::string& arg = args[i];
    if (arg.size() > 1 && arg[0] == '-') {
      const std::string name = arg.substr(0, arg.find('='));
      const CLI::Option* option =
          FindOption(*command, absl::StartsWith(name, "--") ? name : name.substr(0, 2));
      if (option == nullptr) {
        return absl::StrCat("unknown option ", name, DidYouMean(name, OptionsOf(*command)));
      }
      const bool value_follows = option->get_expected_min() > 0 && name == arg && arg[1] == '-';
      const bool short_value_follows =
          option->get_expected_min() > 0 && arg[1] != '-' && arg.size() == 2;
      i += value_follows || short_value_follows ? 1 : 0;
    } else if (const CLI::App* next = FindCommand(*command, arg)) {
      command = next;
    } else if (!CommandsOf(*command).empty()) {
      const std::string path = command == &app ? "" : absl::StrCat(" ", command->get_name());
      return absl::StrCat("unknown command \"", arg, "\"", DidYouMean(arg, CommandsOf(*command)),
                          "; see concur", path, " --help");
    }
  }
  if (!CommandsOf(*command).empty()) {
    const std::string path = command == &app ? "" : absl::StrCat(" ", command->get_name());
    return absl::StrCat("expected a command; see concur", path, " --help");
  }
  return error;
}

// "" unless the environment chose the output mode badly.
std::string OutputHint(const std::vector<std::string>& args, const std::string& error) {
  const bool given = std::any_of(args.begin(), args.end(), [](const std::string& arg) {
    return absl::StartsWith(arg, "-o") || absl::StartsWith(arg, "--output");
  });
  return !given && absl::StrContains(error, "--output") ? " (from CONCUR_OUTPUT)" : "";
}

// The environment's variable for the output mode. In a job, where CONCUR_OUTPUT is the directory of
// the job's output, there is none.
const char* OutputVariable() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): never set here
  return std::getenv("CONCUR_JOB") == nullptr ? "CONCUR_OUTPUT" : "";
}

// Whether errors of the command line itself are to be JSON: the parser may not have come so far.
void GuessOutput(const std::vector<std::string>& args, CommandContext& context) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): never set here
  const char* mode = std::getenv(OutputVariable());
  if (mode != nullptr && absl::StartsWith(mode, "json")) {
    context.output = OutputMode::kJson;
  }
  for (size_t i = 0; i < args.size(); ++i) {
    const bool next = (args[i] == "-o" || args[i] == "--output") && i + 1 < args.size();
    const std::string value = next ? args[i + 1] : args[i];
    const bool given =
        next || absl::StartsWith(value, "-o") || absl::StartsWith(value, "--output=");
    if (given) {
      const bool json = absl::EndsWith(value, "json") || absl::EndsWith(value, "jsonl");
      context.output = json ? OutputMode::kJson : OutputMode::kTable;
    }
  }
}

void AddGlobalOptions(Command& command, CommandContext& context) {
  command
      .AddOption("--server", context.server,
                 "The coordinator: HOST:PORT or unix:PATH (default: the one that \"concur up\" "
                 "started in its default directory, else 127.0.0.1:7447)")
      ->TypeName("ADDRESS")
      ->Environment("CONCUR_SERVER");
  const auto add_file = [&command](const char* flag, std::string* path, const char* about,
                                   const char* variable) {
    command.AddOption(flag, *path, about)->TypeName("FILE")->Environment(variable);
  };
  add_file("--token-file", &context.credentials.token,
           "Your token for the coordinator (default: CONCUR_TOKEN, else that of your own "
           "coordinator on this machine)",
           "CONCUR_TOKEN_FILE");
  add_file("--ca", &context.credentials.ca,
           "Speak TLS, and trust the coordinator that this CA signed", "CONCUR_CA");
  add_file("--certificate", &context.credentials.certificate,
           "Your certificate, where the coordinator asks for one", "CONCUR_CERTIFICATE");
  add_file("--key", &context.credentials.key, "The key of that certificate", "CONCUR_KEY");
  static const std::map<std::string, OutputMode> kModes = {{"table", OutputMode::kTable},
                                                           {"json", OutputMode::kJson},
                                                           {"jsonl", OutputMode::kJsonLines},
                                                           {"csv", OutputMode::kCsv}};
  command
      .AddCallback(
          "-o,--output",
          [&context](const std::string& name) {
            const auto it = kModes.find(name);
            if (it == kModes.end()) {
              throw CLI::ValidationError(
                  "--output",
                  absl::StrCat("expected table, json, jsonl or csv, got \"", name, "\""));
            }
            context.output = it->second;
          },
          "How results are printed: table, json (one value), jsonl or csv (default: table)")
      ->TypeName("MODE")
      ->Environment(OutputVariable());
  command.app().set_version_flag("--version", "concur " CONCUR_VERSION,
                                 "Print the version and exit");
}

}  // namespace

int RunCommandLine(const std::vector<std::string>& args, const ProgramText& text,
                   CommandContext& context,
                   const std::function<void(Command& app, CommandContext& context)>& add) {
  context.args = args;
  Command root(text.about, "concur");
  CLI::App& app = root.app();
  app.fallthrough();  // global options may stand anywhere
  app.require_subcommand(1);
  app.footer(text.footer);
  app.get_formatter()->column_width(28);
  AddGlobalOptions(root, context);
  add(root, context);
  try {
    // The parser takes its arguments from the back.
    app.parse(std::vector<std::string>(args.rbegin(), args.rend()));
  } catch (const CLI::CallForVersion& version) {
    context.out << version.what() << "\n";
    return kExitOk;
  } catch (const CLI::Success& help) {
    app.exit(help, context.out, context.err);
    return kExitOk;
  } catch (const CLI::ParseError& error) {
    GuessOutput(args, context);
    PrintError(context,
               absl::InvalidArgumentError(absl::StrCat(ExplainUsage(app, args, error.what()),
                                                       OutputHint(args, error.what()))));
    return kExitUsage;
  }
  if (!context.status.ok()) {
    // An interruption was said already, and is no error of anybody.
    if (!absl::IsCancelled(context.status) || IsJson(context)) {
      PrintError(context, context.status);
    }
    return ExitCodeOf(context.status);
  }
  return context.exit_code_override;
}

int RunAsProcess(
    int argc, char** argv,
    const std::function<int(const std::vector<std::string>& args, CommandContext& context)>& run) {
  std::ios::sync_with_stdio(false);
  // What gRPC would print about a failed handshake is said better by the error that follows.
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);  // NOLINT(concurrency-mt-unsafe)
  CommandContext context{.out = std::cout, .err = std::cerr};
  context.out_is_terminal = isatty(STDOUT_FILENO) != 0;
  context.err_is_terminal = isatty(STDERR_FILENO) != 0;
  const char* no_color = std::getenv("NO_COLOR");  // NOLINT(concurrency-mt-unsafe): one thread yet
  const char* terminal = std::getenv("TERM");      // NOLINT(concurrency-mt-unsafe)
  context.color = (context.out_is_terminal || context.err_is_terminal) &&
                  (no_color == nullptr || *no_color == '\0') &&
                  (terminal == nullptr || std::string(terminal) != "dumb");
  const int code = run(std::vector<std::string>(argv + 1, argv + argc), context);
  std::cout.flush();
  if (!std::cout && code == 0) {
    std::cerr << "concur: error: standard output: cannot write\n";
    return kExitError;
  }
  return code;
}

}  // namespace concur::cli
