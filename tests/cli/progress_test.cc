#include "cli/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "analysis/text_table.h"

namespace concur::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

const absl::Time kStart = absl::FromUnixSeconds(1'700'000'000);

v1::WatchSweepResponse UpdateOf(uint32_t succeeded, uint32_t running, uint32_t ready,
                                uint32_t failed = 0, uint32_t reused = 0) {
  v1::WatchSweepResponse update;
  v1::Sweep& sweep = *update.mutable_sweep();
  sweep.set_id("s12");
  sweep.set_state(v1::Sweep::STATE_ACTIVE);
  sweep.mutable_counts()->set_succeeded(succeeded);
  sweep.mutable_counts()->set_running(running);
  sweep.mutable_counts()->set_ready(ready);
  sweep.mutable_counts()->set_failed(failed);
  sweep.set_reused(reused);
  sweep.mutable_create_time()->set_seconds(absl::ToUnixSeconds(kStart));
  return update;
}

void AddFailure(v1::WatchSweepResponse* update, v1::Job::State state, const std::string& job) {
  v1::JobEvent& event = *update->add_events();
  event.set_job(job);
  event.set_state(state);
  event.set_attempt(3);
  event.set_failure(v1::FAILURE_CLASS_OOM);
  event.set_worker("w1");
  event.set_message("killed\x1b[2J at 8 GiB\nmore");
  event.set_description("lr on squad, setting 2, seed 1");
}

ProgressOptions Terminal() {
  ProgressOptions options;
  options.is_terminal = true;
  return options;
}

TEST(ProgressTest, TheStatusLineHasBarCountsRateAndEta) {
  SweepProgress progress(Terminal());
  EXPECT_THAT(progress.Update(UpdateOf(0, 2, 98), kStart, 100),
              HasSubstr("s12  [░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░]   0%  0/100 jobs · 2 running"));
  const std::string later =
      progress.Update(UpdateOf(48, 2, 48, 2), kStart + absl::Seconds(10), 100);
  EXPECT_THAT(later,
              HasSubstr("50%  50/100 jobs · 2 running · 2 failed · 5.0 jobs/s · ETA 10.0 s"));
  EXPECT_THAT(later, StartsWith("\r\x1b[2K"));
}

TEST(ProgressTest, ReusedJobsSayNothingAboutTheRate) {
  SweepProgress progress(Terminal());
  progress.Update(UpdateOf(50, 2, 48, 0, 50), kStart, 100);
  const std::string later =
      progress.Update(UpdateOf(60, 2, 38, 0, 50), kStart + absl::Seconds(10), 100);
  EXPECT_THAT(later, HasSubstr("1.0 jobs/s · ETA 40.0 s"));
  EXPECT_THAT(later, HasSubstr("50 reused"));
}

TEST(ProgressTest, TheStatusLineFitsAnyWidth) {
  for (size_t width = 2; width < 200; ++width) {
    SweepProgress progress(Terminal());
    std::string bytes = progress.Update(UpdateOf(33, 2, 60, 5), kStart, width);
    ASSERT_THAT(bytes, StartsWith("\x1b[?25l"));
    EXPECT_LT(analysis::DisplayWidth(bytes.substr(6)), width) << bytes;
  }
}

TEST(ProgressTest, ATerminalThatBecameNarrowerIsClearedOfTheOldLine) {
  SweepProgress progress(Terminal());
  progress.Update(UpdateOf(0, 2, 98), kStart, 100);
  EXPECT_THAT(progress.Update(UpdateOf(1, 2, 97), kStart + absl::Seconds(1), 40),
              HasSubstr("\x1b[1A\r\x1b[J"));
}

TEST(ProgressTest, FailuresStandAboveTheStatusLine) {
  SweepProgress progress(Terminal());
  progress.Update(UpdateOf(0, 2, 98), kStart, 120);
  v1::WatchSweepResponse update = UpdateOf(0, 1, 98, 1);
  AddFailure(&update, v1::Job::STATE_FAILED, "s12/7");
  EXPECT_THAT(progress.Update(update, kStart + absl::Milliseconds(1), 120),
              StartsWith("\r\x1b[2K✗ s12/7 attempt 3 oom: lr on squad, setting 2, seed 1 [w1]: "
                         "killed\xEF\xBF\xBD[2J at 8 GiB\n"));
}

TEST(ProgressTest, AfterManyFailuresOnlyTheirNumberIsShown) {
  ProgressOptions options;
  options.failures_max = 2;
  SweepProgress progress(options);
  v1::WatchSweepResponse update = UpdateOf(0, 1, 98, 1);
  for (int i = 0; i < 5; ++i) {
    AddFailure(&update, v1::Job::STATE_FAILED, absl::StrCat("s12/", i));
  }
  const std::string lines = progress.Update(update, kStart, 80);
  EXPECT_THAT(lines, HasSubstr("s12/1"));
  EXPECT_THAT(lines, Not(HasSubstr("s12/2 ")));
  EXPECT_THAT(lines, HasSubstr("… more failures: see \"concur job list s12 --state failed\""));
}

TEST(ProgressTest, ARetryIsNewsToo) {
  SweepProgress progress((ProgressOptions()));
  v1::WatchSweepResponse update = UpdateOf(0, 1, 98);
  AddFailure(&update, v1::Job::STATE_BACKOFF, "s12/7");
  EXPECT_THAT(progress.Update(update, kStart, 80), StartsWith("↻ s12/7 attempt 3 oom (to be ret"));
}

TEST(ProgressTest, PlainLinesComeNowAndThenAndAtTheEnd) {
  SweepProgress progress((ProgressOptions()));
  EXPECT_EQ(progress.Update(UpdateOf(0, 2, 98), kStart, 80), "s12    0%  0/100 jobs · 2 running\n");
  EXPECT_THAT(progress.Update(UpdateOf(9, 2, 89), kStart + absl::Seconds(9), 80), IsEmpty());
  EXPECT_EQ(progress.Update(UpdateOf(10, 2, 88), kStart + absl::Seconds(10), 80),
            "s12   10%  10/100 jobs · 2 running · 1.0 jobs/s · ETA 1m30s\n");
  v1::WatchSweepResponse end = UpdateOf(100, 0, 0);
  end.mutable_sweep()->set_state(v1::Sweep::STATE_SUCCEEDED);
  end.mutable_sweep()->mutable_end_time()->set_seconds(absl::ToUnixSeconds(kStart) + 75);
  EXPECT_EQ(progress.Update(end, kStart + absl::Seconds(11), 80),
            "s12  100%  100/100 jobs · succeeded · took 1m15s\n");
  EXPECT_EQ(progress.Close(), "");
}

TEST(ProgressTest, TheCursorComesBack) {
  SweepProgress progress(Terminal());
  progress.Update(UpdateOf(0, 2, 98), kStart, 80);
  EXPECT_EQ(progress.Close(), "\r\x1b[2K\x1b[?25h");
}

TEST(ProgressTest, TheEtaGrowsWhileNothingEnds) {
  SweepProgress progress(Terminal());
  progress.Update(UpdateOf(0, 2, 98), kStart, 100);
  progress.Update(UpdateOf(10, 2, 88), kStart + absl::Seconds(10), 100);
  EXPECT_THAT(progress.Tick(kStart + absl::Seconds(20), 100), HasSubstr("ETA 3m00s"));
  EXPECT_THAT(progress.Tick(kStart + absl::Seconds(20), 100), IsEmpty()) << "drawn just now";
}

TEST(ProgressTest, AnUploadsBarFitsItsLine) {
  EXPECT_EQ(BytesBar("squad.json", 512 * 1024, 1024 * 1024, 70, false),
            "squad.json  [###############---------------]  512.0 KiB of 1.0 MiB");
  for (size_t width = 2; width < 100; ++width) {
    EXPECT_LT(analysis::DisplayWidth(BytesBar("squad.json", 1, 0, width, true)), width);
  }
}

}  // namespace
}  // namespace concur::cli
