// SPDX-License-Identifier: Apache-2.0
// References: scores that stand beside those of approaches and are not compared with them, such as
// those of people. Rankings and fits list them without a rank.
//
// Thread-safe (stateless). Scores are in the unit of their benchmark.
#ifndef CONCUR_ANALYSIS_REFERENCES_H_
#define CONCUR_ANALYSIS_REFERENCES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "analysis/score_table.h"

namespace concur::analysis {

// Mark of references in tables, and its meaning.
inline constexpr char kReferenceSign[] = " ‡";
inline constexpr char kReferenceNote[] = "‡ a reference: neither ranked nor fitted.";

// Makes references of the table, each from a text:
//   NAME: the approaches of that name ("*" for any text); where there is none, a new row with what
//     the benchmarks say in their tag NAME, such as human=91.2;
//   NAME=SCORE: a new row with this score on every benchmark;
//   NAME=BENCHMARK:SCORE[,BENCHMARK:SCORE…]: a new row with these. Names with commas are quoted as
//     in CSV.
// InvalidArgument for what names nothing, for a new row whose name is taken, for unknown
// benchmarks, and for scores that are no finite numbers; the table is then as it was.
absl::Status AddReferences(absl::Span<const std::string> texts, ScoreTable& table);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_REFERENCES_H_
