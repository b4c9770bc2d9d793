// `concur rank`: macro averages over groups of benchmarks; `concur cross`: train × test tables;
// `concur scatter`: one benchmark against others.
#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "analysis/figures.h"
#include "analysis/generalization.h"
#include "analysis/score_table.h"
#include "analysis/selection.h"
#include "base/status_macros.h"
#include "cli/matrix_commands.h"
#include "cli/online_commands.h"
#include "cli/study.h"
#include "cli/table_output.h"

namespace concur::cli {
namespace {

struct RankFlags {
  std::string sweep;
  std::vector<std::string> scores;
  std::vector<std::string> groups;
  std::string by;
  std::string baseline;
  std::vector<std::string> where;
  std::string metric;
  std::string select;
  std::string format;
};

absl::StatusOr<analysis::ScoreTable> LoadTable(const RankFlags& flags, analysis::Layout layout,
                                               CommandContext& context) {
  if (flags.sweep.empty() == flags.scores.empty()) {
    return absl::InvalidArgumentError("expected either SWEEP or --scores FILE.csv");
  }
  analysis::ScoreTable table;
  if (flags.sweep.empty()) {
    std::vector<analysis::ScoreTable> tables;
    for (const std::string& path : flags.scores) {
      CONCUR_ASSIGN_OR_RETURN(analysis::ScoreTable part, ReadScores(path, context));
      tables.push_back(std::move(part));
    }
    CONCUR_ASSIGN_OR_RETURN(table, analysis::JoinTables(tables));
  } else {
    CONCUR_ASSIGN_OR_RETURN(const OpenedStudy opened, OpenStudy(context, flags.sweep));
    CONCUR_ASSIGN_OR_RETURN(table, ScoreTableOf(opened.study, flags.metric, flags.select, layout));
  }
  return table.Where(flags.where);
}

absl::Status RunRank(const RankFlags& flags, CommandContext& context) {
  CONCUR_RETURN_IF_ERROR(CheckFormat(flags.format));
  CONCUR_ASSIGN_OR_RETURN(const analysis::ScoreTable table,
                          LoadTable(flags, analysis::Layout::kTrainInColumns, context));
  std::vector<analysis::BenchmarkGroup> groups;
  for (const std::string& text : flags.groups) {
    CONCUR_ASSIGN_OR_RETURN(analysis::BenchmarkGroup group, analysis::ParseGroup(table, text));
    groups.push_back(std::move(group));
  }
  if (groups.empty()) {
    groups.push_back(analysis::AllBenchmarks(table));
  }
  if (!flags.by.empty()) {
    CONCUR_ASSIGN_OR_RETURN(std::vector<analysis::BenchmarkGroup> tagged,
                            analysis::GroupsByTag(table, flags.by));
    groups.insert(groups.end(), tagged.begin(), tagged.end());
  }
  CONCUR_ASSIGN_OR_RETURN(
      const analysis::Generalization ranking,
      analysis::RankByAverage(
          table, groups,
          flags.baseline.empty() ? std::nullopt : std::optional<std::string>(flags.baseline)));
  return PrintTable(analysis::GeneralizationTable(table, ranking), flags.format, context);
}

absl::Status RunCross(const RankFlags& flags, CommandContext& context) {
  CONCUR_RETURN_IF_ERROR(CheckFormat(flags.format, /*with_svg=*/true));
  CONCUR_ASSIGN_OR_RETURN(const analysis::ScoreTable table,
                          LoadTable(flags, analysis::Layout::kTrainInRows, context));
  if (flags.format == "svg") {
    CONCUR_ASSIGN_OR_RETURN(const std::string svg, analysis::CrossSvg(table));
    context.out << svg;
    return absl::OkStatus();
  }
  CONCUR_ASSIGN_OR_RETURN(const analysis::Table cross, analysis::CrossTable(table));
  return PrintTable(cross, flags.format, context);
}

struct ScatterFlags {
  RankFlags source;
  std::string x;
  std::vector<std::string> y;
  std::string group_by;
};

absl::Status RunScatter(const ScatterFlags& flags, CommandContext& context) {
  CONCUR_RETURN_IF_ERROR(CheckFormat(flags.source.format, /*with_svg=*/true));
  CONCUR_ASSIGN_OR_RETURN(const analysis::ScoreTable table,
                          LoadTable(flags.source, analysis::Layout::kTrainInColumns, context));
  analysis::ScatterOptions options;
  options.x = flags.x;
  options.group_by = flags.group_by;
  for (const std::string& value : flags.y) {
    CONCUR_ASSIGN_OR_RETURN(const std::vector<std::string> part, SplitNames("--y", value));
    options.y.insert(options.y.end(), part.begin(), part.end());
  }
  CONCUR_ASSIGN_OR_RETURN(const std::vector<analysis::ScatterPanel> panels,
                          analysis::ScatterPanels(table, options));
  if (flags.source.format == "svg") {
    context.out << analysis::ScatterSvg(table, panels);
    return absl::OkStatus();
  }
  return PrintTable(analysis::ScatterTable(table, panels), flags.source.format, context);
}

void AddSourceOptions(CLI::App* command, RankFlags& flags, bool with_svg) {
  command->add_option("sweep", flags.sweep, "A sweep, by name or id; or ./DIRECTORY of a bundle")
      ->type_name("SWEEP");
  command
      ->add_option("--where", flags.where,
                   "Only approaches (or benchmarks) with a tag; repeat to ask for several")
      ->type_name("TAG=VALUE")
      ->allow_extra_args(false);
  command->add_option("--metric", flags.metric, "Of a sweep (default: each benchmark's own)")
      ->type_name("NAME");
  command
      ->add_option("--select", flags.select,
                   "How the settings of a sweep become one score: best, default, mean or each "
                   "(default: as the sweep says)")
      ->type_name("RULE");
  AddFormatOption(command, flags.format, with_svg);
}

}  // namespace

void AddRankCommand(CLI::App& app, CommandContext& context) {
  CLI::App* command =
      app.add_subcommand("rank", "Rank approaches by their average over groups of benchmarks");
  const auto flags = std::make_shared<RankFlags>();
  AddSourceOptions(command, *flags, /*with_svg=*/false);
  command
      ->add_option("--scores", flags->scores,
                   "A scores CSV instead of a sweep; several are joined by the approaches' names")
      ->type_name("FILE")
      ->allow_extra_args(false);
  command
      ->add_option("--group", flags->groups,
                   "Benchmarks to average, \"*\" for any text; may be repeated, and the first one "
                   "ranks (default: all)")
      ->type_name("NAME=PATTERN[,...]")
      ->allow_extra_args(false);
  command->add_option("--by", flags->by, "Also an average for each value of a benchmarks' tag")
      ->type_name("TAG");
  command
      ->add_option("--baseline", flags->baseline,
                   "Also the first group's average less that of this approach")
      ->type_name("NAME");
  command->footer(
      "An approach that lacks a score of a group has no average of it, and is listed.\n"
      "Examples:\n  concur rank demo --by domain --baseline random-span\n"
      "  concur rank --scores dev.csv --group 'F1=*_f1' --group 'EM=*_em'");
  OnRun(command, context, [flags, &context] { return RunRank(*flags, context); });
}

void AddCrossCommand(CLI::App& app, CommandContext& context) {
  CLI::App* command = app.add_subcommand(
      "cross", "Scores by train set and test set: mean ± sd over seeds, the best marked");
  const auto flags = std::make_shared<RankFlags>();
  AddSourceOptions(command, *flags, /*with_svg=*/true);
  command
      ->add_option("--scores", flags->scores,
                   "A scores CSV instead of a sweep, with a column \"train\" that says what each "
                   "row was trained on")
      ->type_name("FILE")
      ->expected(1);
  OnRun(command, context, [flags, &context] { return RunCross(*flags, context); });
}

void AddScatterCommand(CLI::App& app, CommandContext& context) {
  CLI::App* command = app.add_subcommand(
      "scatter", "One benchmark against others, approach by approach, with groups of approaches");
  const auto flags = std::make_shared<ScatterFlags>();
  AddSourceOptions(command, flags->source, /*with_svg=*/true);
  command
      ->add_option("--scores", flags->source.scores,
                   "A scores CSV instead of a sweep: one row per approach, first column its name")
      ->type_name("FILE")
      ->expected(1);
  command->add_option("--x", flags->x, "The benchmark on the x axis")
      ->type_name("COLUMN")
      ->required();
  command->add_option("--y", flags->y, "The benchmarks on the y axes; quote names that have commas")
      ->type_name("COLUMN[,...]")
      ->allow_extra_args(false)
      ->required();
  command
      ->add_option("--group-by", flags->group_by,
                   "A tag of approaches: its values get markers and coefficients of their own")
      ->type_name("TAG");
  command->footer(
      "Example:\n  concur scatter --scores em.csv --x SQuAD --y NewsQA,QAMR --group-by pretrained "
      "--format svg > figure.svg");
  OnRun(command, context, [flags, &context] { return RunScatter(*flags, context); });
}

}  // namespace concur::cli
