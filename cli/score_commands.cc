#include "cli/score_commands.h"

#include <array>
#include <charconv>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analysis/intervals.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "cli/command_line.h"
#include "qa/dataset_io.h"
#include "qa/score.h"

namespace concur::cli {
namespace {

using analysis::Interval;

constexpr double kLevel = 0.95;

struct ScoreOptions {
  std::string data;
  std::string predictions;
  std::string per_example;
  bool worst_of_variants = false;
};

// A report with its 95 % intervals, in percent; absent where the statistic is not defined.
struct Summary {
  qa::ScoreReport report;
  std::optional<Interval> exact_match_interval;
  std::optional<Interval> f1_interval;
};

std::string Number(double value) {
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  return std::string(digits.data(), end);
}

std::optional<Interval> InPercent(const absl::StatusOr<Interval>& fraction) {
  if (!fraction.ok()) {
    return std::nullopt;
  }
  return Interval{100 * fraction->low, 100 * fraction->high};
}

Summary Summarize(qa::ScoreReport report) {
  std::vector<double> f1;
  f1.reserve(report.examples.size());
  for (const qa::ExampleScore& example : report.examples) {
    f1.push_back(example.f1);
  }
  Summary summary;
  summary.exact_match_interval =
      InPercent(analysis::ClopperPearson(report.exact_matches, report.n, kLevel));
  summary.f1_interval = InPercent(analysis::MeanInterval(f1, kLevel));
  summary.report = std::move(report);
  return summary;
}

std::string JsonInterval(const std::optional<Interval>& interval) {
  return interval.has_value()
             ? absl::StrCat("[", Number(interval->low), ", ", Number(interval->high), "]")
             : "null";
}

std::string CsvInterval(const std::optional<Interval>& interval) {
  return interval.has_value() ? absl::StrCat(Number(interval->low), ",", Number(interval->high))
                              : ",";
}

std::string TableRow(absl::string_view name, double value,
                     const std::optional<Interval>& interval) {
  return absl::StrFormat("%-12s  %8.4f  %s\n", name, value,
                         interval.has_value()
                             ? absl::StrFormat("[%.4f, %.4f]", interval->low, interval->high)
                             : "undefined");
}

void Print(const Summary& summary, CommandContext& context) {
  const qa::ScoreReport& report = summary.report;
  switch (context.output) {
    case OutputMode::kJson:
    case OutputMode::kJsonLines:
      context.out << "{\"exact_match\": " << Number(report.exact_match)
                  << ", \"f1\": " << Number(report.f1) << ", \"n\": " << report.n
                  << ", \"missing\": " << report.missing << ", \"extra\": " << report.extra
                  << ", \"exact_match_interval\": " << JsonInterval(summary.exact_match_interval)
                  << ", \"f1_interval\": " << JsonInterval(summary.f1_interval) << "}\n";
      return;
    case OutputMode::kCsv:
      context.out << "exact_match,f1,n,missing,extra,exact_match_low,exact_match_high,f1_low,"
                     "f1_high\n"
                  << Number(report.exact_match) << "," << Number(report.f1) << "," << report.n
                  << "," << report.missing << "," << report.extra << ","
                  << CsvInterval(summary.exact_match_interval) << ","
                  << CsvInterval(summary.f1_interval) << "\n";
      return;
    case OutputMode::kTable:
      context.out << "metric         percent  95 % interval\n"
                  << TableRow("exact match", report.exact_match, summary.exact_match_interval)
                  << TableRow("F1", report.f1, summary.f1_interval)
                  << absl::StrFormat("questions     %8d\n", report.n);
  }
}

absl::Status RunScore(const ScoreOptions& options, CommandContext& context) {
  CONCUR_ASSIGN_OR_RETURN(const qa::Predictions predictions,
                          qa::ReadPredictions(options.predictions));
  qa::ScoreReport report;
  if (options.worst_of_variants) {
    CONCUR_ASSIGN_OR_RETURN(const qa::Dataset dataset, qa::ReadDataset(options.data));
    report = qa::ScoreWorstOfVariants(dataset, predictions);
  } else {
    CONCUR_ASSIGN_OR_RETURN(report, qa::ScoreFile(options.data, predictions));
  }
  const Summary summary = Summarize(std::move(report));
  if (!options.per_example.empty()) {
    CONCUR_RETURN_IF_ERROR(
        WriteFileAtomically(options.per_example, qa::PerExampleJsonLines(summary.report)));
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
  Print(summary, context);
  return absl::OkStatus();
}

}  // namespace

void AddScoreCommands(Command& app, CommandContext& context) {
  Command* score = app.AddSubcommand(
      "score", "Score predictions: exact match and F1 with 95 % intervals, in percent");
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
  score->AddFlag("--worst-of-variants", options->worst_of_variants,
                 "Ids ORIGINAL-SUFFIX are altered passages, of which the worst counts: AddSent, "
                 "AddOneSent");
  OnRun(score, context, [options, &context] { return RunScore(*options, context); });
}

}  // namespace concur::cli
