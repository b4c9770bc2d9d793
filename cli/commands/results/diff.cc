// SPDX-License-Identifier: Apache-2.0
// `concur diff`: what changed between two sweeps.
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "analysis/comparison/table_difference.h"
#include "analysis/score_table.h"
#include "base/command/command.h"
#include "base/status_macros.h"
#include "cli/commands/commands.h"
#include "cli/commands/score_options.h"
#include "cli/output/print.h"
#include "cli/output/table_output.h"
#include "cli/study/open_study.h"
#include "report/comparison_tables.h"
#include "report/sweep_table.h"

namespace concur::cli {
namespace {

struct DiffFlags {
  std::string before;
  std::string after;
  std::string metric;
  std::string select;
  std::vector<std::string> where;
  ScoreFileFlags file;
  std::string format;
};

// A scores CSV when `name` is a file, else a study.
absl::StatusOr<analysis::ScoreTable> LoadSide(const std::string& name, const DiffFlags& flags,
                                              CommandContext& context) {
  std::error_code ignored;
  analysis::ScoreTable table;
  if (std::filesystem::is_regular_file(name, ignored)) {
    if (context.output == OutputMode::kTable) {
      PrintNote(context, absl::StrCat(name, " is a file of scores"));
    }
    CONCUR_ASSIGN_OR_RETURN(table, ReadScores(name, flags.file, context));
    CONCUR_RETURN_IF_ERROR(ApplyMinimize(flags.file, table));
  } else {
    CONCUR_ASSIGN_OR_RETURN(const OpenedStudy opened, OpenStudy(context, name));
    CONCUR_ASSIGN_OR_RETURN(const SweepTableOptions asked,
                            TableOptionsOf(flags.file, flags.select));
    CONCUR_ASSIGN_OR_RETURN(table, ScoreTableOf(opened.study, flags.metric, asked));
  }
  return table.Where(flags.where);
}

absl::Status RunDiff(const DiffFlags& flags, CommandContext& context) {
  CONCUR_RETURN_IF_ERROR(CheckFormat(flags.format));
  CONCUR_ASSIGN_OR_RETURN(const analysis::ScoreTable before,
                          LoadSide(flags.before, flags, context));
  CONCUR_ASSIGN_OR_RETURN(const analysis::ScoreTable after, LoadSide(flags.after, flags, context));
  return PrintTable(
      analysis::DifferenceTable(analysis::CompareTables(before, after), flags.before, flags.after),
      flags.format, context);
}

}  // namespace

void AddDiffCommand(Command& app, CommandContext& context) {
  Command* command = app.AddSubcommand(
      "diff", "Which approaches swapped places between two sweeps, and which scores did it");
  const auto flags = std::make_shared<DiffFlags>();
  const char* about = "A sweep, by name or id; ./DIRECTORY of a bundle; or a scores CSV";
  command->AddOption("a", flags->before, about)->TypeName("SWEEP")->Required();
  command->AddOption("b", flags->after, about)->TypeName("SWEEP")->Required();
  command
      ->AddOption("--metric", flags->metric, "The sweeps' metric (default: each benchmark's own)")
      ->TypeName("NAME");
  AddSelectOption(command, flags->select);
  AddWhereOption(command, flags->where);
  AddScoreFileOptions(command, flags->file);
  AddFormatOption(command, flags->format, context);
  command->Footer(
      "Examples:\n  concur diff s11 s12\n  concur diff ./study-bundle study\n  concur diff "
      "before.csv after.csv");
  OnRun(command, context, [flags, &context] { return RunDiff(*flags, context); });
}

}  // namespace concur::cli
