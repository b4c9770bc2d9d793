// SPDX-License-Identifier: Apache-2.0
// Benchmarks that a sweep file has made: {build: BUILDER, parameters: …}.

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/testing/test.h"
#include "tests/yaml/sweep_yaml_fixture.h"
#include "yaml/sweep_yaml.h"

namespace concur::spec {
namespace {

class BuiltBenchmarksTest : public SweepYamlTest {
 protected:
  absl::StatusOr<LoadedSweep> LoadBuilt(const std::string& benchmarks) {
    return Load("  approaches: [../approaches/guess.yaml]\n  benchmarks: [" + benchmarks + "]\n");
  }
};

TEST_F(BuiltBenchmarksTest, EachCombinationOfTheGridsIsABenchmarkWhoseNameShowsIt) {
  ASSERT_OK_AND_ASSIGN(
      const LoadedSweep sweep,
      LoadBuilt("{build: cloze, name: text, seed: 7}, {build: fuzzy, parameters: {neighbours: "
                "{grid: [10, 100]}, dropout: 0.20, replacement-rate: {grid: [0, 0.50]}}}"));
  std::vector<std::string> names;
  for (const BenchmarkSpec& benchmark : sweep.spec.benchmarks) {
    names.push_back(benchmark.name);
    EXPECT_EQ(benchmark.train->path, benchmark.name + "/train.jsonl");
    EXPECT_EQ(benchmark.test->suffix, ".jsonl");
  }
  EXPECT_THAT(names, ElementsAre("text", "fuzzy+neighbours=10+replacement-rate=0",
                                 "fuzzy+neighbours=10+replacement-rate=0.50",
                                 "fuzzy+neighbours=100+replacement-rate=0",
                                 "fuzzy+neighbours=100+replacement-rate=0.50"));
  EXPECT_THAT(sweep.files, IsEmpty()) << "their data are made later";
  ASSERT_EQ(sweep.built.size(), 5u);
  EXPECT_EQ(sweep.built[0].seed, 7u);
  EXPECT_THAT(sweep.built[0].parameters, IsEmpty());
  EXPECT_EQ(sweep.built[4].benchmark, 4u);
  EXPECT_EQ(sweep.built[4].builder, "fuzzy");
  EXPECT_THAT(sweep.built[4].parameters,
              ElementsAre(Pair("dropout", "0.20"), Pair("neighbours", "100"),
                          Pair("replacement-rate", "0.50")));
  EXPECT_THAT(sweep.built[4].place, HasSubstr("s.yaml:"));
  EXPECT_THAT(sweep.spec.benchmarks[4].tags,
              ElementsAre(Pair("builder", "fuzzy"), Pair("neighbours", "100"),
                          Pair("replacement-rate", "0.50")));
}

TEST_F(BuiltBenchmarksTest, MistakesAreNamedWithTheirPlaces) {
  for (const auto& [text, part] : std::vector<std::pair<std::string, std::string>>{
           {"{build: fuzzy, parameters: {a: {grid: []}}}", "expected at least one value"},
           {"{build: fuzzy, parameters: {a: {range: [1]}}}", "\"grid\" (a list of values)"},
           {"{build: fuzzy, parameters: {a: {grid: [x/y, z]}}}", "letters, digits"},
           {"{build: fuzzy, spec: {test: a}}", "spec"},
           {"{build: fuzzy, parameters: {a: {grid: [1,2,3,4,5,6,7,8,9,10,11]}, "
            "b: {grid: [1,2,3,4,5,6,7,8,9,10]}}}",
            "at most 100 benchmarks, got 110"}}) {
    EXPECT_THAT(LoadBuilt(text).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(part)))
        << text;
  }
}

}  // namespace
}  // namespace concur::spec
