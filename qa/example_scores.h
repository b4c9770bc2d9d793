// SPDX-License-Identifier: Apache-2.0
// Per-example scores, read back: the inverse of PerExampleJsonLines.
//
// Thread-safe (stateless).
#ifndef CONCUR_QA_EXAMPLE_SCORES_H_
#define CONCUR_QA_EXAMPLE_SCORES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "qa/score.h"

namespace concur::qa {

// Reads lines of {"id": "…", "exact_match": 0 or 1, "f1": 0..1}, in their order, and "passage" and
// "document" where they are: whole numbers up to 2^31. Other keys are ignored, empty lines skipped.
// InvalidArgument, as `FILE:LINE: …`, for anything else, an id that comes twice, and text without
// any example.
absl::StatusOr<std::vector<ExampleScore>> ParseExampleScores(absl::string_view text,
                                                             absl::string_view file);

// The percentages that qa::Score reports for these examples, by the same arithmetic.
// REQUIRES: at least one example.
double ExactMatchPercent(const std::vector<ExampleScore>& examples);
double F1Percent(const std::vector<ExampleScore>& examples);

}  // namespace concur::qa

#endif  // CONCUR_QA_EXAMPLE_SCORES_H_
