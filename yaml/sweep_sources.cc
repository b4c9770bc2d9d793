// SPDX-License-Identifier: Apache-2.0
// Reads a sweep's variables, approaches and benchmarks, from its own file or from others.
#include <fnmatch.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/file.h"
#include "base/suggest.h"
#include "yaml/sweep_reader.h"

namespace concur::spec {
namespace {

constexpr size_t kFilesMax = 20'000;  // limit of a pattern's matches

bool IsPattern(absl::string_view path) { return path.find_first_of("*?[") != path.npos; }

// The regular files of the pattern's directory whose names match its last part, in byte order.
std::vector<std::string> Match(const std::string& pattern, bool* too_many) {
  const std::filesystem::path path(pattern);
  const std::string name = path.filename().string();
  const std::filesystem::path directory = path.has_parent_path() ? path.parent_path() : ".";
  std::vector<std::string> matches;
  std::error_code error;
  for (std::filesystem::directory_iterator it(directory, error), end; !error && it != end;
       it.increment(error)) {
    std::error_code ignored;
    if (fnmatch(name.c_str(), it->path().filename().c_str(), FNM_PERIOD) == 0 &&
        it->is_regular_file(ignored)) {
      if (matches.size() == kFilesMax) {
        *too_many = true;
        break;
      }
      matches.push_back(it->path().lexically_normal().string());
    }
  }
  std::sort(matches.begin(), matches.end());
  return matches;
}

constexpr absl::string_view kBenchmarkKind = "Benchmark";
constexpr size_t kVariantsMax = 100;  // benchmarks that one `build` makes

// A value, or those of {grid: […]}.
std::vector<std::string> BuilderValues(const Value& value) {
  std::vector<Value> values = {value};
  if (value.IsMap()) {
    Fields fields(value);
    const auto grid = fields.Require("grid", "a list of values");
    fields.Finish();
    values = (grid ? grid->List("a list of values") : std::nullopt).value_or(std::vector<Value>());
    if (grid && values.empty()) {
      grid->Error("expected at least one value");
    }
  }
  std::vector<std::string> texts;
  for (const Value& each : values) {
    if (const std::optional<ParamValue> parameter = each.Param()) {
      texts.push_back(ParamText(*parameter));
    }
  }
  return texts;
}

}  // namespace

bool SweepReader::ReadVariables(const std::map<std::string, std::string>& given) {
  std::vector<std::string> declared;
  const size_t errors_before = errors_.count();
  for (YamlNode::Entry& entry : file_.root.entries) {
    if (entry.key != "spec") {
      continue;
    }
    for (const YamlNode::Entry& field : entry.value.entries) {
      if (field.key != "variables") {
        continue;
      }
      const Value value(file_, field.value, "spec.variables", errors_);
      const auto entries = value.Entries("a mapping of names to values");
      for (const Value::Entry& variable : entries.value_or(std::vector<Value::Entry>())) {
        declared.push_back(variable.key);
        bool valid = !variable.key.empty();
        for (char c : variable.key) {
          valid =
              valid && (absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-');
        }
        if (!valid) {
          variable.key_value.Error(
              "expected the name of a variable to be letters, digits, \"_\" and \"-\"");
        }
        const auto override = given.find(variable.key);
        if (override != given.end()) {
          variables_[variable.key] = Variable{override->second, "."};
        } else if (variable.value.node().kind == YamlNode::Kind::kNull) {
          variable.value.Error(
              absl::StrCat("expected a value, got nothing; give --var ", variable.key, "=VALUE"));
        } else if (const auto text = variable.value.Text()) {
          variables_[variable.key] = Variable{*text, file_.directory};
        }
      }
    }
  }
  for (const auto& [name, value] : given) {
    if (std::find(declared.begin(), declared.end(), name) == declared.end()) {
      errors_.Add(
          "", {}, "",
          absl::StrCat("--var ", name, "=…: expected a variable that ", file_.path,
                       " declares in spec.variables (",
                       declared.empty() ? "it declares none" : absl::StrJoin(declared, ", "),
                       "), got \"", name, "\"", DidYouMean(name, declared)));
    }
  }
  return errors_.count() == errors_before;
}

std::vector<std::string> SweepReader::PathsOf(const Value& value) {
  const std::optional<std::string> path = value.Path();
  if (!path) {
    return {};
  }
  if (!IsPattern(*path)) {
    return {*path};
  }
  if (IsPattern(std::filesystem::path(*path).parent_path().string())) {
    value.Error(absl::StrCat(
        "expected a pattern in the file name alone, got one in a directory: \"", *path, "\""));
    return {};
  }
  bool too_many = false;
  std::vector<std::string> paths = Match(*path, &too_many);
  if (too_many) {
    value.Error(absl::StrCat("expected a pattern that matches at most ", kFilesMax, " files"));
    return {};
  }
  if (paths.empty()) {
    value.Error(
        absl::StrCat("expected a pattern that matches a file, got none for \"", *path, "\""));
  }
  return paths;
}

void SweepReader::ReadSourceFile(const Value& named_by, const std::string& path,
                                 absl::string_view kind, const std::optional<Value>& overrides,
                                 const std::function<void(const Source&)>& use) {
  if (named_by.shape() != nullptr) {  // fields that may stand beside the path are asked for as well
    use(Source{std::nullopt, std::nullopt, overrides});
    return;
  }
  YamlFile file;
  if (!LoadYaml(path, variables_, &named_by, &file, &errors_)) {
    return;
  }
  const Document document = ReadDocument(file, kind, true, errors_);
  if (!document.spec) {
    return;  // which has its error; whatever stands beside the path would only add others
  }
  use(Source{document.metadata, document.spec, overrides});
}

void SweepReader::ForEachSource(const Value& list, absl::string_view kind,
                                const std::function<void(const Source&)>& use) {
  const size_t errors_before = errors_.count();
  const auto items = list.List("a list of paths and mappings");
  if (items && items->empty()) {
    list.Error("expected at least one, got an empty list");
  }
  for (const Value& item : items.value_or(std::vector<Value>())) {
    ReadSources(item, kind, use);
  }
  incomplete_ = incomplete_ || errors_.count() > errors_before;
}

void SweepReader::ReadSources(const Value& item, absl::string_view kind,
                              const std::function<void(const Source&)>& use) {
  if (item.IsScalar()) {
    for (const std::string& path : PathsOf(item)) {
      ReadSourceFile(item, path, kind, std::nullopt, use);
    }
    return;
  }
  if (!item.IsMap()) {
    item.Expected("a path, a mapping with \"file\", or one with \"metadata\" and \"spec\"");
    return;
  }
  Fields fields(item);
  const auto file = fields.Get("file");
  const auto build = kind == kBenchmarkKind ? fields.Get("build") : std::nullopt;
  // A schema is made of samples, which have fields of all forms.
  const bool is_sample = item.shape() != nullptr;
  if (build && !is_sample && (file || fields.Get("metadata"))) {
    build->Error("expected no build beside file or metadata");
    return;
  }
  if (build) {
    AddBuiltBenchmarks(*build, fields);
    if (!is_sample) {
      return;
    }
  }
  if (!file) {
    Source source;
    source.metadata = fields.Require("metadata", "or \"file\" for one in another file");
    source.spec = fields.Require("spec", "what it is");
    fields.Finish();
    use(source);
    return;
  }
  const std::vector<std::string> paths = PathsOf(*file);
  const auto name = fields.Get("name");
  if (paths.size() > 1 && name) {
    name->Error(absl::StrCat("expected no name for a pattern that matches ", paths.size(),
                             " files; name one file"));
    return;
  }
  for (const std::string& path : paths) {
    ReadSourceFile(*file, path, kind, item, use);
  }
}

void SweepReader::AddApproach(const Source& source) {
  ParsedApproach approach = ReadApproach(source.metadata, source.spec);
  if (source.overrides) {
    OverrideApproach(*source.overrides, &approach);
  }
  approach.train_resources.FillFrom(default_resources_);
  approach.predict_resources.FillFrom(default_resources_);
  approach.timeouts.FillFrom(default_timeouts_);
  approach.Resolve();
  const std::string prefix = absl::StrCat("approaches[", sweep_.spec.approaches.size(), "]");
  for (auto& [path, place] : approach.places) {
    sweep_.places[absl::StrCat(prefix, path)] = std::move(place);
  }
  sweep_.warnings.insert(sweep_.warnings.end(), approach.warnings.begin(), approach.warnings.end());
  if (approach.train_from) {
    stages_.emplace(static_cast<uint32_t>(sweep_.spec.approaches.size()),
                    *std::move(approach.train_from));
  }
  if (!approach.needs.empty()) {
    needs_.emplace(static_cast<uint32_t>(sweep_.spec.approaches.size()), std::move(approach.needs));
  }
  if (approach.code) {
    sweep_.codes.push_back(
        {static_cast<uint32_t>(sweep_.spec.approaches.size()), *std::move(approach.code)});
  }
  if (approach.predict_code) {
    sweep_.codes.push_back({static_cast<uint32_t>(sweep_.spec.approaches.size()),
                            *std::move(approach.predict_code),
                            {},
                            /*of_predict=*/true});
  }
  sweep_.approach_folders.push_back(std::move(approach.folder));
  sweep_.spec.approaches.push_back(std::move(approach.spec));
}

void SweepReader::OverrideApproach(const Value& overrides, ParsedApproach* approach) {
  Fields fields(overrides);
  fields.Get("file");
  if (const auto name = fields.Get("name")) {
    approach->spec.name = name->Name().value_or("");
    approach->places[".name"] = name->Place();
  }
  if (const auto tags = fields.Get("tags")) {
    for (auto& [name, value] : ReadTags(*tags)) {
      approach->spec.tags[name] = value;
    }
  }
  if (const auto set = fields.Get("set")) {
    PinSettings(*set, approach);
  }
  if (const auto train_from = fields.Get("train_from")) {
    approach->train_from = ReadTrainFrom(*train_from);
    approach->places[".train_from"] = train_from->Place();
  }
  if (const auto needs = fields.Get("needs")) {
    approach->needs = ReadNeeds(*needs);
    approach->places[".needs"] = needs->Place();
  }
  if (const auto resources = fields.Get("resources")) {
    const ResourceRequest request = ReadJobResources(*resources);
    for (ResourceRequest* target : {&approach->train_resources, &approach->predict_resources}) {
      ResourceRequest merged = request;
      merged.FillFrom(*target);
      *target = merged;
    }
    NoteRequest(".train.resources", *resources, &approach->places);
    NoteRequest(".predict.resources", *resources, &approach->places);
  }
  if (const auto timeout = fields.Get("timeout")) {
    TimeoutRequest request = ReadTimeouts(*timeout);
    request.FillFrom(approach->timeouts);
    approach->timeouts = request;
  }
  fields.Finish();
}

void SweepReader::PinSettings(const Value& set, ParsedApproach* approach) {
  Hyperparameters& hyperparameters = approach->spec.hyperparameters;
  const auto entries = set.Entries("a mapping of hyperparameters to values");
  if (!entries) {
    return;
  }
  std::vector<std::string> known;
  for (const auto& [name, value] : hyperparameters.defaults) {
    known.push_back(name);
  }
  for (const Value::Entry& entry : *entries) {
    if (hyperparameters.defaults.count(entry.key) == 0) {
      if (!approach->defaults_known) {
        continue;
      }
      entry.key_value.Error(
          absl::StrCat("expected a hyperparameter of \"", approach->spec.name, "\" (",
                       known.empty() ? "it has none" : absl::StrJoin(known, ", "), "), got \"",
                       entry.key, "\"", DidYouMean(entry.key, known)));
      continue;
    }
    if (std::optional<ParamValue> value = entry.value.Param()) {
      hyperparameters.defaults[entry.key] = *std::move(value);
      hyperparameters.space.erase(entry.key);
    }
  }
}

void SweepReader::AddBuiltBenchmarks(const Value& build, Fields& fields) {
  LoadedSweep::Built built;
  built.builder = build.Name().value_or("");
  built.place = build.Place();
  BenchmarkSpec spec;
  spec.name = built.builder;
  if (const auto name = fields.Get("name")) {
    spec.name = name->Name().value_or("");
  }
  spec.tags["builder"] = built.builder;
  if (const auto seed = fields.Get("seed")) {
    built.seed =
        static_cast<uint64_t>(seed->Integer(0, std::numeric_limits<int64_t>::max()).value_or(1));
  }
  std::vector<std::pair<BenchmarkSpec, LoadedSweep::Built>> variants = {{spec, built}};
  if (const auto parameters = fields.Get("parameters")) {
    const auto entries = parameters->Entries("parameters of the builder: concur data list BUILDER");
    for (const Value::Entry& entry : entries.value_or(std::vector<Value::Entry>())) {
      const std::vector<std::string> values = BuilderValues(entry.value);
      if (values.size() * variants.size() > kVariantsMax) {
        entry.value.Error(absl::StrCat("expected grids of at most ", kVariantsMax,
                                       " benchmarks, got ", values.size() * variants.size()));
        return;
      }
      std::vector<std::pair<BenchmarkSpec, LoadedSweep::Built>> grown;
      for (const auto& variant : variants) {
        for (const std::string& value : values) {
          auto& [more, how] = grown.emplace_back(variant);
          how.parameters[entry.key] = value;
          if (entry.value.IsMap()) {
            absl::StrAppend(&more.name, "+", entry.key, "=", value);
            more.tags[entry.key] = value;
          }
        }
      }
      variants = std::move(grown);
    }
  }
  fields.Finish();
  for (auto& [more, how] : variants) {
    if (const absl::Status valid = ValidateName(more.name); !valid.ok() && !built.builder.empty()) {
      build.Error(valid.message());
    }
    more.train = DataFile{{}, 0, absl::StrCat(more.name, "/train.jsonl"), ".jsonl"};
    more.test = DataFile{{}, 0, absl::StrCat(more.name, "/test.jsonl"), ".jsonl"};
    how.benchmark = static_cast<uint32_t>(sweep_.spec.benchmarks.size());
    sweep_.places[absl::StrCat("benchmarks[", how.benchmark, "]")] = how.place;
    sweep_.built.push_back(std::move(how));
    sweep_.spec.benchmarks.push_back(std::move(more));
  }
}

bool SweepReader::LeaveOut(const ParsedBenchmark& benchmark) {
  if (!benchmark.test || !benchmark.test->optional ||
      !absl::IsNotFound(OpenRegularFile(benchmark.test->path).status())) {
    return false;  // a file that is there and cannot be read is an error, later
  }
  sweep_.left_out.push_back(absl::StrCat(benchmark.test->place, "the benchmark \"",
                                         benchmark.spec.name, "\" is left out: its optional test ",
                                         "file is not there: ", benchmark.test->path));
  absent_.push_back(benchmark.spec);
  return true;
}

void SweepReader::AddBenchmark(const Source& source) {
  ParsedBenchmark benchmark = ReadBenchmark(source.metadata, source.spec);
  if (source.overrides) {
    OverrideBenchmark(*source.overrides, &benchmark);
  }
  if (LeaveOut(benchmark)) {
    return;
  }
  const auto index = static_cast<uint32_t>(sweep_.spec.benchmarks.size());
  for (auto& [path, place] : benchmark.places) {
    sweep_.places[absl::StrCat("benchmarks[", index, "]", path)] = std::move(place);
  }
  if (benchmark.train) {
    sweep_.files.push_back({index, true, *std::move(benchmark.train)});
  }
  if (benchmark.test) {
    sweep_.files.push_back({index, false, *std::move(benchmark.test)});
  } else if (benchmark.spec.test) {
    sweep_.made_of_parameters.push_back(index);
  }
  if (benchmark.validation) {
    validations_.emplace_back(index, *std::move(benchmark.validation));
  }
  if (!benchmark.needs.empty()) {
    benchmark_needs_.emplace(index, std::move(benchmark.needs));
  }
  sweep_.spec.benchmarks.push_back(std::move(benchmark.spec));
}

void SweepReader::AddValidationSets() {
  for (auto& [owner, use] : validations_) {
    const auto index = static_cast<uint32_t>(sweep_.spec.benchmarks.size());
    BenchmarkSpec validation = sweep_.spec.benchmarks[owner];
    validation.name = ValidationName(validation.name);
    validation.validation_of = owner;
    validation.test = DataFile();
    if (use.file) {
      validation.test->path = use.file->path;
      validation.test->suffix = SuffixOf(use.file->path);
      sweep_.files.push_back({index, false, *std::move(use.file)});
    } else if (validation.train) {
      // Data that is cut is written as MRQA JSON lines.
      sweep_.spec.benchmarks[owner].train->suffix = ".jsonl";
      validation.test->path = validation.train->path;
      validation.test->suffix = ".jsonl";
      sweep_.held_out.push_back({owner, index, use.share, use.seed, use.place});
    }
    validation.train.reset();
    sweep_.places[absl::StrCat("benchmarks[", index, "]")] = use.place;
    sweep_.spec.benchmarks.push_back(std::move(validation));
  }
}

void SweepReader::OverrideBenchmark(const Value& overrides, ParsedBenchmark* benchmark) {
  Fields fields(overrides);
  fields.Get("file");
  if (const auto name = fields.Get("name")) {
    benchmark->spec.name = name->Name().value_or("");
    benchmark->places[".name"] = name->Place();
  }
  if (const auto tags = fields.Get("tags")) {
    for (auto& [name, value] : ReadTags(*tags)) {
      benchmark->spec.tags[name] = value;
    }
  }
  if (const auto parameters = fields.Get("parameters")) {
    ReadBenchmarkParameters(*parameters, benchmark);
  }
  if (const auto metric = fields.Get("metric")) {
    ReadBenchmarkMetric(*metric, benchmark);
  }
  if (const auto validation = fields.Get("validation")) {
    ReadBenchmarkValidation(*validation, benchmark);
  }
  if (const auto resources = fields.Get("resources")) {
    ReadBenchmarkResources(*resources, benchmark);
  }
  if (const auto needs = fields.Get("needs")) {
    benchmark->needs = ReadNeeds(*needs);
    benchmark->places[".needs"] = needs->Place();
  }
  fields.Finish();
}

}  // namespace concur::spec
