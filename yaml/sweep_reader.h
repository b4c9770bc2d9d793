// SPDX-License-Identifier: Apache-2.0
// The steps of reading one sweep file; included by spec/sweep_*.cc only.
//
// Thread-compatible.
#ifndef CONCUR_YAML_SWEEP_READER_H_
#define CONCUR_YAML_SWEEP_READER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "yaml/approach_yaml.h"
#include "yaml/benchmark_yaml.h"
#include "yaml/loaded_sweep.h"
#include "yaml/value.h"

namespace concur::spec {

class SweepReader {
 public:
  explicit SweepReader(ErrorList& errors) : errors_(errors) {}

  // Reads as much as possible, to find all errors; the result is valid only if none was added.
  LoadedSweep Read(const std::string& path, const std::map<std::string, std::string>& variables);
  // The same of a document without variables.
  LoadedSweep Read(const YamlFile& file);

 private:
  // An item of a list of approaches or benchmarks: a file, a pattern of files, or an inline
  // definition.
  struct Source {
    std::optional<Value> metadata;
    std::optional<Value> spec;
    std::optional<Value> overrides;  // the mapping that has `file`, when there is one
  };
  // Approaches or benchmarks by name and tag, for selections.
  struct Named {
    absl::string_view kind;  // "an approach"
    std::vector<std::string> names;
    std::vector<const Tags*> tags;
    // Left out of the sweep; a selection may name them.
    std::vector<BenchmarkSpec> absent = {};
    // Words that the field may have instead of names.
    std::vector<std::string> words = {};
  };

  // sweep_sources.cc
  bool ReadVariables(const std::map<std::string, std::string>& given);
  void ForEachSource(const Value& list, absl::string_view kind,
                     const std::function<void(const Source&)>& use);
  void ReadSources(const Value& item, absl::string_view kind,
                   const std::function<void(const Source&)>& use);
  void ReadSourceFile(const Value& named_by, const std::string& path, absl::string_view kind,
                      const std::optional<Value>& overrides,
                      const std::function<void(const Source&)>& use);
  std::vector<std::string> PathsOf(const Value& value);
  void AddApproach(const Source& source);
  void OverrideApproach(const Value& overrides, ParsedApproach* approach);
  void PinSettings(const Value& set, ParsedApproach* approach);
  void AddBenchmark(const Source& source);
  // {build: BUILDER, parameters: …}: one benchmark for each combination of the grids.
  void AddBuiltBenchmarks(const Value& build, Fields& fields);
  // Leaves the benchmark out, and returns true, if its optional test file is not there.
  bool LeaveOut(const ParsedBenchmark& benchmark);
  // Appends the validation sets of the benchmarks to them, once everything that names benchmarks
  // has been read.
  void AddValidationSets();
  void OverrideBenchmark(const Value& overrides, ParsedBenchmark* benchmark);

  // sweep_yaml.cc
  bool OpenSweep(const std::string& path, const std::map<std::string, std::string>& variables);
  LoadedSweep ReadRoot();
  void ReadMetadata(const Value& metadata);
  void ReadSpec(const Value& spec);
  void ReadDefaults(Fields& fields);
  void ReadPolicy(Fields& fields);
  void ReadEarlyStop(const Value& value);
  void ReadSelect(const Value& value);

  // sweep_axes.cc
  void ReadMixtures(const Value& value);
  void ReadMixture(const Value& value);
  void ReadTrainOn(const std::optional<Value>& value);
  void AddTrainSet(uint32_t index, const std::string& place);
  // The benchmarks and mixtures that train_from names.
  std::set<std::string> StartedFrom() const;
  // Finds what the approaches' train_from and needs name, once the train sets are read.
  void LinkStages();
  void ReadEvaluateOn(const Value& value);
  void ReadExclude(const Value& value);
  void ReadExcludeRule(const Value& value);
  // The ascending indexes of the items that `value` (a name, tag:NAME, tag:NAME=VALUE, or a list of
  // these) selects. Unknown names and tags are errors.
  std::vector<uint32_t> Select(const Value& value, const Named& things);
  void SelectOne(const Value& value, const Named& things, std::set<uint32_t>* selected);
  Named Approaches() const;
  Named Benchmarks() const;
  Named BenchmarksAndAbsentOnes() const;
  Named BenchmarksAndMixtures() const;
  Named TrainSets() const;

  ErrorList& errors_;
  YamlFile file_;
  Variables variables_;
  LoadedSweep sweep_;
  std::vector<std::pair<uint32_t, ValidationUse>> validations_;  // with their benchmarks
  std::vector<BenchmarkSpec> absent_;                            // benchmarks that are left out
  std::map<uint32_t, TrainFromUse> stages_;                      // by approach
  std::map<uint32_t, std::vector<NameUse>> needs_;               // by approach
  std::map<uint32_t, std::vector<NameUse>> benchmark_needs_;     // by benchmark
  std::vector<TrainSet> mixtures_;
  std::vector<std::string> mixture_places_;
  ResourceRequest default_resources_;
  TimeoutRequest default_timeouts_;
  bool incomplete_ = false;  // some approach or benchmark could not be read
};

// "FILE:LINE:COL: FIELD: " of a field of a sweep, or of the nearest one around it; "" for none.
std::string PlaceOf(const LoadedSweep& sweep, std::string field);

}  // namespace concur::spec

#endif  // CONCUR_YAML_SWEEP_READER_H_
