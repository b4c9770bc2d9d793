// A folder of per-example scores: DIR/APPROACH/BENCHMARK/RUN.jsonl, each file as
// "concur score --per-example" writes it, a run being a seed.
//
// Thread-safe (stateless).
#ifndef CONCUR_CLI_EXAMPLE_FOLDER_H_
#define CONCUR_CLI_EXAMPLE_FOLDER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/study.h"

namespace concur::cli {

struct FolderBenchmark {
  std::string name;
  std::vector<NamedExamples> approaches;  // every approach of the folder; without runs: missing
};

// Approaches and benchmarks by name; `columns`, where not empty, chooses and orders benchmarks.
// Names that start with a dot are skipped. NotFound for a folder that cannot be listed;
// InvalidArgument for a column that no approach has, and for malformed files.
absl::StatusOr<std::vector<FolderBenchmark>> ReadExampleFolder(const std::string& path,
                                                               std::vector<std::string> columns);

}  // namespace concur::cli

#endif  // CONCUR_CLI_EXAMPLE_FOLDER_H_
