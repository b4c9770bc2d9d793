// SPDX-License-Identifier: Apache-2.0
#include "analysis/example_runs.h"

#include <vector>

#include "tests/testing/test.h"

namespace concur::analysis {
namespace {

TEST(ExampleRunsTest, MeansAreOverTheRunsOfEachApproach) {
  ExampleRuns runs;
  runs.approaches = {"a", "b", "c"};
  BenchmarkRuns benchmark;
  benchmark.benchmark = "x";
  benchmark.metric = "f1";
  benchmark.examples = 2;
  benchmark.runs = {{{1, 0}, {0, 0.5}}, {}, {{0.25, 1}}};
  benchmark.left_out = {{1, "no score"}};
  runs.benchmarks = {benchmark};
  const std::vector<ExampleTable> tables = MeansOverRuns(runs);
  ASSERT_THAT(tables, SizeIs(1));
  EXPECT_EQ(tables[0].benchmark, "x");
  EXPECT_EQ(tables[0].metric, "f1");
  EXPECT_EQ(tables[0].examples, 2u);
  EXPECT_THAT(tables[0].approaches, ElementsAre("a", "c"));
  EXPECT_THAT(tables[0].values, ElementsAre(0.5, 0.25, 0.25, 1));
  EXPECT_THAT(tables[0].left_out, ElementsAre("b: no score"));
}

TEST(ExampleRunsTest, OneReasonIsSaidOnce) {
  ExampleRuns runs;
  runs.approaches = {"a", "b", "c"};
  BenchmarkRuns some;
  some.left_out = {{0, "no score"}, {1, "lost"}, {2, "no score"}};
  BenchmarkRuns all;
  all.left_out = {{0, "no score"}, {1, "no score"}, {2, "no score"}};
  EXPECT_THAT(LeftOutOf(runs, some), ElementsAre(Pair("a, c", "no score"), Pair("b", "lost")));
  EXPECT_THAT(LeftOutOf(runs, all), ElementsAre(Pair("all approaches", "no score")));
}

TEST(ExampleRunsTest, ABenchmarkWithoutRunsHasAnEmptyTable) {
  ExampleRuns runs;
  runs.approaches = {"a"};
  runs.benchmarks.resize(1);
  runs.benchmarks[0].runs.resize(1);
  const std::vector<ExampleTable> tables = MeansOverRuns(runs);
  ASSERT_THAT(tables, SizeIs(1));
  EXPECT_THAT(tables[0].approaches, IsEmpty());
  EXPECT_THAT(tables[0].values, IsEmpty());
}

}  // namespace
}  // namespace concur::analysis
