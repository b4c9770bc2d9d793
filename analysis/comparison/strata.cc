// SPDX-License-Identifier: Apache-2.0
#include "analysis/comparison/strata.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "analysis/statistics/intervals.h"

namespace concur::analysis {
namespace {

struct Sides {
  std::vector<double> scores;
  std::vector<double> new_scores;
  int64_t new_n = 0;
};

std::optional<double> MeanPercent(const std::vector<double>& scores, int64_t n) {
  return n > 0 && static_cast<int64_t>(scores.size()) == n
             ? std::optional(100 * ComputeMoments(scores).mean)
             : std::nullopt;
}

absl::Status Check(const std::string& attribute, absl::Span<const StratifiedExample> examples,
                   absl::Span<const StratifiedExample> new_examples, double level) {
  if (!(level > 0 && level < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("interval: expected a number strictly between 0 and 1, got ", level));
  }
  if (examples.empty() || new_examples.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(attribute,
                                                   ": expected examples of both test sets, got ",
                                                   examples.size(), " and ", new_examples.size()));
  }
  for (const StratifiedExample& example : examples) {
    if (!example.score.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat(attribute, ": expected a score of every example of the old test set"));
    }
  }
  for (const absl::Span<const StratifiedExample> set : {examples, new_examples}) {
    for (const StratifiedExample& example : set) {
      if (example.score.has_value() && !std::isfinite(*example.score)) {
        return absl::InvalidArgumentError(
            absl::StrCat(attribute, ": expected finite scores, got ", *example.score));
      }
    }
  }
  return absl::OkStatus();
}

// A stratum that both sets have.
struct Counted {
  double weight = 0;  // new examples
  double mean = 0;    // mean score of the old ones
  double n = 0;
};

// The examples of a cluster in one stratum: their number and the sum of deviations from its mean.
struct Part {
  double n = 0;
  double deviations = 0;
};

// Half the width of the interval of the sum of weight * mean; nothing where a stratum is in one
// cluster alone, or nothing varies. Variables are named as in LineIntervals::VarianceOf, of which
// this is the case of a column for each stratum.
std::optional<double> HalfWidth(absl::Span<const StratifiedExample> examples,
                                const std::map<std::string, Counted>& counted,
                                const ExampleClusters& clusters, double level) {
  std::map<size_t, std::map<std::string, Part>> parts;  // by cluster and stratum
  for (size_t i = 0; i < examples.size(); ++i) {
    const auto stratum = counted.find(examples[i].stratum);
    if (stratum != counted.end()) {
      Part& part = parts[clusters.of.empty() ? i : clusters.of[i]][stratum->first];
      ++part.n;
      part.deviations += *examples[i].score - stratum->second.mean;
    }
  }
  double sum = 0;
  double trace = 0;
  double squares = 0;
  std::map<std::pair<std::string, std::string>, double> products;  // products of p, by two strata
  for (const auto& [cluster, of_cluster] : parts) {
    double change = 0;
    double own = 0;
    double shared = 0;
    std::vector<std::pair<std::string, double>> scaled;  // p / sqrt(n)
    for (const auto& [name, part] : of_cluster) {
      const Counted& stratum = counted.at(name);
      if (part.n == stratum.n) {
        return std::nullopt;
      }
      const double v = stratum.weight / (stratum.n - part.n);
      change += v * part.deviations;
      own += v * v * part.n;
      shared += v * part.n * v * part.n / stratum.n;
      scaled.emplace_back(name, v * part.n / std::sqrt(stratum.n));
    }
    for (const auto& [s, p_s] : scaled) {
      for (const auto& [t, p_t] : scaled) {
        products[{s, t}] += p_s * p_t;
      }
    }
    sum += change * change;
    trace += own - shared;
    squares += own * own - 2 * own * shared;
  }
  for (const auto& [of, product] : products) {
    squares += product * product;
  }
  if (sum <= 0) {
    return std::nullopt;
  }
  const boost::math::students_t_distribution<double> t(trace * trace / squares);
  return std::sqrt(sum) * boost::math::quantile(boost::math::complement(t, (1 - level) / 2));
}

}  // namespace

absl::StatusOr<StratifiedPrediction> PredictByStrata(
    const std::string& attribute, absl::Span<const StratifiedExample> examples,
    absl::Span<const StratifiedExample> new_examples, const ExampleClusters& clusters,
    double level) {
  const absl::Status checked = Check(attribute, examples, new_examples, level);
  if (!checked.ok()) {
    return checked;
  }
  std::map<std::string, Sides> strata;
  std::vector<double> all;
  std::vector<double> all_new;
  for (const StratifiedExample& example : examples) {
    strata[example.stratum].scores.push_back(*example.score);
    all.push_back(*example.score);
  }
  for (const StratifiedExample& example : new_examples) {
    Sides& sides = strata[example.stratum];
    ++sides.new_n;
    if (example.score.has_value()) {
      sides.new_scores.push_back(*example.score);
      all_new.push_back(*example.score);
    }
  }
  StratifiedPrediction result;
  result.attribute = attribute;
  result.unit = clusters.unit;
  result.clusters = clusters.of.empty() ? examples.size() : clusters.count;
  result.score = 100 * ComputeMoments(all).mean;
  result.actual = MeanPercent(all_new, static_cast<int64_t>(new_examples.size()));
  double covered = 0;
  double sum = 0;
  std::map<std::string, Counted> counted;
  for (const auto& [name, sides] : strata) {
    const auto n = static_cast<int64_t>(sides.scores.size());
    result.strata.push_back({name, n, sides.new_n, MeanPercent(sides.scores, n),
                             MeanPercent(sides.new_scores, sides.new_n)});
    if (n == 0 || sides.new_n == 0) {
      continue;
    }
    const auto weight = static_cast<double>(sides.new_n);
    const double mean = ComputeMoments(sides.scores).mean;
    covered += weight;
    sum += weight * mean;
    counted[name] = {weight, mean, static_cast<double>(n)};
  }
  result.covered = covered / static_cast<double>(new_examples.size());
  if (covered > 0) {
    result.predicted = 100 * sum / covered;
    const std::optional<double> half = HalfWidth(examples, counted, clusters, level);
    if (half.has_value()) {
      result.interval = Interval{std::max(0.0, *result.predicted - 100 * *half / covered),
                                 std::min(100.0, *result.predicted + 100 * *half / covered)};
    }
  }
  return result;
}

}  // namespace concur::analysis
