// SPDX-License-Identifier: Apache-2.0
#include "analysis/bootstrap.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "analysis/families.h"
#include "analysis/replicates.h"
#include "analysis/resampling.h"
#include "analysis/statistics/correlation.h"
#include "analysis/statistics/intervals.h"
#include "base/status_macros.h"
#include "base/suggest.h"

namespace concur::analysis {
namespace {

using Normal = boost::math::normal_distribution<
    double, boost::math::policies::policy<
                boost::math::policies::domain_error<boost::math::policies::ignore_error>,
                boost::math::policies::overflow_error<boost::math::policies::ignore_error>>>;

// Room for the replicates of a block of pairs.
constexpr size_t kBlockValuesMax = size_t{32} << 20;

// Two quantiles by linear interpolation between order statistics (type 7 of Hyndman and Fan,
// 1996). One pass counts the values into buckets and a second one collects the few buckets that
// hold the order statistics. `least` and `greatest` are the values' own. REQUIRES: not empty, all
// finite; 0 <= low <= high <= 1.
Interval QuantilesOf(const std::vector<double>& values, double least, double greatest, double low,
                     double high) {
  constexpr size_t kBuckets = 512;
  const size_t last = values.size() - 1;
  const double origin = least;
  const double scale = greatest > least ? kBuckets / (greatest - least) : 0;
  const auto bucket_of = [&](double value) {  // does not fall as the value grows
    return std::min(static_cast<size_t>((value - origin) * scale), kBuckets - 1);
  };
  std::vector<size_t> starts(kBuckets + 1, 0);
  for (const double value : values) {
    ++starts[bucket_of(value) + 1];
  }
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  std::vector<char> wanted(kBuckets, 0);
  const auto bucket_at = [&](size_t index) {
    return static_cast<size_t>(std::upper_bound(starts.begin(), starts.end(), index) -
                               starts.begin()) -
           1;
  };
  const double tails[] = {low, high};
  for (const double tail : tails) {
    const auto index = static_cast<size_t>(tail * static_cast<double>(last));
    wanted[bucket_at(index)] = 1;
    wanted[bucket_at(std::min(index + 1, last))] = 1;
  }
  std::vector<double> few;
  for (const double value : values) {
    if (wanted[bucket_of(value)] != 0) {
      few.push_back(value);
    }
  }
  std::sort(few.begin(), few.end());
  const auto order_statistic = [&](size_t index) {
    const size_t bucket = bucket_at(index);
    size_t skipped = 0;  // values before this bucket that were not collected
    for (size_t i = 0; i < bucket; ++i) {
      skipped += wanted[i] != 0 ? 0 : starts[i + 1] - starts[i];
    }
    return few[index - skipped];
  };
  double quantiles[2];
  for (size_t t = 0; t < 2; ++t) {
    const double position = tails[t] * static_cast<double>(last);
    const auto index = static_cast<size_t>(position);
    const double value = order_statistic(index);
    const double share = position - static_cast<double>(index);
    quantiles[t] = share > 0 ? value + share * (order_statistic(index + 1) - value) : value;
  }
  return {quantiles[0], quantiles[1]};
}

// Acceleration from the jackknife (Efron, 1987); NaN when all its values are equal or none is
// defined.
double Acceleration(absl::Span<const double> jackknife) {
  double sum = 0;
  double count = 0;
  for (const double value : jackknife) {
    if (!std::isnan(value)) {
      sum += value;
      ++count;
    }
  }
  double squares = 0;
  double cubes = 0;
  for (const double value : jackknife) {
    if (!std::isnan(value)) {
      const double deviation = sum / count - value;
      squares += deviation * deviation;
      cubes += deviation * deviation * deviation;
    }
  }
  constexpr double kNoSpread = 1e-24;  // rounding alone makes squares of this size
  return squares > kNoSpread ? cubes / (6 * squares * std::sqrt(squares))
                             : std::numeric_limits<double>::quiet_NaN();
}

// Statistics of the replicates of one pair, gathered in one pass.
struct Summary {
  double least = std::numeric_limits<double>::infinity();
  double greatest = -std::numeric_limits<double>::infinity();
  double share_below = 0;  // the estimate; ties count half
};

Summary Summarize(absl::Span<const double> replicates, double estimate) {
  constexpr double kEqual = 1e-12;  // equal but for rounding
  const double below = estimate - kEqual;
  const double above = estimate + kEqual;
  Summary summary;
  int64_t twice = 0;
  double least = summary.least;
  double greatest = summary.greatest;
  for (const double value : replicates) {
    least = value < least ? value : least;
    greatest = value > greatest ? value : greatest;
    twice += static_cast<int64_t>(value < below) + static_cast<int64_t>(value <= above);
  }
  summary.least = least;
  summary.greatest = greatest;
  summary.share_below = static_cast<double>(twice) / (2 * static_cast<double>(replicates.size()));
  return summary;
}

// Moves the two tail probabilities as BCa does, `share` of the replicates being below the estimate;
// false where it is not defined.
bool AdjustTails(double share, absl::Span<const double> jackknife, double& low, double& high) {
  const double acceleration = Acceleration(jackknife);
  if (!(share > 0 && share < 1) || std::isnan(acceleration)) {
    return false;
  }
  const Normal normal;
  const double bias = boost::math::quantile(normal, share);
  for (double* tail : {&low, &high}) {
    const double shifted = bias + boost::math::quantile(normal, *tail);
    const double divisor = 1 - acceleration * shifted;
    if (divisor <= 0) {
      return false;
    }
    *tail = boost::math::cdf(normal, bias + shifted / divisor);
  }
  return true;
}

void AddWarning(std::string& warning, absl::string_view text) {
  absl::StrAppend(&warning, warning.empty() ? "" : "; ", text);
}

// The whole computation for the rows [row_begin, row_end) of the matrix.
class Block {
 public:
  Block(const ScoreTable& table, const WeightedCoefficients& evaluator, const DrawUnits& draws,
        const BootstrapOptions& options, size_t row_begin, size_t row_end)
      : evaluator_(evaluator),
        draws_(draws),
        options_(options),
        row_begin_(row_begin),
        row_end_(row_end),
        pairs_(evaluator.PairCount(row_begin, row_end)),
        replicates_(static_cast<size_t>(options.replicates)) {
    for (size_t a = row_begin; a < row_end; ++a) {
      for (size_t b = a + 1; b < evaluator.benchmarks(); ++b) {
        rules_.push_back(RuleOfPair(table, draws, options, evaluator.coefficient(), a, b));
      }
    }
  }

  std::vector<BootstrapInterval> Run() {
    values_.reset(new double[pairs_ * replicates_]);  // every one is written before it is read
    const size_t chunks = ReplicateChunks(replicates_);
    options_.parallel_for(chunks, [this](size_t chunk) { RunChunk(chunk); });
    ComputeEstimates();
    std::vector<BootstrapInterval> intervals(pairs_);
    constexpr size_t kPairsAtOnce = 32;
    options_.parallel_for((pairs_ + kPairsAtOnce - 1) / kPairsAtOnce, [&](size_t part) {
      std::vector<double> replicates;
      std::vector<double> jackknife(draws_.units.size());
      const size_t end = std::min(pairs_, (part + 1) * kPairsAtOnce);
      for (size_t pair = part * kPairsAtOnce; pair < end; ++pair) {
        if (rules_[pair].level == 0) {
          intervals[pair].warning = kTooFewFamilies;
          continue;
        }
        const double* begin = values_.get() + pair * replicates_;
        replicates.assign(begin, begin + replicates_);
        for (size_t i = 0; i < jackknife.size(); ++i) {
          jackknife[i] = jackknife_[i * pairs_ + pair];
        }
        intervals[pair] = IntervalFromReplicates(replicates, estimates_[pair], jackknife,
                                                 rules_[pair].level, rules_[pair].method);
      }
    });
    return intervals;
  }

 private:
  void RunChunk(size_t chunk) {
    constexpr size_t kChunk = kReplicateChunk;
    WeightedCoefficients::Scratch scratch;
    std::vector<double> row(pairs_);
    const size_t begin = chunk * kChunk;
    const size_t end = std::min(replicates_, begin + kChunk);
    std::vector<double> buffer(pairs_ * kChunk);
    ForEachReplicate(options_.seed, evaluator_.approaches(), draws_.families, replicates_, chunk,
                     [&](size_t replicate, const std::vector<int32_t>& weights) {
                       evaluator_.Evaluate(weights, row_begin_, row_end_, scratch, row.data());
                       for (size_t pair = 0; pair < pairs_; ++pair) {
                         buffer[pair * kChunk + (replicate - begin)] = row[pair];
                       }
                     });
    for (size_t pair = 0; pair < pairs_; ++pair) {
      const double* from = buffer.data() + pair * kChunk;
      std::copy(from, from + (end - begin), values_.get() + pair * replicates_ + begin);
    }
  }

  // The estimates by the same arithmetic as the replicates, and the jackknife where BCa needs it.
  void ComputeEstimates() {
    const size_t n = evaluator_.approaches();
    WeightedCoefficients::Scratch scratch;
    std::vector<int32_t> weights(n, 1);
    estimates_.resize(pairs_);
    evaluator_.Evaluate(weights, row_begin_, row_end_, scratch, estimates_.data());
    jackknife_.resize(draws_.units.size() * pairs_);
    if (std::none_of(rules_.begin(), rules_.end(), [](const IntervalRule& rule) {
          return rule.level > 0 && rule.method == BootstrapMethod::kBca;
        })) {
      return;
    }
    for (size_t u = 0; u < draws_.units.size(); ++u) {
      for (const size_t i : draws_.units[u]) {
        weights[i] = 0;
      }
      evaluator_.Evaluate(weights, row_begin_, row_end_, scratch, jackknife_.data() + u * pairs_);
      for (const size_t i : draws_.units[u]) {
        weights[i] = 1;
      }
    }
  }

  const WeightedCoefficients& evaluator_;
  const DrawUnits& draws_;
  const BootstrapOptions& options_;
  std::vector<IntervalRule> rules_;  // by pair
  size_t row_begin_;
  size_t row_end_;
  size_t pairs_;
  size_t replicates_;
  std::unique_ptr<double[]> values_;  // pair-major
  std::vector<double> estimates_;
  std::vector<double> jackknife_;  // unit-major
};

}  // namespace

void SequentialFor(size_t count, const std::function<void(size_t)>& body) {
  for (size_t i = 0; i < count; ++i) {
    body(i);
  }
}

absl::StatusOr<BootstrapMethod> ParseBootstrapMethod(absl::string_view name) {
  if (name == "percentile") {
    return BootstrapMethod::kPercentile;
  }
  if (name == "bca") {
    return BootstrapMethod::kBca;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("method: ", ExpectedOneOf({"bca", "percentile"}, name)));
}

absl::Status ValidateBootstrapOptions(const BootstrapOptions& options) {
  if (!(options.level > 0 && options.level < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("interval: expected a number strictly between 0 and 1, got ", options.level));
  }
  if (options.replicates < 100 || options.replicates > 10'000'000) {
    return absl::InvalidArgumentError(absl::StrCat(
        "replicates: expected a number from 100 to 10000000, got ", options.replicates));
  }
  return absl::OkStatus();
}

BootstrapMethod MethodOf(Coefficient coefficient, BootstrapMethod method) {
  return LeastValue(coefficient) == 0 ? BootstrapMethod::kPercentile : method;
}

std::string BootstrapText(const BootstrapOptions& options, const Families& families) {
  const bool few_families = families.declared() && families.effective < kBcaFamiliesMin;
  return absl::StrCat(
      options.method == BootstrapMethod::kBca && !few_families ? "BCa" : "percentile",
      families.declared() ? " bootstrap over families, " : " bootstrap over approaches, ",
      options.replicates, " replicates, seed ", options.seed);
}

std::string FewUnitsWarning(bool are_families, double effective, int64_t approaches) {
  constexpr double kFamiliesEnough = 4;
  if (!are_families) {
    return FewApproachesWarning(approaches);
  }
  return effective < kFamiliesEnough ? "fewer than 4 families of like size: may be too short" : "";
}

absl::StatusOr<DrawUnits> DrawUnitsOf(const ScoreTable& table, const BootstrapOptions& options) {
  constexpr size_t kApproachesMax = 30'000;
  const size_t approaches = table.approaches().size();
  CONCUR_ASSIGN_OR_RETURN(Families families, FamiliesOf(table, options.families));
  size_t largest = 0;
  for (const std::vector<size_t>& family : families.members) {
    largest = std::max(largest, family.size());
  }
  if (std::max(approaches, families.members.size() * largest) > kApproachesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected at most ", kApproachesMax,
                     " approaches to resample (families × the largest one), got ",
                     families.members.size() * largest));
  }
  DrawUnits draws;
  draws.units = std::move(families.members);
  if (families.declared()) {
    draws.families = draws.units;
  }
  return draws;
}

IntervalRule RuleOfPair(const ScoreTable& table, const DrawUnits& draws,
                        const BootstrapOptions& options, Coefficient coefficient, size_t a,
                        size_t b) {
  IntervalRule rule{options.level, 0, MethodOf(coefficient, options.method)};
  const bool is_declared = !draws.families.empty();
  if (!is_declared && coefficient != Coefficient::kPearson) {
    return rule;
  }
  const FamilySizes sizes = SizesOfPair(table, draws.units, a, b);
  rule.expanded_by = sizes.effective;
  if (is_declared && sizes.effective < kBcaFamiliesMin) {
    rule.method = BootstrapMethod::kPercentile;
  }
  rule.level = sizes.AreEnough() ? ExpandedLevel(options.level, sizes.effective) : 0;
  return rule;
}

BootstrapInterval IntervalFromReplicates(std::vector<double>& replicates, double estimate,
                                         absl::Span<const double> jackknife, double level,
                                         BootstrapMethod method) {
  BootstrapInterval result;
  const size_t total = replicates.size();
  replicates.erase(std::remove_if(replicates.begin(), replicates.end(),
                                  [](double value) { return std::isnan(value); }),
                   replicates.end());
  result.undefined_replicates = static_cast<int64_t>(total - replicates.size());
  if (std::isnan(estimate) || replicates.size() * 2 < total || replicates.empty()) {
    result.warning = "undefined in most replicates: no interval";
    return result;
  }
  constexpr double kUndefinedShareShown = 0.01;
  const double undefined =
      static_cast<double>(total - replicates.size()) / static_cast<double>(total);
  if (undefined > kUndefinedShareShown) {
    AddWarning(result.warning,
               absl::StrFormat("undefined in %.1f %% of the replicates", 100 * undefined));
  }
  const Summary summary = Summarize(replicates, estimate);
  double low = (1 - level) / 2;
  double high = 1 - low;
  if (method == BootstrapMethod::kBca && !AdjustTails(summary.share_below, jackknife, low, high)) {
    AddWarning(result.warning, "BCa is undefined, percentile instead");
  }
  result.interval = QuantilesOf(replicates, summary.least, summary.greatest, low, high);
  constexpr double kNoWidth = 1e-12;  // equal but for rounding
  if (result.interval->high - result.interval->low <= kNoWidth) {
    AddWarning(result.warning, "all replicates agree: resampling cannot show the uncertainty");
  }
  return result;
}

double SignPValue(absl::Span<const double> replicates, double estimate,
                  absl::Span<const double> jackknife, BootstrapMethod method, double expanded_by) {
  double below = 1;
  double above = 1;
  for (const double value : replicates) {
    below += value <= 0 ? 1 : 0;
    above += value >= 0 ? 1 : 0;
  }
  const Normal normal;
  const double share = Summarize(replicates, estimate).share_below;
  const double acceleration = Acceleration(jackknife);
  const bool is_bca =
      method == BootstrapMethod::kBca && share > 0 && share < 1 && !std::isnan(acceleration);
  // AdjustTails the other way round; the upper tail is the lower one of what is turned about.
  const auto tail_of = [&](double count, double sign) {
    const double tail = count / static_cast<double>(replicates.size() + 1);
    if (!is_bca || tail >= 1) {
      return tail;
    }
    const double bias = boost::math::quantile(normal, share);
    const double shifted = sign * boost::math::quantile(normal, tail) - bias;
    const double divisor = 1 + acceleration * shifted;
    return divisor > 0 ? boost::math::cdf(normal, sign * (shifted / divisor - bias)) : tail;
  };
  const double tail = std::min(tail_of(below, 1), tail_of(above, -1));
  const double p = std::min(1.0, 2 * tail);
  return expanded_by > 0 ? 1 - LevelBeforeExpansion(1 - p, expanded_by) : p;
}

absl::StatusOr<std::vector<BootstrappedStatistic>> BootstrapStatistics(
    size_t approaches, const DrawUnits& draws, absl::Span<const IntervalRule> rules,
    const BootstrapOptions& options, const std::function<WeightedStatistics()>& make) {
  constexpr size_t kValuesMax = 50'000'000;
  const size_t count = rules.size();
  const auto replicates = static_cast<size_t>(options.replicates);
  if (count * replicates > kValuesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("replicates: ", replicates, " of ", count,
                     " values are too many to keep; ask for fewer replicates or benchmarks"));
  }
  std::vector<double> values(count * replicates);
  options.parallel_for(ReplicateChunks(replicates), [&](size_t chunk) {
    const WeightedStatistics evaluate = make();
    std::vector<double> row(count);
    ForEachReplicate(options.seed, approaches, draws.families, replicates, chunk,
                     [&](size_t replicate, const std::vector<int32_t>& weights) {
                       evaluate(weights, row.data());
                       for (size_t i = 0; i < count; ++i) {
                         values[i * replicates + replicate] = row[i];
                       }
                     });
  });
  const WeightedStatistics evaluate = make();
  std::vector<double> estimates(count);
  std::vector<int32_t> weights(approaches, 1);
  evaluate(weights, estimates.data());
  const size_t units = draws.units.size();
  std::vector<double> jackknife(count * units);
  std::vector<double> without(count);
  for (size_t u = 0; u < units; ++u) {
    for (const size_t i : draws.units[u]) {
      weights[i] = 0;
    }
    evaluate(weights, without.data());
    for (const size_t i : draws.units[u]) {
      weights[i] = 1;
    }
    for (size_t i = 0; i < count; ++i) {
      jackknife[i * units + u] = without[i];
    }
  }
  std::vector<BootstrappedStatistic> results(count);
  options.parallel_for(count, [&](size_t i) {
    BootstrappedStatistic& result = results[i];
    result.estimate = estimates[i];
    if (std::isnan(result.estimate)) {
      return;
    }
    const IntervalRule& rule = rules[i];
    if (rule.level == 0) {
      result.interval.warning = kTooFewFamilies;
      return;
    }
    std::vector<double> own(values.begin() + static_cast<std::ptrdiff_t>(i * replicates),
                            values.begin() + static_cast<std::ptrdiff_t>((i + 1) * replicates));
    const absl::Span<const double> left_out = absl::MakeSpan(jackknife).subspan(i * units, units);
    result.interval =
        IntervalFromReplicates(own, result.estimate, left_out, rule.level, rule.method);
    if (result.interval.interval.has_value()) {
      result.p_value = SignPValue(own, result.estimate, left_out, rule.method, rule.expanded_by);
    }
  });
  return results;
}

absl::StatusOr<std::vector<BootstrapInterval>> BootstrapPairs(const ScoreTable& table,
                                                              Coefficient coefficient,
                                                              const BootstrapOptions& options) {
  CONCUR_RETURN_IF_ERROR(ValidateBootstrapOptions(options));
  CONCUR_ASSIGN_OR_RETURN(const DrawUnits draws, DrawUnitsOf(table, options));
  std::vector<BootstrapInterval> intervals;
  const size_t benchmarks = table.benchmarks().size();
  if (table.approaches().empty()) {
    BootstrapInterval none;
    none.undefined_replicates = options.replicates;
    none.warning = "no approaches: no interval";
    intervals.assign(benchmarks * (benchmarks - (benchmarks > 0 ? 1 : 0)) / 2, none);
    return intervals;
  }
  const WeightedCoefficients evaluator(table, coefficient, options.top);
  for (size_t row = 0; row < benchmarks;) {
    size_t end = row + 1;
    while (end < benchmarks &&
           evaluator.PairCount(row, end + 1) * static_cast<size_t>(options.replicates) <=
               kBlockValuesMax) {
      ++end;
    }
    std::vector<BootstrapInterval> part = Block(table, evaluator, draws, options, row, end).Run();
    std::move(part.begin(), part.end(), std::back_inserter(intervals));
    row = end;
  }
  return intervals;
}

}  // namespace concur::analysis
