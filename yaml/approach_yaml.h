// SPDX-License-Identifier: Apache-2.0
// YAML of kind Approach (docs/sweep-file.md) → core::ApproachSpec.
//
// Thread-safe (stateless functions, values).
#ifndef CONCUR_YAML_APPROACH_YAML_H_
#define CONCUR_YAML_APPROACH_YAML_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/labels.h"
#include "core/resources.h"
#include "core/sweep/sweep.h"
#include "yaml/code_files.h"
#include "yaml/resources_yaml.h"
#include "yaml/tags_yaml.h"
#include "yaml/train_from_yaml.h"
#include "yaml/value.h"

namespace concur::spec {

// Time-outs whose absent ones come from a more general pair.
struct TimeoutRequest {
  std::optional<absl::Duration> train;
  std::optional<absl::Duration> predict;
  void FillFrom(const TimeoutRequest& general);
};

// The positions of a spec's fields: core's path of a field → "FILE:LINE:COL: FIELD: ".
using Places = std::map<std::string, std::string>;

struct ParsedApproach {
  ApproachSpec spec;  // without resources, time-outs, train_from and needs
  std::optional<TrainFromUse> train_from;
  std::vector<NameUse> needs;  // approaches
  ResourceRequest train_resources;
  ResourceRequest predict_resources;
  TimeoutRequest timeouts;
  std::vector<std::string> serve_command;  // empty: it answers no single questions
  // True if hyperparameters.default could be read: else no name is unknown, which would be a second
  // error of one cause.
  bool defaults_known = true;
  std::string folder;           // holds the file that describes it
  std::optional<CodeUse> code;  // for spec.code, which has no files yet
  std::optional<CodeUse> predict_code;
  Places places;  // paths below the approach: "", ".version", ".train.command", …
  std::vector<std::string> warnings;

  // Sets the resources and time-outs of `spec`.
  void Resolve();
};

// Reads the metadata and spec of an approach. The result is valid only if no error was added.
ParsedApproach ReadApproach(const std::optional<Value>& metadata, const std::optional<Value>& spec);

// Reads a document of kind Approach, without resolving resources. The result is valid only if no
// error was added.
ParsedApproach ReadApproachFile(const YamlFile& file, ErrorList& errors);

// Reads a file of kind Approach, with resources resolved. `variables` are the values for its
// ${name}; relative paths in them start at the working directory.
absl::StatusOr<ApproachSpec> LoadApproach(const std::string& path,
                                          const std::map<std::string, std::string>& variables = {});

// Way in which an approach answers one question at a time, outside of sweeps.
struct ServedApproach {
  std::string name;
  std::string version;
  std::vector<std::string> command;  // with {model} and, where `code` is set, {code}
  std::string code;                  // the folder that {code} stands for; "": none
  std::map<std::string, std::string> env;
  Resources resources;  // those that its predict asks for
};
// Reads the same file for its `serve`. FailedPrecondition when it has none.
absl::StatusOr<ServedApproach> LoadServedApproach(
    const std::string& path, const std::map<std::string, std::string>& variables = {});

// Also used by readers of other kinds.
// The position of a request at `path` ("train.resources"), and of its labels.
void NoteRequest(const std::string& path, const Value& request, Places* places);
TimeoutRequest ReadTimeouts(const Value& value);
Variables VariablesFrom(const std::map<std::string, std::string>& variables);

// Opens, parses and substitutes a file. Errors about unreadable files have the position of
// `named_by`, if given. False when the file could not be parsed.
bool LoadYaml(const std::string& path, const Variables& variables, const Value* named_by,
              YamlFile* file, ErrorList* errors);

}  // namespace concur::spec

#endif  // CONCUR_YAML_APPROACH_YAML_H_
