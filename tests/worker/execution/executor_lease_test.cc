// SPDX-License-Identifier: Apache-2.0
// No command begins after its worker's lease may have ended.

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "tests/testing/test.h"
#include "tests/worker/execution/executor_fixture.h"

namespace concur::worker {
namespace {

// Read by the executor's threads while the test sets it.
class SetClock : public Clock {
 public:
  absl::Time Now() override {
    MutexLock lock(mu_);
    return now_;
  }
  void Advance(absl::Duration by) {
    MutexLock lock(mu_);
    now_ += by;
  }

 private:
  Mutex mu_;
  absl::Time now_ ABSL_GUARDED_BY(mu_) = absl::FromUnixSeconds(1'000);
};

class ExecutorLeaseTest : public ExecutorFixture {
 protected:
  void SetUp() override {
    options_.clock = &clock_;
    options_.slots = 1;
    Reopen();
    executor_->SetLeaseEnd(clock_.Now() + absl::Seconds(27));
  }
  void WaitUntilHeld() {
    const absl::Time deadline = absl::Now() + kDeadline;
    while (executor_->held_for_test() == 0) {
      ASSERT_LT(absl::Now(), deadline);
      waker_.Wait(absl::Milliseconds(2));
    }
  }
  JobOrder Marking() { return Train(absl::StrCat("touch ", temp_.File("mark"), "; touch $2")); }
  bool HasRun() const { return std::filesystem::exists(temp_.File("mark")); }

  SetClock clock_;
};

// A worker that was stopped and resumed started an attempt six seconds after another's success.
TEST_F(ExecutorLeaseTest, WhatWasReadyWhenTheWorkerWasStoppedWaitsForTheNextAnswer) {
  const std::string go_on = temp_.File("go_on");
  const JobOrder first =
      Train(absl::StrCat("echo begun; while [ ! -e ", go_on, " ]; do sleep 0.01; done; touch $2"));
  executor_->Start(first);
  WaitForLog(first.id, "begun");
  executor_->Start(Marking());
  clock_.Advance(absl::Seconds(60));  // as a machine that slept
  ASSERT_OK(WriteFileAtomically(go_on, ""));
  EXPECT_TRUE(Next().finished.result.succeeded) << "what runs goes on";
  WaitUntilHeld();
  EXPECT_FALSE(HasRun());
  executor_->SetLeaseEnd(clock_.Now() - absl::Seconds(1));  // lease of an answer that came before
  WaitUntilHeld();
  EXPECT_FALSE(HasRun());
  executor_->SetLeaseEnd(clock_.Now() + absl::Seconds(27));
  EXPECT_TRUE(Next().finished.result.succeeded);
  EXPECT_TRUE(HasRun());
}

TEST_F(ExecutorLeaseTest, WhatIsNoLongerThisWorkersNeverBegins) {
  clock_.Advance(absl::Seconds(60));
  const JobOrder order = Marking();
  executor_->Start(order);
  WaitUntilHeld();
  executor_->Stop(order.id, StopCause::kFenced, /*at_once=*/false);
  EXPECT_EQ(Next().finished.result.failure, FailureClass::kPreempted);
  executor_->SetLeaseEnd(clock_.Now() + absl::Seconds(27));
  EXPECT_TRUE(Run(Train("touch $2")).succeeded) << "its room is free again";
  EXPECT_FALSE(HasRun());
}

}  // namespace
}  // namespace concur::worker
