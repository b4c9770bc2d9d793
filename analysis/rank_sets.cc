// SPDX-License-Identifier: Apache-2.0
#include "analysis/rank_sets.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "analysis/multiplicity.h"
#include "analysis/notes.h"
#include "base/decimal.h"
#include "base/random.h"
#include "base/status_macros.h"

namespace concur::analysis {
namespace {

constexpr size_t kSampleMin = 3;  // benchmarks

using StudentsT = boost::math::students_t_distribution<
    double, boost::math::policies::policy<
                boost::math::policies::domain_error<boost::math::policies::ignore_error>,
                boost::math::policies::overflow_error<boost::math::policies::ignore_error>>>;

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

// An ordered pair: that `better` exceeds `worse` is to be shown.
struct OrderedPair {
  size_t better = 0;
  size_t worse = 0;
  double t = 0;  // the difference in standard errors
  double error = 0;
};

class RankTest {
 public:
  RankTest(const RankEstimate& estimate, const RankSetOptions& options)
      : values_(estimate.values),
        count_(estimate.values.size()),
        level_(options.level),
        degrees_(estimate.degrees) {
    double largest = 0;
    for (const double value : values_) {
      largest = std::max(largest, std::abs(value));
    }
    nothing_ = kSumError * largest;
    errors_.resize(count_ * count_);
    for (size_t j = 0; j < count_; ++j) {
      for (size_t k = 0; k < count_; ++k) {
        double variance = 0;
        for (const std::vector<double>& factor : estimate.factors) {
          variance += (factor[j] - factor[k]) * (factor[j] - factor[k]);
        }
        const double error = std::sqrt(variance);
        errors_[j * count_ + k] = error > nothing_ ? error : 0;
      }
    }
    if (degrees_ == 0) {
      Draw(estimate, options);
    }
  }

  double error(size_t j, size_t k) const { return errors_[j * count_ + k]; }
  // The difference of two values; 0 where only the order of a sum may have made it.
  double difference(size_t j, size_t k) const {
    const double difference = values_[j] - values_[k];
    return std::abs(difference) > nothing_ ? difference : 0;
  }

  // Which of all ordered pairs that hold one of `about` (nothing: any) are shown to be in order, by
  // better * count + worse.
  std::vector<bool> Shown(std::optional<size_t> about) const {
    std::vector<OrderedPair> open;
    std::vector<bool> shown(count_ * count_, false);
    for (size_t j = 0; j < count_; ++j) {
      for (size_t k = 0; k < count_; ++k) {
        if (j == k || (about.has_value() && *about != j && *about != k)) {
          continue;
        }
        const double se = error(j, k);
        if (se > 0) {
          open.push_back({j, k, difference(j, k) / se, se});
        } else {
          shown[j * count_ + k] = difference(j, k) > 0;
        }
      }
    }
    while (!open.empty()) {
      const double critical = CriticalValue(open);
      const auto rejected = std::stable_partition(
          open.begin(), open.end(), [&](const OrderedPair& pair) { return !(pair.t > critical); });
      if (rejected == open.end()) {
        break;
      }
      for (auto pair = rejected; pair != open.end(); ++pair) {
        shown[pair->better * count_ + pair->worse] = true;
      }
      open.erase(rejected, open.end());
    }
    return shown;
  }

 private:
  void Draw(const RankEstimate& estimate, const RankSetOptions& options) {
    const auto draws = static_cast<size_t>(options.draws);
    noise_.resize(draws * count_);
    Random random(options.seed, "rank-sets");
    for (size_t r = 0; r < draws; ++r) {
      double* row = noise_.data() + r * count_;
      for (const std::vector<double>& factor : estimate.factors) {
        const double g = random.Normal();
        for (size_t j = 0; j < count_; ++j) {
          row[j] += g * factor[j];
        }
      }
    }
  }

  // With errors that are known, the quantile at the level of the largest difference of noise over
  // the pairs. Errors estimated from few units are each pair's own, with its own luck, which draws
  // with the estimated errors do not have: Student's t, by Bonferroni and Holm.
  double CriticalValue(const std::vector<OrderedPair>& pairs) const {
    if (degrees_ > 0) {
      return boost::math::quantile(boost::math::complement(
          StudentsT(degrees_), (1 - level_) / static_cast<double>(pairs.size())));
    }
    std::vector<double> largest(noise_.size() / count_);
    for (size_t r = 0; r < largest.size(); ++r) {
      const double* row = noise_.data() + r * count_;
      double most = 0;
      for (const OrderedPair& pair : pairs) {
        most = std::max(most, (row[pair.better] - row[pair.worse]) / pair.error);
      }
      largest[r] = most;
    }
    std::sort(largest.begin(), largest.end());
    const double position = level_ * static_cast<double>(largest.size() - 1);
    const auto index = static_cast<size_t>(position);
    const double share = position - static_cast<double>(index);
    return index + 1 < largest.size()
               ? largest[index] + share * (largest[index + 1] - largest[index])
               : largest[index];
  }

  const std::vector<double>& values_;
  size_t count_;
  double level_;
  double degrees_;
  double nothing_ = 0;  // differences and errors up to this are none
  std::vector<double> errors_;
  std::vector<double> noise_;  // draw by draw
};

RankSet SetOf(const std::vector<bool>& shown, size_t approach, size_t count) {
  RankSet set{1, static_cast<int64_t>(count)};
  for (size_t other = 0; other < count; ++other) {
    set.low += shown[other * count + approach] ? 1 : 0;
    set.high -= shown[approach * count + other] ? 1 : 0;
  }
  return set;
}

double TwoSided(double t, double degrees) {
  if (degrees > 0) {
    return 2 * boost::math::cdf(boost::math::complement(StudentsT(degrees), std::abs(t)));
  }
  return std::erfc(std::abs(t) / std::sqrt(2.0));
}

void AddNeighbours(const RankEstimate& estimate, const RankTest& test, RankSets& sets) {
  for (const std::vector<size_t>& tied : TiedGroups(estimate.values)) {
    sets.order.insert(sets.order.end(), tied.begin(), tied.end());
  }
  for (size_t i = 0; i + 1 < sets.order.size(); ++i) {
    const size_t above = sets.order[i];
    const size_t below = sets.order[i + 1];
    const double error = test.error(above, below);
    const double difference = test.difference(above, below);
    sets.neighbour_p.push_back(error > 0         ? TwoSided(difference / error, estimate.degrees)
                               : difference != 0 ? 0
                                                 : 1);
  }
  sets.neighbour_p_holm = HolmAdjusted(sets.neighbour_p);
}

}  // namespace

absl::StatusOr<RankEstimate> EstimateOverBenchmarks(const ScoreTable& table,
                                                    const BenchmarkGroup& group,
                                                    const std::vector<size_t>& approaches) {
  const auto count = static_cast<double>(group.benchmarks.size());
  if (group.benchmarks.size() < kSampleMin) {
    return absl::InvalidArgumentError(absl::StrCat("resolve: benchmarks as a sample need at least ",
                                                   kSampleMin, " of them, ", group.name, " has ",
                                                   group.benchmarks.size()));
  }
  RankEstimate estimate;
  estimate.values = AveragesOf(table, group, approaches);
  estimate.degrees = count - 1;
  estimate.unit = "benchmarks";
  for (const size_t benchmark : group.benchmarks) {
    std::vector<double>& factor = estimate.factors.emplace_back();
    for (size_t i = 0; i < approaches.size(); ++i) {
      factor.push_back((table.cell(approaches[i], benchmark).value - estimate.values[i]) /
                       std::sqrt(count * (count - 1)));
    }
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
    const auto groups = static_cast<double>(clusters.count);
    const auto count = static_cast<double>(scores->examples);
    const std::optional<double> full_score = table.full_score(benchmark);
    if (!full_score.has_value()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "resolve: per-example scores are shares, and the scale of \"", name,
          "\" does not begin at 0: ", ScaleText(table.benchmarks()[benchmark].metric.scale)));
    }
    const double weight =
        *full_score / (benchmarks * count) * std::sqrt(groups / std::max(1.0, groups - 1));
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
  }
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
      group.benchmarks.size() < kSampleMin) {
    return std::optional<RankEstimate>();
  }
  CONCUR_ASSIGN_OR_RETURN(RankEstimate estimate,
                          EstimateOverBenchmarks(table.Oriented(), group, approaches));
  return std::optional(std::move(estimate));
}

absl::StatusOr<RankSets> ComputeRankSets(const RankEstimate& estimate,
                                         const RankSetOptions& options) {
  if (!(options.level > 0 && options.level < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("interval: expected a number strictly between 0 and 1, got ", options.level));
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
  RankSets sets;
  if (count == 0) {
    return sets;
  }
  const RankTest test(estimate, options);
  sets.marginal.resize(count);
  options.parallel_for(count, [&](size_t approach) {
    sets.marginal[approach] = SetOf(test.Shown(approach), approach, count);
  });
  const std::vector<bool> shown = test.Shown(std::nullopt);
  for (size_t approach = 0; approach < count; ++approach) {
    sets.simultaneous.push_back(SetOf(shown, approach, count));
  }
  AddNeighbours(estimate, test, sets);
  sets.groups.assign(count, 0);
  int64_t group = 0;
  size_t best = 0;  // of the group
  for (const size_t approach : sets.order) {
    if (group == 0 || shown[best * count + approach]) {
      ++group;
      best = approach;
    }
    sets.groups[approach] = group;
  }
  return sets;
}

void AddRankSets(const RankEstimate& estimate, const RankSets& sets, const RankSetOptions& options,
                 Table& table) {
  for (const char* key : {"rank_low", "rank_high", "all_ranks_low", "all_ranks_high"}) {
    table.columns.push_back(ForPrograms(key));
  }
  table.columns.push_back(ForPeople("rank set", true));
  table.columns.push_back(ForPeople("of all", true));
  table.columns.push_back({"group", "group", true});
  table.columns.push_back({"next_p_holm", "next differs: p (Holm)", true, 4});
  const auto text = [](const RankSet& set) {
    return TextCell(set.low == set.high ? absl::StrCat(set.low)
                                        : absl::StrCat(set.low, "–", set.high));
  };
  for (size_t i = 0; i < table.rows.size(); ++i) {
    TableRow& row = table.rows[i];
    if (i >= sets.order.size()) {
      row.resize(table.columns.size());
      continue;
    }
    const size_t approach = sets.order[i];
    const RankSet& own = sets.marginal[approach];
    const RankSet& all = sets.simultaneous[approach];
    for (TableCell& cell : std::vector<TableCell>{
             IntegerCell(own.low), IntegerCell(own.high), IntegerCell(all.low),
             IntegerCell(all.high), text(own), text(all), IntegerCell(sets.groups[approach]),
             i < sets.neighbour_p_holm.size() ? NumberCell(sets.neighbour_p_holm[i])
                                              : TableCell()}) {
      row.push_back(std::move(cell));
    }
  }
  const auto differ = std::count_if(sets.neighbour_p_holm.begin(), sets.neighbour_p_holm.end(),
                                    [&](double p) { return p < 1 - options.level; });
  const int64_t groups =
      sets.groups.empty() ? 0 : *std::max_element(sets.groups.begin(), sets.groups.end());
  table.notes.push_back(absl::StrCat("Resolved by ", estimate.unit, ": ", differ, " of ",
                                     sets.neighbour_p.size(),
                                     " neighbours in the ranking differ after Holm's correction; ",
                                     groups, groups == 1 ? " group." : " groups."));
  table.notes.push_back(absl::StrCat(
      "Rank sets hold each approach's true rank with ", ShortestDecimal(options.level * 100),
      " % confidence, \"of all\" all true ranks together; a group ends where an approach differs "
      "from its best."));
}

absl::StatusOr<Table> RankingTable(const ScoreTable& table, const Generalization& ranking,
                                   bool goals_differ, const std::optional<RankEstimate>& estimate,
                                   const RankSetOptions& options) {
  Table result = GeneralizationTable(table, ranking);
  if (goals_differ) {
    result.notes.push_back(absl::StrCat("Ranked by the benchmarks of which ",
                                        ranking.groups[0].name,
                                        "; --group NAME=PATTERN chooses others to rank by."));
  }
  const std::vector<std::string> choices = ChoiceNotes(table.benchmarks());
  result.notes.insert(result.notes.end(), choices.begin(), choices.end());
  if (estimate.has_value()) {
    CONCUR_ASSIGN_OR_RETURN(const RankSets sets, ComputeRankSets(*estimate, options));
    AddRankSets(*estimate, sets, options, result);
  }
  return result;
}

}  // namespace concur::analysis
