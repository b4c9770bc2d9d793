// SPDX-License-Identifier: Apache-2.0
// Score tables, matrices, fits and uncertainty in every form of table.h.
//
// Thread-safe (stateless). Every form shows every missing, failed and pending score and every
// undefined pair. JSON has more than rows; kJsonList is the same as kJson.
#ifndef CONCUR_REPORT_WRITERS_H_
#define CONCUR_REPORT_WRITERS_H_

#include <string>
#include <vector>

#include "analysis/comparison/fit.h"
#include "analysis/concurrence/matrix.h"
#include "analysis/concurrence/uncertainty.h"
#include "analysis/score_table.h"
#include "report/table.h"

namespace concur::analysis {

// Approaches down, benchmarks across: "mean ±sd" over seeds, "failed", "pending", "—" (missing);
// "*" marks a score some of whose parts failed, are pending, or were canceled or stopped.
//
// CSV: as ParseScoresCsv reads it: approach, tags, benchmarks; empty where there is no value. The
// reasons are in the other forms only. Goals and scales are written where any is not plain
// (MetricMeaning::IsPlain).
// JSON: {"approaches":[{"name","tags"}],"benchmarks":[{"name","tags","goal","scale",
//   "chosen_on","optimism"}] (SettingChoice, where there was a choice),
//  "cells":[{"approach","benchmark","state","value","standard_deviation","seeds","examples",
//            "setting","failed","pending"}]}; cells by approach, then benchmark.
// JSON lines: one such cell a line.
std::string WriteScores(const ScoreTable& table, TableFormat format,
                        const TextOptions& options = {});
Table ScoresTable(const ScoreTable& table, bool people_see_tags);

// Form in which a matrix is written as text.
struct MatrixTextOptions {
  TextOptions text;
  bool list_intervals = false;  // below, where the grid has no room for them
};

// A lower triangle with numbered benchmarks, "*" where approaches are missing, "undef" where the
// coefficient has no value; below it, what is missing and why. With intervals, "0.87 [0.70, 0.95]".
// Where a terminal has no room for intervals, its text is without them.
//
// CSV: coefficient,a,b,n,value,low,high,noise_free,undefined,missing (names joined by "; "), with
// bounds bound_low,bound_high,bound_exact, warning (about the interval), and with p-values
// p_value,p_holm,p_bh. Differences are in the other forms only. JSON:
// {"coefficient","benchmarks":[…],"approaches":[…],"pairs":[{"a","b","n","value","low",
//  "high","noise_free" (where known),"missing":[…]}]}; "choices" says how settings were chosen,
//  "minimized" names benchmarks of which less is better, where there are any; "undefined" says why
//  where "value" is null; with intervals
// also "level" and "interval_method"; with complete cases "left_out"; with bounds, in each pair
//  "bounds":{"low","high","missing","exact"};
//  "differences":[{"a","b","less_a","less_b","n","less_n", "difference","low","high"}].
// JSON lines: one pair a line, then one difference a line, each with "coefficient".
std::string WriteMatrix(const ConcurrenceMatrix& matrix, TableFormat format,
                        const MatrixTextOptions& options = {});

// One row for each system. Text is a table for each fit. CSV has a line, and the other forms a
// note, for each approach that lacks a score. JSON: {"fits":[{"from","to","scale","n","slope",
// "intercept","r_squared","mean_gap","systems":[{"name","from","to","gap","rank","new_rank",
// "delta_rank","fitted","predicted","residual"}],"missing":[…]}]}; references have no ranks and
// "reference": true; with a bootstrap also "level",
// and "slope_interval" and its like as [low, high]; with score intervals "from_interval" and
// "to_interval". JSON lines: one such fit a line.
std::string WriteShift(const std::vector<ShiftFit>& fits, TableFormat format,
                       const TextOptions& options = {});

// Says which of more approaches, more test examples and more seeds can narrow the coefficient, how
// far, and what remains.
std::string UncertaintyInWords(const PairUncertainty& pair);

// One row for each pair of benchmarks.
Table UncertaintyTable(const Uncertainty& uncertainty);

}  // namespace concur::analysis

#endif  // CONCUR_REPORT_WRITERS_H_
