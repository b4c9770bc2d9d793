// SPDX-License-Identifier: Apache-2.0
#include "analysis/plan/plan_estimate.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <vector>

#include "analysis/plan/plan.h"
#include "analysis/plan/plan_pool.h"
#include "analysis/score_table.h"
#include "analysis/statistics/coefficient.h"
#include "analysis/statistics/correlation.h"
#include "analysis/statistics/intervals.h"

namespace concur::analysis {
namespace {

// Sums of weights by rank (Fenwick, 1994).
class WeightsByRank {
 public:
  explicit WeightsByRank(size_t ranks) : sums_(ranks + 1, 0.0) {}
  void Clear() { std::fill(sums_.begin(), sums_.end(), 0.0); }
  void Add(size_t rank, double weight) {
    for (; rank < sums_.size(); rank += rank & (~rank + 1)) {
      sums_[rank] += weight;
    }
  }
  // Sum of the weights of ranks from 1 to `rank`.
  double UpTo(size_t rank) const {
    double sum = 0;
    for (; rank > 0; rank -= rank & (~rank + 1)) {
      sum += sums_[rank];
    }
    return sum;
  }

 private:
  std::vector<double> sums_;
};

// Approaches with both scores of a pair, in the order of the first benchmark's ranks.
struct PairRows {
  std::vector<size_t> approaches;
  std::vector<double> probabilities;
  std::vector<double> weights;
  std::vector<int32_t> a;
  std::vector<int32_t> b;
  std::vector<double> scores_a;
  std::vector<double> scores_b;
  double population = 0;  // all approaches
  double inverses = 0;    // over these, of 1 / probability - 1 (of 1 / probability for a sample)
};

double BothProbability(const CellSample& sample, size_t approach, size_t a, size_t b) {
  const double of_a = sample.probability.at(approach, a);
  const double of_b = sample.probability.at(approach, b);
  return sample.independent ? of_a * of_b : std::min(of_a, of_b);
}

void CollectRows(const RankedTable& table, const CellSample& sample, size_t a, size_t b,
                 bool approaches_are_sample, PairRows& rows) {
  rows = PairRows();
  rows.population = static_cast<double>(table.approaches());
  for (size_t i = 0; i < table.approaches(); ++i) {
    const double both = BothProbability(sample, i, a, b);
    rows.inverses += 1 / both - (approaches_are_sample ? 0 : 1);
  }
  for (const size_t i : table.order(a)) {
    if (!sample.Has(i, a) || !sample.Has(i, b) || table.ranks(b)[i] == 0) {
      continue;
    }
    const double both = BothProbability(sample, i, a, b);
    rows.approaches.push_back(i);
    rows.probabilities.push_back(both);
    rows.weights.push_back(1 / both);
    rows.a.push_back(table.ranks(a)[i]);
    rows.b.push_back(table.ranks(b)[i]);
    rows.scores_a.push_back(table.scores(a)[i]);
    rows.scores_b.push_back(table.scores(b)[i]);
  }
}

// For each row, the weight of rows that are concordant with it less that of discordant ones, and of
// those not tied with it in a, and in b.
struct RowSums {
  std::vector<double> difference;
  std::vector<double> untied_a;
  std::vector<double> untied_b;
};

// One direction: rows before row k in a (with lesser ranks, or greater ones where `ends` counts
// down), by their ranks in b.
void AddDirection(const PairRows& rows, bool upwards, WeightsByRank& by_rank, RowSums& sums) {
  by_rank.Clear();
  const size_t n = rows.a.size();
  double total = 0;
  for (size_t done = 0; done < n;) {
    const auto at = [&](size_t k) { return upwards ? k : n - 1 - k; };
    size_t end = done;
    while (end < n && rows.a[at(end)] == rows.a[at(done)]) {
      ++end;
    }
    for (size_t k = done; k < end; ++k) {
      const size_t row = at(k);
      const auto rank = static_cast<size_t>(rows.b[row]);
      const double below = by_rank.UpTo(rank - 1);
      const double above = total - by_rank.UpTo(rank);
      sums.difference[row] += upwards ? below - above : above - below;
      sums.untied_a[row] += total;
    }
    for (size_t k = done; k < end; ++k) {
      by_rank.Add(static_cast<size_t>(rows.b[at(k)]), rows.weights[at(k)]);
      total += rows.weights[at(k)];
    }
    done = end;
  }
  // After the last row, all weights are there: those of another rank in b.
  if (upwards) {
    for (size_t row = 0; row < n; ++row) {
      const auto rank = static_cast<size_t>(rows.b[row]);
      sums.untied_b[row] = total - (by_rank.UpTo(rank) - by_rank.UpTo(rank - 1));
    }
  }
}

// Student's quantiles, kept by whole degrees of freedom.
class StudentQuantiles {
 public:
  explicit StudentQuantiles(double level) : share_((1 + level) / 2) {}
  double At(int64_t degrees) {
    const auto [found, is_new] = quantiles_.try_emplace(degrees, 0.0);
    if (is_new) {
      found->second = boost::math::quantile(
          boost::math::students_t_distribution<double>(static_cast<double>(degrees)), share_);
    }
    return found->second;
  }

 private:
  double share_;
  std::map<int64_t, double> quantiles_;
};

// A coefficient of weighted rows, and its derivative with respect to the weight of each.
struct WeightedValue {
  double value = 0;
  std::vector<double> derivatives;
};

// Tau-b. REQUIRES, as WeightedMoment: neither list is constant.
WeightedValue WeightedTau(const PairRows& rows, size_t ranks) {
  const size_t n = rows.approaches.size();
  RowSums sums{std::vector<double>(n, 0.0), std::vector<double>(n, 0.0),
               std::vector<double>(n, 0.0)};
  WeightsByRank by_rank(ranks);
  AddDirection(rows, /*upwards=*/true, by_rank, sums);
  AddDirection(rows, /*upwards=*/false, by_rank, sums);
  double difference = 0;
  double untied_a = 0;
  double untied_b = 0;
  for (size_t k = 0; k < n; ++k) {
    difference += rows.weights[k] * sums.difference[k];
    untied_a += rows.weights[k] * sums.untied_a[k];
    untied_b += rows.weights[k] * sums.untied_b[k];
  }
  const double scale = std::sqrt(untied_a * untied_b);
  WeightedValue tau{std::clamp(difference / scale, -1.0, 1.0), std::vector<double>(n)};
  for (size_t k = 0; k < n; ++k) {
    tau.derivatives[k] =
        2 * (sums.difference[k] / scale -
             tau.value * (sums.untied_a[k] / untied_a + sums.untied_b[k] / untied_b) / 2);
  }
  return tau;
}

// For each row, the sum of the terms of lesser ranks and half of those of its own.
std::vector<double> SumsBelow(const std::vector<int32_t>& of_rows, size_t ranks,
                              const std::vector<double>& terms) {
  std::vector<double> up_to(ranks + 1, 0.0);
  for (size_t k = 0; k < of_rows.size(); ++k) {
    up_to[static_cast<size_t>(of_rows[k])] += terms[k];
  }
  std::partial_sum(up_to.begin(), up_to.end(), up_to.begin());
  std::vector<double> sums;
  sums.reserve(of_rows.size());
  for (const int32_t rank : of_rows) {
    const auto own = static_cast<size_t>(rank);
    sums.push_back((up_to[own - 1] + up_to[own]) / 2);
  }
  return sums;
}

// Less their weighted mean.
void CenterWeighted(const std::vector<double>& weights, std::vector<double>& values) {
  double sum = 0;
  double total = 0;
  for (size_t k = 0; k < values.size(); ++k) {
    sum += weights[k] * values[k];
    total += weights[k];
  }
  for (double& value : values) {
    value -= sum / total;
  }
}

// Pearson's r of the scores, or, for Spearman's rho, of weighted average ranks: these depend on the
// weights, too.
WeightedValue WeightedMoment(Coefficient coefficient, const PairRows& rows, size_t ranks) {
  const bool of_ranks = coefficient == Coefficient::kSpearman;
  const size_t n = rows.approaches.size();
  std::vector<double> a =
      of_ranks ? SumsBelow(rows.a, ranks, rows.weights) : ScaledDeviations(rows.scores_a);
  std::vector<double> b =
      of_ranks ? SumsBelow(rows.b, ranks, rows.weights) : ScaledDeviations(rows.scores_b);
  CenterWeighted(rows.weights, a);
  CenterWeighted(rows.weights, b);
  double aa = 0;
  double bb = 0;
  double ab = 0;
  std::vector<double> terms_a(n);
  std::vector<double> terms_b(n);
  for (size_t k = 0; k < n; ++k) {
    terms_a[k] = rows.weights[k] * a[k];
    terms_b[k] = rows.weights[k] * b[k];
    aa += terms_a[k] * a[k];
    bb += terms_b[k] * b[k];
    ab += terms_a[k] * b[k];
  }
  const double scale = std::sqrt(aa) * std::sqrt(bb);
  WeightedValue moment{std::clamp(ab / scale, -1.0, 1.0), std::vector<double>(n)};
  const std::vector<double> none(of_ranks ? 0 : n, 0.0);
  // More weight of a row raises the ranks above it. Terms sum to 0, so that those above are those
  // below with the other sign.
  const std::vector<double> a_below_a = of_ranks ? SumsBelow(rows.a, ranks, terms_a) : none;
  const std::vector<double> b_below_a = of_ranks ? SumsBelow(rows.a, ranks, terms_b) : none;
  const std::vector<double> a_below_b = of_ranks ? SumsBelow(rows.b, ranks, terms_a) : none;
  const std::vector<double> b_below_b = of_ranks ? SumsBelow(rows.b, ranks, terms_b) : none;
  for (size_t k = 0; k < n; ++k) {
    const double of_ab = a[k] * b[k] - b_below_a[k] - a_below_b[k];
    const double of_aa = a[k] * a[k] - 2 * a_below_a[k];
    const double of_bb = b[k] * b[k] - 2 * b_below_b[k];
    moment.derivatives[k] = of_ab / scale - moment.value * (of_aa / aa + of_bb / bb) / 2;
  }
  return moment;
}

// The variance on Fisher's scale of n approaches, for normal scores.
double FisherVariance(Coefficient coefficient, double value, double n) {
  switch (coefficient) {
    case Coefficient::kPearson:
      return 1 / (n - 3);
    case Coefficient::kSpearman:
      return (1 + value * value / 2) / (n - 3);
    default:
      return 0.437 / std::max(n - 4, 1.0);
  }
}

// Amount by which each approach moves the coefficient, as far as it might have been missing; 0
// without the pair.
using Influences = std::vector<double>;

// The coefficient of one pair; `influences`, of as many as there are approaches, is filled.
void EstimatePair(const PairRows& rows, size_t ranks, const PairEstimateOptions& options,
                  StudentQuantiles& quantiles, Influences& influences, PairEstimate& pair) {
  const size_t n = rows.approaches.size();
  pair.n = static_cast<int64_t>(n);
  pair.interval = {-1, 1};
  constexpr size_t kApproachesMin = 3;
  if (n < kApproachesMin) {
    return;
  }
  // Rows are in the order of the first list's ranks.
  const auto [least, most_b] = std::minmax_element(rows.b.begin(), rows.b.end());
  if (rows.a.front() == rows.a.back() || *least == *most_b) {
    return;
  }
  const bool is_tau = options.coefficient == Coefficient::kKendall;
  const WeightedValue weighted =
      is_tau ? WeightedTau(rows, ranks) : WeightedMoment(options.coefficient, rows, ranks);
  pair.defined = true;
  pair.value = weighted.value;
  // Contribution of an approach: its weight times the derivative.
  const double correction = static_cast<double>(n) / static_cast<double>(n - 1);
  double squares = 0;
  double fourths = 0;
  double weights = 0;
  double of_units = 0;
  for (size_t k = 0; k < n; ++k) {
    const double influence = rows.weights[k] * weighted.derivatives[k];
    const double missing = options.approaches_are_sample ? 1 : 1 - rows.probabilities[k];
    const double square = missing * correction * influence * influence;
    influences[rows.approaches[k]] = std::copysign(std::sqrt(square), influence);
    squares += square;
    fourths += square * square;
    weights += rows.weights[k];
    of_units += correction * influence * influence / rows.weights[k];
  }
  pair.unit_variance = of_units * weights;
  // The sample may lack all of those that are rarely drawn, and with them their part of the
  // variance: it is at least what approaches like the others, drawn as rarely, would make it.
  pair.variance = std::max(squares, of_units * rows.inverses / rows.population);
  const bool is_whole = rows.inverses == 0;
  pair.pooled = pair.value;
  if (is_whole) {
    pair.interval = {pair.value, pair.value};
    return;
  }
  constexpr size_t kIntervalMin = 5;
  if (n < kIntervalMin) {
    return;
  }
  // On Fisher's scale. A perfect coefficient counts as if half a pair of approaches were
  // discordant; r and rho may be nearer to 1 than a tau of so many, and are left there.
  const auto size = static_cast<double>(n);
  constexpr double kNothing = 1e-9;
  constexpr double kPerfect = 1 - 1e-12;
  const bool is_perfect =
      is_tau ? pair.variance <= kNothing : std::abs(pair.value) >= kPerfect || pair.variance == 0;
  const double most = is_tau || is_perfect ? 1 - 2 / (size * (size - 1)) : kPerfect;
  const double inside = std::clamp(pair.value, -most, most);
  const double error = is_perfect ? std::sqrt(FisherVariance(options.coefficient, inside, size))
                                  : std::sqrt(pair.variance) / (1 - inside * inside);
  // Satterthwaite's degrees of freedom: few approaches may bear most of the variance.
  constexpr double kNormalKurtosis = 3;
  const double effective =
      !is_perfect && squares > 0 ? kNormalKurtosis * squares * squares / fourths : size - 2;
  const double degrees = std::clamp(std::floor(effective), 1.0, size - 2);
  const double reach = quantiles.At(static_cast<int64_t>(degrees)) * error;
  const double middle = std::atanh(inside);
  pair.interval = {std::tanh(middle - reach), std::tanh(middle + reach)};
  pair.interval.low = std::min(pair.interval.low, pair.value);
  pair.interval.high = std::max(pair.interval.high, pair.value);
}

}  // namespace

RankedTable::RankedTable(const ScoreTable& oriented) : approaches_(oriented.approaches().size()) {
  for (size_t b = 0; b < oriented.benchmarks().size(); ++b) {
    std::vector<size_t>& order = orders_.emplace_back();
    for (size_t i = 0; i < approaches_; ++i) {
      if (oriented.cell(i, b).state == CellState::kValue) {
        order.push_back(i);
      }
    }
    std::stable_sort(order.begin(), order.end(), [&](size_t p, size_t q) {
      return oriented.cell(p, b).value < oriented.cell(q, b).value;
    });
    std::vector<int32_t>& ranks = ranks_.emplace_back(approaches_, 0);
    std::vector<double>& scores = scores_.emplace_back(approaches_, 0.0);
    int32_t rank = 0;
    for (size_t k = 0; k < order.size(); ++k) {
      if (k == 0 || oriented.cell(order[k], b).value != oriented.cell(order[k - 1], b).value) {
        ++rank;
      }
      ranks[order[k]] = rank;
      scores[order[k]] = oriented.cell(order[k], b).value;
    }
  }
}

std::vector<PairEstimate> EstimatePairs(const RankedTable& table, const CellSample& sample,
                                        const PairEstimateOptions& options) {
  std::vector<PairEstimate> pairs;
  std::vector<Influences> influences;
  StudentQuantiles quantiles(options.level);
  PairRows rows;
  for (size_t a = 0; a < table.benchmarks(); ++a) {
    for (size_t b = a + 1; b < table.benchmarks(); ++b) {
      PairEstimate& pair = pairs.emplace_back();
      pair.a = a;
      pair.b = b;
      influences.emplace_back(table.approaches(), 0.0);
      CollectRows(table, sample, a, b, options.approaches_are_sample, rows);
      EstimatePair(rows, table.approaches(), options, quantiles, influences.back(), pair);
    }
  }
  if (options.pool) {
    PoolPairs(table.benchmarks(), influences, pairs);
  }
  return pairs;
}

}  // namespace concur::analysis
