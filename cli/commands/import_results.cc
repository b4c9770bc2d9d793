// SPDX-License-Identifier: Apache-2.0
// `concur import`: result files of other programs as a bundle.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "analysis/table.h"
#include "base/status_macros.h"
#include "cli/app/context.h"
#include "cli/commands/commands.h"
#include "cli/output/print.h"
#include "cli/output/table_output.h"
#include "cli/study/bundle.h"
#include "cli/study/imported_study.h"
#include "cli/study/study.h"
#include "command/command.h"
#include "imports/import.h"
#include "imports/imported.h"
#include "imports/reader.h"

namespace concur::cli {
namespace {

struct ImportResultsFlags {
  imports::ImportRequest request;
  std::string out;
  std::string name;
  std::string revisions = "first";
};

// One row for what the bundle has, one for each reason for which something was left out.
analysis::Table OutcomeTable(const imports::ImportedResults& results, const std::string& out,
                             const BundleSummary& summary, size_t examples) {
  analysis::Table table = ListTable({{"outcome"}, {"count", true}, {"detail"}, {"first"}});
  const auto add = [&table](const char* outcome, int64_t count, const std::string& detail,
                            const std::string& first) {
    table.rows.push_back({analysis::TextCell(outcome), analysis::IntegerCell(count),
                          analysis::TextCell(detail), analysis::TextCell(first)});
  };
  std::set<std::string> families;
  for (const imports::ImportedAxis& model : results.models) {
    const auto family = model.tags.find("family");
    if (family != model.tags.end()) {
      families.insert(family->second);
    }
  }
  add("read", results.files_read, "files", "");
  add("models", static_cast<int64_t>(results.models.size()),
      absl::StrCat("of ", families.size(), " families"), "");
  add("tasks", static_cast<int64_t>(results.tasks.size()), "", "");
  add("scores", static_cast<int64_t>(results.cells.size()),
      absl::StrCat("at most ", results.seeds, results.seeds == 1 ? " run" : " runs", " of a cell"),
      "");
  add("with examples", static_cast<int64_t>(examples), "scores with their per-example scores", "");
  for (const auto& [reason, count] : results.skipped) {
    add("skipped", count.count, reason, count.first_place);
  }
  if (results.skipped.empty()) {
    add("skipped", 0, "", "");
  }
  add("bundle", static_cast<int64_t>(summary.files),
      absl::StrCat("files, ", BytesText(summary.bytes)), out);
  return table;
}

// The folder's own name.
std::string NameOf(const std::string& out) {
  const std::string path(absl::StripSuffix(out, "/"));
  const std::string name = path.substr(path.rfind('/') + 1);
  return name.empty() ? "import" : name;
}

absl::Status RunImportResults(ImportResultsFlags& flags, CommandContext& context) {
  if (flags.revisions != "first" && flags.revisions != "each") {
    return absl::InvalidArgumentError(
        absl::StrCat("--revisions: expected first or each, got \"", flags.revisions, "\""));
  }
  CONCUR_RETURN_IF_ERROR(CheckBundleTarget(flags.out));
  flags.request.each_revision = flags.revisions == "each";
  if (context.err_is_terminal) {
    flags.request.progress = [&context](size_t done, size_t files) {
      context.err << "\rimporting: " << done << " of " << files << " files" << std::flush;
    };
  }
  absl::StatusOr<imports::ImportedResults> results = imports::Import(flags.request);
  if (context.err_is_terminal) {
    context.err << "\r\033[K" << std::flush;
  }
  CONCUR_RETURN_IF_ERROR(results.status());
  const size_t examples = static_cast<size_t>(
      std::count_if(results->runs.begin(), results->runs.end(),
                    [](const imports::ImportedRun& run) { return !run.run.examples.empty(); }));
  CONCUR_ASSIGN_OR_RETURN(
      const Study study,
      StudyOfImport(*results, flags.name.empty() ? NameOf(flags.out) : flags.name));
  BundleOptions options;
  options.level = 0;  // intervals of a large leaderboard take minutes; the commands compute them
  CONCUR_ASSIGN_OR_RETURN(const BundleSummary summary, WriteBundle(study, flags.out, options));
  PrintRows(OutcomeTable(*results, flags.out, summary, examples), context);
  return absl::OkStatus();
}

}  // namespace

void AddImportResultsCommand(Command& app, CommandContext& context) {
  Command* const command = app.AddSubcommand(
      "import", "Result files of other programs, and leaderboards, as a bundle to analyse");
  const auto flags = std::make_shared<ImportResultsFlags>();
  std::vector<std::string> names;
  for (const imports::Format& format : imports::Formats()) {
    names.emplace_back(format.name);
  }
  command->AddOption("format", flags->request.format, "One of: " + absl::StrJoin(names, ", "))
      ->TypeName("FORMAT")
      ->Required();
  command->AddOption("paths", flags->request.paths, "Files, and folders with all that is in them")
      ->TypeName("PATH")
      ->Required();
  command->AddOption("--out", flags->out, "The bundle's directory; it must not be there yet")
      ->TypeName("DIR")
      ->Required();
  command->AddOption("--name", flags->name, "Of the study (default: that of the directory)");
  command
      ->AddOption("--metric", flags->request.metrics,
                  "Compare tasks by this metric where they have it; repeat for others (default: "
                  "the one that most runs have first)")
      ->TypeName("NAME")
      ->OneValueEach();
  command
      ->AddOption("--revisions", flags->revisions,
                  "first: of several revisions of a model, each score of the first by name; each: "
                  "revisions are models of their own")
      ->ShowDefault();
  command
      ->AddOption("--language", flags->request.options.languages,
                  "mteb: only subsets in this language (eng) alone; repeat for others")
      ->TypeName("CODE")
      ->OneValueEach();
  command
      ->AddOption("--model-column", flags->request.options.model_column,
                  "leaderboard: the column of models, where it is not found by its name")
      ->TypeName("COLUMN");
  command
      ->AddOption("--leave-out", flags->request.options.leave_out,
                  "leaderboard: a column (or task) that is no benchmark; repeat for others")
      ->TypeName("COLUMN")
      ->OneValueEach();
  command
      ->AddOption("--keep", flags->request.options.keep,
                  "leaderboard: a column (or task) that is a benchmark, though it looks like a "
                  "mean or a property; repeat for others")
      ->TypeName("COLUMN")
      ->OneValueEach();
  command->AddFlag("--strict", flags->request.strict,
                   "A file in a folder that cannot be read is an error");
  command->Footer(
      "Commands that read scores take ./DIR of the bundle instead of a sweep. For the others\n"
      "\"concur sweep import ./DIR\" makes a sweep of a coordinator.\n"
      "Examples:\n  concur import leaderboard bbh.tsv --out ./bbh && concur matrix ./bbh\n"
      "  concur import mteb results --language eng --out ./mteb\n"
      "  concur import lm-eval results_*.json --metric acc_norm --out ./harness\n"
      "  concur import helm runs/latest --out ./helm");
  OnRun(command, context, [flags, &context] {
    flags->request.threads = static_cast<int>(std::thread::hardware_concurrency());
    return RunImportResults(*flags, context);
  });
}

}  // namespace concur::cli
