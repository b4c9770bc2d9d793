// SPDX-License-Identifier: Apache-2.0
// The whole system, simulated: see docs/reliability.md.
//
// CONCUR_SIM_SEEDS=n runs n seeds instead of 2,000 (fewer than 400: without planted bugs);
// CONCUR_SIM_FIRST=n starts at seed n.
// A failure names its seed and shows the end of its trace.
#include "tests/sim/simulation.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/log.h"
#include "tests/sim/runner.h"
#include "tests/testing/test.h"

namespace concur::sim {
namespace {

uint64_t NumberFrom(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe)
  uint64_t number = 0;
  return text != nullptr && absl::SimpleAtoi(text, &number) ? number : otherwise;
}

constexpr uint64_t kSeeds = 2'000;
// A run of fewer, as under a sanitizer, looks for no planted bugs: some take hundreds of worlds.
constexpr uint64_t kSeedsForBugs = 400;

SeedsOptions AllProcessors(uint64_t first_seed, uint64_t seeds) {
  SeedsOptions options;
  options.first_seed = first_seed;
  options.seeds = seeds;
  options.processes = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return options;
}

std::string TextOf(const SeedFailure& failure) {
  SimulationOptions options;
  options.seed = failure.seed;
  const absl::StatusOr<std::vector<std::string>> trace = TraceOf(options, 60);
  return absl::StrCat("seed ", failure.seed, ": ", failure.violation, "\n",
                      trace.ok() ? absl::StrJoin(*trace, "\n") : "");
}

TEST(SimulationTest, EveryPromiseHoldsInEveryWorld) {
  SeedsOptions options =
      AllProcessors(NumberFrom("CONCUR_SIM_FIRST", 1), NumberFrom("CONCUR_SIM_SEEDS", kSeeds));
  ASSERT_OK_AND_ASSIGN(const SeedsReport report, RunSeeds(options));
  for (const SeedFailure& failure : report.failures) {
    ADD_FAILURE() << TextOf(failure);
  }
  EXPECT_EQ(report.seeds, options.seeds);
  // The worlds contain the faults and events that they are meant to test.
  EXPECT_GT(report.counted, 10 * report.seeds);
  EXPECT_GT(report.acknowledged, 10 * report.seeds);
  EXPECT_GT(report.reads, 50 * report.seeds);
  std::cout << report.given_up << " jobs given up, " << report.quarantines << " quarantines, "
            << report.reads << " reads\n";
  if (report.seeds >= 500) {
    EXPECT_GT(report.given_up, report.seeds / 10);
    EXPECT_GT(report.quarantines, report.seeds / 20);
    EXPECT_GT(report.imports, report.seeds / 10);
    EXPECT_GT(report.reported_steps, 10 * report.seeds);
    EXPECT_GT(report.stopped, report.seeds / 10);
    EXPECT_GT(report.resumed, report.seeds / 10);
    EXPECT_GT(report.staged, report.seeds / 10);
    EXPECT_GT(report.chosen, report.seeds / 10);
    EXPECT_GT(report.used_up, report.seeds);
    EXPECT_GT(report.over_budget, report.seeds / 10);
    for (const Fault fault : AllFaults()) {
      const bool is_of_few = fault == Fault::kLeadTaken || fault == Fault::kFormerWakes;
      EXPECT_GT(report.faults[static_cast<size_t>(fault)], report.seeds / (is_of_few ? 400 : 100))
          << FaultName(fault);
    }
  }
}

TEST(SimulationTest, TheSameSeedGivesTheSameWorldEventForEvent) {
  SetLog(LogLevel::kNone, LogFormat::kText);
  for (const uint64_t seed : {1, 3, 10}) {
    std::ostringstream first;
    std::ostringstream second;
    for (std::ostringstream* trace : {&first, &second}) {
      SimulationOptions options;
      options.seed = seed;
      options.trace = trace;
      EXPECT_THAT(Simulate(options).violation, IsEmpty());
    }
    EXPECT_GT(first.str().size(), 1'000u);
    EXPECT_EQ(first.str(), second.str()) << "seed " << seed;
  }
  SetLog(LogLevel::kInfo, LogFormat::kText);
}

// Each bug must be found within the number of worlds that a test run simulates.
class PlantedBugTest : public ::testing::TestWithParam<Bug> {};

TEST_P(PlantedBugTest, IsFound) {
  if (NumberFrom("CONCUR_SIM_SEEDS", kSeeds) < kSeedsForBugs) {
    GTEST_SKIP() << "with CONCUR_SIM_SEEDS of at least " << kSeedsForBugs;
  }
  SeedsOptions options = AllProcessors(1, 1'000);
  options.simulation.bug = GetParam();
  ASSERT_OK_AND_ASSIGN(const SeedsReport report, RunSeeds(options));
  ASSERT_FALSE(report.failures.empty())
      << BugName(GetParam()) << " goes unnoticed in " << report.seeds << " worlds";
  RecordProperty("seeds", absl::StrCat(report.seeds));
  std::cout << BugName(GetParam()) << ": seed " << report.failures[0].seed << ": "
            << report.failures[0].violation << "\n";
}

INSTANTIATE_TEST_SUITE_P(, PlantedBugTest, ::testing::ValuesIn(AllBugs()), [](const auto& bug) {
  return absl::StrReplaceAll(BugName(bug.param), {{"-", "_"}});
});

TEST(RunnerTest, ATraceTellsWhatHappenedAndEndsWithTheBrokenPromise) {
  SimulationOptions options;
  options.bug = Bug::kPublishSkipped;
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> lines, TraceOf(options, 1'000));
  ASSERT_GT(lines.size(), 5u);
  EXPECT_THAT(lines.front(), HasSubstr("the coordinator starts"));
  EXPECT_THAT(absl::StrJoin(lines, "\n"), HasSubstr("BROKEN: "));
}

}  // namespace
}  // namespace concur::sim
