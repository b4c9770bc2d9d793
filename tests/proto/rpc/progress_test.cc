// SPDX-License-Identifier: Apache-2.0
#include "proto/rpc/progress.h"

#include <string>

#include "tests/testing/test.h"

namespace concur::rpc {
namespace {

v1::Sweep SweepOf(uint32_t succeeded, uint32_t running, double running_done) {
  v1::Sweep sweep;
  sweep.set_state(v1::Sweep::STATE_ACTIVE);
  sweep.mutable_counts()->set_succeeded(succeeded);
  sweep.mutable_counts()->set_running(running);
  sweep.mutable_counts()->set_running_done(running_done);
  return sweep;
}

TEST(ProgressTest, AllIsDoneWithTheLastJobAndNotBefore) {
  const auto percent = [](const v1::Sweep& sweep) { return ProgressOf(sweep).percent(); };
  EXPECT_EQ(percent(SweepOf(999, 1, 0)), 99u);
  EXPECT_EQ(percent(SweepOf(1, 3, 1.5)), 62u);
  EXPECT_EQ(percent(SweepOf(0, 2, 2)), 99u);
  EXPECT_EQ(percent(SweepOf(0, 2, 9)), 99u) << "more than there are";
  EXPECT_EQ(percent(v1::Sweep()), 0u) << "no jobs";
  v1::Sweep sweep;
  for (const auto set : {&v1::StateCounts::set_succeeded, &v1::StateCounts::set_failed,
                         &v1::StateCounts::set_skipped, &v1::StateCounts::set_stopped}) {
    (sweep.mutable_counts()->*set)(1);
  }
  EXPECT_EQ(percent(sweep), 100u);
  sweep.mutable_counts()->set_canceled(4);
  EXPECT_EQ(ProgressOf(sweep).jobs(), 8u);
  EXPECT_EQ(ProgressOf(sweep).done(), 4u);
  EXPECT_EQ(percent(sweep), 50u) << "canceled jobs are not done";
  EXPECT_EQ(ProgressOf(sweep).jobs_left(), 0) << "nor left";
}

TEST(ProgressTest, TheTimeLeftFollowsFromTheRate) {
  v1::Sweep sweep = SweepOf(40, 60, 10);
  sweep.set_recent_jobs(30);
  sweep.mutable_recent_span()->set_seconds(60);
  EXPECT_EQ(ProgressOf(sweep).jobs_per_second(), 0.5);
  EXPECT_EQ(ProgressOf(sweep).left().seconds(), 100);
  sweep.set_state(v1::Sweep::STATE_PAUSED);
  EXPECT_FALSE(ProgressOf(sweep).has_left());
  sweep.set_state(v1::Sweep::STATE_ACTIVE);
  sweep.set_recent_jobs(0);
  EXPECT_FALSE(ProgressOf(sweep).has_left());
}

uint64_t GroupOf(const std::string& message) {
  return FailureGroup(v1::FAILURE_CLASS_FAILED, message);
}

TEST(FailureGroupTest, NumbersDigestsAndFoldersAreAlikeAndWordsAreNot) {
  EXPECT_EQ(GroupOf("used 12 MiB of 8"), GroupOf("used 9999 MiB of 7"));
  EXPECT_NE(GroupOf("used 12 MiB"), GroupOf("used MiB"));
  EXPECT_EQ(GroupOf("no file 0b51cafe12ab"), GroupOf("no file ffffffffffffffff"));
  EXPECT_NE(GroupOf("a"), GroupOf("b"));
  EXPECT_NE(GroupOf("no module a.b"), GroupOf("no module a"));
  EXPECT_NE(GroupOf("deadbeefdead: no file"), GroupOf("deadbeefdeadly: no file"));
  EXPECT_NE(GroupOf("xdeadbeefdead: no file"), GroupOf("xfeedfeedfeed: no file"));
  EXPECT_EQ(GroupOf("12 deadbeefdead"), GroupOf("3.5 feedfeedfeed"));
  EXPECT_EQ(GroupOf("/tmp/tmpa_b/data.json: line 3"), GroupOf("/var/x/y/data.json: line 4"));
  EXPECT_NE(GroupOf("/data/a.csv: not there"), GroupOf("/data/b.csv: not there"));
  EXPECT_NE(GroupOf("a"), FailureGroup(v1::FAILURE_CLASS_OOM, "a"));
  EXPECT_NE(GroupOf(""), 0u);
}

// Equal failures were a line for each state of their progress bars.
TEST(FailureGroupTest, ProgressBarsBeforeAnErrorAreAlike) {
  const auto group = [](const std::string& bar) {
    return GroupOf(bar + "error: quota exceeded (exit code 1)");
  };
  EXPECT_EQ(group("1/9 files"), group("2/10 files"));
  EXPECT_EQ(group("  0%|          | 0/9 [00:00<?, ?it/s]"),
            group(" 50%|#####     | 5/10 [00:01<00:01, 4.90it/s]"));
  EXPECT_EQ(group("25%|██▌       | 1/4 "), group("100%|██████████| 4/4 "));
  EXPECT_EQ(group("━━━╸━━━━━━ 1.2/5.0 MB "), group("━━━━━━━━━━ 5.0/5.0 MB "));
  EXPECT_EQ(group("3/9 [==>.......] "), group("9/9 [========>.] "));
}

}  // namespace
}  // namespace concur::rpc
