// SPDX-License-Identifier: Apache-2.0
// `concur bundle` and its `write` and `verify`: results that outlive their coordinator.
#include "cli/study/bundle.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/command/command.h"
#include "base/status_macros.h"
#include "cli/commands/commands.h"
#include "cli/commands/score_options.h"
#include "cli/output/print.h"
#include "cli/output/table_output.h"
#include "cli/study/evaluations.h"
#include "cli/study/open_study.h"
#include "cli/study/study.h"

namespace concur::cli {
namespace {

struct WriteFlags {
  std::string sweep;
  std::string out;
  std::string format = "bundle";
  std::optional<int64_t> retrieved;
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
absl::Status ExportEvaluations(const Study& study, const WriteFlags& flags,
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

// Reads what train jobs reported, for the bundle, while there is room for it.
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

absl::Status RunWrite(const WriteFlags& flags, CommandContext& context) {
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
                          WriteBundle(std::move(opened.study), flags.out, BundleOptions()));
  PrintSummary(context, flags.out, summary, "written");
  return absl::OkStatus();
}

absl::Status RunVerify(const std::string& directory, CommandContext& context) {
  CONCUR_ASSIGN_OR_RETURN(const BundleSummary summary, VerifyBundle(directory));
  PrintSummary(context, directory, summary, "every number is the same");
  return absl::OkStatus();
}

}  // namespace

void AddBundleCommands(Command& app, CommandContext& context) {
  Command* group = app.AddSubcommand("bundle", "Results in a directory, without a server");
  group->RequireSubcommand();
  Command* write_command = group->AddSubcommand(
      "write", "Write a sweep with all its numbers to a directory that can be verified offline");
  const auto write_flags = std::make_shared<WriteFlags>();
  write_command->AddOption("sweep", write_flags->sweep, "A sweep, by name or id")
      ->TypeName("SWEEP")
      ->Required();
  write_command->AddOption("--out", write_flags->out, "The directory; it must not be there yet")
      ->TypeName("DIR")
      ->Required();
  write_command
      ->AddOption("--format", write_flags->format,
                  "bundle; or every-eval-ever: a file for each run of an approach, by schema 0.3.0")
      ->ShowDefault();
  write_command
      ->AddOption("--retrieved", write_flags->retrieved,
                  "every-eval-ever: the time that files say they were made (default: now)")
      ->TypeName("SECONDS");
  write_command->Footer(
      "Examples:\n  concur bundle write study --out study-bundle\n"
      "  concur bundle write ./bundle --format every-eval-ever --out evaluations");
  OnRun(write_command, context,
        [write_flags, &context] { return RunWrite(*write_flags, context); });

  AddBundleConvertCommand(*group, context);

  Command* verify_command = group->AddSubcommand(
      "verify", "Compute every number of an exported sweep again, offline, bit for bit");
  const auto directory = std::make_shared<std::string>();
  verify_command->AddOption("directory", *directory, "As \"concur bundle write\" wrote it")
      ->TypeName("DIR")
      ->Required();
  verify_command->Footer(
      "Fails with the first difference: file, line, and what should stand there.\n"
      "Examples:\n  concur bundle verify study-bundle");
  OnRun(verify_command, context, [directory, &context] { return RunVerify(*directory, context); });
  AddBundleLoadCommand(*group, context);
}

}  // namespace concur::cli
