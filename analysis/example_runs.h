// SPDX-License-Identifier: Apache-2.0
// Per-example scores of approaches: run by run, and averaged over runs.
//
// Thread-safe (values, stateless functions).
#ifndef CONCUR_ANALYSIS_EXAMPLE_RUNS_H_
#define CONCUR_ANALYSIS_EXAMPLE_RUNS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/metric_meaning.h"

namespace concur::analysis {

// Unit that examples share, so that their scores are not independent.
enum class ExampleUnit { kExample, kPassage, kDocument };
absl::string_view ExampleUnitName(ExampleUnit unit);  // "question", "passage", "document"
absl::StatusOr<ExampleUnit> ParseExampleUnit(absl::string_view name);

// By example: the passage and the document that it belongs to. Empty: not known.
struct ExamplePlaces {
  std::vector<int64_t> passages;
  std::vector<int64_t> documents;
};

// Examples in groups that are drawn, or change sign, together.
struct ExampleClusters {
  ExampleUnit unit = ExampleUnit::kExample;
  // By example: its group, numbered from 0 in the order of examples. Empty: every example alone.
  std::vector<uint32_t> of;
  size_t count = 0;
};

// Fewer groups than this show too little of their own spread to be the default.
inline constexpr size_t kClustersMin = 10;

// The groups by `unit`; with none asked for, by the coarsest one that is known and has at least
// kClustersMin groups: questions of one document share its subject, style and difficulty, and a
// new test set would come with other documents. kExample where the unit is not known, or no two
// examples share one.
ExampleClusters ClustersOf(const ExamplePlaces& places, size_t examples,
                           std::optional<ExampleUnit> unit);

// Per-example scores of one benchmark, run by run: a run is a seed, or a setting and a seed.
struct BenchmarkRuns {
  std::string benchmark;
  std::string metric;  // "exact_match", "f1"; for people
  Goal goal = Goal::kMaximize;
  // Benchmarks with the same key were scored on the same examples (in the same order), or with the
  // same trained systems: a replicate draws those for them together. "": shared with none.
  std::string test_set;
  std::string systems;
  size_t examples = 0;
  ExamplePlaces places;
  // A mean of these scores times this is a score of the table: 100 for shares in percent.
  double unit = 100;
  // By approach, then run: a finite score for each example. No run: missing.
  std::vector<std::vector<std::vector<double>>> runs;
  // Why approaches (by position) are missing, where there is a reason to give.
  std::vector<std::pair<size_t, std::string>> left_out;
};

struct ExampleRuns {
  std::vector<std::string> approaches;
  std::vector<BenchmarkRuns> benchmarks;
  std::vector<std::string> choices = {};  // notes on how settings were chosen: ChoiceNotes
};
// Minimizes the benchmarks whose names match a pattern, in which "*" stands for any text.
// InvalidArgument when a pattern matches none.
absl::Status Minimize(absl::Span<const std::string> patterns, ExampleRuns& runs);

// Negates the scores of which less is better; returns the names of those benchmarks.
std::vector<std::string> Orient(ExampleRuns& runs);

// The scores of every approach on every test example of one benchmark.
struct ExampleTable {
  std::string benchmark;
  std::string metric;  // "exact_match", "f1"; for people
  Goal goal = Goal::kMaximize;
  double unit = 100;  // as BenchmarkRuns::unit
  std::vector<std::string> approaches;
  size_t examples = 0;
  ExamplePlaces places;
  std::vector<double> values;  // approach by approach, each in the same order of examples
  // Approaches that could not be compared, each with its reason: "bert: no per-example scores".
  std::vector<std::string> left_out;

  absl::Span<const double> row(size_t approach) const {
    return absl::Span<const double>(values).subspan(approach * examples, examples);
  }
};

// Who is left out of a benchmark and why, in order of first appearance: approaches with one reason
// are named together, "all approaches" where it is everyone's.
std::vector<std::pair<std::string, std::string>> LeftOutOf(const ExampleRuns& runs,
                                                           const BenchmarkRuns& benchmark);

// A table for each benchmark: the means over runs, of the approaches that have runs.
std::vector<ExampleTable> MeansOverRuns(const ExampleRuns& runs);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_EXAMPLE_RUNS_H_
