#include "cli/shift_commands.h"

#include <algorithm>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "analysis/comparison.h"
#include "analysis/figures.h"
#include "analysis/fit.h"
#include "analysis/score_table.h"
#include "analysis/shift_table.h"
#include "base/status_macros.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/command_line.h"
#include "cli/example_folder.h"
#include "cli/matrix_commands.h"
#include "cli/study.h"
#include "cli/table_output.h"

namespace concur::cli {
namespace {

struct ShiftFlags {
  std::string sweep;
  std::string scores;
  std::string from;
  std::vector<std::string> to;
  std::string scale = "linear";
  std::string unit;
  std::string metric;
  std::vector<std::string> exclude;
  std::vector<std::string> where;
  std::string format;
  IntervalFlags interval;
  bool score_intervals = false;
  std::string examples;
};

absl::StatusOr<std::vector<std::string>> SplitAll(const std::string& option,
                                                  const std::vector<std::string>& values) {
  std::vector<std::string> names;
  for (const std::string& value : values) {
    CONCUR_ASSIGN_OR_RETURN(const std::vector<std::string> part, SplitNames(option, value));
    names.insert(names.end(), part.begin(), part.end());
  }
  return names;
}

absl::StatusOr<analysis::FitOptions> OptionsOf(const ShiftFlags& flags) {
  analysis::FitOptions options;
  CONCUR_ASSIGN_OR_RETURN(options.scale, analysis::ParseFitScale(flags.scale));
  options.exclude = flags.exclude;
  if (flags.unit == "percent" || flags.unit == "share") {
    options.full_score = flags.unit == "percent" ? 100 : 1;
  } else if (!flags.unit.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("unit: expected percent or share, got \"", flags.unit, "\""));
  }
  CONCUR_ASSIGN_OR_RETURN(options.bootstrap, BootstrapOf(flags.interval));
  return options;
}

// Intervals of the scores themselves need what each example scored.
absl::Status AddScoreIntervals(const ShiftFlags& flags, const std::vector<std::string>& to,
                               CommandContext& context, std::vector<analysis::ShiftFit>& fits) {
  std::vector<std::string> columns = {flags.from};
  for (const std::string& name : to) {
    if (std::find(columns.begin(), columns.end(), name) == columns.end()) {
      columns.push_back(name);
    }
  }
  std::vector<analysis::ExampleTable> tables;
  if (flags.examples.empty()) {
    CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
    CONCUR_ASSIGN_OR_RETURN(const Study study, FetchStudy(*client, flags.sweep));
    CONCUR_ASSIGN_OR_RETURN(tables, ExampleTablesOf(study, "", "", columns));
  } else {
    CONCUR_ASSIGN_OR_RETURN(std::vector<FolderBenchmark> folder,
                            ReadExampleFolder(flags.examples, columns));
    for (FolderBenchmark& benchmark : folder) {
      std::vector<NamedExamples>& cells = benchmark.approaches;
      cells.erase(std::remove_if(cells.begin(), cells.end(),
                                 [](const NamedExamples& cell) { return cell.runs.empty(); }),
                  cells.end());
      CONCUR_ASSIGN_OR_RETURN(
          analysis::ExampleTable table,
          AlignExamples(benchmark.name, flags.metric.empty() ? "f1" : flags.metric, cells));
      tables.push_back(std::move(table));
    }
  }
  for (const analysis::ExampleTable& table : tables) {
    for (const std::string& reason : table.left_out) {
      context.err << "concur: no interval of the score on " << table.benchmark << ": " << reason
                  << "\n";
    }
  }
  const double level = flags.interval.level.value_or(0) > 0 ? *flags.interval.level : 0.95;
  return analysis::AddScoreIntervals(tables, flags.unit == "share" ? 1 : 100, level, fits);
}

absl::Status RunShift(const ShiftFlags& flags, CommandContext& context, const FetchTable& fetch) {
  CONCUR_RETURN_IF_ERROR(CheckFormat(flags.format, /*with_svg=*/true));
  CONCUR_ASSIGN_OR_RETURN(const analysis::FitOptions options, OptionsOf(flags));
  CONCUR_ASSIGN_OR_RETURN(const std::vector<std::string> to, SplitAll("--to", flags.to));
  if (flags.sweep.empty() == flags.scores.empty()) {
    return absl::InvalidArgumentError(fetch == nullptr
                                          ? "expected --scores FILE.csv"
                                          : "expected either SWEEP or --scores FILE.csv");
  }
  analysis::ScoreTable table;
  if (flags.scores.empty()) {
    CONCUR_ASSIGN_OR_RETURN(table, fetch(flags.sweep));
  } else {
    CONCUR_ASSIGN_OR_RETURN(table, ReadScores(flags.scores, context));
  }
  CONCUR_ASSIGN_OR_RETURN(table, table.Where(flags.where));
  CONCUR_ASSIGN_OR_RETURN(std::vector<analysis::ShiftFit> fits,
                          analysis::FitShift(table, flags.from, to, options));
  if (flags.score_intervals && flags.sweep.empty() && flags.examples.empty()) {
    return absl::InvalidArgumentError(
        "--score-intervals: needs a sweep; with --scores give --examples DIR instead");
  }
  if (flags.score_intervals || !flags.examples.empty()) {
    CONCUR_RETURN_IF_ERROR(AddScoreIntervals(flags, to, context, fits));
  }
  if (flags.format == "svg") {
    context.out << analysis::ShiftSvg(fits);
    return absl::OkStatus();
  }
  if (!flags.format.empty()) {
    return PrintTable(analysis::ShiftTable(fits), flags.format, context);
  }
  switch (context.output) {
    case OutputMode::kTable:
      context.out << analysis::ShiftText(fits);
      break;
    case OutputMode::kJson:
      context.out << analysis::ShiftJson(fits);
      break;
    case OutputMode::kJsonLines:
      context.out << analysis::ShiftJsonLines(fits);
      break;
    case OutputMode::kCsv:
      context.out << analysis::ShiftCsv(fits);
      break;
  }
  return absl::OkStatus();
}

}  // namespace

void AddShiftCommand(Command& app, CommandContext& context, FetchTable fetch) {
  Command* command = app.AddSubcommand(
      "shift", "How scores on one test set predict scores on others: slope, gap, ranks");
  const auto flags = std::make_shared<ShiftFlags>();
  if (fetch != nullptr) {
    command->AddOption("sweep", flags->sweep, "A sweep, by name or id")->TypeName("SWEEP");
  }
  command
      ->AddOption("--scores", flags->scores,
                  "A scores CSV instead of a sweep: one row per system, first column its name")
      ->TypeName("FILE");
  command->AddOption("--from", flags->from, "The original test set")
      ->TypeName("COLUMN")
      ->Required();
  command->AddOption("--to", flags->to, "The new test sets; quote names that have commas")
      ->TypeName("COLUMN[,...]")
      ->OneValueEach()
      ->Required();
  command->AddOption("--scale", flags->scale, "Of the line: linear, probit or logit")
      ->ShowDefault();
  command
      ->AddOption("--unit", flags->unit,
                  "Of the scores: percent or share (default: percent if any is above 1)")
      ->TypeName("UNIT");
  command
      ->AddOption("--exclude", flags->exclude,
                  "An approach to list but not to fit, e.g. human scores; may be repeated")
      ->TypeName("NAME")
      ->OneValueEach();
  command->AddOption("--where", flags->where, "Only approaches with a tag; may be repeated")
      ->TypeName("TAG=VALUE")
      ->OneValueEach();
  AddIntervalOptions(command, flags->interval);
  command->AddFlag("--score-intervals", flags->score_intervals,
                   "Of a sweep: intervals of each score from its per-example scores, "
                   "Clopper-Pearson for exact match, Student's t else");
  command
      ->AddOption("--examples", flags->examples,
                  "The same from DIR/APPROACH/COLUMN/RUN.jsonl, as \"concur score --per-example\" "
                  "writes them")
      ->TypeName("DIR");
  command->AddOption("--metric", flags->metric, "Of --examples: f1 (default) or exact_match")
      ->TypeName("NAME");
  AddFormatOption(command, flags->format, /*with_svg=*/true);
  OnRun(command, context,
        [flags, &context, fetch = std::move(fetch)] { return RunShift(*flags, context, fetch); });
}

}  // namespace concur::cli
