// SPDX-License-Identifier: Apache-2.0
#include "worker/execution/scorer.h"

#include <simdjson.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "core/fields.h"
#include "core/result.h"
#include "qa/dataset_io.h"
#include "qa/example_intervals.h"
#include "qa/example_scores.h"
#include "qa/json_text.h"
#include "qa/score.h"

namespace concur::worker {
namespace {

constexpr int64_t kPredictionsBytesMax = int64_t{1} << 30;
constexpr int64_t kMetricsBytesMax = 1 << 20;
constexpr int64_t kExamplesBytesMax = int64_t{256} << 20;
constexpr std::ptrdiff_t kExamplesMax = 1'000'000;  // the worker holds them beside other jobs
constexpr double kScoreLevel = 0.95;  // confidence level of the intervals reported with scores

// The file is named as commands name it: its path is gone when somebody reads the message.
constexpr char kMetricsFile[] = "{metrics}";

absl::Status MetricsError(absl::string_view found) {
  return absl::InvalidArgumentError(
      absl::StrCat(kMetricsFile, ": expected {\"name\": finite number, ...}, got ", found));
}

// Reason why a file is no JSON: a mistake that programs often make, else `error`.
std::string WhyNotJson(absl::string_view text, absl::string_view error) {
  const size_t first = text.find(':');
  if (first != absl::string_view::npos && !absl::StrContains(text.substr(0, first), '"')) {
    return "a name without double quotes";
  }
  for (size_t colon = first; colon != absl::string_view::npos; colon = text.find(':', colon + 1)) {
    absl::string_view value = absl::StripLeadingAsciiWhitespace(text.substr(colon + 1));
    const bool minus = absl::ConsumePrefix(&value, "-");
    for (const char* word : {"nan", "inf"}) {
      if (absl::StartsWithIgnoreCase(value, word)) {
        absl::string_view name = absl::StripTrailingAsciiWhitespace(text.substr(0, colon));
        absl::ConsumeSuffix(&name, "\"");
        name.remove_prefix(name.rfind('"') + 1);
        return absl::StrCat(minus ? "-" : "", word, " for ", Quoted(name));
      }
    }
  }
  return std::string(error);
}

absl::StatusOr<Metric> ReadMetric(absl::string_view name, const simdjson::dom::element& element) {
  Metric metric{std::string(name), 0, 0};
  if (!element.is_number() || element.get(metric.value) != simdjson::SUCCESS) {
    const absl::string_view kind = element.is_string()   ? "a string"
                                   : element.is_object() ? "an object"
                                   : element.is_array()  ? "a list"
                                   : element.is_bool()   ? "a bool"
                                                         : "null";
    return MetricsError(absl::StrCat(kind, " for ", Quoted(name)));
  }
  CONCUR_RETURN_IF_ERROR(
      AtField(FieldPath(kMetricsFile), CheckMetric(FieldPath().Entry("metric", name), metric)));
  return metric;
}

}  // namespace

absl::StatusOr<Scorer::Gold> Scorer::Load(uint64_t generation, const std::string& path) {
  {
    MutexLock lock(mu_);
    for (const auto& [kept_generation, gold] : kept_) {
      if (kept_generation == generation) {
        return gold;
      }
    }
  }
  CONCUR_ASSIGN_OR_RETURN(qa::Dataset dataset, qa::ReadDataset(path));
  if (dataset.QuestionCount() == 0) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": the test data has no question"));
  }
  Gold gold = std::make_shared<const qa::Dataset>(std::move(dataset));
  std::error_code error;
  const auto bytes = std::filesystem::file_size(path, error);
  if (!error && static_cast<int64_t>(bytes) <= kKeptBytesMax) {
    MutexLock lock(mu_);
    kept_.emplace_front(generation, gold);
    if (kept_.size() > kKeptMax) {
      kept_.pop_back();
    }
  }
  return gold;
}

absl::StatusOr<Scores> Scorer::Score(const Gold& gold, DataFormat format, const std::string& path) {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(path, error);
  if (!error && static_cast<int64_t>(bytes) > kPredictionsBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": predictions have ", bytes, " bytes; at most ", kPredictionsBytesMax, " are read"));
  }
  CONCUR_ASSIGN_OR_RETURN(const qa::Predictions predictions, qa::ReadPredictions(path));
  const qa::ScoreReport report = format == DataFormat::kQaVariants
                                     ? qa::ScoreWorstOfVariants(*gold, predictions)
                                     : qa::Score(*gold, predictions);
  if (report.missing == report.n) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": none of the ", report.extra,
                                                   " predictions has the id of one of the ",
                                                   report.n, " questions"));
  }
  Scores scores;
  const ExampleIntervals intervals = IntervalsOf(report, std::nullopt, kScoreLevel);
  const auto interval_of = [](const auto& interval) -> std::optional<MetricInterval> {
    if (!interval.has_value()) {
      return std::nullopt;
    }
    return MetricInterval{interval->low, interval->high};
  };
  scores.metrics = {
      {"exact_match", report.exact_match, report.n, interval_of(intervals.exact_match)},
      {"f1", report.f1, report.n, interval_of(intervals.f1)}};
  if (report.missing > 0) {
    scores.metrics.push_back(
        {kUnansweredMetric, static_cast<double>(report.missing), report.n, std::nullopt});
  }
  scores.examples = qa::PerExampleJsonLines(report);
  return scores;
}

absl::StatusOr<MetricsFile> ReadMetrics(const std::string& path) {
  absl::StatusOr<std::string> text = ReadFile(path, kMetricsBytesMax);
  if (absl::IsResourceExhausted(text.status())) {
    return absl::InvalidArgumentError(text.status().message());
  }
  CONCUR_RETURN_IF_ERROR(text.status());
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  const simdjson::error_code code = parser.parse(*text).get(object);
  if (code != simdjson::SUCCESS) {
    const std::string error = qa::ExplainJsonError(*text);
    return MetricsError(WhyNotJson(*text, error.empty() ? "no object" : error));
  }
  std::vector<Metric> metrics;
  for (const auto field : object) {
    CONCUR_ASSIGN_OR_RETURN(
        Metric metric,
        ReadMetric(absl::string_view(field.key.data(), field.key.size()), field.value));
    metrics.push_back(std::move(metric));
    if (metrics.size() > kMetricsMax) {
      return MetricsError(absl::StrCat("more than ", kMetricsMax, " metrics"));
    }
  }
  if (metrics.empty()) {
    return MetricsError("no metric");
  }
  std::sort(metrics.begin(), metrics.end(),
            [](const Metric& a, const Metric& b) { return a.name < b.name; });
  for (size_t i = 1; i < metrics.size(); ++i) {
    if (metrics[i].name == metrics[i - 1].name) {
      return MetricsError(absl::StrCat("\"", metrics[i].name, "\" twice"));
    }
  }
  return MetricsFile{*std::move(text), std::move(metrics)};
}

absl::StatusOr<ExamplesFile> ReadExamples(const std::string& path, std::vector<Metric>& metrics) {
  absl::StatusOr<std::string> text = ReadFile(path, kExamplesBytesMax);
  if (absl::IsResourceExhausted(text.status())) {
    return absl::InvalidArgumentError(text.status().message());
  }
  CONCUR_RETURN_IF_ERROR(text.status());
  if (std::count(text->begin(), text->end(), '\n') > kExamplesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("{examples}: expected at most ", kExamplesMax, " lines, got more"));
  }
  CONCUR_RETURN_IF_ERROR(qa::ParseExampleScores(*text, "{examples}").status());
  std::optional<absl::StatusOr<std::vector<qa::ExampleScore>>> unnamed;  // read when it is needed
  ExamplesFile file;
  bool found = false;
  std::string wrong;
  std::string without;
  for (Metric& metric : metrics) {
    absl::StatusOr<std::vector<qa::ExampleScore>> examples =
        qa::ParseExampleScores(*text, "{examples}", {metric.name});
    const bool has_its_name = !absl::IsNotFound(examples.status());
    if (!has_its_name) {
      without = std::string(examples.status().message());
      if (!unnamed.has_value()) {
        unnamed = qa::ParseExampleScores(*text, "{examples}", {"score", "f1"});
      }
      examples = *unnamed;
    }
    if (absl::IsNotFound(examples.status())) {
      continue;
    }
    CONCUR_RETURN_IF_ERROR(examples.status());
    const absl::Status same = qa::UnitOfMean(*examples, metric.name, metric.value).status();
    if (same.ok()) {
      metric.examples = static_cast<int64_t>(examples->size());
      found = true;
    } else {
      (has_its_name ? wrong : without) = std::string(same.message());
    }
  }
  if (!wrong.empty() || !found) {
    file.note = absl::StrCat(wrong.empty() ? without : wrong, ": they are compared by nothing");
  }
  file.text = *std::move(text);
  return file;
}

}  // namespace concur::worker
