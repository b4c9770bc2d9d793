// SPDX-License-Identifier: Apache-2.0
// An executor without processes: the test ends attempts.
#ifndef CONCUR_TESTS_TESTING_FAKE_EXECUTOR_H_
#define CONCUR_TESTS_TESTING_FAKE_EXECUTOR_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/check.h"
#include "core/sync/job_order.h"
#include "core/sync/sync.h"
#include "worker/executor.h"

namespace concur::testing {

// Thread-compatible.
class FakeExecutor : public worker::Executor {
 public:
  struct StopCall {
    worker::StopCause cause;
    bool at_once;
  };

  void SetCoordinatorStore(const worker::CoordinatorStore& store) override { store_ = store; }
  void SetLeaseEnd(absl::Time end) override { lease_end_ = end; }
  void Start(const JobOrder& order) override {
    // No attempt is started twice: all other guarantees depend on it.
    CONCUR_CHECK(started_.insert(order.id).second);
    running_.emplace(order.id, order);
  }
  void Stop(const AttemptId& id, worker::StopCause cause, bool at_once) override {
    stops_[id].push_back({cause, at_once});
  }
  void Publish(const FinishedAttempt& finished) override {
    publishing_.insert_or_assign(finished.id, finished);
  }
  void Forget(const AttemptId& id) override {
    CONCUR_CHECK(!running_.contains(id));
    publishing_.erase(id);
    forgotten_.insert(id);
  }
  std::vector<worker::ExecutorReport> Poll() override { return std::exchange(reports_, {}); }
  std::vector<AttemptStep> PollSteps() override { return std::exchange(steps_, {}); }
  size_t waiting() const override { return waiting_; }
  std::string ReadLog(const AttemptId& id, int64_t offset, size_t bytes_max) override {
    const auto it = logs_.find(id);
    return it == logs_.end() || static_cast<size_t>(offset) >= it->second.size()
               ? ""
               : it->second.substr(static_cast<size_t>(offset), bytes_max);
  }

  // Ends a running attempt, which perhaps left a checkpoint.
  void Finish(const AttemptId& id, JobResult result, bool published = true,
              std::optional<Checkpoint> checkpoint = {}) {
    CONCUR_CHECK(running_.erase(id) == 1);
    reports_.push_back({{id, std::move(result), checkpoint}, published});
  }
  // Ends an attempt that was told to stop, like a process that obeys SIGTERM.
  void FinishStopped(const AttemptId& id) {
    CONCUR_CHECK(stops_.contains(id));
    JobResult result;
    result.failure = FailureClass::kPreempted;
    Finish(id, std::move(result));
  }
  // Completes the publication of an attempt's artifacts.
  void FinishPublishing(const AttemptId& id) {
    const auto it = publishing_.find(id);
    CONCUR_CHECK(it != publishing_.end());
    reports_.push_back({it->second, true});
    publishing_.erase(it);
  }
  // A running attempt reports these steps.
  void ReportSteps(const AttemptId& id, const std::vector<int64_t>& steps) {
    CONCUR_CHECK(running_.contains(id));
    for (const int64_t step : steps) {
      steps_.push_back({id, {step, "f1", static_cast<double>(step)}});
    }
  }
  void ReportProgress(const AttemptId& id, int64_t done, int64_t of) {
    CONCUR_CHECK(running_.contains(id));
    steps_.push_back({id, {done, worker::kProgressName, static_cast<double>(of)}});
  }
  void SetWaiting(size_t waiting) { waiting_ = waiting; }
  void SetLog(const AttemptId& id, std::string log) { logs_[id] = std::move(log); }

  absl::Time lease_end() const { return lease_end_; }
  const std::map<AttemptId, JobOrder>& running() const { return running_; }
  const std::set<AttemptId>& started() const { return started_; }
  const std::set<AttemptId>& forgotten() const { return forgotten_; }
  const std::map<AttemptId, FinishedAttempt>& publishing() const { return publishing_; }
  const std::map<AttemptId, std::vector<StopCall>>& stops() const { return stops_; }
  const worker::CoordinatorStore& store() const { return store_; }

 private:
  absl::Time lease_end_ = absl::InfinitePast();
  worker::CoordinatorStore store_;
  std::set<AttemptId> started_;
  std::map<AttemptId, JobOrder> running_;
  std::map<AttemptId, std::vector<StopCall>> stops_;
  std::map<AttemptId, FinishedAttempt> publishing_;
  std::set<AttemptId> forgotten_;
  std::map<AttemptId, std::string> logs_;
  std::vector<worker::ExecutorReport> reports_;
  std::vector<AttemptStep> steps_;
  size_t waiting_ = 0;
};

}  // namespace concur::testing

#endif  // CONCUR_TESTS_TESTING_FAKE_EXECUTOR_H_
