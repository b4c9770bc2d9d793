// SPDX-License-Identifier: Apache-2.0
#include "core/state/roster.h"

#include <string>
#include <vector>

#include "tests/testing/test.h"

namespace concur {
namespace {

absl::Time SecondsIn(int64_t seconds) {
  return absl::FromUnixSeconds(1'000) + absl::Seconds(seconds);
}

class RosterTest : public ::testing::Test {
 protected:
  Worker& Add(const std::string& name, int64_t deadline) {
    WorkerInfo info;
    info.name = name;
    info.incarnation = name + "-1";
    Worker& worker = roster_.Add(info);
    roster_.SetDeadline(worker, SecondsIn(deadline));
    return worker;
  }

  Roster roster_;
};

TEST_F(RosterTest, WorkersComeByName) {
  Add("b", 1);
  Add("a", 2);
  std::vector<std::string> names;
  for (const auto& [name, worker] : roster_) {
    names.push_back(name);
  }
  EXPECT_THAT(names, ElementsAre("a", "b"));
  ASSERT_NE(roster_.Find("b"), nullptr);
  EXPECT_EQ(roster_.Find("b")->info.incarnation, "b-1");
  EXPECT_EQ(roster_.Find("c"), nullptr);
  roster_.CheckInvariants();
}

TEST_F(RosterTest, TheFirstDeadlineIsTheNextAndAChangedOneTakesItsPlace) {
  EXPECT_EQ(roster_.NextDeadline(), absl::InfiniteFuture());
  Worker& a = Add("a", 10);
  Worker& b = Add("b", 20);
  EXPECT_EQ(roster_.NextDeadline(), SecondsIn(10));
  EXPECT_EQ(roster_.FirstOverdue(SecondsIn(9)), nullptr);
  EXPECT_EQ(roster_.FirstOverdue(SecondsIn(10)), &a);
  roster_.SetDeadline(a, SecondsIn(30));
  EXPECT_EQ(roster_.FirstOverdue(SecondsIn(40)), &b);
  roster_.CheckInvariants();
  roster_.Erase("b");
  EXPECT_EQ(roster_.NextDeadline(), SecondsIn(30));
  EXPECT_EQ(roster_.size(), 1u);
  roster_.CheckInvariants();
}

TEST_F(RosterTest, OnlyALostWorkerThatAUserDrainedMayBeWithoutADeadline) {
  Worker& worker = Add("a", 10);
  roster_.DropDeadline(worker);
  EXPECT_FALSE(roster_.HasDeadline(worker));
  EXPECT_DEATH(roster_.CheckInvariants(), "HasDeadline");
  worker.lost = true;
  worker.drain_asked = true;
  roster_.CheckInvariants();
}

TEST_F(RosterTest, AWorkerTakesJobsUnlessItIsLostDrainingOrInQuarantine) {
  Worker& worker = Add("a", 10);
  const absl::Time now = SecondsIn(0);
  EXPECT_TRUE(worker.TakesJobs(now));
  worker.drain_self = true;
  EXPECT_FALSE(worker.TakesJobs(now));
  worker.drain_self = false;
  worker.drain_asked = true;
  EXPECT_FALSE(worker.TakesJobs(now));
  worker.drain_asked = false;
  worker.lost = true;
  EXPECT_FALSE(worker.TakesJobs(now));
  worker.lost = false;
  roster_.BeginQuarantine(worker, SecondsIn(5), "it fails");
  EXPECT_FALSE(worker.TakesJobs(now));
  EXPECT_TRUE(worker.TakesJobs(SecondsIn(5)));
}

TEST_F(RosterTest, AQuarantineEndsOnceAndIsADeadline) {
  Worker& worker = Add("a", 100);
  roster_.BeginQuarantine(worker, SecondsIn(5), "it fails");
  EXPECT_EQ(roster_.NextDeadline(), SecondsIn(5));
  EXPECT_EQ(worker.Row().quarantine_reason, "it fails");
  EXPECT_EQ(roster_.FirstQuarantineEnded(SecondsIn(4)), nullptr);
  EXPECT_EQ(roster_.FirstQuarantineEnded(SecondsIn(5)), &worker);
  roster_.CheckInvariants();
  EXPECT_TRUE(roster_.EndQuarantine(worker));
  EXPECT_FALSE(roster_.EndQuarantine(worker));
  EXPECT_EQ(roster_.FirstQuarantineEnded(SecondsIn(9)), nullptr);
  EXPECT_EQ(worker.quarantine_end, absl::InfinitePast());
  roster_.CheckInvariants();
}

TEST_F(RosterTest, AnotherWorkerCountsOnlyWhenItTakesJobs) {
  Add("a", 10);
  EXPECT_FALSE(roster_.HasOtherThatTakesJobs("a", SecondsIn(0)));
  Worker& other = Add("b", 10);
  EXPECT_TRUE(roster_.HasOtherThatTakesJobs("a", SecondsIn(0)));
  other.drain_asked = true;
  EXPECT_FALSE(roster_.HasOtherThatTakesJobs("a", SecondsIn(0)));
}

TEST_F(RosterTest, AWorkerHasOrdersWhenSomethingIsToBeAnswered) {
  Worker& worker = Add("a", 10);
  EXPECT_FALSE(worker.HasOrders());
  worker.drain_asked = true;
  EXPECT_TRUE(worker.HasOrders());
  worker.drain_sent = true;
  EXPECT_FALSE(worker.HasOrders());
  worker.forget.emplace_back();
  EXPECT_TRUE(worker.HasOrders());
  worker.forget.clear();
  worker.assignments.Add(AttemptId{{{1}, 0}, {1}}, Assignment());
  EXPECT_TRUE(worker.HasOrders());
}

}  // namespace
}  // namespace concur
