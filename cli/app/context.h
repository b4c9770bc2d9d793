// SPDX-License-Identifier: Apache-2.0
// Context that every command shares: streams, output mode, server address, exit code.
//
// A command is a function AddXCommands(Command& app, CommandContext& context) in a file
// cli/commands/x.cc. It declares options and registers its work with OnRun; the work returns an
// absl::Status, from which main derives the exit code and the error text.
#ifndef CONCUR_CLI_APP_CONTEXT_H_
#define CONCUR_CLI_APP_CONTEXT_H_

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "proto/rpc/credentials.h"

namespace concur {
class Command;
}

namespace concur::cli {

// Exit codes of `concur`; docs/exit-codes.md explains them.
enum ExitCode {
  kExitOk = 0,
  kExitError = 1,
  kExitUsage = 2,
  kExitNotFound = 3,
  kExitPrecondition = 4,
  kExitWorkFailed = 5,
  kExitDenied = 6,
  kExitUnavailable = 7,
  kExitTimeout = 124,
  kExitInterrupted = 130,
};
int ExitCodeOf(const absl::Status& status);

// -o/--output: "table" for people; one JSON value, JSON lines, or CSV on standard output.
enum class OutputMode { kTable, kJson, kJsonLines, kCsv };

struct CommandContext {
  std::ostream& out;  // results only
  std::ostream& err;  // progress, warnings, errors
  OutputMode output = OutputMode::kTable;
  bool out_is_terminal = false;
  size_t out_width = 0;  // columns of that terminal; 0: it is none, and nothing is cut
  bool err_is_terminal = false;
  std::istream* in = nullptr;          // where somebody can be asked; null: nowhere
  bool color = false;                  // a terminal and NO_COLOR is unset
  bool notes = false;                  // --notes: tables have their details
  std::vector<std::string> args = {};  // from the command line, without the program's name
  std::string server =
      {};  // address of the coordinator: --server, else CONCUR_SERVER, else the default
  rpc::CredentialFiles credentials = {};  // --ca, --certificate, --key, --token-file
  absl::Status status = {};               // result of the command that ran
  bool parse_only = false;                // check the command line and do nothing
  int exit_code_override = 0;  // e.g. kExitWorkFailed with an OK status; 0: derived from `status`
};

// Runs `work` when `command` is the one that was asked for.
void OnRun(Command* command, CommandContext& context, std::function<absl::Status()> work);

}  // namespace concur::cli

#endif  // CONCUR_CLI_APP_CONTEXT_H_
