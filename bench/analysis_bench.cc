// SPDX-License-Identifier: Apache-2.0
// Concurrence matrices and their bootstrap. Targets, on one core: both coefficients of all 496
// pairs of a table of 20 approaches × 32 benchmarks in 100 µs; 10,000 bootstrap replicates of both
// in 0.25 s, the same bits on two threads; Kendall of 1,000 approaches × 300 benchmarks in 1 s. On
// two cores: each coefficient of 2,000 approaches × 500 benchmarks, with p-values, in 5 s.
// scripts/bench analysis runs it beside SciPy, pandas and R's pcaPP.
#include <benchmark/benchmark.h>

#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analysis/bootstrap.h"
#include "analysis/concurrence/matrix.h"
#include "analysis/score_table.h"
#include "base/check.h"
#include "base/random.h"

namespace concur::analysis {
namespace {

// Percent with two decimals, as published; benchmarks follow one common order more or less.
ScoreTable MakeTable(size_t approaches, size_t benchmarks) {
  std::vector<AxisEntry> rows;
  for (size_t i = 0; i < approaches; ++i) {
    rows.push_back({absl::StrCat("a", i), {}});
  }
  std::vector<AxisEntry> columns;
  for (size_t b = 0; b < benchmarks; ++b) {
    columns.push_back({absl::StrCat("b", b), {}});
  }
  absl::StatusOr<ScoreTable> table = ScoreTable::Create(std::move(rows), std::move(columns));
  CONCUR_CHECK(table.ok());
  Random random(1, "bench/analysis");
  for (size_t i = 0; i < approaches; ++i) {
    const double quality = random.Normal();
    for (size_t b = 0; b < benchmarks; ++b) {
      const double score = 60 + 8 * quality + 4 * random.Normal();
      table->cell(i, b).state = CellState::kValue;
      table->cell(i, b).value = std::round(score * 100) / 100;
    }
  }
  return *std::move(table);
}

void BothMatrices(benchmark::State& state) {
  const ScoreTable table = MakeTable(20, 32);
  MatrixOptions options;
  options.p_values = state.range(0) != 0;
  for (auto _ : state) {
    for (const Coefficient coefficient : {Coefficient::kKendall, Coefficient::kPearson}) {
      options.coefficient = coefficient;
      const auto matrix = ComputeMatrix(table, options);
      CONCUR_CHECK(matrix.ok() && matrix->pairs.size() == 496);
      benchmark::DoNotOptimize(matrix->pairs.data());
    }
  }
}
BENCHMARK(BothMatrices)->ArgName("p_values")->Arg(0)->Arg(1)->Unit(benchmark::kMicrosecond);

ParallelFor OnThreads(size_t threads) {
  return [threads](size_t count, const std::function<void(size_t)>& body) {
    std::atomic<size_t> next = 0;
    const auto work = [&] {
      for (size_t i = next++; i < count; i = next++) {
        body(i);
      }
    };
    std::vector<std::thread> others;
    for (size_t t = 1; t < threads; ++t) {
      others.emplace_back(work);
    }
    work();
    for (std::thread& other : others) {
      other.join();
    }
  };
}

double BootstrapBoth(const ScoreTable& table, size_t threads) {
  BootstrapOptions options;
  options.parallel_for = OnThreads(threads);
  double sum = 0;
  for (const Coefficient coefficient : {Coefficient::kKendall, Coefficient::kPearson}) {
    const auto intervals = BootstrapPairs(table, coefficient, options);
    CONCUR_CHECK(intervals.ok() && intervals->size() == 496);
    for (const BootstrapInterval& interval : *intervals) {
      sum += interval.interval->low + 3 * interval.interval->high;
    }
  }
  return sum;
}

void BothBootstraps(benchmark::State& state) {
  const ScoreTable table = MakeTable(20, 32);
  const double alone = BootstrapBoth(table, 1);
  for (auto _ : state) {
    const double sum = BootstrapBoth(table, static_cast<size_t>(state.range(0)));
    CONCUR_CHECK(sum == alone);
  }
}
BENCHMARK(BothBootstraps)
    ->ArgName("threads")
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime()
    ->MeasureProcessCPUTime()
    ->Unit(benchmark::kMillisecond);

void LargeKendall(benchmark::State& state) {
  const ScoreTable table = MakeTable(1000, 300);
  MatrixOptions options;
  options.p_values = false;
  for (auto _ : state) {
    const auto matrix = ComputeMatrix(table, options);
    CONCUR_CHECK(matrix.ok() && matrix->pairs.size() == 44'850);
    benchmark::DoNotOptimize(matrix->pairs.data());
  }
}
BENCHMARK(LargeKendall)->Unit(benchmark::kMillisecond);

void LargestMatrix(benchmark::State& state, Coefficient coefficient) {
  const ScoreTable table = MakeTable(2000, 500);
  MatrixOptions options;
  options.coefficient = coefficient;
  options.parallel_for = OnThreads(2);
  for (auto _ : state) {
    const auto matrix = ComputeMatrix(table, options);
    CONCUR_CHECK(matrix.ok() && matrix->pairs.size() == 124'750);
    benchmark::DoNotOptimize(matrix->pairs.data());
  }
}
#define CONCUR_LARGEST_MATRIX(coefficient)                                \
  BENCHMARK_CAPTURE(LargestMatrix, coefficient, Coefficient::coefficient) \
      ->UseRealTime()                                                     \
      ->MeasureProcessCPUTime()                                           \
      ->Unit(benchmark::kMillisecond)
CONCUR_LARGEST_MATRIX(kPearson);
CONCUR_LARGEST_MATRIX(kSpearman);
CONCUR_LARGEST_MATRIX(kKendall);
CONCUR_LARGEST_MATRIX(kWeightedKendall);
CONCUR_LARGEST_MATRIX(kTopK);

}  // namespace
}  // namespace concur::analysis

BENCHMARK_MAIN();
