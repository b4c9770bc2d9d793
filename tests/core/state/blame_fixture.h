// SPDX-License-Identifier: Apache-2.0
// Workers that fail, for tests of what follows from it.
#ifndef CONCUR_TESTS_CORE_STATE_BLAME_FIXTURE_H_
#define CONCUR_TESTS_CORE_STATE_BLAME_FIXTURE_H_

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "core/scheduler/reason_text.h"
#include "tests/core/scheduler/scheduler_harness.h"
#include "tests/core/sweep/sweep_builder.h"

namespace concur::testing {

// Untrained approaches on `benchmarks`, one eval job a seed.
inline SweepSpec Evals(const std::vector<std::string>& approaches,
                       const std::vector<std::string>& benchmarks, int seeds) {
  SweepSpec spec;
  spec.name = "evals";
  for (const std::string& name : approaches) {
    spec.approaches.push_back(UntrainedApproach(name));
    spec.approaches.back().predict_resources.cpu_millis = 1000;
  }
  for (const std::string& name : benchmarks) {
    spec.benchmarks.push_back(Benchmark(name, /*train=*/false));
  }
  spec.seeds.clear();
  for (int seed = 1; seed <= seeds; ++seed) {
    spec.seeds.push_back(seed);
  }
  spec.retry.failures_max = 100;
  spec.retry.backoff_min = absl::ZeroDuration();
  spec.retry.backoff_max = absl::ZeroDuration();
  return spec;
}

// One approach that trains on each of `benchmarks`.
inline SweepSpec Trains(const std::vector<std::string>& approaches,
                        const std::vector<std::string>& benchmarks, int seeds) {
  SweepSpec spec = Evals({}, {}, seeds);
  spec.retry.failures_max = 1;
  for (const std::string& name : approaches) {
    spec.approaches.push_back(TrainedApproach(name));
  }
  for (const std::string& name : benchmarks) {
    spec.benchmarks.push_back(Benchmark(name));
  }
  for (uint32_t i = 0; i < spec.benchmarks.size(); ++i) {
    spec.train_sets.push_back(PlainTrainSet(spec, i));
  }
  return spec;
}

class BlameSchedulerTest : public ::testing::Test {
 protected:
  void Use(SchedulerPolicy policy) { harness_ = std::make_unique<SchedulerHarness>(policy); }
  SchedulerHarness& harness() {
    if (harness_ == nullptr) {
      Use(SchedulerPolicy());
    }
    return *harness_;
  }
  Scheduler& scheduler() { return harness().scheduler(); }
  void AddWorker(const std::string& name, int64_t cpus = 1) {
    workers_[name] = std::make_unique<FakeWorker>(name, Resources{.cpu_millis = 1000 * cpus});
  }
  SweepId Submit(SweepSpec spec, const std::string& owner = "me") {
    absl::StatusOr<SweepId> id =
        harness().Submit(std::move(spec), absl::StrCat("spec ", submitted_++), owner);
    CONCUR_CHECK_OK(id.status());
    return *id;
  }
  // One Sync of every worker, each of which then ends all that it runs: those named in `broken` by
  // failing.
  void Round(const std::set<std::string>& broken, FailureClass failure = FailureClass::kFailed) {
    EndAll(
        [&](const std::string& worker, const JobCoordinates&) { return broken.contains(worker); },
        failure);
  }
  // The same; jobs fail by where they stand, on every worker.
  void RoundOf(const std::function<bool(const JobCoordinates&)>& fails) {
    EndAll([&](const std::string&, const JobCoordinates& at) { return fails(at); },
           FailureClass::kFailed);
  }
  // Rounds in which the worker fails all, until the next Sync finds it in quarantine, but at most
  // twelve.
  void RoundsUntilQuarantined(const std::string& worker) {
    int rounds = 0;
    do {
      Round({worker});
    } while (++rounds < 12 && ViewOf(worker).quarantine_reason.empty());
  }
  void Sync() {
    harness().Advance(absl::Seconds(1));
    std::map<std::string, uint64_t> sequences;
    for (auto& [name, worker] : workers_) {
      if (silent_.contains(name)) {
        continue;
      }
      const SyncRequest request = worker->MakeRequest();
      CONCUR_CHECK_OK(scheduler().Sync(request));
      harness().parked().insert(name);
      sequences[name] = request.sequence;
    }
    for (const auto& [name, orders] : harness().EndTurn().answers) {
      if (!deaf_.contains(name)) {
        workers_.at(name)->TakeAnswer(sequences.at(name), orders);
      }
    }
  }
  // The worker does not call, or does again.
  void SetSilent(const std::string& name, bool silent) {
    if (silent) {
      silent_.insert(name);
    } else {
      silent_.erase(name);
    }
  }
  // The worker calls, but no answer reaches it, or one does again.
  void SetDeaf(const std::string& name, bool deaf) {
    if (deaf) {
      deaf_.insert(name);
    } else {
      deaf_.erase(name);
    }
  }
  FakeWorker& WorkerCalled(const std::string& name) { return *workers_.at(name); }
  WorkerView ViewOf(const std::string& name) {
    for (const WorkerView& view : scheduler().views().ListWorkers()) {
      if (view.info.name == name) {
        return view;
      }
    }
    return {};
  }
  // Every attempt that the worker runs ends so; the next Sync reports it.
  void FinishAll(const std::string& name, const JobResult& result) {
    FakeWorker& worker = *workers_.at(name);
    for (const AttemptId& id : std::set<AttemptId>(worker.running())) {
      worker.Finish(id, result);
    }
  }
  void FinishAllWell(const std::string& name) {
    FakeWorker& worker = *workers_.at(name);
    for (const AttemptId& id : std::set<AttemptId>(worker.running())) {
      const bool is_train =
          scheduler().views().FindSweep(id.job.sweep)->expansion->Locate(id.job.index).is_train;
      worker.Finish(id, SuccessOf(id, is_train));
    }
  }
  // The worker's process is killed with all that it runs, and started again.
  void Restart(const std::string& name) {
    workers_.at(name)->Restart(/*spooled=*/false, /*knows_previous=*/true);
  }
  std::vector<std::string> WorkerNames() const {
    std::vector<std::string> names;
    for (const auto& [name, worker] : workers_) {
      names.push_back(name);
    }
    return names;
  }
  const std::set<AttemptId>& RunningSetOf(const std::string& name) {
    return workers_.at(name)->running();
  }
  size_t RunningOn(const std::string& name) { return workers_.at(name)->running().size(); }
  JobState StateOf(SweepId sweep, uint32_t job) {
    return scheduler().views().ViewJob({sweep, job}).state;
  }
  uint32_t CountOf(SweepId sweep, JobState state) {
    return scheduler().views().FindSweep(sweep)->counts[static_cast<size_t>(state)];
  }
  // Number of jobs of the sweep that have an explanation with this text.
  uint32_t Explained(SweepId sweep, const std::string& text) {
    uint32_t count = 0;
    for (uint32_t job = 0; job < scheduler().views().FindSweep(sweep)->expansion->job_count();
         ++job) {
      count +=
          ReasonText(scheduler().views().ReasonOf({sweep, job})).find(text) != std::string::npos
              ? 1
              : 0;
    }
    return count;
  }

 private:
  void EndAll(const std::function<bool(const std::string&, const JobCoordinates&)>& fails,
              FailureClass failure) {
    Sync();
    for (auto& [name, worker] : workers_) {
      for (const AttemptId& id : std::set<AttemptId>(worker->running())) {
        const JobCoordinates at =
            scheduler().views().FindSweep(id.job.sweep)->expansion->Locate(id.job.index);
        worker->Finish(id, fails(name, at) ? FailureOf(failure) : SuccessOf(id, at.is_train));
      }
    }
  }

  std::unique_ptr<SchedulerHarness> harness_;
  std::map<std::string, std::unique_ptr<FakeWorker>> workers_;
  std::set<std::string> silent_;
  std::set<std::string> deaf_;
  int submitted_ = 0;
};

}  // namespace concur::testing

#endif  // CONCUR_TESTS_CORE_STATE_BLAME_FIXTURE_H_
