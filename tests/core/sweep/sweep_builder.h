// SPDX-License-Identifier: Apache-2.0
// A small sweep for the tests of expansion and content keys.
#ifndef CONCUR_TESTS_CORE_SWEEP_SWEEP_BUILDER_H_
#define CONCUR_TESTS_CORE_SWEEP_SWEEP_BUILDER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "base/digest.h"
#include "core/sweep/imported_results.h"
#include "core/sweep/sweep.h"

namespace concur::testing {

inline DataFile FileOf(const std::string& contents) {
  DataFile file;
  file.digest = Sha256Of(contents);
  file.bytes = static_cast<int64_t>(contents.size());
  file.path = contents;
  file.suffix = ".jsonl";
  return file;
}

inline ApproachSpec TrainedApproach(const std::string& name) {
  ApproachSpec approach;
  approach.name = name;
  approach.version = "1";
  approach.train_command = {"learn", name, "{train}", "{model}", "{hp.lr}", "{seed}"};
  approach.predict_command = {"answer", "{model}", "{test}", "{predictions}"};
  approach.hyperparameters.defaults = {{"lr", 0.1}};
  approach.hyperparameters.space = {{"lr", LogUniformRange{0.001, 1.0}}};
  return approach;
}

inline ApproachSpec UntrainedApproach(const std::string& name) {
  ApproachSpec approach;
  approach.name = name;
  approach.version = "1";
  approach.predict_command = {"guess", "{test}", "{predictions}", "{seed}"};
  return approach;
}

inline BenchmarkSpec Benchmark(const std::string& name, bool train = true, bool test = true) {
  BenchmarkSpec benchmark;
  benchmark.name = name;
  if (train) {
    benchmark.train = FileOf(name + "-train");
  }
  if (test) {
    benchmark.test = FileOf(name + "-test");
  }
  return benchmark;
}

inline TrainSet PlainTrainSet(const SweepSpec& spec, uint32_t benchmark) {
  TrainSet train_set;
  train_set.name = spec.benchmarks[benchmark].name;
  train_set.parts = {{benchmark, 0}};
  return train_set;
}

// Appends the validation set of a benchmark.
inline void AddValidationSet(uint32_t benchmark, SweepSpec* spec) {
  BenchmarkSpec validation = spec->benchmarks[benchmark];
  validation.name = ValidationName(validation.name);
  validation.train.reset();
  validation.test = FileOf(validation.name);
  validation.validation_of = benchmark;
  spec->benchmarks.push_back(std::move(validation));
}

// Appends the approach p, which is there for the others to start from, and the text that it alone
// is trained on. The first trained approach starts from it; each other from the one before it,
// trained on the same train set, with `chain`, else from p as well.
inline void AddStages(SweepSpec* spec, const std::string& text, bool chain) {
  std::vector<uint32_t> trained;
  for (uint32_t i = 0; i < spec->approaches.size(); ++i) {
    if (!spec->approaches[i].train_command.empty()) {
      trained.push_back(i);
    }
  }
  if (trained.empty()) {
    return;
  }
  spec->benchmarks.push_back(Benchmark(text, true, false));
  spec->train_sets.push_back(
      PlainTrainSet(*spec, static_cast<uint32_t>(spec->benchmarks.size() - 1)));
  spec->train_sets.back().source_only = true;
  for (size_t i = 0; i < trained.size(); ++i) {
    ApproachSpec& approach = spec->approaches[trained[i]];
    approach.train_command.emplace_back("{start}");
    approach.train_from = i > 0 && chain
                              ? TrainFrom{trained[i - 1], {}}
                              : TrainFrom{static_cast<uint32_t>(spec->approaches.size()),
                                          static_cast<uint32_t>(spec->train_sets.size() - 1)};
  }
  spec->approaches.push_back(TrainedApproach("p"));
  spec->approaches.back().predict_command.clear();
}

// Approaches a (trained, 3 settings) and r (untrained); benchmarks x, y and the test-only z; train
// sets x and y; seeds 1 and 2.
inline SweepSpec SmallSweep() {
  SweepSpec spec;
  spec.name = "small";
  spec.approaches = {TrainedApproach("a"), UntrainedApproach("r")};
  spec.benchmarks = {Benchmark("x"), Benchmark("y"), Benchmark("z", false)};
  spec.train_sets = {PlainTrainSet(spec, 0), PlainTrainSet(spec, 1)};
  spec.random_settings = 2;
  spec.seeds = {1, 2};
  return spec;
}

// Results of models m1, m2 on tasks t1, t2, t3, one or more runs of each.
inline SweepSpec ImportedSweep(int64_t runs = 1) {
  SweepSpec spec;
  spec.name = "imported";
  for (const char* name : {"org/m 1", "org/m 2"}) {
    spec.approaches.emplace_back().name = name;
  }
  for (const char* name : {"t1 (5-shot)", "t2", "t3"}) {
    BenchmarkSpec& benchmark = spec.benchmarks.emplace_back();
    benchmark.name = name;
    benchmark.format = DataFormat::kFile;
    benchmark.metric = "acc,none";
  }
  spec.evaluate_on = EvaluateOn::kAll;
  spec.select = Selection::kDefault;
  spec.seeds.clear();
  for (int64_t run = 1; run <= runs; ++run) {
    spec.seeds.push_back(run);
  }
  spec.imported = Sha256Of("results");
  return spec;
}

// Results of its jobs with these indices.
inline std::vector<ImportedResult> ImportedScores(const std::vector<uint32_t>& jobs) {
  std::vector<ImportedResult> results;
  for (const uint32_t job : jobs) {
    ImportedResult& imported = results.emplace_back();
    imported.job = job;
    imported.result.succeeded = true;
    imported.result.run_time = absl::Seconds(1000);
    imported.result.message = "{\"file\":\"board.tsv\"}";
    imported.result.metrics = {{"acc,none", 0.5 + job / 100.0, 100}};
  }
  return results;
}

}  // namespace concur::testing

#endif  // CONCUR_TESTS_CORE_SWEEP_SWEEP_BUILDER_H_
