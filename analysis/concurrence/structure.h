// SPDX-License-Identifier: Apache-2.0
// Structure behind a coefficient: the approach that moves it most, the approaches that swap
// places, and benchmarks that cannot tell approaches apart.
//
// Thread-safe (stateless).
#ifndef CONCUR_ANALYSIS_CONCURRENCE_STRUCTURE_H_
#define CONCUR_ANALYSIS_CONCURRENCE_STRUCTURE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/score_table.h"
#include "analysis/statistics/correlation.h"

namespace concur::analysis {

// The coefficient of a pair of benchmarks when one approach is left out.
struct Influence {
  size_t approach = 0;
  std::optional<double> without;  // nothing: undefined without it
  double change = 0;              // value with it less value without; 0 when undefined
};

// For each pair of benchmarks, in the order of ConcurrenceMatrix::pairs, the approaches with both
// scores whose absence changes the coefficient most, at most `count` of them, by falling absolute
// change; those without which it is undefined come first; ties in the table's order.
std::vector<std::vector<Influence>> LeaveOneOut(const ScoreTable& table, Coefficient coefficient,
                                                size_t count, size_t top = kTopDefault);

// Two approaches that two benchmarks put in opposite order.
struct Swap {
  size_t first = 0;     // better on benchmark a
  size_t second = 0;    // better on benchmark b
  double margin_a = 0;  // by how much, > 0
  double margin_b = 0;
};

// All swaps of benchmarks a and b, by more than their ties_within: those with the largest lesser
// margin (each divided by the benchmark's standard deviation) first, so that what noise cannot
// explain leads; ties in the table's order.
std::vector<Swap> FindSwaps(const ScoreTable& table, size_t a, size_t b);

// A benchmark whose scores crowd at an end of the scale, or are all equal.
struct BenchmarkFlag {
  enum class Kind { kFloor, kCeiling, kConstant };
  size_t benchmark = 0;
  Kind kind = Kind::kConstant;
  int64_t approaches = 0;  // number of approaches that score there
  double end = 0;          // end of the scale: its worst score (floor) or its best one (ceiling)
};
// "floor", "ceiling", "constant".
std::string BenchmarkFlagName(BenchmarkFlag::Kind kind);

// Flags a benchmark when at least a quarter of its scores, and at least two, lie within 1 % of its
// scale from the best end (ceiling) or the worst end (floor), or when all of two or more are equal
// (constant). A benchmark whose scale has no limits has no ends.
std::vector<BenchmarkFlag> FlagBenchmarks(const ScoreTable& table);

// A sentence for each benchmark that has scores beyond the scale that is stated for it: the scale
// or the scores are wrong.
std::vector<std::string> BeyondScale(const ScoreTable& table);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_CONCURRENCE_STRUCTURE_H_
