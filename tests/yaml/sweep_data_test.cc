// SPDX-License-Identifier: Apache-2.0
// Which files of data a sweep file names, and what becomes of those that are not there.

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/testing/test.h"
#include "tests/yaml/sweep_yaml_fixture.h"
#include "yaml/sweep_yaml.h"

namespace concur::spec {
namespace {

TEST_F(SweepYamlTest, DataFilesAreKnownByTheirBytes) {
  ASSERT_OK_AND_ASSIGN(LoadedSweep sweep, Load(kAll));
  EXPECT_TRUE(sweep.spec.benchmarks[0].train->digest.IsZero());
  ASSERT_OK(ResolveDataFiles(&sweep));
  EXPECT_EQ(sweep.spec.benchmarks[0].train->digest, Sha256Of("x"));
  EXPECT_EQ(sweep.spec.benchmarks[0].train->bytes, 1);
  EXPECT_EQ(sweep.spec.benchmarks[0].train->suffix, ".jsonl.gz");
  EXPECT_EQ(sweep.spec.benchmarks[1].test->suffix, ".json");
}

TEST_F(SweepYamlTest, AValidationSetStandsBehindTheBenchmarks) {
  Benchmark("b",
            "{train: ../data/y.json, validation: ../data/x.jsonl.gz, test: ../data/y.json, "
            "metric: f1, resources: {labels: {site: vault}}}");
  ASSERT_OK_AND_ASSIGN(LoadedSweep sweep,
                       Load(absl::StrCat(kAll, "  evaluate_on: tag:domain=news\n")));
  ASSERT_EQ(sweep.spec.benchmarks.size(), 4u);
  const BenchmarkSpec& validation = sweep.spec.benchmarks[3];
  EXPECT_EQ(validation.name, "b.validation");
  EXPECT_EQ(validation.validation_of, 1u);
  EXPECT_FALSE(validation.train.has_value());
  EXPECT_EQ(validation.metric, "f1");
  EXPECT_EQ(validation.labels, (Labels{{"site", "vault"}}));
  EXPECT_EQ(sweep.spec.select, Selection::kBest);
  EXPECT_THAT(sweep.spec.evaluate_benchmarks, ElementsAre(1)) << "no tag names it";
  ASSERT_OK(ResolveDataFiles(&sweep));
  EXPECT_EQ(sweep.spec.benchmarks[3].test->digest, Sha256Of("x"));
  EXPECT_EQ(sweep.spec.benchmarks[3].test->suffix, ".jsonl.gz");
}

TEST_F(SweepYamlTest, AValidationSetMayBeHeldOutFromTheTrainFile) {
  ASSERT_OK_AND_ASSIGN(const LoadedSweep sweep, Load(R"(
  approaches: [../approaches/ranker.yaml]
  benchmarks: [{file: ../benchmarks/a.yaml, validation: {from: train, share: 0.1, seed: 7}}]
  select: {by: validation}
)"));
  ASSERT_EQ(sweep.held_out.size(), 1u);
  EXPECT_EQ(sweep.held_out[0].benchmark, 0u);
  EXPECT_EQ(sweep.held_out[0].validation, 1u);
  EXPECT_EQ(sweep.held_out[0].share, 0.1);
  EXPECT_EQ(sweep.held_out[0].seed, 7u);
  EXPECT_EQ(sweep.spec.benchmarks[0].train->suffix, ".jsonl") << "what is left is written anew";
  EXPECT_EQ(sweep.spec.benchmarks[1].test->path, sweep.spec.benchmarks[0].train->path);
  EXPECT_EQ(sweep.files.size(), 2u) << "train and test";
}

TEST_F(SweepYamlTest, SettingsMayStillBeChosenOnTheTestSet) {
  for (const char* select : {"{by: test}", "best-on-test"}) {
    ASSERT_OK_AND_ASSIGN(const LoadedSweep sweep,
                         Load(absl::StrCat(kAll, "  select: ", select, "\n")));
    EXPECT_EQ(sweep.spec.select, Selection::kBestOnTest) << select;
  }
}

TEST_F(SweepYamlTest, ABenchmarkIsLeftOutWhereItsOptionalTestFileIsAbsent) {
  Benchmark("hidden", "{test: {file: ../data/hidden.json, optional: true}}");
  const std::string text = R"(  approaches: [../approaches/ranker.yaml]
  benchmarks: [../benchmarks/*.yaml]
  train_on: [a]
  evaluate_on: [a, hidden]
  exclude: [{approach: ranker, evaluate_on: hidden}]
)";
  ASSERT_OK_AND_ASSIGN(const LoadedSweep without, Load(text));
  EXPECT_EQ(without.spec.benchmarks.size(), 3u);
  EXPECT_THAT(without.spec.evaluate_benchmarks, ElementsAre(0));
  EXPECT_THAT(without.spec.exclude, IsEmpty());
  EXPECT_THAT(without.left_out,
              ElementsAre(AllOf(HasSubstr("hidden.yaml:4:"), HasSubstr("spec.test.file: "),
                                HasSubstr("the benchmark \"hidden\" is left out"))));
  ASSERT_OK_AND_ASSIGN(std::vector<std::string> missing, MissingDataFiles(without));
  EXPECT_THAT(missing, IsEmpty());

  Write("data/hidden.json", "y");
  ASSERT_OK_AND_ASSIGN(const LoadedSweep with, Load(text));
  EXPECT_EQ(with.spec.benchmarks.size(), 4u);
  EXPECT_THAT(with.spec.evaluate_benchmarks, ElementsAre(0, 3));
  EXPECT_EQ(with.spec.exclude.size(), 1u);
  EXPECT_THAT(with.left_out, IsEmpty());
}

TEST_F(SweepYamlTest, WhatIsTrainedOnCannotBeLeftOutAndOnlyTestFilesAreOptional) {
  Benchmark("hidden", "{train: ../data/x.jsonl.gz, test: {file: ../data/h.json, optional: true}}");
  EXPECT_THAT(
      Load(R"(  approaches: [../approaches/ranker.yaml]
  benchmarks: [../benchmarks/*.yaml]
  mixtures: [{name: m, of: [{benchmark: a}, {benchmark: hidden}]}]
)"),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("expected the name of a benchmark"), HasSubstr("got \"hidden\""))));
  Benchmark("hidden", "{train: {file: ../data/x.jsonl.gz, optional: true}}");
  EXPECT_THAT(Load(R"(  approaches: [../approaches/ranker.yaml]
  benchmarks: [../benchmarks/hidden.yaml]
)"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("got \"optional\"")));
}

TEST_F(SweepYamlTest, NothingIsResolvedWhenOneFileIsMissing) {
  Benchmark("c", "{test: ../data/none.json}");
  ASSERT_OK_AND_ASSIGN(LoadedSweep sweep, Load(kAll));
  EXPECT_THAT(ResolveDataFiles(&sweep),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("benchmarks/c.yaml:4:14: spec.test: expected a readable"),
                             HasSubstr("none.json"))));
  EXPECT_TRUE(sweep.spec.benchmarks[0].train->digest.IsZero());
}

}  // namespace
}  // namespace concur::spec
