// SPDX-License-Identifier: Apache-2.0
// The scheduler's events, with workers that keep no rules: their Syncs name any attempt, in any
// sequence, with any result. Users do what they may. After each event the state must be sound, and
// whatever was saved must be enough for a restart.
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "tests/core/scheduler/scheduler_harness.h"
#include "tests/core/sweep/sweep_builder.h"
#include "tests/fuzz/fuzz.h"

namespace {

using ::concur::AttemptId;
using ::concur::SweepId;

constexpr size_t kEventsMax = 400;
constexpr uint32_t kSweepsMax = 4;

// The input as a stream of small numbers; zeros when it is used up.
class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  bool empty() const { return at_ == size_; }
  uint32_t Next(uint32_t below) { return at_ < size_ ? data_[at_++] % below : 0; }

 private:
  const uint8_t* data_;
  const size_t size_;
  size_t at_ = 0;
};

AttemptId SomeAttempt(Bytes& bytes) {
  return {{SweepId{1 + bytes.Next(kSweepsMax + 1)}, bytes.Next(24)}, {1 + bytes.Next(4)}};
}

concur::JobResult SomeResult(Bytes& bytes, AttemptId id) {
  const uint32_t kind = bytes.Next(16);
  if (kind < 8) {
    return concur::testing::SuccessOf(id, /*is_train=*/kind < 4);
  }
  return concur::testing::FailureOf(static_cast<concur::FailureClass>(kind - 8));
}

concur::SyncRequest SomeSync(Bytes& bytes) {
  concur::SyncRequest request;
  request.worker.name = absl::StrCat("w", bytes.Next(3));
  request.worker.incarnation = absl::StrCat("i", bytes.Next(3));
  request.worker.previous_incarnation = bytes.Next(2) == 0 ? "" : absl::StrCat("i", bytes.Next(3));
  request.worker.capacity = {.cpu_millis = 1000 * static_cast<int64_t>(bytes.Next(5)),
                             .memory_bytes = 0,
                             .gpus = static_cast<int32_t>(bytes.Next(3))};
  request.sequence = bytes.Next(64);
  const uint32_t flags = bytes.Next(16);
  request.draining = flags == 1;
  request.shutting_down = flags == 2;
  // The protocol refuses an attempt that is listed twice before the scheduler sees it.
  std::set<AttemptId> listed;
  for (uint32_t i = bytes.Next(5); i > 0; --i) {
    if (const AttemptId id = SomeAttempt(bytes); listed.insert(id).second) {
      request.running.push_back(id);
    }
  }
  for (uint32_t i = bytes.Next(5); i > 0; --i) {
    if (const AttemptId id = SomeAttempt(bytes); listed.insert(id).second) {
      request.finished.push_back({id, SomeResult(bytes, id)});
    }
  }
  for (uint32_t i = bytes.Next(4); i > 0; --i) {
    const AttemptId id = SomeAttempt(bytes);
    const int64_t step = bytes.Next(8);
    request.steps.push_back({id, {step, "f1", static_cast<double>(bytes.Next(16))}});
  }
  return request;
}

void Submit(Bytes& bytes, concur::testing::SchedulerHarness& harness, size_t event) {
  if (harness.scheduler().views().sweep_count() >= kSweepsMax) {
    return;
  }
  concur::SweepSpec spec = concur::testing::SmallSweep();
  spec.seeds = {1 + static_cast<int64_t>(bytes.Next(2))};
  spec.random_settings = bytes.Next(4);
  if (spec.random_settings > 0 && bytes.Next(2) == 1) {
    spec.early_stop.emplace().metric = "f1";
    spec.early_stop->rule = {.method = static_cast<concur::EarlyStopMethod>(bytes.Next(3)),
                             .minimize = bytes.Next(2) == 1,
                             .min = 1 + bytes.Next(2),
                             .max = 2 + bytes.Next(6),
                             .eta = 2 + bytes.Next(2)};
  }
  spec.retry.failures_max = 1 + bytes.Next(3);
  spec.retry.lost_max = bytes.Next(4);
  spec.failures_max_per_block = bytes.Next(3);
  spec.approaches[0].train_resources.gpus = static_cast<int32_t>(bytes.Next(2));
  if (bytes.Next(3) == 2) {
    concur::testing::AddStages(&spec, "t", /*chain=*/false);
  }
  spec.approaches[0].predict_resources.gpu_share = static_cast<int32_t>(bytes.Next(100));
  (void)harness.Submit(std::move(spec), absl::StrCat("spec ", event), "me",
                       bytes.Next(2) == 0 ? "" : "again");
}

void OnSweep(Bytes& bytes, concur::Scheduler& scheduler) {
  const SweepId id{1 + bytes.Next(kSweepsMax + 1)};
  switch (bytes.Next(8)) {
    case 7:
      (void)scheduler.SetPriority(id, static_cast<int32_t>(bytes.Next(3)));
      break;
    case 6:
      (void)scheduler.CancelJob({id, bytes.Next(30)});
      break;
    case 0:
      (void)scheduler.CancelSweep(id);
      break;
    case 1:
      (void)scheduler.PauseSweep(id);
      break;
    case 2:
      (void)scheduler.ResumeSweep(id);
      break;
    case 3:
      (void)scheduler.DeleteSweep(id);
      break;
    default:
      (void)scheduler.RetryJobs(id, std::vector<uint32_t>(bytes.Next(3), bytes.Next(30)),
                                bytes.Next(2) == 1);
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Bytes bytes(data, size);
  concur::SchedulerPolicy policy;
  policy.workers_max = 2;
  policy.quotas.otherwise.running_jobs_max = 3;
  concur::testing::SchedulerHarness harness(policy);
  for (size_t event = 0; event < kEventsMax && !bytes.empty(); ++event) {
    switch (bytes.Next(10)) {
      case 0:
        Submit(bytes, harness, event);
        break;
      case 1:
        OnSweep(bytes, harness.scheduler());
        break;
      case 2:
        harness.Advance(absl::Seconds(bytes.Next(64)));
        break;
      case 3:
        (void)harness.scheduler().DrainWorker(absl::StrCat("w", bytes.Next(3)), bytes.Next(2) == 0);
        break;
      case 4:
        harness.RestartCoordinator();
        break;
      default:
        if (const concur::SyncRequest request = SomeSync(bytes);
            harness.scheduler().Sync(request).ok()) {
          harness.parked().insert(request.worker.name);
        }
    }
    harness.EndTurn(/*compare=*/false);
  }
  return 0;
}
