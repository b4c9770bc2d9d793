// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "analysis/comparison/fit.h"
#include "analysis/comparison/selection.h"
#include "analysis/example_runs.h"
#include "analysis/references.h"
#include "analysis/score_table.h"
#include "base/command/command.h"
#include "base/status_macros.h"
#include "base/suggest.h"
#include "cli/app/context.h"
#include "cli/client/client.h"
#include "cli/commands/commands.h"
#include "cli/commands/score_options.h"
#include "cli/output/table_output.h"
#include "cli/study/example_runs.h"
#include "cli/study/open_study.h"
#include "cli/study/study.h"
#include "report/figures/figures.h"
#include "report/sweep_table.h"
#include "report/table.h"
#include "report/writers.h"

namespace concur::cli {
namespace {

struct ShiftFlags {
  std::string sweep;
  std::string scores;
  ScoreFileFlags file;
  std::string from;
  std::vector<std::string> to;
  std::string scale = "linear";
  std::string unit;
  std::string metric;
  std::vector<std::string> exclude;
  std::vector<std::string> references;
  std::vector<std::string> where;
  std::string format;
  double level = 0;  // 0: no intervals
  std::string families;
  std::string cluster;
  bool by_train_set = false;
  bool score_intervals = false;
  std::string examples;
};

absl::StatusOr<analysis::FitOptions> FitOptionsOf(const ShiftFlags& flags) {
  analysis::FitOptions options;
  CONCUR_ASSIGN_OR_RETURN(options.scale, analysis::ParseFitScale(flags.scale));
  options.exclude = flags.exclude;
  if (flags.unit == "percent" || flags.unit == "share") {
    options.full_score = flags.unit == "percent" ? 100 : 1;
  } else if (!flags.unit.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("unit: ", ExpectedOneOf({"percent", "share"}, flags.unit)));
  }
  options.level = flags.level != 0 ? std::optional(flags.level) : std::nullopt;
  options.families = flags.families;
  return options;
}

// Per-example scores of the columns, where they are asked for; else none.
absl::StatusOr<std::vector<analysis::ExampleTable>> LoadExampleTables(
    const ShiftFlags& flags, const Study* study, const std::vector<std::string>& to,
    CommandContext& context) {
  if (!flags.score_intervals && flags.examples.empty()) {
    return std::vector<analysis::ExampleTable>();
  }
  std::vector<std::string> columns = {flags.from};
  for (const std::string& name : to) {
    if (std::find(columns.begin(), columns.end(), name) == columns.end()) {
      columns.push_back(name);
    }
  }
  analysis::ExampleRuns runs;
  if (flags.examples.empty()) {
    if (study == nullptr) {
      return absl::InvalidArgumentError(
          "--score-intervals: needs a sweep; with --scores give --examples DIR instead");
    }
    CONCUR_ASSIGN_OR_RETURN(const SweepTableOptions asked, TableOptionsOf(flags.file));
    CONCUR_ASSIGN_OR_RETURN(runs, ExampleRunsOf(*study, "", asked, columns));
    for (const analysis::BenchmarkRuns& benchmark : runs.benchmarks) {
      for (const auto& [who, reason] : analysis::LeftOutOf(runs, benchmark)) {
        context.err << "concur: no interval of the score on " << benchmark.benchmark << ": " << who
                    << ": " << reason << "\n";
      }
    }
  } else {
    CONCUR_ASSIGN_OR_RETURN(runs, ReadExampleFolder(flags.examples, columns,
                                                    flags.metric.empty() ? "f1" : flags.metric));
  }
  return analysis::MeansOverRuns(runs);
}

absl::Status RunShift(const ShiftFlags& flags, CommandContext& context) {
  CONCUR_RETURN_IF_ERROR(CheckFormat(flags.format, /*with_svg=*/true));
  CONCUR_ASSIGN_OR_RETURN(analysis::FitOptions options, FitOptionsOf(flags));
  CONCUR_ASSIGN_OR_RETURN(const std::vector<std::string> to, SplitAllNames("--to", flags.to));
  if (flags.sweep.empty() == flags.scores.empty()) {
    return absl::InvalidArgumentError("expected either SWEEP or --scores FILE.csv");
  }
  if (flags.by_train_set && (flags.score_intervals || !flags.scores.empty())) {
    return absl::InvalidArgumentError(
        "--by-train-set: expected a sweep, without --score-intervals");
  }
  analysis::ScoreTable table;
  std::optional<OpenedStudy> opened;
  if (flags.scores.empty()) {
    CONCUR_ASSIGN_OR_RETURN(SweepTableOptions asked,
                            TableOptionsOf(flags.file, "",
                                           flags.by_train_set ? analysis::Layout::kTrainInRows
                                                              : analysis::Layout::kTrainInColumns));
    asked.columns = to;
    asked.columns.push_back(flags.from);
    if (flags.score_intervals) {
      CONCUR_ASSIGN_OR_RETURN(opened, OpenStudy(context, flags.sweep));
      CONCUR_ASSIGN_OR_RETURN(table, ScoreTableOf(opened->study, "", asked));
    } else {
      CONCUR_ASSIGN_OR_RETURN(table, OpenScoreTable(context, flags.sweep, "", asked));
    }
  } else {
    CONCUR_ASSIGN_OR_RETURN(table, ReadScores(flags.scores, flags.file, context));
    CONCUR_RETURN_IF_ERROR(ApplyMinimize(flags.file, table));
  }
  CONCUR_ASSIGN_OR_RETURN(table, table.Where(flags.where));
  CONCUR_RETURN_IF_ERROR(analysis::AddReferences(flags.references, table));
  CONCUR_ASSIGN_OR_RETURN(const std::optional<analysis::ExampleUnit> unit, UnitOf(flags.cluster));
  CONCUR_ASSIGN_OR_RETURN(
      const std::vector<analysis::ExampleTable> examples,
      LoadExampleTables(flags, opened.has_value() ? &opened->study : nullptr, to, context));
  const analysis::ScoreIntervalOptions of_scores = {
      .level = options.level.value_or(0.95), .full_score = options.full_score, .unit = unit};
  if (!examples.empty()) {
    options.from_errors = analysis::ScoreErrors(examples, table, flags.from, of_scores);
  }
  CONCUR_ASSIGN_OR_RETURN(std::vector<analysis::ShiftFit> fits,
                          analysis::FitShift(table, flags.from, to, options));
  if (!examples.empty()) {
    CONCUR_RETURN_IF_ERROR(analysis::AddScoreIntervals(examples, table, of_scores, fits));
  }
  if (flags.format == "svg") {
    context.out << analysis::ShiftSvg(fits);
    return absl::OkStatus();
  }
  const analysis::TableFormat form = FormatOf(flags.format, context);
  PrintAs(form, analysis::WriteShift(fits, form, TextOptionsOf(context)), context);
  return absl::OkStatus();
}

}  // namespace

void AddShiftCommand(Command& app, CommandContext& context) {
  Command* command = app.AddSubcommand(
      "shift", "How scores on one test set predict scores on others: slope, gap, ranks");
  const auto flags = std::make_shared<ShiftFlags>();
  command->AddOption("sweep", flags->sweep, "A sweep, by name or id")->TypeName("SWEEP");
  command
      ->AddOption("--scores", flags->scores,
                  "A scores CSV instead of a sweep: one row per system, first column its name")
      ->TypeName("FILE");
  AddScoreFileOptions(command, flags->file);
  command->AddOption("--from", flags->from, "The original test set")
      ->TypeName("COLUMN")
      ->Required();
  command->AddOption("--to", flags->to, "The new test sets; quote names that have commas")
      ->TypeName("COLUMN[,...]")
      ->OneValueEach()
      ->Required();
  command->AddOption("--scale", flags->scale, "Scale of the line: linear, probit or logit")
      ->ShowDefault();
  command
      ->AddOption("--unit", flags->unit,
                  "Unit of the scores: percent or share (default: their stated scale; without one "
                  "percent if any of a column is above 1)")
      ->TypeName("UNIT");
  command
      ->AddOption("--exclude", flags->exclude,
                  "An approach to list and to rank but not to fit; may be repeated")
      ->TypeName("NAME")
      ->OneValueEach();
  AddReferenceOption(command, flags->references);
  AddWhereOption(command, flags->where);
  command->AddOption("--interval", flags->level, "Level of the intervals; 0: none")
      ->TypeName("LEVEL")
      ->ShowDefault();
  command->AddFlag("--by-train-set", flags->by_train_set,
                   "For a sweep with several train sets: a system for each approach and train set");
  command->AddFlag("--score-intervals", flags->score_intervals,
                   "For a sweep: intervals of each score from its per-example scores, "
                   "Clopper-Pearson for exact match, Student's t else");
  command
      ->AddOption(
          "--examples", flags->examples,
          "The same from DIR/APPROACH/COLUMN/RUN.jsonl, as \"concur data score --per-example\" "
          "writes them")
      ->TypeName("DIR");
  command
      ->AddOption("--metric", flags->metric,
                  "The metric of --examples: f1 (default) or exact_match")
      ->TypeName("NAME");
  AddFamiliesOption(command, flags->families);
  AddClusterOption(command, flags->cluster);
  AddFormatOption(command, flags->format, context, /*with_svg=*/true);
  command->Footer(
      "Examples:\n  concur shift study --from squad --to reddit,amazon --score-intervals\n  concur "
      "shift --scores f1.csv --from SQuAD --to Reddit --format svg > shift.svg");
  OnRun(command, context, [flags, &context] { return RunShift(*flags, context); });
}

}  // namespace concur::cli
