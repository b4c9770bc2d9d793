// SPDX-License-Identifier: Apache-2.0
// `concur concurrence --list`: the questions that were asked on a coordinator, and their verdicts.
//
// Thread-compatible.
#ifndef CONCUR_CLI_COMMANDS_RUN_CONCURRENCE_LIST_H_
#define CONCUR_CLI_COMMANDS_RUN_CONCURRENCE_LIST_H_

#include "absl/status/status.h"
#include "cli/app/context.h"

namespace concur::cli {

// Prints each question once, newest first, with the verdict on its last look, computed anew from
// the results. Questions are told apart by their sweeps' specifications: two versions of a
// benchmark, two panels or two bounds are two questions.
absl::Status ListConcurrences(CommandContext& context);

}  // namespace concur::cli

#endif  // CONCUR_CLI_COMMANDS_RUN_CONCURRENCE_LIST_H_
