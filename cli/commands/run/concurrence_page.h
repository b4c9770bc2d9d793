// SPDX-License-Identifier: Apache-2.0
// The verdict of `concur concurrence` for others to see: a page and a badge.
//
// Thread-safe (stateless).
#ifndef CONCUR_CLI_COMMANDS_RUN_CONCURRENCE_PAGE_H_
#define CONCUR_CLI_COMMANDS_RUN_CONCURRENCE_PAGE_H_

#include <string>

#include "absl/status/statusor.h"
#include "cli/commands/run/concurrence_verdict.h"

namespace concur::cli {

// One self-contained HTML page: the sentence to quote, the scatter plot with the outliers' names,
// all approaches' scores and ranks, outliers with questions, the checks of the data, and `command`,
// which repeats it.
absl::StatusOr<std::string> VerdictPage(const ConcurrenceResult& result,
                                        const std::string& command);

// "concurrence with SQuAD: τ 0.84 [0.71, 0.92]" as SVG: green where high concurrence is shown, red
// where it is refuted, brown where it is open.
std::string VerdictBadge(const ConcurrenceResult& result);

}  // namespace concur::cli

#endif  // CONCUR_CLI_COMMANDS_RUN_CONCURRENCE_PAGE_H_
