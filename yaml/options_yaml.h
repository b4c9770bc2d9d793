// SPDX-License-Identifier: Apache-2.0
// YAML of kinds CoordinatorOptions and WorkerOptions (docs/options.md) → yaml/options.h.
//
// Thread-safe (stateless functions).
#ifndef CONCUR_YAML_OPTIONS_YAML_H_
#define CONCUR_YAML_OPTIONS_YAML_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "yaml/errors.h"
#include "yaml/options.h"
#include "yaml/yaml_reader.h"

namespace concur::spec {

// Read documents of these kinds. The results are valid only if no error was added.
CoordinatorOptions ReadCoordinatorFile(const YamlFile& file, ErrorList& errors);
WorkerOptions ReadWorkerFile(const YamlFile& file, ErrorList& errors);

// InvalidArgument with one error per line (yaml/errors.h). Relative paths start at the file's
// directory.
absl::StatusOr<CoordinatorOptions> LoadCoordinatorOptions(const std::string& path);
absl::StatusOr<WorkerOptions> LoadWorkerOptions(const std::string& path);

// "auto", "cgroup" or "processes"; InvalidArgument, naming these, for anything else.
absl::StatusOr<Containment> ContainmentFromName(absl::string_view name);

}  // namespace concur::spec

#endif  // CONCUR_YAML_OPTIONS_YAML_H_
