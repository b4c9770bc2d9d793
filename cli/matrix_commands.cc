#include "cli/matrix_commands.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "analysis/bootstrap.h"
#include "analysis/cluster.h"
#include "analysis/correlation.h"
#include "analysis/csv.h"
#include "analysis/generalization.h"
#include "analysis/markup.h"
#include "analysis/matrix.h"
#include "analysis/score_table.h"
#include "analysis/text_table.h"
#include "analysis/writers.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/command_line.h"
#include "cli/live_scores.h"
#include "cli/render.h"
#include "cli/table_output.h"

namespace concur::cli {
namespace {

struct MatrixFlags {
  std::string sweep;
  std::string scores;
  std::string coefficient = "kendall";
  std::vector<std::string> where;
  std::vector<std::string> columns;
  bool complete_cases = false;
  std::string format;
  size_t influences = 0;
  bool swaps = false;
  IntervalFlags interval;
  bool interval_asked = false;  // else the default level
  std::string method = "bca";
  size_t top = analysis::kTopDefault;
  bool bounds = false;
  std::vector<std::string> differences;
  bool watch = false;
  std::string order = "given";
  std::string blocks;               // tag
  std::vector<std::string> groups;  // NAME=A,B
};

// Unless they are asked for, intervals are left out when approaches × benchmarks² exceed this.
constexpr size_t kDefaultIntervalWork = 100'000;

// Spreads the calls over the machine's processors.
void ThreadedFor(size_t count, const std::function<void(size_t)>& body) {
  const size_t processors = std::max(1U, std::thread::hardware_concurrency());
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < count; i = next++) {
      body(i);
    }
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < std::min(count, processors); ++i) {
    threads.emplace_back(work);
  }
  work();
  for (std::thread& thread : threads) {
    thread.join();
  }
}

// What --columns and --where leave.
absl::StatusOr<analysis::ScoreTable> ChooseFrom(analysis::ScoreTable table,
                                                const MatrixFlags& flags) {
  if (!flags.columns.empty()) {
    std::vector<std::string> names;
    for (const std::string& value : flags.columns) {
      CONCUR_ASSIGN_OR_RETURN(const std::vector<std::string> part, SplitNames("--columns", value));
      names.insert(names.end(), part.begin(), part.end());
    }
    CONCUR_ASSIGN_OR_RETURN(table, table.SelectBenchmarks(names));
  }
  return table.Where(flags.where);
}

absl::StatusOr<analysis::ScoreTable> LoadTable(const MatrixFlags& flags, CommandContext& context,
                                               const FetchTable& fetch) {
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
  return ChooseFrom(std::move(table), flags);
}

absl::Status SetIntervals(const MatrixFlags& flags, analysis::MatrixOptions& options) {
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
          "interval-method: expected bca, percentile or fisher, got \"", flags.method, "\""));
    }
    options.bootstrap->method = *parsed;
  }
  return absl::OkStatus();
}

// The benchmarks side by side with those that they concur with.
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
  if (!flags.blocks.empty()) {
    CONCUR_ASSIGN_OR_RETURN(groups, analysis::GroupsByTag(table, flags.blocks));
  }
  for (const std::string& value : flags.groups) {
    CONCUR_ASSIGN_OR_RETURN(analysis::BenchmarkGroup group, analysis::ParseGroup(table, value));
    groups.push_back(std::move(group));
  }
  options.bootstrap.reset();
  options.fisher_level.reset();
  CONCUR_ASSIGN_OR_RETURN(const analysis::ConcurrenceMatrix matrix,
                          analysis::ComputeMatrix(table, options));
  return PrintTable(analysis::BlockTable(matrix, groups), flags.format, context);
}

absl::StatusOr<analysis::MatrixOptions> OptionsOf(const MatrixFlags& flags,
                                                  const CommandContext& context) {
  if (!flags.format.empty() && flags.format != "svg" && flags.format != "latex" &&
      flags.format != "markdown") {
    return absl::InvalidArgumentError(
        absl::StrCat("format: expected markdown, latex or svg, got \"", flags.format, "\""));
  }
  if (flags.order != "given" && flags.order != "cluster") {
    return absl::InvalidArgumentError(
        absl::StrCat("order: expected given or cluster, got \"", flags.order, "\""));
  }
  analysis::MatrixOptions options;
  CONCUR_ASSIGN_OR_RETURN(options.coefficient, analysis::ParseCoefficient(flags.coefficient));
  options.complete_cases = flags.complete_cases;
  options.influences = flags.influences;
  options.swaps = flags.swaps;
  options.top = flags.top;
  options.bounds = flags.bounds;
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
  if (!options.differences.empty() && context.output == OutputMode::kCsv) {
    return absl::InvalidArgumentError(
        "--difference: CSV has no place for differences; use -o json or -o jsonl");
  }
  return options;
}

// Computes and prints the matrix of a table that has been chosen from.
absl::Status PrintMatrix(const MatrixFlags& flags, analysis::ScoreTable table,
                         analysis::MatrixOptions options, CommandContext& context) {
  if (!flags.blocks.empty() || !flags.groups.empty()) {
    return PrintBlocks(flags, table, options, context);
  }
  if (flags.order == "cluster") {
    CONCUR_ASSIGN_OR_RETURN(table, Clustered(table, options));
  }
  if (options.bootstrap.has_value() && !flags.interval_asked) {
    const size_t benchmarks = table.benchmarks().size();
    if (benchmarks * benchmarks * table.approaches().size() > kDefaultIntervalWork) {
      context.err << "concur: no intervals, which take long for a table of this size; --interval "
                     "0.95 computes them\n";
      options.bootstrap.reset();
    }
  }
  CONCUR_ASSIGN_OR_RETURN(const analysis::ConcurrenceMatrix matrix,
                          analysis::ComputeMatrix(table, options));
  if (!flags.format.empty()) {
    context.out << (flags.format == "svg"     ? analysis::MatrixSvg(matrix)
                    : flags.format == "latex" ? analysis::MatrixLatex(matrix)
                                              : analysis::MatrixMarkdown(matrix));
    return absl::OkStatus();
  }
  switch (context.output) {
    case OutputMode::kTable:
      context.out << analysis::MatrixText(matrix);
      break;
    case OutputMode::kJson:
      context.out << analysis::MatrixJson(matrix);
      break;
    case OutputMode::kJsonLines:
      context.out << analysis::MatrixJsonLines(matrix);
      break;
    case OutputMode::kCsv:
      context.out << analysis::MatrixCsv(matrix);
      break;
  }
  return absl::OkStatus();
}

// Prints the matrix anew after every batch of finished cells. A terminal shows the latest one; else
// they follow each other, as JSON one a line.
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
  const bool redraws = context.output == OutputMode::kTable && context.out_is_terminal;
  return FollowScores(
      context, *client, flags.sweep,
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

absl::Status RunMatrix(const MatrixFlags& flags, CommandContext& context, const FetchTable& fetch) {
  CONCUR_ASSIGN_OR_RETURN(analysis::MatrixOptions options, OptionsOf(flags, context));
  if (flags.watch) {
    if (!flags.interval_asked) {
      options.bootstrap.reset();
      options.fisher_level.reset();
    }
    return WatchMatrix(flags, options, context);
  }
  CONCUR_ASSIGN_OR_RETURN(analysis::ScoreTable table, LoadTable(flags, context, fetch));
  if (table.benchmarks().size() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat(flags.scores.empty() ? flags.sweep : flags.scores,
                     ": a matrix needs the scores of two benchmarks or more, here ",
                     table.benchmarks().empty() ? "is none" : "is one"));
  }
  return PrintMatrix(flags, std::move(table), options, context);
}

}  // namespace

absl::StatusOr<analysis::ScoreTable> ReadScores(const std::string& path, CommandContext& context) {
  constexpr int64_t kScoresBytesMax = int64_t{1} << 30;
  CONCUR_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kScoresBytesMax));
  CONCUR_ASSIGN_OR_RETURN(analysis::ParsedScores parsed, analysis::ParseScoresCsv(text, path));
  for (const std::string& warning : parsed.warnings) {
    context.err << "warning: " << warning << "\n";
  }
  return std::move(parsed.table);
}

absl::StatusOr<std::vector<std::string>> SplitNames(const std::string& option,
                                                    const std::string& value) {
  CONCUR_ASSIGN_OR_RETURN(const std::vector<analysis::CsvRecord> records,
                          analysis::ParseCsv(value, option));
  if (records.size() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(option, ": expected NAME[,NAME…]"));
  }
  std::vector<std::string> names;
  for (const std::string& field : records[0].fields) {
    names.emplace_back(absl::StripAsciiWhitespace(field));
    if (names.back().empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(option, ": expected NAME[,NAME…], got an empty name in \"", value, "\""));
    }
  }
  return names;
}

Option* AddIntervalOptions(Command* command, IntervalFlags& flags) {
  Option* interval =
      command->AddOption("--interval", flags.level, "Level of the bootstrap intervals; 0: none");
  command->AddOption("--replicates", flags.replicates, "Bootstrap replicates behind the intervals")
      ->ShowDefault();
  command->AddOption("--seed", flags.seed, "Seed of the replicates")->ShowDefault();
  return interval;
}

absl::StatusOr<std::optional<analysis::BootstrapOptions>> BootstrapOf(const IntervalFlags& flags) {
  if (!flags.level.has_value() || *flags.level == 0) {
    return std::optional<analysis::BootstrapOptions>();
  }
  analysis::BootstrapOptions options;
  options.level = *flags.level;
  options.replicates = flags.replicates;
  options.seed = flags.seed;
  options.parallel_for = ThreadedFor;
  CONCUR_RETURN_IF_ERROR(analysis::ValidateBootstrapOptions(options));
  return std::optional<analysis::BootstrapOptions>(std::move(options));
}

void AddMatrixCommand(Command& app, CommandContext& context, FetchTable fetch) {
  Command* command =
      app.AddSubcommand("matrix", "How similarly do benchmarks rank the approaches, pair by pair");
  const auto flags = std::make_shared<MatrixFlags>();
  if (fetch != nullptr) {
    command->AddOption("sweep", flags->sweep, "A sweep, by name or id")->TypeName("SWEEP");
  }
  command
      ->AddOption("--scores", flags->scores,
                  "A scores CSV instead of a sweep: one row per approach, first column its name")
      ->TypeName("FILE");
  command
      ->AddOption("--coefficient", flags->coefficient,
                  "kendall (tau-b), pearson, spearman, weighted-kendall (the top counts more) or "
                  "top-k (share of the best that both have)")
      ->ShowDefault();
  command->AddOption("--top", flags->top, "How many are the best, for top-k")
      ->Positive()
      ->ShowDefault();
  command
      ->AddOption("--where", flags->where,
                  "Only approaches (or benchmarks) with a tag; repeat to ask for several")
      ->TypeName("TAG=VALUE")
      ->OneValueEach();
  command
      ->AddOption("--columns", flags->columns,
                  "Only these benchmarks, in this order; quote names that have commas")
      ->TypeName("A,B")
      ->OneValueEach();
  command
      ->AddOption("--order", flags->order,
                  "Of the benchmarks: given, or cluster (similar ones side by side)")
      ->ShowDefault();
  command
      ->AddOption("--blocks", flags->blocks,
                  "Instead of pairs: between groups of benchmarks, by this tag of theirs")
      ->TypeName("TAG");
  command
      ->AddOption("--group", flags->groups,
                  "Instead of pairs: between groups of benchmarks, of which this is one; * stands "
                  "for any text")
      ->TypeName("NAME=PATTERN[,PATTERN]")
      ->OneValueEach();
  command->AddFlag("--complete-cases", flags->complete_cases,
                   "Use only approaches that have every score, instead of pair by pair");
  command
      ->AddOption("--format", flags->format,
                  "markdown, latex (booktabs) or svg (a heat map), instead of --output")
      ->TypeName("FORMAT");
  command
      ->AddOption("--influences", flags->influences,
                  "For each pair, list this many approaches whose absence changes it most")
      ->TypeName("COUNT");
  command->AddFlag("--swaps", flags->swaps,
                   "For each pair, list the approaches that swap places (text and JSON)");
  if (fetch != nullptr) {
    command->AddFlag("--watch", flags->watch,
                     "Follow the sweep: the matrix again after each finished cell, until the "
                     "sweep ends (intervals only when --interval asks for them)");
  }
  // A coefficient without its interval says more than is known: intervals are the default.
  flags->interval.level = 0.95;
  Option* interval = AddIntervalOptions(command, flags->interval)->DefaultText("0.95");
  command
      ->AddOption("--interval-method,--method", flags->method,
                  "bca, percentile (bootstrap over approaches) or fisher (analytic)")
      ->ShowDefault();
  command
      ->AddOption("--difference", flags->differences,
                  "Concurrence of A and B less that of A and C (or C and D), with an interval")
      ->TypeName("A,B,C[,D]")
      ->OneValueEach();
  command->AddFlag("--bounds", flags->bounds,
                   "For each pair, between what it could lie whatever the missing scores are");
  OnRun(command, context, [flags, interval, &context, fetch = std::move(fetch)] {
    flags->interval_asked = interval->Count() > 0;
    return RunMatrix(*flags, context, fetch);
  });
}

}  // namespace concur::cli
