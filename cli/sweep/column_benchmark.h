// SPDX-License-Identifier: Apache-2.0
// A column of a coordinator's sweeps as a benchmark file: its data, which the coordinator keeps.
//
// Thread-compatible.
#ifndef CONCUR_CLI_SWEEP_COLUMN_BENCHMARK_H_
#define CONCUR_CLI_SWEEP_COLUMN_BENCHMARK_H_

#include <string>

#include "absl/status/statusor.h"
#include "cli/client/client.h"

namespace concur::cli {

// Writes the data of the benchmark `name` of the newest sweep that has it, and a benchmark file
// that names them, into `directory`; returns the file's path. NotFound when no sweep has such a
// column; FailedPrecondition when its data are not kept (imported results), or are not of format
// qa.
absl::StatusOr<std::string> FetchColumnBenchmark(Client& client, const std::string& name,
                                                 const std::string& directory);

}  // namespace concur::cli

#endif  // CONCUR_CLI_SWEEP_COLUMN_BENCHMARK_H_
