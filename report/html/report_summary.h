// SPDX-License-Identifier: Apache-2.0
// The head of a report: what was compared, and the three findings that a reader wants first.
//
// Thread-safe (stateless).
#ifndef CONCUR_REPORT_HTML_REPORT_SUMMARY_H_
#define CONCUR_REPORT_HTML_REPORT_SUMMARY_H_

#include <string>
#include <vector>

#include "analysis/comparison/comparison.h"
#include "analysis/concurrence/matrix.h"
#include "analysis/score_table.h"

namespace concur::analysis {

// A finding in a few words, and what it says.
struct Finding {
  std::string head;
  std::string text;
};

// The most and the least concurrent pair, with intervals that allow for the choice, families and
// noise; missing scores; benchmarks at an end of their scale; which ranks the test examples do not
// resolve. `matrix` is null for fewer than two benchmarks, `comparisons` empty where no per-example
// scores are known.
std::vector<Finding> FindingsOf(const ScoreTable& table, const ConcurrenceMatrix* matrix,
                                const std::vector<BenchmarkComparison>& comparisons);

// "20 approaches (RaSoR, BiDAF, … and 14 more) on 26 benchmarks (SQuAD, … and 20 more).".
std::string ComparedText(const ScoreTable& table);

}  // namespace concur::analysis

#endif  // CONCUR_REPORT_HTML_REPORT_SUMMARY_H_
