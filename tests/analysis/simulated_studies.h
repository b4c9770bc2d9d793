// SPDX-License-Identifier: Apache-2.0
// Simulated studies whose true coefficients are known, for tests and measurements of intervals.
//
// Thread-safe (stateless).
#ifndef CONCUR_TESTS_ANALYSIS_SIMULATED_STUDIES_H_
#define CONCUR_TESTS_ANALYSIS_SIMULATED_STUDIES_H_

#include <cstddef>
#include <cstdint>

#include "analysis/bootstrap.h"
#include "analysis/correlation.h"
#include "analysis/uncertainty.h"
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

// How often nominal 95 % intervals hold the true coefficient of the population.
struct Coverage {
  double share = 0;  // of the trials whose interval holds the truth
  double width = 0;  // mean
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

}  // namespace concur::analysis

#endif  // CONCUR_TESTS_ANALYSIS_SIMULATED_STUDIES_H_
