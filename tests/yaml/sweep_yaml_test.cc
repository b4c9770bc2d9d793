// SPDX-License-Identifier: Apache-2.0
#include "yaml/sweep_yaml.h"

#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "core/sweep/expansion.h"
#include "tests/testing/test.h"
#include "tests/yaml/sweep_yaml_fixture.h"

namespace concur::spec {
namespace {

TEST_F(SweepYamlTest, AGridMakesEveryCombinationASetting) {
  Write("approaches/grid.yaml", R"(apiVersion: concur/v1
kind: Approach
metadata: {name: grid}
spec:
  version: "1"
  predict: {command: [rank, "{test}", "{predictions}", "{seed}", "{hp.depth}"]}
  hyperparameters:
    default: {depth: 1, lr: 0.10}
    space: {depth: {grid: [1, 2, 3]}, lr: {grid: [0.10, 1e-3]}}
)");
  ASSERT_OK_AND_ASSIGN(const LoadedSweep sweep, Load(R"(
  approaches: [../approaches/grid.yaml]
  benchmarks: [../benchmarks/c.yaml]
)"));
  ASSERT_OK_AND_ASSIGN(const Expansion expansion, Expansion::Make(sweep.spec));
  EXPECT_EQ(expansion.job_count(), 6u);
}

TEST_F(SweepYamlTest, PatternsAreReadInByteOrder) {
  ASSERT_OK_AND_ASSIGN(const LoadedSweep sweep, Load(kAll));
  ASSERT_EQ(sweep.spec.approaches.size(), 2u);
  EXPECT_EQ(sweep.spec.approaches[0].name, "guess");
  EXPECT_EQ(sweep.spec.approaches[1].name, "ranker");
  ASSERT_EQ(sweep.spec.benchmarks.size(), 3u);
  EXPECT_EQ(sweep.spec.benchmarks[2].name, "c");
  EXPECT_EQ(sweep.spec.train_sets.size(), 2u) << "every benchmark that has a train set";
  EXPECT_EQ(sweep.spec.evaluate_on, EvaluateOn::kSame);
}

TEST_F(SweepYamlTest, AnApproachIsReadInFull) {
  ASSERT_OK_AND_ASSIGN(const LoadedSweep sweep, Load(kAll));
  const ApproachSpec& ranker = sweep.spec.approaches[1];
  EXPECT_EQ(ranker.version, "1");
  EXPECT_EQ(ranker.tags, (Tags{{"family", "rankers"}, {"trained", "yes"}}));
  EXPECT_THAT(ranker.train_command, ElementsAre("rank", "{train}", "{model}", "{seed}"));
  EXPECT_EQ(ranker.hyperparameters.defaults.at("lr"), ParamValue(0.1));
  EXPECT_EQ(ranker.hyperparameters.defaults.at("epochs"), ParamValue(int64_t{3}));
  EXPECT_EQ(std::get<IntegerRange>(ranker.hyperparameters.space.at("epochs")).step, 2);
  EXPECT_EQ(std::get<Choice>(ranker.hyperparameters.space.at("mode")).values[1],
            ParamValue(int64_t{2}));
  EXPECT_EQ(ranker.env.at("OMP_NUM_THREADS"), "1");
  EXPECT_EQ(ranker.train_resources, (Resources{2000, int64_t{2} << 30, 0}));
  EXPECT_EQ(ranker.predict_resources, (Resources{2000, int64_t{1} << 30, 0}));
  EXPECT_EQ(ranker.train_timeout, absl::Hours(2));
  EXPECT_EQ(ranker.predict_timeout, absl::InfiniteDuration());
  const ApproachSpec& guess = sweep.spec.approaches[0];
  EXPECT_EQ(guess.version, "2");
  EXPECT_THAT(guess.train_command, IsEmpty());
}

TEST_F(SweepYamlTest, AnApproachSaysHowItIsServedAndSweepsDoNotCare) {
  const std::string path = dir_.File("approaches/served.yaml");
  const auto write = [&](const std::string& serve) {
    Write("approaches/served.yaml",
          "apiVersion: concur/v1\nkind: Approach\nmetadata: {name: served}\nspec:\n  version: 1\n"
          "  predict: {command: [p, \"{test}\"]}\n  hyperparameters: {default: {lr: 1}}\n" +
              serve);
  };
  write("  serve: {command: [p, serve, \"--model={model}\"]}\n");
  ASSERT_OK_AND_ASSIGN(const ServedApproach served, LoadServedApproach(path));
  EXPECT_EQ(served.name, "served");
  EXPECT_EQ(served.version, "1");
  EXPECT_THAT(served.command, ElementsAre("p", "serve", "--model={model}"));
  EXPECT_EQ(served.resources, LoadApproach(path)->predict_resources);
  EXPECT_OK(LoadApproach(path));
  write("");
  EXPECT_THAT(LoadServedApproach(path),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("spec.serve")));
  for (const char* bad : {"{test}", "{hp.lr}", "{code}"}) {
    write(absl::StrCat("  serve: {command: [p, \"", bad, "\"]}\n"));
    EXPECT_THAT(LoadServedApproach(path),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("a placeholder of the serve command ({model})")));
  }
  write("  serve: {command: [p], timeout: 3s}\n");
  EXPECT_THAT(LoadServedApproach(path),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("timeout")));
}

// A test file of the name "its parameters" was taken for one that is made of them.
TEST_F(SweepYamlTest, ATestFileIsMadeOfParametersOnlyWhereNoneIsNamed) {
  Write("benchmarks/its parameters", "x");
  Benchmark("a", "{format: file, test: its parameters, parameters: {task: t}, metric: m}");
  Benchmark("b", "{parameters: {task: t, shots: 3.10}, metric: m}");
  Write("approaches/asks.yaml",
        "apiVersion: concur/v1\nkind: Approach\nmetadata: {name: asks}\n"
        "spec: {version: 1, predict: {command: [p, \"{benchmark.task}\", \"{metrics}\"]}}\n");
  ASSERT_OK_AND_ASSIGN(const LoadedSweep sweep,
                       Load("  approaches: [../approaches/asks.yaml]\n"
                            "  benchmarks: [../benchmarks/a.yaml, ../benchmarks/b.yaml]\n"));
  EXPECT_THAT(sweep.made_of_parameters, ElementsAre(1));
  ASSERT_EQ(sweep.files.size(), 1u);
  EXPECT_EQ(sweep.files[0].benchmark, 0u);
  EXPECT_EQ(sweep.spec.benchmarks[1].format, DataFormat::kFile);
  EXPECT_THAT(sweep.spec.benchmarks[1].parameters,
              ElementsAre(Pair("shots", "3.10"), Pair("task", "t")));
}

TEST_F(SweepYamlTest, DefaultsOfTheSweepFillInWhatAnApproachLeavesOpen) {
  ASSERT_OK_AND_ASSIGN(const LoadedSweep sweep,
                       Load(absl::StrCat(kAll, "  resources: {cpus: 8, gpus: 1}\n",
                                         "  timeout: {train: 1h, predict: 10m}\n")));
  EXPECT_EQ(sweep.spec.approaches[1].train_resources, (Resources{2000, int64_t{2} << 30, 1}));
  EXPECT_EQ(sweep.spec.approaches[1].train_timeout, absl::Hours(2));
  EXPECT_EQ(sweep.spec.approaches[1].predict_timeout, absl::Minutes(10));
  EXPECT_EQ(sweep.spec.approaches[0].predict_resources, (Resources{8000, 0, 1}));
}

TEST_F(SweepYamlTest, AJobMayAskForAShareOfAGpu) {
  ASSERT_OK_AND_ASSIGN(const LoadedSweep sweep,
                       Load(absl::StrCat(kAll, "  resources: {gpus: 0.25}\n")));
  EXPECT_EQ(sweep.spec.approaches[0].predict_resources,
            (Resources{.cpu_millis = 1000, .memory_bytes = 0, .gpus = 0, .gpu_share = 25}));
  EXPECT_THAT(CapacityWarnings(sweep.spec, {{{64'000, int64_t{1} << 40, 1}, {}}}), IsEmpty());
  EXPECT_FALSE(CapacityWarnings(sweep.spec, {{{64'000, int64_t{1} << 40, 0}, {}}}).empty());
  for (const absl::string_view wrong : {"1.5", "0.255", "-0.5", "65", "64.5", "x"}) {
    EXPECT_THAT(
        Load(absl::StrCat(kAll, "  resources: {gpus: ", wrong, "}\n")).status(),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 HasSubstr(absl::StrCat("resources.gpus: expected a whole number from 0 to "
                                        "64, or less than 1 with at most 2 decimals, got \"",
                                        wrong, "\""))));
  }
}

TEST_F(SweepYamlTest, AnOverrideWinsAndASetValueIsNoLongerSampled) {
  ASSERT_OK_AND_ASSIGN(const LoadedSweep sweep, Load(R"(
  approaches:
    - {file: ../approaches/ranker.yaml, name: slow, set: {epochs: 100}, tags: [big],
       resources: {cpus: 4, gpus: 2}, timeout: 5h}
    - ../approaches/ranker.yaml
  benchmarks: [../benchmarks/a.yaml]
)"));
  const ApproachSpec& slow = sweep.spec.approaches[0];
  EXPECT_EQ(slow.name, "slow");
  EXPECT_EQ(slow.hyperparameters.defaults.at("epochs"), ParamValue(int64_t{100}));
  EXPECT_EQ(slow.hyperparameters.space.count("epochs"), 0u);
  EXPECT_EQ(slow.hyperparameters.space.count("lr"), 1u);
  EXPECT_EQ(slow.tags, (Tags{{"big", "yes"}, {"family", "rankers"}, {"trained", "yes"}}));
  EXPECT_EQ(slow.train_resources, (Resources{4000, int64_t{2} << 30, 2}));
  EXPECT_EQ(slow.predict_timeout, absl::Hours(5));
}

TEST_F(SweepYamlTest, LabelsAddUpAndTheMostSpecificValueCounts) {
  Write("approaches/labeled.yaml", R"(apiVersion: concur/v1
kind: Approach
metadata: {name: labeled}
spec:
  version: 1
  train: {command: [t, "{train}", "{model}"], resources: {labels: {gpu: a100}}}
  predict: {command: [p, "{model}", "{test}", "{predictions}"]}
  resources: {cpus: 2, labels: {gpu: t4, disk: fast}}
)");
  ASSERT_OK_AND_ASSIGN(const LoadedSweep sweep, Load(R"(
  approaches:
    - ../approaches/labeled.yaml
    - {file: ../approaches/labeled.yaml, name: here, resources: {labels: {disk: slow}}}
    - ../approaches/guess.yaml
  benchmarks:
    - {file: ../benchmarks/a.yaml, resources: {labels: [vault]}}
    - metadata: {name: inline}
      spec: {test: ../data/y.json, resources: {labels: {site: b}}}
  resources: {labels: {site: b, disk: any}}
)"));
  const std::vector<ApproachSpec>& approaches = sweep.spec.approaches;
  EXPECT_EQ(approaches[0].train_labels, (Labels{{"disk", "fast"}, {"gpu", "a100"}, {"site", "b"}}));
  EXPECT_EQ(approaches[0].predict_labels, (Labels{{"disk", "fast"}, {"gpu", "t4"}, {"site", "b"}}));
  EXPECT_EQ(approaches[0].train_resources, (Resources{2000, 0, 0}));
  EXPECT_EQ(approaches[1].train_labels, (Labels{{"disk", "slow"}, {"gpu", "a100"}, {"site", "b"}}));
  EXPECT_EQ(approaches[2].predict_labels, (Labels{{"disk", "any"}, {"site", "b"}}));
  EXPECT_EQ(sweep.spec.benchmarks[0].labels, (Labels{{"vault", "yes"}}));
  EXPECT_EQ(sweep.spec.benchmarks[1].labels, (Labels{{"site", "b"}}));
}

TEST_F(SweepYamlTest, UsesOfNamedResourcesAreFilledInAsLabelsAre) {
  Write("approaches/asks.yaml", R"(apiVersion: concur/v1
kind: Approach
metadata: {name: asks}
spec:
  version: 1
  train: {command: [t, "{train}", "{model}"], resources: {uses: {licence: 2}}}
  predict: {command: [p, "{model}", "{test}", "{predictions}"], resources: {uses: {api: 3}}}
  resources: {uses: {api: 1}}
)");
  ASSERT_OK_AND_ASSIGN(const LoadedSweep sweep, Load(R"(  approaches: [../approaches/asks.yaml]
  benchmarks:
    - {file: ../benchmarks/a.yaml, resources: {uses: {judge: 1}}}
  resources: {uses: {disk: 1}}
)"));
  const ApproachSpec& approach = sweep.spec.approaches[0];
  EXPECT_EQ(approach.train_uses, (Uses{{"api", 1}, {"disk", 1}, {"licence", 2}}));
  EXPECT_EQ(approach.predict_uses, (Uses{{"api", 3}, {"disk", 1}}));
  EXPECT_EQ(sweep.spec.benchmarks[0].uses, (Uses{{"judge", 1}}));
  for (const auto& [uses, message] : std::vector<std::pair<std::string, std::string>>{
           {"{api: 0}", "resources.uses.api: expected a whole number from 1 to 1000000"},
           {"{\"a b\": 1}", "resources.uses"},
           {"[api]", "expected named resources such as {openai: 1}"}}) {
    EXPECT_THAT(Load(absl::StrCat(kAll, "  resources: {uses: ", uses, "}\n")),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
  }
}

TEST_F(SweepYamlTest, LabelsThatNobodyHasAreAWarningAndThoseOfNoPoolAnError) {
  ASSERT_OK_AND_ASSIGN(const LoadedSweep sweep,
                       Load(absl::StrCat(kAll, "  resources: {labels: {gpu: a100}}\n")));
  const Resources large = {64'000, int64_t{1} << 40, 0};
  EXPECT_THAT(CapacityWarnings(sweep.spec, {{large, {{"gpu", "a100"}}}}), IsEmpty());
  const std::vector<std::string> warnings =
      CapacityWarnings(sweep.spec, {{large, {{"gpu", "h100"}}}});
  ASSERT_EQ(warnings.size(), 3u);
  EXPECT_THAT(warnings[0], HasSubstr("no worker known now has cpus 1, label gpu=a100; the jobs"));
  EXPECT_OK(CheckPools(sweep, {{"of others", large}}));
  EXPECT_OK(CheckPools(sweep, {{"a", large, Labels{{"gpu", "a100"}, {"pool", "a"}}}}));
  EXPECT_THAT(CheckPools(sweep, {{"h", large, Labels{{"pool", "h"}}},
                                 {"tiny", {1, 0, 0}, Labels{{"gpu", "a100"}}}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("expected labels of a pool that is large enough (h: pool=h; tiny: "
                                 "gpu=a100), got gpu=a100; correct them or add a pool")));
}

TEST_F(SweepYamlTest, InlineApproachesAndBenchmarksNeedNoFile) {
  ASSERT_OK_AND_ASSIGN(LoadedSweep sweep, Load(R"(
  approaches:
    - metadata: {name: inline}
      spec: {version: 1, predict: {command: [p, "{test}", "{metrics}"]}}
  benchmarks:
    - metadata: {name: pictures}
      spec: {format: file, test: ../data/y.json, metric: accuracy}
)"));
  EXPECT_EQ(sweep.spec.approaches[0].name, "inline");
  EXPECT_EQ(sweep.spec.benchmarks[0].format, DataFormat::kFile);
  EXPECT_OK(ResolveDataFiles(&sweep));
}

constexpr char kOwnMetric[] = R"(
  approaches:
    - metadata: {name: inline}
      spec: {version: 1, predict: {command: [p, "{test}", "{metrics}"]}}
  benchmarks:
    - metadata: {name: text}
      spec: {format: file, test: ../data/y.json, metric: )";

TEST_F(SweepYamlTest, MetricsHaveGoalAndScale) {
  const auto meaning = [&](const std::string& metric) {
    const absl::StatusOr<LoadedSweep> sweep = Load(absl::StrCat(kOwnMetric, metric, "}\n"));
    EXPECT_OK(sweep);
    EXPECT_EQ(sweep->spec.benchmarks[0].metric, "m");
    return sweep->spec.benchmarks[0].meaning;
  };
  EXPECT_EQ(meaning("m"), MetricMeaning());
  EXPECT_EQ(meaning("{name: m}"), MetricMeaning());
  EXPECT_EQ(meaning("{name: m, goal: maximize, scale: fraction}"),
            (MetricMeaning{Goal::kMaximize, {Scale::Kind::kFraction}}));
  EXPECT_EQ(meaning("{name: m, goal: minimize, scale: none}"),
            (MetricMeaning{Goal::kMinimize, {Scale::Kind::kNone}}));
  EXPECT_EQ(meaning("{name: m, scale: [-1, 2.5]}"),
            (MetricMeaning{Goal::kMaximize, {Scale::Kind::kRange, -1, 2.5}}));
}

TEST_F(SweepYamlTest, AMetricOfAnEntryReplacesThatOfTheFile) {
  Benchmark("text", "{format: file, test: ../data/y.json, metric: {name: ppl, goal: minimize}}");
  const auto load = [&](const std::string& metric) {
    return Load(absl::StrCat(R"(
  approaches:
    - metadata: {name: inline}
      spec: {version: 1, predict: {command: [p, "{test}", "{metrics}"]}}
  benchmarks: [{file: ../benchmarks/text.yaml, metric: )",
                             metric, "}]\n"));
  };
  ASSERT_OK_AND_ASSIGN(LoadedSweep sweep, load("ppl"));
  EXPECT_EQ(sweep.spec.benchmarks[0].meaning.goal, Goal::kMinimize) << "the same metric";
  ASSERT_OK_AND_ASSIGN(sweep, load("accuracy"));
  EXPECT_EQ(sweep.spec.benchmarks[0].meaning.goal, Goal::kMaximize);
  ASSERT_OK_AND_ASSIGN(sweep, load("{name: ppl}"));
  EXPECT_EQ(sweep.spec.benchmarks[0].meaning.goal, Goal::kMaximize) << "all of it is replaced";
}

TEST_F(SweepYamlTest, PerplexityWithoutAGoalIsWarnedOf) {
  ASSERT_OK_AND_ASSIGN(LoadedSweep sweep, Load(absl::StrCat(kOwnMetric, "perplexity}\n")));
  EXPECT_THAT(sweep.warnings,
              ElementsAre(HasSubstr("s.yaml:11:58: spec.benchmarks[0].spec.metric: more of "
                                    "\"perplexity\" counts as better; if less is, write metric: "
                                    "{name: perplexity, goal: minimize}")));
  for (const char* goal : {"minimize", "maximize"}) {
    ASSERT_OK_AND_ASSIGN(sweep,
                         Load(absl::StrCat(kOwnMetric, "{name: perplexity, goal: ", goal, "}}\n")));
    EXPECT_THAT(sweep.warnings, IsEmpty()) << goal;
  }
}

TEST_F(SweepYamlTest, MixturesHaveCapsAndAreTrainedOnByDefault) {
  ASSERT_OK_AND_ASSIGN(const LoadedSweep sweep, Load(absl::StrCat(kAll, R"(
  mixtures:
    - {name: both, of: [{benchmark: a, examples_max: 100}, {benchmark: b}], seed: 7, tags: [mixed]}
  train_on: ["tag:domain=news", both]
)")));
  ASSERT_EQ(sweep.spec.train_sets.size(), 2u);
  EXPECT_EQ(sweep.spec.train_sets[0].name, "b");
  const TrainSet& both = sweep.spec.train_sets[1];
  EXPECT_EQ(both.name, "both");
  EXPECT_EQ(both.seed, 7u);
  EXPECT_EQ(both.parts[0].examples_max, 100);
  EXPECT_EQ(both.parts[1].benchmark, 1u);
  EXPECT_TRUE(both.IsMixture());
}

constexpr char kSourceAndStage[] = R"(  approaches:
    - metadata: {name: source}
      spec: {version: "1", train: {command: [t, "{train}", "{model}"]}}
    - metadata: {name: stage}
      spec:
        version: "1"
        train_from: {approach: source, benchmark: text}
        train: {command: [t, "{train}", "{model}", "{start}"]}
        predict: {command: [p, "{model}", "{test}", "{predictions}"]}
  benchmarks:
    - ../benchmarks/a.yaml
    - ../benchmarks/b.yaml
    - {metadata: {name: text}, spec: {format: file, train: ../data/y.json}}
)";

TEST_F(SweepYamlTest, ATextThatOthersStartFromIsNotTrainedOnByDefault) {
  ASSERT_OK_AND_ASSIGN(const LoadedSweep sweep, Load(kSourceAndStage));
  EXPECT_THAT(sweep.warnings, IsEmpty());
  ASSERT_EQ(sweep.spec.train_sets.size(), 3u);
  EXPECT_EQ(sweep.spec.train_sets[2].name, "text");
  EXPECT_TRUE(sweep.spec.train_sets[2].source_only);
  EXPECT_FALSE(sweep.spec.train_sets[1].source_only);
  const ApproachSpec& stage = sweep.spec.approaches[1];
  ASSERT_TRUE(stage.train_from.has_value());
  EXPECT_EQ(stage.train_from->approach, 0u);
  EXPECT_EQ(stage.train_from->train_set, 2u);
  ASSERT_OK_AND_ASSIGN(const Expansion expansion, Expansion::Make(sweep.spec));
  EXPECT_EQ(expansion.job_count(), 1u + 2 * 2);
}

TEST_F(SweepYamlTest, AnEntrySaysWhatItStartsFromAndSameIsTheTrainSetOfEachJob) {
  Write("approaches/stage.yaml", R"(apiVersion: concur/v1
kind: Approach
metadata: {name: stage}
spec:
  version: "1"
  train_from: {approach: nobody, benchmark: nothing}
  train: {command: [t, "{train}", "{model}", "{start}"]}
  predict: {command: [p, "{model}", "{test}", "{predictions}"]}
)");
  ASSERT_OK_AND_ASSIGN(const LoadedSweep same, Load(R"(  approaches:
    - ../approaches/ranker.yaml
    - {file: ../approaches/stage.yaml, train_from: {approach: ranker, benchmark: same}}
    - {file: ../approaches/stage.yaml, name: on-b, train_from: {approach: ranker, benchmark: b}}
  benchmarks: ["../benchmarks/?.yaml"]
  train_on: [a]
)"));
  EXPECT_EQ(same.spec.approaches[1].train_from->train_set, std::nullopt);
  EXPECT_EQ(same.spec.approaches[2].train_from->train_set, 1u);
  EXPECT_EQ(same.spec.train_sets[1].name, "b");
  ASSERT_OK_AND_ASSIGN(const Expansion expansion, Expansion::Make(same.spec));
  // Each of three is trained on a and evaluated; ranker is trained on b alone.
  EXPECT_EQ(expansion.job_count(), 3u * 2 + 1);
}

TEST_F(SweepYamlTest, RulesAreReadByNameAndByTag) {
  ASSERT_OK_AND_ASSIGN(const LoadedSweep sweep, Load(absl::StrCat(kAll, R"(
  evaluate_on: [a, c]
  exclude:
    - {approach: "tag:trained", train_on: a, evaluate_on: [c]}
    - {benchmark: b}
)")));
  ASSERT_OK_AND_ASSIGN(const Expansion expansion, Expansion::Make(sweep.spec));
  ASSERT_EQ(expansion.blocks().size(), 2u);  // guess; ranker on a
  EXPECT_THAT(expansion.blocks()[1].tests, ElementsAre(0));
}

TEST_F(SweepYamlTest, EveryPolicyIsRead) {
  ASSERT_OK_AND_ASSIGN(const LoadedSweep sweep, Load(absl::StrCat(kAll, R"(
  settings: {random: 4, seed: 42}
  seeds: {from: -1, to: 2}
  select: each
  metric: f1
  priority: -5
  budget: {usd: 12.5}
  keep: [logs, outputs]
  retry: {failures_max: 1, lost_max: 0, backoff_min: 2s, backoff_max: 1m}
  failures_max_per_block: 3
  early_stop: {method: median, metric: loss, minimize: true, min: 2, max: 40, eta: 4}
)")));
  const SweepSpec& spec = sweep.spec;
  EXPECT_EQ(spec.random_settings, 4u);
  EXPECT_EQ(spec.settings_seed, 42u);
  EXPECT_THAT(spec.seeds, ElementsAre(-1, 0, 1, 2));
  EXPECT_EQ(spec.select, Selection::kEach);
  EXPECT_EQ(spec.benchmarks[0].metric, "f1");
  EXPECT_EQ(spec.priority, -5);
  EXPECT_EQ(spec.budget_usd_micros, 12'500'000);
  EXPECT_FALSE(spec.keep.systems);
  EXPECT_FALSE(spec.keep.predictions);
  EXPECT_TRUE(spec.keep.logs);
  EXPECT_TRUE(spec.keep.outputs);
  EXPECT_EQ(spec.retry.failures_max, 1u);
  EXPECT_EQ(spec.retry.lost_max, 0u);
  EXPECT_EQ(spec.retry.backoff_max, absl::Minutes(1));
  EXPECT_EQ(spec.failures_max_per_block, 3u);
  ASSERT_TRUE(spec.early_stop.has_value());
  EXPECT_EQ(spec.early_stop->metric, "loss");
  const EarlyStopRule& rule = spec.early_stop->rule;
  EXPECT_EQ(rule.method, EarlyStopMethod::kMedian);
  EXPECT_TRUE(rule.minimize);
  EXPECT_EQ(rule.min, 2);
  EXPECT_EQ(rule.max, 40);
  EXPECT_EQ(rule.eta, 4);
}

// One train set, and its validation set.
TEST_F(SweepYamlTest, ABudgetThatCannotBeMeantIsRefusedAtItsPlace) {
  for (const char* usd : {"0", "-1", "1000001", "1e300", "lots", "[1]", "0.0000001"}) {
    EXPECT_THAT(Load(absl::StrCat(kAll, "\n  budget: {usd: ", usd, "}\n")),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("spec.budget.usd: expected dollars above 0, at most 1000000")))
        << usd;
  }
  EXPECT_THAT(Load(absl::StrCat(kAll, "\n  budget: {}\n")),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("expected the field \"usd\" (dollars that its jobs may spend)")));
  EXPECT_THAT(Load(absl::StrCat(kAll, "\n  budget: {eur: 5}\n")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("got \"eur\"")));
}

constexpr char kValidated[] = R"(  approaches: ["../approaches/ranker.yaml"]
  benchmarks:
    - metadata: {name: v}
      spec: {train: ../data/y.json, test: ../data/y.json, validation: ../data/y.json}
)";

TEST_F(SweepYamlTest, ASearchThatCannotBeMeantIsRefusedAtItsPlace) {
  const auto refused = [&](const std::string& axes, const std::string& settings,
                           const std::string& message) {
    EXPECT_THAT(Load(absl::StrCat(axes, "\n  settings: ", settings, "\n")),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)))
        << settings;
  };
  refused(kValidated, "{search: grid, trials: 9}",
          "spec.settings.search: expected tpe, got \"grid\"");
  refused(kValidated, "{search: tpe}",
          "expected the field \"trials\" (how many settings are tried)");
  refused(kValidated, "{search: tpe, trials: 0}", "settings.trials: expected");
  refused(kValidated, "{search: tpe, trials: 1}", "settings.trials: expected");
  refused(kValidated, "{search: tpe, trials: 1001}", "settings.trials: expected");
  refused(kValidated, "{search: tpe, trials: 9, parallel: 0}", "settings.parallel: expected");
  refused(kValidated, "{search: tpe, trials: 9, by: luck}",
          "settings.by: expected validation or test, got \"luck\"");
  refused(kValidated, "{search: tpe, trials: 9, random: 3}", "expected random or search, got both");
  refused(kValidated, "{trials: 9}", "spec.settings.trials: expected a known field");
  refused(kAll, "{search: tpe, trials: 9}",
          "s.yaml:8:13: spec.settings: expected a validation set on which trials of \"ranker\" on "
          "\"a\" are compared, got none");
  refused(R"(  approaches: ["../approaches/guess.yaml"]
  benchmarks: ["../benchmarks/?.yaml"])",
          "{search: tpe, trials: 9, by: test}",
          "settings.search: expected an approach with a space to search, got none");
  refused(kValidated, "{search: tpe, trials: 9}\n  early_stop: {metric: f1, max: 9}",
          "settings.search: expected no early_stop beside it");
  Write("approaches/ranker.yaml",
        absl::StrReplaceAll(kRanker, {{"lr: {log_uniform: [0.001, 1.0]}, ", ""},
                                      {"[1, 9, 2]", "[3, 4, 2]"},
                                      {"[fast, 2]", "[fast]"}}));
  refused(kValidated, "{search: tpe, trials: 9}",
          "settings.search: expected a space with more than one setting, got one of \"ranker\"");
}

TEST_F(SweepYamlTest, ASearchIsRead) {
  ASSERT_OK_AND_ASSIGN(const LoadedSweep sweep,
                       Load(absl::StrCat(kValidated, "\n  settings: {search: tpe, trials: 30}\n")));
  ASSERT_TRUE(sweep.spec.search.has_value());
  EXPECT_FALSE(sweep.spec.search->on_test);
  EXPECT_EQ(sweep.spec.search->parallel, 7u);
  EXPECT_EQ(sweep.spec.random_settings, 29u);
  ASSERT_OK_AND_ASSIGN(
      const LoadedSweep other,
      Load(absl::StrCat(
          kAll, "\n  settings: {search: tpe, trials: 5, parallel: 2, by: test, seed: 3}\n")));
  EXPECT_TRUE(other.spec.search->on_test);
  EXPECT_EQ(other.spec.search->parallel, 2u);
  EXPECT_EQ(other.spec.settings_seed, 3u);
}

TEST_F(SweepYamlTest, EarlyStoppingThatCannotBeMeantIsRefusedAtItsPlace) {
  const auto refused = [&](const std::string& early_stop, const std::string& settings,
                           const std::string& message) {
    EXPECT_THAT(
        Load(absl::StrCat(kAll, "\n  settings: ", settings, "\n  early_stop: ", early_stop, "\n")),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
  };
  refused("{max: 9}", "{random: 4}",
          "early_stop: expected the field \"metric\" (the name that train jobs report)");
  refused("{metric: f1}", "{random: 4}",
          "early_stop: expected the field \"max\" (the steps of a whole training)");
  refused("{metric: f1, max: 9, method: ahsa}", "{random: 4}", "did you mean \"asha\"");
  refused("{metric: f1, min: 0, max: 9}", "{random: 4}", "early_stop.min: expected");
  refused("{metric: f1, min: 10, max: 9}", "{random: 4}", "early_stop.max: expected");
  refused("{metric: f1, max: 9, eta: 1}", "{random: 4}", "early_stop.eta: expected");
  refused("{metric: f1, max: 9, rung: 1}", "{random: 4}",
          "early_stop.rung: expected a known field");
  refused("{metric: f1, max: 9}", "{random: 0}",
          "s.yaml:9:15: spec.early_stop: expected settings to choose from");
}

TEST_F(SweepYamlTest, EarlyStoppingThatIsProbablyNotMeantIsWarnedOf) {
  const auto warnings = [&](const std::string& early_stop) {
    const absl::StatusOr<LoadedSweep> sweep =
        Load(absl::StrCat(kAll, "\n  settings: {random: 4}\n  early_stop: ", early_stop, "\n"));
    EXPECT_OK(sweep.status());
    return sweep.ok() ? absl::StrJoin(sweep->warnings, "\n") : "";
  };
  EXPECT_THAT(warnings("{metric: loss, max: 9}"),
              HasSubstr("spec.early_stop.metric: more of \"loss\" counts as better; if less is, "
                        "write minimize: true, else false"));
  EXPECT_THAT(warnings("{metric: loss, max: 9, minimize: false}"), Not(HasSubstr("early_stop")));
  EXPECT_THAT(warnings("{metric: f1, max: 9}"), Not(HasSubstr("early_stop")));
  EXPECT_THAT(warnings("{metric: f1, min: 9, max: 9}"),
              HasSubstr("spec.early_stop: min and max are equal: no setting stops early"));
  EXPECT_THAT(warnings("{metric: f1, method: hyperband, max: 9}"),
              HasSubstr("spec.early_stop: brackets of fewer than eta settings stop few or none: of "
                        "5 settings 1 from step 3; give"));
  EXPECT_THAT(warnings("{metric: f1, method: hyperband, max: 4, min: 2, eta: 2}"),
              Not(HasSubstr("early_stop")));
}

TEST_F(SweepYamlTest, AVariableOfTheFileStartsAtTheFileAndOneOfTheCallerAtTheWorkingDirectory) {
  Benchmark("d", "{test: \"${data}/y.json\"}");
  const std::string spec = R"(  variables: {data: ../data}
  approaches: [../approaches/guess.yaml]
  benchmarks: [../benchmarks/d.yaml]
)";
  ASSERT_OK_AND_ASSIGN(LoadedSweep from_file, Load(spec));
  EXPECT_EQ(from_file.files[0].use.path, dir_.File("data/y.json"));
  EXPECT_OK(ResolveDataFiles(&from_file));
  ASSERT_OK_AND_ASSIGN(const LoadedSweep from_caller, Load(spec, {{"data", "some/where"}}));
  EXPECT_EQ(from_caller.files[0].use.path, "some/where/y.json");
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> missing, MissingDataFiles(from_caller));
  EXPECT_THAT(missing, ElementsAre(HasSubstr("--var data=PATH")));
  EXPECT_THAT(Load(spec, {{"dat", "x"}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("--var dat=…: expected a variable that"),
                             HasSubstr("did you mean \"data\"?"))));
}

TEST_F(SweepYamlTest, WhatIsAllowedButProbablyNotMeantIsAWarning) {
  ASSERT_OK_AND_ASSIGN(const LoadedSweep sweep, Load(R"(
  approaches:
    - metadata: {name: blind}
      spec:
        version: 1
        train: {command: [t]}
        predict: {command: [p, "{predictions}"]}
        env: {OPENAI_API_KEY: 0123456789abcdef, HOME_KEY: /etc/0123456789abcdef, KEY: short}
        secrets: {JUDGE_KEY: judge}
  benchmarks: ["../benchmarks/*.yaml"]
  mixtures: [{name: unused, of: [{benchmark: a}]}]
  train_on: [a]
  settings: {random: 3}
  seeds: [1, 2]
)"));
  EXPECT_EQ(sweep.spec.approaches[0].secrets.at("JUDGE_KEY"), "judge");
  const std::vector<std::string> expected = {"the value of OPENAI_API_KEY looks like a secret",
                                             "does not use {train}",
                                             "does not use {model}: it leaves no system",
                                             "does not use {model}: it never sees",
                                             "the mixture \"unused\" is not in train_on",
                                             "no approach has a space to sample from",
                                             "no command of \"blind\" uses {seed}",
                                             "the benchmark \"b\" has no job",
                                             "the benchmark \"c\" has no job"};
  ASSERT_EQ(sweep.warnings.size(), expected.size()) << absl::StrJoin(sweep.warnings, "\n");
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_THAT(sweep.warnings[i], HasSubstr(expected[i]));
    EXPECT_THAT(sweep.warnings[i], HasSubstr(".yaml:"));
  }
}

TEST_F(SweepYamlTest, ARequestBeyondEveryKnownWorkerIsAWarningAndBeyondEveryPoolAnError) {
  ASSERT_OK_AND_ASSIGN(const LoadedSweep sweep,
                       Load(absl::StrCat(kAll, "  resources: {gpus: 2}\n")));
  EXPECT_THAT(CapacityWarnings(sweep.spec, {}), IsEmpty());
  EXPECT_THAT(CapacityWarnings(sweep.spec, {{{64'000, int64_t{1} << 40, 2}, {}}}), IsEmpty());
  EXPECT_EQ(CapacityWarnings(sweep.spec, {{{64'000, int64_t{1} << 40, 1}, {}}}).size(), 3u);
  EXPECT_OK(CheckPools(sweep, {}));
  EXPECT_OK(CheckPools(sweep, {{"small", {1000, 0, 0}}, {"big", {64'000, int64_t{1} << 40, 2}}}));
  EXPECT_THAT(CheckPools(sweep, {{"small", {1000, 0, 0}}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("fits in a pool (small: ")));
}

TEST_F(SweepYamlTest, AServiceReadsTheModelAndTheSeedForTheCommandThatAsksIt) {
  ASSERT_OK_AND_ASSIGN(const LoadedSweep sweep, Load(R"(
  approaches:
    - metadata: {name: served}
      spec:
        version: "1"
        train: {command: [t, "{train}", "{model}"]}
        service:
          command: [serve, "{model}", "{port}", "{seed}"]
          ready: {http: /health, within: 45m}
          resources: {gpus: 1}
          serves: 16
        predict: {command: [ask, "{service.url}", "{test}", "{predictions}"]}
  benchmarks: ["../benchmarks/a.yaml"]
  seeds: [1, 2]
)"));
  EXPECT_THAT(sweep.warnings, IsEmpty());
  const ServiceSpec& service = *sweep.spec.approaches[0].service;
  EXPECT_EQ(service.ready_http, "/health");
  EXPECT_EQ(service.ready_within, absl::Minutes(45));
  EXPECT_EQ(service.resources.gpus, 1);
  EXPECT_EQ(service.serves, 16u);
  EXPECT_EQ(service.idle, absl::Minutes(5));
}

constexpr char kJudged[] = R"(
  approaches:
    - metadata: {name: judge}
      spec:
        version: "1"
        service: {command: [serve, "{hp.model}", "{port}"]}
        hyperparameters: {default: {model: m}}
    - metadata: {name: asks}
      spec:
        version: "1"
        needs: NEEDS
        predict: {command: [ask, "{service.judge.url}", "{test}", "{predictions}"]}
  benchmarks: ["../benchmarks/a.yaml", {file: ../benchmarks/a.yaml, name: b, needs: [judge]}]
)";

TEST_F(SweepYamlTest, ApproachesAndBenchmarksNeedServicesByName) {
  ASSERT_OK_AND_ASSIGN(const LoadedSweep sweep,
                       Load(absl::StrReplaceAll(kJudged, {{"NEEDS", "[judge]"}})));
  EXPECT_THAT(sweep.warnings, IsEmpty());
  EXPECT_THAT(sweep.spec.approaches[1].needs, ElementsAre(0));
  EXPECT_THAT(sweep.spec.benchmarks[0].needs, IsEmpty());
  EXPECT_THAT(sweep.spec.benchmarks[1].needs, ElementsAre(0));
}

TEST_F(SweepYamlTest, ANeedThatCannotBeIsRefusedWithItsPlace) {
  const auto refusal = [&](const std::string& needs) {
    return std::string(Load(absl::StrReplaceAll(kJudged, {{"NEEDS", needs}})).status().message());
  };
  EXPECT_THAT(refusal("[jugde]"),
              HasSubstr("s.yaml:15:17: spec.approaches[1].spec.needs[0]: expected the name of an "
                        "approach that serves, got \"jugde\" (did you mean \"judge\"?)"));
  EXPECT_THAT(refusal("[asks]"), HasSubstr("s.yaml:15:16: spec.approaches[1].spec.needs: "
                                           "expected another approach, got \"asks\""));
  EXPECT_THAT(refusal("judge"), HasSubstr("expected a list of approaches that serve"));
}

TEST_F(SweepYamlTest, SuffixesAreThoseThatToolsGoBy) {
  EXPECT_EQ(SuffixOf("a/b.jsonl.gz"), ".jsonl.gz");
  EXPECT_EQ(SuffixOf("train-v1.1.prefix.json"), ".json");
  EXPECT_EQ(SuffixOf("a.b/c"), "");
  EXPECT_EQ(SuffixOf(".hidden"), "");
  EXPECT_EQ(SuffixOf("x.gz"), ".gz");
  EXPECT_EQ(SuffixOf("x."), "");
  EXPECT_EQ(SuffixOf("x.a b"), "");
}

TEST_F(SweepYamlTest, AnUnreadableSweepFileIsAnErrorThatNamesIt) {
  EXPECT_THAT(LoadSweep(dir_.File("none.yaml")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none.yaml: open: No such")));
  EXPECT_THAT(LoadSweep(dir_.path()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("got a directory")));
}

}  // namespace
}  // namespace concur::spec
