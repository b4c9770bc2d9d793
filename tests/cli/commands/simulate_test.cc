// SPDX-License-Identifier: Apache-2.0
// `concur sweep simulate` and the forecast of `concur sweep plan`.

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/digest.h"
#include "base/file.h"
#include "cli/sweep/forecast.h"
#include "proto/rpc/convert_sweep.h"
#include "tests/cli/fake_coordinator.h"
#include "tests/cli/run_concur.h"
#include "tests/testing/test.h"
#include "yaml/sweep_yaml.h"

namespace concur::cli {
namespace {

using ::concur::testing::FakeCoordinator;

constexpr char kSweep[] = R"(apiVersion: concur/v1
kind: Sweep
metadata: {name: small}
spec:
  approaches:
    - metadata: {name: a}
      spec:
        version: "1"
        train: {command: [learn, "{train}", "{model}", "{seed}"]}
        predict: {command: [answer, "{model}", "{test}", "{metrics}"]}
  benchmarks:
    - metadata: {name: x}
      spec: {format: file, train: x.txt, test: x.txt, metric: accuracy}
    - metadata: {name: y}
      spec: {format: file, train: y.txt, test: y.txt, metric: accuracy}
  seeds: {from: 1, to: 4}
)";

nlohmann::ordered_json JsonOf(const Output& output) {
  return nlohmann::ordered_json::parse(output.out);
}

class SimulateTest : public ::testing::Test {
 protected:
  SimulateTest() {
    Write("sweep.yaml", kSweep);
    Write("x.txt", "x");
    Write("y.txt", "y");
  }
  void Write(const std::string& name, const std::string& text) {
    ASSERT_OK(WriteFileAtomically(temp_.File(name), text, 0644));
  }
  std::string Durations(const std::string& text) {
    Write("durations.csv", text);
    return temp_.File("durations.csv");
  }

  concur::testing::TempDir temp_;
  const std::string sweep_ = temp_.File("sweep.yaml");
};

TEST_F(SimulateTest, AForecastFromAFileNeedsNoCoordinator) {
  const std::string durations =
      Durations("approach,benchmark,kind,seconds\n*,*,train,100\na,x,eval,10\n*,y,eval,20\n");
  const Output output =
      RunConcur({"-o", "json", "sweep", "simulate", sweep_, "--workers", "2", "--slots", "2",
                 "--durations", durations, "--turnaround", "0", "--price", "1.5"});
  ASSERT_EQ(output.code, kExitOk) << output.err;
  const auto json = JsonOf(output);
  EXPECT_EQ(json["sweep"], "small");
  EXPECT_EQ(json["jobs"], 16);
  EXPECT_EQ(json["slots"], 4);
  EXPECT_EQ(json["work_seconds"], 8 * 100 + 4 * 10 + 4 * 20);
  EXPECT_EQ(json["critical_path_seconds"], 120);
  EXPECT_EQ(json["bound_seconds"], 230);
  EXPECT_GE(json["makespan_seconds"], 230);
  EXPECT_LE(json["makespan_seconds"], 240);
  EXPECT_NEAR(json["cost"], json["machine_hours"].get<double>() * 1.5, 1e-9);
  const Output table = RunConcur({"sweep", "simulate", sweep_, "--workers", "2", "--slots", "2",
                                  "--durations", durations, "--turnaround", "0"});
  EXPECT_THAT(table.out, AllOf(HasSubstr("2 with 4 slots"), HasSubstr("of the lower bound"),
                               HasSubstr("utilisation")));
}

TEST_F(SimulateTest, NamedResourcesBoundAForecast) {
  Write("sweep.yaml", absl::StrCat(kSweep, "  resources: {uses: {api: 1}}\n"));
  const std::string durations =
      Durations("approach,benchmark,kind,seconds\n*,*,train,100\n*,*,eval,10\n");
  const auto bound = [&](const std::string& resource) {
    const Output output =
        RunConcur({"-o", "json", "sweep", "simulate", sweep_, "--workers", "8", "--slots", "2",
                   "--durations", durations, "--resource", resource});
    EXPECT_EQ(output.code, kExitOk) << output.err;
    return JsonOf(output)["bound_seconds"];
  };
  EXPECT_EQ(bound("api=1"), 880);
  EXPECT_EQ(bound("api=2"), 440);
  EXPECT_EQ(bound("other=1"), 110);
  EXPECT_EQ(bound("api=16/2"), 15 * 30) << "16 jobs, of which one starts at once";
  const Output wrong = RunConcur({"sweep", "simulate", sweep_, "--workers", "8", "--durations",
                                  durations, "--resource", "api"});
  EXPECT_EQ(wrong.code, kExitUsage);
  EXPECT_THAT(wrong.err,
              HasSubstr("--resource: expected NAME=N[/PER_MINUTE], as openai=16/3000, got "
                        "\"api\""));
}

TEST_F(SimulateTest, TheHistoryOfACoordinatorServesAndApproachesMeansFillItsGaps) {
  FakeCoordinator server;
  const auto add = [&](const std::string& benchmark, bool is_train, int64_t seconds) {
    v1::JobDuration& duration = server.durations.emplace_back();
    duration.set_approach("a");
    duration.set_benchmark(benchmark);
    duration.set_is_train(is_train);
    duration.mutable_mean()->set_seconds(seconds);
    duration.set_count(3);
  };
  add("x", true, 60);
  add("x", false, 5);
  const Output output = RunConcur(
      {"--server", server.address(), "-o", "json", "sweep", "plan", sweep_, "--workers", "16"});
  ASSERT_EQ(output.code, kExitOk) << output.err;
  EXPECT_EQ(JsonOf(output)["forecast"]["work_seconds"], 8 * 65);
  EXPECT_EQ(JsonOf(output)["jobs"], 16);
}

// Symptom: a sweep had to be named by its id, and without --memory no job that asks for some
// fitted.
TEST_F(SimulateTest, ASweepIsNamedByItsNameAndAWorkerHasThisMachinesMemory) {
  ASSERT_OK_AND_ASSIGN(spec::LoadedSweep loaded, spec::LoadSweep(sweep_));
  loaded.spec.name = "demo";
  loaded.spec.approaches[0].train_resources.memory_bytes = 1 << 20;
  for (BenchmarkSpec& benchmark : loaded.spec.benchmarks) {
    benchmark.train->digest = benchmark.test->digest = Sha256Of(benchmark.name);
  }
  FakeCoordinator server;
  v1::Sweep& sweep = server.sweeps.emplace_back();
  sweep.set_id("s1");
  sweep.set_name("demo");
  *sweep.mutable_spec() = rpc::ToProto(loaded.spec);
  const std::string durations =
      Durations("approach,benchmark,kind,seconds\n*,*,train,1\n*,*,eval,1\n");
  for (const char* name : {"demo", "s1"}) {
    const Output output = RunConcur({"--server", server.address(), "-o", "json", "sweep",
                                     "simulate", name, "--workers", "8", "--durations", durations});
    ASSERT_EQ(output.code, kExitOk) << output.err;
    EXPECT_EQ(JsonOf(output)["jobs"], 16);
  }
  sweep.set_state(v1::Sweep::STATE_SUCCEEDED);
  sweep.mutable_create_time()->set_seconds(1000);
  sweep.mutable_end_time()->set_seconds(1010);
  const auto shown = [&] {
    return JsonOf(RunConcur({"--server", server.address(), "-o", "json", "sweep", "simulate", "s1",
                             "--workers", "8", "--durations", durations}));
  };
  EXPECT_EQ(shown()["took_seconds"], 10);
  EXPECT_THAT(RunConcur({"--server", server.address(), "sweep", "simulate", "s1", "--workers", "8",
                         "--durations", durations})
                  .out,
              HasSubstr("forecast       5 times too short, if it ran on such workers\n"))
      << "it ran on two: was error -80.0 %";
  sweep.mutable_counts()->set_stopped(2);
  EXPECT_FALSE(shown().contains("took_seconds")) << "the forecast is of whole trainings";
  EXPECT_EQ(RunConcur({"--server", server.address(), "sweep", "simulate", "other", "--workers", "8",
                       "--durations", durations})
                .code,
            kExitNotFound);
  const Output nowhere = RunConcur({"sweep", "simulate", "nowhere.yaml", "--workers", "8"});
  EXPECT_EQ(nowhere.code, kExitNotFound);
  EXPECT_THAT(nowhere.err, HasSubstr("expected a readable sweep file")) << "a file, not a sweep";
}

TEST_F(SimulateTest, WithoutHistoryOrWorkersItSaysWhatIsMissing) {
  FakeCoordinator server;
  Output output =
      RunConcur({"--server", server.address(), "sweep", "simulate", sweep_, "--workers", "1"});
  EXPECT_EQ(output.code, kExitPrecondition);
  EXPECT_THAT(output.err, HasSubstr("no finished job yet"));
  const std::string durations = Durations("approach,benchmark,kind,seconds\n*,*,eval,1\n");
  output = RunConcur(
      {"--server", server.address(), "sweep", "simulate", sweep_, "--durations", durations});
  EXPECT_EQ(output.code, kExitPrecondition);
  EXPECT_THAT(output.err, HasSubstr("--workers N"));
  output = RunConcur(
      {"sweep", "simulate", sweep_, "--workers", "1", "--slots", "1", "--durations", durations});
  EXPECT_EQ(output.code, kExitUsage);
  EXPECT_THAT(output.err, HasSubstr("nothing tells how long training a on x takes"));
}

TEST_F(SimulateTest, AFileThatIsNotAsExpectedIsRefusedWithThePlace) {
  const struct {
    const char* text;
    const char* message;
  } kCases[] = {
      {"", "f: expected the columns"},
      {"approach,benchmark,seconds\n", "f:1: the column \"kind\" is missing"},
      {"approach,benchmark,kind,seconds,when\n", "f:1: expected the columns"},
      {"approach,benchmark,kind,kind,seconds\n", "got \"kind\""},
      {"approach,benchmark,kind,seconds\na,x,train\n", "f:2: expected 4 fields, got 3"},
      {"approach,benchmark,kind,seconds\na,x,test,1\n",
       "f:2: kind: expected train, eval or service"},
      {"approach,benchmark,kind,seconds\na,x,eval,-1\n", "f:2: seconds: expected a number"},
      {"approach,benchmark,kind,seconds\na,x,eval,nan\n", "f:2: seconds: expected a number"},
      {"approach,benchmark,kind,seconds,spread\na,x,eval,1,99\n", "f:2: spread: expected"},
      {"approach,benchmark,kind,seconds\na,,eval,1\n", "f:2: approach and benchmark: expected"},
      {"approach,benchmark,kind,seconds\na,x,eval,1\na,x,eval,2\n", "f:3: a, x, eval stands twice"},
      {"approach,benchmark,kind,seconds\na,x,service,1\n",
       "f:2: benchmark: expected * for a service, got \"x\""},
      {"approach,benchmark,kind,seconds\na,*,service,1\na,*,service,2\n",
       "f:3: a, *, service stands twice"},
  };
  for (const auto& [text, message] : kCases) {
    EXPECT_THAT(DurationTable::Parse(text, "f", 0).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)))
        << text;
  }
}

TEST_F(SimulateTest, AServiceLoadsAsTheFileOrTheHistorySays) {
  Write("sweep.yaml",
        absl::StrReplaceAll(
            kSweep, {{"        predict",
                      "        service: {command: [serve, \"{port}\"]}\n        predict"}}));
  const auto shown = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"sweep",   "simulate", sweep_,         "--workers", "1",
                                          "--slots", "16",       "--turnaround", "0"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunConcur(arguments);
  };
  const std::string jobs = "approach,benchmark,kind,seconds\n*,*,train,1\n*,*,eval,2\n";
  const Output unknown = shown({"--durations", Durations(jobs)});
  EXPECT_THAT(unknown.out, HasSubstr("not counted, unknown: a\n")) << unknown.err;
  const auto json = [&](const std::string& rows) {
    return JsonOf(shown({"-o", "json", "--durations", Durations(jobs + rows)}));
  };
  EXPECT_EQ(json("")["makespan_seconds"], 3);
  EXPECT_EQ(json("")["unknown_loads"], std::vector<std::string>{"a"});
  EXPECT_EQ(json("*,*,service,60\na,*,service,20\n")["makespan_seconds"], 23);
  EXPECT_EQ(json("*,*,service,60\n")["unknown_loads"], std::vector<std::string>());

  FakeCoordinator server;
  for (const bool is_train : {true, false}) {
    v1::JobDuration& duration = server.durations.emplace_back();
    duration.set_approach("a");
    duration.set_benchmark("x");
    duration.set_is_train(is_train);
    duration.mutable_mean()->set_seconds(1);
    duration.set_count(1);
  }
  server.loads["a"] = 40;
  EXPECT_EQ(JsonOf(shown({"--server", server.address(), "-o", "json"}))["makespan_seconds"], 42);
}

TEST_F(SimulateTest, WhatIsNamedMostExactlyCounts) {
  ASSERT_OK_AND_ASSIGN(
      const DurationTable table,
      DurationTable::Parse("approach,benchmark,kind,seconds,spread\n*,*,eval,1,\n*,x,eval,2,\n"
                           "a,*,eval,3,0.5\na,x,eval,4,\n",
                           "f", 0.25));
  EXPECT_EQ(table.Find("a", "x", false).mean, absl::Seconds(4));
  EXPECT_EQ(table.Find("a", "y", false).mean, absl::Seconds(3));
  EXPECT_EQ(table.Find("a", "y", false).spread, 0.5);
  EXPECT_EQ(table.Find("b", "x", false).mean, absl::Seconds(2));
  EXPECT_EQ(table.Find("b", "y", false).spread, 0.25);
  EXPECT_FALSE(table.Find("a", "x", true).is_known);
}

TEST_F(SimulateTest, TheLargestStudyIsWithinThreePercentOfTheLowerBound) {
  const char* source = std::getenv("CONCUR_SOURCE_DIR");  // NOLINT(concurrency-mt-unsafe)
  const std::string root = source == nullptr ? "." : source;
  for (const char* workers : {"16", "64", "200"}) {
    const Output output = RunConcur({"-o", "json", "sweep", "simulate",
                                     absl::StrCat(root, "/configs/sweeps/concurrence.yaml"),
                                     "--workers", workers, "--slots", "1", "--durations",
                                     absl::StrCat(root, "/bench/concurrence-durations.csv")});
    ASSERT_EQ(output.code, kExitOk) << output.err;
    const auto json = JsonOf(output);
    EXPECT_EQ(json["jobs"], 7680);
    EXPECT_GE(json["makespan_seconds"], json["bound_seconds"]);
    EXPECT_LE(json["makespan_seconds"], 1.03 * json["bound_seconds"].get<double>()) << workers;
  }
}

}  // namespace
}  // namespace concur::cli
