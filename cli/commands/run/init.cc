// SPDX-License-Identifier: Apache-2.0
// `concur init`: a small study of one's own to start from, copied from configs/starter.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/command/command.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "cli/app/companion.h"
#include "cli/commands/commands.h"
#include "cli/output/print.h"
#include "cli/output/shell_word.h"
#include "cli/output/table_output.h"
#include "report/table.h"

namespace concur::cli {
namespace {

constexpr int64_t kStarterBytesMax = 1 << 20;

// The files below `directory`, relative to it, in byte order.
absl::StatusOr<std::vector<std::string>> FilesBelow(const std::filesystem::path& directory) {
  std::vector<std::string> files;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator it(directory, error), end; !error && it != end;
       it.increment(error)) {
    if (it->is_regular_file(error)) {
      files.push_back(it->path().lexically_relative(directory).string());
    }
  }
  if (error || files.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(directory.string(),
                     ": expected the files of a first study, which are "
                     "installed with concur; is the installation whole?"));
  }
  std::sort(files.begin(), files.end());
  return files;
}

absl::Status CheckFree(const std::string& directory) {
  std::error_code error;
  const bool exists = std::filesystem::exists(directory, error);
  if (!exists || std::filesystem::is_empty(directory, error)) {
    return absl::OkStatus();
  }
  return absl::AlreadyExistsError(
      absl::StrCat(directory, ": expected a new or an empty directory; name another"));
}

absl::Status RunInit(const std::string& directory, CommandContext& context) {
  CONCUR_ASSIGN_OR_RETURN(const std::filesystem::path configs, ConfigsDirectory());
  const std::filesystem::path starter = configs / "starter";
  CONCUR_ASSIGN_OR_RETURN(const std::vector<std::string> files, FilesBelow(starter));
  CONCUR_RETURN_IF_ERROR(CheckFree(directory));
  analysis::Table table = ListTable({{"path"}});
  for (const std::string& file : files) {
    CONCUR_ASSIGN_OR_RETURN(const std::string text,
                            ReadFile((starter / file).string(), kStarterBytesMax));
    const std::filesystem::path path = std::filesystem::path(directory) / file;
    CONCUR_RETURN_IF_ERROR(MakeDirectories(path.parent_path().string()));
    CONCUR_RETURN_IF_ERROR(WriteFileAtomically(path.string(), text));
    table.rows.push_back({analysis::TextCell(path.string())});
  }
  PrintRows(table, context);
  PrintNote(context, absl::StrCat("run it (the program is Python 3; change it as you like):\n  cd ",
                                  ShellWord(directory),
                                  "\n  concur up --workers 2 &\n"
                                  "  concur sweep submit study.yaml --watch\n"
                                  "  concur matrix study"));
  return absl::OkStatus();
}

}  // namespace

void AddInitCommand(Command& app, CommandContext& context) {
  Command* const command = app.AddSubcommand(
      "init", "Write a small study to start from: a program, two benchmarks, a sweep");
  const auto directory = std::make_shared<std::string>();
  command->AddOption("directory", *directory, "The directory to make")->TypeName("DIR")->Required();
  command->Footer("Examples:\n  concur init my-study");
  OnRun(command, context, [directory, &context] { return RunInit(*directory, context); });
}

}  // namespace concur::cli
