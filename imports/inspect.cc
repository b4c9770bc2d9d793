// SPDX-License-Identifier: Apache-2.0
// Logs of Inspect as JSON (version 2; "inspect log convert" makes them from .eval files).
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/metric_meaning.h"
#include "base/status_macros.h"
#include "imports/example_means.h"
#include "imports/json.h"
#include "imports/reader.h"
#include "imports/results.h"

namespace concur::imports {
namespace {

// A measure of how sure or how spread a score is, and no score.
bool IsSpread(absl::string_view name) {
  return name == "stderr" || name == "std" || name == "var" || name == "bootstrap_stderr" ||
         name == "ci_lower" || name == "ci_upper";
}

// The values of correct, partial, incorrect and no answer, by Inspect's own table; numbers as they
// are.
std::optional<double> SampleValue(const MaybeJson& value) {
  if (const auto number = Number(value)) {
    return number;
  }
  if (const auto truth = Boolean(value)) {
    return *truth ? 1.0 : 0.0;
  }
  const std::string text = Text(value);
  if (text == "C") {
    return 1.0;
  }
  if (text == "P") {
    return 0.5;
  }
  if (text == "I" || text == "N") {
    return 0.0;
  }
  return std::nullopt;
}

void TakeScore(const JsonValue& score, bool several, int64_t samples, const std::string& path,
               Run& run, FileResults& results) {
  const std::string scorer = Text(Field(score, "name"));
  const std::string reducer = Text(Field(score, "reducer"));
  const auto metrics = Object(Field(score, "metrics"));
  if (!metrics.has_value()) {
    results.skipped.push_back({"a scorer without metrics", absl::StrCat(path, ": results.scores")});
    return;
  }
  std::optional<double> standard_error;
  for (const char* name : {"bootstrap_stderr", "stderr"}) {
    if (const auto value = Number(Field(Field(Field(score, "metrics"), name), "value"))) {
      standard_error = value;
    }
  }
  std::vector<Metric> taken;
  for (const auto field : *metrics) {
    const std::string name(field.key);
    const std::optional<double> value = Number(Field(MaybeJson(field.value), "value"));
    if (IsSpread(name)) {
      continue;
    }
    if (!value.has_value() || !std::isfinite(*value)) {
      results.skipped.push_back({"a metric whose value is no number",
                                 absl::StrCat(path, ": results.scores.", scorer, ".", name)});
      continue;
    }
    Metric metric;
    metric.name = absl::StrCat(several ? scorer + "/" : "", name,
                               reducer.empty() || reducer == "mean" ? "" : "/" + reducer);
    metric.value = *value;
    metric.examples = samples;
    metric.meaning.goal = UsuallyMinimized(name) ? Goal::kMinimize : Goal::kMaximize;
    if (name == "accuracy" || name == "mean") {
      metric.standard_error = standard_error;
      taken.insert(taken.begin(), std::move(metric));
    } else {
      taken.push_back(std::move(metric));
    }
  }
  run.metrics.insert(run.metrics.end(), std::make_move_iterator(taken.begin()),
                     std::make_move_iterator(taken.end()));
}

std::optional<double> SecondsBetween(const std::string& begin, const std::string& end) {
  absl::Time from;
  absl::Time to;
  std::string ignored;
  if (!absl::ParseTime(absl::RFC3339_full, begin, &from, &ignored) ||
      !absl::ParseTime(absl::RFC3339_full, end, &to, &ignored) || to < from) {
    return std::nullopt;
  }
  return absl::ToDoubleSeconds(to - from);
}

absl::Status TakeSamples(const JsonValue& root, const std::string& scorer, const std::string& path,
                         Run& run, FileResults& results) {
  const auto samples = List(Field(root, "samples"));
  if (!samples.has_value() || samples->size() == 0) {
    return absl::OkStatus();
  }
  ExampleMeans means;
  for (const JsonValue sample : *samples) {
    CONCUR_RETURN_IF_ERROR(
        means.Add(Text(Field(sample, "id")),
                  SampleValue(Field(Field(Field(sample, "scores"), scorer), "value")), path));
  }
  means.Store(path, run, results.skipped);
  return absl::OkStatus();
}

absl::StatusOr<FileResults> ReadInspect(const std::string& path, const ReadOptions& /*options*/,
                                        JsonDocument& document) {
  if (absl::EndsWith(path, ".eval")) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": an .eval file; convert it: inspect log convert FILE --to json --output-dir DIR"));
  }
  FileResults results;
  results.path = path;
  CONCUR_ASSIGN_OR_RETURN(const JsonValue root, document.Read(path));
  results.digest = document.digest();
  const MaybeJson eval = Field(root, "eval");
  if (!eval.has_value() || !eval->is_object()) {
    return WrongField(path, "eval", "an object, as in a log of Inspect", eval);
  }
  const std::optional<int64_t> version = Integer(Field(root, "version"));
  if (version != 1 && version != 2) {
    return WrongField(path, "version", "1 or 2, the versions that are known",
                      Field(root, "version"));
  }
  Run run;
  run.model = Text(Field(eval, "model"));
  run.task = Text(Field(eval, "task"));
  if (run.model.empty() || run.task.empty()) {
    const char* const missing = run.model.empty() ? "model" : "task";
    return WrongField(path, absl::StrCat("eval.", missing), "a name", Field(eval, missing));
  }
  const std::string status = Text(Field(root, "status"));
  if (status != "success") {
    results.skipped.push_back({absl::StrCat("an evaluation with status ",
                                            status.empty() ? "unknown" : status.substr(0, 40)),
                               path});
    return results;
  }
  AddTag(run.model_tags, "family", FamilyInName(run.model));
  run.tool = absl::StrCat("inspect ", Text(Field(Field(eval, "packages"), "inspect_ai")));
  run.data_revision = Text(Field(Field(eval, "revision"), "commit"));
  if (const std::string task_version = Text(Field(eval, "task_version")); task_version != "0") {
    run.version = task_version;
  }
  run.repeat = Text(Field(eval, "created"));
  AddTag(run.task_tags, "dataset", Text(Field(Field(eval, "dataset"), "name")));
  const MaybeJson stats = Field(root, "stats");
  run.seconds =
      SecondsBetween(Text(Field(stats, "started_at")), Text(Field(stats, "completed_at")));
  if (const auto usage = Object(Field(stats, "model_usage"))) {
    for (const auto field : *usage) {
      if (const auto tokens = Number(Field(MaybeJson(field.value), "total_tokens"))) {
        run.tokens = run.tokens.value_or(0) + *tokens;
      }
    }
  }
  const MaybeJson outcome = Field(root, "results");
  const auto scores = List(Field(outcome, "scores"));
  if (!scores.has_value()) {
    return WrongField(path, "results.scores", "a list of scores", Field(outcome, "scores"));
  }
  const int64_t samples =
      std::max<int64_t>(0, Integer(Field(outcome, "completed_samples")).value_or(0));
  for (const JsonValue score : *scores) {
    TakeScore(score, scores->size() > 1, samples, path, run, results);
  }
  if (run.metrics.empty()) {
    results.skipped.push_back({"an evaluation without a score", path});
    return results;
  }
  CONCUR_RETURN_IF_ERROR(
      TakeSamples(root, Text(Field(scores->at(0).value_unsafe(), "name")), path, run, results));
  results.runs.push_back(std::move(run));
  return results;
}

}  // namespace

Format InspectFormat() {
  return {"inspect", "logs of Inspect as JSON",
          [](absl::string_view name) {
            return absl::EndsWith(name, ".json") || absl::EndsWith(name, ".eval");
          },
          ReadInspect};
}

}  // namespace concur::imports
