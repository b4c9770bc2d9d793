// SPDX-License-Identifier: Apache-2.0
#include "yaml/benchmark_yaml.h"

#include <array>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/metric_meaning.h"

namespace concur::spec {
namespace {

enum class MayBeAbsent { kNo, kYes };

std::optional<DataFileUse> ReadDataFile(const Value& value,
                                        MayBeAbsent may_be_absent = MayBeAbsent::kNo) {
  DataFileUse use;
  std::optional<Value> path_value = value;
  if (value.IsMap()) {
    Fields fields(value);
    path_value = fields.Require("file", "the path of the data");
    if (const auto digest = fields.Get("sha256")) {
      if (const std::optional<std::string> hex = digest->Text()) {
        const absl::StatusOr<Digest> parsed = Digest::FromHex(*hex);
        if (parsed.ok()) {
          use.digest = *parsed;
        } else {
          digest->Error(parsed.status().message());
        }
      }
    }
    if (may_be_absent == MayBeAbsent::kYes) {
      if (const auto optional = fields.Get("optional")) {
        use.optional = optional->Bool().value_or(false);
      }
    }
    fields.Finish();
  }
  if (!path_value) {
    return std::nullopt;
  }
  const std::optional<std::string> path = path_value->Path();
  if (!path) {
    return std::nullopt;
  }
  use.path = *path;
  use.place = path_value->Place();
  use.variable = path_value->node().variable;
  return use;
}

DataFile Unresolved(const DataFileUse& use) {
  DataFile file;
  file.path = use.path;
  file.suffix = SuffixOf(use.path);
  return file;
}

std::optional<Scale> ReadScale(const Value& value) {
  if (!value.IsList()) {
    const std::optional<std::string> text = value.Text("percent, fraction, none or [LOW, HIGH]");
    const absl::StatusOr<Scale> scale = ScaleFromText(text.value_or(""));
    if (text && (!scale.ok() || scale->kind == Scale::Kind::kRange)) {
      value.Expected("percent, fraction, none or [LOW, HIGH]");
    }
    return scale.ok() ? std::optional(*scale) : std::nullopt;
  }
  const std::vector<Value> ends = *value.List();
  if (ends.size() != 2) {
    value.Error(absl::StrCat("expected [LOW, HIGH], got ", ends.size(), " values"));
    return std::nullopt;
  }
  const std::optional<double> low = ends[0].Number();
  const std::optional<double> high = ends[1].Number();
  if (!low || !high) {
    return std::nullopt;
  }
  const Scale scale{Scale::Kind::kRange, *low, *high};
  if (const absl::Status status = CheckScale(scale); !status.ok()) {
    value.Error(status.message());
  }
  return scale;
}

// {from: train, share: 0.1, seed: 1}; nothing when `value` has no `from`.
std::optional<ValidationUse> ReadHeldOut(const Value& value) {
  Fields fields(value);
  const auto from = fields.Get("from");
  if (!from) {
    return std::nullopt;
  }
  if (const auto text = from->Text("train"); text && *text != "train") {
    from->Expected("train");
  }
  ValidationUse use;
  use.place = value.Place();
  if (const auto share = fields.Require("share", "of the train questions, between 0 and 1")) {
    use.share = share->Number().value_or(0.5);
    if (!(use.share > 0 && use.share < 1)) {
      share->Expected("a share between 0 and 1");
    }
  }
  if (const auto seed = fields.Get("seed")) {
    use.seed =
        static_cast<uint64_t>(seed->Integer(0, std::numeric_limits<int64_t>::max()).value_or(1));
  }
  fields.Finish();
  return use;
}

void ReadBenchmarkSpec(const Value& value, ParsedBenchmark* benchmark) {
  BenchmarkSpec& spec = benchmark->spec;
  Fields fields(value);
  const std::optional<Value> format = fields.Get("format");
  if (format) {
    spec.format = format->OneOf(DataFormatFromName).value_or(spec.format);
  }
  if (const auto parameters = fields.Get("parameters")) {
    ReadBenchmarkParameters(*parameters, benchmark);
  }
  const std::optional<Value> train = fields.Get("train");
  const std::optional<Value> test = fields.Get("test");
  if (train) {
    benchmark->train = ReadDataFile(*train);
    benchmark->places[".train"] = train->Place();
  }
  if (test) {
    benchmark->test = ReadDataFile(*test, MayBeAbsent::kYes);
    benchmark->places[".test"] = test->Place();
  }
  if (const auto validation = fields.Get("validation")) {
    ReadBenchmarkValidation(*validation, benchmark);
  }
  if (!train && !test && !spec.parameters.empty()) {
    if (format && IsQa(spec.format)) {
      format->Error("expected format file where there are parameters and no test file");
    }
    spec.format = DataFormat::kFile;
    spec.test = DataFile{{}, 0, "its parameters", ".json"};
  } else if (fields.valid() && !train && !test) {
    value.Error("expected a train or a test file, or parameters, got none of them");
  }
  if (benchmark->train) {
    spec.train = Unresolved(*benchmark->train);
  }
  if (benchmark->test) {
    spec.test = Unresolved(*benchmark->test);
  }
  if (const auto metric = fields.Get("metric")) {
    ReadBenchmarkMetric(*metric, benchmark);
  } else if (spec.format == DataFormat::kFile && (spec.test || benchmark->validation)) {
    value.Error(
        "expected the field \"metric\" (the value of {metrics} that matrices use) for format "
        "file, got none");
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

}  // namespace

void ReadBenchmarkValidation(const Value& value, ParsedBenchmark* benchmark) {
  benchmark->validation = value.IsMap() ? ReadHeldOut(value) : std::nullopt;
  if (!benchmark->validation) {
    ValidationUse use;
    use.place = value.Place();
    use.file = ReadDataFile(value);
    if (use.file) {
      benchmark->validation = std::move(use);
    }
    return;
  }
  if (value.shape() == nullptr && (!benchmark->train || !IsQa(benchmark->spec.format))) {
    value.Error(absl::StrCat("expected a train file of format qa to hold validation data out from",
                             ", got ", benchmark->train ? "one of format file" : "none",
                             "; name a file of validation data"));
  }
}

void ReadBenchmarkParameters(const Value& value, ParsedBenchmark* benchmark) {
  const auto entries = value.Entries("parameters such as {task: mmlu, shots: 5}");
  for (const Value::Entry& entry : entries.value_or(std::vector<Value::Entry>())) {
    if (const absl::Status valid = ValidateHyperparameterName(entry.key); !valid.ok()) {
      entry.key_value.Error(valid.message());
    } else if (const std::optional<ParamValue> parameter = entry.value.Param()) {
      benchmark->spec.parameters[entry.key] = ParamText(*parameter);
    }
  }
}

void ReadBenchmarkMetric(const Value& value, ParsedBenchmark* benchmark) {
  BenchmarkSpec& spec = benchmark->spec;
  benchmark->places[".metric"] = value.Place();
  if (!value.IsMap()) {
    const std::string name = value.Name().value_or(spec.metric);
    if (name != spec.metric) {
      spec.meaning = {};
      benchmark->places.erase(".metric.goal");
    }
    spec.metric = name;
    return;
  }
  spec.meaning = {};
  benchmark->places.erase(".metric.goal");
  Fields fields(value);
  if (const auto name = fields.Require("name", "of the metric")) {
    spec.metric = name->Name().value_or(spec.metric);
  }
  if (const auto goal = fields.Get("goal")) {
    spec.meaning.goal = goal->OneOf(GoalFromName).value_or(Goal::kMaximize);
    benchmark->places[".metric.goal"] = goal->Place();
  }
  if (const auto scale = fields.Get("scale")) {
    spec.meaning.scale = ReadScale(*scale).value_or(Scale());
    benchmark->places[".metric.scale"] = scale->Place();
  }
  fields.Finish();
}

void ReadBenchmarkResources(const Value& resources, ParsedBenchmark* benchmark) {
  BenchmarkSpec& spec = benchmark->spec;
  Fields fields(resources);
  if (const auto value = fields.Get("labels")) {
    Labels labels = ReadTags(*value);
    labels.merge(spec.labels);
    spec.labels = std::move(labels);
  }
  if (const auto value = fields.Get("uses")) {
    Uses uses = ReadUses(*value);
    uses.merge(spec.uses);
    spec.uses = std::move(uses);
  }
  fields.Finish();
  NoteRequest(".resources", resources, &benchmark->places);
}

std::string SuffixOf(absl::string_view path) {
  static constexpr std::array<absl::string_view, 5> kCompressions = {".gz", ".zst", ".xz", ".bz2",
                                                                     ".zip"};
  const size_t slash = path.rfind('/');
  absl::string_view name = slash == absl::string_view::npos ? path : path.substr(slash + 1);
  // The last ".word" of `name`, which becomes shorter; "" when there is none.
  const auto take = [&name]() -> absl::string_view {
    const size_t dot = name.rfind('.');
    if (dot == absl::string_view::npos || dot == 0 || dot + 1 == name.size() ||
        name.size() - dot > kSuffixBytesMax / 2) {  // it may be two of them
      return "";
    }
    for (char c : name.substr(dot + 1)) {
      if (!absl::ascii_isalnum(static_cast<unsigned char>(c))) {
        return "";
      }
    }
    const absl::string_view suffix = name.substr(dot);
    name = name.substr(0, dot);
    return suffix;
  };
  const absl::string_view last = take();
  for (const absl::string_view compression : kCompressions) {
    if (last == compression) {
      return absl::StrCat(take(), last);
    }
  }
  return std::string(last);
}

ParsedBenchmark ReadBenchmark(const std::optional<Value>& metadata,
                              const std::optional<Value>& spec) {
  ParsedBenchmark benchmark;
  if (metadata) {
    Fields fields(*metadata);
    if (const auto name = fields.Require("name", "the benchmark's name")) {
      benchmark.spec.name = name->Name().value_or("");
      benchmark.places[".name"] = name->Place();
    }
    if (const auto tags = fields.Get("tags")) {
      benchmark.spec.tags = ReadTags(*tags);
      benchmark.places[".tags"] = tags->Place();
    }
    if (const auto description = fields.Get("description")) {
      description->Text();
    }
    fields.Finish();
  }
  if (spec) {
    benchmark.places[""] = spec->Place();
    ReadBenchmarkSpec(*spec, &benchmark);
  }
  return benchmark;
}

ParsedBenchmark ReadBenchmarkFile(const YamlFile& file, ErrorList& errors) {
  const Document document = ReadDocument(file, "Benchmark", true, errors);
  return ReadBenchmark(document.metadata, document.spec);
}

absl::StatusOr<ParsedBenchmark> LoadBenchmark(const std::string& path,
                                              const std::map<std::string, std::string>& variables) {
  ErrorList errors;
  YamlFile file;
  if (!LoadYaml(path, VariablesFrom(variables), nullptr, &file, &errors)) {
    return errors.ToStatus();
  }
  ParsedBenchmark benchmark = ReadBenchmarkFile(file, errors);
  if (!errors.empty()) {
    return errors.ToStatus();
  }
  return benchmark;
}

}  // namespace concur::spec
