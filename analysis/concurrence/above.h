// SPDX-License-Identifier: Apache-2.0
// Claims that a coefficient exceeds a threshold, such as tau > .8: shown, refuted or open, by
// one-sided bounds (a non-inferiority test: Wellek, Testing Statistical Hypotheses of Equivalence
// and Noninferiority, 2010, ch. 2).
//
// Pure functions. Measured rates of false claims: docs/coverage.md.
#ifndef CONCUR_ANALYSIS_CONCURRENCE_ABOVE_H_
#define CONCUR_ANALYSIS_CONCURRENCE_ABOVE_H_

#include <optional>

#include "absl/strings/string_view.h"
#include "analysis/concurrence/matrix.h"

namespace concur::analysis {

enum class Claim { kOpen, kShown, kRefuted };
absl::string_view ClaimName(Claim claim);  // "open", "shown", "refuted"

struct AboveClaim {
  // Shown when the lower bound is above the threshold, refuted when the upper one is not; always
  // open where the pair has no interval, or one without width.
  Claim claim = Claim::kOpen;
  // About the least coefficient that would be shown with as many approaches (unrelated ones, where
  // families are declared) of normal scores: tanh(atanh(threshold) + z s), as FisherInterval has s,
  // for tau-b rounded up to a value that it takes without ties. In simulated tables of 8 to 40
  // approaches tau was first shown within .08 of it and, with 20 or more, mostly from .05 above it
  // on. Nothing where only a perfect order, or one with a single pair turned round, would reach it:
  // their intervals show little; and for weighted Kendall, top-k and
  // rbo, and where benchmarks have ties_within.
  std::optional<double> least;
};

// Level of the two-sided interval whose ends are one-sided bounds of `level`. REQUIRES: level > .5.
inline double LevelOfBounds(double level) { return 2 * level - 1; }

// The ends of the pair's interval are the bounds: `matrix` was computed at LevelOfBounds.
// REQUIRES: -1 < threshold < 1.
AboveClaim JudgeAbove(const ConcurrenceMatrix& matrix, const MatrixPair& pair, double threshold);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_CONCURRENCE_ABOVE_H_
