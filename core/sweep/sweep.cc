// SPDX-License-Identifier: Apache-2.0
#include "core/sweep/sweep.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/escape.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "core/names.h"
#include "core/reported_step.h"
#include "core/result.h"
#include "core/spent.h"
#include "core/sweep/command_template.h"

namespace concur {
namespace {

constexpr std::array<absl::string_view, 3> kDataFormatNames = {"qa", "file", "qa-variants"};
constexpr std::array<absl::string_view, 5> kSelectionNames = {"best", "default", "mean", "each",
                                                              "best-on-test"};
// Names of models and tasks, with the version and the number of shots that an import adds.
constexpr size_t kImportedNameBytesMax = 300;

absl::Status CheckTags(const FieldPath& path, const Tags& tags) {
  CONCUR_RETURN_IF_ERROR(CheckCount(path, tags.size(), kTagsMax));
  for (const auto& [name, value] : tags) {
    CONCUR_RETURN_IF_ERROR(AtField(path, ValidateName(name)));
    CONCUR_RETURN_IF_ERROR(CheckLine(path.Field(name), value));
  }
  return absl::OkStatus();
}

// The labels that jobs ask for.
absl::Status CheckWants(const FieldPath& path, const Labels& labels) {
  if (labels.contains(kImageLabel)) {
    return FieldError(path,
                      "expected no environment.image; give the approach an environment: "
                      "{image: REGISTRY/NAME@sha256:…}");
  }
  return CheckTags(path, labels);
}

absl::Status CheckTemplate(const FieldPath& path, absl::string_view name,
                           const std::vector<std::string>& command, CommandKind kind,
                           const ApproachSpec& approach) {
  CONCUR_RETURN_IF_ERROR(CheckCommand(path, name, command));
  for (size_t i = 0; i < command.size(); ++i) {
    CONCUR_RETURN_IF_ERROR(AtField(
        path.Field(name, i),
        CheckArgument(command[i], kind, approach.CodeOf(kind == CommandKind::kTrain).has_value(),
                      approach.hyperparameters.defaults)
            .status()));
  }
  return absl::OkStatus();
}

absl::Status CheckDistribution(const FieldPath& path, const Distribution& distribution) {
  if (const auto* choice = std::get_if<Choice>(&distribution)) {
    CONCUR_RETURN_IF_ERROR(CheckCount(path, choice->values.size(), kSettingsMax));
    for (const ParamValue& value : choice->values) {
      CONCUR_RETURN_IF_ERROR(CheckText(path, ParamText(value), kTextBytesMax));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckHyperparameters(const FieldPath& path, const Hyperparameters& hyperparameters) {
  CONCUR_RETURN_IF_ERROR(CheckSetting(path, "default", hyperparameters.defaults));
  CONCUR_RETURN_IF_ERROR(AtField(path, ValidateHyperparameters(hyperparameters)));
  const FieldPath space = path.Field("space");
  for (const auto& [name, distribution] : hyperparameters.space) {
    CONCUR_RETURN_IF_ERROR(CheckDistribution(space.Field(name), distribution));
  }
  return absl::OkStatus();
}

absl::Status CheckSettingCount(const FieldPath& path, const Hyperparameters& hyperparameters,
                               uint32_t random) {
  return CountSettings(hyperparameters, random) <= kSettingsMax
             ? absl::OkStatus()
             : FieldError(path, absl::StrCat("expected at most ", kSettingsMax,
                                             " settings, got more; shorten its grids or give a "
                                             "smaller settings.random"));
}

absl::Status CheckUses(const FieldPath& path, const Uses& uses) {
  CONCUR_RETURN_IF_ERROR(CheckCount(path, uses.size(), kUsesMax));
  for (const auto& [name, units] : uses) {
    CONCUR_RETURN_IF_ERROR(AtField(path, ValidateName(name)));
    CONCUR_RETURN_IF_ERROR(CheckRange(path.Field(name), units, 1, kUnitsMax));
  }
  return absl::OkStatus();
}

absl::Status CheckService(const FieldPath& path, const ApproachSpec& approach) {
  const auto asks = [&](absl::string_view address) {
    return UsesPlaceholder(approach.predict_command, absl::StrCat("service.", address));
  };
  if (!approach.service) {
    return asks("url") || asks("socket")
               ? FieldError(path.Field("predict.command"),
                            absl::StrCat("{service.", asks("url") ? "url" : "socket",
                                         "} needs the field service, the program behind it"))
               : absl::OkStatus();
  }
  const ServiceSpec& service = *approach.service;
  const FieldPath field = path.Field("service");
  if (service.command.empty()) {
    return FieldError(field.Field("command"), "expected a program, got an empty list");
  }
  if (approach.predict_command.empty() && !approach.train_command.empty()) {
    return FieldError(field, "expected predict.command, which asks the service");
  }
  CONCUR_RETURN_IF_ERROR(
      CheckTemplate(path, "service.command", service.command, CommandKind::kService, approach));
  const bool has_socket = UsesPlaceholder(service.command, "socket");
  if (UsesPlaceholder(service.command, "port") == has_socket) {
    return FieldError(
        field.Field("command"),
        absl::StrCat("expected {port} of 127.0.0.1 or the path {socket}, on which it listens, got ",
                     has_socket ? "both" : "neither"));
  }
  CONCUR_RETURN_IF_ERROR(
      AtField(path.Field("predict.command"),
              CheckAddress(approach.predict_command, "service", service.command)));
  if (approach.train_command.empty() && UsesPlaceholder(service.command, "model")) {
    return FieldError(field.Field("command"), "{model} needs a train command");
  }
  if (!service.ready_http.empty() && service.ready_http[0] != '/') {
    return FieldError(
        field.Field("ready.http"),
        absl::StrCat("expected a path such as /health, got ", Quoted(service.ready_http)));
  }
  CONCUR_RETURN_IF_ERROR(CheckLine(field.Field("ready.http"), service.ready_http));
  CONCUR_RETURN_IF_ERROR(CheckSpan(field.Field("ready.within"), service.ready_within, kTimeoutMin));
  CONCUR_RETURN_IF_ERROR(CheckResources(field.Field("resources"), service.resources));
  CONCUR_RETURN_IF_ERROR(CheckRange(field.Field("serves"), service.serves, 1, kServesMax));
  return CheckSpan(field.Field("idle"), service.idle, absl::ZeroDuration());
}

absl::Status CheckApproach(const FieldPath& path, const ApproachSpec& approach) {
  CONCUR_RETURN_IF_ERROR(AtField(path.Field("name"), ValidateName(approach.name)));
  CONCUR_RETURN_IF_ERROR(CheckTags(path.Field("tags"), approach.tags));
  if (approach.version.empty() && !approach.code) {
    return FieldError(path.Field("version"),
                      "expected the version of the approach's code, got \"\"");
  }
  CONCUR_RETURN_IF_ERROR(CheckLine(path.Field("version"), approach.version));
  CONCUR_RETURN_IF_ERROR(
      CheckHyperparameters(path.Field("hyperparameters"), approach.hyperparameters));
  if (approach.predict_command.empty() && approach.train_command.empty() && !approach.service) {
    return FieldError(path.Field("predict.command"), "expected a command, got none");
  }
  if (approach.code) {
    CONCUR_RETURN_IF_ERROR(CheckCode(path.Field("code"), *approach.code));
  }
  if (approach.predict_code) {
    CONCUR_RETURN_IF_ERROR(CheckCode(path.Field("predict_code"), *approach.predict_code));
  }
  if (approach.environment) {
    CONCUR_RETURN_IF_ERROR(CheckEnvironmentSpec(path.Field("environment"), *approach.environment));
  }
  CONCUR_RETURN_IF_ERROR(
      CheckTemplate(path, "train.command", approach.train_command, CommandKind::kTrain, approach));
  CONCUR_RETURN_IF_ERROR(CheckTemplate(path, "predict.command", approach.predict_command,
                                       CommandKind::kPredict, approach));
  CONCUR_RETURN_IF_ERROR(CheckService(path, approach));
  CONCUR_RETURN_IF_ERROR(CheckEnvironment(path.Field("env"), approach.env));
  CONCUR_RETURN_IF_ERROR(CheckSecrets(path.Field("secrets"), approach.secrets, approach.env));
  CONCUR_RETURN_IF_ERROR(CheckResources(path.Field("train.resources"), approach.train_resources));
  CONCUR_RETURN_IF_ERROR(
      CheckResources(path.Field("predict.resources"), approach.predict_resources));
  CONCUR_RETURN_IF_ERROR(CheckWants(path.Field("train.resources.labels"), approach.train_labels));
  CONCUR_RETURN_IF_ERROR(
      CheckWants(path.Field("predict.resources.labels"), approach.predict_labels));
  CONCUR_RETURN_IF_ERROR(CheckUses(path.Field("train.resources.uses"), approach.train_uses));
  CONCUR_RETURN_IF_ERROR(CheckUses(path.Field("predict.resources.uses"), approach.predict_uses));
  CONCUR_RETURN_IF_ERROR(
      CheckTimeLimit(path.Field("train.timeout"), approach.train_timeout, kTimeoutMin));
  return CheckTimeLimit(path.Field("predict.timeout"), approach.predict_timeout, kTimeoutMin);
}

absl::Status CheckDataFile(const FieldPath& path, const std::optional<DataFile>& file) {
  if (!file) {
    return absl::OkStatus();
  }
  CONCUR_RETURN_IF_ERROR(CheckSuffix(path.Field("suffix"), file->suffix));
  CONCUR_RETURN_IF_ERROR(CheckRange(path.Field("bytes"), file->bytes, 0, kArtifactBytesMax));
  // For people: it need not be UTF-8, and is made so where it is sent.
  return CheckText(path.Field("path"), CleanUtf8(file->path), kPathBytesMax);
}

absl::Status CheckBenchmark(const FieldPath& path, const BenchmarkSpec& benchmark) {
  CONCUR_RETURN_IF_ERROR(AtField(path.Field("name"), ValidateName(benchmark.name)));
  CONCUR_RETURN_IF_ERROR(CheckTags(path.Field("tags"), benchmark.tags));
  CONCUR_RETURN_IF_ERROR(CheckWants(path.Field("resources.labels"), benchmark.labels));
  CONCUR_RETURN_IF_ERROR(CheckUses(path.Field("resources.uses"), benchmark.uses));
  CONCUR_RETURN_IF_ERROR(
      CheckCount(path.Field("parameters"), benchmark.parameters.size(), kHyperparametersMax));
  for (const auto& [name, value] : benchmark.parameters) {
    const FieldPath here = path.Field("parameters").Field(name);
    CONCUR_RETURN_IF_ERROR(AtField(path.Field("parameters"), ValidateHyperparameterName(name)));
    CONCUR_RETURN_IF_ERROR(CheckText(here, value, kTextBytesMax));
  }
  CONCUR_RETURN_IF_ERROR(CheckDataFile(path.Field("train"), benchmark.train));
  CONCUR_RETURN_IF_ERROR(CheckDataFile(path.Field("test"), benchmark.test));
  if (!benchmark.train && !benchmark.test) {
    return FieldError(path, "expected a train or a test file, got neither");
  }
  CONCUR_RETURN_IF_ERROR(AtField(path.Field("metric"), ValidateName(benchmark.metric)));
  if (IsQa(benchmark.format) && benchmark.metric != "exact_match" && benchmark.metric != "f1") {
    return FieldError(
        path.Field("metric"),
        absl::StrCat("expected exact_match or f1 for format qa, got \"", benchmark.metric,
                     "\"; for data of another form write format: file"));
  }
  if (IsQa(benchmark.format) && !benchmark.meaning.IsPlain()) {
    return FieldError(path.Field("metric"),
                      absl::StrCat("expected goal maximize and scale percent for ",
                                   benchmark.metric, ", which workers compute so, got ",
                                   benchmark.meaning.goal == Goal::kMinimize
                                       ? "minimize"
                                       : ScaleText(benchmark.meaning.scale)));
  }
  return AtField(path.Field("metric").Field("scale"), CheckScale(benchmark.meaning.scale));
}

// Checks what makes a benchmark the validation set of another, beside CheckBenchmark.
absl::Status CheckValidationSets(const FieldPath& path, const SweepSpec& spec) {
  std::map<uint32_t, size_t> found;
  for (size_t i = 0; i < spec.benchmarks.size(); ++i) {
    const BenchmarkSpec& benchmark = spec.benchmarks[i];
    if (!benchmark.validation_of) {
      continue;
    }
    const FieldPath place = path.Field("benchmarks", i);
    const FieldPath here = place.Field("validation_of");
    CONCUR_RETURN_IF_ERROR(CheckIndex(here, *benchmark.validation_of, spec.benchmarks.size()));
    const BenchmarkSpec& owner = spec.benchmarks[*benchmark.validation_of];
    if (owner.validation_of) {
      return FieldError(
          here, absl::StrCat("expected a benchmark, got the validation set \"", owner.name, "\""));
    }
    if (benchmark.train || !benchmark.test) {
      return FieldError(here, "expected a validation set to have a test file and no train file");
    }
    if (benchmark.format != owner.format || benchmark.metric != owner.metric ||
        benchmark.labels != owner.labels || benchmark.uses != owner.uses ||
        benchmark.needs != owner.needs) {
      return FieldError(here, absl::StrCat("expected the format, metric, resources and needs of \"",
                                           owner.name, "\", got others"));
    }
    if (!found.emplace(*benchmark.validation_of, i).second) {
      return FieldError(here,
                        absl::StrCat("\"", owner.name, "\" has another validation set already"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckTrainSetPart(const FieldPath& path, const SweepSpec& spec,
                               const TrainSet& train_set, const TrainSet::Part& part) {
  const FieldPath here = path.Field("benchmark");
  CONCUR_RETURN_IF_ERROR(CheckIndex(here, part.benchmark, spec.benchmarks.size()));
  const BenchmarkSpec& benchmark = spec.benchmarks[part.benchmark];
  if (!benchmark.train) {
    return FieldError(here, absl::StrCat("\"", benchmark.name, "\" has no train file"));
  }
  if (train_set.IsMixture() && !IsQa(benchmark.format)) {
    return FieldError(here, absl::StrCat("expected format qa in a mixture, got \"", benchmark.name,
                                         "\" of format file"));
  }
  return CheckRange(path.Field("examples_max"), part.examples_max, 0, kExamplesMax);
}

absl::Status CheckTrainSet(const FieldPath& path, const SweepSpec& spec,
                           const TrainSet& train_set) {
  CONCUR_RETURN_IF_ERROR(AtField(path.Field("name"), ValidateName(train_set.name)));
  CONCUR_RETURN_IF_ERROR(CheckTags(path.Field("tags"), train_set.tags));
  if (train_set.parts.empty()) {
    return FieldError(path.Field("parts"), "expected at least one benchmark, got none");
  }
  std::set<uint32_t> seen;
  for (size_t i = 0; i < train_set.parts.size(); ++i) {
    const TrainSet::Part& part = train_set.parts[i];
    const FieldPath here = path.Field("parts", i);
    CONCUR_RETURN_IF_ERROR(CheckTrainSetPart(here, spec, train_set, part));
    if (!seen.insert(part.benchmark).second) {
      return FieldError(here.Field("benchmark"),
                        absl::StrCat("\"", spec.benchmarks[part.benchmark].name,
                                     "\" stands twice in one mixture"));
    }
  }
  return absl::OkStatus();
}

// REQUIRES: benchmark < spec.benchmarks.size().
absl::Status CheckIsNoValidationSet(const FieldPath& path, const SweepSpec& spec,
                                    uint32_t benchmark) {
  return spec.benchmarks[benchmark].validation_of
             ? FieldError(path, absl::StrCat("expected a benchmark, got the validation set \"",
                                             spec.benchmarks[benchmark].name,
                                             "\", which goes with its benchmark"))
             : absl::OkStatus();
}

absl::Status CheckExcludeRule(const FieldPath& path, const SweepSpec& spec,
                              const ExcludeRule& rule) {
  if (!rule.approach && !rule.train_set && !rule.test_benchmark) {
    return FieldError(path, "expected an approach, a train set or a test benchmark, got none");
  }
  const auto check = [&](absl::string_view field, std::optional<uint32_t> index, size_t size) {
    return index ? CheckIndex(path.Field(field), *index, size) : absl::OkStatus();
  };
  CONCUR_RETURN_IF_ERROR(check("approach", rule.approach, spec.approaches.size()));
  CONCUR_RETURN_IF_ERROR(check("train_set", rule.train_set, spec.train_sets.size()));
  CONCUR_RETURN_IF_ERROR(check("test_benchmark", rule.test_benchmark, spec.benchmarks.size()));
  return rule.test_benchmark
             ? CheckIsNoValidationSet(path.Field("test_benchmark"), spec, *rule.test_benchmark)
             : absl::OkStatus();
}

absl::Status CheckRetry(const FieldPath& path, const RetryPolicy& retry) {
  CONCUR_RETURN_IF_ERROR(
      CheckRange(path.Field("failures_max"), retry.failures_max, 1, kAttemptsMax));
  CONCUR_RETURN_IF_ERROR(CheckRange(path.Field("lost_max"), retry.lost_max, 0, kAttemptsMax));
  if (retry.backoff_min < absl::ZeroDuration() || retry.backoff_max < retry.backoff_min ||
      retry.backoff_max > kBackoffMax) {
    return FieldError(path, absl::StrCat("expected 0s <= backoff_min <= backoff_max <= ",
                                         absl::FormatDuration(kBackoffMax), ", got ",
                                         absl::FormatDuration(retry.backoff_min), " and ",
                                         absl::FormatDuration(retry.backoff_max)));
  }
  return absl::OkStatus();
}

absl::Status CheckSizes(const FieldPath& path, const SweepSpec& spec) {
  CONCUR_RETURN_IF_ERROR(
      CheckCount(path.Field("approaches"), spec.approaches.size(), kApproachesMax));
  CONCUR_RETURN_IF_ERROR(
      CheckCount(path.Field("benchmarks"), spec.benchmarks.size(), kBenchmarksMax));
  CONCUR_RETURN_IF_ERROR(
      CheckCount(path.Field("train_sets"), spec.train_sets.size(), kTrainSetsMax));
  CONCUR_RETURN_IF_ERROR(CheckCount(path.Field("exclude"), spec.exclude.size(), kExcludeRulesMax));
  CONCUR_RETURN_IF_ERROR(
      CheckCount(path.Field("settings.random"), spec.random_settings, kSettingsMax - 1));
  CONCUR_RETURN_IF_ERROR(CheckCount(path.Field("seeds"), spec.seeds.size(), kSeedsMax));
  CONCUR_RETURN_IF_ERROR(CheckText(path.Field("description"), spec.description, kTextBytesMax));
  for (const auto& [field, is_empty] :
       {std::pair("approaches", spec.approaches.empty()),
        std::pair("benchmarks", spec.benchmarks.empty()), std::pair("seeds", spec.seeds.empty())}) {
    if (is_empty) {
      return FieldError(path.Field(field), "expected at least one, got none");
    }
  }
  CONCUR_RETURN_IF_ERROR(
      CheckRange(path.Field("budget_usd_micros"), spec.budget_usd_micros, 0, kSpentMax));
  return CheckRange(path.Field("priority"), spec.priority, -kPriorityMax, kPriorityMax);
}

absl::Status CheckSeedsDiffer(const FieldPath& path, const std::vector<int64_t>& seeds) {
  std::vector<int64_t> copy;
  if (!std::is_sorted(seeds.begin(), seeds.end())) {
    copy = seeds;
    std::sort(copy.begin(), copy.end());
  }
  const std::vector<int64_t>& sorted = copy.empty() ? seeds : copy;
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  return twice == sorted.end() ? absl::OkStatus()
                               : FieldError(path, absl::StrCat(*twice, " stands twice"));
}

absl::Status CheckEvaluateBenchmarks(const FieldPath& path, const SweepSpec& spec) {
  const bool listed = spec.evaluate_on == EvaluateOn::kListed;
  const std::vector<uint32_t>& benchmarks = spec.evaluate_benchmarks;
  CONCUR_RETURN_IF_ERROR(CheckCount(path, benchmarks.size(), kBenchmarksMax));
  if (listed && benchmarks.empty()) {
    return FieldError(path, "expected at least one benchmark, got none");
  }
  for (size_t i = 0; i < benchmarks.size(); ++i) {
    const FieldPath here = path.Field("", i);
    CONCUR_RETURN_IF_ERROR(CheckIndex(here, benchmarks[i], spec.benchmarks.size()));
    const BenchmarkSpec& benchmark = spec.benchmarks[benchmarks[i]];
    if (!benchmark.test) {
      return FieldError(here, absl::StrCat("\"", benchmark.name, "\" has no test file"));
    }
    CONCUR_RETURN_IF_ERROR(CheckIsNoValidationSet(here, spec, benchmarks[i]));
  }
  return listed || benchmarks.empty()
             ? absl::OkStatus()
             : FieldError(path, "expected no benchmarks unless it is a list of them");
}

// Checks each element and that no two have the same name.
template <typename List, typename Check>
absl::Status CheckList(const FieldPath& path, absl::string_view field, const List& list,
                       Check check) {
  std::set<absl::string_view> names;
  for (size_t i = 0; i < list.size(); ++i) {
    const FieldPath here = path.Field(field, i);
    CONCUR_RETURN_IF_ERROR(check(here, list[i]));
    if (!names.insert(list[i].name).second) {
      return FieldError(here.Field("name"),
                        absl::StrCat("\"", list[i].name, "\" stands twice in ", field));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckImportedTags(const FieldPath& path, const Tags& tags) {
  CONCUR_RETURN_IF_ERROR(CheckCount(path, tags.size(), kTagsMax));
  for (const auto& [name, value] : tags) {
    CONCUR_RETURN_IF_ERROR(CheckName(path, name));
    CONCUR_RETURN_IF_ERROR(CheckText(path.Field(name), value, kTextBytesMax));
  }
  return absl::OkStatus();
}

absl::Status CheckEarlyStop(const FieldPath& path, const SweepSpec& spec) {
  if (!spec.early_stop) {
    return absl::OkStatus();
  }
  const EarlyStopRule& rule = spec.early_stop->rule;
  if (spec.early_stop->metric.empty()) {
    return FieldError(path.Field("metric"),
                      "expected the name that train jobs report, such as \"validation_f1\"");
  }
  CONCUR_RETURN_IF_ERROR(
      CheckLine(path.Field("metric"), spec.early_stop->metric, kStepNameBytesMax));
  CONCUR_RETURN_IF_ERROR(CheckRange(path.Field("min"), rule.min, 1, kStepMax));
  CONCUR_RETURN_IF_ERROR(CheckRange(path.Field("max"), rule.max, rule.min, kStepMax));
  if (Halves(rule.method)) {
    CONCUR_RETURN_IF_ERROR(CheckRange(path.Field("eta"), rule.eta, 2, kEarlyStopEtaMax));
  }
  const auto has_grid = [](const ApproachSpec& approach) {
    return CountSettings(approach.hyperparameters, 0) > 1;
  };
  if (spec.random_settings == 0 &&
      std::none_of(spec.approaches.begin(), spec.approaches.end(), has_grid)) {
    return FieldError(path,
                      "expected settings to choose from, got settings.random 0; give "
                      "settings.random at least 1 or a grid, or leave early_stop out");
  }
  const bool any_trains =
      std::any_of(spec.approaches.begin(), spec.approaches.end(),
                  [](const ApproachSpec& approach) { return !approach.train_command.empty(); });
  return any_trains ? absl::OkStatus()
                    : FieldError(path, "expected an approach that trains, got none");
}

absl::Status CheckSearch(const FieldPath& path, const SweepSpec& spec) {
  if (!spec.search) {
    return absl::OkStatus();
  }
  CONCUR_RETURN_IF_ERROR(
      CheckRange(path.Field("trials"), int64_t{spec.random_settings} + 1, 2, kTrialsMax));
  CONCUR_RETURN_IF_ERROR(CheckRange(path.Field("parallel"), spec.search->parallel, 1, kTrialsMax));
  CONCUR_RETURN_IF_ERROR(
      CheckCount(path.Field("proposals"), spec.search->proposals.size(), kProposalsMax));
  if (spec.early_stop) {
    return FieldError(path.Field("search"),
                      "expected no early_stop beside it: a trial that stops early has no score; "
                      "leave out one of them");
  }
  return absl::OkStatus();
}

absl::Status CheckImportedApproach(const FieldPath& path, const ApproachSpec& approach) {
  CONCUR_RETURN_IF_ERROR(CheckLine(path.Field("name"), approach.name, kImportedNameBytesMax));
  CONCUR_RETURN_IF_ERROR(CheckImportedTags(path.Field("tags"), approach.tags));
  const bool runs = !approach.train_command.empty() || !approach.predict_command.empty() ||
                    approach.code.has_value() || approach.predict_code.has_value() ||
                    approach.train_program || approach.predict_program ||
                    approach.environment.has_value() || approach.service.has_value() ||
                    !approach.needs.empty() || !approach.env.empty() || !approach.secrets.empty() ||
                    !approach.hyperparameters.defaults.empty() ||
                    !approach.hyperparameters.space.empty() || !approach.train_labels.empty() ||
                    !approach.predict_labels.empty() || !approach.train_uses.empty() ||
                    !approach.predict_uses.empty() || !approach.version.empty();
  return runs || approach.name.empty()
             ? FieldError(path,
                          "expected a name and tags, and nothing that could run, in a sweep "
                          "of imported results")
             : absl::OkStatus();
}

absl::Status CheckImportedBenchmark(const FieldPath& path, const BenchmarkSpec& benchmark) {
  CONCUR_RETURN_IF_ERROR(CheckLine(path.Field("name"), benchmark.name, kImportedNameBytesMax));
  CONCUR_RETURN_IF_ERROR(CheckImportedTags(path.Field("tags"), benchmark.tags));
  CONCUR_RETURN_IF_ERROR(CheckName(path.Field("metric"), benchmark.metric));
  if (benchmark.name.empty() || benchmark.format != DataFormat::kFile || benchmark.train ||
      benchmark.test || benchmark.validation_of || !benchmark.labels.empty() ||
      !benchmark.uses.empty() || !benchmark.needs.empty()) {
    return FieldError(path,
                      "expected a name, format file and no data in a sweep of imported "
                      "results");
  }
  return AtField(path.Field("scale"), CheckScale(benchmark.meaning.scale));
}

// A sweep of results that were computed elsewhere: nothing in it can run.
absl::Status CheckImported(const FieldPath& path, const SweepSpec& spec) {
  CONCUR_RETURN_IF_ERROR(CheckList(path, "approaches", spec.approaches, CheckImportedApproach));
  CONCUR_RETURN_IF_ERROR(CheckList(path, "benchmarks", spec.benchmarks, CheckImportedBenchmark));
  if (!spec.train_sets.empty() || !spec.exclude.empty() || spec.random_settings != 0 ||
      spec.evaluate_on != EvaluateOn::kAll || !spec.evaluate_benchmarks.empty() ||
      spec.early_stop || spec.search) {
    return FieldError(path,
                      "expected approaches, benchmarks and seeds, all met with all, in a "
                      "sweep of imported results");
  }
  CONCUR_RETURN_IF_ERROR(CheckRetry(path.Field("retry"), spec.retry));
  return CheckSeedsDiffer(path.Field("seeds"), spec.seeds);
}

}  // namespace

uint32_t ParallelTrials(uint32_t trials) { return std::clamp(trials / 4, 1U, 8U); }

MetricMeaning MeaningOf(const SweepSpec& sweep, const BenchmarkSpec& benchmark,
                        absl::string_view metric) {
  if (IsQa(benchmark.format) && (metric == "exact_match" || metric == "f1")) {
    return {Goal::kMaximize, Scale{Scale::Kind::kPercent, 0, 0}};
  }
  if (metric == benchmark.metric) {
    return benchmark.meaning;
  }
  const auto owner =
      std::find_if(sweep.benchmarks.begin(), sweep.benchmarks.end(),
                   [&](const BenchmarkSpec& other) { return other.metric == metric; });
  const Goal by_name = UsuallyMinimized(metric) ? Goal::kMinimize : Goal::kMaximize;
  return owner != sweep.benchmarks.end() ? owner->meaning : MetricMeaning{by_name, Scale()};
}

std::string ValidationName(absl::string_view benchmark) {
  return absl::StrCat(benchmark, ".validation");
}

absl::string_view DataFormatName(DataFormat format) { return NameIn(kDataFormatNames, format); }
absl::StatusOr<DataFormat> DataFormatFromName(absl::string_view name) {
  return FromNameIn<DataFormat>(kDataFormatNames, "data format", name);
}
absl::StatusOr<Selection> SelectionFromName(absl::string_view name) {
  return FromNameIn<Selection>(kSelectionNames, "selection", name);
}

std::vector<SweepFile> FilesOf(const SweepSpec& spec) {
  std::map<Digest, SweepFile> files;
  for (const BenchmarkSpec& benchmark : spec.benchmarks) {
    for (const std::optional<DataFile>* file : {&benchmark.train, &benchmark.test}) {
      if (file->has_value()) {
        files.try_emplace((*file)->digest,
                          SweepFile{(*file)->digest, (*file)->bytes, (*file)->path, false});
      }
    }
  }
  for (const ApproachSpec& approach : spec.approaches) {
    for (const std::optional<Code>* code : {&approach.code, &approach.predict_code}) {
      if (code->has_value()) {
        files.try_emplace((*code)->digest,
                          SweepFile{(*code)->digest, (*code)->bytes,
                                    absl::StrCat("code of approach ", approach.name), true});
      }
    }
    if (approach.environment && approach.environment->HasFile()) {
      const Environment& environment = *approach.environment;
      files.try_emplace(environment.digest,
                        SweepFile{environment.digest, environment.bytes, environment.path, false});
    }
  }
  std::vector<SweepFile> result;
  result.reserve(files.size());
  for (auto& [digest, file] : files) {
    result.push_back(std::move(file));
  }
  return result;
}

absl::Status ValidateName(absl::string_view name) {
  bool valid = !name.empty() && absl::ascii_isalnum(static_cast<unsigned char>(name[0]));
  for (char c : name) {
    valid = valid &&
            (absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains("._+-@=", c));
  }
  if (!valid) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected a name of letters, digits and \"._+-@=\" that starts with a letter or digit, "
        "got ",
        Quoted(name)));
  }
  return name.size() <= kNameBytesMax
             ? absl::OkStatus()
             : absl::InvalidArgumentError(absl::StrCat("expected a name of at most ", kNameBytesMax,
                                                       " bytes, got ", name.size()));
}

absl::Status CheckSweepName(absl::string_view name) {
  return SweepId::Parse(name).ok()
             ? absl::InvalidArgumentError(
                   absl::StrCat("expected a name that does not look like the id of a sweep, got \"",
                                name, "\"; write \"", name, "-NAME\", for example"))
             : absl::OkStatus();
}

absl::Status CheckNamedResource(const FieldPath& path, const std::string& name, int64_t amount,
                                int64_t per_minute) {
  CONCUR_RETURN_IF_ERROR(AtField(path.Field("name"), ValidateName(name)));
  CONCUR_RETURN_IF_ERROR(CheckRange(path.Field("amount"), amount, 0, kUnitsMax));
  return CheckRange(path.Field("per_minute"), per_minute, 0, kUnitsMax);
}

absl::Status ValidateHyperparameterName(absl::string_view name) {
  bool valid = !name.empty() && name.size() <= kNameBytesMax &&
               (absl::ascii_isalpha(static_cast<unsigned char>(name[0])) || name[0] == '_');
  for (char c : name) {
    valid = valid &&
            (absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains("_-.", c));
  }
  return valid ? absl::OkStatus()
               : absl::InvalidArgumentError(absl::StrCat(
                     "expected the name of a parameter (letters, digits, \"_\", \"-\", "
                     "\".\", starting with a letter or \"_\"), got ",
                     Quoted(name)));
}

absl::Status CheckCommand(const FieldPath& path, absl::string_view name,
                          const std::vector<std::string>& command) {
  CONCUR_RETURN_IF_ERROR(CheckCount(path.Field(name), command.size(), kArgumentsMax));
  for (size_t i = 0; i < command.size(); ++i) {
    CONCUR_RETURN_IF_ERROR(CheckText(path.Field(name, i), command[i], kTextBytesMax));
  }
  if (!command.empty() && command[0].empty()) {
    return FieldError(path.Field(name, 0), "expected the name of a program, got \"\"");
  }
  return absl::OkStatus();
}

absl::Status CheckEnvironment(const FieldPath& path,
                              const std::map<std::string, std::string>& env) {
  CONCUR_RETURN_IF_ERROR(CheckCount(path, env.size(), kArgumentsMax));
  for (const auto& [name, value] : env) {
    bool valid = !name.empty() && name.size() <= kNameBytesMax && !absl::ascii_isdigit(name[0]);
    for (char c : name) {
      valid = valid && (absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_');
    }
    if (!valid || absl::StartsWith(name, "CONCUR_")) {
      return FieldError(
          path, absl::StrCat("expected the name of an environment variable that does not start ",
                             "with CONCUR_, got ", Quoted(name)));
    }
    CONCUR_RETURN_IF_ERROR(CheckText(path.Field(name), value, kTextBytesMax));
  }
  return absl::OkStatus();
}

absl::Status CheckSecrets(const FieldPath& path, const std::map<std::string, std::string>& secrets,
                          const std::map<std::string, std::string>& env) {
  CONCUR_RETURN_IF_ERROR(CheckCount(path, secrets.size(), kSecretsMax));
  CONCUR_RETURN_IF_ERROR(CheckEnvironment(path, secrets));
  for (const auto& [variable, name] : secrets) {
    CONCUR_RETURN_IF_ERROR(AtField(path.Field(variable), ValidateName(name)));
    if (env.contains(variable)) {
      return FieldError(path.Field(variable), "the variable is in env, too");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckSetting(const FieldPath& path, absl::string_view field, const Setting& setting) {
  CONCUR_RETURN_IF_ERROR(CheckCount(path, setting.size(), kHyperparametersMax));
  const FieldPath here = path.Field(field);
  for (const auto& [name, value] : setting) {
    CONCUR_RETURN_IF_ERROR(AtField(path, ValidateHyperparameterName(name)));
    CONCUR_RETURN_IF_ERROR(CheckText(here.Field(name), ParamText(value), kTextBytesMax));
  }
  return absl::OkStatus();
}

absl::Status CheckSuffix(const FieldPath& path, absl::string_view suffix) {
  bool valid = suffix.size() <= kSuffixBytesMax && suffix != "." && suffix != ".." &&
               (suffix.empty() || suffix[0] == '.');
  for (const char c : suffix) {
    valid = valid && (absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' ||
                      c == '-');
  }
  return valid ? absl::OkStatus()
               : FieldError(path, absl::StrCat("expected a suffix such as \".jsonl.gz\", got ",
                                               Quoted(suffix)));
}

absl::Status ValidateSweepSpec(const SweepSpec& spec, const FieldPath& path) {
  CONCUR_RETURN_IF_ERROR(AtField(path.Field("name"), ValidateName(spec.name)));
  CONCUR_RETURN_IF_ERROR(CheckSizes(path, spec));
  if (spec.imported) {
    return CheckImported(path, spec);
  }
  CONCUR_RETURN_IF_ERROR(CheckList(path, "approaches", spec.approaches, CheckApproach));
  for (size_t i = 0; i < spec.approaches.size() && !spec.search; ++i) {
    CONCUR_RETURN_IF_ERROR(
        CheckSettingCount(path.Field("approaches", i).Field("hyperparameters.space"),
                          spec.approaches[i].hyperparameters, spec.random_settings));
  }
  CONCUR_RETURN_IF_ERROR(CheckList(path, "benchmarks", spec.benchmarks, CheckBenchmark));
  CONCUR_RETURN_IF_ERROR(CheckValidationSets(path, spec));
  CONCUR_RETURN_IF_ERROR(CheckList(path, "train_sets", spec.train_sets,
                                   [&](const FieldPath& here, const TrainSet& train_set) {
                                     return CheckTrainSet(here, spec, train_set);
                                   }));
  for (size_t i = 0; i < spec.exclude.size(); ++i) {
    CONCUR_RETURN_IF_ERROR(CheckExcludeRule(path.Field("exclude", i), spec, spec.exclude[i]));
  }
  CONCUR_RETURN_IF_ERROR(CheckEvaluateBenchmarks(path.Field("evaluate_on"), spec));
  CONCUR_RETURN_IF_ERROR(CheckRetry(path.Field("retry"), spec.retry));
  CONCUR_RETURN_IF_ERROR(CheckEarlyStop(path.Field("early_stop"), spec));
  CONCUR_RETURN_IF_ERROR(CheckSearch(path.Field("settings"), spec));
  return CheckSeedsDiffer(path.Field("seeds"), spec.seeds);
}

}  // namespace concur
