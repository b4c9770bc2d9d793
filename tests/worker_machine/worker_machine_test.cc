// SPDX-License-Identifier: Apache-2.0
// The worker's real code on a simulated machine: docs/reliability.md, "The worker's machine".
//
// CONCUR_MACHINE_WORLDS=n runs n worlds (default: 40), CONCUR_MACHINE_FIRST=n from seed n on.

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/log.h"
#include "tests/testing/test.h"
#include "tests/worker_machine/world.h"

namespace concur::testing {
namespace {

constexpr uint64_t kSeedsPerBug = 60;

uint64_t NumberFrom(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe)
  uint64_t number = 0;
  return text != nullptr && absl::SimpleAtoi(text, &number) ? number : otherwise;
}

size_t OpenFiles() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

class WorkerMachineTest : public ::testing::Test {
 protected:
  void SetUp() override { SetLog(LogLevel::kNone, LogFormat::kText); }
  void TearDown() override { SetLog(LogLevel::kInfo, LogFormat::kText); }
};

TEST_F(WorkerMachineTest, EveryJobEndsOnceWithItsOwnResultAndNothingIsLeft) {
  const uint64_t first = NumberFrom("CONCUR_MACHINE_FIRST", 1);
  const uint64_t worlds = NumberFrom("CONCUR_MACHINE_WORLDS", 40);
  WorldReport sum;
  size_t open_files = 0;
  for (uint64_t seed = first; seed < first + worlds; ++seed) {
    const WorldReport report = RunWorkerWorld(seed, MachineBug::kNone, absl::Minutes(1));
    EXPECT_EQ(absl::StrJoin(report.broken, "\n"), "") << "seed " << seed;
    if (seed == first) {
      open_files = OpenFiles();  // some stay open for as long as the process lives
    }
    EXPECT_LE(OpenFiles(), open_files) << "seed " << seed;
    sum.starts += report.starts;
    sum.results += report.results;
    sum.kills += report.kills;
    sum.failed_openings += report.failed_openings;
    for (const auto& [what, count] : report.faults) {
      sum.faults[what] += count;
    }
  }
  std::cout << worlds << " worlds: " << sum.starts << " attempts started, " << sum.results
            << " results, workers killed " << sum.kills << " times and kept from starting "
            << sum.failed_openings
            << " times; faults: " << absl::StrJoin(sum.faults, ", ", absl::PairFormatter(" "))
            << "\n";
  // Each kind of fault was met.
  EXPECT_GE(sum.faults.size(), worlds < 40 ? 1u : 9u);
}

struct NamedBug {
  const char* name;
  MachineBug bug;
};

class PlantedMachineBugTest : public WorkerMachineTest,
                              public ::testing::WithParamInterface<NamedBug> {};

TEST_P(PlantedMachineBugTest, IsFound) {
  std::string found;
  uint64_t seed = 0;
  while (found.empty() && seed < kSeedsPerBug) {
    found = absl::StrJoin(RunWorkerWorld(++seed, GetParam().bug, absl::Seconds(2)).broken, "; ");
  }
  EXPECT_NE(found, "") << "goes unnoticed";
  std::cout << GetParam().name << ": seed " << seed << ": " << found << "\n";
}

INSTANTIATE_TEST_SUITE_P(
    , PlantedMachineBugTest,
    ::testing::Values(NamedBug{"orphan-kill-lost", MachineBug::kOrphanKillLost},
                      NamedBug{"leftovers-unseen", MachineBug::kLeftoversUnseen},
                      NamedBug{"exit-code-lost", MachineBug::kExitCodeLost},
                      NamedBug{"sync-error-hidden", MachineBug::kSyncErrorHidden},
                      NamedBug{"full-disk-hidden", MachineBug::kFullDiskHidden},
                      NamedBug{"read-error-hidden", MachineBug::kReadErrorHidden},
                      NamedBug{"removal-pretended", MachineBug::kRemovalPretended},
                      NamedBug{"spool-not-written", MachineBug::kSpoolNotWritten},
                      NamedBug{"timeout-forgotten", MachineBug::kTimeoutForgotten},
                      NamedBug{"stop-forgotten", MachineBug::kStopForgotten},
                      NamedBug{"forget-forgotten", MachineBug::kForgetForgotten},
                      NamedBug{"upload-skipped", MachineBug::kUploadSkipped},
                      NamedBug{"too-many-at-once", MachineBug::kTooManyAtOnce}),
    [](const auto& bug) {
      return absl::StrReplaceAll(bug.param.name, {{"-", "_"}});
    });

}  // namespace
}  // namespace concur::testing
