// SPDX-License-Identifier: Apache-2.0
// The colours of states.
//
// Stateless; thread-safe.
#ifndef CONCUR_CLI_OUTPUT_TONE_H_
#define CONCUR_CLI_OUTPUT_TONE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "report/table.h"

namespace concur::cli {

// The tone of a job's, a sweep's or a worker's state, by its word.
analysis::Tone ToneOf(absl::string_view state);
analysis::TableCell StateCell(std::string state);

}  // namespace concur::cli

#endif  // CONCUR_CLI_OUTPUT_TONE_H_
