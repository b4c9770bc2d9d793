// SPDX-License-Identifier: Apache-2.0
// YAML of kind Benchmark (docs/sweep-file.md) → core::BenchmarkSpec.
//
// Reads paths of data files; the files are read only by ResolveDataFiles of yaml/sweep_yaml.h.
// Thread-safe (stateless functions, values).
#ifndef CONCUR_YAML_BENCHMARK_YAML_H_
#define CONCUR_YAML_BENCHMARK_YAML_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/digest.h"
#include "core/sweep/sweep.h"
#include "yaml/approach_yaml.h"
#include "yaml/value.h"

namespace concur::spec {

// The reference to a data file: `train: PATH` or `train: {file: PATH, sha256: HEX}`; that to a test
// file may have `optional: true`.
struct DataFileUse {
  std::string path;
  std::string place;             // "FILE:LINE:COL: FIELD: ", for errors about the file
  std::string variable;          // the variable at the start of the path; "" if none
  std::optional<Digest> digest;  // expected digest of the file
  bool optional = false;         // where it is absent, sweeps leave the benchmark out
};

// `validation: PATH`, `{file: PATH, sha256: HEX}`, or `{from: train, share: 0.1, seed: 1}`.
struct ValidationUse {
  std::optional<DataFileUse> file;  // absent: held out from the train file
  double share = 0;                 // fraction of the train questions, inside (0, 1)
  uint64_t seed = 1;
  std::string place;
};

struct ParsedBenchmark {
  BenchmarkSpec spec;  // data files have path and suffix only
  std::optional<DataFileUse> train;
  std::optional<DataFileUse> test;
  std::optional<ValidationUse> validation;
  std::vector<NameUse> needs;  // approaches
  // Paths below the benchmark: "", ".name", ".train", ".test", ".metric", ".metric.goal" (where it
  // is stated).
  Places places;
};

ParsedBenchmark ReadBenchmark(const std::optional<Value>& metadata,
                              const std::optional<Value>& spec);

// Reads a document of kind Benchmark. The result is valid only if no error was added.
ParsedBenchmark ReadBenchmarkFile(const YamlFile& file, ErrorList& errors);
// The same from the disk.
absl::StatusOr<ParsedBenchmark> LoadBenchmark(
    const std::string& path, const std::map<std::string, std::string>& variables = {});

// A metric's name, or {name, goal, scale}. A name alone keeps the goal and scale of the same
// metric.
void ReadBenchmarkMetric(const Value& value, ParsedBenchmark* benchmark);

// The field `parameters`; replaces parameters of the same names.
void ReadBenchmarkParameters(const Value& value, ParsedBenchmark* benchmark);

// The field `validation`.
void ReadBenchmarkValidation(const Value& value, ParsedBenchmark* benchmark);

// {labels: {…}, uses: {…}}: labels of the workers that may read its data, and named resources that
// jobs evaluated on it use. Replaces those of the same names.
void ReadBenchmarkResources(const Value& resources, ParsedBenchmark* benchmark);

// ".jsonl.gz" of "a/train-v1.1.jsonl.gz"; "" when the name has no short suffix.
std::string SuffixOf(absl::string_view path);

}  // namespace concur::spec

#endif  // CONCUR_YAML_BENCHMARK_YAML_H_
