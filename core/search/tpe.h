// SPDX-License-Identifier: Apache-2.0
// Chooses the next setting of a search by the tree-structured Parzen estimator (Bergstra et al.,
// 2011, "Algorithms for Hyper-Parameter Optimization"), with one kernel over all parameters
// (Falkner et al., 2018; Watanabe, 2023, "Tree-Structured Parzen Estimator: Understanding Its
// Algorithm Components").
//
// The finished trials are split into the best tenth and the others. Each part has a density: a
// mixture of one kernel a trial and a prior over the whole space, all of equal weight. The kernel
// is, of a range, a normal distribution cut at its ends, on the logarithm of a log_uniform one; of
// integers, the same over their steps; of a choice, the trial's value with a part for all others.
// Candidates are drawn from the density of the best. The next setting is the one with the largest
// ratio of the densities, which has the largest expected improvement.
//
// Failed trials are among the others. So are trials without a result yet (the constant liar), which
// keeps settings that are chosen at one time apart.
//
// Pure; the same arguments give the same setting.
#ifndef CONCUR_CORE_SEARCH_TPE_H_
#define CONCUR_CORE_SEARCH_TPE_H_

#include <optional>

#include "absl/types/span.h"
#include "base/metric_meaning.h"
#include "base/random.h"
#include "core/sweep/params.h"

namespace concur {

struct Trial {
  enum class State {
    kPending,  // no result yet
    kScored,
    kFailed,
  };
  Setting setting;
  State state = State::kPending;
  double score = 0;  // kScored only; finite
};

// A setting of the space; parameters outside it have their defaults. A setting that was tried is
// chosen only when no candidate is new. nullopt while fewer than two trials have a score: then
// nothing tells settings apart. Trials with a value outside the space are passed over.
// REQUIRES: ValidateHyperparameters(hyperparameters) is OK, and its space is not empty.
std::optional<Setting> ChooseByTpe(const Hyperparameters& hyperparameters, Goal goal,
                                   absl::Span<const Trial> trials, Random& random);

}  // namespace concur

#endif  // CONCUR_CORE_SEARCH_TPE_H_
