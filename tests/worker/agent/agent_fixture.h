// SPDX-License-Identifier: Apache-2.0
// An agent between a fake coordinator and a fake executor, on a clock of its own.
#ifndef CONCUR_TESTS_WORKER_AGENT_AGENT_FIXTURE_H_
#define CONCUR_TESTS_WORKER_AGENT_AGENT_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/testing/fake_executor.h"
#include "tests/testing/fake_gateway.h"
#include "tests/testing/simulated_clock.h"
#include "worker/agent/agent.h"

namespace concur::worker {

inline AttemptId Id(uint32_t job, uint32_t attempt = 1) { return AttemptId{{{1}, job}, {attempt}}; }

inline JobOrder Order(AttemptId id) {
  JobOrder order;
  order.id = id;
  return order;
}

inline JobResult Success() {
  JobResult result;
  result.succeeded = true;
  return result;
}

class MemorySpool : public Spool {
 public:
  absl::Status Put(const std::vector<SpooledResult>& results) override {
    if (!status.ok()) {
      return status;
    }
    for (const SpooledResult& result : results) {
      kept[result.finished.id] = result;
    }
    return absl::OkStatus();
  }
  void Remove(const std::vector<AttemptId>& ids) override {
    for (const AttemptId& id : ids) {
      kept.erase(id);
    }
  }

  absl::Status status;
  std::map<AttemptId, SpooledResult> kept;
};

class AgentTest : public ::testing::Test {
 protected:
  AgentTest() {
    options_.info.name = "w1";
    options_.info.incarnation = "i1";
    options_.seed = 1;
    Restart();
  }

  void Restart(const std::vector<SpooledResult>& recovered = {}) {
    agent_ = std::make_unique<Agent>(clock_, gateway_, executor_, spool_, options_, recovered);
  }

  absl::Time Step() {
    const absl::Time next = agent_->Step();
    agent_->CheckInvariants();
    EXPECT_LE(gateway_.open().size(), 1u);
    return next;
  }
  // Lets the time of the next step come.
  void StepAtNext() {
    const absl::Time next = Step();
    ASSERT_NE(next, absl::InfiniteFuture());
    if (next > clock_.Now()) {
      clock_.Advance(next - clock_.Now());
    }
    Step();
  }
  const SyncRequest& last() { return gateway_.last(); }
  void Answer(SyncResponse response) {
    if (response.lease == absl::ZeroDuration()) {
      response.lease = absl::Seconds(30);
    }
    gateway_.Answer(last().sequence, std::move(response));
    Step();
  }
  // A worker that is connected and has a parked call.
  void Connect() {
    Step();
    Answer({});
    ASSERT_GT(last().wait, absl::ZeroDuration());
  }
  void StartAttempts(std::vector<AttemptId> ids) {
    SyncResponse response;
    for (const AttemptId& id : ids) {
      response.start.push_back(Order(id));
    }
    Answer(response);
  }
  static std::vector<AttemptId> FinishedIds(const SyncRequest& request) {
    std::vector<AttemptId> ids;
    for (const FinishedAttempt& finished : request.finished) {
      ids.push_back(finished.id);
    }
    return ids;
  }

  testing::SimulatedClock clock_;
  testing::FakeGateway gateway_;
  testing::FakeExecutor executor_;
  MemorySpool spool_;
  AgentOptions options_;
  std::unique_ptr<Agent> agent_;
};

}  // namespace concur::worker

#endif  // CONCUR_TESTS_WORKER_AGENT_AGENT_FIXTURE_H_
