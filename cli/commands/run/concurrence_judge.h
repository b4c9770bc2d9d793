// SPDX-License-Identifier: Apache-2.0
// The verdict on what the sweep of a look of `concur concurrence` has.
//
// Thread-safe (stateless).
#ifndef CONCUR_CLI_COMMANDS_RUN_CONCURRENCE_JUDGE_H_
#define CONCUR_CLI_COMMANDS_RUN_CONCURRENCE_JUDGE_H_

#include <string>

#include "absl/status/statusor.h"
#include "analysis/plan/verdict.h"
#include "analysis/score_table.h"
#include "cli/study/study.h"

namespace concur::cli {

// A new benchmark, which is a column of a study, and its reference: another one, or published
// scores (cli/commands/run/published_reference.h).
struct ComparedPair {
  std::string added;
  std::string reference;
};

// The scores of both, in this order, of the study's approaches.
absl::StatusOr<analysis::ScoreTable> PairScores(const Study& study, const ComparedPair& pair);

// The verdict on these scores; the study's per-example scores show the noise. A look at part of its
// approaches (`is_whole` is false) is none of those that the level holds for, so that it claims
// nothing. Noise of published scores is unknown, so that they refute nothing. Unavailable when the
// coordinator is; other errors of reading per-example scores are the verdict's warning.
absl::StatusOr<analysis::Verdict> JudgeStudy(const Study& study, const analysis::ScoreTable& scores,
                                             const ComparedPair& pair,
                                             const analysis::VerdictOptions& options,
                                             bool is_whole);

}  // namespace concur::cli

#endif  // CONCUR_CLI_COMMANDS_RUN_CONCURRENCE_JUDGE_H_
