// SPDX-License-Identifier: Apache-2.0
#include "analysis/concurrence/matrix.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "analysis/bootstrap.h"
#include "analysis/comparison/generalization.h"
#include "analysis/concurrence/above.h"
#include "analysis/concurrence/cluster.h"
#include "analysis/concurrence/concordance.h"
#include "analysis/concurrence/contrast.h"
#include "analysis/concurrence/matrix.h"
#include "analysis/concurrence/matrix_work.h"
#include "analysis/concurrence/partial.h"
#include "analysis/concurrence/suite.h"
#include "analysis/score_table.h"
#include "analysis/statistics/correlation.h"
#include "base/command/command.h"
#include "base/decimal.h"
#include "base/status_macros.h"
#include "base/suggest.h"
#include "cli/app/context.h"
#include "cli/client/client.h"
#include "cli/commands/commands.h"
#include "cli/commands/score_options.h"
#include "cli/output/render.h"
#include "cli/output/table_output.h"
#include "cli/study/live_scores.h"
#include "cli/study/open_study.h"
#include "concur/v1/coordinator.pb.h"
#include "report/block_table.h"
#include "report/claim_tables.h"
#include "report/comparison_tables.h"
#include "report/figures/figures.h"
#include "report/sweep_table.h"
#include "report/table.h"
#include "report/text.h"
#include "report/writers.h"

namespace concur::cli {
namespace {

struct MatrixFlags {
  std::string sweep;
  std::string scores;
  std::string metric;
  ScoreFileFlags file;
  std::string coefficient = "kendall";
  std::vector<std::string> where;
  std::vector<std::string> columns;
  bool complete_cases = false;
  std::string format;
  analysis::MatrixFigure figure;
  size_t influences = 0;
  bool swaps = false;
  IntervalFlags interval;
  bool interval_asked = false;  // else the default level
  bool list_intervals = false;
  std::string method = "bca";
  size_t top = analysis::kTopDefault;
  bool bounds = false;
  bool tests = false;
  std::vector<std::string> differences;
  bool watch = false;
  std::string order = "given";
  std::vector<std::string> groups;  // NAME=A,B
  std::string families;             // tag
  std::string contrast;             // TAG or TAG=FIRST,SECOND
  std::optional<double> above;
  bool suite = false;
  double ties_within = 0;
  std::string given;  // a benchmark or a tag
};

// The part of the table that --columns and --where select.
absl::StatusOr<analysis::ScoreTable> ChooseFrom(analysis::ScoreTable table,
                                                const MatrixFlags& flags) {
  CONCUR_ASSIGN_OR_RETURN(table, SelectColumns(std::move(table), flags.columns));
  CONCUR_ASSIGN_OR_RETURN(table, table.Where(flags.where));
  CONCUR_RETURN_IF_ERROR(table.SetTiesWithin(flags.ties_within));
  return table;
}

absl::StatusOr<analysis::ScoreTable> LoadMatrixTable(const MatrixFlags& flags,
                                                     CommandContext& context) {
  if (flags.sweep.empty() == flags.scores.empty()) {
    return absl::InvalidArgumentError("expected either SWEEP or --scores FILE.csv");
  }
  if (!flags.scores.empty() && !flags.metric.empty()) {
    return absl::InvalidArgumentError("--metric: a scores CSV has one score for each cell");
  }
  analysis::ScoreTable table;
  if (flags.scores.empty()) {
    CONCUR_ASSIGN_OR_RETURN(
        const SweepTableOptions asked,
        TableOptionsOf(flags.file, "", analysis::Layout::kTrainInColumns, flags.columns));
    CONCUR_ASSIGN_OR_RETURN(table, OpenScoreTable(context, flags.sweep, flags.metric, asked));
  } else {
    CONCUR_ASSIGN_OR_RETURN(table, ReadScores(flags.scores, flags.file, context));
    CONCUR_RETURN_IF_ERROR(ApplyMinimize(flags.file, table));
  }
  return ChooseFrom(std::move(table), flags);
}

// The level of the intervals whose ends are the bounds of --above.
absl::StatusOr<double> BoundsLevel(const MatrixFlags& flags) {
  if (!(*flags.above > -1 && *flags.above < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--above: expected a coefficient between -1 and 1, got ", *flags.above));
  }
  const double level = flags.interval.level.value_or(0);
  if (!(level > 0.5 && level < 1)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--above: needs --interval above 0.5 and below 1, the level of its bounds, got ", level));
  }
  return analysis::LevelOfBounds(level);
}

absl::Status SetIntervals(MatrixFlags flags, analysis::MatrixOptions& options) {
  if (flags.above.has_value()) {
    CONCUR_ASSIGN_OR_RETURN(flags.interval.level, BoundsLevel(flags));
  }
  if (flags.method == "fisher") {
    if (flags.interval.level.value_or(0) != 0) {
      options.fisher_level = flags.interval.level;
    }
    return absl::OkStatus();
  }
  CONCUR_ASSIGN_OR_RETURN(options.bootstrap, BootstrapOf(flags.interval));
  if (options.bootstrap.has_value()) {
    absl::string_view method = flags.method;
    absl::ConsumePrefix(&method, "bootstrap-");
    const absl::StatusOr<analysis::BootstrapMethod> parsed = analysis::ParseBootstrapMethod(method);
    if (!parsed.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "interval-method: ", ExpectedOneOf({"bca", "percentile", "fisher"}, flags.method)));
    }
    options.bootstrap->method = *parsed;
  }
  return absl::OkStatus();
}

absl::Status PrintSuite(const MatrixFlags& flags, const analysis::ScoreTable& table,
                        const analysis::MatrixOptions& options, CommandContext& context) {
  CONCUR_ASSIGN_OR_RETURN(const std::vector<analysis::ConcurrenceMatrix> members,
                          analysis::CompareWithSuite(table, options));
  return PrintTable(analysis::SuiteTable(table, members), flags.format, context);
}

// The table with its benchmarks in cluster order, so that similar ones are neighbours.
absl::StatusOr<analysis::ScoreTable> Clustered(const analysis::ScoreTable& table,
                                               analysis::MatrixOptions options) {
  options.bootstrap.reset();
  options.fisher_level.reset();
  options.differences.clear();
  options.bounds = options.swaps = options.p_values = false;
  options.influences = 0;
  CONCUR_ASSIGN_OR_RETURN(const analysis::ConcurrenceMatrix matrix,
                          analysis::ComputeMatrix(table, options));
  std::vector<std::string> names;
  for (const size_t benchmark : analysis::ClusterOrder(matrix)) {
    names.push_back(matrix.benchmarks[benchmark]);
  }
  return table.SelectBenchmarks(names);
}

absl::Status PrintBlocks(const MatrixFlags& flags, const analysis::ScoreTable& table,
                         analysis::MatrixOptions options, CommandContext& context) {
  std::vector<analysis::BenchmarkGroup> groups;
  for (const std::string& value : flags.groups) {
    CONCUR_ASSIGN_OR_RETURN(analysis::BenchmarkGroup group, analysis::ParseGroup(table, value));
    groups.push_back(std::move(group));
  }
  std::optional<analysis::BootstrapOptions> bootstrap = std::move(options.bootstrap);
  std::string intervals;
  if (bootstrap.has_value()) {
    bootstrap->families = options.families;
    CONCUR_ASSIGN_OR_RETURN(const analysis::Families families,
                            analysis::FamiliesOf(table, options.families));
    intervals = absl::StrCat(ShortestDecimal(100 * bootstrap->level),
                             " % intervals: ", analysis::BootstrapText(*bootstrap, families));
  }
  options.bootstrap.reset();
  options.fisher_level.reset();
  CONCUR_ASSIGN_OR_RETURN(const analysis::ConcurrenceMatrix matrix,
                          analysis::ComputeMatrix(table, options));
  std::vector<analysis::Concordance> within;
  for (const analysis::BenchmarkGroup& group : groups) {
    CONCUR_ASSIGN_OR_RETURN(analysis::Concordance one,
                            analysis::ComputeConcordance(table, group.benchmarks, bootstrap));
    within.push_back(std::move(one));
  }
  return PrintTable(analysis::BlockTable(matrix, groups, within, intervals), flags.format, context);
}

absl::Status PrintContrast(const MatrixFlags& flags, const analysis::ScoreTable& table,
                           const analysis::MatrixOptions& options, CommandContext& context) {
  if (!options.bootstrap.has_value()) {
    return absl::InvalidArgumentError(
        "--contrast: needs bootstrap intervals; give --interval above 0 and --interval-method bca "
        "or percentile");
  }
  analysis::BootstrapOptions bootstrap = *options.bootstrap;
  bootstrap.top = options.top;
  bootstrap.families = options.families;
  CONCUR_ASSIGN_OR_RETURN(
      const analysis::GroupContrast contrast,
      analysis::ContrastGroups(table, options.coefficient, flags.contrast, bootstrap));
  return PrintTable(analysis::ContrastTable(table, contrast, bootstrap), flags.format, context);
}

absl::Status PrintPartial(const MatrixFlags& flags, const analysis::ScoreTable& table,
                          const analysis::MatrixOptions& options, CommandContext& context) {
  if (options.coefficient != analysis::Coefficient::kKendall || options.fisher_level.has_value()) {
    return absl::InvalidArgumentError(
        "--given: needs --coefficient kendall, and --interval-method bca or percentile");
  }
  CONCUR_ASSIGN_OR_RETURN(const analysis::PartialMatrix partial,
                          analysis::ComputePartial(table, flags.given, options));
  return PrintTable(analysis::PartialTable(partial), flags.format, context);
}

// The options of which each prints another table.
std::vector<std::string> InsteadOfMatrix(const MatrixFlags& flags) {
  std::vector<std::string> options;
  for (const auto& [name, is_given] :
       {std::pair("--group", !flags.groups.empty()),
        std::pair("--contrast", !flags.contrast.empty()),
        std::pair("--above", flags.above.has_value()), std::pair("--suite", flags.suite),
        std::pair("--given", !flags.given.empty())}) {
    if (is_given) {
      options.emplace_back(name);
    }
  }
  return options;
}

absl::StatusOr<analysis::MatrixOptions> MatrixOptionsOf(const MatrixFlags& flags,
                                                        const CommandContext& context) {
  CONCUR_RETURN_IF_ERROR(CheckFormat(flags.format, /*with_svg=*/true));
  if ((!flags.figure.title.empty() || flags.figure.width != 0) && flags.format != "svg") {
    return absl::InvalidArgumentError("--title and --width: only for --format svg");
  }
  if (!(flags.figure.width == 0 || (flags.figure.width >= 100 && flags.figure.width <= 20'000))) {
    return absl::InvalidArgumentError(
        absl::StrCat("--width: expected 100 to 20000 pixels, got ", flags.figure.width));
  }
  if (flags.order != "given" && flags.order != "cluster") {
    return absl::InvalidArgumentError(
        absl::StrCat("order: ", ExpectedOneOf({"given", "cluster"}, flags.order)));
  }
  if (const std::vector<std::string> instead = InsteadOfMatrix(flags);
      instead.size() > 1 || (!instead.empty() && (flags.watch || flags.format == "svg"))) {
    return absl::InvalidArgumentError(
        absl::StrCat(absl::StrJoin(instead, ", "),
                     ": a table instead of the matrix: expected one of them, and neither --watch "
                     "nor --format svg"));
  } else if (!instead.empty() && (!flags.differences.empty() || flags.influences > 0 ||
                                  flags.swaps || flags.bounds || flags.tests)) {
    return absl::InvalidArgumentError(
        absl::StrCat(instead[0],
                     ": a table instead of the matrix: it has no place for --difference, "
                     "--influences, --swaps, --bounds and --tests"));
  }
  if (flags.ties_within != 0 && (!flags.groups.empty() || flags.suite)) {
    return absl::InvalidArgumentError(
        "--ties-within: expected neither --group nor --suite, which rank by all differences");
  }
  analysis::MatrixOptions options;
  CONCUR_ASSIGN_OR_RETURN(options.coefficient, analysis::ParseCoefficient(flags.coefficient));
  options.complete_cases = flags.complete_cases;
  options.influences = flags.influences;
  options.swaps = flags.swaps;
  options.top = flags.top;
  options.bounds = flags.bounds;
  options.p_values = flags.tests;
  options.families = flags.families;
  options.parallel_for = ThreadedFor;
  CONCUR_RETURN_IF_ERROR(SetIntervals(flags, options));
  for (const std::string& value : flags.differences) {
    CONCUR_ASSIGN_OR_RETURN(std::vector<std::string> names, SplitNames("--difference", value));
    if (names.size() == 3) {
      names.insert(names.begin() + 2, names[0]);
    }
    if (names.size() != 4) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--difference: expected A,B,C for A–B less A–C, or A,B,C,D for A–B less C–D, got ",
          names.size(), " names in \"", value, "\""));
    }
    options.differences.push_back({names[0], names[1], names[2], names[3]});
  }
  if ((!options.differences.empty() || options.influences > 0 || options.swaps) &&
      (context.output == OutputMode::kCsv || !flags.format.empty())) {
    return absl::InvalidArgumentError(
        "--difference, --influences and --swaps: expected text, -o json or -o jsonl; CSV and "
        "--format "
        "have no place for them");
  }
  if (options.bounds && !flags.format.empty()) {
    return absl::InvalidArgumentError(
        "--bounds: expected text or -o; --format has no place for bounds");
  }
  return options;
}

// Computes and prints the matrix of a table that has been chosen from.
absl::Status PrintMatrix(const MatrixFlags& flags, analysis::ScoreTable table,
                         analysis::MatrixOptions options, CommandContext& context) {
  if (!flags.groups.empty()) {
    return PrintBlocks(flags, table, options, context);
  }
  if (!flags.contrast.empty()) {
    return PrintContrast(flags, table, options, context);
  }
  if (flags.suite) {
    return PrintSuite(flags, table, options, context);
  }
  if (flags.order == "cluster") {
    CONCUR_ASSIGN_OR_RETURN(table, Clustered(table, options));
  }
  if (options.bootstrap.has_value() && !flags.interval_asked && !flags.above.has_value()) {
    if (!analysis::IntervalsAreQuick(table)) {
      context.err << "concur: no intervals, which take long for a table of this size; --interval "
                     "0.95 computes them\n";
      options.bootstrap.reset();
    }
  }
  if (!flags.given.empty()) {
    return PrintPartial(flags, table, options, context);
  }
  CONCUR_ASSIGN_OR_RETURN(const analysis::ConcurrenceMatrix matrix,
                          analysis::ComputeMatrix(table, options));
  if (flags.above.has_value()) {
    return PrintTable(analysis::AboveTable(matrix, *flags.above, *flags.interval.level),
                      flags.format, context);
  }
  if (flags.format == "svg") {
    context.out << analysis::MatrixSvg(matrix, flags.figure);
    return absl::OkStatus();
  }
  const analysis::TableFormat form = FormatOf(flags.format, context);
  PrintAs(form,
          analysis::WriteMatrix(matrix, form,
                                {.text = TextOptionsOf(context),
                                 .list_intervals = flags.list_intervals || flags.interval_asked}),
          context);
  return absl::OkStatus();
}

// Prints the matrix again after every batch of finished cells. A terminal shows the latest one;
// otherwise they follow each other, one JSON value a line.
absl::Status WatchMatrix(const MatrixFlags& flags, const analysis::MatrixOptions& options,
                         CommandContext& context) {
  if (flags.sweep.empty() || !flags.scores.empty()) {
    return absl::InvalidArgumentError("--watch: needs a sweep");
  }
  if (context.output == OutputMode::kCsv || !flags.format.empty()) {
    return absl::InvalidArgumentError(
        "--watch: expected text, -o json or -o jsonl; CSV and --format have no place for more than "
        "one matrix");
  }
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  CONCUR_ASSIGN_OR_RETURN(
      const SweepTableOptions asked,
      TableOptionsOf(flags.file, "", analysis::Layout::kTrainInColumns, flags.columns));
  const bool redraws = context.output == OutputMode::kTable && context.out_is_terminal;
  return FollowScores(
      context, *client, flags.sweep, flags.metric, asked,
      [&](const analysis::ScoreTable& scores, const v1::Sweep& sweep) -> absl::Status {
        CONCUR_ASSIGN_OR_RETURN(analysis::ScoreTable table, ChooseFrom(scores, flags));
        if (redraws) {
          context.out << "\x1b[H\x1b[J";  // to the top, clear what is below
        }
        if (context.output == OutputMode::kTable) {
          const v1::StateCounts& counts = sweep.counts();
          context.out << sweep.id() << " " << analysis::Printable(sweep.name(), 60) << ": "
                      << CountsText(counts) << "\n\n";
        }
        absl::Status status = PrintMatrix(flags, std::move(table), options, context);
        context.out << (context.output == OutputMode::kTable ? "\n" : "") << std::flush;
        return status;
      });
}

absl::Status RunMatrix(const MatrixFlags& flags, CommandContext& context) {
  CONCUR_ASSIGN_OR_RETURN(analysis::MatrixOptions options, MatrixOptionsOf(flags, context));
  if (flags.watch) {
    if (!flags.interval_asked) {
      options.bootstrap.reset();
      options.fisher_level.reset();
    }
    return WatchMatrix(flags, options, context);
  }
  CONCUR_ASSIGN_OR_RETURN(analysis::ScoreTable table, LoadMatrixTable(flags, context));
  if (table.benchmarks().size() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat(flags.scores.empty() ? flags.sweep : flags.scores,
                     ": a matrix needs the scores of two benchmarks or more, here ",
                     table.benchmarks().empty() ? "is none" : "is one"));
  }
  return PrintMatrix(flags, std::move(table), options, context);
}

// The scores, the coefficient, and the order of rows and columns.
void AddScoresAndCoefficient(Command* command, MatrixFlags& flags) {
  command->AddOption("sweep", flags.sweep, "A sweep, by name or id; or ./DIRECTORY of a bundle")
      ->TypeName("SWEEP");
  command
      ->AddOption("--metric", flags.metric,
                  "A sweep's or bundle's metric (default: each benchmark's own)")
      ->TypeName("NAME");
  command
      ->AddOption("--scores", flags.scores,
                  "A scores CSV instead of a sweep: one row per approach, first column its name")
      ->TypeName("FILE");
  AddScoreFileOptions(command, flags.file);
  command
      ->AddOption("--coefficient", flags.coefficient,
                  "kendall (tau-b), pearson, spearman, weighted-kendall (the top counts more), "
                  "top-k (share of the best that both have) or rbo (rank-biased overlap)")
      ->ShowDefault();
  command->AddOption("--top", flags.top, "Number of best approaches, for top-k")
      ->Positive()
      ->ShowDefault();
  AddWhereOption(command, flags.where);
  AddColumnsOption(command, flags.columns);
  command
      ->AddOption("--order", flags.order,
                  "Order of the benchmarks: given, or cluster (similar ones side by side)")
      ->ShowDefault();
  command
      ->AddOption(
          "--group", flags.groups,
          "Instead of pairs: between groups of benchmarks, of which this is one, and Kendall's "
          "W within it; * stands for any text")
      ->TypeName("NAME=PATTERN[,PATTERN]")
      ->OneValueEach();
  command->AddFlag("--complete-cases", flags.complete_cases,
                   "Use only approaches that have every score, instead of pair by pair");
}

}  // namespace

void AddMatrixCommand(Command& app, CommandContext& context) {
  Command* command =
      app.AddSubcommand("matrix", "How similarly do benchmarks rank the approaches, pair by pair");
  const auto flags = std::make_shared<MatrixFlags>();
  AddScoresAndCoefficient(command, *flags);
  command
      ->AddOption("--format", flags->format,
                  "markdown, latex (booktabs) or svg (a heat map), instead of --output")
      ->TypeName("FORMAT");
  AddNotesOption(command, context);
  command->AddOption("--title", flags->figure.title,
                     "Title of the heat map (default: what it shows)");
  command->AddOption("--width", flags->figure.width, "Width of the heat map in pixels")
      ->TypeName("PIXELS");
  command
      ->AddOption("--influences", flags->influences,
                  "For each pair, list this many approaches whose absence changes it most")
      ->TypeName("COUNT");
  command->AddFlag("--swaps", flags->swaps,
                   "For each pair, list the approaches that swap places (text and JSON)");
  command->AddFlag("--watch", flags->watch,
                   "Follow the sweep: the matrix again after each finished cell, until the sweep "
                   "ends (intervals only when --interval asks for them)");
  // Intervals are on by default: a coefficient alone looks more certain than it is.
  flags->interval.level = 0.95;
  Option* interval = AddIntervalOptions(command, flags->interval)->DefaultText("0.95");
  command->AddFlag("--intervals", flags->list_intervals,
                   "List the pairs with their intervals where the matrix has no room for these");
  command
      ->AddOption("--interval-method,--method", flags->method,
                  "bca, percentile (bootstrap over approaches) or fisher (analytic)")
      ->ShowDefault();
  command
      ->AddOption("--difference", flags->differences,
                  "Concurrence of A and B less that of A and C (or C and D), with an interval")
      ->TypeName("A,B,C[,D]")
      ->OneValueEach();
  command
      ->AddOption(
          "--contrast", flags->contrast,
          "Instead of one matrix: every coefficient among approaches with one value of this "
          "tag less that among those with another, with an interval")
      ->TypeName("TAG[=FIRST,SECOND]");
  command
      ->AddOption("--ties-within", flags->ties_within,
                  "Scores that differ by at most this count as tied, for tau-b and --swaps")
      ->TypeName("DIFFERENCE");
  command
      ->AddOption(
          "--above", flags->above,
          "Instead of the matrix: for each pair, whether a coefficient above this is shown, "
          "refuted or open, by one-sided bounds at the level of --interval")
      ->TypeName("VALUE");
  command->AddFlag("--suite", flags->suite,
                   "Instead of the matrix: each benchmark with the mean rank on the others");
  command
      ->AddOption("--given", flags->given,
                  "Instead of the matrix: each pair's partial tau-b given this benchmark or tag of "
                  "numbers, such as a size")
      ->TypeName("COLUMN");
  AddFamiliesOption(command, flags->families);
  command->AddFlag(
      "--tests", flags->tests,
      "Also p-values of independence (of no concurrence at all), and corrected for the "
      "number of pairs");
  command->AddFlag("--bounds", flags->bounds,
                   "For each pair, the range of coefficients over all values of missing scores");
  command->Footer(
      "Examples:\n  concur matrix study --coefficient pearson\n  concur matrix study --watch "
      "--interval 0\n  concur matrix --scores em.csv --where pretrained=no --format svg > "
      "matrix.svg\n  concur matrix --scores em.csv --difference SQuAD,NewsQA,QAMR");
  OnRun(command, context, [flags, interval, &context] {
    flags->interval_asked = interval->Count() > 0;
    return RunMatrix(*flags, context);
  });
}

}  // namespace concur::cli
