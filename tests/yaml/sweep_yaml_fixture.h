// SPDX-License-Identifier: Apache-2.0
// A directory with approaches, benchmarks and a sweep file for tests.
#ifndef CONCUR_TESTS_YAML_SWEEP_YAML_FIXTURE_H_
#define CONCUR_TESTS_YAML_SWEEP_YAML_FIXTURE_H_

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/file.h"
#include "tests/testing/temp_dir.h"
#include "yaml/sweep_yaml.h"

namespace concur::spec {

inline constexpr char kRanker[] = R"(apiVersion: concur/v1
kind: Approach
metadata: {name: ranker, tags: [trained], family: rankers}
spec:
  version: "1"
  train: {command: [rank, "{train}", "{model}", "{seed}"], resources: {memory: 2GiB}, timeout: 2h}
  predict: {command: [rank, "{model}", "{test}", "{predictions}"]}
  hyperparameters:
    default: {lr: 0.1, epochs: 3, mode: fast}
    space: {lr: {log_uniform: [0.001, 1.0]}, epochs: {integer: [1, 9, 2]}, mode: {choice: [fast, 2]}}
  resources: {cpus: 2, memory: 1GiB}
  env: {OMP_NUM_THREADS: 1}
)";

inline constexpr char kGuess[] = R"(apiVersion: concur/v1
kind: Approach
metadata: {name: guess, description: answers at random}
spec: {version: 2, predict: {command: [guess, "{test}", "{predictions}", "{seed}"]}}
)";

// A directory with approaches, benchmarks a, b (tag domain=news), c (test only) and a sweep.
class SweepYamlTest : public ::testing::Test {
 protected:
  SweepYamlTest() {
    Write("approaches/ranker.yaml", kRanker);
    Write("approaches/guess.yaml", kGuess);
    Write("data/x.jsonl.gz", "x");
    Write("data/y.json", "y");
    Benchmark("a", "{train: ../data/x.jsonl.gz, test: ../data/y.json}");
    Benchmark("b", "{train: ../data/y.json, test: ../data/y.json, metric: f1}");
    Benchmark("c", "{test: ../data/x.jsonl.gz}");
  }

  void Write(const std::string& name, const std::string& contents) {
    const std::string path = dir_.File(name);
    CONCUR_CHECK_OK(MakeDirectories(path.substr(0, path.rfind('/'))));
    std::ofstream(path, std::ios::binary) << contents;
  }
  void Benchmark(const std::string& name, const std::string& spec) {
    Write(
        absl::StrCat("benchmarks/", name, ".yaml"),
        absl::StrCat("apiVersion: concur/v1\nkind: Benchmark\nmetadata: {name: ", name,
                     ", tags: {domain: ", name == "b" ? "news" : "wiki", "}}\nspec: ", spec, "\n"));
  }
  absl::StatusOr<LoadedSweep> Load(const std::string& spec,
                                   const std::map<std::string, std::string>& variables = {}) {
    Write("sweeps/s.yaml",
          "apiVersion: concur/v1\nkind: Sweep\nmetadata: {name: s}\nspec:\n" + spec);
    return LoadSweep(dir_.File("sweeps/s.yaml"), variables);
  }

  testing::TempDir dir_;
};

inline constexpr char kAll[] = R"(  approaches: ["../approaches/*.yaml"]
  benchmarks: ["../benchmarks/?.yaml"]
)";

}  // namespace concur::spec

#endif  // CONCUR_TESTS_YAML_SWEEP_YAML_FIXTURE_H_
