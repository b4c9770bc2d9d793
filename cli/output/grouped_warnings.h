// SPDX-License-Identifier: Apache-2.0
// Warnings of one kind as one line: of a sweep with many approaches, each may have the same.
//
// Thread-safe (a stateless function).
#ifndef CONCUR_CLI_OUTPUT_GROUPED_WARNINGS_H_
#define CONCUR_CLI_OUTPUT_GROUPED_WARNINGS_H_

#include <string>
#include <vector>

namespace concur::cli {

// The first warning of each kind, in order; where there are more of the kind, followed by how many
// and the places ("FILE:LINE:COL") of the first. Warnings are of one kind when they differ in their
// places ("FILE:LINE:COL: FIELD: "), quoted names and numbers only; another path is another kind.
std::vector<std::string> GroupWarnings(const std::vector<std::string>& warnings);

}  // namespace concur::cli

#endif  // CONCUR_CLI_OUTPUT_GROUPED_WARNINGS_H_
