// SPDX-License-Identifier: Apache-2.0
// Bootstrap intervals of every coefficient of a matrix, resampling approaches.
//
// Thread-safe (stateless). The same table, options and seed give the same bits, however the work
// is spread over threads. Formulas, sources and measured coverage: docs/statistics.md.
#ifndef CONCUR_ANALYSIS_BOOTSTRAP_H_
#define CONCUR_ANALYSIS_BOOTSTRAP_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "analysis/families.h"
#include "analysis/score_table.h"
#include "analysis/statistics/correlation.h"
#include "analysis/statistics/intervals.h"

namespace concur::analysis {

// Calls body(0), …, body(count - 1), each once, in any order and on any thread, and returns when
// all have returned.
using ParallelFor = std::function<void(size_t count, const std::function<void(size_t)>& body)>;
// On the caller's thread.
void SequentialFor(size_t count, const std::function<void(size_t)>& body);

enum class BootstrapMethod { kPercentile, kBca };
absl::StatusOr<BootstrapMethod> ParseBootstrapMethod(absl::string_view name);  // percentile, bca

struct BootstrapOptions {
  double level = 0.95;
  int64_t replicates = 10'000;
  uint64_t seed = 1;
  size_t top = kTopDefault;  // the k of the top-k overlap
  BootstrapMethod method = BootstrapMethod::kBca;
  // The tag whose values are families, as FamiliesOf takes it. Declared families are drawn whole,
  // the jackknife leaves them out whole, and the level is ExpandedLevel of their number
  // (RuleOfPair).
  std::string families = {};
  ParallelFor parallel_for = SequentialFor;
};

// `method`, but percentiles for shares of the top, whose BCa intervals held the truth in 86 to 96 %
// of simulations, and percentiles in 93 to 100 (docs/coverage.md).
BootstrapMethod MethodOf(Coefficient coefficient, BootstrapMethod method);
// E.g. "BCa bootstrap over approaches, 10000 replicates, seed 1".
std::string BootstrapText(const BootstrapOptions& options, const Families& families);
// InvalidArgument, naming the option: level in (0, 1), replicates in [100, 10'000'000].
absl::Status ValidateBootstrapOptions(const BootstrapOptions& options);

struct BootstrapInterval {
  std::optional<Interval> interval;  // none when the coefficient is undefined in most replicates
  int64_t undefined_replicates = 0;  // left out: fewer than two approaches, or all equal
  std::string warning;               // why the interval deserves less trust; mostly ""
};

// Units that a replicate draws and the jackknife leaves out.
struct DrawUnits {
  std::vector<std::vector<size_t>> families;  // as ForEachReplicate takes them
  std::vector<std::vector<size_t>> units;     // families, or every approach alone
};
// InvalidArgument for a tag that no approach carries, more than 30,000 approaches, and families so
// uneven that a replicate could be larger.
absl::StatusOr<DrawUnits> DrawUnitsOf(const ScoreTable& table, const BootstrapOptions& options);

// The way from replicates of a pair of columns to an interval.
struct IntervalRule {
  double level = 0;        // level of the percentiles; 0: too few families for any
  double expanded_by = 0;  // the units for which `level` is expanded; 0: none
  BootstrapMethod method = BootstrapMethod::kBca;
};
// With fewer (effective) families the jackknife says too little about skewness for BCa, which then
// held the truth in 92 to 97 % of simulations; percentiles at the expanded level held it in 96
// to 99.
inline constexpr double kBcaFamiliesMin = 10;
inline constexpr char kTooFewFamilies[] = "fewer than 3 families: no interval";
// Warns of an interval over too few units to hold the truth as often as it says (docs/coverage.md);
// "" of enough. `effective` families count where they are declared.
std::string FewUnitsWarning(bool are_families, double effective, int64_t approaches);
// The rule for the families that have an approach with both scores: those that only other columns
// know tell nothing of this pair.
IntervalRule RuleOfPair(const ScoreTable& table, const DrawUnits& draws,
                        const BootstrapOptions& options, Coefficient coefficient, size_t a,
                        size_t b);

// Intervals of all pairs, in the order of ConcurrenceMatrix::pairs. A replicate draws as many
// approaches as the table has, with replacement, the same ones for all pairs; a pair then uses
// those that have both scores. Errors: those of ValidateBootstrapOptions and DrawUnitsOf.
absl::StatusOr<std::vector<BootstrapInterval>> BootstrapPairs(const ScoreTable& table,
                                                              Coefficient coefficient,
                                                              const BootstrapOptions& options);

// The interval from replicates of one statistic. `estimate` is its value on the whole sample,
// `jackknife` its values with one unit left out (both used by BCa only; NaN: undefined, left out).
// Drops undefined `replicates`. BCa falls back to percentile, with a warning, where it is
// undefined.
BootstrapInterval IntervalFromReplicates(std::vector<double>& replicates, double estimate,
                                         absl::Span<const double> jackknife, double level,
                                         BootstrapMethod method);

// Statistics of the weights of approaches (how often each was drawn): writes all of them to `out`,
// NaN where undefined. Each thread makes one of its own.
using WeightedStatistics = std::function<void(absl::Span<const int32_t> weights, double* out)>;

struct BootstrappedStatistic {
  double estimate = 0;  // NaN: undefined, and has no interval
  BootstrapInterval interval;
  std::optional<double> p_value;  // SignPValue, of 0; where there is an interval
};
// Intervals of any statistics of the approaches, one for each rule, by the draws of BootstrapPairs:
// what replicates of several statistics have in common cancels. InvalidArgument for more replicates
// of all statistics together than can be kept. REQUIRES: approaches > 0.
absl::StatusOr<std::vector<BootstrappedStatistic>> BootstrapStatistics(
    size_t approaches, const DrawUnits& draws, absl::Span<const IntervalRule> rules,
    const BootstrapOptions& options, const std::function<WeightedStatistics()>& make);

// Two-sided p-value of no difference from replicates of one: 1 less the largest level whose
// interval leaves 0 out, so that the two never disagree. By percentiles it is twice the smaller
// share on one side of 0, which counts on both; the observation counts as a replicate on either
// (Davison and Hinkley, 1997, § 4.4). BCa, and levels expanded for `expanded_by` units, move it as
// they move the tails. `replicates` are those that IntervalFromReplicates has left.
double SignPValue(absl::Span<const double> replicates, double estimate,
                  absl::Span<const double> jackknife, BootstrapMethod method, double expanded_by);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_BOOTSTRAP_H_
