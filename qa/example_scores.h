// SPDX-License-Identifier: Apache-2.0
// Per-example scores, read back: the inverse of PerExampleJsonLines.
//
// Thread-safe (stateless).
#ifndef CONCUR_QA_EXAMPLE_SCORES_H_
#define CONCUR_QA_EXAMPLE_SCORES_H_

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/metric_meaning.h"
#include "qa/score.h"

namespace concur::qa {

inline constexpr size_t kPartBytesMax = 200;  // bytes of a part's name

// Reads lines of {"id": "…", NAME: number, …}, in their order. `value` is the number of the first
// of `names` that the first line has; without names, any number will do. "exact_match" is 0 or 1,
// "f1" 0..1; "passage" and "document", where they are, whole numbers up to 2^31, "part" a name; an
// id comes once in a part. Other keys are ignored, empty lines skipped. NotFound, "per-example
// scores have …, not NAME", when the first line has none of `names`; InvalidArgument, as
// `FILE:LINE: …`, for anything else, a line without the value, an id that comes twice, and text
// without any example.
absl::StatusOr<std::vector<ExampleScore>> ParseExampleScores(
    absl::string_view text, absl::string_view file, absl::Span<const std::string> names = {});

// The scores by the part that they name, "" without one, in their order; they name none any more.
std::map<std::string, std::vector<ExampleScore>> ByPart(std::vector<ExampleScore> examples);

// Factor that makes a mean of per-example values the score that was reported: 1, or 100
// for shares reported in percent. InvalidArgument, "the mean of its per-example scores, …, is not
// its METRIC, …", unless one of them equals it within the rounding of the digits that it has.
// REQUIRES: at least one example.
absl::StatusOr<double> UnitOfMean(const std::vector<ExampleScore>& examples,
                                  absl::string_view metric, double reported);

// Lines of {"id", "score"}, the values; where all are within 0..1 and more is better, with the
// names that PerExampleJsonLines gives them: "exact_match" is 1 for a whole one only.
std::string ValueJsonLines(const std::vector<ExampleScore>& examples, Goal goal);

// The percentages that qa::Score reports for these examples, by the same arithmetic.
// REQUIRES: at least one example.
double ExactMatchPercent(const std::vector<ExampleScore>& examples);
double F1Percent(const std::vector<ExampleScore>& examples);

}  // namespace concur::qa

#endif  // CONCUR_QA_EXAMPLE_SCORES_H_
