// SPDX-License-Identifier: Apache-2.0
// Per-example scores for the analyses: of a study, of a folder, or of files that were read already.
//
// Thread-safe (stateless).
#ifndef CONCUR_CLI_STUDY_EXAMPLE_RUNS_H_
#define CONCUR_CLI_STUDY_EXAMPLE_RUNS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "analysis/example_runs.h"
#include "cli/study/study.h"
#include "qa/score.h"
#include "report/sweep_table.h"

namespace concur::cli {

// For each column of ScoreTableOf, the runs behind its cells: of the settings that the cell stands
// for. `columns` empty: all. Approaches without per-example scores of the metric, or whose
// mean is not the score, are missing, with the reason. InvalidArgument for an unknown column, and
// for settings chosen on other seeds, of which each seed of a cell may have another one; DataLoss
// for artifacts that do not fit together.
absl::StatusOr<analysis::ExampleRuns> ExampleRunsOf(const Study& study, const std::string& metric,
                                                    const SweepTableOptions& options,
                                                    const std::vector<std::string>& columns);

// Null: the sweep has no benchmark of this name.
const BenchmarkSpec* BenchmarkNamed(const SweepSpec& spec, const std::string& name);

// The names under which per-example scores may have a metric of a benchmark. Those of a benchmark
// with one metric had it as "f1" up to 0.2.0; that their mean is the score says that it is.
std::vector<std::string> ExampleNamesOf(const SweepSpec& spec, const std::string& benchmark,
                                        const std::string& metric);

// True if any job has per-example scores.
bool HasExamples(const Study& study);

// The scores of a study without their examples: each seed's score counts as a run of one example.
// `metric`, `options` and `columns` as above.
absl::StatusOr<analysis::ExampleRuns> RepeatsOf(const Study& study, const std::string& metric,
                                                const SweepTableOptions& options,
                                                const std::vector<std::string>& columns);

// DIR/APPROACH/BENCHMARK/RUN.jsonl, each file as "concur data score --per-example" writes it, a run
// being a seed. Approaches and benchmarks by name; `columns`, where not empty, chooses and orders
// benchmarks. Names that start with a dot are skipped. NotFound for a folder that cannot be listed;
// InvalidArgument for a column that no approach has, and for malformed files.
absl::StatusOr<analysis::ExampleRuns> ReadExampleFolder(const std::string& path,
                                                        std::vector<std::string> columns,
                                                        absl::string_view metric);

// Repeated scores (seeds, or runs on several samples) without their examples: a CSV with the
// columns approach, benchmark, repeat and one more, the score, in any unit. Each score counts as a
// run of one example. Approaches, benchmarks and repeats in the order of first appearance;
// `columns` as above. InvalidArgument, as `FILE:LINE: …`, for other columns, empty names, scores
// that are not numbers, and a repeat that comes twice.
absl::StatusOr<analysis::ExampleRuns> ReadRepeats(const std::string& path,
                                                  std::vector<std::string> columns);

// Per-example scores of one benchmark (ExampleScore::value), brought into the order of the first
// one's examples. An approach without runs is missing. InvalidArgument names the example that a run
// lacks.
struct NamedExamples {
  std::string approach;
  std::vector<std::vector<qa::ExampleScore>> runs;  // by seed, or setting and seed
};
absl::StatusOr<analysis::BenchmarkRuns> AlignRuns(absl::string_view benchmark,
                                                  absl::string_view metric,
                                                  const std::vector<NamedExamples>& approaches);

}  // namespace concur::cli

#endif  // CONCUR_CLI_STUDY_EXAMPLE_RUNS_H_
