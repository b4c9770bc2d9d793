// SPDX-License-Identifier: Apache-2.0
// Costs of the scheduler: microseconds for each thing it does and bytes for each job, for sweeps
// of growing size. Constant columns mean that nothing is quadratic.
//
//   scheduler_bench [jobs …]      default: 1000 100000 1000000
//
// One sweep of train and eval jobs in equal numbers is carried out by 200 workers that hold 16 jobs
// each; every worker hands in all its jobs with every Sync. Nothing is saved: what a commit costs
// is the store's affair. No rival: what other schedulers do in a process of their own, with their
// own storage and wire, cannot be set beside one library's calls.
#include <malloc.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "core/scheduler/scheduler.h"
#include "store/memory_store.h"

namespace concur {
namespace {

constexpr int kWorkers = 200;
constexpr int kJobsPerWorker = 16;

class Stopwatch {
 public:
  template <typename Work>
  void Time(Work&& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  double MicrosFor(uint64_t count) const {
    return count == 0 ? 0 : seconds_ * 1e6 / static_cast<double>(count);
  }

 private:
  double seconds_ = 0;
};

double BytesInUse() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<double>(info.uordblks) + static_cast<double>(info.hblkhd);
}

DataFile FileNamed(const std::string& name) {
  DataFile file;
  file.digest = Sha256Of(name);
  file.bytes = 1;
  file.suffix = ".jsonl";
  return file;
}

SweepSpec SpecOf(uint32_t jobs) {
  SweepSpec spec;
  spec.name = "bench";
  ApproachSpec approach;
  approach.name = "a";
  approach.version = "1";
  approach.train_command = {"learn", "{train}", "{model}", "{seed}"};
  approach.predict_command = {"answer", "{model}", "{test}", "{predictions}"};
  spec.approaches = {approach};
  BenchmarkSpec benchmark;
  benchmark.name = "x";
  benchmark.train = FileNamed("train");
  benchmark.test = FileNamed("test");
  spec.benchmarks = {benchmark};
  spec.train_sets = {TrainSet{.name = "x", .parts = {{0, 0}}, .seed = 0, .tags = {}}};
  spec.seeds.clear();
  for (uint32_t i = 0; i < jobs / 2; ++i) {
    spec.seeds.push_back(i);
  }
  return spec;
}

JobResult ResultOf(AttemptId id, bool is_train) {
  JobResult result;
  result.succeeded = true;
  const Digest digest = Sha256Of(id.ToString());
  if (is_train) {
    result.artifacts = {{ArtifactKind::kSystem, digest, 1000}, {ArtifactKind::kLog, digest, 100}};
  } else {
    result.metrics = {{"exact_match", 50, 1000}, {"f1", 60, 1000}};
    result.artifacts = {{ArtifactKind::kPredictions, digest, 1000},
                        {ArtifactKind::kExamples, digest, 1000},
                        {ArtifactKind::kLog, digest, 100}};
  }
  return result;
}

struct Costs {
  Stopwatch expand, submit, sync, dispatch, orders, effects, resubmit, collect, cancel, restore;
  uint64_t attempts = 0;
  double bytes_waiting = 0;  // a job
  double bytes_done = 0;
};

// Carries out everything; each batch goes to `store` if there is one.
void CarryOut(Scheduler& scheduler, MemoryStore* store, absl::Time& now, Costs& costs) {
  std::vector<SyncRequest> workers(kWorkers);
  for (int i = 0; i < kWorkers; ++i) {
    workers[static_cast<size_t>(i)].worker.name = absl::StrCat("w", i);
    workers[static_cast<size_t>(i)].worker.incarnation = absl::StrCat("w", i, "-1");
    workers[static_cast<size_t>(i)].worker.capacity.cpu_millis = 1000 * kJobsPerWorker;
  }
  for (bool busy = true; busy;) {
    busy = false;
    now += absl::Seconds(1);
    scheduler.AdvanceTo(now);
    for (SyncRequest& worker : workers) {
      ++worker.sequence;
      costs.attempts += worker.finished.size();
      costs.sync.Time([&] { CONCUR_CHECK_OK(scheduler.Sync(worker)); });
    }
    costs.dispatch.Time([&] { scheduler.Dispatch(); });
    Effects effects;
    costs.effects.Time([&] { effects = scheduler.TakeEffects(); });
    if (store != nullptr) {
      CONCUR_CHECK_OK(store->Commit(effects.batch));
    }
    for (SyncRequest& worker : workers) {
      WorkerOrders orders;
      costs.orders.Time([&] { orders = scheduler.TakeOrders(worker.worker.name); });
      worker.finished.clear();
      for (const WorkerOrders::Start& start : orders.start) {
        worker.finished.push_back({start.id, ResultOf(start.id, start.id.job.index % 2 == 0)});
        busy = true;
      }
    }
  }
}

Costs Measure(uint32_t jobs) {
  Costs costs;
  absl::Time now = absl::FromUnixSeconds(1'700'000'000);
  std::shared_ptr<const Expansion> expansion;
  costs.expand.Time([&] {
    absl::StatusOr<Expansion> made = Expansion::Make(SpecOf(jobs));
    CONCUR_CHECK_OK(made.status());
    expansion = std::make_shared<const Expansion>(*std::move(made));
  });
  const auto submit = [&](Scheduler& scheduler) {
    Scheduler::Submission submission;
    submission.owner = "me";
    submission.spec = "spec";
    submission.expansion = expansion;
    CONCUR_CHECK_OK(scheduler.Submit(std::move(submission)).status());
  };
  {
    const double before = BytesInUse();
    Scheduler scheduler{SchedulerPolicy{}};
    scheduler.AdvanceTo(now);
    costs.submit.Time([&] { submit(scheduler); });
    (void)scheduler.TakeEffects();
    costs.bytes_waiting = (BytesInUse() - before) / jobs;
    CarryOut(scheduler, nullptr, now, costs);
    CONCUR_CHECK(scheduler.views().FindSweep(SweepId{1})->state == SweepState::kSucceeded);
    costs.bytes_done = (BytesInUse() - before) / jobs;
    // One by one, as retention does it while a sweep runs.
    costs.collect.Time([&] {
      for (uint32_t cell = 0; cell < jobs / 2; ++cell) {
        scheduler.MarkSystemsCollected({JobId{SweepId{1}, 2 * cell}});
      }
    });
    costs.resubmit.Time([&] { submit(scheduler); });
    CONCUR_CHECK(scheduler.views().FindSweep(SweepId{2})->state == SweepState::kSucceeded);
    (void)scheduler.TakeEffects();
  }
  {
    Scheduler scheduler{SchedulerPolicy{}};
    scheduler.AdvanceTo(now);
    submit(scheduler);
    costs.cancel.Time([&] {
      CONCUR_CHECK_OK(scheduler.CancelSweep(SweepId{1}));
      while (scheduler.NextDeadline() <= now) {
        scheduler.AdvanceTo(now);
      }
      (void)scheduler.TakeEffects();
    });
  }
  {
    Scheduler scheduler{SchedulerPolicy{}};
    scheduler.AdvanceTo(now);
    submit(scheduler);
    MemoryStore store;
    Costs ignored;
    CarryOut(scheduler, &store, now, ignored);
    absl::StatusOr<Snapshot> snapshot = store.Load();
    CONCUR_CHECK_OK(snapshot.status());
    costs.restore.Time([&] {
      CONCUR_CHECK_OK(
          Scheduler::Restore(SchedulerPolicy{}, *std::move(snapshot), {expansion}, now).status());
    });
  }
  return costs;
}

int Main(int argc, char** argv) {
  std::vector<uint32_t> sizes;
  for (int i = 1; i < argc; ++i) {
    uint32_t jobs = 0;
    if (!absl::SimpleAtoi(argv[i], &jobs) || jobs < 2) {
      std::fprintf(stderr, "scheduler_bench: expected numbers of jobs, got \"%s\"\n", argv[i]);
      return 2;
    }
    sizes.push_back(jobs);
  }
  if (sizes.empty()) {
    sizes = {1'000, 100'000, 1'000'000};
  }
  std::printf(
      "microseconds a job (sync, dispatch, orders, effects: an attempt; collect: a system); bytes "
      "a job\n");
  std::printf("%9s %7s %7s %7s %9s %7s %8s %9s %8s %7s %8s %8s %8s\n", "jobs", "expand", "submit",
              "sync", "dispatch", "orders", "effects", "resubmit", "collect", "cancel", "restore",
              "waiting", "done");
  for (uint32_t jobs : sizes) {
    const Costs costs = Measure(jobs);
    const uint64_t n = costs.attempts;
    std::printf("%9u %7.2f %7.2f %7.2f %9.2f %7.2f %8.2f %9.2f %8.2f %7.2f %8.2f %7.0fB %7.0fB\n",
                jobs, costs.expand.MicrosFor(jobs), costs.submit.MicrosFor(jobs),
                costs.sync.MicrosFor(n), costs.dispatch.MicrosFor(n), costs.orders.MicrosFor(n),
                costs.effects.MicrosFor(n), costs.resubmit.MicrosFor(jobs),
                costs.collect.MicrosFor(jobs / 2), costs.cancel.MicrosFor(jobs),
                costs.restore.MicrosFor(jobs), costs.bytes_waiting, costs.bytes_done);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace concur

int main(int argc, char** argv) { return concur::Main(argc, argv); }
