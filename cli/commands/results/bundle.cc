// SPDX-License-Identifier: Apache-2.0
// `concur export`, `concur verify` and `concur diff`: results that outlive their coordinator.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "analysis/score_table.h"
#include "analysis/table_difference.h"
#include "base/status_macros.h"
#include "cli/commands/commands.h"
#include "cli/commands/score_options.h"
#include "cli/output/print.h"
#include "cli/output/table_output.h"
#include "cli/study/bundle.h"
#include "cli/study/evaluations.h"
#include "cli/study/open_study.h"
#include "cli/study/study.h"
#include "command/command.h"
#include "scores/sweep_table.h"

namespace concur::cli {
namespace {

struct ExportFlags {
  std::string sweep;
  std::string out;
  std::string format = "bundle";
  std::optional<int64_t> retrieved;
};

struct DiffFlags {
  std::string before;
  std::string after;
  std::string metric;
  std::string select;
  std::vector<std::string> where;
  ScoreFileFlags file;
  std::string format;
};

Json SummaryJson(const std::string& directory, const BundleSummary& summary) {
  Json json = Json::object();
  json["directory"] = directory;
  json["files"] = summary.files;
  json["bytes"] = summary.bytes;
  json["without_examples"] = summary.without_examples;
  return json;
}

void PrintSummary(CommandContext& context, const std::string& directory,
                  const BundleSummary& summary, const char* verb) {
  PrintDetails(context,
               {{"bundle", directory},
                {verb, absl::StrCat(summary.files, " files, ", BytesText(summary.bytes))}},
               SummaryJson(directory, summary));
  if (!summary.without_examples.empty()) {
    PrintWarning(context, absl::StrCat(summary.without_examples.size(),
                                       " jobs have no per-example scores any more (first: ",
                                       summary.without_examples[0],
                                       "); their scores stand as the worker computed them"));
  }
}

// Files of Every Eval Ever, as its datastore lays them out.
absl::Status ExportEvaluations(const Study& study, const ExportFlags& flags,
                               CommandContext& context) {
  CONCUR_RETURN_IF_ERROR(CheckBundleTarget(flags.out));
  EvaluationOptions options;
  options.retrieved = flags.retrieved.value_or(absl::ToUnixSeconds(absl::Now()));
  if (IsBundlePath(flags.sweep)) {
    options.bundle = flags.sweep;
  }
  CONCUR_ASSIGN_OR_RETURN(const Evaluations evaluations, EvaluationsOf(study, options));
  CONCUR_RETURN_IF_ERROR(PublishFiles(flags.out, evaluations.files));
  Json json = Json::object();
  json["directory"] = flags.out;
  json["evaluations"] = evaluations.count;
  json["originals"] = evaluations.originals;
  json["scores"] = evaluations.scores;
  PrintDetails(context,
               {{"directory", flags.out},
                {"evaluations", absl::StrCat(evaluations.count, ", of which ",
                                             evaluations.originals, " as they were imported")},
                {"scores", absl::StrCat(evaluations.scores)}},
               json);
  return absl::OkStatus();
}

// What train jobs reported, for the bundle, while there is room for it.
absl::Status ReadReportedSteps(Client& client, Study& study, CommandContext& context) {
  constexpr int64_t kJobsBytesMax = int64_t{1} << 30;  // half of what is read of a bundle's file
  CONCUR_ASSIGN_OR_RETURN(const StepsRead read, ReadAllSteps(client, study, kJobsBytesMax));
  if (read.jobs_left_out > 0) {
    PrintWarning(
        context,
        absl::StrCat("train jobs whose reports are not in the bundle, which holds ", read.steps,
                     " of others: ", read.jobs_left_out, "; concur sweep steps -o csv has them"));
  }
  return absl::OkStatus();
}

absl::Status RunExportStudy(const ExportFlags& flags, CommandContext& context) {
  if (flags.format != "bundle" && flags.format != kEvaluationsFormat) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--format: expected bundle or ", kEvaluationsFormat, ", got \"", flags.format, "\""));
  }
  CONCUR_ASSIGN_OR_RETURN(OpenedStudy opened, OpenStudy(context, flags.sweep));
  if (flags.format == kEvaluationsFormat) {
    return ExportEvaluations(opened.study, flags, context);
  }
  if (opened.client != nullptr) {
    CONCUR_RETURN_IF_ERROR(ReadReportedSteps(*opened.client, opened.study, context));
  }
  CONCUR_ASSIGN_OR_RETURN(const BundleSummary summary,
                          WriteBundle(opened.study, flags.out, BundleOptions()));
  PrintSummary(context, flags.out, summary, "written");
  return absl::OkStatus();
}

absl::Status RunVerify(const std::string& directory, CommandContext& context) {
  CONCUR_ASSIGN_OR_RETURN(const BundleSummary summary, VerifyBundle(directory));
  PrintSummary(context, directory, summary, "every number is the same");
  return absl::OkStatus();
}

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

void AddBundleCommands(Command& app, CommandContext& context) {
  Command* export_command = app.AddSubcommand(
      "export", "Write a sweep with all its numbers to a directory that can be verified offline");
  const auto export_flags = std::make_shared<ExportFlags>();
  export_command->AddOption("sweep", export_flags->sweep, "A sweep, by name or id")
      ->TypeName("SWEEP")
      ->Required();
  export_command->AddOption("--out", export_flags->out, "The directory; it must not be there yet")
      ->TypeName("DIR")
      ->Required();
  export_command
      ->AddOption("--format", export_flags->format,
                  "bundle; or every-eval-ever: a file for each run of an approach, by schema 0.3.0")
      ->ShowDefault();
  export_command
      ->AddOption("--retrieved", export_flags->retrieved,
                  "every-eval-ever: the time that files say they were made (default: now)")
      ->TypeName("SECONDS");
  export_command->Footer(
      "Examples:\n  concur export study --out study-bundle\n"
      "  concur export ./bundle --format every-eval-ever --out evaluations");
  OnRun(export_command, context,
        [export_flags, &context] { return RunExportStudy(*export_flags, context); });

  Command* verify_command = app.AddSubcommand(
      "verify", "Compute every number of an exported sweep again, offline, bit for bit");
  const auto directory = std::make_shared<std::string>();
  verify_command->AddOption("directory", *directory, "As \"concur export\" wrote it")
      ->TypeName("DIR")
      ->Required();
  verify_command->Footer(
      "Fails with the first difference: file, line, and what should stand there.\n"
      "Examples:\n  concur verify study-bundle");
  OnRun(verify_command, context, [directory, &context] { return RunVerify(*directory, context); });

  Command* diff_command = app.AddSubcommand(
      "diff", "Which approaches swapped places between two sweeps, and which scores did it");
  const auto diff_flags = std::make_shared<DiffFlags>();
  const char* about = "A sweep, by name or id; ./DIRECTORY of a bundle; or a scores CSV";
  diff_command->AddOption("a", diff_flags->before, about)->TypeName("SWEEP")->Required();
  diff_command->AddOption("b", diff_flags->after, about)->TypeName("SWEEP")->Required();
  diff_command->AddOption("--metric", diff_flags->metric, "Of sweeps (default: each benchmark's)")
      ->TypeName("NAME");
  AddSelectOption(diff_command, diff_flags->select);
  AddWhereOption(diff_command, diff_flags->where);
  AddScoreFileOptions(diff_command, diff_flags->file);
  AddFormatOption(diff_command, diff_flags->format);
  diff_command->Footer(
      "Examples:\n  concur diff s11 s12\n  concur diff ./study-bundle study\n  concur diff "
      "before.csv after.csv");
  OnRun(diff_command, context, [diff_flags, &context] { return RunDiff(*diff_flags, context); });
}

}  // namespace concur::cli
