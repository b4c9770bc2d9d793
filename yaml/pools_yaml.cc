// SPDX-License-Identifier: Apache-2.0
#include "yaml/pools_yaml.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "yaml/approach_yaml.h"

namespace concur::spec {
namespace {

constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

void ReadText(Fields& fields, absl::string_view key, std::string* text) {
  if (const auto value = fields.Get(key)) {
    *text = value->Text().value_or("");
  }
}

void ReadTexts(Fields& fields, absl::string_view key, std::vector<std::string>* texts) {
  const auto value = fields.Get(key);
  if (!value) {
    return;
  }
  if (const auto items = value->List("a list of lines")) {
    for (const Value& item : *items) {
      texts->push_back(item.Text("a line of text").value_or(""));
    }
  }
}

void ReadTextMap(Fields& fields, absl::string_view key, absl::string_view what, Labels* map) {
  const auto value = fields.Get(key);
  if (!value) {
    return;
  }
  for (const Value::Entry& entry : value->Entries(what).value_or(std::vector<Value::Entry>())) {
    (*map)[entry.key] = entry.value.Text().value_or("");
  }
}

nlohmann::json JsonOf(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kSequence: {
      nlohmann::json list = nlohmann::json::array();
      for (const YamlNode& item : node.items) {
        list.push_back(JsonOf(item));
      }
      return list;
    }
    case YamlNode::Kind::kMap: {
      nlohmann::json map = nlohmann::json::object();
      for (const YamlNode::Entry& entry : node.entries) {
        map[entry.key] = JsonOf(entry.value);
      }
      return map;
    }
    case YamlNode::Kind::kScalar: {
      int64_t number = 0;
      if (node.plain && absl::SimpleAtoi(node.text, &number)) {
        return number;
      }
      if (node.plain && (node.text == "true" || node.text == "false")) {
        return node.text == "true";
      }
      return node.text;
    }
    case YamlNode::Kind::kNull:
      break;
  }
  return nullptr;
}

// A mapping of another system's, whose fields that system checks: an API server that is asked by
// `concur pool add --dry-run`.
std::string ReadAsJson(const Value& value) {
  return value.Entries("a mapping, as in a pod")
             ? JsonOf(value.node()).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)
             : "";
}

void ReadSpan(Fields& fields, absl::string_view key, absl::Duration low, absl::Duration* span) {
  if (const auto value = fields.Get(key)) {
    *span = value->Duration(low, kSpanMax).value_or(*span);
  }
}

void ReadWorkers(Fields& fields, PoolSpec* pool) {
  const auto workers = fields.Require("workers", "how many: {min: 0, max: 10}");
  if (!workers) {
    return;
  }
  Fields counts(*workers);
  if (const auto max = counts.Require("max", "the most workers at a time")) {
    pool->workers_max =
        static_cast<int32_t>(max->Integer(1, kPilotsPerPoolMax).value_or(pool->workers_max));
  }
  if (const auto min = counts.Get("min")) {
    pool->workers_min = static_cast<int32_t>(min->Integer(0, pool->workers_max).value_or(0));
  }
  counts.Finish();
}

void ReadPoolResources(Fields& fields, PoolSpec* pool) {
  const auto resources =
      fields.Require("resources", "of each worker: {cpus: 8, memory: 32GiB, gpus: 1}");
  if (!resources) {
    return;
  }
  const ResourceRequest request = ReadWorkerResources(*resources);
  if (!request.cpu_millis) {
    resources->Error("expected the field \"cpus\" (of each worker)");
  }
  pool->resources.cpu_millis = request.cpu_millis.value_or(1000);
  pool->resources.memory_bytes = request.memory_bytes.value_or(0);
  pool->resources.gpus = request.WholeGpus();
  pool->gpus_min = DefaultGpusMin(pool->resources);
}

void ReadAccept(Fields& fields, PoolSpec* pool) {
  const auto accept = fields.Get("accept");
  if (!accept) {
    return;
  }
  Fields limits(*accept);
  if (const auto gpus = limits.Get("gpus_min")) {
    pool->gpus_min = static_cast<int32_t>(gpus->Integer(0, kGpusMax).value_or(0));
  }
  limits.Finish();
}

void ReadSlurm(const Value& value, SlurmSettings* slurm) {
  Fields fields(value);
  ReadText(fields, "partition", &slurm->partition);
  ReadText(fields, "account", &slurm->account);
  ReadText(fields, "qos", &slurm->qos);
  ReadText(fields, "constraint", &slurm->constraint);
  ReadTexts(fields, "arguments", &slurm->arguments);
  ReadText(fields, "log_directory", &slurm->log_directory);
  if (const auto array_max = fields.Get("array_max")) {
    slurm->array_max =
        static_cast<int32_t>(array_max->Integer(1, kSlurmArrayMax).value_or(slurm->array_max));
  }
  fields.Finish();
}

// {key, operator, value, effect}, as in a pod. Without a value the operator is "Exists".
Toleration ReadToleration(const Value& value) {
  Toleration toleration;
  Fields fields(value);
  ReadText(fields, "key", &toleration.key);
  ReadText(fields, "value", &toleration.value);
  ReadText(fields, "effect", &toleration.effect);
  if (const auto relation = fields.Get("operator")) {
    const std::optional<std::string> text = relation->Text("Exists or Equal");
    if (text && *text != (toleration.value.empty() ? "Exists" : "Equal")) {
      relation->Expected(toleration.value.empty()
                             ? "Exists where there is no value (or a value beside it)"
                             : "Equal where there is a value (or none beside it)");
    }
  }
  fields.Finish();
  return toleration;
}

// {claim: NAME, path: /data}, with one of the other sources in place of claim.
PodVolume ReadVolume(const Value& value) {
  PodVolume volume;
  Fields fields(value);
  int sources = 0;
  for (int i = 0; i < kVolumeKinds; ++i) {
    const auto kind = static_cast<VolumeKind>(i);
    const auto source = fields.Get(VolumeKindName(kind));
    if (!source) {
      continue;
    }
    ++sources;
    volume.kind = kind;
    if (kind == VolumeKind::kMemory) {
      volume.bytes_max = source->Bytes().value_or(1);
    } else {
      volume.source = source->Text("a name").value_or("");
    }
  }
  if (const auto path = fields.Require("path", "where pods have it")) {
    volume.mount_path = path->Text("a path").value_or("");
  }
  ReadText(fields, "sub_path", &volume.sub_path);
  if (const auto read_only = fields.Get("read_only")) {
    volume.read_only = read_only->Bool().value_or(false);
  }
  if (sources != 1 && fields.valid()) {
    value.Error(absl::StrCat(
        "expected one of claim, secret, config_map, host_path and memory, got ", sources));
  }
  fields.Finish();
  return volume;
}

void ReadKubernetes(const Value& value, KubernetesSettings* kubernetes) {
  Fields fields(value);
  ReadText(fields, "namespace", &kubernetes->name_space);
  ReadText(fields, "image", &kubernetes->image);
  ReadText(fields, "service_account", &kubernetes->service_account);
  ReadTextMap(fields, "node_selector", "a mapping of labels of nodes to values",
              &kubernetes->node_selector);
  ReadText(fields, "gpu_resource", &kubernetes->gpu_resource);
  if (const auto tolerations = fields.Get("tolerations")) {
    for (const Value& item :
         tolerations->List("a list of {key, value, effect}").value_or(std::vector<Value>())) {
      kubernetes->tolerations.push_back(ReadToleration(item));
    }
  }
  if (const auto volumes = fields.Get("volumes")) {
    for (const Value& item :
         volumes->List("a list of {claim: NAME, path: /data}").value_or(std::vector<Value>())) {
      kubernetes->volumes.push_back(ReadVolume(item));
    }
  }
  ReadTexts(fields, "image_pull_secrets", &kubernetes->image_pull_secrets);
  ReadText(fields, "image_pull_policy", &kubernetes->image_pull_policy);
  ReadText(fields, "worker_image", &kubernetes->worker_image);
  if (const auto job_images = fields.Get("job_images")) {
    kubernetes->job_images = job_images->Bool().value_or(false);
  }
  ReadTextMap(fields, "labels", "a mapping of labels of Jobs and pods", &kubernetes->labels);
  ReadTextMap(fields, "annotations", "a mapping of annotations of Jobs and pods",
              &kubernetes->annotations);
  ReadTextMap(fields, "env", "a mapping of the worker's variables to values", &kubernetes->env);
  if (const auto affinity = fields.Get("affinity")) {
    kubernetes->affinity = ReadAsJson(*affinity);
  }
  ReadText(fields, "priority_class", &kubernetes->priority_class);
  ReadText(fields, "runtime_class", &kubernetes->runtime_class);
  fields.Finish();
}

void ReadCommand(const Value& value, CommandSettings* command) {
  Fields fields(value);
  if (const auto directory = fields.Require("directory", "of the programs submit, list, cancel")) {
    command->directory = directory->Text("a path").value_or("");
  }
  ReadTexts(fields, "arguments", &command->arguments);
  ReadText(fields, "token_directory", &command->token_directory);
  fields.Finish();
}

// Settings of a provider other than the pool's are an error.
void ReadSettings(Fields& fields, PoolSpec* pool) {
  const std::pair<ProviderKind, const char*> settings[] = {
      {ProviderKind::kSlurm, "slurm"},
      {ProviderKind::kKubernetes, "kubernetes"},
      {ProviderKind::kCommand, "command"}};
  for (const auto& [kind, key] : settings) {
    const auto value = fields.Get(key);
    if (!value) {
      continue;
    }
    if (kind == ProviderKind::kSlurm) {
      ReadSlurm(*value, &pool->slurm);
    } else if (kind == ProviderKind::kKubernetes) {
      ReadKubernetes(*value, &pool->kubernetes);
    } else {
      ReadCommand(*value, &pool->command);
    }
    if (pool->provider != kind) {
      value->Error(absl::StrCat("expected no settings of ", key, " for the provider ",
                                ProviderKindName(pool->provider), "; remove them"));
    }
  }
}

// All fields except the name.
void ReadPoolFields(Fields& fields, PoolSpec* pool) {
  if (const auto provider = fields.Require("provider", "local, slurm, kubernetes or command")) {
    pool->provider = provider->OneOf(ProviderKindFromName).value_or(ProviderKind::kLocal);
  }
  ReadWorkers(fields, pool);
  ReadPoolResources(fields, pool);
  ReadAccept(fields, pool);
  if (const auto labels = fields.Get("labels")) {
    pool->labels = ReadTags(*labels);
  }
  ReadSpan(fields, "time_limit", kPoolTimeLimitMin, &pool->time_limit);
  pool->drain_margin = std::min(pool->drain_margin, pool->time_limit / 2);
  ReadSpan(fields, "drain_margin", absl::ZeroDuration(), &pool->drain_margin);
  ReadSpan(fields, "idle_timeout", kPoolTimeoutMin, &pool->idle_timeout);
  ReadSpan(fields, "start_timeout", kPoolTimeoutMin, &pool->start_timeout);
  ReadText(fields, "coordinator", &pool->coordinator);
  ReadText(fields, "worker_program", &pool->worker_program);
  ReadText(fields, "work_directory", &pool->work_directory);
  ReadTexts(fields, "setup", &pool->setup);
  ReadTexts(fields, "env_pass", &pool->env_pass);
  ReadSettings(fields, pool);
}

// Checks that involve several fields.
void CheckWhole(const Value& value, size_t errors_before, const PoolSpec& pool) {
  if (value.errors().count() != errors_before) {
    return;
  }
  if (const absl::Status status = ValidatePoolSpec(pool); !status.ok()) {
    value.Error(status.message());
  }
}

}  // namespace

void ReadPools(const Value& value, std::vector<PoolLimit>* limits, std::vector<PoolSpec>* pools) {
  const auto items = value.List("a list of {name, provider, …} or {name, max: {cpus, …}}");
  if (!items) {
    return;
  }
  std::set<std::string> seen;
  for (const Value& item : *items) {
    const size_t errors_before = item.errors().count();
    Fields fields(item);
    std::string name;
    if (const auto text = fields.Require("name", "of the pool")) {
      name = text->Name().value_or("");
      if (!seen.insert(name).second) {
        text->Error(absl::StrCat("expected each pool once, got \"", name, "\" again"));
      }
    }
    if (fields.Get("provider")) {
      PoolSpec pool;
      pool.name = name;
      ReadPoolFields(fields, &pool);
      fields.Finish();
      CheckWhole(item, errors_before, pool);
      pools->push_back(std::move(pool));
      continue;
    }
    PoolLimit limit;
    limit.name = name;
    if (const auto max = fields.Require("max", "the largest worker it will have")) {
      const ResourceRequest request = ReadWorkerResources(*max);
      limit.max.cpu_millis = request.cpu_millis.value_or(kUnlimited);
      limit.max.memory_bytes = request.memory_bytes.value_or(kUnlimited);
      limit.max.gpus = request.WholeGpus();
    }
    if (const auto labels = fields.Get("labels")) {
      limit.labels = ReadTags(*labels);
    }
    fields.Finish();
    limits->push_back(std::move(limit));
  }
}

PoolSpec ReadPoolFile(const YamlFile& file, ErrorList& errors) {
  const Document document = ReadDocument(file, "Pool", true, errors);
  PoolSpec pool;
  if (document.metadata) {
    Fields metadata(*document.metadata);
    if (const auto name = metadata.Require("name", "of the pool")) {
      pool.name = name->Name().value_or("");
    }
    metadata.Finish();
  }
  if (document.spec) {
    Fields fields(*document.spec);
    ReadPoolFields(fields, &pool);
    fields.Finish();
    CheckWhole(*document.spec, 0, pool);
  }
  return pool;
}

absl::StatusOr<PoolSpec> LoadPool(const std::string& path) {
  ErrorList errors;
  YamlFile file;
  if (!LoadYaml(path, {}, nullptr, &file, &errors)) {
    return errors.ToStatus();
  }
  PoolSpec pool = ReadPoolFile(file, errors);
  if (!errors.empty()) {
    return errors.ToStatus();
  }
  return pool;
}

}  // namespace concur::spec
