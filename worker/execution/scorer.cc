// SPDX-License-Identifier: Apache-2.0
#include "worker/execution/scorer.h"

#include <simdjson.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
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
constexpr std::ptrdiff_t kExampleLinesMax = 1'000'000;  // the worker holds them beside other jobs
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
  return absl::StrCat("no JSON: ", error);
}

static_assert(qa::kPartBytesMax == kNameBytesMax);

// "accuracy" of a part: `"accuracy" of the part "anatomy"`.
std::string Named(const Metric& metric) {
  return absl::StrCat(Quoted(metric.name),
                      metric.part.empty() ? "" : " of the part " + Quoted(metric.part));
}

absl::StatusOr<Metric> ReadMetric(absl::string_view part, absl::string_view name,
                                  const simdjson::dom::element& element) {
  Metric metric{std::string(name), 0, 0, std::nullopt, std::string(part)};
  if (!element.is_number() || element.get(metric.value) != simdjson::SUCCESS) {
    const absl::string_view kind = element.is_string()   ? "a string"
                                   : element.is_object() ? "an object"
                                   : element.is_array()  ? "a list"
                                   : element.is_bool()   ? "a bool"
                                                         : "null";
    return MetricsError(absl::StrCat(kind, " for ", Named(metric)));
  }
  const FieldPath whole;
  const FieldPath parts = whole.Field("parts");
  const FieldPath in_part = parts.Entry("part", part);
  CONCUR_RETURN_IF_ERROR(
      AtField(FieldPath(kMetricsFile),
              CheckMetric((part.empty() ? whole : in_part).Entry("metric", name), metric)));
  return metric;
}

// Appends what one entry of "parts" says.
absl::Status ReadPart(absl::string_view part, const simdjson::dom::element& element,
                      std::vector<Metric>& metrics) {
  constexpr absl::string_view kCountKey = "n";
  CONCUR_RETURN_IF_ERROR(AtField(FieldPath(kMetricsFile), CheckName(FieldPath("part"), part)));
  simdjson::dom::object object;
  if (element.get(object) != simdjson::SUCCESS) {
    return MetricsError(absl::StrCat("something else for the part ", Quoted(part)));
  }
  const size_t first = metrics.size();
  int64_t examples = 0;
  bool counted = false;
  for (const auto field : object) {
    const absl::string_view name(field.key.data(), field.key.size());
    if (name == "parts" && field.value.is_object()) {
      return MetricsError(
          absl::StrCat("parts within the part ", Quoted(part), "; write all parts in one list"));
    }
    if (name != kCountKey) {
      CONCUR_ASSIGN_OR_RETURN(Metric metric, ReadMetric(part, name, field.value));
      metrics.push_back(std::move(metric));
    } else if (std::exchange(counted, true)) {
      return MetricsError(absl::StrCat("\"n\" of the part ", Quoted(part), " twice"));
    } else if (field.value.get(examples) != simdjson::SUCCESS || examples < 1 ||
               examples > kExamplesMax) {
      return MetricsError(absl::StrCat(
          "another value than a count of examples for \"n\" of the part ", Quoted(part)));
    }
  }
  if (metrics.size() == first) {
    return MetricsError(absl::StrCat("no metric for the part ", Quoted(part)));
  }
  for (size_t i = first; i < metrics.size(); ++i) {
    metrics[i].examples = examples;
  }
  return absl::OkStatus();
}

absl::Status ReadParts(const simdjson::dom::object& parts, std::vector<Metric>& metrics) {
  if (parts.size() == 0) {
    return MetricsError("no part in \"parts\"");
  }
  if (parts.size() > kPartsMax) {
    return MetricsError(absl::StrCat("more than ", kPartsMax, " parts"));
  }
  std::set<absl::string_view> names;
  for (const auto field : parts) {
    const absl::string_view part(field.key.data(), field.key.size());
    if (!names.insert(part).second) {
      return MetricsError(absl::StrCat("the part ", Quoted(part), " twice"));
    }
    CONCUR_RETURN_IF_ERROR(ReadPart(part, field.value, metrics));
  }
  return absl::OkStatus();
}

// Adds the means of metrics that all parts have and the whole lacks.
// REQUIRES: no metric comes twice.
void AddMeansOfParts(std::vector<Metric>& metrics) {
  std::set<absl::string_view> parts;
  std::set<std::string> taken;
  std::map<std::string, std::vector<const Metric*>> by_name;
  for (const Metric& metric : metrics) {
    if (metric.part.empty()) {
      taken.insert(metric.name);
    } else {
      parts.insert(metric.part);
      by_name[metric.name].push_back(&metric);
    }
  }
  std::vector<Metric> means;
  for (const auto& [name, of_parts] : by_name) {
    if (of_parts.size() < parts.size() || taken.count(name) > 0) {
      continue;
    }
    Metric& mean = means.emplace_back(Metric{name, 0, 0});
    bool counted = true;
    for (const Metric* one : of_parts) {
      mean.value += one->value / static_cast<double>(of_parts.size());
      mean.examples = std::min(mean.examples + one->examples, kExamplesMax);
      counted = counted && one->examples > 0;
    }
    mean.examples = counted ? mean.examples : 0;
  }
  metrics.insert(metrics.end(), means.begin(), means.end());
}

// Gives the metrics `name` of parts the number of their examples. NotFound where there are no such
// metrics; InvalidArgument where one is not the mean of its per-example scores.
absl::Status CountExamplesOfParts(std::vector<qa::ExampleScore> examples, const std::string& name,
                                  std::vector<Metric>& metrics) {
  const auto is_asked = [&name](const Metric& metric) {
    return !metric.part.empty() && metric.name == name;
  };
  if (std::none_of(metrics.begin(), metrics.end(), is_asked)) {
    return absl::NotFoundError("no part");
  }
  std::map<std::string, std::vector<qa::ExampleScore>> by_part = qa::ByPart(std::move(examples));
  absl::Status status;
  for (Metric& metric : metrics) {
    if (!is_asked(metric)) {
      continue;
    }
    const std::vector<qa::ExampleScore>& of_part = by_part[metric.part];
    if (of_part.empty()) {
      status.Update(absl::InvalidArgumentError(
          absl::StrCat("per-example scores have no \"part\": ", Quoted(metric.part))));
      continue;
    }
    const absl::Status same = qa::UnitOfMean(of_part, Named(metric), metric.value).status();
    status.Update(same);
    if (same.ok()) {
      metric.examples = static_cast<int64_t>(of_part.size());
    }
  }
  return status;
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

absl::StatusOr<std::vector<Metric>> ParseMetrics(const std::string& text) {
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  const simdjson::error_code code = parser.parse(text).get(object);
  if (code != simdjson::SUCCESS) {
    const std::string error = qa::ExplainJsonError(text);
    return MetricsError(WhyNotJson(text, error.empty() ? "no object" : error));
  }
  std::vector<Metric> metrics;
  bool has_parts = false;
  size_t plain = 0;
  for (const auto field : object) {
    const absl::string_view name(field.key.data(), field.key.size());
    simdjson::dom::object parts;
    if (name == "parts" && field.value.get(parts) == simdjson::SUCCESS) {
      if (std::exchange(has_parts, true)) {
        return MetricsError("\"parts\" twice");
      }
      CONCUR_RETURN_IF_ERROR(ReadParts(parts, metrics));
      continue;
    }
    CONCUR_ASSIGN_OR_RETURN(Metric metric, ReadMetric("", name, field.value));
    metrics.push_back(std::move(metric));
    if (++plain > kMetricsMax) {
      return MetricsError(absl::StrCat("more than ", kMetricsMax, " metrics"));
    }
  }
  if (metrics.empty()) {
    return MetricsError("no metric");
  }
  std::sort(metrics.begin(), metrics.end(), ComesBefore);
  for (size_t i = 1; i < metrics.size(); ++i) {
    if (!ComesBefore(metrics[i - 1], metrics[i])) {
      return MetricsError(absl::StrCat(Named(metrics[i]), " twice"));
    }
  }
  const auto check_counts = [&metrics] {
    return AtField(FieldPath(kMetricsFile), CheckMetricCounts(FieldPath(), metrics));
  };
  CONCUR_RETURN_IF_ERROR(check_counts());
  AddMeansOfParts(metrics);
  std::sort(metrics.begin(), metrics.end(), ComesBefore);
  CONCUR_RETURN_IF_ERROR(check_counts());
  return metrics;
}

absl::StatusOr<MetricsFile> ReadMetrics(const std::string& path) {
  absl::StatusOr<std::string> text = ReadFile(path, kMetricsBytesMax);
  if (absl::IsResourceExhausted(text.status())) {
    return absl::InvalidArgumentError(text.status().message());
  }
  CONCUR_RETURN_IF_ERROR(text.status());
  CONCUR_ASSIGN_OR_RETURN(std::vector<Metric> metrics, ParseMetrics(*text));
  return MetricsFile{*std::move(text), std::move(metrics)};
}

absl::StatusOr<ExamplesFile> ReadExamples(const std::string& path, std::vector<Metric>& metrics) {
  absl::StatusOr<std::string> text = ReadFile(path, kExamplesBytesMax);
  if (absl::IsResourceExhausted(text.status())) {
    return absl::InvalidArgumentError(text.status().message());
  }
  CONCUR_RETURN_IF_ERROR(text.status());
  if (std::count(text->begin(), text->end(), '\n') > kExampleLinesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("{examples}: expected at most ", kExampleLinesMax, " lines, got more"));
  }
  CONCUR_RETURN_IF_ERROR(qa::ParseExampleScores(*text, "{examples}").status());
  std::optional<absl::StatusOr<std::vector<qa::ExampleScore>>> unnamed;  // read when it is needed
  ExamplesFile file;
  bool found = false;
  std::string wrong;
  std::string without;
  for (Metric& metric : metrics) {
    if (!metric.part.empty()) {
      continue;  // with the whole's metric of its name
    }
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
    const size_t count = examples->size();
    const absl::Status of_parts = CountExamplesOfParts(*std::move(examples), metric.name, metrics);
    if (same.ok()) {
      metric.examples = static_cast<int64_t>(count);
      found = true;
    } else if (of_parts.ok()) {
      found = true;  // a mean over parts need not be that over examples
    }
    if (const absl::Status& status = absl::IsNotFound(of_parts) ? same : of_parts; !status.ok()) {
      (has_its_name ? wrong : without) = std::string(status.message());
    }
  }
  if (!wrong.empty() || !found) {
    file.note = absl::StrCat(wrong.empty() ? without : wrong, ": they are compared by nothing");
  }
  file.text = *std::move(text);
  return file;
}

}  // namespace concur::worker
