// SPDX-License-Identifier: Apache-2.0
// `concur rank`: macro averages over groups of benchmarks; `concur transfer`: train × test tables;
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
#include "analysis/comparison/generalization.h"
#include "analysis/comparison/parts.h"
#include "analysis/comparison/rank_sets.h"
#include "analysis/comparison/selection.h"
#include "analysis/example_runs.h"
#include "analysis/references.h"
#include "analysis/score_table.h"
#include "base/command/command.h"
#include "base/status_macros.h"
#include "cli/commands/commands.h"
#include "cli/commands/score_options.h"
#include "cli/output/table_output.h"
#include "cli/study/example_runs.h"
#include "cli/study/open_study.h"
#include "cli/study/study.h"
#include "report/figures/figures.h"
#include "report/ranking_tables.h"
#include "report/sweep_table.h"

namespace concur::cli {
namespace {

struct RankFlags {
  std::string sweep;
  std::vector<std::string> scores;
  ScoreFileFlags file;
  std::vector<std::string> groups;
  std::string by;
  std::string baseline;
  std::vector<std::string> references;
  std::vector<std::string> columns;  // those that scatter asks for
  std::vector<std::string> where;
  std::string metric;
  std::string select;
  std::string format;
  std::string resolve;
  std::string errors;
  std::string examples;
  std::string cluster;
  IntervalFlags interval;
  double ties_within = 0;
};

// A sweep's name becomes its id: a newer sweep may take the name meanwhile.
absl::StatusOr<analysis::ScoreTable> LoadTable(RankFlags& flags, analysis::Layout layout,
                                               CommandContext& context) {
  if (flags.sweep.empty() == flags.scores.empty()) {
    return absl::InvalidArgumentError("expected either SWEEP or --scores FILE.csv");
  }
  analysis::ScoreTable table;
  if (flags.sweep.empty()) {
    std::vector<analysis::ScoreTable> tables;
    ScoreFileFlags file = flags.file;
    if (layout == analysis::Layout::kTrainInRows) {
      file.keys.insert(file.keys.begin(), "train");  // one name, a row for each train set
    }
    for (const std::string& path : flags.scores) {
      CONCUR_ASSIGN_OR_RETURN(analysis::ScoreTable part, ReadScores(path, file, context));
      tables.push_back(std::move(part));
    }
    CONCUR_ASSIGN_OR_RETURN(table, analysis::JoinTables(tables));
    CONCUR_RETURN_IF_ERROR(ApplyMinimize(flags.file, table));
  } else {
    CONCUR_ASSIGN_OR_RETURN(const OpenedStudy opened, OpenStudy(context, flags.sweep));
    CONCUR_ASSIGN_OR_RETURN(SweepTableOptions asked,
                            TableOptionsOf(flags.file, flags.select, layout));
    asked.columns = flags.columns;
    CONCUR_ASSIGN_OR_RETURN(table, ScoreTableOf(opened.study, flags.metric, asked));
    if (opened.client != nullptr) {
      flags.sweep = opened.study.sweep.id();
    }
  }
  return table.Where(flags.where);
}

// The averages with their error; nothing where ranks are not to be resolved.
absl::StatusOr<std::optional<analysis::RankEstimate>> RankEstimateOf(
    const RankFlags& flags, const analysis::ScoreTable& table,
    const analysis::Generalization& ranking, CommandContext& context) {
  const std::vector<size_t> approaches = analysis::RankedApproaches(ranking);
  const analysis::BenchmarkGroup& group = ranking.groups[0];
  const std::string by = !flags.resolve.empty()    ? flags.resolve
                         : !flags.errors.empty()   ? "errors"
                         : !flags.examples.empty() ? "examples"
                                                   : "";
  if (by.empty()) {
    return analysis::EstimateIfResolvable(table, ranking);
  }
  if (by == "none" || approaches.size() < 2) {
    return std::optional<analysis::RankEstimate>();
  }
  absl::StatusOr<analysis::RankEstimate> estimate;
  if (by == "benchmarks") {
    estimate = analysis::EstimateOverBenchmarks(table.Oriented(), ranking.groups, approaches);
  } else if (by == "errors") {
    if (flags.errors.empty()) {
      return absl::InvalidArgumentError("--resolve errors: needs --errors FILE.csv");
    }
    CONCUR_ASSIGN_OR_RETURN(analysis::ScoreTable errors, ReadScores(flags.errors, {}, context));
    for (const analysis::Conversion& one : ranking.converted) {
      for (size_t b = 0; b < errors.benchmarks().size(); ++b) {
        for (size_t i = 0;
             errors.benchmarks()[b].name == one.benchmark && i < errors.approaches().size(); ++i) {
          errors.cell(i, b).value *= one.factor;
        }
      }
    }
    estimate = analysis::EstimateFromErrors(table.Oriented(), group, approaches, errors);
  } else if (by == "examples") {
    CONCUR_ASSIGN_OR_RETURN(const std::optional<analysis::ExampleUnit> unit, UnitOf(flags.cluster));
    std::vector<std::string> columns;
    for (const size_t benchmark : group.benchmarks) {
      columns.push_back(table.benchmarks()[benchmark].name);
    }
    analysis::ExampleRuns runs;
    if (!flags.examples.empty()) {
      CONCUR_ASSIGN_OR_RETURN(
          runs, ReadExampleFolder(flags.examples, columns,
                                  flags.metric.empty() ? "exact_match" : flags.metric));
      for (size_t i = 0; i < runs.benchmarks.size(); ++i) {
        const std::optional<double> full_score = table.full_score(group.benchmarks[i]);
        if (!full_score.has_value()) {
          return absl::InvalidArgumentError(
              absl::StrCat("resolve: per-example scores are shares, and the scale of \"",
                           columns[i], "\" does not begin at 0: ",
                           ScaleText(table.benchmarks()[group.benchmarks[i]].metric.scale)));
        }
        runs.benchmarks[i].unit = *full_score;
      }
    } else if (!flags.sweep.empty()) {
      CONCUR_ASSIGN_OR_RETURN(const OpenedStudy opened, OpenStudy(context, flags.sweep));
      CONCUR_ASSIGN_OR_RETURN(const SweepTableOptions asked,
                              TableOptionsOf(flags.file, flags.select));
      CONCUR_ASSIGN_OR_RETURN(runs, ExampleRunsOf(opened.study, flags.metric, asked, columns));
    } else {
      return absl::InvalidArgumentError(
          "--resolve examples: needs a sweep, or --examples DIR with --scores");
    }
    estimate = analysis::EstimateOverExamples(table, group, approaches,
                                              analysis::MeansOverRuns(runs), unit);
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat("resolve: expected benchmarks, examples, errors or none, got \"", by, "\""));
  }
  CONCUR_RETURN_IF_ERROR(estimate.status());
  return std::optional(*std::move(estimate));
}

absl::Status RunRank(RankFlags& flags, CommandContext& context) {
  CONCUR_RETURN_IF_ERROR(CheckFormat(flags.format));
  CONCUR_ASSIGN_OR_RETURN(analysis::ScoreTable table,
                          LoadTable(flags, analysis::Layout::kTrainInColumns, context));
  CONCUR_RETURN_IF_ERROR(analysis::AddReferences(flags.references, table));
  std::vector<analysis::BenchmarkGroup> groups;
  for (const std::string& text : flags.groups) {
    CONCUR_ASSIGN_OR_RETURN(analysis::BenchmarkGroup group, analysis::ParseGroup(table, text));
    groups.push_back(std::move(group));
  }
  if (groups.empty()) {
    groups = analysis::GroupsByGoal(table);
  }
  const bool goals_differ = flags.groups.empty() && groups.size() > 1;
  if (!flags.by.empty()) {
    CONCUR_ASSIGN_OR_RETURN(std::vector<analysis::BenchmarkGroup> tagged,
                            analysis::GroupsByTag(table, flags.by));
    groups.insert(groups.end(), tagged.begin(), tagged.end());
  }
  analysis::AddPartGroups(table, groups);
  std::vector<analysis::Conversion> converted = analysis::ToPercent(groups, table);
  const std::string sizes = flags.groups.empty() ? analysis::SizesSentence(table, groups[0]) : "";
  if (!sizes.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        sizes,
        " Average benchmarks of one kind: --group NAME=PATTERN. All of them: --group \"all=*\"."));
  }
  CONCUR_ASSIGN_OR_RETURN(
      analysis::Generalization ranking,
      analysis::RankByAverage(
          table, groups,
          flags.baseline.empty() ? std::nullopt : std::optional<std::string>(flags.baseline)));
  ranking.converted = std::move(converted);
  CONCUR_ASSIGN_OR_RETURN(const std::optional<analysis::BootstrapOptions> bootstrap,
                          BootstrapOf(flags.interval));
  std::optional<analysis::RankEstimate> estimate;
  analysis::RankSetOptions options;
  options.ties_within = flags.ties_within;
  if (bootstrap.has_value()) {
    CONCUR_ASSIGN_OR_RETURN(estimate, RankEstimateOf(flags, table, ranking, context));
    options.level = bootstrap->level;
    options.draws = bootstrap->replicates;
    options.seed = bootstrap->seed;
    options.parallel_for = bootstrap->parallel_for;
  }
  if (flags.ties_within != 0 && !estimate.has_value()) {
    return absl::InvalidArgumentError(
        "--ties-within: needs --interval above 0, and three benchmarks or --resolve examples or "
        "errors: else there are no rank sets");
  }
  CONCUR_ASSIGN_OR_RETURN(const analysis::Table output,
                          analysis::RankingTable(table, ranking, goals_differ, estimate, options));
  return PrintTable(output, flags.format, context);
}

absl::Status RunTransfer(RankFlags& flags, CommandContext& context) {
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
  std::string families;
  std::vector<std::string> labels;
};

absl::Status RunScatter(ScatterFlags& flags, CommandContext& context) {
  CONCUR_RETURN_IF_ERROR(CheckFormat(flags.source.format, /*with_svg=*/true));
  analysis::ScatterOptions options;
  options.x = flags.x;
  options.group_by = flags.group_by;
  options.families = flags.families;
  CONCUR_ASSIGN_OR_RETURN(options.y, SplitAllNames("--y", flags.y));
  flags.source.columns = options.y;
  flags.source.columns.push_back(flags.x);
  CONCUR_ASSIGN_OR_RETURN(const analysis::ScoreTable table,
                          LoadTable(flags.source, analysis::Layout::kTrainInColumns, context));
  CONCUR_ASSIGN_OR_RETURN(options.labels, SplitAllNames("--label", flags.labels));
  CONCUR_ASSIGN_OR_RETURN(const std::vector<analysis::ScatterPanel> panels,
                          analysis::ScatterPanels(table, options));
  if (flags.source.format == "svg") {
    context.out << analysis::ScatterSvg(table, panels);
    return absl::OkStatus();
  }
  return PrintTable(analysis::ScatterTable(table, panels), flags.source.format, context);
}

void AddSourceOptions(Command* command, RankFlags& flags, CommandContext& context, bool with_svg) {
  command->AddOption("sweep", flags.sweep, "A sweep, by name or id; or ./DIRECTORY of a bundle")
      ->TypeName("SWEEP");
  AddWhereOption(command, flags.where);
  command->AddOption("--metric", flags.metric, "A sweep's metric (default: each benchmark's own)")
      ->TypeName("NAME");
  AddSelectOption(command, flags.select);
  AddScoreFileOptions(command, flags.file);
  AddFormatOption(command, flags.format, context, with_svg);
}

}  // namespace

void AddRankCommand(Command& app, CommandContext& context) {
  Command* command =
      app.AddSubcommand("rank", "Rank approaches by their average over groups of benchmarks");
  const auto flags = std::make_shared<RankFlags>();
  AddSourceOptions(command, *flags, context, /*with_svg=*/false);
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
                  "Also each approach's average in the first group minus that of this approach")
      ->TypeName("NAME");
  AddReferenceOption(command, flags->references);
  command
      ->AddOption("--resolve", flags->resolve,
                  "Source of chance: benchmarks, examples (their test examples), errors (of "
                  "--errors) or none (default: errors or examples where given, else benchmarks)")
      ->TypeName("UNIT");
  command
      ->AddOption("--errors", flags->errors,
                  "Standard errors of the scores, a CSV like that of the scores")
      ->TypeName("FILE");
  command
      ->AddOption("--examples", flags->examples,
                  "Per-example scores: DIR/APPROACH/BENCHMARK/RUN.jsonl, as \"concur data score "
                  "--per-example\" writes them")
      ->TypeName("DIR");
  AddClusterOption(command, flags->cluster);
  command
      ->AddOption("--ties-within", flags->ties_within,
                  "In rank sets, averages that differ by at most this count as equal")
      ->TypeName("DIFFERENCE");
  flags->interval.level = analysis::RankSetOptions().level;
  flags->interval.replicates = analysis::RankSetOptions().draws;
  AddIntervalOptions(command, flags->interval)->DefaultText("0.95");
  command->Footer(
      "Averages are over benchmarks that the ranked approaches share; what is left out is listed.\n"
      "Rank sets say which ranks the data allow; no two approaches of one group are told apart.\n"
      "Examples:\n  concur rank demo --by synthetic --baseline random-span\n"
      "  concur rank --scores dev.csv --group 'F1=*_f1' --group 'EM=*_em'");
  OnRun(command, context, [flags, &context] { return RunRank(*flags, context); });
}

void AddTransferCommand(Command& app, CommandContext& context) {
  Command* command = app.AddSubcommand(
      "transfer", "Scores by train set and test set: mean ± sd over seeds, the best marked");
  const auto flags = std::make_shared<RankFlags>();
  AddSourceOptions(command, *flags, context, /*with_svg=*/true);
  command
      ->AddOption("--scores", flags->scores,
                  "A scores CSV instead of a sweep, with a column \"train\" that says what each "
                  "row was trained on")
      ->TypeName("FILE")
      ->Expected(1);
  AddTrainColumnOption(command, flags->file);
  command->Footer(
      "Examples:\n  concur transfer study\n  concur transfer --scores transfer.csv --format latex");
  OnRun(command, context, [flags, &context] { return RunTransfer(*flags, context); });
}

void AddScatterCommand(Command& app, CommandContext& context) {
  Command* command = app.AddSubcommand(
      "scatter", "One benchmark against others, approach by approach, with groups of approaches");
  const auto flags = std::make_shared<ScatterFlags>();
  AddSourceOptions(command, flags->source, context, /*with_svg=*/true);
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
  AddFamiliesOption(command, flags->families);
  command
      ->AddOption("--label", flags->labels,
                  "Approaches whose points are named in the figure, \"*\" for any text")
      ->TypeName("NAME[,...]")
      ->OneValueEach();
  command->Footer(
      "Examples:\n  concur scatter demo --x cloze --y wordnet,fuzzy\n"
      "  concur scatter --scores em.csv --x SQuAD --y QAMR --format svg > figure.svg");
  OnRun(command, context, [flags, &context] { return RunScatter(*flags, context); });
}

}  // namespace concur::cli
