// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/forecast.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/core/sweep/sweep_builder.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

SweepSpec UntrainedSweep(int benchmarks, int seeds) {
  SweepSpec spec;
  spec.name = "s";
  spec.approaches = {UntrainedApproach("r")};
  for (int i = 0; i < benchmarks; ++i) {
    spec.benchmarks.push_back(Benchmark(absl::StrCat("b", i), /*train=*/false));
  }
  spec.seeds.clear();
  for (int i = 1; i <= seeds; ++i) {
    spec.seeds.push_back(i);
  }
  return spec;
}

DurationOf Always(absl::Duration mean, double spread = 0) {
  return [=](absl::string_view, absl::string_view, bool) {
    return ExpectedDuration{mean, spread, true};
  };
}

ForecastOptions Slots(int workers, int slots = 1) {
  ForecastOptions options;
  options.workers.assign(static_cast<size_t>(workers), Resources{.cpu_millis = 1000 * slots});
  return options;
}

TEST(ForecastTest, AFewEqualJobsTakeWhatArithmeticSays) {
  ForecastOptions options = Slots(2, 2);
  options.turnaround = absl::ZeroDuration();
  ASSERT_OK_AND_ASSIGN(const Forecast forecast,
                       ForecastSweep(UntrainedSweep(2, 5), Always(absl::Seconds(10)), options));
  EXPECT_EQ(forecast.jobs, 10u);
  EXPECT_EQ(forecast.slots, 4u);
  EXPECT_EQ(forecast.work, absl::Seconds(100));
  EXPECT_EQ(forecast.critical, absl::Seconds(10));
  EXPECT_EQ(forecast.bound, absl::Seconds(25));
  EXPECT_EQ(forecast.makespan, absl::Seconds(30));
  EXPECT_EQ(forecast.machine_time, absl::Seconds(60));
  EXPECT_NEAR(forecast.utilization, 100.0 / 120, 1e-9);
}

TEST(ForecastTest, AnEvalJobWaitsForItsTrainJob) {
  SweepSpec spec;
  spec.name = "s";
  spec.approaches = {TrainedApproach("a")};
  spec.benchmarks = {Benchmark("x"), Benchmark("y")};
  spec.train_sets = {PlainTrainSet(spec, 0)};
  spec.evaluate_on = EvaluateOn::kAll;
  ForecastOptions options = Slots(4);
  options.turnaround = absl::ZeroDuration();
  const DurationOf duration_of = [](absl::string_view, absl::string_view benchmark, bool train) {
    return ExpectedDuration{train              ? absl::Seconds(100)
                            : benchmark == "x" ? absl::Seconds(3)
                                               : absl::Seconds(7),
                            0, true};
  };
  ASSERT_OK_AND_ASSIGN(const Forecast forecast, ForecastSweep(spec, duration_of, options));
  EXPECT_EQ(forecast.critical, absl::Seconds(107));
  EXPECT_EQ(forecast.bound, absl::Seconds(107));
  EXPECT_EQ(forecast.makespan, absl::Seconds(107));
}

// Ten benchmarks of ten seconds each, which ask a service.
SweepSpec ServedSweep(uint32_t serves) {
  SweepSpec spec = UntrainedSweep(10, 1);
  spec.approaches[0].predict_command.emplace_back("{service.url}");
  spec.approaches[0].predict_resources.cpu_millis = 100;
  ServiceSpec& service = spec.approaches[0].service.emplace();
  service.command = {"serve", "{port}"};
  service.serves = serves;
  return spec;
}

ForecastOptions Loading(int workers, absl::Duration load) {
  ForecastOptions options = Slots(workers, 3);
  options.turnaround = absl::ZeroDuration();
  options.loads = {{"r", load}};
  return options;
}

TEST(ForecastTest, AServiceLoadsFirstAndServesSoManyAtATime) {
  const auto forecast = [](uint32_t serves, int workers, absl::Duration load) {
    const absl::StatusOr<Forecast> made =
        ForecastSweep(ServedSweep(serves), Always(absl::Seconds(10)), Loading(workers, load));
    EXPECT_OK(made.status());
    EXPECT_EQ(made->bound <= made->makespan, true);
    return made->makespan;
  };
  const absl::Duration load = absl::Seconds(20);
  EXPECT_EQ(forecast(10, 1, load), absl::Seconds(20 + 10));
  EXPECT_EQ(forecast(5, 1, load), absl::Seconds(20 + 20));
  EXPECT_EQ(forecast(1, 1, load), absl::Seconds(20 + 100));
  // Another worker loads it, too, when the jobs that wait take longer than that.
  EXPECT_EQ(forecast(10, 2, load), absl::Seconds(20 + 10));
  EXPECT_EQ(forecast(1, 2, load), absl::Seconds(20 + 50));
  EXPECT_EQ(forecast(1, 2, absl::Minutes(10)), absl::Seconds(600 + 100));
}

TEST(ForecastTest, ALoadThatNobodyKnowsIsNamedAndNotCounted) {
  ForecastOptions options = Loading(1, absl::Seconds(20));
  ASSERT_OK_AND_ASSIGN(const Forecast known,
                       ForecastSweep(ServedSweep(10), Always(absl::Seconds(10)), options));
  EXPECT_TRUE(known.unknown_loads.empty());
  EXPECT_EQ(known.bound, absl::Seconds(30));
  options.loads.clear();
  ASSERT_OK_AND_ASSIGN(const Forecast unknown,
                       ForecastSweep(ServedSweep(10), Always(absl::Seconds(10)), options));
  EXPECT_EQ(unknown.unknown_loads, std::vector<std::string>{"r"});
  EXPECT_EQ(unknown.makespan, absl::Seconds(10));
}

TEST(ForecastTest, AServiceHasItsRoomAndStopsWhereOthersNeedIt) {
  // One worker with room for one model at a time: each is loaded, asked and stopped.
  SweepSpec spec = ServedSweep(10);
  spec.approaches.push_back(spec.approaches[0]);
  spec.approaches[1].name = "other";
  spec.approaches[1].version = "2";
  for (ApproachSpec& approach : spec.approaches) {
    approach.service->resources.cpu_millis = 2000;
  }
  ForecastOptions options = Loading(1, absl::Seconds(20));
  options.loads["other"] = absl::Seconds(40);
  ASSERT_OK_AND_ASSIGN(const Forecast forecast,
                       ForecastSweep(spec, Always(absl::Seconds(10)), options));
  EXPECT_EQ(forecast.makespan, absl::Seconds(20 + 10 + 40 + 10));
  for (ApproachSpec& approach : spec.approaches) {
    approach.service->resources.cpu_millis = 2950;
  }
  EXPECT_THAT(ForecastSweep(spec, Always(absl::Seconds(10)), options),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("predict jobs of r with their services need cpus 3.05: more than "
                                 "any worker has")));
}

TEST(ForecastTest, ANeededServiceLoadsBesideTheOwn) {
  SweepSpec spec = ServedSweep(10);
  spec.approaches[0].predict_command.emplace_back("{service.judge.url}");
  spec.approaches[0].needs = {1};
  ApproachSpec& judge = spec.approaches.emplace_back();
  judge.name = "judge";
  judge.version = "1";
  judge.service.emplace().command = {"judge", "{port}"};
  judge.service->serves = 5;
  ForecastOptions options = Loading(1, absl::Seconds(20));
  options.loads["judge"] = absl::Seconds(50);
  ASSERT_OK_AND_ASSIGN(const Forecast forecast,
                       ForecastSweep(spec, Always(absl::Seconds(10)), options));
  EXPECT_EQ(forecast.jobs, 10u);
  EXPECT_EQ(forecast.critical, absl::Seconds(60));
  EXPECT_EQ(forecast.makespan, absl::Seconds(50 + 20));
}

TEST(ForecastTest, NoMoreStartInAMinuteThanTheRateOfANamedResourceSays) {
  SweepSpec spec = UntrainedSweep(1, 25);
  spec.approaches[0].predict_uses = {{"api", 1}};
  ForecastOptions options = Slots(1, 100);
  options.turnaround = absl::ZeroDuration();
  options.resources = {{"api", {.amount = 100, .per_minute = 6}}};
  ASSERT_OK_AND_ASSIGN(const Forecast forecast,
                       ForecastSweep(spec, Always(absl::Seconds(10)), options));
  EXPECT_EQ(forecast.bound, absl::Seconds(24 * 10));
  EXPECT_EQ(forecast.makespan, absl::Seconds(24 * 10 + 10));
  options.resources["api"].per_minute = 0;
  ASSERT_OK_AND_ASSIGN(const Forecast free,
                       ForecastSweep(spec, Always(absl::Seconds(10)), options));
  EXPECT_EQ(free.makespan, absl::Seconds(10));
}

TEST(ForecastTest, AStageWaitsForItsSourceWhichIsTrainedOnce) {
  SweepSpec spec;
  spec.name = "s";
  spec.approaches = {TrainedApproach("a"), TrainedApproach("b")};
  spec.benchmarks = {Benchmark("x"), Benchmark("y")};
  spec.train_sets = {PlainTrainSet(spec, 0), PlainTrainSet(spec, 1)};
  AddStages(&spec, "t", /*chain=*/true);  // b from a, a from p
  ForecastOptions options = Slots(4);
  options.turnaround = absl::ZeroDuration();
  const DurationOf duration_of = [](absl::string_view approach, absl::string_view, bool train) {
    return ExpectedDuration{!train            ? absl::Seconds(3)
                            : approach == "p" ? absl::Seconds(1000)
                                              : absl::Seconds(100),
                            0, true};
  };
  ASSERT_OK_AND_ASSIGN(const Forecast forecast, ForecastSweep(spec, duration_of, options));
  EXPECT_EQ(forecast.jobs, 9u);
  EXPECT_EQ(forecast.work, absl::Seconds(1000 + 4 * 103));
  EXPECT_EQ(forecast.critical, absl::Seconds(1203));
  EXPECT_EQ(forecast.makespan, absl::Seconds(1203));
}

TEST(ForecastTest, LongJobsAreNotLeftForTheEnd) {
  // 30 short jobs and one that is as long as ten of them: in any other order than the longest
  // first, somebody waits for it.
  const DurationOf duration_of = [](absl::string_view, absl::string_view benchmark, bool) {
    return ExpectedDuration{benchmark == "b30" ? absl::Seconds(100) : absl::Seconds(10), 0, true};
  };
  ForecastOptions options = Slots(4);
  options.turnaround = absl::ZeroDuration();
  ASSERT_OK_AND_ASSIGN(const Forecast known,
                       ForecastSweep(UntrainedSweep(31, 1), duration_of, options));
  EXPECT_EQ(known.bound, absl::Seconds(100));
  EXPECT_EQ(known.makespan, absl::Seconds(100));
  options.knows_means = false;
  ASSERT_OK_AND_ASSIGN(const Forecast learning,
                       ForecastSweep(UntrainedSweep(31, 1), duration_of, options));
  EXPECT_GT(learning.makespan, known.makespan);
}

TEST(ForecastTest, SlotsOfSecondLongJobsAreBusy) {
  // Every slot is a worker of its own, and every report takes 5 ms.
  ASSERT_OK_AND_ASSIGN(
      const Forecast forecast,
      ForecastSweep(UntrainedSweep(10, 600), Always(absl::Seconds(1), 0.3), Slots(200)));
  EXPECT_EQ(forecast.slots, 200u);
  EXPECT_GE(forecast.utilization, 0.95);
}

TEST(ForecastTest, TheSameSeedGivesTheSameForecastAndSpreadKeepsTheMean) {
  ForecastOptions options = Slots(10);
  const SweepSpec spec = UntrainedSweep(10, 200);
  ASSERT_OK_AND_ASSIGN(const Forecast a,
                       ForecastSweep(spec, Always(absl::Seconds(10), 0.5), options));
  ASSERT_OK_AND_ASSIGN(const Forecast b,
                       ForecastSweep(spec, Always(absl::Seconds(10), 0.5), options));
  EXPECT_EQ(a.makespan, b.makespan);
  EXPECT_NEAR(absl::ToDoubleSeconds(a.work) / 2000, 10, 0.5);
  options.seed = 2;
  ASSERT_OK_AND_ASSIGN(const Forecast c,
                       ForecastSweep(spec, Always(absl::Seconds(10), 0.5), options));
  EXPECT_NE(a.makespan, c.makespan);
}

TEST(ForecastTest, NoScheduleIsShorterThanTheBoundEvenWhenSettingsRepeat) {
  SweepSpec spec;
  spec.name = "s";
  spec.approaches = {TrainedApproach("a")};
  spec.approaches[0].hyperparameters.space = {{"lr", Choice{{0.1, 0.2}}}};  // two values, 9 draws
  spec.benchmarks = {Benchmark("x")};
  spec.train_sets = {PlainTrainSet(spec, 0)};
  spec.random_settings = 8;
  ForecastOptions options = Slots(2);
  options.turnaround = absl::ZeroDuration();
  ASSERT_OK_AND_ASSIGN(const Forecast forecast,
                       ForecastSweep(spec, Always(absl::Seconds(10)), options));
  EXPECT_EQ(forecast.jobs, 18u);
  EXPECT_EQ(forecast.reused, 14u);
  EXPECT_EQ(forecast.work, absl::Seconds(40));
  EXPECT_GE(forecast.makespan, forecast.bound);
  EXPECT_LE(forecast.utilization, 1);
}

TEST(ForecastTest, JobsRunWhereTheirLabelsAre) {
  SweepSpec spec = UntrainedSweep(1, 4);
  spec.approaches[0].predict_labels = {{"gpu", "a100"}};
  ForecastOptions options = Slots(2);
  options.turnaround = absl::ZeroDuration();
  // Workers that nobody has named carry whatever is asked for.
  ASSERT_OK_AND_ASSIGN(const Forecast anywhere,
                       ForecastSweep(spec, Always(absl::Seconds(10)), options));
  EXPECT_EQ(anywhere.makespan, absl::Seconds(20));
  options.labels = {{}, {{"gpu", "a100"}}};
  ASSERT_OK_AND_ASSIGN(const Forecast labeled,
                       ForecastSweep(spec, Always(absl::Seconds(10)), options));
  EXPECT_EQ(labeled.makespan, absl::Seconds(40));
  options.labels = {{}, {{"gpu", "h100"}}};
  EXPECT_THAT(ForecastSweep(spec, Always(absl::Seconds(10)), options),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("predict jobs of r need workers labeled gpu=a100, and none that "
                                 "is large enough is")));
}

TEST(ForecastTest, TheScarcestResourceBounds) {
  SweepSpec spec = UntrainedSweep(10, 1);
  spec.approaches[0].predict_resources = {.cpu_millis = 1000, .memory_bytes = 4, .gpus = 0};
  ForecastOptions options;
  options.workers = {{.cpu_millis = 8000, .memory_bytes = 10, .gpus = 0}};
  options.turnaround = absl::ZeroDuration();
  ASSERT_OK_AND_ASSIGN(const Forecast forecast,
                       ForecastSweep(spec, Always(absl::Seconds(10)), options));
  EXPECT_EQ(forecast.slots, 2u);
  EXPECT_EQ(forecast.makespan, absl::Seconds(50));
  EXPECT_EQ(forecast.bound, absl::Seconds(50));
}

TEST(ForecastTest, NoMoreRunsAtATimeThanThereIsOfANamedResource) {
  SweepSpec spec = UntrainedSweep(1, 12);
  spec.approaches[0].predict_uses = {{"api", 1}};
  spec.benchmarks[0].uses = {{"judge", 1}};  // nobody says how much there is
  ForecastOptions options = Slots(3, 4);
  options.turnaround = absl::ZeroDuration();
  options.resources = {{"api", {2}}};
  ASSERT_OK_AND_ASSIGN(const Forecast forecast,
                       ForecastSweep(spec, Always(absl::Seconds(10)), options));
  EXPECT_EQ(forecast.makespan, absl::Seconds(60));
  EXPECT_EQ(forecast.bound, absl::Seconds(60));
  options.resources = {};
  ASSERT_OK_AND_ASSIGN(const Forecast free,
                       ForecastSweep(spec, Always(absl::Seconds(10)), options));
  EXPECT_EQ(free.makespan, absl::Seconds(10));
  options.resources = {{"api", {0}}};
  EXPECT_THAT(
      ForecastSweep(spec, Always(absl::Seconds(10)), options),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("predict jobs of r use 1 of the resource \"api\", and there are 0")));
}

TEST(ForecastTest, AWorkerRunsAsManyJobsAsItHasSlots) {
  ForecastOptions options = Slots(2, 8);
  options.turnaround = absl::ZeroDuration();
  options.slots = {1, 4};
  ASSERT_OK_AND_ASSIGN(const Forecast forecast,
                       ForecastSweep(UntrainedSweep(1, 15), Always(absl::Seconds(10)), options));
  EXPECT_EQ(forecast.slots, 5u);
  EXPECT_EQ(forecast.makespan, absl::Seconds(30));
}

TEST(ForecastTest, WhatCannotBeForecastIsSaid) {
  const SweepSpec spec = UntrainedSweep(1, 1);
  EXPECT_THAT(ForecastSweep(spec, Always(absl::Seconds(1)), ForecastOptions{}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expected at least one")));
  EXPECT_THAT(
      ForecastSweep(
          spec, [](absl::string_view, absl::string_view, bool) { return ExpectedDuration{}; },
          Slots(1)),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("nothing tells how long evaluating r on b0 takes")));
  ForecastOptions small = Slots(3);
  small.workers[0].cpu_millis = small.workers[1].cpu_millis = small.workers[2].cpu_millis = 500;
  EXPECT_THAT(ForecastSweep(spec, Always(absl::Seconds(1)), small),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("predict jobs of r need cpus 1: more than any worker has")));
}

}  // namespace
}  // namespace concur::testing
