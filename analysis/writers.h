// Score tables and matrices as text for people (aligned) and for programs (CSV, JSON, JSON lines).
//
// Thread-safe (stateless). Every form shows every cell that has no score; programs get numbers in
// the shortest form that reads back exactly, and null (JSON) or nothing (CSV) where there is none.
#ifndef CONCUR_ANALYSIS_WRITERS_H_
#define CONCUR_ANALYSIS_WRITERS_H_

#include <cstddef>
#include <string>

#include "analysis/matrix.h"
#include "analysis/score_table.h"

namespace concur::analysis {

struct TextOptions {
  int decimals = 2;
  // Columns of the screen: wider matrices with intervals are written as a list of pairs.
  size_t width = 160;
};

// Aligned: approaches down, benchmarks across, "mean ±sd" over seeds, "failed", "pending", "—"
// (missing); "*" marks a score some of whose parts failed or are pending.
std::string ScoresText(const ScoreTable& table, const TextOptions& options = {});
// As ParseScoresCsv reads it: approach, tags, benchmarks; empty where there is no value. The
// reasons are in the other forms only.
std::string ScoresCsv(const ScoreTable& table);
// {"approaches":[{"name","tags"}],"benchmarks":[{"name","tags"}],
//  "cells":[{"approach","benchmark","state","value","standard_deviation","seeds","examples",
//            "setting","failed","pending"}]}; cells by approach, then benchmark.
std::string ScoresJson(const ScoreTable& table);
// One such cell a line.
std::string ScoresJsonLines(const ScoreTable& table);

// Aligned: a lower triangle with numbered benchmarks, "*" where approaches are missing, "undef"
// where the coefficient has no value; below it, what is missing and why. With intervals,
// "0.87 [0.70, 0.95]", or a list of pairs where that is too wide.
std::string MatrixText(const ConcurrenceMatrix& matrix, const TextOptions& options = {});
// coefficient,a,b,n,value,low,high,p_value,undefined,missing (names joined by "; "), and with
// bounds bound_low,bound_high,bound_exact. Differences are in the other forms only.
std::string MatrixCsv(const ConcurrenceMatrix& matrix);
// {"coefficient","benchmarks":[…],"approaches":[…],"pairs":[{"a","b","n","value","low","high",
//  "p_value","missing":[…]}]}; "undefined" says why where "value" is null; with intervals also
// "level" and "interval_method"; with complete cases "left_out"; with bounds, in each pair
// "bounds":{"low","high","missing","exact"};
// "differences":[{"a","b","less_a","less_b","n","less_n", "difference","low","high"}].
std::string MatrixJson(const ConcurrenceMatrix& matrix);
// One pair a line, then one difference a line, each with "coefficient".
std::string MatrixJsonLines(const ConcurrenceMatrix& matrix);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_WRITERS_H_
