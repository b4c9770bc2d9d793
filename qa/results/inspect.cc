// SPDX-License-Identifier: Apache-2.0
// Logs of Inspect: JSON documents, and .eval files, which are zip archives of header.json,
// summaries.json and samples/*.json.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/archive/zip_entries.h"
#include "base/file.h"
#include "base/metric_meaning.h"
#include "base/status_macros.h"
#include "base/table/words.h"
#include "qa/results/example_means.h"
#include "qa/results/json.h"
#include "qa/results/reader.h"
#include "qa/results/results.h"
#include "qa/results/settings.h"
#include "qa/results/variants.h"

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

// "NAME", or with parameters that are set "NAME(grader=…)": what else was measured is another
// metric.
std::string WithParameters(const std::string& name, const MaybeJson& parameters) {
  constexpr size_t kParametersBytesMax = 60;
  Settings set;
  AddSettings(set, "params", parameters);
  std::string text = absl::StrJoin(set, ", ", absl::PairFormatter("="));
  return text.empty()
             ? name
             : absl::StrCat(name, "(", text.size() > kParametersBytesMax ? ShortDigest(text) : text,
                            ")");
}

void TakeScore(const JsonValue& score, int64_t samples, const std::string& path, Run& run,
               FileResults& results) {
  const std::string scorer = Text(Field(score, "name"));
  const std::string full_name = WithParameters(scorer, Field(score, "params"));
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
    metric.name = absl::StrCat(full_name.empty() ? "" : full_name + "/",
                               WithParameters(name, Field(field.value, "params")),
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

// The scores of samples by the scorer that made the main metric.
class SampleScores {
 public:
  explicit SampleScores(std::string scorer) : scorer_(std::move(scorer)) {}

  // A sample, or its summary.
  absl::Status Add(const JsonValue& sample, absl::string_view place) {
    const std::string id = Text(Field(sample, "id"));
    is_twice_ = is_twice_ || !seen_.emplace(id, Text(Field(sample, "epoch"))).second;
    return means_.Add(id, SampleValue(Field(Field(Field(sample, "scores"), scorer_), "value")),
                      place);
  }
  absl::Status AddAll(const simdjson::dom::array& samples, absl::string_view place) {
    for (const JsonValue sample : samples) {
      CONCUR_RETURN_IF_ERROR(Add(sample, place));
    }
    return absl::OkStatus();
  }

  void Store(const std::string& path, Run& run, std::vector<Skipped>& skipped) const {
    if (is_twice_) {
      skipped.push_back({"per-example scores with an epoch of a sample twice", path});
    } else if (!means_.empty()) {
      means_.Store(path, run, skipped);
    }
  }

 private:
  std::string scorer_;
  ExampleMeans means_;
  std::set<std::pair<std::string, std::string>> seen_;  // id, epoch
  bool is_twice_ = false;
};

// Names are PROVIDER/MODEL, PROVIDER/ORG/MODEL, or PROVIDER/SERVICE/MODEL.
std::string FamilyOfModel(absl::string_view model) {
  const size_t slash = model.find('/');
  if (slash == absl::string_view::npos || !absl::StrContains(model.substr(slash + 1), '/')) {
    return FamilyInName(model);
  }
  const absl::string_view rest = model.substr(slash + 1);
  for (const char* service : {"azure/", "bedrock/", "vertex/"}) {
    if (absl::StartsWith(rest, service)) {
      return std::string(model.substr(0, slash));
    }
  }
  return FamilyInName(rest);
}

// Samples of the data set that were asked for, or scored, if fewer; "" when it was all.
std::string LimitOfEval(const MaybeJson& eval, const MaybeJson& outcome) {
  const auto total = Integer(Field(outcome, "total_samples"));
  const auto completed = Integer(Field(outcome, "completed_samples"));
  if (total.has_value() && completed.has_value() && *completed < *total) {
    return absl::StrCat(*completed);
  }
  if (const auto scores = List(Field(outcome, "scores"))) {
    for (const JsonValue score : *scores) {
      if (Integer(Field(score, "unscored_samples")).value_or(0) > 0) {
        return absl::StrCat(Integer(Field(score, "scored_samples")).value_or(0));
      }
    }
  }
  const MaybeJson config = Field(eval, "config");
  const MaybeJson dataset = Field(eval, "dataset");
  const auto all = Integer(Field(dataset, "samples"));
  const MaybeJson limit = Field(config, "limit");
  const auto count = Number(limit);
  if (limit.has_value() && !(all.has_value() && count.has_value() && *count >= 0 &&
                             *count >= static_cast<double>(*all))) {
    return count.has_value() ? Text(limit) : simdjson::minify(*limit);
  }
  const auto ids = List(Field(dataset, "sample_ids"));
  return all.has_value() && ids.has_value() && ids->size() > 0 &&
                 static_cast<int64_t>(ids->size()) < *all
             ? absl::StrCat(ids->size())
             : "";
}

// Fields of "eval" that are no settings of their own: names, times, what is read elsewhere, and
// defaults beside their changes. "revision" is counted where it differs.
constexpr absl::string_view kNoEvalSettings =
    "|config|created|dataset|eval_id|eval_set_id|metrics|model|model_args|model_generate_config|"
    "model_roles|model_base_url|packages|revision|run_id|scorers|task|task_args|task_args_passed|"
    "task_display_name|task_id|task_registry_name|task_version|viewer|";

void TakeEvalSettings(const JsonValue& root, const MaybeJson& eval, Run& run) {
  AddSettings(run.data_settings, "task_args", Field(eval, "task_args"));
  AddSetting(run.data_settings, "", kLimitSetting, LimitOfEval(eval, Field(root, "results")));
  const MaybeJson dataset = Field(eval, "dataset");
  AddDataSettings(run.data_settings, "dataset", Field(dataset, "name"));
  AddDataSettings(run.data_settings, "location", Field(dataset, "location"));
  AddSettings(run.data_settings, "samples", Field(dataset, "samples"));
  AddSettings(run.task_settings, "location", Field(dataset, "location"));
  AddSettings(run.task_settings, "shuffled", Field(dataset, "shuffled"));
  const MaybeJson config = Field(eval, "config");
  AddSettings(run.data_settings, "sample_id", Field(config, "sample_id"));
  for (const char* name :
       {"model_args", "model_generate_config", "model_roles", "model_base_url"}) {
    AddSettings(run.model_settings, name, Field(eval, name));
  }
  const MaybeJson plan = Field(root, "plan");
  AddSettings(run.model_settings, "plan", Field(plan, "config"));
  AddSettings(run.task_settings, "plan", plan, {"config"});
  const auto fields = Object(eval);
  for (const auto field : *fields) {
    const absl::string_view name(field.key.data(), field.key.size());
    if (!HasWord(kNoEvalSettings, name)) {
      AddSettings(run.task_settings, name, MaybeJson(field.value));
    }
  }
  AddSettings(run.task_settings, "packages", Field(eval, "packages"));
  // In flight at once, where other formats have a limit of that name.
  AddSettings(run.not_compared, "max_samples", Field(config, "max_samples"));
  AddSettings(run.task_settings, "config", config, {"limit", "sample_id", "max_samples"});
}

// The scorer of the main metric, if the log's header has a score: its run is then the last one of
// `results`, which otherwise say why there is none.
absl::StatusOr<std::optional<std::string>> TakeHeader(const JsonValue& root,
                                                      const std::string& path,
                                                      FileResults& results) {
  const MaybeJson eval = Field(root, "eval");
  if (!eval.has_value() || !eval->is_object()) {
    return WrongField(path, "eval", "an object, as in a log of Inspect", eval);
  }
  const std::optional<int64_t> version = Integer(Field(root, "version"));
  // Releases of March 2026 wrote 3, those after them 2 again; the scores are as in 2.
  if (version < 1 || version > 3) {
    return WrongField(path, "version", "1, 2 or 3, the versions that are known",
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
    return std::nullopt;
  }
  if (Boolean(Field(root, "invalidated")).value_or(false)) {
    results.skipped.push_back({"an evaluation that its log calls invalidated", path});
    return std::nullopt;
  }
  results.evaluation = Text(Field(eval, "eval_id"));
  AddTag(run.model_tags, "family", FamilyOfModel(run.model));
  run.tool = absl::StrCat("inspect ", Text(Field(Field(eval, "packages"), "inspect_ai")));
  run.data_revision = Text(Field(Field(eval, "revision"), "commit"));
  if (const std::string task_version = Text(Field(eval, "task_version")); task_version != "0") {
    run.version = task_version;
  }
  run.repeat = Text(Field(eval, "created"));
  AddTag(run.task_tags, "dataset", Text(Field(Field(eval, "dataset"), "name")));
  TakeEvalSettings(root, eval, run);
  const MaybeJson stats = Field(root, "stats");
  run.seconds =
      SecondsBetween(Text(Field(stats, "started_at")), Text(Field(stats, "completed_at")));
  if (const auto usage = Object(Field(stats, "model_usage"))) {
    size_t without_cost = 0;
    for (const auto field : *usage) {
      if (const auto tokens = Number(Field(MaybeJson(field.value), "total_tokens"))) {
        run.tokens = run.tokens.value_or(0) + *tokens;
      }
      const auto cost = Number(Field(MaybeJson(field.value), "total_cost"));
      run.cost_usd = run.cost_usd.value_or(0) + cost.value_or(0);
      without_cost += cost.has_value() ? 0 : 1;
    }
    if (without_cost > 0) {
      run.cost_usd.reset();  // covers some of the models alone
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
    TakeScore(score, samples, path, run, results);
  }
  if (run.metrics.empty()) {
    results.skipped.push_back({"an evaluation without a score", path});
    return std::nullopt;
  }
  results.runs.push_back(std::move(run));
  return Text(Field(scores->at(0).value_unsafe(), "name"));
}

absl::StatusOr<FileResults> ReadJsonLog(const std::string& path, JsonDocument& document) {
  FileResults results;
  results.path = path;
  CONCUR_ASSIGN_OR_RETURN(const JsonValue root, document.Read(path));
  results.digest = document.digest();
  CONCUR_ASSIGN_OR_RETURN(const std::optional<std::string> scorer, TakeHeader(root, path, results));
  const auto samples = List(Field(root, "samples"));
  if (scorer.has_value() && samples.has_value()) {
    SampleScores scores(*scorer);
    CONCUR_RETURN_IF_ERROR(scores.AddAll(*samples, path));
    scores.Store(path, results.runs.back(), results.skipped);
  }
  return results;
}

constexpr char kHeaderEntry[] = "header.json";
constexpr char kSummariesEntry[] = "summaries.json";
constexpr char kStartEntry[] = "_journal/start.json";

// The documents of an .eval file that say nearly all; absent where it has none.
struct EvalEntries {
  std::optional<std::string> header;
  std::optional<std::string> summaries;
  bool is_started = false;
};

absl::Status ReadEval(
    const std::string& path, absl::FunctionRef<bool(absl::string_view name)> wants,
    absl::FunctionRef<absl::Status(absl::string_view name, const std::string& contents)> take) {
  ZipLimits limits;
  limits.entry_bytes_max = kDocumentBytesMax;
  const absl::Status status = ReadZipEntries(path, limits, wants, take);
  // Entries are deflated, or packed with Zstandard, which is not in every libarchive.
  return absl::StrContains(status.message(), "Unsupported ZIP compression")
             ? absl::InvalidArgumentError(absl::StrCat(
                   status.message(),
                   "; inspect log convert FILE --to json --output-dir DIR makes a log to read"))
             : status;
}

absl::StatusOr<EvalEntries> ReadEvalEntries(const std::string& path) {
  EvalEntries entries;
  CONCUR_RETURN_IF_ERROR(ReadEval(
      path,
      [&](absl::string_view name) {
        entries.is_started = entries.is_started || name == kStartEntry;
        return name == kHeaderEntry || name == kSummariesEntry;
      },
      [&](absl::string_view name, const std::string& contents) {
        std::optional<std::string>& entry =
            name == kHeaderEntry ? entries.header : entries.summaries;
        if (entry.has_value()) {
          return absl::InvalidArgumentError(
              absl::StrCat(path, ": ", name, ": expected once, the archive has it twice"));
        }
        entry = contents;
        return absl::OkStatus();
      }));
  return entries;
}

// From the entries of the samples themselves, which have all that was said to the model.
absl::Status AddSampleEntries(const std::string& path, JsonDocument& document,
                              SampleScores& scores) {
  return ReadEval(
      path,
      [](absl::string_view name) {
        return name.empty() ||  // an id that is not ASCII
               (absl::StartsWith(name, "samples/") && absl::EndsWith(name, ".json"));
      },
      [&](absl::string_view name, const std::string& contents) -> absl::Status {
        const std::string place = absl::StrCat(path, ": ", name.empty() ? "a sample" : name);
        CONCUR_ASSIGN_OR_RETURN(const JsonValue sample, document.Parse(contents, place));
        return scores.Add(sample, place);
      });
}

absl::StatusOr<FileResults> ReadEvalLog(const std::string& path, JsonDocument& document) {
  FileResults results;
  results.path = path;
  CONCUR_ASSIGN_OR_RETURN(EvalEntries entries, ReadEvalEntries(path));
  CONCUR_ASSIGN_OR_RETURN(const FileDigest file, DigestFile(path));
  results.digest = file.digest;
  const std::string place = absl::StrCat(path, ": ", kHeaderEntry);
  if (!entries.header.has_value()) {
    if (entries.is_started) {
      results.skipped.push_back({"an evaluation with status started", path});
      return results;
    }
    return absl::InvalidArgumentError(
        absl::StrCat(place, ": expected this entry, as in a log of Inspect; the archive lacks it"));
  }
  CONCUR_ASSIGN_OR_RETURN(const JsonValue root, document.Parse(*entries.header, place));
  CONCUR_ASSIGN_OR_RETURN(const std::optional<std::string> scorer,
                          TakeHeader(root, place, results));
  if (!scorer.has_value()) {
    return results;
  }
  SampleScores scores(*scorer);
  if (entries.summaries.has_value()) {
    const std::string summaries_place = absl::StrCat(path, ": ", kSummariesEntry);
    CONCUR_ASSIGN_OR_RETURN(const JsonValue summaries,
                            document.Parse(*entries.summaries, summaries_place));
    const auto list = List(summaries);
    if (!list.has_value()) {
      return WrongField(summaries_place, "the document", "a list of samples", summaries);
    }
    CONCUR_RETURN_IF_ERROR(scores.AddAll(*list, summaries_place));
  } else {
    CONCUR_RETURN_IF_ERROR(AddSampleEntries(path, document, scores));
  }
  scores.Store(path, results.runs.back(), results.skipped);
  return results;
}

absl::StatusOr<FileResults> ReadInspect(const std::string& path, const ReadOptions& /*options*/,
                                        JsonDocument& document) {
  return absl::EndsWith(path, ".eval") ? ReadEvalLog(path, document) : ReadJsonLog(path, document);
}

}  // namespace

Format InspectFormat() {
  return {"inspect", "logs of Inspect",
          [](absl::string_view name) {  // eval-set lists its logs and tasks beside them
            const bool is_list = name == "logs.json" || name == "eval-set.json";
            return absl::EndsWith(name, ".eval") || (absl::EndsWith(name, ".json") && !is_list);
          },
          ReadInspect};
}

}  // namespace concur::imports
