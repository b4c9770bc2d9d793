// SPDX-License-Identifier: Apache-2.0
// `environment:` of an approach (docs/sweep-file.md): what its commands run in.
//
// Thread-safe (stateless functions, values).
#ifndef CONCUR_YAML_ENVIRONMENT_YAML_H_
#define CONCUR_YAML_ENVIRONMENT_YAML_H_

#include <optional>
#include <string>
#include <vector>

#include "core/sweep/environment.h"
#include "yaml/errors.h"
#include "yaml/value.h"

namespace concur::spec {

// Reads {image | root | venv | conda, python, setup}. The file has a path, but no digest yet.
// nullopt when an error was added.
std::optional<Environment> ReadEnvironmentSpec(const Value& value);

// Reads the file of an environment and sets its digest and size. Adds an error, which begins with
// `place`, when it is missing, is not what its field says, or names files that workers do not get;
// and a warning for what may be another thing tomorrow under the same key.
void ResolveEnvironmentFile(const std::string& place, Environment* environment, ErrorList* errors,
                            std::vector<std::string>* warnings);

}  // namespace concur::spec

#endif  // CONCUR_YAML_ENVIRONMENT_YAML_H_
