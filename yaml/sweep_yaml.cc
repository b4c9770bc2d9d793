// SPDX-License-Identifier: Apache-2.0
#include "yaml/sweep_yaml.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/spent.h"
#include "core/sweep/command_template.h"
#include "core/sweep/expansion.h"
#include "yaml/sweep_reader.h"

namespace concur::spec {
namespace {

void ReadKeep(const Value& value, SweepSpec& spec) {
  KeepPolicy keep{false, false, false, false};
  const auto items = value.List("a list of systems, predictions, logs and outputs");
  for (const Value& item : items.value_or(std::vector<Value>())) {
    const std::optional<std::string> text = item.Text("systems, predictions, logs or outputs");
    if (!text) {
      continue;
    }
    if (*text == "systems") {
      keep.systems = true;
    } else if (*text == "predictions") {
      keep.predictions = true;
    } else if (*text == "logs") {
      keep.logs = true;
    } else if (*text == "outputs") {
      keep.outputs = true;
    } else {
      item.Expected("systems, predictions, logs or outputs");
    }
  }
  spec.keep = keep;
}

void ReadBudget(const Value& value, SweepSpec& spec) {
  constexpr absl::string_view kExpected = "dollars above 0, at most 1000000";
  Fields fields(value);
  if (const auto usd = fields.Require("usd", "dollars that its jobs may spend")) {
    const std::optional<double> number = usd->Number(kExpected);
    const absl::StatusOr<Spent> budget = SpentOf(kUsdName, number.value_or(1));
    if (!budget.ok() || budget->empty()) {
      usd->Expected(kExpected);
    } else {
      spec.budget_usd_micros = budget->usd_micros;
    }
  }
  fields.Finish();
}

void ReadRetry(const Value& value, SweepSpec& spec) {
  RetryPolicy& retry = spec.retry;
  Fields fields(value);
  if (const auto failures = fields.Get("failures_max")) {
    retry.failures_max =
        static_cast<uint32_t>(failures->Integer(1, kAttemptsMax).value_or(retry.failures_max));
  }
  if (const auto lost = fields.Get("lost_max")) {
    retry.lost_max = static_cast<uint32_t>(lost->Integer(0, kAttemptsMax).value_or(retry.lost_max));
  }
  if (const auto low = fields.Get("backoff_min")) {
    retry.backoff_min =
        low->Duration(absl::ZeroDuration(), kBackoffMax).value_or(retry.backoff_min);
    retry.backoff_max = std::max(retry.backoff_max, retry.backoff_min);
  }
  if (const auto high = fields.Get("backoff_max")) {
    retry.backoff_max =
        high->Duration(absl::ZeroDuration(), kBackoffMax).value_or(retry.backoff_max);
  }
  fields.Finish();
}

// True when it says test; nullopt when it says neither.
std::optional<bool> SaysTest(const Value& by) {
  const std::optional<std::string> text = by.Text("validation or test");
  if (text && *text != "validation" && *text != "test") {
    by.Expected("validation or test");
    return std::nullopt;
  }
  return text ? std::optional(*text == "test") : std::nullopt;
}

void ReadSearch(Fields& fields, const Value& method, LoadedSweep& sweep) {
  SearchSpec search;
  sweep.places["settings.search"] = method.Place();
  const std::optional<std::string> name = method.Text("tpe");
  if (name && *name != "tpe") {
    method.Expected("tpe");
  }
  if (const auto trials = fields.Require("trials", "how many settings are tried")) {
    const auto count = static_cast<uint32_t>(trials->Integer(2, kTrialsMax).value_or(2));
    sweep.places["settings.trials"] = trials->Place();
    sweep.spec.random_settings = count - 1;
    search.parallel = ParallelTrials(count);
  }
  if (const auto parallel = fields.Get("parallel")) {
    search.parallel = static_cast<uint32_t>(parallel->Integer(1, kTrialsMax).value_or(1));
  }
  if (const auto by = fields.Get("by")) {
    sweep.places["settings.by"] = by->Place();
    search.on_test = SaysTest(*by).value_or(false);
  }
  sweep.spec.search = std::move(search);
}

void ReadSettings(const Value& value, LoadedSweep& sweep) {
  SweepSpec& spec = sweep.spec;
  Fields fields(value);
  const auto random = fields.Get("random");
  if (random) {
    spec.random_settings = static_cast<uint32_t>(random->Integer(0, kSettingsMax - 1).value_or(0));
  }
  if (const auto search = fields.Get("search")) {
    if (random) {
      random->Error("expected random or search, got both; leave one of them out");
    }
    ReadSearch(fields, *search, sweep);
  }
  if (const auto seed = fields.Get("seed")) {
    spec.settings_seed =
        static_cast<uint64_t>(seed->Integer(0, std::numeric_limits<int64_t>::max()).value_or(0));
  }
  fields.Finish();
}

void ReadSeeds(const Value& value, SweepSpec& spec) {
  constexpr int64_t kLow = std::numeric_limits<int64_t>::min();
  constexpr int64_t kHigh = std::numeric_limits<int64_t>::max();
  std::vector<int64_t> seeds;
  if (value.IsMap()) {
    Fields fields(value);
    const auto from_value = fields.Require("from", "the first seed");
    const auto to_value = fields.Require("to", "the last seed");
    fields.Finish();
    if (!from_value || !to_value) {
      return;
    }
    const std::optional<int64_t> first = from_value->Integer(kLow, kHigh);
    const std::optional<int64_t> last = to_value->Integer(kLow, kHigh);
    if (!first || !last) {
      return;
    }
    const int64_t from = first.value();
    const int64_t to = last.value();
    if (to < from) {
      to_value->Error(absl::StrCat("expected at least ", from, " (from), got ", to));
      return;
    }
    const uint64_t span = static_cast<uint64_t>(to) - static_cast<uint64_t>(from);
    if (span >= kSeedsMax) {
      to_value->Error(absl::StrCat("expected at most ", kSeedsMax, " seeds, got more"));
      return;
    }
    for (uint64_t i = 0; i <= span; ++i) {
      seeds.push_back(static_cast<int64_t>(static_cast<uint64_t>(from) + i));
    }
  } else {
    const auto items = value.List("a list of seeds or {from: 1, to: 10}");
    if (!items) {
      return;
    }
    if (items->empty()) {
      value.Error("expected at least one seed, got an empty list");
      return;
    }
    std::set<int64_t> seen;
    for (const Value& item : *items) {
      const std::optional<int64_t> seed = item.Integer(kLow, kHigh);
      if (!seed) {
        continue;
      }
      if (!seen.insert(*seed).second) {
        item.Error(absl::StrCat("expected each seed once, got ", *seed, " again"));
      }
      seeds.push_back(*seed);
    }
  }
  spec.seeds = std::move(seeds);
}

void ReadMetric(const Value& value, SweepSpec& spec) {
  const std::optional<std::string> metric = value.Text("exact_match or f1");
  if (!metric) {
    return;
  }
  if (*metric != "exact_match" && *metric != "f1") {
    value.Expected("exact_match or f1");
    return;
  }
  for (BenchmarkSpec& benchmark : spec.benchmarks) {
    if (IsQa(benchmark.format)) {
      benchmark.metric = *metric;
    }
  }
}

}  // namespace

LoadedSweep SweepReader::Read(const std::string& path,
                              const std::map<std::string, std::string>& variables) {
  if (!OpenSweep(path, variables)) {
    return std::move(sweep_);
  }
  return ReadRoot();
}

LoadedSweep SweepReader::Read(const YamlFile& file) {
  file_ = file;
  return ReadRoot();
}

LoadedSweep SweepReader::ReadRoot() {
  const Document document = ReadDocument(file_, "Sweep", true, errors_);
  if (document.metadata) {
    ReadMetadata(*document.metadata);
  }
  if (document.spec) {
    sweep_.places[""] = document.spec->Place();
    ReadSpec(*document.spec);
  }
  return std::move(sweep_);
}

bool SweepReader::OpenSweep(const std::string& path,
                            const std::map<std::string, std::string>& variables) {
  const absl::StatusOr<std::string> contents = OpenYamlFile(path, &file_);
  if (!contents.ok()) {
    errors_.AddUnreadable("sweep file", contents.status());
    return false;
  }
  errors_.NameFile(path);
  if (!ParseYaml(*contents, &file_, &errors_)) {
    return false;
  }
  if (!ReadVariables(variables)) {
    return false;  // each use of an undefined variable would add another error
  }
  for (YamlNode::Entry& entry : file_.root.entries) {
    if (entry.key != "spec") {
      SubstituteVariables(variables_, file_.path, entry.key, &entry.value, &errors_);
      continue;
    }
    for (YamlNode::Entry& field : entry.value.entries) {
      if (field.key != "variables") {
        SubstituteVariables(variables_, file_.path, FieldPath("spec", field.key), &field.value,
                            &errors_);
      }
    }
  }
  return true;
}

void SweepReader::ReadMetadata(const Value& metadata) {
  Fields fields(metadata);
  if (const auto name = fields.Require("name", "the sweep's name")) {
    sweep_.spec.name = name->Name().value_or("");
    sweep_.places["name"] = name->Place();
    if (const absl::Status usable = CheckSweepName(sweep_.spec.name); !usable.ok()) {
      name->Error(usable.message());
    }
  }
  if (const auto description = fields.Get("description")) {
    sweep_.spec.description = description->Text().value_or("");
    sweep_.places["description"] = description->Place();
  }
  fields.Finish();
}

void SweepReader::ReadSpec(const Value& spec) {
  Fields fields(spec);
  fields.Get("variables");
  ReadDefaults(fields);
  if (const auto approaches = fields.Require("approaches", "a list of files")) {
    sweep_.places["approaches"] = approaches->Place();
    ForEachSource(*approaches, "Approach", [this](const Source& source) { AddApproach(source); });
  }
  if (const auto benchmarks = fields.Require("benchmarks", "a list of files")) {
    sweep_.places["benchmarks"] = benchmarks->Place();
    ForEachSource(*benchmarks, "Benchmark", [this](const Source& source) { AddBenchmark(source); });
  }
  if (const auto metric = fields.Get("metric")) {
    ReadMetric(*metric, sweep_.spec);
  }
  if (const auto mixtures = fields.Get("mixtures")) {
    ReadMixtures(*mixtures);
  }
  ReadTrainOn(fields.Get("train_on"));
  LinkStages();
  if (const auto evaluate_on = fields.Get("evaluate_on")) {
    sweep_.places["evaluate_on"] = evaluate_on->Place();
    ReadEvaluateOn(*evaluate_on);
  }
  if (const auto exclude = fields.Get("exclude")) {
    sweep_.places["exclude"] = exclude->Place();
    ReadExclude(*exclude);
  }
  if (const auto settings = fields.Get("settings")) {
    sweep_.places["settings"] = settings->Place();
    ReadSettings(*settings, sweep_);
  }
  if (const auto seeds = fields.Get("seeds")) {
    sweep_.places["seeds"] = seeds->Place();
    ReadSeeds(*seeds, sweep_.spec);
  }
  AddValidationSets();
  ReadPolicy(fields);
  fields.Finish();
}

void SweepReader::ReadDefaults(Fields& fields) {
  if (const auto resources = fields.Get("resources")) {
    default_resources_ = ReadJobResources(*resources);
  }
  if (const auto timeout = fields.Get("timeout")) {
    default_timeouts_ = ReadTimeouts(*timeout);
  }
}

void SweepReader::ReadPolicy(Fields& fields) {
  SweepSpec& spec = sweep_.spec;
  if (const auto select = fields.Get("select")) {
    ReadSelect(*select);
  }
  if (const auto priority = fields.Get("priority")) {
    spec.priority =
        static_cast<int32_t>(priority->Integer(-kPriorityMax, kPriorityMax).value_or(0));
  }
  if (const auto budget = fields.Get("budget")) {
    ReadBudget(*budget, sweep_.spec);
  }
  if (const auto keep = fields.Get("keep")) {
    ReadKeep(*keep, sweep_.spec);
  }
  if (const auto retry = fields.Get("retry")) {
    sweep_.places["retry"] = retry->Place();
    ReadRetry(*retry, sweep_.spec);
  }
  if (const auto early_stop = fields.Get("early_stop")) {
    sweep_.places["early_stop"] = early_stop->Place();
    ReadEarlyStop(*early_stop);
  }
  if (const auto failures = fields.Get("failures_max_per_block")) {
    spec.failures_max_per_block = static_cast<uint32_t>(failures->Integer(0, kJobsMax).value_or(0));
  }
}

void SweepReader::ReadSelect(const Value& value) {
  SweepSpec& spec = sweep_.spec;
  if (!value.IsMap()) {
    spec.select = value
                      .OneOf(SelectionFromName,
                             "; to say on what the best is chosen, write {by: validation} or "
                             "{by: test}")
                      .value_or(spec.select);
    return;
  }
  Fields fields(value);
  const auto by = fields.Require("by", "validation or test");
  fields.Finish();
  const std::optional<bool> on_test = by ? SaysTest(*by) : std::nullopt;
  if (!on_test) {
    return;
  }
  spec.select = *on_test ? Selection::kBestOnTest : Selection::kBest;
  if (*on_test) {
    return;
  }
  std::set<uint32_t> validated;
  for (const auto& [benchmark, use] : validations_) {
    validated.insert(benchmark);
  }
  for (const TrainSet& train_set : spec.train_sets) {
    if (!train_set.source_only && std::none_of(train_set.parts.begin(), train_set.parts.end(),
                                               [&](const TrainSet::Part& part) {
                                                 return validated.count(part.benchmark) > 0;
                                               })) {
      by->Error(absl::StrCat("expected a validation set of every train set, got none of \"",
                             train_set.name, "\"; give its benchmark the field validation"));
    }
  }
}

std::string PlaceOf(const LoadedSweep& sweep, std::string field) {
  for (;;) {
    const auto place = sweep.places.find(field);
    if (place != sweep.places.end()) {
      return place->second;
    }
    const size_t end = field.find_last_of(".[");
    if (end == std::string::npos) {
      return "";
    }
    field.resize(end);
  }
}

namespace {

// Checks that the predict command writes the files that its benchmarks need.
void CheckOutputs(const LoadedSweep& sweep, const Expansion& expansion, ErrorList& errors) {
  const SweepSpec& spec = sweep.spec;
  std::set<std::pair<uint32_t, DataFormat>> seen;
  for (const Block& block : expansion.blocks()) {
    for (const uint32_t test : block.tests) {
      const BenchmarkSpec& benchmark = spec.benchmarks[test];
      if (!seen.insert({block.approach, benchmark.format}).second) {
        continue;
      }
      const char* needed = IsQa(benchmark.format) ? "predictions" : "metrics";
      bool found = false;
      for (const std::string& argument : spec.approaches[block.approach].predict_command) {
        const auto names = PlaceholdersOf(argument);
        found = found ||
                (names.ok() && std::find(names->begin(), names->end(), needed) != names->end());
      }
      if (!found) {
        errors.Add(
            "", {}, "",
            absl::StrCat(
                PlaceOf(sweep, absl::StrCat("approaches[", block.approach, "].predict.command")),
                "expected {", needed, "} in the command, for the benchmark \"", benchmark.name,
                "\" of format ", DataFormatName(benchmark.format), ", got none",
                IsQa(benchmark.format)
                    ? "; for data of another form write format: file, and {metrics}"
                    : ""));
      }
    }
  }
}

void AddWarnings(const Expansion& expansion, LoadedSweep* sweep) {
  const SweepSpec& spec = sweep->spec;
  const auto warn = [&](const std::string& field, absl::string_view message) {
    sweep->warnings.push_back(absl::StrCat(PlaceOf(*sweep, field), message));
  };
  bool any_space = false;
  std::set<uint32_t> approaches;
  std::set<uint32_t> benchmarks;
  for (const Block& block : expansion.blocks()) {
    approaches.insert(block.approach);
    benchmarks.insert(block.tests.begin(), block.tests.end());
    any_space =
        any_space || spec.search || IsDrawn(spec.approaches[block.approach].hyperparameters);
    if (block.has_train) {
      for (const TrainSet::Part& part : spec.train_sets[block.train_set].parts) {
        benchmarks.insert(part.benchmark);
      }
    }
  }
  if (spec.random_settings > 0 && !any_space) {
    warn("settings", "no approach has a space to sample from; nothing is drawn");
  }
  for (uint32_t i = 0; i < spec.approaches.size(); ++i) {
    const std::string field = absl::StrCat("approaches[", i, "]");
    const ApproachSpec& approach = spec.approaches[i];
    if (approach.predict_command.empty() && approach.train_command.empty()) {
      continue;  // nothing but a service
    }
    if (approaches.count(i) == 0) {
      warn(field, absl::StrCat("the approach \"", approach.name, "\" has no job"));
    }
    bool uses_seed = spec.seeds.size() == 1;
    for (const auto* command : approach.Commands()) {
      for (const std::string& argument : *command) {
        uses_seed = uses_seed || absl::StrContains(argument, "{seed}");
      }
    }
    if (!uses_seed) {
      warn(field, absl::StrCat("no command of \"", approach.name, "\" uses {seed}: its ",
                               spec.seeds.size(), " seeds differ only if it reads CONCUR_SEED"));
    }
  }
  for (uint32_t i = 0; i < spec.benchmarks.size(); ++i) {
    const std::string metric_field = absl::StrCat("benchmarks[", i, "].metric");
    const std::string& metric = spec.benchmarks[i].metric;
    if (!spec.benchmarks[i].validation_of && (UsuallyMinimized(metric) || HasUnclearGoal(metric)) &&
        sweep->places.count(metric_field + ".goal") == 0) {
      warn(metric_field, absl::StrCat("more of \"", metric,
                                      "\" counts as better; if less is, write metric: {name: ",
                                      metric, ", goal: minimize}, else goal: maximize"));
    }
    if (benchmarks.count(i) == 0 && !spec.benchmarks[i].validation_of) {
      warn(absl::StrCat("benchmarks[", i, "]"),
           absl::StrCat("the benchmark \"", spec.benchmarks[i].name, "\" has no job"));
    }
  }
}

}  // namespace

absl::Status WithPlace(const LoadedSweep& sweep, const absl::Status& status) {
  if (status.ok()) {
    return status;
  }
  absl::string_view message = status.message();
  const size_t colon = message.find(": ");
  std::string place;
  if (colon != absl::string_view::npos) {
    place = PlaceOf(sweep, std::string(message.substr(0, colon)));
  }
  if (place.empty()) {
    place = PlaceOf(sweep, "");
  } else {
    message.remove_prefix(colon + 2);
  }
  return absl::Status(status.code(), absl::StrCat(place, message));
}

absl::StatusOr<LoadedSweep> LoadSweep(const std::string& path,
                                      const std::map<std::string, std::string>& variables) {
  ErrorList errors;
  SweepReader reader(errors);
  LoadedSweep sweep = reader.Read(path, variables);
  if (!errors.empty()) {
    return errors.ToStatus();
  }
  const absl::StatusOr<Expansion> expansion = Expansion::Make(sweep.spec);
  if (!expansion.ok()) {
    return WithPlace(sweep, expansion.status());
  }
  CheckOutputs(sweep, *expansion, errors);
  if (!errors.empty()) {
    return errors.ToStatus();
  }
  AddWarnings(*expansion, &sweep);
  return sweep;
}

LoadedSweep ReadSweepFile(const YamlFile& file, ErrorList& errors) {
  return SweepReader(errors).Read(file);
}

absl::Status CheckPools(const LoadedSweep& sweep, const std::vector<PoolLimit>& pools) {
  return WithPlace(sweep, CheckFitsInPools(sweep.spec, pools));
}

}  // namespace concur::spec
