// `concur rank`: macro averages over groups of benchmarks; `concur cross`: train × test tables;
// `concur scatter`: one benchmark against others.
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
#include "cli/command_line.h"
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

void AddSourceOptions(Command* command, RankFlags& flags, bool with_svg) {
  command->AddOption("sweep", flags.sweep, "A sweep, by name or id; or ./DIRECTORY of a bundle")
      ->TypeName("SWEEP");
  command
      ->AddOption("--where", flags.where,
                  "Only approaches (or benchmarks) with a tag; repeat to ask for several")
      ->TypeName("TAG=VALUE")
      ->OneValueEach();
  command->AddOption("--metric", flags.metric, "Of a sweep (default: each benchmark's own)")
      ->TypeName("NAME");
  command
      ->AddOption("--select", flags.select,
                  "How the settings of a sweep become one score: best, default, mean or each "
                  "(default: as the sweep says)")
      ->TypeName("RULE");
  AddFormatOption(command, flags.format, with_svg);
}

}  // namespace

void AddRankCommand(Command& app, CommandContext& context) {
  Command* command =
      app.AddSubcommand("rank", "Rank approaches by their average over groups of benchmarks");
  const auto flags = std::make_shared<RankFlags>();
  AddSourceOptions(command, *flags, /*with_svg=*/false);
  command
      ->AddOption("--scores", flags->scores,
                  "A scores CSV instead of a sweep; several are joined by the approaches' names")
      ->TypeName("FILE")
      ->OneValueEach();
  command
      ->AddOption("--group", flags->groups,
                  "Benchmarks to average, \"*\" for any text; may be repeated, and the first one "
                  "ranks (default: all)")
      ->TypeName("NAME=PATTERN[,...]")
      ->OneValueEach();
  command->AddOption("--by", flags->by, "Also an average for each value of a benchmarks' tag")
      ->TypeName("TAG");
  command
      ->AddOption("--baseline", flags->baseline,
                  "Also the first group's average less that of this approach")
      ->TypeName("NAME");
  command->Footer(
      "An approach that lacks a score of a group has no average of it, and is listed.\n"
      "Examples:\n  concur rank demo --by domain --baseline random-span\n"
      "  concur rank --scores dev.csv --group 'F1=*_f1' --group 'EM=*_em'");
  OnRun(command, context, [flags, &context] { return RunRank(*flags, context); });
}

void AddCrossCommand(Command& app, CommandContext& context) {
  Command* command = app.AddSubcommand(
      "cross", "Scores by train set and test set: mean ± sd over seeds, the best marked");
  const auto flags = std::make_shared<RankFlags>();
  AddSourceOptions(command, *flags, /*with_svg=*/true);
  command
      ->AddOption("--scores", flags->scores,
                  "A scores CSV instead of a sweep, with a column \"train\" that says what each "
                  "row was trained on")
      ->TypeName("FILE")
      ->Expected(1);
  OnRun(command, context, [flags, &context] { return RunCross(*flags, context); });
}

void AddScatterCommand(Command& app, CommandContext& context) {
  Command* command = app.AddSubcommand(
      "scatter", "One benchmark against others, approach by approach, with groups of approaches");
  const auto flags = std::make_shared<ScatterFlags>();
  AddSourceOptions(command, flags->source, /*with_svg=*/true);
  command
      ->AddOption("--scores", flags->source.scores,
                  "A scores CSV instead of a sweep: one row per approach, first column its name")
      ->TypeName("FILE")
      ->Expected(1);
  command->AddOption("--x", flags->x, "The benchmark on the x axis")
      ->TypeName("COLUMN")
      ->Required();
  command->AddOption("--y", flags->y, "The benchmarks on the y axes; quote names that have commas")
      ->TypeName("COLUMN[,...]")
      ->OneValueEach()
      ->Required();
  command
      ->AddOption("--group-by", flags->group_by,
                  "A tag of approaches: its values get markers and coefficients of their own")
      ->TypeName("TAG");
  command->Footer(
      "Example:\n  concur scatter --scores em.csv --x SQuAD --y NewsQA,QAMR --group-by pretrained "
      "--format svg > figure.svg");
  OnRun(command, context, [flags, &context] { return RunScatter(*flags, context); });
}

}  // namespace concur::cli
