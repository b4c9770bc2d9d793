// SPDX-License-Identifier: Apache-2.0
// Measures of an executor against jobs that will not end, will not stop, or take too much.
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "base/file.h"
#include "base/process/process_tree.h"
#include "base/process/waker.h"
#include "tests/worker/execution/executor_fixture.h"
#include "worker/execution/subprocess_executor.h"

namespace concur::worker {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

// As the worker has it.
[[maybe_unused]] const auto kIgnored = signal(SIGPIPE, SIG_IGN);

class SubprocessLimitsTest : public ExecutorFixture {};

TEST_F(SubprocessLimitsTest, AJobStartsWithSignalsAtTheirDefaults) {
  const JobResult result = Run(Train("grep SigIgn /proc/self/status; touch $2"));
  EXPECT_EQ(ReadArtifact(result, ArtifactKind::kLog), "SigIgn:\t0000000000000000\n");
}

TEST_F(SubprocessLimitsTest, AJobThatClosesItsOutputAndHangsTimesOut) {
  options_.grace = absl::Milliseconds(50);
  Reopen();
  JobOrder order = Train("exec >&- 2>&-; trap '' TERM; while :; do sleep 60; done");
  order.timeout = absl::Milliseconds(100);
  const JobResult result = Run(order);
  EXPECT_EQ(FailureClassName(result.failure), "timeout");
  EXPECT_THAT(result.message, HasSubstr("time-out of 100ms"));
  EXPECT_EQ(result.exit_code, 137);
}

TEST_F(SubprocessLimitsTest, ATimedOutJobMayCleanUpInItsGrace) {
  JobOrder order = Train("trap 'echo cleaned; exit 0' TERM; while :; do sleep 0.01; done");
  order.timeout = absl::Milliseconds(200);
  const JobResult result = Run(order);
  EXPECT_EQ(FailureClassName(result.failure), "timeout");
  EXPECT_THAT(ReadArtifact(result, ArtifactKind::kLog), HasSubstr("cleaned\n"));
}

TEST_F(SubprocessLimitsTest, ChildrenThatIgnoreTermDieWithTheirJob) {
  // A duration that no other run of this test has.
  const std::string seconds = absl::StrCat(1'000'000 + getpid());
  const JobOrder order = Train(absl::StrCat("(trap '' TERM; echo $$; exec sleep ", seconds,
                                            ") & sh -c 'trap \"\" TERM; echo $PPID; exec sleep ",
                                            seconds, "' & echo ready; touch $2; exit 0"));
  const JobResult result = Run(order);
  ASSERT_TRUE(result.succeeded) << result.message;
  for (const process::ProcessInfo& process : process::ListProcesses()) {
    std::ifstream cmdline(absl::StrCat("/proc/", process.pid, "/cmdline"));
    std::string text((std::istreambuf_iterator<char>(cmdline)), {});
    if (text ==
        absl::StrCat("sleep", absl::string_view("\0", 1), seconds, absl::string_view("\0", 1))) {
      WaitUntilGone(process.pid);
    }
  }
}

TEST_F(SubprocessLimitsTest, ADaemonIsFoundBehindMoreOrphansThanOneReadOfThemGives) {
  // Orphans of a job that still runs, adopted by this process: some 5 bytes of the list each.
  const JobOrder many = Train(
      "i=0; while [ $i -lt 1000 ]; do (sleep 1003 >/dev/null 2>&1 &); i=$((i+1)); done; echo "
      "ready; "
      "exec sleep 1004");
  executor_->Start(many);
  WaitForLog(many.id, "ready");
  const std::string pid_file = temp_.File("pid");
  ASSERT_TRUE(Run(Train(absl::StrCat("setsid sleep 1005 >/dev/null 2>&1 & echo $! >", pid_file,
                                     "; touch $2")))
                  .succeeded);
  ASSERT_OK_AND_ASSIGN(const std::string text, ReadFile(pid_file, 100));
  pid_t pid = 0;
  ASSERT_TRUE(absl::SimpleAtoi(absl::StripAsciiWhitespace(text), &pid));
  EXPECT_TRUE(IsGone(pid));
  executor_->Stop(many.id, StopCause::kCanceled, /*at_once=*/true);
  EXPECT_EQ(Next().finished.result.failure, FailureClass::kPreempted);
}

TEST_F(SubprocessLimitsTest, DaemonsThatLeftTheProcessGroupDieWithTheirJob) {
  const JobOrder order = Train(
      "setsid sh -c 'echo $$; exec >/dev/null 2>&1; (setsid sleep 1001 &); exec sleep 1002' & "
      "while ! grep -q . " +
      temp_.File("work/logs/") + "* 2>/dev/null; do sleep 0.01; done; touch $2");
  executor_->Start(order);
  const JobResult result = Next().finished.result;
  ASSERT_TRUE(result.succeeded) << result.message;
  pid_t pid = 0;
  ASSERT_TRUE(
      absl::SimpleAtoi(absl::StripAsciiWhitespace(ReadArtifact(result, ArtifactKind::kLog)), &pid));
  WaitUntilGone(pid);
}

TEST_F(SubprocessLimitsTest, AStoppedJobIsHandedBackWithItsGroup) {
  const JobOrder order = Train("echo up; sleep 1000 & wait");
  executor_->Start(order);
  WaitForLog(order.id, "up\n");
  executor_->Stop(order.id, StopCause::kCanceled, false);
  executor_->Stop(order.id, StopCause::kPreempted, false);
  const JobResult result = Next().finished.result;
  EXPECT_EQ(result.failure, FailureClass::kPreempted);
  EXPECT_THAT(result.message, HasSubstr("canceled"));
  executor_->Stop(order.id, StopCause::kCanceled, true);  // changes nothing any more
}

TEST_F(SubprocessLimitsTest, AJobThatIgnoresTermIsKilledAtOnceWhenAsked) {
  const JobOrder order = Train("trap '' TERM; echo up; while :; do sleep 1; done");
  executor_->Start(order);
  WaitForLog(order.id, "up\n");
  executor_->Stop(order.id, StopCause::kPreempted, false);
  executor_->Stop(order.id, StopCause::kPreempted, true);
  EXPECT_EQ(Next().finished.result.failure, FailureClass::kPreempted);
}

TEST_F(SubprocessLimitsTest, AStopBeforeTheProcessStartsIsHeeded) {
  transfer_.Break(1'000'000);
  const JobOrder order = Train("touch $2");
  executor_->Start(order);
  executor_->Stop(order.id, StopCause::kFenced, false);
  const JobResult result = Next().finished.result;
  EXPECT_EQ(result.failure, FailureClass::kPreempted);
}

TEST_F(SubprocessLimitsTest, AFloodOfOutputIsCutInTheMiddle) {
  options_.log_bytes_max = 10'000;
  Reopen();
  const JobResult result =
      Run(Train("echo first; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo last; touch $2"));
  ASSERT_TRUE(result.succeeded) << result.message;
  const std::string log = ReadArtifact(result, ArtifactKind::kLog);
  EXPECT_LT(log.size(), 10'200u);
  EXPECT_TRUE(absl::StartsWith(log, "first\nxxx"));
  EXPECT_TRUE(absl::EndsWith(log, "xxx\nlast\n"));
  EXPECT_THAT(log, HasSubstr("[2990012 bytes left out: the log is limited to 10000 bytes]"));
}

TEST_F(SubprocessLimitsTest, AJobThatUsesMoreMemoryThanItAskedForIsKilled) {
  options_.memory_interval = absl::Milliseconds(10);
  Reopen();
  JobOrder order = Train("head -c 200000000 /dev/zero | tail -c 200000000 | sleep 1000");
  order.resources.memory_bytes = 50 << 20;
  const JobResult result = Run(order);
  EXPECT_EQ(FailureClassName(result.failure), "oom");
  EXPECT_GT(result.memory_bytes_peak, 50 << 20);
  EXPECT_THAT(result.message, HasSubstr("more than the 50 MiB"));
}

TEST_F(SubprocessLimitsTest, AJobThatFillsTheDiskIsStopped) {
  options_.memory_interval = absl::Milliseconds(10);
  options_.output_bytes_max = 4 << 20;
  Reopen();
  JobResult result = Run(Train("head -c 50000000 /dev/zero > $3/big; echo code $?; exit 1"));
  EXPECT_EQ(FailureClassName(result.failure), "failed");
  EXPECT_THAT(ReadArtifact(result, ArtifactKind::kLog), HasSubstr("File"));
  result = Run(
      Train("i=0; while :; do i=$((i+1)); head -c 1000000 /dev/zero > $3/$i; sleep 0.01; done"));
  EXPECT_EQ(FailureClassName(result.failure), "failed");
  EXPECT_THAT(result.message, HasSubstr("into its run directory"));
}

// On the disk it has nothing, as a tar it would have 1.8 MB.
TEST_F(SubprocessLimitsTest, AFolderOfFilesWithHolesIsNoSystem) {
  options_.output_bytes_max = 1 << 20;
  Reopen();
  JobResult result = Run(Train("mkdir $2; truncate -s 600000 $2/a $2/b $2/c"));
  EXPECT_EQ(FailureClassName(result.failure), "invalid-output");
  EXPECT_EQ(result.message, "{model} has more than this worker's output_bytes_max of 1 MiB");
  result = Run(Train("mkdir $2; truncate -s 600000 $2/a"));
  EXPECT_TRUE(result.succeeded) << result.message;
}

TEST_F(SubprocessLimitsTest, AttemptsBeyondTheSlotsWaitAndCanBeStopped) {
  options_.slots = 1;
  Reopen();
  const JobOrder first = Train("echo up; while ! test -e $3/go; do sleep 0.01; done; touch $2");
  const JobOrder second = Train("touch $2");
  const JobOrder third = Train("touch $2");
  executor_->Start(first);
  executor_->Start(second);
  executor_->Start(third);
  WaitForLog(first.id, "up\n");
  executor_->Stop(second.id, StopCause::kCanceled, false);
  ExecutorReport report = Next();
  EXPECT_EQ(report.finished.id, second.id);
  EXPECT_EQ(report.finished.result.failure, FailureClass::kPreempted);
  ASSERT_OK(WriteFileAtomically(temp_.File("work/runs/") + RunName(first.id) + "/output/go", ""));
  // The slot is free when the process has ended, before its outputs are taken in.
  const ExecutorReport one = Next();
  const ExecutorReport other = Next();
  EXPECT_THAT((std::vector<AttemptId>{one.finished.id, other.finished.id}),
              ::testing::UnorderedElementsAre(first.id, third.id));
  EXPECT_TRUE(one.finished.result.succeeded && other.finished.result.succeeded);
}

TEST_F(SubprocessLimitsTest, TheLogCanBeReadWhileTheJobRuns) {
  const JobOrder order = Train("echo one; sleep 1000");
  executor_->Start(order);
  WaitForLog(order.id, "one\n");
  EXPECT_EQ(executor_->ReadLog(order.id, 2, 100), "e\n");
  EXPECT_EQ(executor_->ReadLog(order.id, 4, 100), "");
  executor_->Stop(order.id, StopCause::kCanceled, true);
  Next();
}

TEST_F(SubprocessLimitsTest, WhatAJobReportsIsThereBeforeItsEndIsSeen) {
  const JobOrder order = Train(
      "echo 'concur-metric {\"step\": 1, \"value\": 2}'; echo other; "
      "printf 'concur-metric {\"step\": 2, \"name\": \"f1\", \"value\": 3}'");
  executor_->Start(order);
  Next();
  const std::vector<AttemptStep> steps = executor_->PollSteps();
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].id, order.id);
  EXPECT_EQ(steps[0].step, (ReportedStep{1, "value", 2}));
  EXPECT_EQ(steps[1].step, (ReportedStep{2, "f1", 3}));
}

// A progress bar on standard error cut the reports that were printed in pieces.
TEST_F(SubprocessLimitsTest, AReportInPiecesCountsBesideAProgressBar) {
  for (const auto& [reports, bars] : {std::pair(1, 2), std::pair(2, 1)}) {
    const JobOrder order = Train(absl::StrCat(
        "for i in 1 2 3; do printf 'concur-metric {\"step\": %d' $i >&", reports,
        "; printf '\\r%d/3 it/s' $i >&", bars, "; head -c 300000 /dev/zero | tr '\\0' . >&", bars,
        "; echo ', \"value\": 2}' >&", reports, "; done; echo end >&", bars, "; echo m > $2"));
    const JobResult result = Run(order);
    EXPECT_TRUE(result.succeeded) << result.message;
    EXPECT_THAT(executor_->ReadLog(order.id, 0, 2'000'000), HasSubstr("end\n"));
    std::vector<int64_t> found;
    for (const AttemptStep& step : executor_->PollSteps()) {
      found.push_back(step.step.step);
    }
    EXPECT_THAT(found, ElementsAre(1, 2, 3)) << reports;
  }
}

TEST_F(SubprocessLimitsTest, AJobMayCloseOneOfItsStreams) {
  for (const auto& [closed, open] : {std::pair(1, 2), std::pair(2, 1)}) {
    const JobOrder order = Train(
        absl::StrCat("exec ", closed, ">&-; echo 'concur-metric {\"step\": 1, \"value\": 2}' >&",
                     open, "; echo m > $2"));
    EXPECT_TRUE(Run(order).succeeded);
    EXPECT_EQ(executor_->PollSteps().size(), 1u);
    EXPECT_THAT(executor_->ReadLog(order.id, 0, 100), StartsWith("concur-metric {"));
  }
}

TEST_F(SubprocessLimitsTest, AMalformedReportIsWarnedOfInTheLog) {
  const JobResult result =
      Run(Train("echo 'concur-metric {\"step\": 1, \"loss\": 2}'; echo last words >&2; exit 3"));
  EXPECT_THAT(ReadArtifact(result, ArtifactKind::kLog),
              HasSubstr("no report: {\"step\": 1, \"loss\": 2}; expected {"));
  EXPECT_THAT(result.message, HasSubstr("last words"));
}

// A program whose output goes elsewhere could report nothing.
TEST_F(SubprocessLimitsTest, AFileTakesReportsLiveAndAtTheEnd) {
  const JobOrder order = Train(
      "exec >/dev/null 2>&1; echo '{\"step\": 1, \"value\": 2}' >> $CONCUR_METRICS_LINES; "
      "while [ ! -e go ]; do sleep 0.01; done; "
      "printf '{\"step\": 2, \"value\": 3}' >> $CONCUR_METRICS_LINES; echo m > $2");
  executor_->Start(order);
  std::vector<AttemptStep> steps;
  const absl::Time give_up = absl::Now() + kDeadline;
  while (steps.empty() && absl::Now() < give_up) {
    absl::SleepFor(absl::Milliseconds(1));
    steps = executor_->PollSteps();
  }
  ASSERT_EQ(steps.size(), 1u) << "while it runs";
  EXPECT_EQ(steps[0].step, (ReportedStep{1, "value", 2}));
  ASSERT_OK(WriteFileAtomically(temp_.File("work/runs/" + RunName(order.id) + "/go"), ""));
  EXPECT_TRUE(Next().finished.result.succeeded);
  steps = executor_->PollSteps();
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].step, (ReportedStep{2, "value", 3}));
}

TEST_F(SubprocessLimitsTest, WhatIsNoFileOfReportsIsNotRead) {
  for (const char* script : {"mkfifo $CONCUR_METRICS_LINES", "mkdir $CONCUR_METRICS_LINES",
                             "echo '{\"step\": 1, \"value\": 2}' > $3/x; "
                             "ln -s $3/x $CONCUR_METRICS_LINES"}) {
    executor_->Start(Train(absl::StrCat(script, "; echo m > $2")));
    EXPECT_TRUE(Next().finished.result.succeeded) << script;
    EXPECT_TRUE(executor_->PollSteps().empty()) << script;
  }
}

TEST_F(SubprocessLimitsTest, ANewWorkerKillsWhatACrashedOneLeftRunning) {
  const std::string runs = temp_.File("work/runs/s9-1-a1");
  executor_.reset();
  ASSERT_OK(MakeDirectories(runs));
  // As after a crash: a process of an attempt whose worker is gone; this one is not killed by the
  // death of its parent thread, as a child of a job would not be.
  process::Command command;
  command.program = "/bin/sh";
  command.argv = {"sh", "-c", "env -i sleep 1003 & echo $!; exec sleep 1004"};
  command.env = {absl::StrCat(process::kRunDirectoryVariable, "=", runs)};
  command.directory = runs;
  ASSERT_OK_AND_ASSIGN(const process::Process process, process::StartProcess(command));
  std::string text;
  const absl::Time deadline = absl::Now() + kDeadline;
  while (!absl::EndsWith(text, "\n")) {
    ASSERT_LT(absl::Now(), deadline);
    char buffer[64];
    const ssize_t got = read(process.output.get(), buffer, sizeof buffer);
    text.append(buffer, got > 0 ? static_cast<size_t>(got) : 0);
  }
  pid_t child = 0;
  ASSERT_TRUE(absl::SimpleAtoi(absl::StripAsciiWhitespace(text), &child));
  Reopen();
  EXPECT_TRUE(IsGone(process.pid));
  EXPECT_TRUE(IsGone(child));
  EXPECT_NE(access(runs.c_str(), F_OK), 0);
}

TEST_F(SubprocessLimitsTest, DestructionKillsWhatRuns) {
  const JobOrder order = Train("echo $$; sleep 1005");
  executor_->Start(order);
  const absl::Time deadline = absl::Now() + kDeadline;
  while (!absl::EndsWith(executor_->ReadLog(order.id, 0, 100), "\n")) {
    ASSERT_LT(absl::Now(), deadline);
    waker_.Wait(absl::Milliseconds(2));
  }
  pid_t pid = 0;
  ASSERT_TRUE(
      absl::SimpleAtoi(absl::StripAsciiWhitespace(executor_->ReadLog(order.id, 0, 100)), &pid));
  executor_.reset();
  WaitUntilGone(pid);
}

TEST_F(SubprocessLimitsTest, AQueueOfShortJobsEndsOneAfterTheOther) {
  options_.slots = 1;
  Reopen();
  const std::string lock = temp_.File("lock");
  std::vector<AttemptId> started;
  std::vector<AttemptId> ended;
  for (int i = 0; i < 50; ++i) {
    // mkdir fails while another job has the directory.
    const JobOrder order = Train(absl::StrCat("mkdir ", lock, " && rmdir ", lock, " && touch $2"));
    started.push_back(order.id);
    executor_->Start(order);
  }
  for (int i = 0; i < 50; ++i) {
    const ExecutorReport report = Next();
    EXPECT_TRUE(report.finished.result.succeeded) << report.finished.result.message;
    ended.push_back(report.finished.id);
  }
  EXPECT_THAT(ended, ::testing::UnorderedElementsAreArray(started));
}

TEST_F(SubprocessLimitsTest, LimitsHoldWithMoreJobsThanWatchers) {
  for (const int watchers : {1, 2, 3}) {
    options_.watchers = watchers;
    options_.grace = absl::Milliseconds(20);
    Reopen();
    JobOrder late = Train("exec sleep 1000");
    late.timeout = absl::Milliseconds(50);
    const JobOrder stopped = Train("echo running; exec sleep 1000");
    executor_->Start(late);
    executor_->Start(stopped);
    WaitForLog(stopped.id, "running");
    std::vector<AttemptId> started = {late.id, stopped.id};
    for (int i = 0; i < 20; ++i) {
      const JobOrder order = Train("head -c 100000 /dev/zero >$2; echo x");
      started.push_back(order.id);
      executor_->Start(order);
    }
    executor_->Stop(stopped.id, StopCause::kCanceled, /*at_once=*/false);
    std::vector<AttemptId> ended;
    for (size_t i = 0; i < started.size(); ++i) {
      const ExecutorReport report = Next();
      ended.push_back(report.finished.id);
      EXPECT_EQ(report.finished.result.failure,
                report.finished.id == late.id      ? FailureClass::kTimeout
                : report.finished.id == stopped.id ? FailureClass::kPreempted
                                                   : FailureClass::kNone)
          << report.finished.result.message;
    }
    EXPECT_THAT(ended, ::testing::UnorderedElementsAreArray(started));
  }
}

TEST_F(SubprocessLimitsTest, ATimeOutDoesNotWaitForResultsThatCannotBeStored) {
  options_.watchers = 3;
  Reopen();
  JobOrder late = Train("echo $$; exec sleep 1006");
  late.timeout = absl::Seconds(1);
  const std::string gate = temp_.File("gate");
  std::vector<JobOrder> quick;
  for (int i = 0; i < 6; ++i) {
    quick.push_back(Train(
        absl::StrCat("echo ready; until [ -e ", gate, " ]; do sleep 0.01; done; echo x >$2")));
    executor_->Start(quick.back());
  }
  for (const JobOrder& order : quick) {
    WaitForLog(order.id, "ready");
  }
  executor_->Start(late);
  const absl::Time deadline = absl::Now() + kDeadline;
  while (!absl::EndsWith(executor_->ReadLog(late.id, 0, 100), "\n")) {
    ASSERT_LT(absl::Now(), deadline);
    waker_.Wait(absl::Milliseconds(2));
  }
  pid_t pid = 0;
  ASSERT_TRUE(
      absl::SimpleAtoi(absl::StripAsciiWhitespace(executor_->ReadLog(late.id, 0, 100)), &pid));
  {
    // As a collection that goes through the store has it: nobody can put anything.
    const FileDescriptor lock(open(temp_.File("work/cache/lock").c_str(), O_RDWR | O_CLOEXEC));
    ASSERT_EQ(flock(lock.get(), LOCK_EX), 0);
    ASSERT_OK(WriteFileAtomically(gate, "", 0600));
    WaitUntilGone(pid);
  }
  for (size_t i = 0; i < quick.size() + 1; ++i) {
    const ExecutorReport report = Next();
    EXPECT_EQ(report.finished.result.failure,
              report.finished.id == late.id ? FailureClass::kTimeout : FailureClass::kNone)
        << report.finished.result.message;
  }
}

TEST_F(SubprocessLimitsTest, DestructionEndsAQueueOfShortJobs) {
  options_.slots = 1;
  Reopen();
  const std::string marks = temp_.File("marks");
  ASSERT_OK(MakeDirectories(marks));
  for (int i = 0; i < 1000; ++i) {
    executor_->Start(Train(absl::StrCat("echo $$ > ", marks, "/", i, "; touch $2")));
  }
  Next();
  executor_.reset();
  int begun = 0;
  for (const auto& mark : std::filesystem::directory_iterator(marks)) {
    ++begun;
    const absl::StatusOr<std::string> text = ReadFile(mark.path().string(), 100);
    pid_t pid = 0;
    if (text.ok() && absl::SimpleAtoi(absl::StripAsciiWhitespace(*text), &pid)) {
      WaitUntilGone(pid);
    }
  }
  EXPECT_LT(begun, 1000);
}

}  // namespace
}  // namespace concur::worker
