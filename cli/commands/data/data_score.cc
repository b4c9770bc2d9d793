// SPDX-License-Identifier: Apache-2.0
// `concur data score`: exact match and F1 of predictions.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analysis/example_runs.h"
#include "analysis/statistics/intervals.h"
#include "base/command/command.h"
#include "base/output_file.h"
#include "base/status_macros.h"
#include "cli/commands/commands.h"
#include "cli/commands/score_options.h"
#include "cli/output/print.h"
#include "cli/output/table_output.h"
#include "qa/dataset_io.h"
#include "qa/example_intervals.h"
#include "qa/score.h"
#include "report/table.h"
#include "report/text.h"

namespace concur::cli {
namespace {

using analysis::HighCell;
using analysis::IntegerCell;
using analysis::Interval;
using analysis::LowCell;
using analysis::NumberCell;
using analysis::TextCell;

constexpr double kLevel = 0.95;

struct ScoreOptions {
  std::string data;
  std::string predictions;
  std::string per_example;
  std::string cluster;
  bool worst_of_variants = false;
};

// With 95 % intervals in percent.
struct Summary {
  qa::ScoreReport report;
  ExampleIntervals by_question;
  // By what the data tell that questions share, the default or chosen unit first; empty when they
  // share nothing.
  std::vector<ExampleIntervals> by_cluster;
};

Summary Summarize(qa::ScoreReport report, std::optional<analysis::ExampleUnit> unit) {
  Summary summary;
  summary.by_question = IntervalsOf(report, analysis::ExampleUnit::kExample, kLevel);
  std::vector<std::optional<analysis::ExampleUnit>> units = {unit};
  if (!unit.has_value()) {
    units = {std::nullopt, analysis::ExampleUnit::kDocument, analysis::ExampleUnit::kPassage};
  }
  for (const std::optional<analysis::ExampleUnit>& each : units) {
    ExampleIntervals intervals = IntervalsOf(report, each, kLevel);
    const bool is_new = std::none_of(summary.by_cluster.begin(), summary.by_cluster.end(),
                                     [&](const ExampleIntervals& other) {
                                       return other.clusters.unit == intervals.clusters.unit;
                                     });
    if (intervals.clusters.unit != analysis::ExampleUnit::kExample && is_new) {
      summary.by_cluster.push_back(std::move(intervals));
    }
  }
  summary.report = std::move(report);
  return summary;
}

Json EndsJson(const std::optional<Interval>& interval) {
  return interval.has_value() ? Json::array({interval->low, interval->high}) : Json();
}

std::string UnitName(const ExampleIntervals& intervals) {
  return std::string(analysis::ExampleUnitName(intervals.clusters.unit));
}

void PrintScoreJson(const Summary& summary, CommandContext& context) {
  const qa::ScoreReport& report = summary.report;
  Json json = {{"exact_match", report.exact_match},
               {"f1", report.f1},
               {"n", report.n},
               {"missing", report.missing},
               {"extra", report.extra},
               {"exact_match_interval", EndsJson(summary.by_question.exact_match)},
               {"f1_interval", EndsJson(summary.by_question.f1)}};
  for (const ExampleIntervals& intervals : summary.by_cluster) {
    json["clusters"].push_back({{"unit", UnitName(intervals)},
                                {"n", intervals.clusters.count},
                                {"exact_match_interval", EndsJson(intervals.exact_match)},
                                {"f1_interval", EndsJson(intervals.f1)}});
  }
  PrintJson(context, json);
}

analysis::Table ScoreCsv(const Summary& summary) {
  const qa::ScoreReport& report = summary.report;
  analysis::Table table = ListTable({{"exact_match"},
                                     {"f1"},
                                     {"n"},
                                     {"missing"},
                                     {"extra"},
                                     {"exact_match_low"},
                                     {"exact_match_high"},
                                     {"f1_low"},
                                     {"f1_high"}});
  table.rows = {{NumberCell(report.exact_match), NumberCell(report.f1), IntegerCell(report.n),
                 IntegerCell(report.missing), IntegerCell(report.extra),
                 LowCell(summary.by_question.exact_match),
                 HighCell(summary.by_question.exact_match), LowCell(summary.by_question.f1),
                 HighCell(summary.by_question.f1)}};
  for (const ExampleIntervals& intervals : summary.by_cluster) {
    for (const char* key : {"s", "_exact_match_low", "_exact_match_high", "_f1_low", "_f1_high"}) {
      table.columns.push_back(analysis::ForPrograms(UnitName(intervals) + key));
    }
    for (const analysis::TableCell& cell :
         {IntegerCell(static_cast<int64_t>(intervals.clusters.count)),
          LowCell(intervals.exact_match), HighCell(intervals.exact_match), LowCell(intervals.f1),
          HighCell(intervals.f1)}) {
      table.rows[0].push_back(cell);
    }
  }
  return table;
}

void PrintScoreSummary(const Summary& summary, CommandContext& context) {
  if (IsJson(context)) {
    PrintScoreJson(summary, context);
    return;
  }
  if (context.output == OutputMode::kCsv) {
    PrintRows(ScoreCsv(summary), context);
    return;
  }
  const qa::ScoreReport& report = summary.report;
  const auto interval_cell = [](const std::optional<Interval>& interval) {
    return TextCell(interval.has_value() ? analysis::IntervalText(*interval, 4) : "undefined");
  };
  analysis::Table table = ListTable({{"metric"}, {"percent", true, 4}});
  table.rows = {{TextCell("exact match"), NumberCell(report.exact_match)},
                {TextCell("F1"), NumberCell(report.f1)},
                {TextCell("questions"), IntegerCell(report.n)}};
  const auto add = [&](const std::string& head, const ExampleIntervals& intervals,
                       const std::string& count) {
    table.columns.push_back({head, head});
    table.rows[0].push_back(interval_cell(intervals.exact_match));
    table.rows[1].push_back(interval_cell(intervals.f1));
    table.rows[2].push_back(TextCell(count));
  };
  std::string head = "95 % interval";
  for (const ExampleIntervals& intervals : summary.by_cluster) {
    add(absl::StrCat(head, " by ", UnitName(intervals)), intervals,
        absl::StrCat("in ", intervals.clusters.count, " ", UnitName(intervals), "s"));
    head.clear();
  }
  add(summary.by_cluster.empty() ? head : "by question", summary.by_question, "");
  PrintRows(table, context);
}

absl::Status RunScore(const ScoreOptions& options, CommandContext& context) {
  CONCUR_ASSIGN_OR_RETURN(const std::optional<analysis::ExampleUnit> unit, UnitOf(options.cluster));
  CONCUR_ASSIGN_OR_RETURN(const qa::Predictions predictions,
                          qa::ReadPredictions(options.predictions));
  qa::ScoreReport report;
  if (options.worst_of_variants) {
    CONCUR_ASSIGN_OR_RETURN(const qa::Dataset dataset, qa::ReadDataset(options.data));
    report = qa::ScoreWorstOfVariants(dataset, predictions);
  } else {
    CONCUR_ASSIGN_OR_RETURN(report, qa::ScoreFile(options.data, predictions));
  }
  const Summary summary = Summarize(std::move(report), unit);
  if (!options.per_example.empty()) {
    CONCUR_RETURN_IF_ERROR(
        WriteOutput(options.per_example, qa::PerExampleJsonLines(summary.report)));
  }
  if (summary.report.missing > 0) {
    context.err << absl::StrFormat(
        "concur: warning: %d of %d questions have no prediction; each counts 0\n",
        summary.report.missing, summary.report.n);
  }
  if (summary.report.extra > 0) {
    context.err << absl::StrFormat("concur: warning: %d predictions have no question in %s\n",
                                   summary.report.extra, options.data);
  }
  PrintScoreSummary(summary, context);
  return absl::OkStatus();
}

}  // namespace

void AddDataScoreCommand(Command& data, CommandContext& context) {
  Command* score = data.AddSubcommand(
      "score", "score predictions: exact match and F1 with 95 % intervals, in percent");
  // Shared: the options live as long as the callback that CLI11 keeps.
  auto options = std::make_shared<ScoreOptions>();
  score->AddOption("--data", options->data, "Data set: SQuAD v1.1 JSON or MRQA lines")
      ->Required()
      ->TypeName("FILE");
  score->AddOption("--predictions", options->predictions, "Predictions: {\"id\": \"answer\"}")
      ->Required()
      ->TypeName("FILE");
  score
      ->AddOption("--per-example", options->per_example,
                  "Write each question's scores to this file, one JSON object a line")
      ->TypeName("OUT");
  AddClusterOption(score, options->cluster);
  score->AddFlag("--worst-of-variants", options->worst_of_variants,
                 "Ids ORIGINAL-SUFFIX are altered passages, of which the worst counts: AddSent, "
                 "AddOneSent");
  score->Footer(
      "Intervals by document or passage hold for other documents of the same kind: questions on "
      "one\nshare its subject and style. By question they hold for other questions on these "
      "same documents,\nif those were independent.\n"
      "Examples:\n  concur data score --data dev.json --predictions a.json\n"
      "  concur data score --data dev.json --predictions a.json --per-example a.jsonl");
  OnRun(score, context, [options, &context] { return RunScore(*options, context); });
}

}  // namespace concur::cli
