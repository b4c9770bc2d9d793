// YAML of kind Approach (docs/sweep-file.md) → core::ApproachSpec.
//
// Thread-safe (stateless functions, values).
#ifndef CONCUR_SPEC_APPROACH_YAML_H_
#define CONCUR_SPEC_APPROACH_YAML_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/labels.h"
#include "core/resources.h"
#include "core/sweep.h"
#include "spec/value.h"

namespace concur::spec {

// A request of which parts may be left to a more general one.
struct ResourceRequest {
  std::optional<int64_t> cpu_millis;
  std::optional<int64_t> memory_bytes;
  std::optional<int32_t> gpus;
  Labels labels;

  // Takes the parts, and the labels, that it lacks from `general`.
  void FillFrom(const ResourceRequest& general);
  // With core's defaults for what is still absent; without the labels.
  Resources Resolve() const;
};

// Time-outs of which either may be left to a more general one.
struct TimeoutRequest {
  std::optional<absl::Duration> train;
  std::optional<absl::Duration> predict;
  void FillFrom(const TimeoutRequest& general);
};

// Where the fields of a spec stand: core's path of a field → "FILE:LINE:COL: FIELD: ".
using Places = std::map<std::string, std::string>;

struct ParsedApproach {
  ApproachSpec spec;  // without resources and time-outs
  ResourceRequest train_resources;
  ResourceRequest predict_resources;
  TimeoutRequest timeouts;
  Places places;  // paths below the approach: "", ".version", ".train.command", …
  std::vector<std::string> warnings;

  // Sets the resources and time-outs of `spec`.
  void Resolve();
};

// Reads the metadata and spec of an approach. What is missing is absent from the result; the
// result counts only when no error was added.
ParsedApproach ReadApproach(const std::optional<Value>& metadata, const std::optional<Value>& spec);

// A file of kind Approach by itself, with resources resolved. `variables` are the values for its
// ${name}; relative paths in them start at the working directory.
absl::StatusOr<ApproachSpec> LoadApproach(const std::string& path,
                                          const std::map<std::string, std::string>& variables = {});

// Shared with the other kinds.
ResourceRequest ReadResources(const Value& value);     // {cpus, memory, gpus}
ResourceRequest ReadJobResources(const Value& value);  // {cpus, memory, gpus, labels}
// The place of a request at `path` ("train.resources"), and of its labels.
void NoteRequest(const std::string& path, const Value& request, Places* places);
TimeoutRequest ReadTimeouts(const Value& value);
Tags ReadTags(const Value& value);
Variables VariablesFrom(const std::map<std::string, std::string>& variables);

// Opens, parses and substitutes a file. Unreadable files are errors of `named_by` when given, else
// of the list alone. False when nothing could be parsed.
bool LoadYaml(const std::string& path, const Variables& variables, const Value* named_by,
              YamlFile* file, ErrorList* errors);

}  // namespace concur::spec

#endif  // CONCUR_SPEC_APPROACH_YAML_H_
