// YAML of kinds CoordinatorOptions and WorkerOptions (docs/options.md) → spec/options.h.
//
// Thread-safe (stateless functions).
#ifndef CONCUR_SPEC_OPTIONS_YAML_H_
#define CONCUR_SPEC_OPTIONS_YAML_H_

#include <string>

#include "absl/status/statusor.h"
#include "spec/options.h"

namespace concur::spec {

// InvalidArgument with one error a line (spec/errors.h). Relative paths start at the file.
absl::StatusOr<CoordinatorOptions> LoadCoordinatorOptions(const std::string& path);
absl::StatusOr<WorkerOptions> LoadWorkerOptions(const std::string& path);

}  // namespace concur::spec

#endif  // CONCUR_SPEC_OPTIONS_YAML_H_
