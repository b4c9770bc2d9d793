// SPDX-License-Identifier: Apache-2.0
// How the error of coefficients falls with what was spent, as an SVG document: planned cells,
// random complete rows and random cells of a replay.
//
// Thread-safe (stateless).
#ifndef CONCUR_ANALYSIS_REPLAY_FIGURE_H_
#define CONCUR_ANALYSIS_REPLAY_FIGURE_H_

#include <string>
#include <vector>

#include "analysis/coefficient.h"
#include "analysis/plan_replay.h"

namespace concur::analysis {

// The coefficient is one that has plans.
std::string ReplaySvg(const std::vector<ReplayPoint>& points, Coefficient coefficient,
                      const std::string& title);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_REPLAY_FIGURE_H_
