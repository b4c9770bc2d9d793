// SPDX-License-Identifier: Apache-2.0
// `concur bundle convert`: result files of other programs as a bundle.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/command/command.h"
#include "base/metric_meaning.h"
#include "base/status_macros.h"
#include "cli/app/context.h"
#include "cli/commands/commands.h"
#include "cli/output/print.h"
#include "cli/output/table_output.h"
#include "cli/study/bundle.h"
#include "cli/study/imported_study.h"
#include "cli/study/study.h"
#include "qa/results/import.h"
#include "qa/results/imported.h"
#include "qa/results/reader.h"
#include "report/table.h"

namespace concur::cli {
namespace {

struct ConvertFlags {
  imports::ImportRequest request;
  std::string out;
  std::string name;
  std::string revisions = "first";
  bool is_dry_run = false;
  std::string variants = "name";
};

struct OutcomeRows {
  analysis::Table table = ListTable({{"outcome"}, {"count", true}, {"detail"}, {"first"}});
  void Add(const std::string& outcome, int64_t count, const std::string& detail,
           const std::string& first = "") {
    table.rows.push_back({analysis::TextCell(outcome), analysis::IntegerCell(count),
                          analysis::TextCell(detail), analysis::TextCell(first)});
  }
};

// A column in words: "NAME: minimize, percent; WHY".
std::string ColumnText(const std::string& name, const std::string& what, const std::string& why) {
  return absl::StrCat(name, what.empty() && why.empty() ? "" : ": ", what,
                      what.empty() || why.empty() ? "" : "; ", why);
}

// A row for every benchmark with its scores, and for every other column of the tables.
void AddColumns(const imports::ImportedResults& results, size_t rows_max, OutcomeRows& rows) {
  std::map<std::string, std::string> why;  // by benchmark
  std::set<std::string> names;
  for (const imports::ImportedAxis& task : results.tasks) {
    names.insert(task.name);
  }
  for (const imports::ColumnNote& column : results.columns) {
    std::string& known = why[column.name];
    if (column.kind == "benchmark" && !absl::StrContains(known, column.why)) {
      absl::StrAppend(&known, known.empty() ? "" : "; ", column.why);
    }
  }
  std::vector<int64_t> scores(results.tasks.size(), 0);
  for (const imports::ImportedCell& cell : results.cells) {
    ++scores[cell.task];
  }
  for (size_t t = 0; t < results.tasks.size() && t < rows_max; ++t) {
    const imports::ImportedAxis& task = results.tasks[t];
    const std::string scale = ScaleText(task.meaning.scale);
    rows.Add("benchmark", scores[t],
             ColumnText(task.name,
                        absl::StrCat(GoalName(task.meaning.goal), scale.empty() ? "" : ", ", scale),
                        why[task.name]));
  }
  if (results.tasks.size() > rows_max) {
    rows.Add("benchmark", static_cast<int64_t>(results.tasks.size() - rows_max),
             "more benchmarks, which --dry-run lists");
  }
  std::set<std::pair<std::string, std::string>> seen;
  for (const imports::ColumnNote& column : results.columns) {
    const bool is_said = column.kind == "benchmark" && names.count(column.name) > 0;
    if (!is_said && seen.emplace(column.kind, column.name).second) {
      rows.Add(column.kind == "benchmark" ? "left out" : column.kind, column.count,
               ColumnText(column.name, "", column.why));
    }
  }
}

// One row for each part of the bundle, each column, and each reason for which something was left
// out.
OutcomeRows OutcomeOf(const imports::ImportedResults& results, size_t examples) {
  OutcomeRows rows;
  std::set<std::string> families;
  for (const imports::ImportedAxis& model : results.models) {
    const auto family = model.tags.find("family");
    if (family != model.tags.end()) {
      families.insert(family->second);
    }
  }
  rows.Add("read", results.files_read, "files");
  rows.Add("models", static_cast<int64_t>(results.models.size()),
           absl::StrCat("of ", families.size(), " families"));
  rows.Add("tasks", static_cast<int64_t>(results.tasks.size()), "");
  rows.Add(
      "scores", static_cast<int64_t>(results.cells.size()),
      absl::StrCat("at most ", results.seeds, results.seeds == 1 ? " run" : " runs", " of a cell"));
  rows.Add("with examples", static_cast<int64_t>(examples), "scores with their per-example scores");
  if (results.other_data.count > 0) {
    rows.Add("other data", results.other_data.count,
             "scores on another revision of the data set than most scores (kept)",
             results.other_data.first_place);
  }
  if (results.not_compared.count > 0) {
    rows.Add("not compared", results.not_compared.count,
             absl::StrCat("runs counted as seeds, although they differ in ",
                          absl::StrJoin(results.names_not_compared, ", ")),
             results.not_compared.first_place);
  }
  for (const auto& [reason, count] : results.skipped) {
    rows.Add("skipped", count.count, reason, count.first_place);
  }
  const bool has_all =
      std::all_of(results.columns.begin(), results.columns.end(),
                  [](const imports::ColumnNote& column) { return column.kind != "left out"; });
  if (results.skipped.empty() && has_all) {
    rows.Add("skipped", 0, "");
  }
  return rows;
}

// The folder's own name.
std::string NameOf(const std::string& out) {
  const std::string path(absl::StripSuffix(out, "/"));
  const std::string name = path.substr(path.rfind('/') + 1);
  return name.empty() ? "import" : name;
}

absl::Status RunConvert(ConvertFlags& flags, CommandContext& context) {
  if (flags.revisions != "first" && flags.revisions != "each") {
    return absl::InvalidArgumentError(
        absl::StrCat("--revisions: expected first or each, got \"", flags.revisions, "\""));
  }
  const std::map<std::string, imports::Variants> variants = {
      {"name", imports::Variants::kName},
      {"first", imports::Variants::kFirst},
      {"refuse", imports::Variants::kRefuse}};
  const auto variant = variants.find(flags.variants);
  if (variant == variants.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--variants: expected name, first or refuse, got \"", flags.variants, "\""));
  }
  flags.request.variants = variant->second;
  if (!flags.request.options.rows.empty() && flags.request.options.rows != "models" &&
      flags.request.options.rows != "tasks") {
    return absl::InvalidArgumentError(
        absl::StrCat("--rows: expected models or tasks, got \"", flags.request.options.rows, "\""));
  }
  if (flags.out.empty() && !flags.is_dry_run) {
    return absl::InvalidArgumentError("--out: expected the bundle's directory, or --dry-run");
  }
  if (!flags.is_dry_run) {
    CONCUR_RETURN_IF_ERROR(CheckBundleTarget(flags.out));
  }
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
  constexpr size_t kBenchmarksShown = 100;
  if (flags.is_dry_run) {
    OutcomeRows columns;
    AddColumns(*results, results->tasks.size(), columns);
    PrintRows(columns.table, context);
    return absl::OkStatus();
  }
  const size_t examples = static_cast<size_t>(
      std::count_if(results->runs.begin(), results->runs.end(),
                    [](const imports::ImportedRun& run) { return !run.run.examples.empty(); }));
  CONCUR_ASSIGN_OR_RETURN(
      Study study, StudyOfImport(*results, flags.name.empty() ? NameOf(flags.out) : flags.name));
  BundleOptions options;
  options.level = 0;  // intervals of a large leaderboard take minutes; the commands compute them
  CONCUR_ASSIGN_OR_RETURN(const BundleSummary summary,
                          WriteBundle(std::move(study), flags.out, options));
  OutcomeRows rows = OutcomeOf(*results, examples);
  rows.Add("bundle", static_cast<int64_t>(summary.files),
           absl::StrCat("files, ", BytesText(summary.bytes)), flags.out);
  AddColumns(*results, kBenchmarksShown, rows);
  PrintRows(rows.table, context);
  return absl::OkStatus();
}

}  // namespace

void AddBundleConvertCommand(Command& bundle, CommandContext& context) {
  Command* const command = bundle.AddSubcommand(
      "convert", "Result files of other programs, and leaderboards, as a bundle to analyse");
  const auto flags = std::make_shared<ConvertFlags>();
  command
      ->AddOption("format", flags->request.format,
                  "One of: " + absl::StrJoin(imports::FormatNames(), ", "))
      ->TypeName("FORMAT")
      ->Required();
  command->AddOption("paths", flags->request.paths, "Files, and folders with all that is in them")
      ->TypeName("PATH")
      ->Required();
  command->AddOption("--out", flags->out, "The bundle's directory; it must not be there yet")
      ->TypeName("DIR");
  command->AddFlag("--dry-run", flags->is_dry_run,
                   "Write nothing; print what each column of the files is taken for");
  command->AddOption("--name", flags->name, "The study's name (default: the directory's)");
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
      ->AddOption(
          "--variants", flags->variants,
          "Runs of a model on a task that differ in a setting (limit, template, adapter, "
          "...): name tells them apart by name; first counts one of them; refuse is an error")
      ->ShowDefault();
  command
      ->AddOption("--split", flags->request.splits,
                  "Compare tasks on this split where they have it; repeat for others (default: "
                  "the one that most models have)")
      ->TypeName("NAME")
      ->OneValueEach();
  command
      ->AddOption("--subsets", flags->request.subsets,
                  "mteb: take the mean over this subset where a task has it; repeat for more "
                  "(default: those that most models have)")
      ->TypeName("NAME")
      ->OneValueEach();
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
      ->AddOption("--rows", flags->request.options.rows,
                  "leaderboard: models or tasks, where that is not found by their names")
      ->TypeName("WHAT");
  command
      ->AddOption("--leave-out", flags->request.options.leave_out,
                  "leaderboard: a column (or task) that is no benchmark; repeat for others")
      ->TypeName("COLUMN")
      ->OneValueEach();
  command
      ->AddOption("--keep", flags->request.options.keep,
                  "A column (or task) that is a benchmark, though it looks like a mean or a "
                  "property; repeat for others")
      ->TypeName("COLUMN")
      ->OneValueEach();
  command->AddFlag("--strict", flags->request.strict,
                   "A file in a folder that cannot be read is an error");
  command->Footer(
      "Commands that read scores take ./DIR of the bundle instead of a sweep. For the others\n"
      "\"concur bundle load ./DIR\" makes a sweep of a coordinator.\n"
      "Examples:\n  concur bundle convert leaderboard bbh.tsv --out ./bbh && concur matrix ./bbh\n"
      "  concur bundle convert mteb results --language eng --out ./mteb\n"
      "  concur bundle convert lm-eval results_*.json --metric acc_norm --out ./harness\n"
      "  concur bundle convert helm runs/latest --out ./helm");
  OnRun(command, context, [flags, &context] {
    flags->request.threads = static_cast<int>(std::thread::hardware_concurrency());
    return RunConvert(*flags, context);
  });
}

}  // namespace concur::cli
