// SPDX-License-Identifier: Apache-2.0
// A verdict on two benchmarks: the coefficients between them, and whether "tau-b is above A" is
// shown, refuted or open, looked at several times while approaches are added.
//
// Each look has an equal share of the chance of error (Bonferroni), so that the intervals of all
// looks hold together, whenever one stops. Approaches are a sample of more, so the last look takes
// its share, too. A perfect order, whose bootstrap has no width, gets the interval of Fisher's z
// around what half a discordant pair would leave, of as many approaches as there are effective
// families.
//
// Thread-safe (values, stateless). Simulations: docs/coverage.md.
#ifndef CONCUR_ANALYSIS_PLAN_VERDICT_H_
#define CONCUR_ANALYSIS_PLAN_VERDICT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "analysis/bootstrap.h"
#include "analysis/concurrence/above.h"
#include "analysis/concurrence/structure.h"
#include "analysis/score_table.h"
#include "analysis/statistics/intervals.h"

namespace concur::analysis {

struct VerdictOptions {
  double above = 0.8;
  std::optional<double> within = {};  // a half-width of tau that is enough
  double level = 0.95;                // level of the intervals of all looks together
  size_t looks = 1;
  BootstrapOptions bootstrap = {};  // its level is not used
};
// InvalidArgument, naming the option: above in [-1, 1), within and level in (0, 1), looks >= 1.
absl::Status ValidateVerdictOptions(const VerdictOptions& options);
// The level of the intervals at each look.
double LevelOfVerdict(const VerdictOptions& options);

// The effect of noise in scores, which moves tau towards 0.
struct NoiseEstimate {
  bool asked = false;              // true when there is anything to tell noise by
  std::optional<double> tau = {};  // without noise; nothing where noise is most of the spread
  std::optional<Interval> interval = {};  // interval at the level LevelOfVerdict
};

struct Verdict {
  int64_t approaches = 0;  // with both scores
  double families = 0;     // effective, of these; equal to `approaches` where none are declared
  double level = 0;        // level of the intervals
  std::optional<double> tau;
  std::optional<Interval> tau_interval;
  std::optional<double> r;
  std::optional<Interval> r_interval;
  NoiseEstimate noise_free;
  Claim claim = Claim::kOpen;
  bool precise = false;             // known to ± within, of enough families for that width
  std::vector<Influence> outliers;  // approaches without which tau is higher, strongest first
  // Roughly how many more such approaches would settle an open claim if tau stays as it is;
  // nothing where that cannot be said.
  std::optional<int64_t> more;
  std::string warning;
};

// The verdict on the two columns of `table`. "Shown" needs the interval of tau above the bound;
// "refuted" needs that and, where noise is known, the noise-free interval below it: noise alone
// refutes nothing. Nothing is claimed of fewer than kIntervalApproachesMin approaches. Errors:
// those of ValidateVerdictOptions and ComputeMatrix; InvalidArgument unless there are two columns.
absl::StatusOr<Verdict> JudgePair(const ScoreTable& table, const NoiseEstimate& noise_free,
                                  const VerdictOptions& options);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_PLAN_VERDICT_H_
