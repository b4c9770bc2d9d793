// SPDX-License-Identifier: Apache-2.0
// Systems that somebody else ran, of which only the predictions are there: each becomes an approach
// whose code is its predictions files, one for each test set, and whose command hands the one for
// {test} to the scorer. So workers score them as they score any job, and all else of a sweep is as
// ever.
//
// In the code a file bears the SHA-256 of its test set as its name: which file is handed over
// follows from the bytes of the test set alone, as content keys require, and neither names of
// benchmarks nor of files are part of a key.
//
// Thread-safe (stateless functions, values).
#ifndef CONCUR_CLI_SWEEP_GIVEN_PREDICTIONS_H_
#define CONCUR_CLI_SWEEP_GIVEN_PREDICTIONS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/sweep/temporary_directory.h"
#include "core/sweep/expansion.h"
#include "core/sweep/sweep.h"
#include "yaml/loaded_sweep.h"

namespace concur::cli {

struct GivenSystem {
  std::string name;
  std::string source;                     // the name of its file or folder: the tag "source"
  std::map<uint32_t, std::string> files;  // by benchmark
};

// The systems at `path`, by name. With `system`, that one: its file, where there is one benchmark,
// or a folder of BENCHMARK.json. Without, a folder of systems: SYSTEM.json, where there is one
// benchmark, and SYSTEM/BENCHMARK.json. Files may be gzipped (.json.gz); hidden ones are passed
// over. InvalidArgument, with a line for each: another file, a name that no benchmark has, a name
// twice, nothing at all.
absl::StatusOr<std::vector<GivenSystem>> FindGivenSystems(
    const std::string& path, const std::string& system,
    const std::vector<BenchmarkSpec>& benchmarks);

// Benchmarks of benchmark files as a sweep without approaches, their test sets read. Nothing is
// trained: their train and validation sets are left out. InvalidArgument when one cannot be scored
// by predictions or its data are broken, or two have one name.
absl::StatusOr<spec::LoadedSweep> LoadGivenBenchmarks(
    const std::vector<std::string>& files, const std::map<std::string, std::string>& variables);

struct GivenRules {
  Tags tags;  // for every system, beside "submitted" and "source"
  bool allow_missing = false;
  bool allow_unknown = false;
};

// Appends the systems to the approaches, each evaluated where it has predictions and excluded
// elsewhere. Returns the files of their code, which are needed until the sweep is uploaded.
// InvalidArgument, with a line for each file that is not {"id": "answer"}, leaves out a question
// (unless allow_missing), answers another one (unless allow_unknown), answers none, or is too
// large. REQUIRES: spec::ResolveDataFiles(sweep).
absl::StatusOr<TemporaryDirectory> AddGivenSystems(const std::vector<GivenSystem>& systems,
                                                   const GivenRules& rules,
                                                   spec::LoadedSweep* sweep);

// InvalidArgument, with a line for each, where the sweep that they were added to last evaluates no
// system on a benchmark that one has predictions for.
absl::Status CheckAllAreScored(const std::vector<GivenSystem>& systems, const Expansion& expansion);

}  // namespace concur::cli

#endif  // CONCUR_CLI_SWEEP_GIVEN_PREDICTIONS_H_
