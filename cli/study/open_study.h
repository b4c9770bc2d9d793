// SPDX-License-Identifier: Apache-2.0
// Gets a study, from a coordinator or from an exported bundle.
//
// Thread-compatible.
#ifndef CONCUR_CLI_STUDY_OPEN_STUDY_H_
#define CONCUR_CLI_STUDY_OPEN_STUDY_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "analysis/score_table.h"
#include "cli/app/context.h"
#include "cli/client/client.h"
#include "cli/study/study.h"

namespace concur::cli {

// A sweep by name or id. `client` must outlive the study.
absl::StatusOr<Study> FetchStudy(Client& client, const std::string& sweep);

// The score table of a sweep, which costs the coordinator less than the study. `metric` and
// `select` as for ScoreTableOf.
absl::StatusOr<analysis::ScoreTable> FetchScoreTable(Client& client, const std::string& sweep,
                                                     const std::string& metric,
                                                     const std::string& select);

// The same of a sweep, or of a bundle when `name` is a path.
absl::StatusOr<analysis::ScoreTable> OpenScoreTable(CommandContext& context,
                                                    const std::string& name,
                                                    const std::string& metric,
                                                    const std::string& select);

// The study that `name` means: a bundle when it is a path (it has a "/"), else a sweep.
struct OpenedStudy {
  std::unique_ptr<Client> client;  // what the study reads artifacts with; null for a bundle
  Study study;
};
absl::StatusOr<OpenedStudy> OpenStudy(CommandContext& context, const std::string& name);

}  // namespace concur::cli

#endif  // CONCUR_CLI_STUDY_OPEN_STUDY_H_
