// SPDX-License-Identifier: Apache-2.0
// Notes below tables (missing scores, undefined pairs, warnings about intervals) and the text of
// single figures, shared by the writers.
//
// Thread-safe (stateless).
#ifndef CONCUR_ANALYSIS_NOTES_H_
#define CONCUR_ANALYSIS_NOTES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "analysis/matrix.h"
#include "analysis/score_table.h"
#include "analysis/table.h"

namespace concur::analysis {

// "Kendall's tau-b over 20 approaches, 26 benchmarks; 95 % intervals: …".
std::string MatrixTitle(const ConcurrenceMatrix& matrix);

// "0.87", "undef", with " [0.70, 0.95]" where there is an interval, "†" where that has no width
// (intervals.h) and "*" where approaches are missing.
std::string PairText(const MatrixPair& pair, bool with_interval = true);

// One line each: what is left out, missing scores by benchmark, undefined pairs by reason, warnings
// about intervals, flags of benchmarks. Names are as Printable gives them, pairs are numbers.
std::vector<std::string> MatrixNotes(const ConcurrenceMatrix& matrix);

// What stands beside p-values where families are declared.
inline constexpr char kPValuesIgnoreFamilies[] = "p-values take approaches as unrelated";

// "Less is better on perplexity, loss".
std::string LessIsBetter(const std::vector<std::string>& benchmarks);
// The same, and what that means for coefficients: "…: counted the other way round, so that …".
std::string CountedOtherWay(const std::vector<std::string>& benchmarks);

// How settings were chosen, a sentence each: on validation sets, and what choosing on the test sets
// would have added; on test sets, and that their scores are the best of several. Empty where
// nothing was to be chosen.
std::vector<std::string> ChoiceNotes(const std::vector<AxisEntry>& benchmarks);
std::vector<std::string> ChoiceNotes(const ConcurrenceMatrix& matrix);
// Of two tables beside each other: once where they say the same, else of each.
std::vector<std::string> ChoiceNotes(const ScoreTable& before, const ScoreTable& after);

// What marks a score, or an average of scores, of which some seeds or settings are not there.
inline constexpr char kPartialSign[] = "*";

// "12.35 ±0.50*", "failed", "pending" or "—"; with so many decimals.
std::string CellText(const ScoreCell& cell, int decimals);

// A score in a Table: CellText for people, the value, if there is one, for programs.
TableCell AsTableCell(const ScoreTable& table, size_t approach, size_t benchmark);

// How many cells have no score, what is minimized, scores beyond their scale, and what "±" and "*"
// mean; empty when there is nothing
// to say.
std::vector<std::string> ScoreNotes(const ScoreTable& table);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_NOTES_H_
