// SPDX-License-Identifier: Apache-2.0
// YAML of kind Sweep (docs/sweep-file.md) → core::SweepSpec, with the approaches and benchmarks
// that it names.
//
// Loading reads YAML only; ResolveDataFiles, ResolveCode and ResolveEnvironments
// then read what it names. Thread-safe
// (stateless functions, values).
#ifndef CONCUR_YAML_SWEEP_YAML_H_
#define CONCUR_YAML_SWEEP_YAML_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/sweep/capacity.h"
#include "yaml/errors.h"
#include "yaml/loaded_sweep.h"
#include "yaml/yaml_reader.h"

namespace concur::spec {

// Reads a sweep file. `variables` are those of --var: they take precedence over spec.variables, and
// relative paths in them start at the working directory. InvalidArgument with one error per
// line (yaml/errors.h), also when the sweep would have no job or exceed a limit.
absl::StatusOr<LoadedSweep> LoadSweep(const std::string& path,
                                      const std::map<std::string, std::string>& variables = {});

// Reads a document of kind Sweep whose variables are replaced. The result is valid only if no error
// was added; nothing is checked that involves several parts.
LoadedSweep ReadSweepFile(const YamlFile& file, ErrorList& errors);

// Reads every data file once and sets digests and sizes. InvalidArgument, with the position of the
// reference, when a file is unreadable or has another SHA-256 than stated; `sweep` is then
// unchanged.
absl::Status ResolveDataFiles(LoadedSweep* sweep);

// Looks for the data files, without reading them: a warning for each that is not there.
// InvalidArgument, with the position of the reference, when something else is (a directory, a pipe,
// a device) or a file cannot be opened.
absl::StatusOr<std::vector<std::string>> MissingDataFiles(const LoadedSweep& sweep);
// Reads the code of the approaches and sets its files, digests and sizes. InvalidArgument, with the
// position of the entry, when a file is missing, unreadable or too large; `sweep` is then
// unchanged.
absl::Status ResolveCode(LoadedSweep* sweep);
// Reads the files of the approaches' environments and sets their digests and sizes; adds warnings.
// InvalidArgument, with the position of the field, when one is missing or is not what it should be.
absl::Status ResolveEnvironments(LoadedSweep* sweep);

// CheckFitsInPools; errors have the position of the request.
absl::Status CheckPools(const LoadedSweep& sweep, const std::vector<PoolLimit>& pools);

// Prepends the position to an error of core/, whose messages start with "FIELD: ".
absl::Status WithPlace(const LoadedSweep& sweep, const absl::Status& status);

}  // namespace concur::spec

#endif  // CONCUR_YAML_SWEEP_YAML_H_
