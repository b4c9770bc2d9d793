// SPDX-License-Identifier: Apache-2.0
#include "analysis/strata.h"

#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "analysis/intervals.h"
#include "analysis/table.h"
#include "analysis/text.h"
#include "base/decimal.h"

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

}  // namespace

absl::StatusOr<StratifiedPrediction> PredictByStrata(
    const std::string& attribute, absl::Span<const StratifiedExample> examples,
    absl::Span<const StratifiedExample> new_examples, double level) {
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
  result.score = 100 * ComputeMoments(all).mean;
  result.actual = MeanPercent(all_new, static_cast<int64_t>(new_examples.size()));
  double covered = 0;
  double sum = 0;
  double variance = 0;
  bool has_spread = true;
  for (const auto& [name, sides] : strata) {
    const auto n = static_cast<int64_t>(sides.scores.size());
    result.strata.push_back({name, n, sides.new_n, MeanPercent(sides.scores, n),
                             MeanPercent(sides.new_scores, sides.new_n)});
    if (n == 0 || sides.new_n == 0) {
      continue;
    }
    const Moments moments = ComputeMoments(sides.scores);
    const auto weight = static_cast<double>(sides.new_n);
    covered += weight;
    sum += weight * moments.mean;
    variance += weight * weight * moments.standard_deviation * moments.standard_deviation /
                static_cast<double>(n);
    has_spread = has_spread && n > 1;
  }
  result.covered = covered / static_cast<double>(new_examples.size());
  if (covered > 0) {
    result.predicted = 100 * sum / covered;
    if (has_spread && variance > 0) {
      const double half = 100 * std::sqrt(variance) / covered *
                          boost::math::quantile(boost::math::complement(
                              boost::math::normal_distribution<double>(), (1 - level) / 2));
      result.interval = Interval{std::max(0.0, *result.predicted - half),
                                 std::min(100.0, *result.predicted + half)};
    }
  }
  return result;
}

Table StrataTable(const std::vector<StratifiedPrediction>& predictions, double level) {
  Table table;
  table.title = "Scores by stratum, and the old ones in the new mixture";
  table.columns = {{"by", "by"},
                   {"stratum", "stratum"},
                   {"n", "n", true},
                   {"share", "share %", true, 1},
                   {"score", "score", true},
                   {"new_n", "new n", true},
                   {"new_share", "new share %", true, 1},
                   {"new_score", "new score", true},
                   {"predicted", "predicted", true},
                   {"low", "low", true},
                   {"high", "high", true}};
  for (const StratifiedPrediction& prediction : predictions) {
    int64_t n = 0;
    int64_t new_n = 0;
    for (const Stratum& stratum : prediction.strata) {
      n += stratum.n;
      new_n += stratum.new_n;
    }
    const auto share = [](int64_t part, int64_t whole) {
      return NumberCell(100 * static_cast<double>(part) / static_cast<double>(whole));
    };
    for (const Stratum& stratum : prediction.strata) {
      table.rows.push_back({TextCell(prediction.attribute), TextCell(stratum.name),
                            IntegerCell(stratum.n), share(stratum.n, n), NumberCell(stratum.score),
                            IntegerCell(stratum.new_n), share(stratum.new_n, new_n),
                            NumberCell(stratum.new_score), TableCell(), TableCell(), TableCell()});
    }
    table.rows.push_back({TextCell(prediction.attribute), TextCell("(all)"), IntegerCell(n),
                          NumberCell(100), NumberCell(prediction.score), IntegerCell(new_n),
                          NumberCell(100), NumberCell(prediction.actual),
                          NumberCell(prediction.predicted), LowCell(prediction.interval),
                          HighCell(prediction.interval)});
    if (prediction.predicted.has_value()) {
      std::string note =
          absl::StrCat(prediction.attribute, ": the new mixture alone would move the score from ",
                       Fixed(prediction.score, 2), " to ", Fixed(*prediction.predicted, 2));
      if (prediction.actual.has_value()) {
        absl::StrAppend(&note, "; it is ", Fixed(*prediction.actual, 2));
      }
      if (prediction.covered < 1) {
        absl::StrAppend(&note, " (", Fixed(100 * (1 - prediction.covered), 1),
                        " % of the new examples are in strata that the old set lacks)");
      }
      table.notes.push_back(note + ".");
    }
  }
  table.notes.push_back(absl::StrCat("low and high: ", ShortestDecimal(100 * level),
                                     " % interval of the prediction, from the spread within strata "
                                     "of the old set."));
  return table;
}

}  // namespace concur::analysis
