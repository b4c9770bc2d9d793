// A sweep as the analyses see it: its specification, its jobs with their results, and its
// per-example scores; from a coordinator or from an exported bundle.
//
// Thread-compatible.
#ifndef CONCUR_CLI_STUDY_H_
#define CONCUR_CLI_STUDY_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "analysis/comparison.h"
#include "analysis/score_table.h"
#include "analysis/selection.h"
#include "analysis/uncertainty.h"
#include "base/digest.h"
#include "cli/client.h"
#include "concur/v1/coordinator.pb.h"
#include "qa/score.h"

namespace concur::cli {

// The bytes of an artifact; NotFound when it is not kept any more.
using ReadArtifact = std::function<absl::StatusOr<std::string>(const Digest& digest)>;

struct Study {
  v1::Sweep sweep;            // with its spec
  std::vector<v1::Job> jobs;  // in order of index
  ReadArtifact read_artifact;

  // "s12 demo".
  std::string Name() const;
};

// A sweep by name or id. `client` must outlive the study.
absl::StatusOr<Study> FetchStudy(Client& client, const std::string& sweep);

// The study that `name` means: a bundle when it is a path (it has a "/"), else a sweep.
struct OpenedStudy {
  std::unique_ptr<Client> client;  // what the study reads artifacts with; null for a bundle
  Study study;
};
absl::StatusOr<OpenedStudy> OpenStudy(CommandContext& context, const std::string& name);

// The axes and the selection rule of a sweep.
analysis::SelectionOptions SelectionOptionsOf(const v1::SweepSpec& spec);
// How a table counts a job of this state; nullopt for scores that will never be: of canceled jobs,
// and of those that succeeded without the metric.
std::optional<analysis::CellState> CellStateOf(v1::Job::State state, bool has_value);

// The scores of all eval jobs. `metric` empty: each benchmark's own.
std::vector<analysis::ScoreRecord> ScoreRecordsOf(const Study& study, const std::string& metric);
// `select` empty: the sweep's own rule. InvalidArgument for an unknown rule or metric.
absl::StatusOr<analysis::ScoreTable> ScoreTableOf(
    const Study& study, const std::string& metric, const std::string& select,
    analysis::Layout layout = analysis::Layout::kTrainInColumns);

// The digest of a job's per-example scores, if it has any.
std::optional<Digest> ExamplesOf(const v1::Job& job);

// For each column of ScoreTableOf, the per-example scores behind its cells: of the same settings,
// averaged over seeds. `columns` empty: all. Approaches without them are listed as left out.
// InvalidArgument for an unknown column or a metric that is neither exact_match nor f1;
// DataLoss for artifacts that do not fit together.
absl::StatusOr<std::vector<analysis::ExampleTable>> ExampleTablesOf(
    const Study& study, const std::string& metric, const std::string& select,
    const std::vector<std::string>& columns);

// The same, run by run instead of averaged: for how uncertain coefficients are.
absl::StatusOr<analysis::ExampleRuns> ExampleRunsOf(const Study& study, const std::string& metric,
                                                    const std::string& select,
                                                    const std::vector<std::string>& columns);

// One benchmark from lists of per-example scores, brought into the order of the first one's
// examples. InvalidArgument names the example that one of them lacks.
struct NamedExamples {
  std::string approach;
  std::vector<std::vector<qa::ExampleScore>> runs;  // by seed, or setting and seed; at least one
};
absl::StatusOr<analysis::ExampleTable> AlignExamples(absl::string_view benchmark,
                                                     absl::string_view metric,
                                                     const std::vector<NamedExamples>& approaches);
// The same, run by run; an approach without runs is missing.
absl::StatusOr<analysis::BenchmarkRuns> AlignRuns(absl::string_view benchmark,
                                                  absl::string_view metric,
                                                  const std::vector<NamedExamples>& approaches);

}  // namespace concur::cli

#endif  // CONCUR_CLI_STUDY_H_
