// SPDX-License-Identifier: Apache-2.0
#include "cli/output/progress.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "report/text.h"
#include "tests/testing/test.h"

namespace concur::cli {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1'700'000'000);

v1::WatchSweepResponse UpdateOf(uint32_t succeeded, uint32_t running, uint32_t ready,
                                uint32_t failed = 0, uint32_t reused = 0, double recent_seconds = 0,
                                uint32_t recent_jobs = 0) {
  v1::WatchSweepResponse update;
  v1::Sweep& sweep = *update.mutable_sweep();
  sweep.set_id("s12");
  sweep.set_state(v1::Sweep::STATE_ACTIVE);
  sweep.mutable_counts()->set_succeeded(succeeded);
  sweep.mutable_counts()->set_running(running);
  sweep.mutable_counts()->set_ready(ready);
  sweep.mutable_counts()->set_failed(failed);
  sweep.set_reused(reused);
  if (recent_seconds > 0) {
    sweep.mutable_recent_span()->set_seconds(static_cast<int64_t>(recent_seconds));
    sweep.set_recent_jobs(recent_jobs);
  }
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
      progress.Update(UpdateOf(48, 2, 48, 2, 0, 10, 50), kStart + absl::Seconds(10), 100);
  EXPECT_THAT(later,
              HasSubstr("50%  50/100 jobs · 2 running · 2 failed · 5.0 jobs/s · ETA 10.0 s"));
  EXPECT_THAT(later, StartsWith("\r\x1b[2K"));
}

TEST(ProgressTest, WhatRunningJobsSayIsDoneCountsInPercentAndEta) {
  SweepProgress progress(Terminal());
  v1::WatchSweepResponse update = UpdateOf(5, 2, 3, 0, 0, 10, 10);
  update.mutable_sweep()->mutable_counts()->set_running_done(1.5);
  EXPECT_THAT(progress.Update(update, kStart, 120),
              HasSubstr("65%  5/10 jobs · 2 (75%) running · 1.0 jobs/s · ETA 3.5 s"));
  update.mutable_sweep()->mutable_counts()->set_running_done(7);  // more than there are
  EXPECT_THAT(progress.Update(update, kStart + absl::Seconds(1), 120),
              HasSubstr("70%  5/10 jobs · 2 (100%) running"));
  update = UpdateOf(8, 2, 0);
  update.mutable_sweep()->mutable_counts()->set_running_done(2);
  EXPECT_THAT(progress.Update(update, kStart + absl::Seconds(2), 120), HasSubstr("99%  8/10 jobs"));
}

// "251 running" was said of two workers with one CPU each.
TEST(ProgressTest, JobsGivenAheadAreQueuedAndDoNotRun) {
  SweepProgress progress(Terminal());
  v1::WatchSweepResponse update = UpdateOf(0, 251, 749);
  update.mutable_sweep()->mutable_counts()->set_queued(249);
  EXPECT_THAT(progress.Update(update, kStart, 120), HasSubstr("· 2 running · 249 queued"));
}

// A paused sweep went on having an ETA.
TEST(ProgressTest, APausedSweepHasNoEta) {
  SweepProgress progress(Terminal());
  v1::WatchSweepResponse update = UpdateOf(48, 2, 50, 0, 0, 10, 48);
  update.mutable_sweep()->set_state(v1::Sweep::STATE_PAUSED);
  const std::string line = progress.Update(update, kStart, 120);
  EXPECT_THAT(line, HasSubstr("48/100 jobs · paused · 2 running"));
  EXPECT_THAT(line, Not(HasSubstr("ETA")));
  EXPECT_THAT(line, Not(HasSubstr("jobs/s")));
}

// A canceled sweep was 100 % done.
TEST(ProgressTest, CanceledJobsAreNotDone) {
  SweepProgress progress((ProgressOptions()));
  v1::WatchSweepResponse update = UpdateOf(30, 0, 0, 10);
  update.mutable_sweep()->mutable_counts()->set_canceled(60);
  update.mutable_sweep()->set_state(v1::Sweep::STATE_CANCELED);
  EXPECT_THAT(progress.Update(update, kStart, 80),
              StartsWith("s12   40%  40/100 jobs · canceled · 10 failed · 60 canceled · took"));
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
              StartsWith("\r\x1b[2K✗ s12/7 failed (oom): killed\xEF\xBF\xBD[2J at 8 GiB · lr on "
                         "squad, setting 2, seed 1 [w1, attempt 3]\n"));
}

// At 80 columns the line ended at "[local-1…", where the reason began.
TEST(ProgressTest, AFailureShowsItsReasonFirstAndIsNeverCut) {
  for (const bool is_terminal : {false, true}) {
    ProgressOptions options;
    options.is_terminal = is_terminal;
    SweepProgress progress(options);
    v1::WatchSweepResponse update = UpdateOf(0, 1, 98, 1);
    AddFailure(&update, v1::Job::STATE_FAILED, "s1/13");
    const std::string reason = std::string(200, 'x') + " KeyError: 'rarity' (exit code 1)";
    update.mutable_events(0)->set_failure(v1::FAILURE_CLASS_FAILED);
    update.mutable_events(0)->set_message(reason);
    EXPECT_THAT(progress.Update(update, kStart, 80),
                HasSubstr("✗ s1/13 failed: " + reason + " · lr on squad"));
  }
}

// The same error was printed twenty times.
TEST(ProgressTest, EqualFailuresAreOneLineWithTheirNumber) {
  SweepProgress progress((ProgressOptions()));
  std::string lines;
  for (int i = 0; i < 25; ++i) {
    v1::WatchSweepResponse update = UpdateOf(0, 1, 98, 1);
    AddFailure(&update, v1::Job::STATE_FAILED, absl::StrCat("s12/", i));
    update.mutable_events(0)->set_message(absl::StrCat("no model in run-", i));
    lines += progress.Update(update, kStart, 80);
  }
  EXPECT_THAT(lines, HasSubstr("✗ s12/0 failed (oom): no model in run-0 · "));
  EXPECT_THAT(lines, HasSubstr("✗ s12/0 and 9 more failed (oom): no model in run-0\n"));
  EXPECT_THAT(lines, Not(HasSubstr("s12/1 "))) << lines;
  v1::WatchSweepResponse end = UpdateOf(0, 0, 75, 25);
  end.mutable_sweep()->set_state(v1::Sweep::STATE_FAILED);
  EXPECT_THAT(progress.Update(end, kStart, 80),
              StartsWith("✗ s12/0 and 24 more failed (oom): no model in run-0\n"));
}

TEST(ProgressTest, OfManyKindsOfFailuresTheFirstAreShown) {
  ProgressOptions options;
  options.failures_max = 2;
  SweepProgress progress(options);
  v1::WatchSweepResponse update = UpdateOf(0, 1, 98, 1);
  for (const char* message : {"one", "two", "three", "four"}) {
    AddFailure(&update, v1::Job::STATE_FAILED, absl::StrCat("s12/", message));
    update.mutable_events(update.events_size() - 1)->set_message(message);
  }
  const std::string lines = progress.Update(update, kStart, 80);
  EXPECT_THAT(lines, HasSubstr("s12/two failed"));
  EXPECT_THAT(lines, Not(HasSubstr("s12/three")));
  EXPECT_THAT(lines, HasSubstr("… more kinds of failures: concur sweep failures s12\n"));
}

TEST(ProgressTest, ARetryIsNewsToo) {
  SweepProgress progress((ProgressOptions()));
  v1::WatchSweepResponse update = UpdateOf(0, 1, 98);
  AddFailure(&update, v1::Job::STATE_BACKOFF, "s12/7");
  EXPECT_THAT(progress.Update(update, kStart, 80), StartsWith("↻ s12/7 to be retried (oom): kill"));
  // One error was four lines: retried, failed, "and 9 more" of both; then two.
  for (const v1::Job::State state : {v1::Job::STATE_BACKOFF, v1::Job::STATE_FAILED}) {
    for (int i = 0; i < 12; ++i) {
      update = UpdateOf(0, 1, 98);
      AddFailure(&update, state, absl::StrCat("s12/", i));
      EXPECT_THAT(progress.Update(update, kStart, 80), Not(HasSubstr("(oom)")));
    }
  }
  v1::WatchSweepResponse end = UpdateOf(0, 0, 88, 12);
  end.mutable_sweep()->set_state(v1::Sweep::STATE_FAILED);
  EXPECT_THAT(progress.Update(end, kStart, 80), StartsWith("s12   12%  12/100 jobs · failed"));
}

TEST(ProgressTest, PlainLinesComeNowAndThenAndAtTheEnd) {
  SweepProgress progress((ProgressOptions()));
  EXPECT_EQ(progress.Update(UpdateOf(0, 2, 98), kStart, 80), "s12    0%  0/100 jobs · 2 running\n");
  EXPECT_THAT(progress.Update(UpdateOf(9, 2, 89), kStart + absl::Seconds(9), 80), IsEmpty());
  EXPECT_EQ(progress.Update(UpdateOf(10, 2, 88, 0, 0, 10, 10), kStart + absl::Seconds(10), 80),
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
  progress.Update(UpdateOf(10, 2, 88, 0, 0, 10, 10), kStart + absl::Seconds(10), 100);
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
