// SPDX-License-Identifier: Apache-2.0
// Notes below tables (missing scores, undefined pairs, warnings about intervals) and the text of
// single figures, shared by the writers.
//
// Thread-safe (stateless).
#ifndef CONCUR_REPORT_NOTES_H_
#define CONCUR_REPORT_NOTES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "analysis/concurrence/matrix.h"
#include "analysis/families.h"
#include "analysis/score_table.h"
#include "report/table.h"

namespace concur::analysis {

// P-values of all pairs after correction for their number, pair by pair.
struct CorrectedPValues {
  explicit CorrectedPValues(const ConcurrenceMatrix& matrix);

  std::vector<double> plain;
  std::vector<double> holm;
  std::vector<double> bh;
};

// "Kendall's tau-b over 20 approaches, 26 benchmarks; 95 % intervals: …".
std::string MatrixTitle(const ConcurrenceMatrix& matrix);
// "Kendall's tau-b".
std::string CoefficientTitle(const ConcurrenceMatrix& matrix);

// "0.87", "undef", with " [0.70, 0.95]" where there is an interval, "†" where that has no width
// (intervals.h) and "*" where approaches are missing.
std::string PairText(const MatrixPair& pair, bool with_interval = true);

// About intervals, where any has no width or is of few approaches.
inline constexpr char kAllReplicatesAgree[] =
    "† all replicates agree: resampling cannot show the uncertainty.";
std::string FewApproachesNote();

// The number of unrelated approaches that the families are worth, and the loss of the coefficients
// by noise of seeds; "" where it is not known.
std::string FamiliesSentence(const ConcurrenceMatrix& matrix);
std::string NoiseSentence(const ConcurrenceMatrix& matrix);
// Benchmarks at an end of their scale or without spread, a sentence for each kind.
std::vector<std::string> FlagSentences(const std::vector<BenchmarkFlag>& flags,
                                       const std::vector<std::string>& benchmarks,
                                       size_t approaches);

// A short sentence for each thing that changes what one should conclude: families, noise, gaps,
// benchmarks at an end of their scale, then the rest.
std::vector<std::string> MatrixNotes(const ConcurrenceMatrix& matrix);
// All there is to say, one line each: what is left out, missing scores by benchmark, undefined
// pairs by reason, warnings about intervals, how settings were chosen. Names are as Printable gives
// them, pairs are numbers.
std::vector<std::string> MatrixDetails(const ConcurrenceMatrix& matrix);

// "5 of 6 approaches have names that start like another one's (a, b, …)".
std::string RelativesText(const Relatives& relatives);
// About all intervals, a sentence each: the matrix's warnings and its undeclared relatives.
std::vector<std::string> MatrixWarnings(const ConcurrenceMatrix& matrix);

// "Less is better on perplexity, loss".
std::string LessIsBetter(const std::vector<std::string>& benchmarks);

// Notes on how settings were chosen, a sentence each: on validation sets, and what choosing on the
// test sets would have added; on test sets, and that their scores are the best of several. Empty
// where nothing was to be chosen.
std::vector<std::string> ChoiceNotes(const std::vector<AxisEntry>& benchmarks);
std::vector<std::string> ChoiceNotes(const ConcurrenceMatrix& matrix);
// One sentence, where choosing on test sets may have made scores too high; else none.
std::vector<std::string> ChoiceWarning(const std::vector<AxisEntry>& benchmarks);
std::vector<std::string> ChoiceWarning(const ConcurrenceMatrix& matrix);
// Notes on two tables beside each other: once where they say the same, else of each.
std::vector<std::string> ChoiceNotes(const std::vector<AxisEntry>& before,
                                     const std::vector<AxisEntry>& after);

// Mark of a score, or of an average of scores, of which some seeds or settings are not there.
inline constexpr char kPartialSign[] = "*";

// "12.35 ±0.50*", "failed", "pending" or "—"; with so many decimals.
std::string CellText(const ScoreCell& cell, int decimals);

// A score in a Table: CellText for people, the value, if there is one, for programs.
TableCell AsTableCell(const ScoreTable& table, size_t approach, size_t benchmark);

// Notes on how many cells have no score, what is minimized, scores beyond their scale,
// and what "±" and "*" mean;
// empty when there is nothing to say.
std::vector<std::string> ScoreNotes(const ScoreTable& table);

}  // namespace concur::analysis

#endif  // CONCUR_REPORT_NOTES_H_
