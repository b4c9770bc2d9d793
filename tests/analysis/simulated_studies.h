// SPDX-License-Identifier: Apache-2.0
// Simulated studies whose true coefficients are known, for tests and measurements of intervals.
//
// Thread-safe (stateless).
#ifndef CONCUR_TESTS_ANALYSIS_SIMULATED_STUDIES_H_
#define CONCUR_TESTS_ANALYSIS_SIMULATED_STUDIES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/bootstrap.h"
#include "analysis/concurrence/uncertainty.h"
#include "analysis/statistics/correlation.h"
#include "base/random.h"

namespace concur::analysis {

// Two benchmarks whose scores are bivariate normal with correlation `rho`, rounded to steps of
// `step` standard deviations when that is positive.
struct Population {
  double rho = 0;
  double step = 0;

  void Draw(Random& random, double& x, double& y) const;
  // The coefficient of the whole population: in closed form without ties, else of a large sample.
  double Truth(Coefficient coefficient) const;
};

// Share of nominal 95 % intervals that hold the true coefficient of the population.
struct Coverage {
  double share = 0;  // fraction of the trials whose interval holds the truth
  double width = 0;  // mean
  double none = 0;   // MeasureConcurrence: share of the trials that have no interval
};
Coverage MeasureBootstrap(const Population& population, size_t n, Coefficient coefficient,
                          BootstrapMethod method, int64_t trials, int64_t replicates);
Coverage MeasureFisher(const Population& population, size_t n, Coefficient coefficient,
                       int64_t trials);

// Approaches in families: scores on two benchmarks are normal with correlation rho, and families
// differ by the share `intraclass` of the variance on each.
struct FamilyDesign {
  size_t families = 5;
  size_t size = 4;
  double intraclass = 0.85;
  double rho = 0.8;
};
Coverage MeasureFamilies(const FamilyDesign& design, bool declared, Coefficient coefficient,
                         BootstrapMethod method, int64_t trials, int64_t replicates);

// Approaches whose true scores on two benchmarks are normal with correlation rho, seen through
// seeds that differ by `seed_sd` and a finite number of examples of right and wrong.
struct World {
  size_t approaches = 20;
  size_t seeds = 3;
  size_t examples = 300;
  double rho = 0.9;
  double approach_sd = 0.1;
  double seed_sd = 0.03;
};

ExampleRuns Draw(const World& world, Random& random);

// Rankings whose true ranks are known: scores of approaches on benchmarks, or on the documents of
// one benchmark, whose differences between equal approaches have mean 0.
struct RankDesign {
  enum class Kind {
    kNormal,     // independent, of one variance
    kDiscrete,   // shares of 100 paired questions
    kErratic,    // the first approach varies ten times as much as the others
    kSpread,     // approaches' standard deviations are log-normal with sigma 0.8
    kFactor,     // one factor of random direction, and independent noise of sd 0.3
    kCopies,     // every five benchmarks correlate 0.9
    kHalf,       // kSpread; the second half is able, by its own amount and each benchmark's scale
    kDocuments,  // per-example scores of documents of 5 to 29 questions
  };
  std::string name;
  Kind kind = Kind::kNormal;
  size_t approaches = 10;
  size_t benchmarks = 3;  // or documents
};
std::vector<RankDesign> RankDesigns();
// The share of studies in which the simultaneous rank sets leave out a true rank; equal approaches
// have all ranks that they share.
double FalseRankSets(const RankDesign& design, int64_t trials, int64_t draws);

// Verdicts on a panel that is looked at as it grows, until a claim is shown or refuted.
struct VerdictDesign {
  size_t approaches = 40;
  size_t family_size = 1;  // families differ by half of the variance
  double tau = 0.7;        // the population's
  double within = 0.15;    // a half-width to stop at
};
std::vector<VerdictDesign> VerdictDesigns();
// Shares of the studies, but for the last two.
struct VerdictCoverage {
  double shown = 0;          // "tau > .8", in studies that stop at a claim
  double refuted = 0;        // the same
  double held = 0;           // the interval where they stopped holds the truth
  double precise = 0;        // studies that stop at ± within reached it
  double precise_right = 0;  // share of these with the truth within that of tau
  double approaches = 0;     // where studies that stop at a claim did, mean
};
VerdictCoverage MeasureVerdicts(const VerdictDesign& design, int64_t trials);

}  // namespace concur::analysis

#endif  // CONCUR_TESTS_ANALYSIS_SIMULATED_STUDIES_H_
