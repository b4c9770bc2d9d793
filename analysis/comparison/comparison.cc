// SPDX-License-Identifier: Apache-2.0
#include "analysis/comparison/comparison.h"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "analysis/bootstrap.h"
#include "analysis/clustered_mean.h"
#include "analysis/statistics/multiplicity.h"
#include "base/random.h"
#include "base/status_macros.h"
#include "base/suggest.h"

namespace concur::analysis {
namespace {

// Two lanes, which every x86-64 and ARM64 has; a block of lanes fits the registers.
using Doubles = double __attribute__((vector_size(16)));
constexpr size_t kLanes = 2;
constexpr size_t kVectorsAtOnce = 8;
constexpr size_t kColumnsAtOnce = kLanes * kVectorsAtOnce;
// Replicates that share one stream of random numbers: the unit of work of a thread.
constexpr size_t kChunk = 32;
// Examples whose scores stay in the fast cache while the replicates of a chunk pass over them.
constexpr size_t kExamplesAtOnce = 256;
constexpr double kRounding = 1e-12;  // relative rounding error of sums of scores

absl::Status CheckTable(const ExampleTable& table) {
  if (table.examples == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(table.benchmark, ": expected at least one test example, got none"));
  }
  if (table.values.size() != table.approaches.size() * table.examples) {
    return absl::InvalidArgumentError(absl::StrCat(table.benchmark, ": expected ",
                                                   table.approaches.size(), " x ", table.examples,
                                                   " scores, got ", table.values.size()));
  }
  for (size_t i = 0; i < table.values.size(); ++i) {
    if (!std::isfinite(table.values[i])) {
      return absl::InvalidArgumentError(
          absl::StrCat(table.benchmark, ": ", table.approaches[i / table.examples], ", example ",
                       i % table.examples + 1, ": expected a finite score, got ", table.values[i]));
    }
  }
  return absl::OkStatus();
}

// Means of all approaches in every replicate, with the signs of clusters changed at random.
class SignedMeans {
 public:
  SignedMeans(const ExampleTable& table, const ExampleClusters& clusters,
              const BootstrapOptions& options)
      : examples_(table.examples),
        approaches_(table.approaches.size()),
        groups_((approaches_ + kColumnsAtOnce - 1) / kColumnsAtOnce),
        replicates_(static_cast<size_t>(options.replicates)),
        clusters_(clusters),
        seed_(options.seed),
        stream_(absl::StrCat("permutation/examples/", table.benchmark, "/")),
        scores_(groups_ * examples_ * kVectorsAtOnce),
        means_(approaches_ * replicates_) {
    for (size_t a = 0; a < approaches_; ++a) {
      const absl::Span<const double> row = table.row(a);
      const size_t group = a / kColumnsAtOnce;
      const size_t vector = a % kColumnsAtOnce / kLanes;
      for (size_t i = 0; i < examples_; ++i) {
        scores_[(group * examples_ + i) * kVectorsAtOnce + vector][a % kLanes] = row[i];
      }
    }
    const size_t chunks = (replicates_ + kChunk - 1) / kChunk;
    options.parallel_for(chunks, [this](size_t chunk) { RunChunk(chunk); });
  }

  // Fractions, one for each replicate.
  absl::Span<const double> of(size_t approach) const {
    return absl::Span<const double>(means_).subspan(approach * replicates_, replicates_);
  }

 private:
  void RunChunk(size_t chunk) {
    const size_t begin = chunk * kChunk;
    const size_t count = std::min(replicates_ - begin, kChunk);
    std::vector<int16_t> signs(count * examples_);
    Random random(seed_, absl::StrCat(stream_, chunk));
    for (size_t r = 0; r < count; ++r) {
      FillSigns(random, signs.data() + r * examples_);
    }
    for (size_t group = 0; group < groups_; ++group) {
      std::vector<Doubles> sums(count * kVectorsAtOnce);
      for (size_t first = 0; first < examples_; first += kExamplesAtOnce) {
        const size_t last = std::min(examples_, first + kExamplesAtOnce);
        for (size_t r = 0; r < count; ++r) {
          AddBlock(signs.data() + r * examples_, group, first, last,
                   sums.data() + r * kVectorsAtOnce);
        }
      }
      const size_t columns = std::min(approaches_ - group * kColumnsAtOnce, kColumnsAtOnce);
      for (size_t c = 0; c < columns; ++c) {
        double* means = means_.data() + (group * kColumnsAtOnce + c) * replicates_ + begin;
        for (size_t r = 0; r < count; ++r) {
          means[r] =
              sums[r * kVectorsAtOnce + c / kLanes][c % kLanes] / static_cast<double>(examples_);
        }
      }
    }
  }

  // Writes the sign of each example.
  void FillSigns(Random& random, int16_t* of_example) const {
    const bool alone = clusters_.of.empty();
    std::vector<int16_t> signs(clusters_.count);
    uint64_t bits = 0;
    for (size_t c = 0; c < signs.size(); ++c) {
      bits = c % 64 == 0 ? random.Next() : bits >> 1;
      signs[c] = (bits & 1) != 0 ? 1 : -1;
    }
    for (size_t i = 0; i < examples_; ++i) {
      of_example[i] = signs[alone ? i : clusters_.of[i]];
    }
  }

  void AddBlock(const int16_t* counts, size_t group, size_t first, size_t last,
                Doubles* totals) const {
    Doubles sums[kVectorsAtOnce];
    std::copy(totals, totals + kVectorsAtOnce, sums);
    const Doubles* scores = scores_.data() + group * examples_ * kVectorsAtOnce;
    for (size_t i = first; i < last; ++i) {
      const auto count = static_cast<double>(counts[i]);
      const Doubles weight = {count, count};
      const Doubles* at = scores + i * kVectorsAtOnce;
      for (size_t v = 0; v < kVectorsAtOnce; ++v) {
        sums[v] += weight * at[v];
      }
    }
    std::copy(sums, sums + kVectorsAtOnce, totals);
  }

  size_t examples_;
  size_t approaches_;
  size_t groups_;
  size_t replicates_;
  const ExampleClusters& clusters_;
  uint64_t seed_;
  std::string stream_;
  std::vector<Doubles> scores_;  // group, then example, then vector of approaches
  std::vector<double> means_;    // approach by approach
};

std::optional<McNemar> CountAgreement(absl::Span<const double> a, absl::Span<const double> b,
                                      Goal goal) {
  McNemar counts;
  const double right = goal == Goal::kMinimize ? 0 : 1;
  for (size_t i = 0; i < a.size(); ++i) {
    const bool binary = (a[i] == 0 || a[i] == 1) && (b[i] == 0 || b[i] == 1);
    if (!binary) {
      return std::nullopt;
    }
    counts.both += a[i] == right && b[i] == right ? 1 : 0;
    counts.only_a += a[i] == right && b[i] != right ? 1 : 0;
    counts.only_b += a[i] != right && b[i] == right ? 1 : 0;
    counts.neither += a[i] != right && b[i] != right ? 1 : 0;
  }
  counts.p_value = McNemarPValue(counts.only_a, counts.only_b);
  return counts;
}

// The differences of two approaches summed over each cluster, without those of none, over the
// number of examples, in the table's unit.
std::vector<double> ClusterDifferences(absl::Span<const double> a, absl::Span<const double> b,
                                       const ExampleClusters& clusters, double unit) {
  std::vector<double> sums(clusters.count, 0.0);
  for (size_t i = 0; i < a.size(); ++i) {
    sums[clusters.of.empty() ? i : clusters.of[i]] += a[i] - b[i];
  }
  double largest = 0;
  for (const double sum : sums) {
    largest = std::max(largest, std::abs(sum));
  }
  const double none = kRounding * largest;
  sums.erase(
      std::remove_if(sums.begin(), sums.end(), [&](double sum) { return std::abs(sum) <= none; }),
      sums.end());
  for (double& sum : sums) {
    sum *= unit / static_cast<double>(a.size());
  }
  return sums;
}

// The most that rounding takes from a sum of these numbers.
double RoundingOf(const std::vector<double>& sums) {
  return kRounding * std::accumulate(sums.begin(), sums.end(), 0.0, [](double total, double sum) {
           return total + std::abs(sum);
         });
}

// The share of all choices of signs whose sum is as far from 0 as that of all plus.
double AllSignsPValue(const std::vector<double>& sums) {
  const double observed = std::abs(std::accumulate(sums.begin(), sums.end(), 0.0));
  const double slack = RoundingOf(sums);
  const uint32_t choices = uint32_t{1} << sums.size();
  int64_t as_far = 0;
  for (uint32_t choice = 0; choice < choices; ++choice) {
    double sum = 0;
    for (size_t i = 0; i < sums.size(); ++i) {
      sum += (choice >> i & 1) != 0 ? sums[i] : -sums[i];
    }
    as_far += std::abs(sum) >= observed - slack ? 1 : 0;
  }
  return static_cast<double>(as_far) / static_cast<double>(choices);
}

// At least the share of all choices of signs whose sum is as far from 0 as that of all plus: less
// than c times that of a normal variable of the same variance, c = 1 / (4 P(Z >= sqrt 2)), for
// either end (Bentkus and Dzindzalieta, Bernoulli 2015). Tells how small a share is that no draw
// has met, which otherwise would depend on their number.
double SignsBound(const std::vector<double>& sums) {
  const double observed = std::abs(std::accumulate(sums.begin(), sums.end(), 0.0));
  double squares = 0;
  for (const double sum : sums) {
    squares += sum * sum;
  }
  const auto normal_above = [](double z) { return std::erfc(z / std::sqrt(2.0)) / 2; };
  const double factor = 1 / (4 * normal_above(std::sqrt(2.0)));
  return 2 * factor * normal_above(std::max(0.0, observed - RoundingOf(sums)) / std::sqrt(squares));
}

// Tests of every pair by one way to cluster the examples.
class PairTests {
 public:
  PairTests(const ExampleTable& table, const ExampleClusters& clusters,
            const BootstrapOptions& options)
      : table_(table), clusters_(clusters), signs_(table, clusters, options) {}

  // Nothing for a single cluster.
  std::optional<Interval> IntervalOf(size_t a, size_t b, double level) const {
    std::vector<double> differences;
    for (size_t i = 0; i < table_.examples; ++i) {
      differences.push_back(table_.unit * (table_.row(a)[i] - table_.row(b)[i]));
    }
    const absl::StatusOr<Interval> interval = ClusteredMeanInterval(differences, clusters_, level);
    return interval.ok() ? std::optional(*interval) : std::nullopt;
  }

  double PValue(size_t a, size_t b, const std::optional<McNemar>& mcnemar) const {
    if (mcnemar.has_value() && clusters_.of.empty()) {
      return mcnemar->p_value;  // the same test, all permutations counted
    }
    constexpr size_t kAllSignsMax = 16;
    const std::vector<double> sums =
        ClusterDifferences(table_.row(a), table_.row(b), clusters_, table_.unit);
    if (sums.size() <= kAllSignsMax) {
      return AllSignsPValue(sums);
    }
    const double observed = std::abs(std::accumulate(sums.begin(), sums.end(), 0.0));
    const double slack = RoundingOf(sums);
    const std::vector<double> differences = Differences(a, b);
    const auto as_far =
        std::count_if(differences.begin(), differences.end(),
                      [&](double difference) { return std::abs(difference) >= observed - slack; });
    // The observation counts as a permutation (Davison and Hinkley, 1997, § 4.2).
    const double p = static_cast<double>(as_far + 1) / static_cast<double>(differences.size() + 1);
    return as_far == 0 ? std::min(p, SignsBound(sums)) : p;
  }

 private:
  std::vector<double> Differences(size_t a, size_t b) const {
    const absl::Span<const double> of_a = signs_.of(a);
    const absl::Span<const double> of_b = signs_.of(b);
    std::vector<double> differences(of_a.size());
    for (size_t r = 0; r < differences.size(); ++r) {
      differences[r] = table_.unit * (of_a[r] - of_b[r]);
    }
    return differences;
  }

  const ExampleTable& table_;
  const ExampleClusters& clusters_;
  SignedMeans signs_;
};

PairedComparison Compare(const ExampleTable& table, const PairTests& by_cluster,
                         const PairTests& by_question, absl::Span<const double> observed, size_t a,
                         size_t b, double level) {
  PairedComparison pair;
  pair.a = a;
  pair.b = b;
  pair.mean_a = observed[a];
  pair.mean_b = observed[b];
  pair.difference = pair.mean_a - pair.mean_b;
  pair.mcnemar = CountAgreement(table.row(a), table.row(b), table.goal);
  pair.interval = by_cluster.IntervalOf(a, b, level);
  pair.p_value = by_cluster.PValue(a, b, pair.mcnemar);
  pair.question_interval = by_question.IntervalOf(a, b, level);
  pair.question_p = by_question.PValue(a, b, pair.mcnemar);
  pair.p_value_holm = pair.p_value;
  pair.mcnemar_p_holm =
      pair.mcnemar.has_value() ? pair.mcnemar->p_value : std::numeric_limits<double>::quiet_NaN();
  return pair;
}

}  // namespace

double McNemarPValue(int64_t only_a, int64_t only_b) {
  const int64_t fewer = std::min(only_a, only_b);
  const int64_t discordant = only_a + only_b;
  if (only_a == only_b) {
    return 1;
  }
  const boost::math::binomial_distribution<double> half(static_cast<double>(discordant), 0.5);
  return std::min(1.0, 2 * boost::math::cdf(half, static_cast<double>(fewer)));
}

absl::StatusOr<BenchmarkComparison> CompareApproaches(const ExampleTable& table,
                                                      const ComparisonOptions& options) {
  CONCUR_RETURN_IF_ERROR(ValidateBootstrapOptions(options.bootstrap));
  CONCUR_RETURN_IF_ERROR(CheckTable(table));
  BenchmarkComparison result;
  result.benchmark = table.benchmark;
  result.metric = table.metric;
  result.goal = table.goal;
  result.approaches = table.approaches;
  result.examples = table.examples;
  result.left_out = table.left_out;
  const size_t n = table.approaches.size();
  size_t baseline = n;
  if (options.baseline.has_value()) {
    baseline = static_cast<size_t>(
        std::find(table.approaches.begin(), table.approaches.end(), *options.baseline) -
        table.approaches.begin());
    if (baseline == n) {
      return absl::InvalidArgumentError(
          absl::StrCat("baseline: ", table.benchmark, " has no approach \"", *options.baseline,
                       "\"", DidYouMean(*options.baseline, table.approaches), "; it has ",
                       absl::StrJoin(table.approaches, ", ")));
    }
  }
  if (n < 2) {
    return result;
  }
  const ExampleClusters clusters = ClustersOf(table.places, table.examples, options.unit);
  result.unit = clusters.unit;
  result.clusters = clusters.count;
  const ExampleClusters alone = ClustersOf({}, table.examples, ExampleUnit::kExample);
  const PairTests by_question(table, alone, options.bootstrap);
  std::optional<PairTests> by_cluster;
  if (clusters.unit != ExampleUnit::kExample) {
    by_cluster.emplace(table, clusters, options.bootstrap);
  }
  std::vector<double> observed;
  for (size_t a = 0; a < n; ++a) {
    const absl::Span<const double> row = table.row(a);
    observed.push_back(table.unit * std::accumulate(row.begin(), row.end(), 0.0) /
                       static_cast<double>(table.examples));
  }
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = i + 1; j < n; ++j) {
      if (baseline < n && i != baseline && j != baseline) {
        continue;
      }
      const bool swap =
          table.goal == Goal::kMinimize ? observed[j] < observed[i] : observed[j] > observed[i];
      result.pairs.push_back(Compare(table, by_cluster.has_value() ? *by_cluster : by_question,
                                     by_question, observed, swap ? j : i, swap ? i : j,
                                     options.bootstrap.level));
    }
  }
  return result;
}

void HolmCorrect(std::vector<BenchmarkComparison>& comparisons) {
  std::vector<double> bootstrap;
  std::vector<double> mcnemar;
  for (const BenchmarkComparison& comparison : comparisons) {
    for (const PairedComparison& pair : comparison.pairs) {
      bootstrap.push_back(pair.p_value);
      mcnemar.push_back(pair.mcnemar.has_value() ? pair.mcnemar->p_value
                                                 : std::numeric_limits<double>::quiet_NaN());
    }
  }
  bootstrap = HolmAdjusted(bootstrap);
  mcnemar = HolmAdjusted(mcnemar);
  size_t at = 0;
  for (BenchmarkComparison& comparison : comparisons) {
    for (PairedComparison& pair : comparison.pairs) {
      pair.p_value_holm = bootstrap[at];
      pair.mcnemar_p_holm = mcnemar[at];
      ++at;
    }
  }
}

absl::StatusOr<std::vector<BenchmarkComparison>> CompareAll(const std::vector<ExampleTable>& tables,
                                                            const ComparisonOptions& options) {
  std::vector<BenchmarkComparison> comparisons;
  for (const ExampleTable& table : tables) {
    if (table.approaches.size() < 2) {
      // Nothing to compare, but what is missing stays visible.
      BenchmarkComparison none;
      none.benchmark = table.benchmark;
      none.left_out = table.left_out;
      if (!table.approaches.empty()) {
        none.left_out.push_back(
            absl::StrCat(table.approaches[0], ": no other approach to compare it with"));
      }
      comparisons.push_back(std::move(none));
      continue;
    }
    CONCUR_ASSIGN_OR_RETURN(BenchmarkComparison comparison, CompareApproaches(table, options));
    comparisons.push_back(std::move(comparison));
  }
  HolmCorrect(comparisons);
  return comparisons;
}

}  // namespace concur::analysis
