// SPDX-License-Identifier: Apache-2.0
#include "coordinator/services/usage_counters.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "coordinator/engine/engine.h"
#include "coordinator/services/coordinator_metrics.h"
#include "core/sweep/expansion.h"
#include "proto/rpc/convert_sweep.h"
#include "store/memory_store.h"
#include "tests/core/sweep/sweep_builder.h"
#include "tests/testing/exposition.h"
#include "tests/testing/simulated_clock.h"
#include "tests/testing/test.h"

namespace concur {
namespace {

using ::concur::testing::ParseExposition;
using ::concur::testing::Samples;

// Approaches a and b on one benchmark; jobs 0 and 2 train, 1 and 3 answer.
SweepSpec SpecOfTwo() {
  SweepSpec spec;
  spec.name = "two";
  spec.approaches = {testing::TrainedApproach("a"), testing::TrainedApproach("b")};
  spec.approaches[0].train_resources = {.cpu_millis = 2500, .memory_bytes = 100, .gpus = 3};
  spec.approaches[0].predict_resources = {.cpu_millis = 1000, .memory_bytes = 10, .gpus = 0};
  spec.benchmarks = {testing::Benchmark("x")};
  spec.train_sets = {testing::PlainTrainSet(spec, 0)};
  spec.seeds = {1};
  return spec;
}

class UsageCountersTest : public ::testing::Test {
 protected:
  UsageCountersTest()
      : engine_(*Engine::Create(clock_, store_, rpc::DecodeSpec, EngineOptions())) {}

  void Publish(SweepId id, const std::string& owner, const SweepSpec& spec = SpecOfTwo()) {
    absl::StatusOr<Expansion> expansion = Expansion::Make(spec);
    ASSERT_OK(expansion);
    auto facts = std::make_shared<SweepFacts>();
    facts->row.id = id;
    facts->row.owner = owner;
    facts->expansion = std::make_shared<const Expansion>(*std::move(expansion));
    SweepUpdate update;
    update.id = id;
    update.facts = std::move(facts);
    engine_->board().Publish({update}, clock_.Now());
  }

  testing::SimulatedClock clock_;
  MemoryStore store_;
  MetricSet metrics_;
  std::unique_ptr<Engine> engine_;
};

TEST_F(UsageCountersTest, EveryAttemptThatEndedCountsForItsOwnerAndApproach) {
  Publish({1}, "ada");
  CoordinatorMetrics coordinator(metrics_, *engine_, clock_, "/");
  Effects effects;
  JobEvent& trained = effects.events.emplace_back();
  trained.id = {{1}, 0};
  trained.state = JobState::kSucceeded;
  JobEvent& reused = effects.events.emplace_back();
  reused.id = {{1}, 2};
  reused.state = JobState::kSucceeded;
  reused.reused = true;
  for (const uint32_t job : {0U, 2U}) {
    ResultRow& row = effects.batch.put_results.emplace_back();
    row.id = {{1}, job};
    row.result.succeeded = true;
    row.result.run_time = absl::Seconds(10);
  }
  AttemptRow& failed = effects.batch.put_attempts.emplace_back();
  failed.id = {{1}, 1};
  failed.result.failure = FailureClass::kTimeout;
  failed.result.run_time = absl::Seconds(4);
  coordinator.OnTurn({}, effects);

  const Samples samples = ParseExposition(metrics_.Text());
  const std::string labels = R"({approach="a",owner="ada"})";
  EXPECT_EQ(samples.at("concur_usage_run_seconds_total" + labels), 14);
  EXPECT_EQ(samples.at("concur_usage_cpu_seconds_total" + labels), 10 * 2.5 + 4);
  EXPECT_EQ(samples.at("concur_usage_gpu_seconds_total" + labels), 30);
  EXPECT_EQ(samples.at("concur_usage_memory_byte_seconds_total" + labels), 10 * 100 + 4 * 10);
  EXPECT_THAT(metrics_.Text(), Not(HasSubstr("approach=\"b\""))) << "took a result, ran nothing";
}

TEST_F(UsageCountersTest, SweepsThatAreGoneAndTimesThatAreUnknownCountNothing) {
  Publish({1}, "ada");
  UsageCounters usage(metrics_, engine_->board());
  usage.Add({{2}, 0}, absl::Seconds(5));
  usage.Add({{1}, 0}, -absl::Seconds(5));
  const Samples samples = ParseExposition(metrics_.Text());
  EXPECT_EQ(samples.at(R"(concur_usage_run_seconds_total{approach="a",owner="ada"})"), 0);
}

TEST_F(UsageCountersTest, AnInstanceOfAServiceCountsOnceByWhatItsServiceAskedFor) {
  SweepSpec spec = SpecOfTwo();
  spec.approaches[0].predict_command.emplace_back("{service.url}");
  ServiceSpec& service = spec.approaches[0].service.emplace(ServiceSpec());
  service.command = {"serve", "{port}"};
  service.resources = {.cpu_millis = 1000, .gpus = 2};
  Publish({1}, "ada", spec);
  CoordinatorMetrics coordinator(metrics_, *engine_, clock_, "/");
  for (const int seconds : {60, 61, 40}) {
    Effects effects;
    AttemptRow& row = effects.batch.put_attempts.emplace_back();
    row.id = JobId{{1}, 1}.Service();
    row.attempt = {7};
    row.result.run_time = absl::Seconds(seconds);
    row.result.failure = FailureClass::kLost;
    coordinator.OnTurn({}, effects);
  }
  const Samples samples = ParseExposition(metrics_.Text());
  EXPECT_EQ(samples.at(R"(concur_usage_gpu_seconds_total{approach="a",owner="ada"})"), 122);
  EXPECT_EQ(samples.at(R"(concur_attempts_ended_total{outcome="lost"})"), 0)
      << "no attempt of a job";
}

// The oldest instance was forgotten while it ran, and all of its time counted again.
TEST_F(UsageCountersTest, AnInstanceThatRunsIsNotForgottenForThoseThatEnded) {
  Publish({1}, "ada");
  UsageCounters usage(metrics_, engine_->board(), /*series_max=*/2);
  const JobId service = JobId{{1}, 1}.Service();
  usage.AddService({service, {1}}, absl::Seconds(60), /*has_ended=*/false);
  for (const uint32_t attempt : {2U, 3U, 4U}) {
    usage.AddService({service, {attempt}}, absl::Seconds(5), /*has_ended=*/true);
  }
  usage.AddService({service, {1}}, absl::Seconds(70), /*has_ended=*/true);
  const Samples samples = ParseExposition(metrics_.Text());
  EXPECT_EQ(samples.at(R"(concur_usage_run_seconds_total{approach="a",owner="ada"})"), 85);
}

TEST_F(UsageCountersTest, LabelsAreBounded) {
  UsageCounters usage(metrics_, engine_->board(), /*series_max=*/2);
  for (const uint64_t sweep : {1U, 2U, 3U}) {
    Publish({sweep}, absl::StrCat("owner", sweep));
    usage.Add({{sweep}, 0}, absl::Seconds(1));
    usage.Add({{sweep}, 2}, absl::Seconds(1));
  }
  usage.Add({{1}, 0}, absl::Seconds(1));
  const Samples samples = ParseExposition(metrics_.Text());
  EXPECT_EQ(samples.at(R"(concur_usage_run_seconds_total{approach="a",owner="owner1"})"), 2);
  EXPECT_EQ(samples.at(R"(concur_usage_run_seconds_total{approach="b",owner="owner1"})"), 1);
  EXPECT_EQ(samples.at(R"(concur_usage_run_seconds_total{approach="",owner=""})"), 4);
  EXPECT_THAT(metrics_.Text(), Not(HasSubstr("owner2")));
}

}  // namespace
}  // namespace concur
