// SPDX-License-Identifier: Apache-2.0
#include "yaml/approach_yaml.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "core/sweep/command_template.h"
#include "yaml/environment_yaml.h"

namespace concur::spec {
namespace {

struct Command {
  std::vector<std::string> arguments;
  std::set<std::string> placeholders;
  std::string place;
};

// Reads a list of arguments and checks their placeholders.
Command ReadCommand(const Value& value, CommandKind kind, const ParsedApproach& approach) {
  Command command;
  command.place = value.Place();
  if (value.IsScalar()) {
    value.Expected(
        "a list of arguments such as [program, --flag] (no shell reads it; where one must, "
        "write [sh, -c, \"…\"])");
    return command;
  }
  const std::optional<std::vector<Value>> arguments = value.List("a list of arguments");
  if (!arguments) {
    return command;
  }
  if (arguments->empty()) {
    value.Error("expected at least the name of a program, got an empty list");
  }
  for (const Value& argument : *arguments) {
    const std::optional<std::string> text = argument.Text("text");
    if (!text) {
      continue;
    }
    absl::StatusOr<std::set<std::string>> found = CheckArgument(
        *text, kind,
        (kind == CommandKind::kServe ? approach.spec.code
                                     : approach.spec.CodeOf(kind == CommandKind::kTrain))
            .has_value(),
        approach.spec.hyperparameters.defaults);
    if (!found.ok()) {
      if (approach.defaults_known || !absl::StrContains(*text, "{hp.")) {
        argument.Error(found.status().message());
      }
      continue;
    }
    command.placeholders.merge(*found);
    command.arguments.push_back(*text);
  }
  return command;
}

// [low, high] as numbers.
bool ReadRange(const Value& value, double* low, double* high) {
  const std::optional<std::vector<Value>> items = value.List("two numbers [low, high]");
  if (!items) {
    return false;
  }
  if (items->size() != 2) {
    value.Error(absl::StrCat("expected two numbers [low, high], got ", items->size(), " values"));
    return false;
  }
  const std::optional<double> first = (*items)[0].Number();
  const std::optional<double> second = (*items)[1].Number();
  if (!first || !second) {
    return false;
  }
  *low = *first;
  *high = *second;
  return true;
}

std::optional<Distribution> ReadIntegerRange(const Value& value) {
  const std::optional<std::vector<Value>> items = value.List("integers [low, high] or with a step");
  if (!items) {
    return std::nullopt;
  }
  if (items->size() != 2 && items->size() != 3) {
    value.Error(absl::StrCat("expected integers [low, high] or [low, high, step], got ",
                             items->size(), " values"));
    return std::nullopt;
  }
  constexpr int64_t kLow = std::numeric_limits<int64_t>::min();
  constexpr int64_t kHigh = std::numeric_limits<int64_t>::max();
  const std::optional<int64_t> low = (*items)[0].Integer(kLow, kHigh);
  const std::optional<int64_t> high = (*items)[1].Integer(kLow, kHigh);
  const std::optional<int64_t> step =
      items->size() == 3 ? (*items)[2].Integer(1, kHigh) : std::optional<int64_t>(1);
  if (!low || !high || !step) {
    return std::nullopt;
  }
  return Distribution(IntegerRange{*low, *high, *step});
}

std::optional<Distribution> ReadDistribution(const Value& value) {
  Fields fields(value);
  if (!fields.valid()) {
    return std::nullopt;
  }
  const std::optional<Value> choice = fields.Get("choice");
  const std::optional<Value> uniform = fields.Get("uniform");
  const std::optional<Value> log_uniform = fields.Get("log_uniform");
  const std::optional<Value> integer = fields.Get("integer");
  const std::optional<Value> grid = fields.Get("grid");
  fields.Finish();
  const int given = int{choice.has_value()} + int{grid.has_value()} + int{uniform.has_value()} +
                    int{log_uniform.has_value()} + int{integer.has_value()};
  if (given != 1) {
    if (given > 1 || value.node().entries.empty()) {
      value.Error(absl::StrCat(
          "expected one of choice, grid, uniform, log_uniform and integer, got ", given));
    }
    return std::nullopt;
  }
  if (choice || grid) {
    Choice distribution{.values = {}, .is_grid = grid.has_value()};
    const std::optional<std::vector<Value>> items =
        (choice ? choice : grid)->List("a list of values");
    if (!items) {
      return std::nullopt;
    }
    for (const Value& item : *items) {
      if (std::optional<ParamValue> param = item.Param()) {
        distribution.values.push_back(*std::move(param));
      } else {
        return std::nullopt;
      }
    }
    return Distribution(std::move(distribution));
  }
  if (integer) {
    return ReadIntegerRange(*integer);
  }
  double low = 0;
  double high = 0;
  if (!ReadRange(uniform ? *uniform : *log_uniform, &low, &high)) {
    return std::nullopt;
  }
  return uniform ? Distribution(UniformRange{low, high}) : Distribution(LogUniformRange{low, high});
}

void ReadDefaults(const Value& value, Hyperparameters* hyperparameters) {
  const std::optional<std::vector<Value::Entry>> entries =
      value.Entries("a mapping of names to values");
  if (!entries) {
    return;
  }
  for (const Value::Entry& entry : *entries) {
    const absl::Status valid = ValidateHyperparameterName(entry.key);
    if (!valid.ok()) {
      entry.key_value.Error(valid.message());
      continue;
    }
    if (std::optional<ParamValue> param = entry.value.Param()) {
      hyperparameters->defaults[entry.key] = *std::move(param);
      const absl::Status distinct = CheckHyperparameterVariables(hyperparameters->defaults);
      if (!distinct.ok()) {
        entry.key_value.Error(distinct.message());
        hyperparameters->defaults.erase(entry.key);
      }
    }
  }
}

void ReadSpace(const Value& value, bool defaults_known, Hyperparameters* hyperparameters) {
  const std::optional<std::vector<Value::Entry>> entries =
      value.Entries("a mapping of names to ranges");
  if (!entries) {
    return;
  }
  for (const Value::Entry& entry : *entries) {
    if (hyperparameters->defaults.count(entry.key) == 0 && defaults_known) {
      entry.key_value.Error(absl::StrCat(
          "expected a hyperparameter that has a value in hyperparameters.default, got \"",
          entry.key, "\""));
      continue;
    }
    std::optional<Distribution> distribution = ReadDistribution(entry.value);
    if (!distribution) {
      continue;
    }
    // One parameter at a time, so that each error has its own position.
    Hyperparameters one;
    one.defaults = {{entry.key, true}};
    one.space = {{entry.key, *distribution}};
    const absl::Status valid = ValidateHyperparameters(one);
    if (!valid.ok()) {
      absl::string_view message = valid.message();
      message.remove_prefix(message.find(": ") + 2);
      entry.value.Error(message);
      continue;
    }
    hyperparameters->space[entry.key] = *std::move(distribution);
  }
}

void ReadHyperparameters(const Value& value, ParsedApproach* approach) {
  Hyperparameters* const hyperparameters = &approach->spec.hyperparameters;
  const size_t errors_before = value.errors().count();
  Fields fields(value);
  if (const std::optional<Value> defaults = fields.Require("default", "a value for each name")) {
    ReadDefaults(*defaults, hyperparameters);
  }
  approach->defaults_known = value.errors().count() == errors_before;
  if (const std::optional<Value> space = fields.Get("space")) {
    ReadSpace(*space, approach->defaults_known, hyperparameters);
  }
  fields.Finish();
}

void ReadVariables(const Value& value, absl::string_view expected,
                   std::map<std::string, std::string>* variables) {
  const std::optional<std::vector<Value::Entry>> entries = value.Entries(expected);
  if (!entries) {
    return;
  }
  for (const Value::Entry& entry : *entries) {
    if (std::optional<std::string> text = entry.value.Text()) {
      (*variables)[entry.key] = *std::move(text);
    }
  }
}

bool LooksSecret(const std::string& name, absl::string_view value) {
  constexpr size_t kBytesMin = 16;
  constexpr absl::string_view kPrefixes[] = {"sk-",  "hf_",    "ghp_", "gho_", "github_pat_",
                                             "AKIA", "glpat-", "xoxb", "AIza"};
  constexpr absl::string_view kEnds[] = {"KEY", "TOKEN", "SECRET", "PASSWORD"};
  if (value.size() < kBytesMin || value.find_first_of(" /") != value.npos) {
    return false;
  }
  const std::string upper = absl::AsciiStrToUpper(name);
  return std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                     [&](absl::string_view prefix) { return absl::StartsWith(value, prefix); }) ||
         std::any_of(std::begin(kEnds), std::end(kEnds),
                     [&](absl::string_view end) { return absl::EndsWith(upper, end); });
}

void WarnOfSecrets(const Value& value, const std::map<std::string, std::string>& env,
                   std::vector<std::string>* warnings) {
  for (const auto& [name, text] : env) {
    if (LooksSecret(name, text)) {
      warnings->push_back(absl::StrCat(
          value.Place(), "the value of ", name, " looks like a secret, and is stored with the ",
          "sweep: \"concur secret set NAME\", then secrets: {", name, ": NAME}"));
    }
  }
}

void NotePlace(const std::string& path, const Value& value, Places* places) {
  (*places)[path] = value.Place();
}

// Warns about placeholders that the commands do not use and probably should.
void WarnOfCommands(const Command& train, const Command& predict, bool trained,
                    std::vector<std::string>* warnings) {
  const auto warn = [&](const Command& command, absl::string_view name, absl::string_view why) {
    if (command.placeholders.count(std::string(name)) == 0) {
      warnings->push_back(absl::StrCat(command.place, "does not use {", name, "}: ", why));
    }
  };
  if (trained && !train.arguments.empty()) {
    warn(train, "train", "it never sees its training data");
    warn(train, "model", "it leaves no system to evaluate");
    if (!predict.arguments.empty()) {
      warn(predict, "model", "it never sees the trained system");
    }
  }
}

// One of train and predict: {command, resources, timeout}, and code of predict alone.
Command ReadStep(const Value& value, CommandKind kind, const ResourceRequest& general,
                 ParsedApproach* approach) {
  const bool is_train = kind == CommandKind::kTrain;
  const std::string path = is_train ? ".train" : ".predict";
  Command command;
  Fields fields(value);
  if (const std::optional<Value> code = is_train ? std::nullopt : fields.Get("code")) {
    approach->predict_code = ReadCode(*code);
    approach->spec.predict_code.emplace();
    NotePlace(".predict.code", *code, &approach->places);
  }
  if (const std::optional<Value> arguments = fields.Require("command", "a list of arguments")) {
    command = ReadCommand(*arguments, kind, *approach);
    NotePlace(path + ".command", *arguments, &approach->places);
  }
  ResourceRequest& resources = is_train ? approach->train_resources : approach->predict_resources;
  if (const std::optional<Value> request = fields.Get("resources")) {
    resources = ReadJobResources(*request);
    NoteRequest(path + ".resources", *request, &approach->places);
  }
  resources.FillFrom(general);
  if (const std::optional<Value> timeout = fields.Get("timeout")) {
    (is_train ? approach->timeouts.train : approach->timeouts.predict) =
        timeout->Duration(kTimeoutMin, kSpanMax);
  }
  const std::vector<YamlNode::Entry>& entries = value.node().entries;
  const bool has_code = std::any_of(entries.begin(), entries.end(),
                                    [](const auto& entry) { return entry.key == "code"; });
  fields.Finish(is_train && has_code
                    ? "; list files of train in code, beside train: predict.code replaces it there"
                    : "");
  return command;
}

// Returns the command.
Command ReadServiceSpec(const Value& value, ParsedApproach* approach) {
  Command read;
  ServiceSpec service;
  Fields fields(value);
  if (const auto command = fields.Require("command", "a list of arguments")) {
    read = ReadCommand(*command, CommandKind::kService, *approach);
    service.command = read.arguments;
    NotePlace(".service.command", *command, &approach->places);
  }
  if (const auto ready = fields.Get("ready")) {
    Fields ready_fields(*ready);
    if (const auto http = ready_fields.Get("http")) {
      service.ready_http = http->Text("a path such as /health").value_or("");
      NotePlace(".service.ready.http", *http, &approach->places);
    }
    if (const auto within = ready_fields.Get("within")) {
      service.ready_within = within->Duration(kTimeoutMin, kSpanMax).value_or(service.ready_within);
    }
    ready_fields.Finish();
  }
  if (const auto resources = fields.Get("resources")) {
    service.resources = ReadWorkerResources(*resources).Resolve();
    NotePlace(".service.resources", *resources, &approach->places);
  }
  if (const auto serves = fields.Get("serves")) {
    service.serves = static_cast<uint32_t>(serves->Integer(1, kServesMax).value_or(1));
  }
  if (const auto idle = fields.Get("idle")) {
    service.idle = idle->Duration(absl::ZeroDuration(), kSpanMax).value_or(service.idle);
  }
  fields.Finish();
  approach->spec.service = std::move(service);
  return read;
}

// An approach without a command that predicts may be there for others to start from, or for its
// service.
std::optional<Value> PredictOf(Fields& fields, bool may_lack) {
  return may_lack ? fields.Get("predict") : fields.Require("predict", "the command that predicts");
}

void ReadApproachSpec(const Value& value, ParsedApproach* approach) {
  ApproachSpec& spec = approach->spec;
  Fields fields(value);
  if (const auto code = fields.Get("code")) {
    approach->code = ReadCode(*code);
    spec.code.emplace();
    NotePlace(".code", *code, &approach->places);
  }
  if (const auto environment = fields.Get("environment")) {
    spec.environment = ReadEnvironmentSpec(*environment);
    NotePlace(".environment", *environment, &approach->places);
  }
  if (const auto version = spec.code
                               ? fields.Get("version")
                               : fields.Require("version",
                                                "such as \"1\", to be changed with the code; or "
                                                "instead code: [FILES]")) {
    spec.version = version->Text().value_or("");
    NotePlace(".version", *version, &approach->places);
  }
  if (const auto hyperparameters = fields.Get("hyperparameters")) {
    ReadHyperparameters(*hyperparameters, approach);
    NotePlace(".hyperparameters", *hyperparameters, &approach->places);
  }
  ResourceRequest general;
  if (const auto resources = fields.Get("resources")) {
    general = ReadJobResources(*resources);
    NoteRequest(".train.resources", *resources, &approach->places);
    NoteRequest(".predict.resources", *resources, &approach->places);
  }
  TimeoutRequest timeouts;
  if (const auto timeout = fields.Get("timeout")) {
    timeouts = ReadTimeouts(*timeout);
  }
  Command train;
  const std::optional<Value> train_value = fields.Get("train");
  if (train_value) {
    train = ReadStep(*train_value, CommandKind::kTrain, general, approach);
    NotePlace(".train", *train_value, &approach->places);
  } else {
    approach->train_resources = general;
  }
  Command predict;
  const std::optional<Value> service = fields.Get("service");
  if (const auto predict_value = PredictOf(fields, train_value || service)) {
    predict = ReadStep(*predict_value, CommandKind::kPredict, general, approach);
    NotePlace(".predict", *predict_value, &approach->places);
  }
  if (const auto train_from = fields.Get("train_from")) {
    approach->train_from = ReadTrainFrom(*train_from);
    NotePlace(".train_from", *train_from, &approach->places);
  }
  if (service) {
    // It asks for these on behalf of the command that predicts.
    predict.placeholders.merge(ReadServiceSpec(*service, approach).placeholders);
    NotePlace(".service", *service, &approach->places);
  }
  if (const auto needs = fields.Get("needs")) {
    approach->needs = ReadNeeds(*needs);
    NotePlace(".needs", *needs, &approach->places);
  }
  if (const auto serve = fields.Get("serve")) {
    Fields serve_fields(*serve);
    if (const auto command = serve_fields.Require("command", "a list of arguments")) {
      approach->serve_command = ReadCommand(*command, CommandKind::kServe, *approach).arguments;
    }
    serve_fields.Finish();
  }
  approach->timeouts.FillFrom(timeouts);
  if (const auto env = fields.Get("env")) {
    ReadVariables(*env, "a mapping of names to text", &spec.env);
    NotePlace(".env", *env, &approach->places);
    WarnOfSecrets(*env, spec.env, &approach->warnings);
  }
  if (const auto secrets = fields.Get("secrets")) {
    ReadVariables(*secrets, "a mapping of variables to names of secrets", &spec.secrets);
    NotePlace(".secrets", *secrets, &approach->places);
  }
  fields.Finish();
  spec.train_command = train.arguments;
  spec.predict_command = predict.arguments;
  WarnOfCommands(train, predict, train_value.has_value(), &approach->warnings);
}

}  // namespace

void TimeoutRequest::FillFrom(const TimeoutRequest& general) {
  train = train ? train : general.train;
  predict = predict ? predict : general.predict;
}

void ParsedApproach::Resolve() {
  spec.train_resources = train_resources.Resolve();
  spec.predict_resources = predict_resources.Resolve();
  spec.train_labels = train_resources.labels;
  spec.predict_labels = predict_resources.labels;
  spec.train_uses = train_resources.uses;
  spec.predict_uses = predict_resources.uses;
  spec.train_timeout = timeouts.train.value_or(absl::InfiniteDuration());
  spec.predict_timeout = timeouts.predict.value_or(absl::InfiniteDuration());
}

void NoteRequest(const std::string& path, const Value& request, Places* places) {
  NotePlace(path, request, places);
  if (!request.IsMap()) {
    return;
  }
  Fields fields(request);
  if (const auto labels = fields.Get("labels")) {
    NotePlace(path + ".labels", *labels, places);
  }
  if (const auto uses = fields.Get("uses")) {
    NotePlace(path + ".uses", *uses, places);
  }
}

TimeoutRequest ReadTimeouts(const Value& value) {
  TimeoutRequest request;
  if (value.IsScalar()) {
    request.train = value.Duration(kTimeoutMin, kSpanMax);
    request.predict = request.train;
    return request;
  }
  if (!value.IsMap()) {
    value.Expected("a duration such as 10m, or {train: 1h, predict: 10m}");
    return request;
  }
  Fields fields(value);
  if (const auto train = fields.Get("train")) {
    request.train = train->Duration(kTimeoutMin, kSpanMax);
  }
  if (const auto predict = fields.Get("predict")) {
    request.predict = predict->Duration(kTimeoutMin, kSpanMax);
  }
  fields.Finish();
  return request;
}

ParsedApproach ReadApproach(const std::optional<Value>& metadata,
                            const std::optional<Value>& spec) {
  ParsedApproach approach;
  if (metadata) {
    Fields fields(*metadata);
    if (const auto name = fields.Require("name", "the approach's name")) {
      approach.spec.name = name->Name().value_or("");
      NotePlace(".name", *name, &approach.places);
    }
    if (const auto tags = fields.Get("tags")) {
      approach.spec.tags = ReadTags(*tags);
      NotePlace(".tags", *tags, &approach.places);
    }
    if (const auto family = fields.Get("family")) {
      const std::optional<std::string> text = family->Text("a family's name");
      if (text && !approach.spec.tags.emplace("family", *text).second) {
        family->Error("expected the family once: there is a tag \"family\" already");
      }
    }
    if (const auto description = fields.Get("description")) {
      description->Text();
    }
    fields.Finish();
  }
  if (spec) {
    NotePlace("", *spec, &approach.places);
    approach.folder = spec->file().directory;
    ReadApproachSpec(*spec, &approach);
  }
  return approach;
}

ParsedApproach ReadApproachFile(const YamlFile& file, ErrorList& errors) {
  const Document document = ReadDocument(file, "Approach", true, errors);
  return ReadApproach(document.metadata, document.spec);
}

Variables VariablesFrom(const std::map<std::string, std::string>& variables) {
  Variables result;
  for (const auto& [name, value] : variables) {
    result[name] = Variable{value, "."};
  }
  return result;
}

bool LoadYaml(const std::string& path, const Variables& variables, const Value* named_by,
              YamlFile* file, ErrorList* errors) {
  const absl::StatusOr<std::string> contents = OpenYamlFile(path, file);
  if (!contents.ok()) {
    if (named_by != nullptr) {
      named_by->Error(absl::StrCat("expected a readable file, got ", contents.status().message()));
    } else {
      errors->AddUnreadable("file", contents.status());
    }
    return false;
  }
  if (!ParseYaml(*contents, file, errors)) {
    return false;
  }
  SubstituteVariables(variables, file->path, "", &file->root, errors);
  return true;
}

namespace {

absl::StatusOr<ParsedApproach> LoadParsedApproach(
    const std::string& path, const std::map<std::string, std::string>& variables) {
  ErrorList errors;
  YamlFile file;
  if (!LoadYaml(path, VariablesFrom(variables), nullptr, &file, &errors)) {
    return errors.ToStatus();
  }
  ParsedApproach approach = ReadApproachFile(file, errors);
  approach.Resolve();
  if (!errors.empty()) {
    return errors.ToStatus();
  }
  return approach;
}

}  // namespace

absl::StatusOr<ApproachSpec> LoadApproach(const std::string& path,
                                          const std::map<std::string, std::string>& variables) {
  CONCUR_ASSIGN_OR_RETURN(ParsedApproach approach, LoadParsedApproach(path, variables));
  return std::move(approach.spec);
}

absl::StatusOr<ServedApproach> LoadServedApproach(
    const std::string& path, const std::map<std::string, std::string>& variables) {
  CONCUR_ASSIGN_OR_RETURN(ParsedApproach approach, LoadParsedApproach(path, variables));
  if (approach.serve_command.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(path,
                     ": spec.serve: expected {command: [program, …]}, which answers one "
                     "question at a time; the approach has none"));
  }
  return ServedApproach{approach.spec.name,
                        approach.spec.version,
                        std::move(approach.serve_command),
                        approach.code ? approach.code->root : "",
                        std::move(approach.spec.env),
                        approach.spec.predict_resources};
}

}  // namespace concur::spec
