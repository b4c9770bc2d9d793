// SPDX-License-Identifier: Apache-2.0
#include "analysis/concurrence/uncertainty.h"

#include <algorithm>
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
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "analysis/bootstrap.h"
#include "analysis/concurrence/matrix.h"
#include "analysis/example_runs.h"
#include "analysis/families.h"
#include "analysis/noise.h"
#include "analysis/replicates.h"
#include "analysis/resampling.h"
#include "analysis/score_table.h"
#include "analysis/statistics/fisher.h"
#include "base/random.h"
#include "base/status_macros.h"

namespace concur::analysis {
namespace {

absl::Status CheckRuns(const ExampleRuns& runs) {
  if (runs.benchmarks.size() < 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected per-example scores of two benchmarks or more, got ", runs.benchmarks.size()));
  }
  for (const BenchmarkRuns& benchmark : runs.benchmarks) {
    if (benchmark.runs.size() != runs.approaches.size()) {
      return absl::InvalidArgumentError(absl::StrCat(benchmark.benchmark, ": expected the runs of ",
                                                     runs.approaches.size(), " approaches, got ",
                                                     benchmark.runs.size()));
    }
    for (size_t i = 0; i < benchmark.runs.size(); ++i) {
      for (const std::vector<double>& run : benchmark.runs[i]) {
        const bool finite =
            std::all_of(run.begin(), run.end(), [](double v) { return std::isfinite(v); });
        if (run.empty() || run.size() != benchmark.examples || !finite) {
          return absl::InvalidArgumentError(
              absl::StrCat(benchmark.benchmark, ": ", runs.approaches[i], ": expected ",
                           benchmark.examples, " finite scores, at least one, got ", run.size()));
        }
      }
    }
  }
  return absl::OkStatus();
}

// Scores of a benchmark example by example, all runs of all approaches side by side.
struct ScoreColumn {
  size_t runs = 0;
  size_t examples = 0;
  ExampleClusters clusters;        // units that are drawn
  double unit = 100;               // as BenchmarkRuns::unit
  double seed_share = 1;           // seeds' share of the variance between runs
  size_t test_draw = 0;            // which draw of examples it uses
  size_t system_draw = 0;          // which draws of runs it uses
  std::vector<size_t> first;       // by approach: its first run; one more entry ends the last
  std::vector<double> by_example;  // examples × runs
  std::vector<double> means;       // by run, over all examples
};

size_t KeyIndex(std::map<std::string, size_t>& keys, const std::string& key, size_t column) {
  // Keys of single columns start with a blank, so that they differ from the keys of the caller.
  const std::string name = key.empty() ? absl::StrCat(" ", column) : absl::StrCat("k", key);
  return keys.emplace(name, keys.size()).first->second;
}

// Beyond this many standard deviations, simulated intervals missed the noise-free coefficient.
constexpr double kShiftMax = 0.5;

// Units that a replicate draws anew: examples in clusters, runs (seeds), approaches and all of
// these, or examples one by one.
enum Kind : size_t { kExamples = 0, kRuns = 1, kAll = 2, kExamplesAlone = 3, kKinds = 4 };

class Resampler {
 public:
  Resampler(const ExampleRuns& runs, const std::vector<ExampleClusters>& clusters,
            const std::vector<BenchmarkNoise>& noise, const UncertaintyOptions& options)
      : options_(options), approaches_(runs.approaches.size()) {
    std::vector<AxisEntry> rows;
    for (const std::string& name : runs.approaches) {
      rows.push_back({name, {}});
    }
    std::vector<AxisEntry> names;
    std::map<std::string, size_t> test_keys;
    std::map<std::string, size_t> system_keys;
    for (const BenchmarkRuns& benchmark : runs.benchmarks) {
      names.push_back({benchmark.benchmark, {}});
      ScoreColumn& column = columns_.emplace_back();
      column.examples = benchmark.examples;
      column.unit = benchmark.unit;
      const size_t at = columns_.size() - 1;
      column.clusters = clusters[at];
      column.seed_share = noise[at].seed_share;
      clustered_ = clustered_ || !column.clusters.of.empty();
      column.test_draw = KeyIndex(
          test_keys,
          benchmark.test_set.empty() ? "" : absl::StrCat(benchmark.test_set, benchmark.examples),
          at);
      column.system_draw = KeyIndex(system_keys, benchmark.systems, at);
      for (const auto& list : benchmark.runs) {
        column.first.push_back(column.runs);
        column.runs += list.size();
        several_runs_ = several_runs_ || list.size() > 1;
      }
      column.first.push_back(column.runs);
      column.by_example.resize(column.examples * column.runs);
      column.means.assign(column.runs, 0.0);
      size_t run = 0;
      for (const auto& list : benchmark.runs) {
        for (const std::vector<double>& values : list) {
          for (size_t e = 0; e < values.size(); ++e) {
            column.by_example[e * column.runs + run] = values[e];
            column.means[run] += values[e];
          }
          column.means[run++] /= static_cast<double>(column.examples);
        }
      }
    }
    draws_of_tests_ = test_keys.size();
    draws_of_systems_ = system_keys.size();
    table_status_ = ScoreTable::Create(std::move(rows), std::move(names));
    if (table_status_.ok()) {
      table_ = *table_status_;
      for (size_t b = 0; b < columns_.size(); ++b) {
        Fill(b, columns_[b].means, nullptr, table_);
      }
      table_status_ = table_;
    }
  }

  const absl::StatusOr<ScoreTable>& table() const { return table_status_; }
  bool several_runs() const { return several_runs_; }
  bool clustered() const { return clustered_; }

  // Replicates of each kind, pair-major.
  std::vector<std::vector<double>> Run(size_t pairs, size_t replicates) const {
    std::vector<std::vector<double>> values(kKinds);
    for (const Kind kind : {kExamples, kRuns, kAll, kExamplesAlone}) {
      if ((kind != kRuns || several_runs_) && (kind != kExamplesAlone || clustered_)) {
        values[kind].resize(pairs * replicates);
      }
    }
    options_.bootstrap.parallel_for(ReplicateChunks(replicates), [&](size_t chunk) {
      RunChunk(chunk, pairs, replicates, values);
    });
    return values;
  }

 private:
  using Draws = std::vector<std::vector<uint32_t>>;

  // Sets a column's cells from the means of its runs. With `draws` of runs (by approach), from the
  // drawn ones, their deviation stretched by sqrt(S / (S - 1)): drawing S runs out of S varies too
  // little by just that. It is shortened to what seeds alone cause: the rest of the variance
  // between runs is that of examples, which are drawn by themselves.
  void Fill(size_t benchmark, const std::vector<double>& means, const Draws* draws,
            ScoreTable& table) const {
    const ScoreColumn& column = columns_[benchmark];
    for (size_t i = 0; i < approaches_; ++i) {
      const size_t count = column.first[i + 1] - column.first[i];
      ScoreCell& cell = table.cell(i, benchmark);
      if (count == 0) {
        continue;
      }
      const double* own = means.data() + column.first[i];
      double sum = 0;
      for (size_t s = 0; s < count; ++s) {
        sum += own[s];
      }
      const auto runs = static_cast<double>(count);
      double value = sum / runs;
      if (draws != nullptr && count > 1) {
        const std::vector<uint32_t>& draw = (*draws)[column.system_draw * approaches_ + i];
        double drawn = 0;
        for (size_t s = 0; s < count; ++s) {
          // Systems that are shared have the same runs; where one lacks some, the rest wraps.
          drawn += own[draw[s % draw.size()] % count];
        }
        value += std::sqrt(column.seed_share * runs / (runs - 1)) * (drawn / runs - value);
      }
      cell.state = CellState::kValue;
      cell.value = column.unit * value;
    }
  }

  void DrawRuns(Random& random, Draws& draws) const {
    draws.resize(draws_of_systems_ * approaches_);
    for (size_t b = 0; b < columns_.size(); ++b) {
      const ScoreColumn& column = columns_[b];
      for (size_t i = 0; i < approaches_; ++i) {
        const size_t count = column.first[i + 1] - column.first[i];
        std::vector<uint32_t>& draw = draws[column.system_draw * approaches_ + i];
        if (draw.size() < count) {  // the first column with these systems, or one with more runs
          draw.resize(count);
          for (uint32_t& run : draw) {
            run = static_cast<uint32_t>(random.Below(count));
          }
        }
      }
    }
  }

  void RunChunk(size_t chunk, size_t pairs, size_t replicates,
                std::vector<std::vector<double>>& values) const {
    Random random(options_.bootstrap.seed, absl::StrCat("uncertainty/", chunk));
    WeightedCoefficients::Scratch scratch;
    std::vector<double> row(pairs);
    ScoreTable table = table_;
    std::vector<std::vector<double>> means(columns_.size());
    std::vector<std::vector<uint32_t>> drawn(draws_of_tests_);
    Draws runs;
    const std::vector<int32_t> once(approaches_, 1);
    const auto record = [&](Kind kind, size_t replicate, const std::vector<int32_t>& weights) {
      WeightedCoefficients(table, options_.coefficient, options_.bootstrap.top)
          .Evaluate(weights, 0, columns_.size(), scratch, row.data());
      for (size_t pair = 0; pair < pairs; ++pair) {
        values[kind][pair * replicates + replicate] = row[pair];
      }
    };
    ForEachReplicate(options_.bootstrap.seed, approaches_, {}, replicates, chunk,
                     [&](size_t replicate, const std::vector<int32_t>& weights) {
                       DrawMeans(random, /*alone=*/false, drawn, means);
                       for (std::vector<uint32_t>& draw : runs) {
                         draw.clear();
                       }
                       DrawRuns(random, runs);
                       FillAll(means, nullptr, table);
                       record(kExamples, replicate, once);
                       FillAll(means, &runs, table);
                       record(kAll, replicate, weights);
                       if (several_runs_) {
                         for (size_t b = 0; b < columns_.size(); ++b) {
                           Fill(b, columns_[b].means, &runs, table);
                         }
                         record(kRuns, replicate, once);
                       }
                       if (clustered_) {
                         DrawMeans(random, /*alone=*/true, drawn, means);
                         FillAll(means, nullptr, table);
                         record(kExamplesAlone, replicate, once);
                       }
                     });
  }

  void FillAll(const std::vector<std::vector<double>>& means, const Draws* draws,
               ScoreTable& table) const {
    for (size_t b = 0; b < columns_.size(); ++b) {
      Fill(b, means[b], draws, table);
    }
  }

  // Examples of one draw: as many clusters as there are, or as many single examples.
  static std::vector<uint32_t> DrawExamples(Random& random, const ScoreColumn& column, bool alone) {
    std::vector<uint32_t> draw;
    if (alone || column.clusters.of.empty()) {
      draw.resize(column.examples);
      for (uint32_t& example : draw) {
        example = static_cast<uint32_t>(random.Below(column.examples));
      }
      return draw;
    }
    std::vector<uint32_t> times(column.clusters.count, 0);
    for (size_t c = 0; c < times.size(); ++c) {
      ++times[random.Below(times.size())];
    }
    for (size_t e = 0; e < column.examples; ++e) {
      draw.insert(draw.end(), times[column.clusters.of[e]], static_cast<uint32_t>(e));
    }
    return draw;
  }

  // Means of all runs over examples drawn anew.
  void DrawMeans(Random& random, bool alone, std::vector<std::vector<uint32_t>>& drawn,
                 std::vector<std::vector<double>>& means) const {
    for (std::vector<uint32_t>& draw : drawn) {
      draw.clear();
    }
    for (size_t b = 0; b < columns_.size(); ++b) {
      const ScoreColumn& column = columns_[b];
      std::vector<uint32_t>& draw = drawn[column.test_draw];
      if (draw.empty()) {
        draw = DrawExamples(random, column, alone);
      }
      std::vector<double>& sums = means[b];
      sums.assign(column.runs, 0.0);
      for (const uint32_t example : draw) {
        const double* scores = column.by_example.data() + example * column.runs;
        for (size_t run = 0; run < column.runs; ++run) {
          sums[run] += scores[run];
        }
      }
      for (double& sum : sums) {
        sum /= static_cast<double>(draw.size());
      }
    }
  }

  const UncertaintyOptions& options_;
  size_t approaches_;
  std::vector<ScoreColumn> columns_;
  size_t draws_of_tests_ = 0;
  size_t draws_of_systems_ = 0;
  bool several_runs_ = false;
  bool clustered_ = false;
  absl::StatusOr<ScoreTable> table_status_ = ScoreTable();
  ScoreTable table_;
};

// Mean and variance of the defined values among `count` of them.
struct Spread {
  double mean = 0;
  double variance = 0;
};
Spread SpreadOf(const double* values, size_t count) {
  std::vector<double> defined;
  for (size_t i = 0; i < count; ++i) {
    if (!std::isnan(values[i])) {
      defined.push_back(values[i]);
    }
  }
  const Moments moments = ComputeMoments(defined);
  return {moments.mean, moments.standard_deviation * moments.standard_deviation};
}

// Splits the variance. Drawing approaches anew draws their noise with them: its variance holds the
// noise of seeds and examples already, as far as that differs from approach to approach.
void Split(const Spread& examples, bool with_examples, const Spread& runs, bool several_runs,
           const Spread& approaches, PairUncertainty& pair) {
  if (with_examples) {
    pair.examples = examples.variance;
  }
  if (several_runs) {
    pair.seeds = runs.variance;
  }
  const double noise = pair.examples.value_or(0) + pair.seeds.value_or(0);
  pair.total = std::max(approaches.variance, noise);
  pair.approaches = pair.total - noise;
  pair.shift_by_noise = examples.mean - *pair.value;
  if (several_runs) {
    pair.shift_by_noise += runs.mean - *pair.value;
  }
}

// Coefficients without noise: of the whole table, and of replicates that draw approaches.
class NoiseFree {
 public:
  NoiseFree(const ExampleRuns& runs, const std::vector<BenchmarkNoise>& noise,
            Coefficient coefficient)
      : noise_(noise), coefficient_(coefficient) {
    const std::vector<int32_t> once(runs.approaches.size(), 1);
    for (size_t a = 0; a < noise.size(); ++a) {
      reliabilities_.push_back(noise[a].known ? Reliability(noise[a], once) : std::nullopt);
      for (size_t b = a + 1; b < noise.size(); ++b) {
        shared_.push_back(SharedNoise(runs.benchmarks[a], noise[a], runs.benchmarks[b], noise[b]));
      }
    }
  }

  const std::vector<std::optional<double>>& reliabilities() const { return reliabilities_; }

  bool Applies(size_t a, size_t b) const {
    return HasNoiseCorrection(coefficient_) && reliabilities_[a].value_or(0) >= kReliabilityMin &&
           reliabilities_[b].value_or(0) >= kReliabilityMin;
  }

  double Correct(size_t pair, size_t a, size_t b, double value) const {
    return WithoutNoise(coefficient_, value, shared_[pair],
                        *reliabilities_[a] * *reliabilities_[b]);
  }

  // Replaces the coefficients of a replicate by those without noise. In a replicate of similar
  // approaches noise may look larger than the spread; it keeps a little.
  void CorrectReplicate(const std::vector<int32_t>& weights, std::vector<double>& row) const {
    constexpr double kLeast = 0.05;
    std::vector<double> reliabilities;
    for (const BenchmarkNoise& benchmark : noise_) {
      reliabilities.push_back(std::max(kLeast, Reliability(benchmark, weights).value_or(kLeast)));
    }
    size_t at = 0;
    for (size_t a = 0; a < noise_.size(); ++a) {
      for (size_t b = a + 1; b < noise_.size(); ++b, ++at) {
        row[at] =
            WithoutNoise(coefficient_, row[at], shared_[at], reliabilities[a] * reliabilities[b]);
      }
    }
  }

 private:
  const std::vector<BenchmarkNoise>& noise_;
  Coefficient coefficient_;
  std::vector<std::optional<double>> reliabilities_;
  std::vector<double> shared_;  // by pair
};

// The interval of a coefficient without noise. For tau: percentiles over approaches, expanded for
// their number. For r and rho, whose bootstrap is too short: Fisher's z of the observed value, its
// ends corrected like the value (Hunter and Schmidt, Methods of Meta-Analysis, 2004).
void AddNoiseFree(const NoiseFree& noise_free, const UncertaintyOptions& options, size_t at,
                  std::vector<double> replicates, PairUncertainty& pair) {
  if (!noise_free.Applies(pair.a, pair.b)) {
    return;
  }
  pair.noise_free = noise_free.Correct(at, pair.a, pair.b, *pair.value);
  const double level = options.bootstrap.level;
  if (options.coefficient == Coefficient::kKendall) {
    if (pair.n > 1) {
      pair.noise_free_interval =
          IntervalFromReplicates(replicates, *pair.noise_free, {},
                                 ExpandedLevel(level, static_cast<double>(pair.n)),
                                 BootstrapMethod::kPercentile)
              .interval;
    }
    return;
  }
  const absl::StatusOr<Interval> fisher =
      FisherInterval(options.coefficient, *pair.value, pair.n, level);
  if (fisher.ok()) {
    pair.noise_free_interval = Interval{noise_free.Correct(at, pair.a, pair.b, fisher->low),
                                        noise_free.Correct(at, pair.a, pair.b, fisher->high)};
  }
}

// The coefficients of the data, without each approach, and of all replicates.
struct Draws {
  std::vector<double> estimates;            // [pair]
  std::vector<double> jackknife;            // [pair × approach]
  std::vector<std::vector<double>> values;  // [kind][pair × replicate]
  std::vector<double> redrawn;              // [pair × replicate], of approaches alone
  std::vector<double> corrected;            // the same without noise
};

Draws DrawAll(const ScoreTable& table, const Resampler& resampler, const NoiseFree& noise_free,
              const UncertaintyOptions& options, size_t pairs) {
  const size_t benchmarks = table.benchmarks().size();
  const size_t approaches = table.approaches().size();
  const auto replicates = static_cast<size_t>(options.bootstrap.replicates);
  Draws draws;
  draws.estimates.resize(pairs);
  draws.jackknife.resize(pairs * approaches);
  draws.values.resize(kKinds);
  draws.redrawn.resize(pairs * replicates);
  draws.corrected.resize(pairs * replicates);
  const WeightedCoefficients evaluator(table, options.coefficient, options.bootstrap.top);
  WeightedCoefficients::Scratch scratch;
  std::vector<int32_t> weights(approaches, 1);
  std::vector<double> without(pairs);
  if (approaches > 0) {
    evaluator.Evaluate(weights, 0, benchmarks, scratch, draws.estimates.data());
    for (size_t i = 0; i < approaches; ++i) {
      weights[i] = 0;
      evaluator.Evaluate(weights, 0, benchmarks, scratch, without.data());
      weights[i] = 1;
      for (size_t pair = 0; pair < pairs; ++pair) {
        draws.jackknife[pair * approaches + i] = without[pair];
      }
    }
    draws.values = resampler.Run(pairs, replicates);
    options.bootstrap.parallel_for(ReplicateChunks(replicates), [&](size_t chunk) {
      WeightedCoefficients::Scratch own;
      std::vector<double> row(pairs);
      ForEachReplicate(options.bootstrap.seed, approaches, {}, replicates, chunk,
                       [&](size_t replicate, const std::vector<int32_t>& drawn) {
                         evaluator.Evaluate(drawn, 0, benchmarks, own, row.data());
                         for (size_t pair = 0; pair < pairs; ++pair) {
                           draws.redrawn[pair * replicates + replicate] = row[pair];
                         }
                         noise_free.CorrectReplicate(drawn, row);
                         for (size_t pair = 0; pair < pairs; ++pair) {
                           draws.corrected[pair * replicates + replicate] = row[pair];
                         }
                       });
    });
  }
  return draws;
}

// Number of independent units of test examples that are drawn of a benchmark; of repeats, which
// have no examples, as many as are enough.
int64_t DrawnOf(const Uncertainty& uncertainty, const ExampleRuns& runs, size_t benchmark) {
  const ExampleClusters& clusters = uncertainty.clusters[benchmark];
  const size_t drawn = clusters.of.empty() ? runs.benchmarks[benchmark].examples : clusters.count;
  return drawn == 1 ? kIntervalExamplesMin : static_cast<int64_t>(drawn);
}

void AddFewWarning(int64_t approaches, int64_t examples, std::string& warning) {
  std::vector<std::string> few;
  if (approaches < kIntervalApproachesMin) {
    few.push_back(absl::StrCat("fewer than ", kIntervalApproachesMin, " approaches"));
  }
  if (examples < kIntervalExamplesMin) {
    few.push_back(absl::StrCat("fewer than ", kIntervalExamplesMin, " test examples (or groups)"));
  }
  if (!few.empty()) {
    absl::StrAppend(&warning, warning.empty() ? "" : "; ", absl::StrJoin(few, " and "),
                    ": may be too short");
  }
}

}  // namespace

absl::StatusOr<Uncertainty> ComputeUncertainty(ExampleRuns runs,
                                               const UncertaintyOptions& options) {
  CONCUR_RETURN_IF_ERROR(ValidateBootstrapOptions(options.bootstrap));
  CONCUR_RETURN_IF_ERROR(CheckRuns(runs));
  const size_t benchmarks = runs.benchmarks.size();
  const size_t pairs = benchmarks * (benchmarks - 1) / 2;
  const auto replicates = static_cast<size_t>(options.bootstrap.replicates);
  constexpr size_t kValuesMax = 100'000'000;
  if (pairs * replicates > kValuesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("replicates: ", replicates, " of ", pairs,
                     " pairs are too many to keep; ask for fewer replicates or benchmarks"));
  }
  Uncertainty result;
  result.options = options;
  result.approaches = runs.approaches;
  result.minimized = Orient(runs);
  for (const BenchmarkRuns& benchmark : runs.benchmarks) {
    result.benchmarks.push_back(benchmark.benchmark);
    for (const auto& [who, reason] : LeftOutOf(runs, benchmark)) {
      result.left_out.push_back(absl::StrCat(who, " on ", benchmark.benchmark, ": ", reason));
    }
  }
  std::vector<BenchmarkNoise> noise;
  for (const BenchmarkRuns& benchmark : runs.benchmarks) {
    result.clusters.push_back(ClustersOf(benchmark.places, benchmark.examples, options.unit));
    noise.push_back(EstimateNoise(benchmark, result.clusters.back()));
  }
  const NoiseFree noise_free(runs, noise, options.coefficient);
  result.reliabilities = noise_free.reliabilities();
  const Resampler resampler(runs, result.clusters, noise, options);
  CONCUR_ASSIGN_OR_RETURN(const ScoreTable table, resampler.table());
  result.flags = FlagBenchmarks(table);
  const size_t approaches = table.approaches().size();
  const Draws draws = DrawAll(table, resampler, noise_free, options, pairs);
  size_t at = 0;
  for (size_t a = 0; a < benchmarks; ++a) {
    for (size_t b = a + 1; b < benchmarks; ++b, ++at) {
      PairUncertainty& pair = result.pairs.emplace_back();
      pair.a = a;
      pair.b = b;
      for (size_t i = 0; i < approaches; ++i) {
        pair.n += table.cell(i, a).state == CellState::kValue &&
                          table.cell(i, b).state == CellState::kValue
                      ? 1
                      : 0;
      }
      if (approaches == 0 || std::isnan(draws.estimates[at])) {
        pair.warning = "the coefficient is undefined";
        continue;
      }
      pair.value = draws.estimates[at];
      const auto begin = [&](const std::vector<double>& list) {
        return list.data() + at * replicates;
      };
      const bool several = resampler.several_runs();
      const bool with_examples = runs.benchmarks[a].examples > 1 && runs.benchmarks[b].examples > 1;
      Split(SpreadOf(begin(draws.values[kExamples]), replicates), with_examples,
            several ? SpreadOf(begin(draws.values[kRuns]), replicates) : Spread(), several,
            SpreadOf(begin(draws.redrawn), replicates), pair);
      if (resampler.clustered()) {
        pair.examples_alone = SpreadOf(begin(draws.values[kExamplesAlone]), replicates).variance;
      }
      AddNoiseFree(noise_free, options, at,
                   {begin(draws.corrected), begin(draws.corrected) + replicates}, pair);
      std::vector<double> all(begin(draws.values[kAll]), begin(draws.values[kAll]) + replicates);
      const BootstrapInterval interval = IntervalFromReplicates(
          all, draws.estimates[at],
          absl::MakeSpan(draws.jackknife).subspan(at * approaches, approaches),
          options.bootstrap.level, options.bootstrap.method);
      pair.interval = interval.interval;
      pair.warning = interval.warning;
      if (pair.interval.has_value()) {
        AddFewWarning(pair.n, std::min(DrawnOf(result, runs, a), DrawnOf(result, runs, b)),
                      pair.warning);
      }
      if (std::abs(pair.shift_by_noise) > kShiftMax * std::sqrt(pair.total)) {
        absl::StrAppend(&pair.warning, pair.warning.empty() ? "" : "; ",
                        "noise of seeds and examples moves the value by more than half its sd: the "
                        "interval may miss the noise-free value, see docs/statistics.md");
      }
    }
  }
  return result;
}

}  // namespace concur::analysis
