// SPDX-License-Identifier: Apache-2.0
// Gets a study, from a coordinator or from an exported bundle.
//
// Thread-compatible.
#ifndef CONCUR_CLI_STUDY_OPEN_STUDY_H_
#define CONCUR_CLI_STUDY_OPEN_STUDY_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "analysis/score_table.h"
#include "cli/app/context.h"
#include "cli/client/client.h"
#include "cli/study/study.h"
#include "concur/v1/coordinator.pb.h"
#include "report/sweep_table.h"

namespace concur::cli {

// The sweep that `name` takes, with its spec. Where people read the output and several sweeps have
// the name, a note on context.err says which one it took.
absl::StatusOr<v1::Sweep> FindSweep(CommandContext& context, Client& client,
                                    const std::string& name);

// InvalidArgument that lists the metrics, where jobs have succeeded and none reported `metric`. ""
// is each benchmark's own.
absl::Status CheckMetric(Client& client, const v1::Sweep& sweep, const std::string& metric);

// The study of a sweep by name or id. `client` must outlive the study.
absl::StatusOr<Study> FetchStudy(Client& client, v1::Sweep sweep);

// Fills `steps` of a job, as that of a bundle is, and `step_count` with their number. One that has
// been deleted meanwhile has none.
absl::Status ReadSteps(Client& client, v1::Job& job);

// True if it is a train job that has reported something.
bool HasReported(const v1::Job& job);

struct StepsRead {
  int64_t steps = 0;
  int64_t jobs_left_out = 0;
};
// ReadSteps of all train jobs of a study from the first on, as long as a bundle's jobs.jsonl has at
// most `bytes_max`. Those left out keep their `step_count`.
absl::StatusOr<StepsRead> ReadAllSteps(Client& client, Study& study, int64_t bytes_max);

// The score table of a sweep with its spec, which costs the coordinator less than the study.
// `metric` and `options` as for ScoreTableOf.
absl::StatusOr<analysis::ScoreTable> FetchScoreTable(Client& client, const v1::Sweep& sweep,
                                                     const std::string& metric,
                                                     const SweepTableOptions& options = {});

// The same of a sweep, or of a bundle when `name` is a path.
absl::StatusOr<analysis::ScoreTable> OpenScoreTable(CommandContext& context,
                                                    const std::string& name,
                                                    const std::string& metric,
                                                    const SweepTableOptions& options = {});

// The study that `name` means: a bundle when it is a path (it has a "/"), else a sweep.
struct OpenedStudy {
  std::unique_ptr<Client> client;  // reads the study's artifacts; null for a bundle
  Study study;
};
absl::StatusOr<OpenedStudy> OpenStudy(CommandContext& context, const std::string& name);

}  // namespace concur::cli

#endif  // CONCUR_CLI_STUDY_OPEN_STUDY_H_
