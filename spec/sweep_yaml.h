// YAML of kind Sweep (docs/sweep-file.md) → core::SweepSpec, with the approaches and benchmarks
// that it names.
//
// Loading reads YAML only; ResolveDataFiles then reads the data. Thread-safe (stateless functions,
// values).
#ifndef CONCUR_SPEC_SWEEP_YAML_H_
#define CONCUR_SPEC_SWEEP_YAML_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/capacity.h"
#include "core/sweep.h"
#include "spec/benchmark_yaml.h"

namespace concur::spec {

struct LoadedSweep {
  SweepSpec spec;  // data files without digest and size until ResolveDataFiles
  // Sentences for people about what is allowed but probably not meant, each with its place.
  std::vector<std::string> warnings;
  Places places;  // core's path of a field ("approaches[2].version") → "FILE:LINE:COL: FIELD: "

  struct FileUse {
    uint32_t benchmark = 0;
    bool is_train = false;
    DataFileUse use;
  };
  std::vector<FileUse> files;
};

// Reads a sweep file. `variables` are those of --var: they take precedence over spec.variables, and
// relative paths in them start at the working directory. InvalidArgument with one error a line
// (spec/errors.h) when anything is wrong; also when the sweep would have no job or break a limit.
absl::StatusOr<LoadedSweep> LoadSweep(const std::string& path,
                                      const std::map<std::string, std::string>& variables = {});

// Reads every data file, each once, and fills in digests and sizes. InvalidArgument, at the place
// that names it, when one is unreadable or has another SHA-256 than stated; `sweep` is unchanged
// then.
absl::Status ResolveDataFiles(LoadedSweep* sweep);

// A sentence for each data file that cannot be opened now, without reading any.
std::vector<std::string> MissingDataFiles(const LoadedSweep& sweep);

// CheckFitsInPools with the place of the request.
absl::Status CheckPools(const LoadedSweep& sweep, const std::vector<PoolLimit>& pools);

// Puts the place in front of an error of core/, whose messages start with "FIELD: ".
absl::Status WithPlace(const LoadedSweep& sweep, const absl::Status& status);

}  // namespace concur::spec

#endif  // CONCUR_SPEC_SWEEP_YAML_H_
