// YAML of kind Benchmark (docs/sweep-file.md) → core::BenchmarkSpec.
//
// Data files are named here, and read only by ResolveDataFiles of spec/sweep_yaml.h. Thread-safe
// (stateless functions, values).
#ifndef CONCUR_SPEC_BENCHMARK_YAML_H_
#define CONCUR_SPEC_BENCHMARK_YAML_H_

#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/digest.h"
#include "core/sweep.h"
#include "spec/approach_yaml.h"
#include "spec/value.h"

namespace concur::spec {

// A data file as it is named: `train: PATH` or `train: {file: PATH, sha256: HEX}`.
struct DataFileUse {
  std::string path;
  std::string place;             // "FILE:LINE:COL: FIELD: ", for errors about the file
  std::string variable;          // the variable at the front of the path; "" when none
  std::optional<Digest> digest;  // what the file must have
};

struct ParsedBenchmark {
  BenchmarkSpec spec;  // data files with path and suffix alone
  std::optional<DataFileUse> train;
  std::optional<DataFileUse> test;
  Places places;  // paths below the benchmark: "", ".name", ".train", ".test", ".metric"
};

ParsedBenchmark ReadBenchmark(const std::optional<Value>& metadata,
                              const std::optional<Value>& spec);

// A file of kind Benchmark by itself.
absl::StatusOr<ParsedBenchmark> LoadBenchmark(
    const std::string& path, const std::map<std::string, std::string>& variables = {});

// The labels of {labels: {…}}, which are all that a benchmark asks of workers.
Labels ReadBenchmarkLabels(const Value& resources, Places* places);

// ".jsonl.gz" of "a/train-v1.1.jsonl.gz"; "" when the name has no suffix worth keeping.
std::string SuffixOf(absl::string_view path);

}  // namespace concur::spec

#endif  // CONCUR_SPEC_BENCHMARK_YAML_H_
