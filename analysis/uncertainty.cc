#include "analysis/uncertainty.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "analysis/bootstrap.h"
#include "analysis/replicates.h"
#include "analysis/resampling.h"
#include "analysis/score_table.h"
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
struct Column {
  size_t runs = 0;
  size_t examples = 0;
  size_t test_draw = 0;            // which draw of examples it uses
  size_t system_draw = 0;          // which draws of runs it uses
  std::vector<size_t> first;       // by approach: its first run; one more entry ends the last
  std::vector<double> by_example;  // examples × runs
  std::vector<double> means;       // by run, over all examples
};

size_t KeyIndex(std::map<std::string, size_t>& keys, const std::string& key, size_t column) {
  // Keys of the caller and of columns by themselves never meet: the latter start with a blank.
  const std::string name = key.empty() ? absl::StrCat(" ", column) : absl::StrCat("k", key);
  return keys.emplace(name, keys.size()).first->second;
}

// Beyond this many standard deviations, simulated intervals missed the noise-free coefficient.
constexpr double kShiftMax = 0.5;

// What one replicate makes of the table in each of three ways.
enum Kind : size_t { kExamples = 0, kRuns = 1, kAll = 2, kKinds = 3 };

class Resampler {
 public:
  Resampler(const ExampleRuns& runs, const UncertaintyOptions& options)
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
      Column& column = columns_.emplace_back();
      column.examples = benchmark.examples;
      const size_t at = columns_.size() - 1;
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

  // Replicates of each kind, pair-major.
  std::vector<std::vector<double>> Run(size_t pairs, size_t replicates) const {
    std::vector<std::vector<double>> values(kKinds, std::vector<double>(pairs * replicates));
    options_.bootstrap.parallel_for(ReplicateChunks(replicates), [&](size_t chunk) {
      RunChunk(chunk, pairs, replicates, values);
    });
    return values;
  }

 private:
  using Draws = std::vector<std::vector<uint32_t>>;

  // Sets a column's cells from the means of its runs. With `draws` of runs (by approach), from the
  // drawn ones, their deviation stretched by sqrt(S / (S - 1)): drawing S runs out of S varies too
  // little by just that.
  void Fill(size_t benchmark, const std::vector<double>& means, const Draws* draws,
            ScoreTable& table) const {
    const Column& column = columns_[benchmark];
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
        value += std::sqrt(runs / (runs - 1)) * (drawn / runs - value);
      }
      cell.state = CellState::kValue;
      cell.value = 100 * value;
    }
  }

  void DrawRuns(Random& random, Draws& draws) const {
    draws.resize(draws_of_systems_ * approaches_);
    for (size_t b = 0; b < columns_.size(); ++b) {
      const Column& column = columns_[b];
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
    ForEachReplicate(options_.bootstrap.seed, approaches_, replicates, chunk,
                     [&](size_t replicate, const std::vector<int32_t>& weights) {
                       DrawMeans(random, drawn, means);
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
                     });
  }

  void FillAll(const std::vector<std::vector<double>>& means, const Draws* draws,
               ScoreTable& table) const {
    for (size_t b = 0; b < columns_.size(); ++b) {
      Fill(b, means[b], draws, table);
    }
  }

  // Means of all runs over examples drawn anew.
  void DrawMeans(Random& random, std::vector<std::vector<uint32_t>>& drawn,
                 std::vector<std::vector<double>>& means) const {
    for (std::vector<uint32_t>& draw : drawn) {
      draw.clear();
    }
    for (size_t b = 0; b < columns_.size(); ++b) {
      const Column& column = columns_[b];
      std::vector<uint32_t>& draw = drawn[column.test_draw];
      if (draw.empty()) {
        draw.resize(column.examples);
        for (uint32_t& example : draw) {
          example = static_cast<uint32_t>(random.Below(column.examples));
        }
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
        sum /= static_cast<double>(column.examples);
      }
    }
  }

  const UncertaintyOptions& options_;
  size_t approaches_;
  std::vector<Column> columns_;
  size_t draws_of_tests_ = 0;
  size_t draws_of_systems_ = 0;
  bool several_runs_ = false;
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
void Split(const Spread& examples, const Spread& runs, bool several_runs, const Spread& approaches,
           PairUncertainty& pair) {
  pair.examples = examples.variance;
  if (several_runs) {
    pair.seeds = runs.variance;
  }
  pair.total = std::max(approaches.variance, pair.examples + pair.seeds.value_or(0));
  pair.approaches = pair.total - pair.examples - pair.seeds.value_or(0);
  pair.shift_by_noise = examples.mean - *pair.value;
  if (several_runs) {
    pair.shift_by_noise += runs.mean - *pair.value;
  }
}

}  // namespace

absl::StatusOr<Uncertainty> ComputeUncertainty(const ExampleRuns& runs,
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
                     " pairs are more than can be kept; ask for fewer, or for fewer benchmarks"));
  }
  Uncertainty result;
  result.options = options;
  result.approaches = runs.approaches;
  result.left_out = runs.left_out;
  for (const BenchmarkRuns& benchmark : runs.benchmarks) {
    result.benchmarks.push_back(benchmark.benchmark);
  }
  const Resampler resampler(runs, options);
  CONCUR_ASSIGN_OR_RETURN(const ScoreTable table, resampler.table());
  const size_t approaches = table.approaches().size();
  const WeightedCoefficients evaluator(table, options.coefficient, options.bootstrap.top);
  WeightedCoefficients::Scratch scratch;
  std::vector<int32_t> weights(approaches, 1);
  std::vector<double> estimates(pairs);
  std::vector<double> without(pairs);
  std::vector<double> jackknife(pairs * approaches);
  std::vector<std::vector<double>> values(kKinds);
  std::vector<double> redrawn(pairs * replicates);  // of approaches alone
  if (approaches > 0) {
    evaluator.Evaluate(weights, 0, benchmarks, scratch, estimates.data());
    for (size_t i = 0; i < approaches; ++i) {
      weights[i] = 0;
      evaluator.Evaluate(weights, 0, benchmarks, scratch, without.data());
      weights[i] = 1;
      for (size_t pair = 0; pair < pairs; ++pair) {
        jackknife[pair * approaches + i] = without[pair];
      }
    }
    values = resampler.Run(pairs, replicates);
    options.bootstrap.parallel_for(ReplicateChunks(replicates), [&](size_t chunk) {
      WeightedCoefficients::Scratch own;
      std::vector<double> row(pairs);
      ForEachReplicate(options.bootstrap.seed, approaches, replicates, chunk,
                       [&](size_t replicate, const std::vector<int32_t>& drawn) {
                         evaluator.Evaluate(drawn, 0, benchmarks, own, row.data());
                         for (size_t pair = 0; pair < pairs; ++pair) {
                           redrawn[pair * replicates + replicate] = row[pair];
                         }
                       });
    });
  }
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
      if (approaches == 0 || std::isnan(estimates[at])) {
        pair.warning = "the coefficient is undefined";
        continue;
      }
      pair.value = estimates[at];
      const auto begin = [&](const std::vector<double>& list) {
        return list.data() + at * replicates;
      };
      const bool several = resampler.several_runs();
      Split(SpreadOf(begin(values[kExamples]), replicates),
            several ? SpreadOf(begin(values[kRuns]), replicates) : Spread(), several,
            SpreadOf(begin(redrawn), replicates), pair);
      std::vector<double> all(begin(values[kAll]), begin(values[kAll]) + replicates);
      const BootstrapInterval interval = IntervalFromReplicates(
          all, estimates[at], absl::MakeSpan(jackknife).subspan(at * approaches, approaches),
          options.bootstrap.level, options.bootstrap.method);
      pair.interval = interval.interval;
      pair.warning = interval.warning;
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
