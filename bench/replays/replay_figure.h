// SPDX-License-Identifier: Apache-2.0
// Plot of the error of coefficients against what was spent, as an SVG document: planned cells,
// random complete rows and random cells of a replay, and where runs with a rule would have stopped.
//
// Thread-safe (stateless).
#ifndef CONCUR_BENCH_REPLAYS_REPLAY_FIGURE_H_
#define CONCUR_BENCH_REPLAYS_REPLAY_FIGURE_H_

#include <optional>
#include <string>
#include <vector>

#include "analysis/plan/plan_until.h"
#include "analysis/statistics/coefficient.h"
#include "bench/replays/plan_replay.h"
#include "bench/replays/until_replay.h"

namespace concur::analysis {

// Replays of runs that stop by a rule.
struct ReplayedStop {
  UntilRule rule;
  UntilReplay means;
};

// The coefficient is one that has plans, and that of the rule.
std::string ReplaySvg(const std::vector<ReplayPoint>& points, Coefficient coefficient,
                      const std::string& title,
                      const std::optional<ReplayedStop>& stop = std::nullopt);

}  // namespace concur::analysis

#endif  // CONCUR_BENCH_REPLAYS_REPLAY_FIGURE_H_
