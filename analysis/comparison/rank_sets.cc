// SPDX-License-Identifier: Apache-2.0
#include "analysis/comparison/rank_sets.h"

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "analysis/statistics/linkage.h"
#include "base/random.h"
#include "base/status_macros.h"
#include "base/suggest.h"

namespace concur::analysis {
namespace {

constexpr size_t kSampleMin = 3;           // benchmarks
constexpr size_t kSampleMax = 2000;        // benchmarks: clustering takes their cube
constexpr size_t kClusteredMin = 5;        // approaches: of fewer, chance correlates as much
constexpr double kCopies = 0.5;            // least mean correlation of residuals within a unit
constexpr size_t kSlopesMin = 5;           // approaches, for slopes of benchmarks
constexpr size_t kAgreeingMin = 6;         // units: 2 / 2^6 = 1 / 32
constexpr double kDegreesMin = 0.9;        // fewer show nothing; three units of equal size have 2
constexpr double kOwnDegreesMin = 4.9;     // pairs' own tests need it: six equal-sized units have 5
constexpr double kOwnShare = 0.2;          // share of the error level for pairs' own tests
constexpr size_t kDrawsAtOnce = 256;       // draws of one approach: 2 KiB
constexpr double kNoiseMax = 100'000'000;  // draws of all approaches

std::vector<double> AveragesOf(const ScoreTable& table, const BenchmarkGroup& group,
                               const std::vector<size_t>& approaches) {
  std::vector<double> averages;
  for (const size_t approach : approaches) {
    double sum = 0;
    for (const size_t benchmark : group.benchmarks) {
      sum += table.cell(approach, benchmark).value;
    }
    averages.push_back(sum / static_cast<double>(group.benchmarks.size()));
  }
  return averages;
}

// A mean of units with these shares, which sum to 1. Squared deviations from it, times the squared
// shares and `scale`, sum to the variance of the mean where the units have one variance; `degrees`
// are Satterthwaite's (Biometrics Bulletin 1946): one less than there are units of equal shares.
struct Units {
  double scale = 0;
  double degrees = 0;
};

Units UnitsOf(const std::vector<double>& shares) {
  double squares = 0;
  double fourths = 0;
  for (const double share : shares) {
    squares += share * share;
    fourths += share * share * share * share;
  }
  double kept = 0;
  for (const double share : shares) {
    kept += share * share * (1 - 2 * share + squares);
  }
  return shares.size() < 2 ? Units() : Units{squares / kept, squares * squares / fourths - 1};
}

using Rows = std::vector<std::vector<double>>;  // by benchmark, then approach
using Clusters = std::vector<std::vector<size_t>>;

double Product(const std::vector<double>& x, const std::vector<double>& y) {
  return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
}

void Centre(std::vector<double>& row) {
  const double mean =
      std::accumulate(row.begin(), row.end(), 0.0) / static_cast<double>(row.size());
  for (double& value : row) {
    value -= mean;
  }
}

// The benchmarks of the first group as units: those of one other group, which does not hold them
// all, together. Nothing where there is no such group.
std::optional<Clusters> DeclaredUnits(absl::Span<const BenchmarkGroup> groups) {
  const std::vector<size_t>& all = groups[0].benchmarks;
  std::map<size_t, std::vector<size_t>> units;  // by group, then those of none by benchmark
  for (size_t b = 0; b < all.size(); ++b) {
    const auto declared =
        std::find_if(groups.begin() + 1, groups.end(), [&](const BenchmarkGroup& group) {
          const std::vector<size_t>& own = group.benchmarks;
          return std::binary_search(own.begin(), own.end(), all[b]) &&
                 !std::includes(own.begin(), own.end(), all.begin(), all.end());
        });
    const auto g = static_cast<size_t>(declared - groups.begin());
    units[declared == groups.end() ? g + b : g].push_back(b);
  }
  if (units.begin()->first >= groups.size()) {
    return std::nullopt;
  }
  Clusters list;
  for (auto& [unit, members] : units) {
    list.push_back(std::move(members));
  }
  return list;
}

// By the correlation of residuals in units of each approach's own spread, so that one erratic
// approach does not make all benchmarks look alike.
Clusters UnitsByCorrelation(Rows residuals) {
  const size_t count = residuals.size();
  std::vector<double> squares(residuals[0].size(), 0.0);
  for (const std::vector<double>& row : residuals) {
    for (size_t i = 0; i < row.size(); ++i) {
      squares[i] += row[i] * row[i];
    }
  }
  std::vector<double> norms;
  for (std::vector<double>& row : residuals) {
    for (size_t i = 0; i < row.size(); ++i) {
      row[i] /= squares[i] > 0 ? std::sqrt(squares[i]) : 1;
    }
    Centre(row);
    norms.push_back(std::sqrt(Product(row, row)));
  }
  std::vector<double> distances(count * count, 1.0);
  for (size_t a = 0; squares.size() >= kClusteredMin && a < count; ++a) {
    for (size_t b = 0; b < a; ++b) {
      if (const double norm = norms[a] * norms[b]; norm > 0) {
        distances[a * count + b] = distances[b * count + a] =
            1 - Product(residuals[a], residuals[b]) / norm;
      }
    }
  }
  return AverageLinkage(std::move(distances), count, 1 - kCopies);
}

// Residuals less the slope of each benchmark over the centred averages. Benchmarks on which able
// approaches differ more do not make equal approaches differ.
Rows WithoutSlopes(const Rows& residuals, const std::vector<double>& averages) {
  const double squares = Product(averages, averages);
  const auto n = static_cast<double>(averages.size());
  Rows rows = residuals;
  for (std::vector<double>& row : rows) {
    const double slope = squares > 0 ? Product(row, averages) / squares : 0;
    for (size_t i = 0; i < row.size(); ++i) {
      row[i] = (row[i] - slope * averages[i]) * std::sqrt((n - 1) / (n - 2));
    }
  }
  return rows;
}

// True where units rank by one ability: the scores of any two correlate positively and, of few
// units, which may do so by chance, their slopes over the averages, 1 in the mean, differ from 0 by
// Student's t at 1 %.
bool AllAgree(const Clusters& units, const Rows& scores, const Rows& residuals,
              const std::vector<double>& averages) {
  const double squares = Product(averages, averages) * static_cast<double>(scores.size());
  std::vector<double> shares;
  double variance = 0;  // variance of the mean slope
  Rows sums;
  for (const std::vector<size_t>& unit : units) {
    shares.push_back(static_cast<double>(unit.size()) / static_cast<double>(scores.size()));
    std::vector<double>& sum = sums.emplace_back(averages.size(), 0.0);
    double slope = 0;  // less 1, times the share
    for (const size_t benchmark : unit) {
      std::transform(sum.begin(), sum.end(), scores[benchmark].begin(), sum.begin(), std::plus<>());
      slope += squares > 0 ? Product(residuals[benchmark], averages) / squares : 0;
    }
    variance += slope * slope;
    for (size_t other = 0; other + 1 < sums.size(); ++other) {
      if (!(Product(sums[other], sum) > 0)) {
        return false;
      }
    }
  }
  if (units.size() >= kAgreeingMin) {
    return true;
  }
  const Units sample = UnitsOf(shares);
  return sample.degrees >= 1 &&
         std::sqrt(variance * sample.scale) *
                 boost::math::quantile(boost::math::students_t_distribution<double>(sample.degrees),
                                       0.99) <
             1;
}

// That `better` exceeds `worse` by more than ties_within is to be shown; its p-value, and whether
// it is.
struct Difference {
  size_t better = 0;
  size_t worse = 0;
  double t = 0;  // beyond ties_within, in standard errors, 0 or more
  double error = 0;
  double own_error = 0;  // before it was shrunk; 0: not tested by it
  double p = 1;
  bool shown = false;
};

class RankTest {
 public:
  RankTest(const RankEstimate& estimate, const RankSetOptions& options)
      : values_(estimate.values),
        count_(estimate.values.size()),
        draws_(static_cast<size_t>(options.draws)),
        error_level_(1 - options.level),
        degrees_(estimate.degrees),
        within_(options.ties_within),
        variances_(count_ * count_, 0.0) {
    double largest = 0;
    for (const double value : values_) {
      largest = std::max(largest, std::abs(value));
    }
    nothing_ = kSumError * largest;
    if (degrees_ >= kOwnDegreesMin) {
      own_degrees_ = degrees_;
      error_level_ *= 1 - kOwnShare;
    }
    for (const std::vector<double>& factor : estimate.factors) {
      for (size_t j = 0; j < count_; ++j) {
        for (size_t k = 0; k < j; ++k) {
          variances_[j * count_ + k] += (factor[j] - factor[k]) * (factor[j] - factor[k]);
        }
      }
    }
    if (degrees_ > 0) {
      Shrink();
    }
    Draw(estimate, options);
  }

  // The differences of all pairs, or of those that hold `about`, with their step-down p-values.
  std::vector<Difference> Test(std::optional<size_t> about, const ParallelFor& parallel_for) const {
    std::vector<Difference> open;
    std::vector<Difference> certain;
    for (size_t j = 0; j < count_; ++j) {
      for (size_t k = 0; k < j; ++k) {
        if (about.has_value() && *about != j && *about != k) {
          continue;
        }
        const double error = std::sqrt(variances_[j * count_ + k]);
        const double difference = values_[j] - values_[k];
        const double excess = std::abs(difference) - within_;
        Difference pair{difference < 0 ? k : j, difference < 0 ? j : k};
        pair.own_error = own_variances_.empty() ? 0 : std::sqrt(own_variances_[j * count_ + k]);
        if (is_unknown_) {
          continue;
        }
        if (error > nothing_) {
          pair.t = excess > nothing_ ? excess / error : 0;
          pair.error = error;
          open.push_back(pair);
        } else if (degrees_ == 0 && excess > nothing_) {
          pair.p = 0;
          pair.shown = true;
          certain.push_back(pair);
        }
      }
    }
    StepDown(open, parallel_for);
    TestAlone(open);
    open.insert(open.end(), certain.begin(), certain.end());
    return open;
  }

 private:
  // See ComputeRankSets.
  void Shrink() {
    const auto n = static_cast<double>(count_);
    std::vector<double> totals(count_, 0.0);
    double squares = 0;
    for (size_t j = 0; j < count_; ++j) {
      for (size_t k = 0; k < j; ++k) {
        const double variance = variances_[j * count_ + k];
        totals[j] += variance;
        totals[k] += variance;
        squares += variance * variance;
      }
    }
    const double pairs = n * (n - 1) / 2;
    const double trace = std::accumulate(totals.begin(), totals.end(), 0.0) / (2 * n);
    pooled_ = trace * n / pairs;
    is_unknown_ = degrees_ < kDegreesMin || std::sqrt(pooled_) <= nothing_;
    if (is_unknown_) {
      return;
    }
    squares /= pairs;
    const double spread = squares - pooled_ * pooled_;
    const double by_chance = 2 * squares / (degrees_ + 2);
    own_ = spread > by_chance ? 1 - by_chance / spread : 0;
    // Covariances of the centred estimates, from the variances of differences.
    double trace_of_square = 0;
    for (size_t j = 0; j < count_; ++j) {
      const double at_j = (totals[j] - trace) / n;
      trace_of_square += at_j * at_j;
      for (size_t k = 0; k < j; ++k) {
        const double covariance = (at_j + (totals[k] - trace) / n - variances_[j * count_ + k]) / 2;
        trace_of_square += 2 * covariance * covariance;
      }
    }
    const double square_of_trace = trace * trace;
    const double plain = std::clamp(square_of_trace / trace_of_square, 1.0, n - 1);
    double unbiased = plain;
    if (degrees_ > 1) {
      const double true_square = (trace_of_square - square_of_trace / degrees_) * degrees_ *
                                 degrees_ / ((degrees_ - 1) * (degrees_ + 2));
      const double true_trace = square_of_trace - 2 * true_square / degrees_;
      unbiased =
          true_square * (n - 1) > true_trace ? std::max(1.0, true_trace / true_square) : n - 1;
    }
    own_variances_ = own_degrees_ > 0 ? variances_ : std::vector<double>();
    const double pooled_degrees = 2 * degrees_ / (1 / plain + 1 / unbiased);
    for (size_t j = 0; j < count_; ++j) {
      for (size_t k = 0; k < j; ++k) {
        double& variance = variances_[j * count_ + k];
        variance = std::max(variance, own_ * variance + (1 - own_) * pooled_);
      }
    }
    const double root = own_ / std::sqrt(degrees_) + (1 - own_) / std::sqrt(pooled_degrees);
    degrees_ = 1 / (root * root);
  }

  void Draw(const RankEstimate& estimate, const RankSetOptions& options) {
    if (is_unknown_) {
      return;
    }
    noise_.resize(draws_ * count_);
    const double of_factors = std::sqrt(own_);
    const double of_each = std::sqrt((1 - own_) * pooled_ / 2);
    std::vector<double> row(count_);
    Random random(options.seed, "rank-sets");
    for (size_t r = 0; r < draws_; ++r) {
      std::fill(row.begin(), row.end(), 0.0);
      for (const std::vector<double>& factor : estimate.factors) {
        const double g = of_factors * random.Normal();
        for (size_t j = 0; j < count_; ++j) {
          row[j] += g * factor[j];
        }
      }
      double unit = 1;
      if (degrees_ > 0) {
        for (double& noise : row) {
          noise += of_each * random.Normal();
        }
        const double chance = std::max(random.Uniform(), 1e-12);
        unit = std::sqrt(
            boost::math::quantile(boost::math::chi_squared_distribution<double>(degrees_), chance) /
            degrees_);
      }
      for (size_t j = 0; j < count_; ++j) {
        noise_[j * draws_ + r] = row[j] / unit;
      }
    }
  }

  // The largest difference of each draw in standard errors, either way of pairs not yet shown, and
  // against what is shown of the others.
  void Largest(const std::vector<Difference>& pairs, const ParallelFor& parallel_for,
               std::vector<double>& largest) const {
    largest.assign(draws_, 0.0);
    parallel_for((draws_ + kDrawsAtOnce - 1) / kDrawsAtOnce, [&](size_t chunk) {
      const size_t first = chunk * kDrawsAtOnce;
      const size_t draws = std::min(draws_ - first, kDrawsAtOnce);
      double* most = largest.data() + first;
      for (const Difference& pair : pairs) {
        const double* better = noise_.data() + pair.better * draws_ + first;
        const double* worse = noise_.data() + pair.worse * draws_ + first;
        const double scale = 1 / pair.error;
        if (pair.shown) {
          for (size_t r = 0; r < draws; ++r) {
            const double noise = (worse[r] - better[r]) * scale;
            most[r] = noise > most[r] ? noise : most[r];
          }
        } else {
          for (size_t r = 0; r < draws; ++r) {
            const double noise = std::abs(worse[r] - better[r]) * scale;
            most[r] = noise > most[r] ? noise : most[r];
          }
        }
      }
    });
  }

  void StepDown(std::vector<Difference>& pairs, const ParallelFor& parallel_for) const {
    std::vector<double> largest;
    double reached = 0;  // adjusted p-values never fall
    for (bool again = !pairs.empty(); again;) {
      again = false;
      Largest(pairs, parallel_for, largest);
      std::sort(largest.begin(), largest.end());
      double next = reached;
      for (Difference& pair : pairs) {
        if (pair.shown) {
          continue;
        }
        const auto as_large = static_cast<double>(
            largest.end() - std::lower_bound(largest.begin(), largest.end(), pair.t));
        pair.p = std::max(reached, (as_large + 1) / static_cast<double>(draws_ + 1));
        pair.shown = pair.p <= error_level_;
        if (pair.shown) {
          again = true;
          next = std::max(next, pair.p);
        }
      }
      reached = next;
    }
  }

  // Each pair's own Student's t by Bonferroni at its share of the error level: one erratic approach
  // does not hide the difference of two others. Equal differences of few units come by chance.
  void TestAlone(std::vector<Difference>& pairs) const {
    if (own_degrees_ == 0) {
      return;
    }
    const auto tests = static_cast<double>(pairs.size());
    for (Difference& pair : pairs) {
      const double t = pair.own_error > nothing_ ? pair.t * pair.error / pair.own_error : 0;
      const double alone = 2 * tests *
                           boost::math::cdf(boost::math::complement(
                               boost::math::students_t_distribution<double>(own_degrees_), t));
      pair.p = std::min({pair.p / (1 - kOwnShare), alone / kOwnShare, 1.0});
      pair.shown = pair.shown || alone <= error_level_ * kOwnShare / (1 - kOwnShare);
    }
  }

  const std::vector<double>& values_;
  size_t count_;
  size_t draws_;
  double error_level_;  // error level of the test of all pairs together
  double degrees_;
  double within_;                      // RankSetOptions::ties_within
  std::vector<double> variances_;      // variances of differences, below the diagonal
  std::vector<double> own_variances_;  // before they were shrunk, for pairs' own tests; or none
  double own_degrees_ = 0;
  double nothing_ = 0;         // differences and errors up to this are none
  double pooled_ = 0;          // the mean variance of a difference
  double own_ = 1;             // lambda
  bool is_unknown_ = false;    // no variance can be told
  std::vector<double> noise_;  // approach by approach
};

RankSet SetOf(const std::vector<Difference>& pairs, size_t approach, size_t count) {
  RankSet set{1, static_cast<int64_t>(count)};
  for (const Difference& pair : pairs) {
    set.low += pair.shown && pair.worse == approach ? 1 : 0;
    set.high -= pair.shown && pair.better == approach ? 1 : 0;
  }
  return set;
}

}  // namespace

absl::StatusOr<RankEstimate> EstimateOverBenchmarks(const ScoreTable& table,
                                                    absl::Span<const BenchmarkGroup> groups,
                                                    const std::vector<size_t>& approaches) {
  const std::vector<size_t>& benchmarks = groups[0].benchmarks;
  if (benchmarks.size() < kSampleMin || benchmarks.size() > kSampleMax) {
    return absl::InvalidArgumentError(absl::StrCat(
        "resolve: benchmarks as a sample need at least ", kSampleMin, " of them and at most ",
        kSampleMax, ", ", groups[0].name, " has ", benchmarks.size()));
  }
  RankEstimate estimate;
  estimate.values = AveragesOf(table, groups[0], approaches);
  std::vector<double> averages = estimate.values;
  Centre(averages);
  Rows scores;
  Rows residuals;
  for (const size_t benchmark : benchmarks) {
    std::vector<double>& row = scores.emplace_back();
    for (const size_t approach : approaches) {
      row.push_back(table.cell(approach, benchmark).value);
    }
    Centre(row);
    std::vector<double>& residual = residuals.emplace_back(row);
    std::transform(row.begin(), row.end(), averages.begin(), residual.begin(), std::minus<>());
  }
  const std::optional<Clusters> declared = DeclaredUnits(groups);
  Rows sloped;
  Clusters units;
  if (approaches.size() >= kSlopesMin) {
    sloped = WithoutSlopes(residuals, averages);
    units = declared.has_value() ? *declared : UnitsByCorrelation(sloped);
  }
  if (!units.empty() && AllAgree(units, scores, residuals, averages)) {
    residuals = std::move(sloped);
  } else {
    units = declared.has_value() ? *declared : UnitsByCorrelation(residuals);
  }
  const auto count = static_cast<double>(benchmarks.size());
  std::vector<double> shares;
  std::vector<std::string> together;
  for (const std::vector<size_t>& unit : units) {
    shares.push_back(static_cast<double>(unit.size()) / count);
    std::vector<double>& factor = estimate.factors.emplace_back(approaches.size(), 0.0);
    std::vector<std::string> names;
    for (const size_t b : unit) {
      names.push_back(table.benchmarks()[benchmarks[b]].name);
      for (size_t i = 0; i < factor.size(); ++i) {
        factor[i] += residuals[b][i] / count;
      }
    }
    if (names.size() > 1) {
      together.push_back(FirstNames(names));
    }
  }
  const Units sample = UnitsOf(shares);
  for (std::vector<double>& factor : estimate.factors) {
    for (double& value : factor) {
      value *= std::sqrt(sample.scale);
    }
  }
  // Never 0, which would say that the factors are known.
  estimate.degrees = std::max(sample.degrees, kDegreesMin / 2);
  estimate.unit = "benchmarks";
  if (!together.empty()) {
    constexpr size_t kShownMax = 5;
    const size_t more = together.size() - std::min(together.size(), kShownMax);
    together.resize(together.size() - more);
    estimate.unit =
        absl::StrCat(units.size(), units.size() == 1 ? " group" : " groups", " of benchmarks");
    estimate.note = absl::StrCat(
        "Count as one benchmark", declared.has_value() ? "" : ", as their scores vary alike", ": ",
        absl::StrJoin(together, "; "), more > 0 ? absl::StrCat("; and ", more, " more") : "",
        declared.has_value() ? "." : ". --by TAG says which ones belong together.");
  }
  return estimate;
}

absl::StatusOr<RankEstimate> EstimateFromErrors(const ScoreTable& table,
                                                const BenchmarkGroup& group,
                                                const std::vector<size_t>& approaches,
                                                const ScoreTable& errors) {
  RankEstimate estimate;
  estimate.values = AveragesOf(table, group, approaches);
  estimate.unit = "given errors";
  for (size_t i = 0; i < approaches.size(); ++i) {
    const std::string& name = table.approaches()[approaches[i]].name;
    CONCUR_ASSIGN_OR_RETURN(const size_t row, FindEntry(errors.approaches(), name,
                                                        "errors: no approach", "approaches"));
    double variance = 0;
    for (const size_t benchmark : group.benchmarks) {
      const std::string& column = table.benchmarks()[benchmark].name;
      CONCUR_ASSIGN_OR_RETURN(
          const size_t at, FindEntry(errors.benchmarks(), column, "errors: no column", "columns"));
      const ScoreCell& error = errors.cell(row, at);
      if (error.state != CellState::kValue || error.value < 0) {
        return absl::InvalidArgumentError(absl::StrCat("errors: expected the standard error of \"",
                                                       name, "\" on \"", column, "\", 0 or more"));
      }
      variance += error.value * error.value;
    }
    std::vector<double>& factor = estimate.factors.emplace_back(approaches.size(), 0.0);
    factor[i] = std::sqrt(variance) / static_cast<double>(group.benchmarks.size());
  }
  return estimate;
}

absl::StatusOr<RankEstimate> EstimateOverExamples(const ScoreTable& table,
                                                  const BenchmarkGroup& group,
                                                  const std::vector<size_t>& approaches,
                                                  const std::vector<ExampleTable>& examples,
                                                  std::optional<ExampleUnit> unit) {
  RankEstimate estimate;
  estimate.values = AveragesOf(table.Oriented(), group, approaches);
  estimate.unit = "test examples";
  const auto benchmarks = static_cast<double>(group.benchmarks.size());
  double variance = 0;  // variance of all averages together
  double squares = 0;   // over degrees, by benchmark
  double degrees = std::numeric_limits<double>::infinity();
  for (const size_t benchmark : group.benchmarks) {
    const std::string& name = table.benchmarks()[benchmark].name;
    const auto scores =
        std::find_if(examples.begin(), examples.end(),
                     [&](const ExampleTable& candidate) { return candidate.benchmark == name; });
    if (scores == examples.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("resolve: no per-example scores of the benchmark \"", name, "\""));
    }
    const ExampleClusters clusters = ClustersOf(scores->places, scores->examples, unit);
    const auto count = static_cast<double>(scores->examples);
    std::vector<double> shares(clusters.count, clusters.of.empty() ? 1 / count : 0);
    for (const uint32_t cluster : clusters.of) {
      shares[cluster] += 1 / count;
    }
    const Units sample = UnitsOf(shares);
    if (sample.degrees < kDegreesMin) {
      return absl::InvalidArgumentError(absl::StrCat(
          "resolve: \"", name, "\" has too few ", ExampleUnitName(clusters.unit),
          "s of like size to tell how much they vary: ", clusters.count, "; --cluster question"));
    }
    const double weight = table.full_score(benchmark).value_or(scores->unit) /
                          (benchmarks * count) * std::sqrt(sample.scale);
    const size_t first = estimate.factors.size();
    estimate.factors.resize(first + clusters.count, std::vector<double>(approaches.size(), 0.0));
    for (size_t i = 0; i < approaches.size(); ++i) {
      const std::string& approach = table.approaches()[approaches[i]].name;
      const auto row = std::find(scores->approaches.begin(), scores->approaches.end(), approach);
      if (row == scores->approaches.end()) {
        return absl::InvalidArgumentError(
            absl::StrCat("resolve: no per-example scores of \"", approach, "\" on \"", name, "\""));
      }
      const absl::Span<const double> values =
          scores->row(static_cast<size_t>(row - scores->approaches.begin()));
      const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
      for (size_t e = 0; e < values.size(); ++e) {
        const size_t cluster = clusters.of.empty() ? e : clusters.of[e];
        estimate.factors[first + cluster][i] += weight * (values[e] - mean);
      }
    }
    double own = 0;
    for (size_t u = first; u < estimate.factors.size(); ++u) {
      Centre(estimate.factors[u]);
      own += Product(estimate.factors[u], estimate.factors[u]);
    }
    variance += own;
    squares += own * own / sample.degrees;
    degrees = std::min(degrees, sample.degrees);
  }
  estimate.degrees = squares > 0 ? variance * variance / squares : degrees;
  return estimate;
}

std::vector<size_t> RankedApproaches(const Generalization& ranking) {
  std::vector<size_t> approaches;
  for (const RankedApproach& approach : ranking.approaches) {
    if (approach.rank > 0) {
      approaches.push_back(approach.approach);
    }
  }
  return approaches;
}

absl::StatusOr<std::optional<RankEstimate>> EstimateIfResolvable(const ScoreTable& table,
                                                                 const Generalization& ranking,
                                                                 size_t approaches_max) {
  const std::vector<size_t> approaches = RankedApproaches(ranking);
  const BenchmarkGroup& group = ranking.groups[0];
  if (approaches.size() < 2 || approaches.size() > approaches_max ||
      group.benchmarks.size() < kSampleMin || group.benchmarks.size() > kSampleMax) {
    return std::optional<RankEstimate>();
  }
  CONCUR_ASSIGN_OR_RETURN(RankEstimate estimate,
                          EstimateOverBenchmarks(table.Oriented(), ranking.groups, approaches));
  return std::optional(std::move(estimate));
}

absl::StatusOr<RankSets> ComputeRankSets(const RankEstimate& estimate,
                                         const RankSetOptions& options) {
  if (!(options.level > 0 && options.level < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("interval: expected a number strictly between 0 and 1, got ", options.level));
  }
  if (!(options.ties_within >= 0 && std::isfinite(options.ties_within))) {
    return absl::InvalidArgumentError(absl::StrCat(
        "ties-within: expected a difference of averages, 0 or more, got ", options.ties_within));
  }
  if (options.draws < 100 || options.draws > 1'000'000) {
    return absl::InvalidArgumentError(
        absl::StrCat("replicates: expected a number from 100 to 1000000, got ", options.draws));
  }
  const size_t count = estimate.values.size();
  if (count > kRankedMax) {
    return absl::InvalidArgumentError(absl::StrCat("expected at most ", kRankedMax,
                                                   " approaches with rank sets, got ", count,
                                                   "; choose some with --where"));
  }
  if (static_cast<double>(count) * static_cast<double>(options.draws) > kNoiseMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("replicates: expected at most ", static_cast<int64_t>(kNoiseMax) / count,
                     " with ", count, " approaches, got ", options.draws));
  }
  RankSets sets;
  if (count == 0) {
    return sets;
  }
  const RankTest test(estimate, options);
  sets.marginal.resize(count);
  options.parallel_for(count, [&](size_t approach) {
    sets.marginal[approach] = SetOf(test.Test(approach, SequentialFor), approach, count);
  });
  sets.simultaneous.assign(count, {1, static_cast<int64_t>(count)});
  std::vector<bool> apart(count * count, false);
  std::vector<double> p(count * count, 1.0);
  for (const Difference& pair : test.Test(std::nullopt, options.parallel_for)) {
    p[pair.better * count + pair.worse] = pair.p;
    if (pair.shown) {
      ++sets.simultaneous[pair.worse].low;
      --sets.simultaneous[pair.better].high;
      apart[pair.better * count + pair.worse] = true;
    }
  }
  for (const std::vector<size_t>& tied : TiedGroups(estimate.values)) {
    sets.order.insert(sets.order.end(), tied.begin(), tied.end());
  }
  sets.groups.assign(count, 1);
  size_t first = 0;  // position where the group begins
  for (size_t i = 1; i < count; ++i) {
    const size_t approach = sets.order[i];
    const size_t above = sets.order[i - 1];
    sets.neighbour_p.push_back(p[above * count + approach]);
    const bool starts =
        std::any_of(sets.order.begin() + static_cast<ptrdiff_t>(first),
                    sets.order.begin() + static_cast<ptrdiff_t>(i),
                    [&](size_t member) { return apart[member * count + approach]; });
    first = starts ? i : first;
    sets.groups[approach] = sets.groups[above] + (starts ? 1 : 0);
  }
  return sets;
}

}  // namespace concur::analysis
