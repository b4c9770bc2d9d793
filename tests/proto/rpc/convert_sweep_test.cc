// SPDX-License-Identifier: Apache-2.0
#include "proto/rpc/convert_sweep.h"

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/random.h"
#include "core/spent.h"
#include "tests/core/sweep/sweep_builder.h"
#include "tests/proto/rpc/edges.h"
#include "tests/proto/rpc/random_values.h"
#include "tests/testing/test.h"

namespace concur::rpc {
namespace {

using ::concur::testing::Dump;

constexpr int kRandomSpecs = 300;

TEST(ConvertSweepTest, RandomSpecsComeBackAsTheyWere) {
  for (int seed = 0; seed < kRandomSpecs; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed, "spec");
    const SweepSpec spec = testing::RandomSpec(random);
    ASSERT_OK_AND_ASSIGN(const SweepSpec again, FromProto(ToProto(spec)));
    ASSERT_EQ(Dump(again), Dump(spec));
    const std::string bytes = EncodeSpec(spec);
    ASSERT_OK_AND_ASSIGN(const SweepSpec decoded, DecodeSpec(bytes));
    ASSERT_EQ(Dump(decoded), Dump(spec));
    ASSERT_EQ(EncodeSpec(decoded), bytes) << "same spec, same bytes";
  }
}

TEST(ConvertSweepTest, BytesThatAreNoSpecAreDataLoss) {
  EXPECT_THAT(DecodeSpec("\xff\xff\xff"),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("bytes")));
  EXPECT_THAT(DecodeSpec(""), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("spec.name")));
}

// A small spec that is valid, for breaking.
v1::SweepSpec ValidSpec() {
  SweepSpec spec;
  spec.name = "s";
  ApproachSpec approach;
  approach.name = "lr";
  approach.version = "1";
  approach.train_command = {"train"};
  approach.predict_command = {"predict"};
  approach.hyperparameters.defaults = {{"lr", 0.1}};
  approach.hyperparameters.space = {{"lr", UniformRange{0, 1}}};
  spec.approaches = {approach, approach};
  spec.approaches[1].name = "nb";
  BenchmarkSpec benchmark;
  benchmark.name = "squad";
  benchmark.train = DataFile{Sha256Of("train"), 5, "train.json", ".json"};
  benchmark.test = DataFile{Sha256Of("test"), 4, "test.json", ".json"};
  spec.benchmarks = {benchmark, benchmark};
  spec.benchmarks[1].name = "news";
  spec.benchmarks[1].train.reset();
  spec.train_sets = {TrainSet{"squad", {{0, 0}}, 0, {}}};
  return ToProto(spec);
}

struct Refusal {
  std::string name;
  std::function<void(v1::SweepSpec&)> break_it;
  std::string message;
};

std::vector<Refusal> HeadRefusals() {
  return {
      {"no name", [](auto& s) { s.clear_name(); }, "spec.name: expected a name of letters"},
      {"huge name", [](auto& s) { s.set_name(std::string(201, 'x')); },
       "spec.name: expected a name of at most 200 bytes, got 201"},
      {"escape in a name", [](auto& s) { s.set_name("a\x1b[2J"); },
       "spec.name: expected a name of letters"},
      {"not UTF-8", [](auto& s) { s.set_name("a\xff"); }, "spec.name: expected a name of letters"},
      {"huge description", [](auto& s) { s.set_description(std::string(100'000, 'x')); },
       "spec.description: expected at most 65536 bytes, got 100000"},
      {"no approach", [](auto& s) { s.clear_approaches(); }, "spec.approaches: expected at least"},
      {"no benchmark", [](auto& s) { s.clear_benchmarks(); }, "spec.benchmarks: expected at leas"},
      {"no seed", [](auto& s) { s.clear_seeds(); }, "spec.seeds: expected at least one"},
      {"too many settings", [](auto& s) { s.set_random_settings(4'000'000'000); },
       "spec.settings.random: expected at most 99999, got 4000000000"},
      {"unknown enum",
       [](auto& s) { s.set_evaluate_on(static_cast<v1::SweepSpec::EvaluateOn>(9)); },
       "spec.evaluate_on: expected a known value, got number 9"},
      {"unknown select", [](auto& s) { s.set_select(static_cast<v1::SweepSpec::Selection>(-1)); },
       "spec.select: expected a known value, got number -1"},
      {"listed without a list",
       [](auto& s) { s.set_evaluate_on(v1::SweepSpec::EVALUATE_ON_LISTED); },
       "spec.evaluate_on: expected at least one benchmark"},
      {"a list that is not used", [](auto& s) { s.add_evaluate_benchmarks(0); },
       "spec.evaluate_on: expected no benchmarks unless"},
      {"index beyond the list",
       [](auto& s) {
         s.set_evaluate_on(v1::SweepSpec::EVALUATE_ON_LISTED);
         s.add_evaluate_benchmarks(2);
       },
       "spec.evaluate_on[0]: expected an index below 2, got 2"},
      {"exclude nothing", [](auto& s) { s.add_exclude(); },
       "spec.exclude[0]: expected an approach"},
      {"exclude an unknown approach", [](auto& s) { s.add_exclude()->set_approach(7); },
       "spec.exclude[0].approach: expected an index below 2, got 7"},
      {"retry never", [](auto& s) { s.mutable_retry()->set_failures_max(0); },
       "spec.retry.failures_max: expected 1 to"},
      {"retry too often", [](auto& s) { s.mutable_retry()->set_failures_max(1001); },
       "spec.retry.failures_max: expected 1 to 1000, got 1001"},
      {"lost too often", [](auto& s) { s.mutable_retry()->set_lost_max(1001); },
       "spec.retry.lost_max: expected 0 to 1000, got 1001"},
      {"early stopping of no kind", [](auto& s) { s.mutable_early_stop()->set_metric("f1"); },
       "spec.early_stop.method: expected a known value, got number 0"},
      {"early stopping without steps",
       [](auto& s) {
         s.set_random_settings(1);
         s.mutable_early_stop()->set_method(v1::EarlyStop::METHOD_ASHA);
         s.mutable_early_stop()->set_metric("f1");
       },
       "spec.early_stop.min: expected 1 to"},
      {"early stopping by a name of two lines",
       [](auto& s) {
         s.mutable_early_stop()->set_method(v1::EarlyStop::METHOD_MEDIAN);
         s.mutable_early_stop()->set_metric("f\n1");
       },
       "spec.early_stop.metric: expected"},
      {"a search of no kind", [](auto& s) { s.mutable_search()->set_parallel(1); },
       "spec.search.method: expected a known value, got number 0"},
      {"a search of one trial",
       [](auto& s) {
         s.set_random_settings(0);
         s.mutable_search()->set_method(v1::Search::METHOD_TPE);
         s.mutable_search()->set_parallel(1);
       },
       "spec.settings.trials: expected 2 to 1000, got 1"},
      {"a search that never begins",
       [](auto& s) {
         s.set_random_settings(9);
         s.mutable_search()->set_method(v1::Search::METHOD_TPE);
       },
       "spec.settings.parallel: expected 1 to 1000, got 0"},
      {"negative backoff",
       [](auto& s) { s.mutable_retry()->mutable_backoff_min()->set_seconds(-1); },
       "spec.retry.backoff_min.seconds: expected 0 to"},
      {"backoff upside down",
       [](auto& s) { s.mutable_retry()->mutable_backoff_min()->set_seconds(1000); },
       "spec.retry: expected 0s <= backoff_min"},
      {"nanos beyond a second",
       [](auto& s) { s.mutable_retry()->mutable_backoff_min()->set_nanos(1'000'000'000); },
       "spec.retry.backoff_min.nanos: expected 0 to 999999999"},
      {"train set of nothing", [](auto& s) { s.mutable_train_sets(0)->clear_parts(); },
       "spec.train_sets[0].parts: expected at least one"},
      {"train set on test data",
       [](auto& s) { s.mutable_train_sets(0)->mutable_parts(0)->set_benchmark(1); },
       "spec.train_sets[0].parts[0].benchmark: \"news\" has no train file"},
      {"negative cap",
       [](auto& s) { s.mutable_train_sets(0)->mutable_parts(0)->set_examples_max(-1); },
       "spec.train_sets[0].parts[0].examples_max: expected 0 to"},
  };
}

std::vector<Refusal> PartRefusals() {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  return {
      {"name twice", [](auto& s) { s.mutable_approaches(1)->set_name("lr"); },
       "spec.approaches[1].name: \"lr\" stands twice"},
      {"long version", [](auto& s) { s.mutable_approaches(1)->set_version(std::string(300, 'v')); },
       "spec.approaches[1].version: expected at most 200 bytes, got 300"},
      {"no command",
       [](auto& s) {
         s.mutable_approaches(0)->clear_train();
         s.mutable_approaches(0)->clear_predict();
       },
       "spec.approaches[0].predict.command: expected a command"},
      {"NUL in an argument",
       [](auto& s) { s.mutable_approaches(0)->mutable_train()->add_argv(std::string("a\0b", 3)); },
       "spec.approaches[0].train.command[1]: expected text without NUL"},
      {"empty program", [](auto& s) { s.mutable_approaches(0)->mutable_train()->set_argv(0, ""); },
       "spec.approaches[0].train.command[0]: expected the name of a program"},
      {"negative memory",
       [](auto& s) {
         s.mutable_approaches(0)->mutable_train()->mutable_resources()->set_memory_bytes(-5);
       },
       "spec.approaches[0].train.resources.memory: expected 0 to"},
      {"too many GPUs",
       [](auto& s) { s.mutable_approaches(0)->mutable_train()->mutable_resources()->set_gpus(65); },
       "spec.approaches[0].train.resources.gpus: expected 0 to 64, got 65"},
      {"a share of a whole GPU",
       [](auto& s) {
         s.mutable_approaches(0)->mutable_train()->mutable_resources()->set_gpu_share(100);
       },
       "spec.approaches[0].train.resources.gpu_share: expected 0 to 99, got 100"},
      {"no time", [](auto& s) { s.mutable_approaches(0)->mutable_predict()->mutable_timeout(); },
       "spec.approaches[0].predict.timeout: expected at least 1s"},
      {"NaN default",
       [=](auto& s) {
         (*s.mutable_approaches(0)->mutable_defaults())["lr"].set_double_value(kNan);
       },
       "spec.approaches[0].hyperparameters: default.lr: expected a finite number"},
      {"no default", [](auto& s) { s.mutable_approaches(0)->mutable_defaults()->clear(); },
       "spec.approaches[0].hyperparameters: space.lr: expected a default"},
      {"empty distribution",
       [](auto& s) { (*s.mutable_approaches(0)->mutable_space())["lr"].Clear(); },
       "spec.approaches[0].space[\"lr\"]: expected choice, grid, uniform, log_uniform or integers"},
      {"log of zero",
       [](auto& s) {
         (*s.mutable_approaches(0)->mutable_space())["lr"].mutable_log_uniform()->set_high(1);
       },
       "spec.approaches[0].hyperparameters: space.lr: expected a range"},
      {"infinite range",
       [](auto& s) {
         (*s.mutable_approaches(0)->mutable_space())["lr"].mutable_uniform()->set_high(
             std::numeric_limits<double>::infinity());
       },
       "spec.approaches[0].hyperparameters: space.lr: expected a range"},
      {"step of zero",
       [](auto& s) {
         (*s.mutable_approaches(0)->mutable_space())["lr"].mutable_integers()->set_high(1);
       },
       "spec.approaches[0].hyperparameters: space.lr: expected integers"},
      {"choice of nothing",
       [](auto& s) { (*s.mutable_approaches(0)->mutable_space())["lr"].mutable_choice(); },
       "spec.approaches[0].hyperparameters: space.lr: expected at least one"},
      {"variable that is none",
       [](auto& s) { (*s.mutable_approaches(0)->mutable_env())["A=B"] = "1"; },
       "spec.approaches[0].env: expected the name of an environment variable"},
      {"no format",
       [](auto& s) { s.mutable_benchmarks(0)->set_format(v1::Benchmark::FORMAT_UNSPECIFIED); },
       "spec.benchmarks[0].format: expected a value, got the unspecified one"},
      {"no data", [](auto& s) { s.mutable_benchmarks(1)->clear_test(); },
       "spec.benchmarks[1]: expected a train or a test file"},
      {"short digest", [](auto& s) { s.mutable_benchmarks(0)->mutable_test()->set_digest("abc"); },
       "spec.benchmarks[0].test.digest: expected the 32 bytes of a SHA-256, got 3"},
      {"digest of zeros",
       [](auto& s) { s.mutable_benchmarks(0)->mutable_test()->set_digest(std::string(32, '\0')); },
       "spec.benchmarks[0].test.digest: expected a SHA-256, got zeros"},
      {"negative size",
       [](auto& s) { s.mutable_benchmarks(0)->mutable_test()->set_size_bytes(-1); },
       "spec.benchmarks[0].test.bytes: expected 0 to"},
      {"suffix that leaves its directory",
       [](auto& s) { s.mutable_benchmarks(0)->mutable_test()->set_suffix("/../../etc/passwd"); },
       "spec.benchmarks[0].test.suffix: expected a suffix such as"},
      {"unknown metric", [](auto& s) { s.mutable_benchmarks(0)->set_metric("bleu"); },
       "spec.benchmarks[0].metric: expected exact_match or f1 for format qa, got \"bleu\""},
      {"unknown goal",
       [](auto& s) { s.mutable_benchmarks(0)->set_goal(static_cast<v1::Benchmark::Goal>(9)); },
       "spec.benchmarks[0].goal: expected a known goal, got 9"},
      {"unknown scale",
       [](auto& s) {
         s.mutable_benchmarks(0)->mutable_scale()->set_kind(
             static_cast<v1::Benchmark::Scale::Kind>(9));
       },
       "spec.benchmarks[0].scale.kind: expected a known scale, got 9"},
  };
}

TEST(ConvertSweepTest, SpecsThatBreakARuleAreRefusedWithTheFieldsPath) {
  ASSERT_OK(FromProto(ValidSpec()));
  for (const auto& refusals : {HeadRefusals(), PartRefusals()}) {
    for (const Refusal& refusal : refusals) {
      SCOPED_TRACE(refusal.name);
      v1::SweepSpec spec = ValidSpec();
      refusal.break_it(spec);
      EXPECT_THAT(FromProto(spec),
                  StatusIs(absl::StatusCode::kInvalidArgument, StartsWith(refusal.message)));
    }
  }
}

TEST(ConvertSweepTest, SweepsStoredWithoutGoalsAreMaximizedAndKeepTheirBytes) {
  ASSERT_OK_AND_ASSIGN(const SweepSpec spec, FromProto(ValidSpec()));
  EXPECT_EQ(spec.benchmarks[0].meaning, MetricMeaning());
  EXPECT_FALSE(ToProto(spec).benchmarks(0).has_scale());
  EXPECT_EQ(ToProto(spec).benchmarks(0).SerializeAsString(),
            ValidSpec().benchmarks(0).SerializeAsString());
}

TEST(ConvertSweepTest, UnsetRulesOfASpecAreCoresDefaults) {
  v1::SweepSpec proto = ValidSpec();
  proto.clear_keep();
  proto.clear_retry();
  proto.clear_select();
  proto.clear_evaluate_on();
  proto.mutable_approaches(0)->mutable_train()->clear_resources();
  ASSERT_OK_AND_ASSIGN(const SweepSpec spec, FromProto(proto));
  EXPECT_TRUE(spec.keep.systems);
  EXPECT_EQ(spec.retry.failures_max, RetryPolicy().failures_max);
  EXPECT_EQ(spec.select, Selection::kBest);
  EXPECT_EQ(spec.evaluate_on, EvaluateOn::kSame);
  EXPECT_EQ(spec.approaches[0].train_resources, Resources());
}

std::vector<Edge<SweepSpec>> SpecEdges() {
  const auto text = [](size_t bytes, int beyond) { return std::string(bytes + beyond, 'x'); };
  const auto tags = [](int beyond) {
    Tags many;
    for (size_t i = 0; i < kTagsMax + beyond; ++i) {
      many[absl::StrCat("t", i)] = "";
    }
    return many;
  };
  return {
      {"name", [=](auto& s, int n) { s.name = text(kNameBytesMax, n); }},
      {"description", [=](auto& s, int n) { s.description = text(kTextBytesMax, n); }},
      {"version", [=](auto& s, int n) { s.approaches[0].version = text(kNameBytesMax, n); }},
      {"tags", [=](auto& s, int n) { s.benchmarks[0].tags = tags(n); }},
      {"labels", [=](auto& s, int n) { s.approaches[0].train_labels = tags(n); }},
      {"arguments",
       [](auto& s, int n) { s.approaches[0].train_command.assign(kArgumentsMax + n, "x"); }},
      {"argument",
       [=](auto& s, int n) { s.approaches[0].predict_command.push_back(text(kTextBytesMax, n)); }},
      {"variables",
       [](auto& s, int n) {
         for (size_t i = 0; i < kArgumentsMax + n; ++i) {
           s.approaches[0].env[absl::StrCat("V", i)] = "";
         }
       }},
      {"hyperparameters",
       [](auto& s, int n) {
         for (size_t i = s.approaches[1].hyperparameters.defaults.size();
              i < kHyperparametersMax + n; ++i) {
           s.approaches[1].hyperparameters.defaults[absl::StrCat("h", i)] = true;
         }
       }},
      {"choice",
       [](auto& s, int n) {
         s.approaches[0].hyperparameters.space["lr"] =
             Choice{std::vector<ParamValue>(kSettingsMax + n, 0.5)};
       }},
      {"shortest time-out",
       [](auto& s, int n) { s.approaches[0].train_timeout = kTimeoutMin - absl::Seconds(n); }},
      {"longest time-out",
       [](auto& s, int n) { s.approaches[0].train_timeout = kSpanMax + absl::Seconds(n); }},
      {"CPUs",
       [](auto& s, int n) { s.approaches[0].train_resources.cpu_millis = kCpuMillisMax + n; }},
      {"memory",
       [](auto& s, int n) { s.approaches[0].train_resources.memory_bytes = kMemoryBytesMax + n; }},
      {"GPUs", [](auto& s, int n) { s.approaches[0].predict_resources.gpus = kGpusMax + n; }},
      {"size", [](auto& s, int n) { s.benchmarks[0].test->bytes = kArtifactBytesMax + n; }},
      {"path", [=](auto& s, int n) { s.benchmarks[0].test->path = text(kPathBytesMax, n); }},
      {"suffix",
       [=](auto& s, int n) { s.benchmarks[0].test->suffix = "." + text(kSuffixBytesMax - 1, n); }},
      {"cap", [](auto& s, int n) { s.train_sets[0].parts[0].examples_max = kExamplesMax + n; }},
      {"train sets",
       [](auto& s, int n) {
         const TrainSet set = s.train_sets[0];
         for (size_t i = 1; i < kTrainSetsMax + n; ++i) {
           s.train_sets.push_back(set);
           s.train_sets.back().name = absl::StrCat("m", i);
         }
       }},
      {"rules",
       [](auto& s, int n) {
         s.exclude.assign(kExcludeRulesMax + n, ExcludeRule{0, {}, {}});
       }},
      {"settings", [](auto& s, int n) { s.random_settings = kSettingsMax - 1 + n; }},
      {"priority", [](auto& s, int n) { s.priority = -kPriorityMax - n; }},
      {"budget", [](auto& s, int n) { s.budget_usd_micros = kSpentMax + n; }},
      {"failures", [](auto& s, int n) { s.retry.failures_max = kAttemptsMax + n; }},
      {"losses", [](auto& s, int n) { s.retry.lost_max = kAttemptsMax + n; }},
      {"back-off", [](auto& s, int n) { s.retry.backoff_max = kBackoffMax + absl::Seconds(n); }},
      {"seeds",
       [](auto& s, int n) {
         s.seeds = {3, 1, n == 0 ? 2 : 3};
       }},
  };
}

TEST(ConvertSweepTest, ASweepOfImportedResultsComesBackAsItWas) {
  const SweepSpec spec = testing::ImportedSweep(2);
  ASSERT_OK_AND_ASSIGN(const SweepSpec again, FromProto(ToProto(spec)));
  EXPECT_EQ(Dump(again), Dump(spec));
  EXPECT_EQ(again.imported, spec.imported);
  ASSERT_OK_AND_ASSIGN(const SweepSpec decoded, DecodeSpec(EncodeSpec(spec)));
  EXPECT_EQ(Dump(decoded), Dump(spec));
  v1::SweepSpec wrong = ToProto(spec);
  wrong.set_imported("short");
  EXPECT_THAT(FromProto(wrong),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("spec.imported")));
}

TEST(ConvertSweepTest, EveryLimitIsTheOneOfCore) {
  ExpectEdges(*FromProto(ValidSpec()), SpecEdges(),
              [](const SweepSpec& spec) { return ValidateSweepSpec(spec); });
}

}  // namespace
}  // namespace concur::rpc
