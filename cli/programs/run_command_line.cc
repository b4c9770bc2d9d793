// SPDX-License-Identifier: Apache-2.0
#include "cli/programs/run_command_line.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/command/command.h"
#include "base/command/help_files.h"
#include "base/command/usage_error.h"
#include "base/suggest.h"
#include "cli/client/completion.h"
#include "cli/output/print.h"
#include "cli/output/progress.h"

namespace concur::cli {
namespace {

// Puts into `context` which coordinator an unfinished command line and the environment name, for
// completion. False when they do so wrongly.
bool TakeConnection(CLI::App& app, const std::vector<std::string>& args, CommandContext& context) {
  std::vector<std::string> given;
  for (size_t i = 1; i < args.size(); ++i) {  // behind --complete
    const CLI::Option* const option =
        absl::StartsWith(args[i], "--") ? app.get_option_no_throw(args[i]) : nullptr;
    if (option != nullptr && option->get_expected_min() > 0 && i + 2 < args.size()) {
      given.push_back(absl::StrCat(args[i], "=", args[i + 1]));
    }
  }
  given.push_back("top");  // some command has to be there
  context.parse_only = true;
  try {
    app.parse(std::vector<std::string>(given.rbegin(), given.rend()));
  } catch (const CLI::ParseError&) {
    return false;
  }
  return true;
}

// The error in CONCUR_OUTPUT; "" when there is none.
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

// Guesses if errors of the command line itself are to be JSON: parsing may have failed before -o.
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

// Where the names of commands stand in `args`: the first two words that are neither an option of
// `app`, which may stand anywhere, nor its value.
std::vector<size_t> CommandWords(const CLI::App& app, const std::vector<std::string>& args) {
  std::vector<size_t> words;
  for (size_t i = 0; i < args.size() && args[i] != "--" && words.size() < 2; ++i) {
    if (!absl::StartsWith(args[i], "-")) {
      words.push_back(i);
    } else if (const CLI::Option* option = app.get_option_no_throw(args[i])) {
      i += option->get_expected_min() > 0 ? 1 : 0;  // its value; --option=value has no such name
    }
  }
  return words;
}

// `args` with the new name of a renamed command, and a warning that says so.
std::vector<std::string> WithNewName(const CLI::App& app, absl::Span<const OldName> old_names,
                                     std::vector<std::string> args, CommandContext& context) {
  const std::vector<size_t> words = CommandWords(app, args);
  for (const OldName& name : old_names) {
    const std::vector<std::string> old_words = absl::StrSplit(name.old_name, ' ');
    if (words.size() < old_words.size() ||
        !std::equal(old_words.begin(), old_words.end(), words.begin(),
                    [&](const std::string& word, size_t at) { return args[at] == word; })) {
      continue;
    }
    GuessOutput(args, context);
    PrintWarning(context, absl::StrCat("\"concur ", name.old_name, "\" is now \"concur ",
                                       name.new_name, "\"; the next release drops the old name"));
    for (size_t i = old_words.size(); i-- > 0;) {
      args.erase(args.begin() + static_cast<ptrdiff_t>(words[i]));
    }
    const std::vector<std::string> new_words = absl::StrSplit(name.new_name, ' ');
    args.insert(args.begin() + static_cast<ptrdiff_t>(words[0]), new_words.begin(),
                new_words.end());
    break;
  }
  return args;
}

void AddGlobalOptions(Command& command, CommandContext& context) {
  command
      .AddOption("--server", context.server,
                 "The coordinator: HOST:PORT or unix:PATH, or several of which one leads, with "
                 "commas (default: the one that \"concur up\" started in its default directory, "
                 "else 127.0.0.1:7447)")
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
           "Connect by TLS, and accept only a coordinator whose certificate this CA signed",
           "CONCUR_CA");
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
              const bool is_path = name.find_first_of("./") != std::string::npos;
              throw CLI::ValidationError(
                  "--output", absl::StrCat(ExpectedOneOf({"table", "json", "jsonl", "csv"}, name),
                                           is_path ? "; the file to write is --out FILE" : ""));
            }
            context.output = it->second;
          },
          "How results are printed: table, json (one value), jsonl or csv (default: table)")
      ->TypeName("MODE:{table,json,jsonl,csv}")
      ->Environment(OutputVariable());
  command.AddVersion();
}

}  // namespace

int RunCommandLine(const std::vector<std::string>& given, const ProgramText& text,
                   CommandContext& context,
                   const std::function<void(Command& app, CommandContext& context)>& add) {
  Command root(text.about, text.name);
  CLI::App& app = root.app();
  root.Fallthrough();  // global options may stand anywhere
  app.get_formatter()->column_width(28);
  AddGlobalOptions(root, context);
  add(root, context);
  if (!app.get_subcommands([](const CLI::App*) { return true; }).empty()) {
    root.RequireSubcommand();
  }
  root.Footer(text.footer);  // last: commands take over what their parent has
  const auto list = [&](const std::string& type, const std::string& prefix) {
    return TakeConnection(app, given, context) ? NamesOf(context, type, prefix)
                                               : std::vector<std::pair<std::string, std::string>>();
  };
  if (const auto code = AnswerHelpRequest(app, given, context.out, context.err, list)) {
    return *code;
  }
  const std::vector<std::string> args = WithNewName(app, text.old_names, given, context);
  context.args = args;
  try {
    // CLI11 expects the arguments in reverse order.
    app.parse(std::vector<std::string>(args.rbegin(), args.rend()));
  } catch (const CLI::CallForVersion& version) {
    context.out << version.what() << "\n";
    return kExitOk;
  } catch (const CLI::Success& help) {
    app.exit(help, context.out, context.err);
    return kExitOk;
  } catch (const CLI::ParseError& error) {
    GuessOutput(args, context);
    if (const CLI::App* group = BareGroup(app, args)) {
      context.out << (group == &app ? app.help() : group->help(app.get_name()));
      return kExitOk;
    }
    PrintError(context,
               absl::InvalidArgumentError(absl::StrCat(ExplainUsage(app, args, error.what()),
                                                       OutputHint(args, error.what()))));
    return kExitUsage;
  }
  if (!context.status.ok()) {
    // The interruption was reported already, and is not an error.
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
  // gRPC's own log lines about a failed handshake repeat the error that follows.
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);  // NOLINT(concurrency-mt-unsafe)
  CommandContext context{.out = std::cout, .err = std::cerr};
  context.out_is_terminal = isatty(STDOUT_FILENO) != 0;
  context.out_width = context.out_is_terminal ? TerminalWidth(STDOUT_FILENO) : 0;
  context.err_is_terminal = isatty(STDERR_FILENO) != 0;
  context.in = context.err_is_terminal && isatty(STDIN_FILENO) != 0 ? &std::cin : nullptr;
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
