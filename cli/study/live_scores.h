// SPDX-License-Identifier: Apache-2.0
// The score table of a sweep, kept up to date while it runs.
//
// It follows the sweep's stream of changes and asks for each finished job by itself, so that a
// finished cell costs the coordinator one event and one small call, however large the table is.
//
// Thread-compatible.
#ifndef CONCUR_CLI_STUDY_LIVE_SCORES_H_
#define CONCUR_CLI_STUDY_LIVE_SCORES_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "analysis/score_table.h"
#include "cli/app/context.h"
#include "cli/client/client.h"
#include "concur/v1/coordinator.pb.h"
#include "report/sweep_table.h"

namespace concur::cli {

// `metric` and `options` as for ScoreTableOf. Calls `on_change` with the table as it stands, then
// after every batch of changes to eval jobs, until the sweep has ended. Returns what `on_change`
// returned when that is an error; Cancelled when interrupted (the sweep goes on, and context.err
// says so); NotFound for an unknown sweep; what the coordinator answers when it is away for more
// than ten minutes.
absl::Status FollowScores(
    CommandContext& context, Client& client, const std::string& sweep, const std::string& metric,
    const SweepTableOptions& options,
    const std::function<absl::Status(const analysis::ScoreTable&, const v1::Sweep&)>& on_change);

}  // namespace concur::cli

#endif  // CONCUR_CLI_STUDY_LIVE_SCORES_H_
