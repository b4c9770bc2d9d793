// SPDX-License-Identifier: Apache-2.0
// Paired bootstrap of 20 approaches on one benchmark of 10,000 examples, 10,000 replicates, on one
// thread: the target is 2 s.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "analysis/comparison/comparison.h"
#include "base/check.h"
#include "base/random.h"

namespace concur::analysis {
namespace {

void PairedBootstrap(benchmark::State& state) {
  ExampleTable table;
  table.benchmark = "bench";
  table.examples = 10'000;
  Random random(1, "bench/comparison");
  for (int a = 0; a < 20; ++a) {
    table.approaches.push_back(absl::StrCat("approach ", a));
    for (size_t i = 0; i < table.examples; ++i) {
      table.values.push_back(state.range(0) != 0 ? random.Uniform() : random.Chance(0.5) ? 1 : 0);
    }
  }
  ComparisonOptions options;
  options.bootstrap.replicates = 10'000;
  for (auto _ : state) {
    const auto result = CompareApproaches(table, options);
    CONCUR_CHECK(result.ok() && result->pairs.size() == 190);
    benchmark::DoNotOptimize(result->pairs.data());
  }
}
BENCHMARK(PairedBootstrap)->ArgName("f1")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace concur::analysis

BENCHMARK_MAIN();
