// SPDX-License-Identifier: Apache-2.0
// Published scores as references of `concur concurrence`: exact match in percent of Liu et al., "Do
// Question Answering Modeling Improvements Hold Across Benchmarks?", ACL 2023, Tables 9 to 22, as
// printed, of 20 approaches on 26 of its 44 benchmarks (configs/references/published.csv).
// Approaches have the names of configs/approaches.
//
// Thread-safe (stateless).
#ifndef CONCUR_CLI_COMMANDS_RUN_PUBLISHED_REFERENCE_H_
#define CONCUR_CLI_COMMANDS_RUN_PUBLISHED_REFERENCE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "analysis/score_table.h"

namespace concur::cli {

inline constexpr absl::string_view kPublishedPrefix = "published:";

bool IsPublished(absl::string_view reference);

// "published=mrqa-newsqa" for "published:MRQA NewsQA": a part of a sweep's name.
std::string PublishedId(absl::string_view reference);
// The reverse but for the spelling: "published:mrqa-newsqa"; other text is returned as it is.
std::string ReferenceOfId(absl::string_view id);

// The scores of "published:NAME" as a table of one column, which has the table's spelling of that
// name; letters and digits alone are compared, and small and capital ones count as the same.
// NotFound, with the names, for another benchmark. REQUIRES: IsPublished(reference).
absl::StatusOr<analysis::ScoreTable> PublishedScores(absl::string_view reference);

}  // namespace concur::cli

#endif  // CONCUR_CLI_COMMANDS_RUN_PUBLISHED_REFERENCE_H_
