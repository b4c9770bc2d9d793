// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/random.h"
#include "rpc/convert_sweep.h"
#include "rpc/convert_sync.h"
#include "tests/rpc/random_values.h"
#include "tests/testing/full_result.h"
#include "tests/testing/status_matchers.h"

namespace concur::rpc {
namespace {

using ::concur::testing::Dump;
using ::concur::testing::StatusIs;
using ::testing::Eq;
using ::testing::HasSubstr;

constexpr int kRandomCases = 300;

TEST(ConvertTest, RandomSpecsComeBackAsTheyWere) {
  for (int seed = 0; seed < kRandomCases; ++seed) {
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

TEST(ConvertTest, RandomSyncsComeBackAsTheyWere) {
  for (int seed = 0; seed < kRandomCases; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed, "sync");
    const SyncRequest request = testing::RandomSyncRequest(random);
    ASSERT_OK_AND_ASSIGN(const SyncRequest request_again, FromProto(ToProto(request)));
    ASSERT_EQ(Dump(request_again), Dump(request));
    const SyncResponse response = testing::RandomSyncResponse(random);
    ASSERT_OK_AND_ASSIGN(const SyncResponse response_again, FromProto(ToProto(response)));
    ASSERT_EQ(Dump(response_again), Dump(response));
  }
}

TEST(ConvertTest, EveryEnumComesBackAsItWas) {
  const FieldPath path("field");
  for (int i = 0; i < kJobStates; ++i) {
    EXPECT_THAT(*FromProto(ToProto(static_cast<JobState>(i)), path), Eq(static_cast<JobState>(i)));
  }
  for (int i = 0; i <= static_cast<int>(SweepState::kCanceled); ++i) {
    EXPECT_THAT(*FromProto(ToProto(static_cast<SweepState>(i)), path),
                Eq(static_cast<SweepState>(i)));
  }
  for (int i = 0; i < kFailureClasses; ++i) {
    EXPECT_THAT(*FromProto(ToProto(static_cast<FailureClass>(i)), path),
                Eq(static_cast<FailureClass>(i)));
  }
  for (int i = 0; i < kArtifactKinds; ++i) {
    EXPECT_THAT(*FromProto(ToProto(static_cast<ArtifactKind>(i)), path),
                Eq(static_cast<ArtifactKind>(i)));
  }
  EXPECT_EQ(v1::FailureClass_Name(ToProto(FailureClass::kInvalidOutput)),
            "FAILURE_CLASS_INVALID_OUTPUT");
  EXPECT_EQ(v1::Job::State_Name(ToProto(JobState::kBackoff)), "STATE_BACKOFF");
  EXPECT_EQ(v1::Sweep::State_Name(ToProto(SweepState::kCanceling)), "STATE_CANCELING");
  const StateCounts counts = {1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ(FromProto(ToProto(counts)), counts);
}

TEST(ConvertTest, TimesBeyondProtobufsRangeBecomeItsEnds) {
  EXPECT_EQ(ToProto(absl::InfinitePast()).seconds(), -62135596800);
  EXPECT_EQ(ToProto(absl::InfiniteFuture()).seconds(), 253402300799);
  EXPECT_EQ(ToProto(absl::InfiniteDuration()).seconds(), 315576000000);
  const absl::Time before = absl::UnixEpoch() - absl::Nanoseconds(1);
  EXPECT_EQ(ToProto(before).seconds(), -1);
  EXPECT_EQ(ToProto(before).nanos(), 999'999'999);
}

TEST(ConvertTest, AMessageOfAJobIsMadeSafeToSend) {
  JobResult result;
  result.failure = FailureClass::kFailed;
  result.message = std::string("\xff\0\xc3", 3) + std::string(10'000, 'x');
  result.run_time = -absl::Seconds(5);
  ASSERT_OK_AND_ASSIGN(const JobResult again, FromProto(ToProto(result), FieldPath("r")));
  EXPECT_LE(again.message.size(), kMessageBytesMax);
  EXPECT_THAT(again.message, HasSubstr("xxx"));
  EXPECT_EQ(again.run_time, absl::ZeroDuration());

  result.message = std::string(kMessageBytesMax - 1, 'x') + "é";  // cut inside a character
  ASSERT_OK(FromProto(ToProto(result), FieldPath("r")));
}

TEST(ConvertTest, BytesThatAreNoSpecAreDataLoss) {
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
       "spec.approaches[0].space[\"lr\"]: expected choice, uniform, log_uniform or integers"},
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

TEST(ConvertTest, SpecsThatBreakARuleAreRefusedWithTheFieldsPath) {
  ASSERT_OK(FromProto(ValidSpec()));
  for (const auto& refusals : {HeadRefusals(), PartRefusals()}) {
    for (const Refusal& refusal : refusals) {
      SCOPED_TRACE(refusal.name);
      v1::SweepSpec spec = ValidSpec();
      refusal.break_it(spec);
      EXPECT_THAT(FromProto(spec), StatusIs(absl::StatusCode::kInvalidArgument,
                                            ::testing::StartsWith(refusal.message)));
    }
  }
}

TEST(ConvertTest, SweepsStoredWithoutGoalsAreMaximizedAndKeepTheirBytes) {
  ASSERT_OK_AND_ASSIGN(const SweepSpec spec, FromProto(ValidSpec()));
  EXPECT_EQ(spec.benchmarks[0].meaning, MetricMeaning());
  EXPECT_FALSE(ToProto(spec).benchmarks(0).has_scale());
  EXPECT_EQ(ToProto(spec).benchmarks(0).SerializeAsString(),
            ValidSpec().benchmarks(0).SerializeAsString());
}

TEST(ConvertTest, UnsetRulesOfASpecAreCoresDefaults) {
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

v1::SyncRequest ValidRequest() {
  SyncRequest request;
  request.worker.name = "w1";
  request.worker.incarnation = "i1";
  const AttemptId running{JobId{SweepId{1}, 2}, Attempt{1}};
  const AttemptId done{JobId{SweepId{1}, 3}, Attempt{1}};
  request.running = {running};
  JobResult result;
  result.succeeded = true;
  result.metrics = {{"f1", 50, 10}};
  result.artifacts = {{ArtifactKind::kLog, Sha256Of("log"), 3}};
  request.finished = {{done, result}};
  return ToProto(request);
}

TEST(ConvertTest, SyncsThatBreakARuleAreRefusedWithTheFieldsPath) {
  struct Case {
    std::string name;
    std::function<void(v1::SyncRequest&)> break_it;
    std::string message;
  };
  const std::vector<Case> cases = {
      {"no name", [](auto& r) { r.clear_worker(); }, "request.worker: expected a name"},
      {"no incarnation", [](auto& r) { r.clear_incarnation(); }, "request.incarnation: expected"},
      {"its own predecessor", [](auto& r) { r.set_previous_incarnation("i1"); },
       "request.previous_incarnation: expected another"},
      {"no capacity", [](auto& r) { r.clear_capacity(); }, "request.capacity: expected"},
      {"negative capacity", [](auto& r) { r.mutable_capacity()->set_cpu_millis(-1); },
       "request.capacity.cpus: expected 0 to"},
      {"waits for ever", [](auto& r) { r.mutable_wait()->set_seconds(61); },
       "request.wait: expected at most 1m, got 1m1s"},
      {"attempt 0", [](auto& r) { r.mutable_running(0)->set_attempt(0); },
       "request.running[0].attempt: expected 1 or more, got 0"},
      {"sweep 0", [](auto& r) { r.mutable_running(0)->set_sweep(0); },
       "request.running[0].sweep: expected 1 to"},
      {"job beyond the limit", [](auto& r) { r.mutable_running(0)->set_job(kJobsMax); },
       "request.running[0].job: expected 0 to"},
      {"running twice", [](auto& r) { *r.add_running() = r.running(0); },
       "request.running[1]: expected each attempt once"},
      {"running and finished", [](auto& r) { *r.add_running() = r.finished(0).id(); },
       "request.finished[0].id: expected each attempt once"},
      {"both succeeded and failed",
       [](auto& r) { r.mutable_finished(0)->mutable_result()->set_failure(v1::FAILURE_CLASS_OOM); },
       "request.finished[0].result.failure: expected none"},
      {"neither succeeded nor failed",
       [](auto& r) { r.mutable_finished(0)->mutable_result()->set_succeeded(false); },
       "request.finished[0].result.failure: expected why"},
      {"unknown class",
       [](auto& r) {
         r.mutable_finished(0)->mutable_result()->set_failure(static_cast<v1::FailureClass>(99));
       },
       "request.finished[0].result.failure: expected a known value, got number 99"},
      {"NaN metric",
       [](auto& r) {
         r.mutable_finished(0)->mutable_result()->mutable_metrics(0)->set_value(
             std::numeric_limits<double>::quiet_NaN());
       },
       "request.finished[0].result.metrics[0].value: expected a finite number"},
      {"absurd metric",
       [](auto& r) {
         r.mutable_finished(0)->mutable_result()->mutable_metrics(0)->set_value(-2e15);
       },
       "request.finished[0].result.metrics[0].value: expected a finite number of at most 1e+15"},
      {"metric twice",
       [](auto& r) {
         auto* result = r.mutable_finished(0)->mutable_result();
         *result->add_metrics() = result->metrics(0);
       },
       "request.finished[0].result.metrics[1]: expected each once and in order, got f1 after f1"},
      {"kind twice",
       [](auto& r) {
         auto* result = r.mutable_finished(0)->mutable_result();
         *result->add_artifacts() = result->artifacts(0);
       },
       "request.finished[0].result.artifacts[1]: expected each once and in order"},
      {"time before Christ",
       [](auto& r) {
         r.mutable_finished(0)->mutable_result()->mutable_start_time()->set_seconds(
             std::numeric_limits<int64_t>::min());
       },
       "request.finished[0].result.start_time.seconds: expected -62135596800 to"},
      {"huge message",
       [](auto& r) {
         r.mutable_finished(0)->mutable_result()->set_message(std::string(5000, 'x'));
       },
       "request.finished[0].result.message: expected at most 4096 bytes, got 5000"},
      {"huge log chunk",
       [](auto& r) {
         auto* chunk = r.add_log_chunks();
         *chunk->mutable_id() = r.running(0);
         chunk->set_data(std::string(kLogChunkBytesMax + 1, 'x'));
       },
       "request.log_chunks[0].data: expected at most 65536, got 65537"},
  };
  ASSERT_OK(FromProto(ValidRequest()));
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    v1::SyncRequest request = ValidRequest();
    c.break_it(request);
    EXPECT_THAT(FromProto(request),
                StatusIs(absl::StatusCode::kInvalidArgument, ::testing::StartsWith(c.message)));
  }
}

TEST(ConvertTest, AnAnswerWithoutALeaseIsRefused) {
  EXPECT_THAT(FromProto(v1::SyncResponse()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("response.lease")));
}

// A limit: `reach(x, 0)` goes as far as is allowed, `reach(x, 1)` one step further.
template <typename T>
struct Edge {
  std::string name;
  std::function<void(T&, int)> reach;
};

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
      {"failures", [](auto& s, int n) { s.retry.failures_max = kAttemptsMax + n; }},
      {"losses", [](auto& s, int n) { s.retry.lost_max = kAttemptsMax + n; }},
      {"back-off", [](auto& s, int n) { s.retry.backoff_max = kBackoffMax + absl::Seconds(n); }},
      {"seeds",
       [](auto& s, int n) {
         s.seeds = {3, 1, n == 0 ? 2 : 3};
       }},
  };
}

std::vector<Edge<SyncRequest>> RequestEdges() {
  const auto text = [](size_t bytes, int beyond) { return std::string(bytes + beyond, 'x'); };
  const auto ids = [](uint32_t job, size_t count) {
    std::vector<AttemptId> list;
    for (size_t i = 0; i < count; ++i) {
      list.push_back({{{1}, job + static_cast<uint32_t>(i)}, {1}});
    }
    return list;
  };
  return {
      {"worker", [=](auto& r, int n) { r.worker.name = text(kNameBytesMax, n); }},
      {"memory", [](auto& r, int n) { r.worker.capacity.memory_bytes = kMemoryBytesMax + n; }},
      {"queue", [](auto& r, int n) { r.worker.queue_max = kSyncAttemptsMax + n; }},
      {"running", [=](auto& r, int n) { r.running = ids(9, kSyncAttemptsMax + n); }},
      {"finished",
       [=](auto& r, int n) {
         const JobResult result = r.finished[0].result;
         r.finished.clear();
         for (const AttemptId& id : ids(9, kSyncFinishedMax + n)) {
           r.finished.push_back({id, result});
         }
       }},
      {"job", [](auto& r, int n) { r.running[0].job.index = kJobsMax - 1 + n; }},
      {"sweep", [](auto& r, int n) { r.running[0].job.sweep.number = kSweepNumberMax + n; }},
      {"chunks",
       [](auto& r, int n) {
         r.log_chunks.assign(kSyncLogsMax + n, {r.running[0], 0, "x"});
       }},
      {"chunk",
       [=](auto& r, int n) {
         r.log_chunks = {{r.running[0], 0, text(kLogChunkBytesMax, n)}};
       }},
      {"wait", [](auto& r, int n) { r.wait = kSyncWaitMax + absl::Seconds(n); }},
      {"time left", [](auto& r, int n) { r.time_left = kSpanMax + absl::Seconds(n); }},
      {"exit code", [](auto& r, int n) { r.finished[0].result.exit_code = kExitCodeMax + n; }},
      {"metric",
       [](auto& r, int n) { r.finished[0].result.metrics[0].value = kMetricAbsMax * (1 + n); }},
      {"metrics",
       [](auto& r, int n) {
         r.finished[0].result.metrics.clear();
         for (size_t i = 100; i < 100 + kMetricsMax + n; ++i) {
           r.finished[0].result.metrics.push_back({absl::StrCat("m", i), 1, 1});
         }
       }},
      {"artifact",
       [](auto& r, int n) { r.finished[0].result.artifacts[0].bytes = kArtifactBytesMax + n; }},
  };
}

template <typename T, typename Validate>
void ExpectEdges(const T& valid, const std::vector<Edge<T>>& edges, Validate validate) {
  for (const Edge<T>& edge : edges) {
    SCOPED_TRACE(edge.name);
    T at_limit = valid;
    edge.reach(at_limit, 0);
    EXPECT_OK(validate(at_limit));
    EXPECT_OK(FromProto(ToProto(at_limit)).status());
    T beyond = valid;
    edge.reach(beyond, 1);
    EXPECT_THAT(validate(beyond), StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_));
    EXPECT_THAT(FromProto(ToProto(beyond)).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_));
  }
}

TEST(ConvertTest, EveryLimitIsTheOneOfCore) {
  ExpectEdges(*FromProto(ValidSpec()), SpecEdges(),
              [](const SweepSpec& spec) { return ValidateSweepSpec(spec); });
  ExpectEdges(*FromProto(ValidRequest()), RequestEdges(),
              [](const SyncRequest& request) { return ValidateSyncRequest(request, FieldPath()); });
}

TEST(ConvertTest, EveryFieldOfAResultComesBackAsItWas) {
  int fields = 0;
  VisitFields(testing::FullResults()[0], [&](absl::string_view, const auto&) { ++fields; });
  EXPECT_EQ(v1::JobResult::descriptor()->field_count(), fields);
  for (const JobResult& result : testing::FullResults()) {
    ASSERT_OK_AND_ASSIGN(const JobResult again, FromProto(ToProto(result), FieldPath("result")));
    EXPECT_EQ(again, result);
  }
}

}  // namespace
}  // namespace concur::rpc
