// Sentences below a table about what its figures do not show, and the figures' own text; shared by
// the writers.
//
// Thread-safe (stateless).
#ifndef CONCUR_ANALYSIS_NOTES_H_
#define CONCUR_ANALYSIS_NOTES_H_

#include <string>
#include <vector>

#include "analysis/matrix.h"
#include "analysis/score_table.h"

namespace concur::analysis {

// `value` with so many decimals, and no minus before a rounded zero.
std::string Fixed(double value, int decimals);

// "Kendall's tau-b over 20 approaches, 26 benchmarks; 95 % intervals: …".
std::string MatrixTitle(const ConcurrenceMatrix& matrix);

// "0.87", "undef", with " [0.70, 0.95]" where there is an interval and "*" where approaches are
// missing.
std::string PairText(const MatrixPair& pair, int decimals);

// One line each: what is left out, missing scores by benchmark, undefined pairs by reason, warnings
// about intervals, flags of benchmarks. Names are as Printable gives them, pairs are numbers.
std::vector<std::string> MatrixNotes(const ConcurrenceMatrix& matrix);

// "12.35 ±0.50*", "failed", "pending" or "—".
std::string CellText(const ScoreCell& cell, int decimals);

// How many cells have no score, and what "*" means; empty when there is nothing to say.
std::vector<std::string> ScoreNotes(const ScoreTable& table);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_NOTES_H_
