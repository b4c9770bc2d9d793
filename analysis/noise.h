// SPDX-License-Identifier: Apache-2.0
// Part of the spread of observed scores that is noise of test examples and seeds, and what a
// coefficient would be without it.
//
// Thread-safe (stateless, values). Scores are fractions; variances are theirs squared. Method,
// sources and measured bias and coverage: docs/statistics.md.
#ifndef CONCUR_ANALYSIS_NOISE_H_
#define CONCUR_ANALYSIS_NOISE_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "analysis/example_runs.h"
#include "analysis/score_table.h"
#include "analysis/statistics/correlation.h"
#include "analysis/statistics/intervals.h"

namespace concur::analysis {

// The noise in one benchmark's cells: variance components of approaches × examples × runs (Brennan,
// Generalizability Theory, 2001). What an example or a run does to all approaches alike cancels in
// every coefficient and is no noise.
struct BenchmarkNoise {
  // By approach; 0 where it has no runs.
  std::vector<double> means;
  std::vector<bool> present;
  std::vector<double> noise;  // variance of the mean: examples and seeds together
  bool known = false;         // several examples, or several runs of some approach
  // The share of the variance between the means of an approach's runs that more examples would not
  // remove: of seeds alone. 1 with one example.
  double seed_share = 1;
  // Sums and deviations that two benchmarks need for the noise that they have in common.
  std::vector<std::vector<double>> example_sums;  // by approach and cluster, over examples
  std::vector<std::vector<double>> run_deviations;
};
// `clusters` of the benchmark's examples. REQUIRES: every run as long as `examples`.
BenchmarkNoise EstimateNoise(const BenchmarkRuns& runs, const ExampleClusters& clusters);

// The share of the variance of observed scores that is not noise, with approaches weighted (as
// draws); at most 1, negative where noise looks larger than the spread; nothing without spread.
std::optional<double> Reliability(const BenchmarkNoise& benchmark,
                                  absl::Span<const int32_t> weights);

// The correlation that the noise of two benchmarks scored on the same examples, or with the same
// trained systems, has brought into their scores, as covariance over standard deviations; 0 where
// they share neither.
double SharedNoise(const BenchmarkRuns& runs_a, const BenchmarkNoise& a,
                   const BenchmarkRuns& runs_b, const BenchmarkNoise& b);

// A coefficient without noise: r' = (r - shared) / sqrt(reliability_a reliability_b) (Spearman,
// American Journal of Psychology 1904), within [-1, 1]. Tau and rho are taken to r and back as
// those of a bivariate normal: r = sin(pi tau / 2), r = 2 sin(pi rho / 6) (Kruskal, JASA 1958).
// Supported for those three; others come back unchanged. REQUIRES: product of reliabilities > 0.
double WithoutNoise(Coefficient coefficient, double value, double shared,
                    double reliability_product);
bool HasNoiseCorrection(Coefficient coefficient);
// Below this reliability, the correction multiplies its own error too much.
inline constexpr double kReliabilityMin = 0.3;

// As Reliability, of a column of a table over the approaches that also have a score in `other`: the
// noise of a cell of several seeds is its variance over seeds divided by their number, averaged
// over such cells. Noise of test examples is not seen. Nothing without such cells or without
// spread.
std::optional<double> SeedReliability(const ScoreTable& table, size_t column, size_t other);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_NOISE_H_
