#include "core/sweep.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "core/command_template.h"
#include "core/names.h"

namespace concur {
namespace {

constexpr std::array<absl::string_view, 3> kDataFormatNames = {"qa", "file", "qa-variants"};
constexpr std::array<absl::string_view, 3> kEvaluateOnNames = {"same", "all", "listed"};
constexpr std::array<absl::string_view, 4> kSelectionNames = {"best", "default", "mean", "each"};

template <typename... Parts>
absl::Status Invalid(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

// The same status with the field before its message.
absl::Status At(absl::string_view field, const absl::Status& status) {
  return status.ok() ? status
                     : absl::Status(status.code(), absl::StrCat(field, ": ", status.message()));
}

absl::Status CheckCount(absl::string_view field, uint64_t count, uint64_t count_max) {
  if (count > count_max) {
    return Invalid(field, ": expected at most ", count_max, ", got ", count);
  }
  return absl::OkStatus();
}

absl::Status CheckText(absl::string_view field, absl::string_view text, size_t bytes_max) {
  if (text.size() > bytes_max) {
    return Invalid(field, ": expected at most ", bytes_max, " bytes, got ", text.size());
  }
  if (absl::StrContains(text, '\0')) {
    return Invalid(field, ": expected text without NUL bytes");
  }
  return absl::OkStatus();
}

absl::Status CheckTags(const std::string& field, const Tags& tags) {
  CONCUR_RETURN_IF_ERROR(CheckCount(field, tags.size(), kTagsMax));
  for (const auto& [name, value] : tags) {
    CONCUR_RETURN_IF_ERROR(At(field, ValidateName(name)));
    CONCUR_RETURN_IF_ERROR(CheckText(absl::StrCat(field, ".", name), value, kNameBytesMax));
  }
  return absl::OkStatus();
}

absl::Status CheckCommand(const std::string& field, const std::vector<std::string>& command,
                          CommandKind kind, const Setting& hyperparameters) {
  CONCUR_RETURN_IF_ERROR(CheckCount(field, command.size(), kArgumentsMax));
  for (size_t i = 0; i < command.size(); ++i) {
    const std::string place = absl::StrCat(field, "[", i, "]");
    CONCUR_RETURN_IF_ERROR(CheckText(place, command[i], kTextBytesMax));
    CONCUR_RETURN_IF_ERROR(At(place, CheckArgument(command[i], kind, hyperparameters).status()));
  }
  if (!command.empty() && command[0].empty()) {
    return Invalid(field, "[0]: expected the name of a program, got \"\"");
  }
  return absl::OkStatus();
}

absl::Status CheckEnvironment(const std::string& field,
                              const std::map<std::string, std::string>& env) {
  CONCUR_RETURN_IF_ERROR(CheckCount(field, env.size(), kArgumentsMax));
  for (const auto& [name, value] : env) {
    bool valid = !name.empty() && name.size() <= kNameBytesMax && !absl::ascii_isdigit(name[0]);
    for (char c : name) {
      valid = valid && (absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_');
    }
    if (!valid || absl::StartsWith(name, "CONCUR_")) {
      return Invalid(field, ": expected the name of an environment variable that does not start ",
                     "with CONCUR_, got \"", absl::Utf8SafeCEscape(name.substr(0, 100)), "\"");
    }
    CONCUR_RETURN_IF_ERROR(CheckText(absl::StrCat(field, ".", name), value, kTextBytesMax));
  }
  return absl::OkStatus();
}

absl::Status CheckResources(const std::string& field, const Resources& resources) {
  constexpr int64_t kCpuMillisMax = 1'000'000'000;
  if (resources.cpu_millis < 0 || resources.cpu_millis > kCpuMillisMax) {
    return Invalid(field, ".cpus: expected 0 to 1000000, got ", resources.cpu_millis / 1000);
  }
  if (resources.memory_bytes < 0) {
    return Invalid(field, ".memory: expected a size, got ", resources.memory_bytes);
  }
  if (resources.gpus < 0 || resources.gpus > kGpusMax) {
    return Invalid(field, ".gpus: expected 0 to ", kGpusMax, ", got ", resources.gpus);
  }
  return absl::OkStatus();
}

absl::Status CheckTimeout(absl::string_view field, absl::Duration timeout) {
  if (timeout < absl::Seconds(1)) {
    return Invalid(field, ": expected at least 1s, got ", absl::FormatDuration(timeout));
  }
  return absl::OkStatus();
}

absl::Status CheckParams(const std::string& field, const Hyperparameters& hyperparameters) {
  CONCUR_RETURN_IF_ERROR(CheckCount(field, hyperparameters.defaults.size(), kHyperparametersMax));
  for (const auto& [name, value] : hyperparameters.defaults) {
    CONCUR_RETURN_IF_ERROR(At(field, ValidateHyperparameterName(name)));
    CONCUR_RETURN_IF_ERROR(
        CheckText(absl::StrCat(field, ".default.", name), ParamText(value), kTextBytesMax));
  }
  CONCUR_RETURN_IF_ERROR(At(field, ValidateHyperparameters(hyperparameters)));
  for (const auto& [name, distribution] : hyperparameters.space) {
    if (const auto* choice = std::get_if<Choice>(&distribution)) {
      CONCUR_RETURN_IF_ERROR(
          CheckCount(absl::StrCat(field, ".space.", name), choice->values.size(), kSettingsMax));
      for (const ParamValue& value : choice->values) {
        CONCUR_RETURN_IF_ERROR(
            CheckText(absl::StrCat(field, ".space.", name), ParamText(value), kTextBytesMax));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status CheckApproach(const std::string& field, const ApproachSpec& approach) {
  CONCUR_RETURN_IF_ERROR(At(absl::StrCat(field, ".name"), ValidateName(approach.name)));
  CONCUR_RETURN_IF_ERROR(CheckTags(absl::StrCat(field, ".tags"), approach.tags));
  if (approach.version.empty()) {
    return Invalid(field, ".version: expected the version of the approach's code, got \"\"");
  }
  CONCUR_RETURN_IF_ERROR(
      CheckText(absl::StrCat(field, ".version"), approach.version, kNameBytesMax));
  CONCUR_RETURN_IF_ERROR(
      CheckParams(absl::StrCat(field, ".hyperparameters"), approach.hyperparameters));
  if (approach.predict_command.empty()) {
    return Invalid(field, ".predict.command: expected a command, got none");
  }
  const Setting& defaults = approach.hyperparameters.defaults;
  CONCUR_RETURN_IF_ERROR(CheckCommand(absl::StrCat(field, ".train.command"), approach.train_command,
                                      CommandKind::kTrain, defaults));
  CONCUR_RETURN_IF_ERROR(CheckCommand(absl::StrCat(field, ".predict.command"),
                                      approach.predict_command, CommandKind::kPredict, defaults));
  CONCUR_RETURN_IF_ERROR(CheckEnvironment(absl::StrCat(field, ".env"), approach.env));
  CONCUR_RETURN_IF_ERROR(
      CheckResources(absl::StrCat(field, ".train.resources"), approach.train_resources));
  CONCUR_RETURN_IF_ERROR(
      CheckResources(absl::StrCat(field, ".predict.resources"), approach.predict_resources));
  CONCUR_RETURN_IF_ERROR(
      CheckTags(absl::StrCat(field, ".train.resources.labels"), approach.train_labels));
  CONCUR_RETURN_IF_ERROR(
      CheckTags(absl::StrCat(field, ".predict.resources.labels"), approach.predict_labels));
  CONCUR_RETURN_IF_ERROR(
      CheckTimeout(absl::StrCat(field, ".train.timeout"), approach.train_timeout));
  return CheckTimeout(absl::StrCat(field, ".predict.timeout"), approach.predict_timeout);
}

absl::Status CheckDataFile(const std::string& field, const std::optional<DataFile>& file) {
  if (!file) {
    return absl::OkStatus();
  }
  constexpr size_t kSuffixBytesMax = 32;
  bool valid =
      file->suffix.size() <= kSuffixBytesMax && (file->suffix.empty() || file->suffix[0] == '.');
  for (char c : file->suffix) {
    valid = valid && (absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' ||
                      c == '-');
  }
  if (!valid) {
    return Invalid(field, ".suffix: expected a suffix such as \".jsonl.gz\", got \"",
                   absl::Utf8SafeCEscape(file->suffix.substr(0, 100)), "\"");
  }
  if (file->bytes < 0) {
    return Invalid(field, ".bytes: expected a size, got ", file->bytes);
  }
  return CheckText(absl::StrCat(field, ".path"), file->path, kTextBytesMax);
}

absl::Status CheckBenchmark(const std::string& field, const BenchmarkSpec& benchmark) {
  CONCUR_RETURN_IF_ERROR(At(absl::StrCat(field, ".name"), ValidateName(benchmark.name)));
  CONCUR_RETURN_IF_ERROR(CheckTags(absl::StrCat(field, ".tags"), benchmark.tags));
  CONCUR_RETURN_IF_ERROR(CheckTags(absl::StrCat(field, ".resources.labels"), benchmark.labels));
  CONCUR_RETURN_IF_ERROR(CheckDataFile(absl::StrCat(field, ".train"), benchmark.train));
  CONCUR_RETURN_IF_ERROR(CheckDataFile(absl::StrCat(field, ".test"), benchmark.test));
  if (!benchmark.train && !benchmark.test) {
    return Invalid(field, ": expected a train or a test file, got neither");
  }
  CONCUR_RETURN_IF_ERROR(At(absl::StrCat(field, ".metric"), ValidateName(benchmark.metric)));
  if (IsQa(benchmark.format) && benchmark.metric != "exact_match" && benchmark.metric != "f1") {
    return Invalid(field, ".metric: expected exact_match or f1 for format qa, got \"",
                   benchmark.metric, "\"");
  }
  return absl::OkStatus();
}

absl::Status CheckTrainSet(const std::string& field, const SweepSpec& spec,
                           const TrainSet& train_set) {
  CONCUR_RETURN_IF_ERROR(At(absl::StrCat(field, ".name"), ValidateName(train_set.name)));
  CONCUR_RETURN_IF_ERROR(CheckTags(absl::StrCat(field, ".tags"), train_set.tags));
  if (train_set.parts.empty()) {
    return Invalid(field, ".parts: expected at least one benchmark, got none");
  }
  std::set<uint32_t> seen;
  for (size_t i = 0; i < train_set.parts.size(); ++i) {
    const TrainSet::Part& part = train_set.parts[i];
    const std::string place = absl::StrCat(field, ".parts[", i, "]");
    if (part.benchmark >= spec.benchmarks.size()) {
      return Invalid(place, ".benchmark: expected an index below ", spec.benchmarks.size(),
                     ", got ", part.benchmark);
    }
    const BenchmarkSpec& benchmark = spec.benchmarks[part.benchmark];
    if (!seen.insert(part.benchmark).second) {
      return Invalid(place, ".benchmark: \"", benchmark.name, "\" stands twice in one mixture");
    }
    if (!benchmark.train) {
      return Invalid(place, ".benchmark: \"", benchmark.name, "\" has no train file");
    }
    if (train_set.IsMixture() && !IsQa(benchmark.format)) {
      return Invalid(place, ".benchmark: expected format qa in a mixture, got \"", benchmark.name,
                     "\" of format file");
    }
    if (part.examples_max < 0) {
      return Invalid(place, ".examples_max: expected 0 or more, got ", part.examples_max);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckExcludeRule(const std::string& field, const SweepSpec& spec,
                              const ExcludeRule& rule) {
  if (!rule.approach && !rule.train_set && !rule.test_benchmark) {
    return Invalid(field, ": expected an approach, a train set or a test benchmark, got none");
  }
  if (rule.approach && *rule.approach >= spec.approaches.size()) {
    return Invalid(field, ".approach: expected an index below ", spec.approaches.size(), ", got ",
                   *rule.approach);
  }
  if (rule.train_set && *rule.train_set >= spec.train_sets.size()) {
    return Invalid(field, ".train_set: expected an index below ", spec.train_sets.size(), ", got ",
                   *rule.train_set);
  }
  if (rule.test_benchmark && *rule.test_benchmark >= spec.benchmarks.size()) {
    return Invalid(field, ".test_benchmark: expected an index below ", spec.benchmarks.size(),
                   ", got ", *rule.test_benchmark);
  }
  return absl::OkStatus();
}

absl::Status CheckRetry(const RetryPolicy& retry) {
  if (retry.failures_max < 1 || retry.failures_max > kAttemptsMax) {
    return Invalid("retry.failures_max: expected 1 to ", kAttemptsMax, ", got ",
                   retry.failures_max);
  }
  if (retry.lost_max > kAttemptsMax) {
    return Invalid("retry.lost_max: expected 0 to ", kAttemptsMax, ", got ", retry.lost_max);
  }
  if (retry.backoff_min < absl::ZeroDuration() || retry.backoff_max < retry.backoff_min ||
      retry.backoff_max > absl::Hours(24)) {
    return Invalid("retry: expected 0s <= backoff_min <= backoff_max <= 24h, got ",
                   absl::FormatDuration(retry.backoff_min), " and ",
                   absl::FormatDuration(retry.backoff_max));
  }
  return absl::OkStatus();
}

absl::Status CheckSizes(const SweepSpec& spec) {
  CONCUR_RETURN_IF_ERROR(CheckCount("approaches", spec.approaches.size(), kApproachesMax));
  CONCUR_RETURN_IF_ERROR(CheckCount("benchmarks", spec.benchmarks.size(), kBenchmarksMax));
  CONCUR_RETURN_IF_ERROR(CheckCount("train_sets", spec.train_sets.size(), kTrainSetsMax));
  CONCUR_RETURN_IF_ERROR(CheckCount("exclude", spec.exclude.size(), kExcludeRulesMax));
  CONCUR_RETURN_IF_ERROR(CheckCount("settings.random", spec.random_settings, kSettingsMax - 1));
  CONCUR_RETURN_IF_ERROR(CheckCount("seeds", spec.seeds.size(), kSeedsMax));
  CONCUR_RETURN_IF_ERROR(CheckText("description", spec.description, kTextBytesMax));
  if (spec.approaches.empty()) {
    return Invalid("approaches: expected at least one, got none");
  }
  if (spec.benchmarks.empty()) {
    return Invalid("benchmarks: expected at least one, got none");
  }
  if (spec.seeds.empty()) {
    return Invalid("seeds: expected at least one, got none");
  }
  if (spec.priority > kPriorityMax || spec.priority < -kPriorityMax) {
    return Invalid("priority: expected ", -kPriorityMax, " to ", kPriorityMax, ", got ",
                   spec.priority);
  }
  return absl::OkStatus();
}

absl::Status CheckSeedsDiffer(std::vector<int64_t> seeds) {
  std::sort(seeds.begin(), seeds.end());
  const auto repeated = std::adjacent_find(seeds.begin(), seeds.end());
  if (repeated != seeds.end()) {
    return Invalid("seeds: ", *repeated, " stands twice");
  }
  return absl::OkStatus();
}

absl::Status CheckEvaluateBenchmarks(const SweepSpec& spec) {
  if (spec.evaluate_on == EvaluateOn::kListed && spec.evaluate_benchmarks.empty()) {
    return Invalid("evaluate_on: expected at least one benchmark, got none");
  }
  for (size_t i = 0; i < spec.evaluate_benchmarks.size(); ++i) {
    const uint32_t benchmark = spec.evaluate_benchmarks[i];
    const std::string place = absl::StrCat("evaluate_on[", i, "]");
    if (benchmark >= spec.benchmarks.size()) {
      return Invalid(place, ": expected an index below ", spec.benchmarks.size(), ", got ",
                     benchmark);
    }
    if (!spec.benchmarks[benchmark].test) {
      return Invalid(place, ": \"", spec.benchmarks[benchmark].name, "\" has no test file");
    }
  }
  return absl::OkStatus();
}

// Checks each element and that no two have the same name.
template <typename List, typename Check>
absl::Status CheckList(absl::string_view field, const List& list, Check check) {
  std::set<absl::string_view> names;
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string place = absl::StrCat(field, "[", i, "]");
    CONCUR_RETURN_IF_ERROR(check(place, list[i]));
    if (!names.insert(list[i].name).second) {
      return Invalid(place, ".name: \"", list[i].name, "\" stands twice in ", field);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::string_view DataFormatName(DataFormat format) { return NameIn(kDataFormatNames, format); }
absl::StatusOr<DataFormat> DataFormatFromName(absl::string_view name) {
  return FromNameIn<DataFormat>(kDataFormatNames, "data format", name);
}
absl::string_view EvaluateOnName(EvaluateOn evaluate_on) {
  return NameIn(kEvaluateOnNames, evaluate_on);
}
absl::StatusOr<EvaluateOn> EvaluateOnFromName(absl::string_view name) {
  return FromNameIn<EvaluateOn>(kEvaluateOnNames, "choice of test sets", name);
}
absl::string_view SelectionName(Selection selection) { return NameIn(kSelectionNames, selection); }
absl::StatusOr<Selection> SelectionFromName(absl::string_view name) {
  return FromNameIn<Selection>(kSelectionNames, "selection", name);
}

absl::Status ValidateName(absl::string_view name) {
  bool valid = !name.empty() && absl::ascii_isalnum(static_cast<unsigned char>(name[0]));
  for (char c : name) {
    valid = valid &&
            (absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains("._+-@=", c));
  }
  if (!valid) {
    return Invalid(
        "expected a name of letters, digits and \"._+-@=\" that starts with a letter or digit, "
        "got \"",
        absl::Utf8SafeCEscape(name.substr(0, 100)), "\"");
  }
  return name.size() <= kNameBytesMax
             ? absl::OkStatus()
             : Invalid("expected a name of at most ", kNameBytesMax, " bytes, got ", name.size());
}

absl::Status ValidateHyperparameterName(absl::string_view name) {
  bool valid = !name.empty() && name.size() <= kNameBytesMax &&
               (absl::ascii_isalpha(static_cast<unsigned char>(name[0])) || name[0] == '_');
  for (char c : name) {
    valid = valid &&
            (absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains("_-.", c));
  }
  return valid ? absl::OkStatus()
               : Invalid(
                     "expected the name of a hyperparameter (letters, digits, \"_\", \"-\", "
                     "\".\", starting with a letter or \"_\"), got \"",
                     absl::Utf8SafeCEscape(name.substr(0, 100)), "\"");
}

absl::Status ValidateSweepSpec(const SweepSpec& spec) {
  CONCUR_RETURN_IF_ERROR(At("name", ValidateName(spec.name)));
  CONCUR_RETURN_IF_ERROR(CheckSizes(spec));
  CONCUR_RETURN_IF_ERROR(CheckList("approaches", spec.approaches, CheckApproach));
  CONCUR_RETURN_IF_ERROR(CheckList("benchmarks", spec.benchmarks, CheckBenchmark));
  CONCUR_RETURN_IF_ERROR(CheckList("train_sets", spec.train_sets,
                                   [&](const std::string& place, const TrainSet& train_set) {
                                     return CheckTrainSet(place, spec, train_set);
                                   }));
  for (size_t i = 0; i < spec.exclude.size(); ++i) {
    CONCUR_RETURN_IF_ERROR(
        CheckExcludeRule(absl::StrCat("exclude[", i, "]"), spec, spec.exclude[i]));
  }
  CONCUR_RETURN_IF_ERROR(CheckEvaluateBenchmarks(spec));
  CONCUR_RETURN_IF_ERROR(CheckRetry(spec.retry));
  return CheckSeedsDiffer(spec.seeds);
}

}  // namespace concur
