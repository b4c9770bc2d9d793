// SPDX-License-Identifier: Apache-2.0
// The longest turns of a coordinator while a whole sweep is canceled and retried, with its database
// on this disk: how long everybody else waits. The rival is one turn for all of it.
//
//   retry_bench [DIRECTORY [JOBS]]      (default: . 100000)
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "core/scheduler/scheduler.h"
#include "store/sqlite_store.h"

namespace concur {
namespace {

SweepSpec SpecWith(uint32_t jobs) {
  SweepSpec spec;
  spec.name = "bench";
  ApproachSpec approach;
  approach.name = "a";
  approach.version = "1";
  approach.predict_command = {"answer", "{test}", "{predictions}", "{seed}"};
  spec.approaches = {approach};
  BenchmarkSpec benchmark;
  benchmark.name = "x";
  benchmark.test.emplace();
  benchmark.test->digest = Sha256Of("test");
  benchmark.test->suffix = ".jsonl";
  spec.benchmarks = {benchmark};
  spec.seeds.clear();
  for (uint32_t i = 0; i < jobs; ++i) {
    spec.seeds.push_back(i);
  }
  return spec;
}

struct Turns {
  int count = 0;
  double longest_ms = 0;
  double seconds = 0;
};

// Turns, of which the first one does `request`, until nothing is under way.
Turns Run(Scheduler& scheduler, Store& store, absl::Time& now,
          const std::function<void()>& request) {
  Turns turns;
  do {
    const auto begin = std::chrono::steady_clock::now();
    now += absl::Milliseconds(1);
    scheduler.AdvanceTo(now);
    if (turns.count == 0) {
      request();
    }
    scheduler.Dispatch();
    const Effects effects = scheduler.TakeEffects();
    if (!effects.batch.empty()) {
      CONCUR_CHECK_OK(store.Commit(effects.batch));
    }
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    ++turns.count;
    turns.seconds += seconds;
    turns.longest_ms = std::max(turns.longest_ms, seconds * 1e3);
  } while (scheduler.NextDeadline() <= now);
  return turns;
}

void Measure(const std::string& directory, uint32_t jobs, bool in_slices) {
  const std::string data = absl::StrCat(directory, "/retry_bench.data");
  std::filesystem::remove_all(data);
  std::filesystem::create_directory(data);
  absl::StatusOr<std::unique_ptr<SqliteStore>> store = SqliteStore::Open(data + "/concur.db");
  CONCUR_CHECK_OK(store.status());
  absl::StatusOr<Expansion> expansion = Expansion::Make(SpecWith(jobs));
  CONCUR_CHECK_OK(expansion.status());
  SchedulerPolicy policy;
  if (!in_slices) {
    policy.slice_jobs = UINT32_MAX;
  }
  Scheduler scheduler(policy);
  absl::Time now = absl::FromUnixSeconds(1'700'000'000);
  scheduler.AdvanceTo(now);
  Scheduler::Submission submission;
  submission.owner = "me";
  submission.spec = "spec";
  submission.expansion = std::make_shared<const Expansion>(*std::move(expansion));
  CONCUR_CHECK_OK(scheduler.Submit(std::move(submission)).status());
  const Turns cancel =
      Run(scheduler, **store, now, [&] { CONCUR_CHECK_OK(scheduler.CancelSweep(SweepId{1})); });
  const Turns retry = Run(scheduler, **store, now, [&] {
    const absl::StatusOr<uint32_t> retried = scheduler.RetryJobs(SweepId{1}, {}, false);
    CONCUR_CHECK(retried.ok() && *retried == jobs);
  });
  for (const auto& [name, turns] : {std::pair("cancel", cancel), std::pair("retry", retry)}) {
    std::printf("%-7s %9u  %-9s %6d turns  longest %9.1f ms  all %7.2f s\n", name, jobs,
                in_slices ? "in slices" : "in one", turns.count, turns.longest_ms, turns.seconds);
  }
  std::fflush(stdout);
  store->reset();
  std::filesystem::remove_all(data);
}

int Main(int argc, char** argv) {
  const std::string directory = argc > 1 ? argv[1] : ".";
  uint32_t jobs = 100'000;
  if (argc > 2 && (!absl::SimpleAtoi(argv[2], &jobs) || jobs == 0)) {
    std::fprintf(stderr, "retry_bench: expected a number of jobs, got \"%s\"\n", argv[2]);
    return 2;
  }
  Measure(directory, jobs, /*in_slices=*/false);
  Measure(directory, jobs, /*in_slices=*/true);
  return 0;
}

}  // namespace
}  // namespace concur

int main(int argc, char** argv) { return concur::Main(argc, argv); }
