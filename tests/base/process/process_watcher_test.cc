// SPDX-License-Identifier: Apache-2.0
// Events that come to the watcher while it is busy with the end of another process.
#include "base/process/process_watcher.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/file.h"
#include "base/process/process.h"
#include "base/thread_pool.h"
#include "tests/testing/test.h"

namespace concur::process {
namespace {

class ProcessWatcherTest : public ::testing::Test {
 protected:
  // On a thread that lives as long as the processes do, and is not the first: the children of that
  // one are taken for orphans.
  Process Start(const std::string& script) {
    std::promise<Process> started;
    pool_.Submit([&] {
      Command command;
      command.program = "/bin/sh";
      command.argv = {"sh", "-c", script};
      command.env = {"PATH=/usr/bin:/bin"};
      command.directory = dir_.path();
      absl::StatusOr<Process> process = StartProcess(command);
      EXPECT_OK(process.status());
      started.set_value(*std::move(process));
    });
    return started.get_future().get();
  }
  WatchOptions Options() const {
    WatchOptions options;
    options.grace = absl::Seconds(60);
    options.log_path = dir_.File("log");
    options.log_bytes_max = 1000;
    options.run_directory = dir_.path();
    return options;
  }
  // Runs `work` on the watcher's thread, at the end of a process that does nothing.
  void AtAnEnd(std::function<void()> work) {
    watcher_.Watch(++number_, Start("exit 0"), Options(),
                   [work = std::move(work)](ProcessEnd) { work(); });
  }
  // Adds a process and returns its number.
  uint64_t Watch(Process process, const WatchOptions& options, std::promise<ProcessEnd>& end) {
    watcher_.Watch(++number_, std::move(process), options,
                   [&end](ProcessEnd ended) { end.set_value(std::move(ended)); });
    return number_;
  }

  TempDir dir_;
  ThreadPool pool_{1};
  uint64_t number_ = 0;
  ProcessTable table_;
  ProcessWatcher watcher_{absl::Milliseconds(50), table_};
};

TEST_F(ProcessWatcherTest, AProcessThatIsAddedAndStoppedMeanwhileIsStopped) {
  Process process = Start("exec sleep 1000");
  std::promise<ProcessEnd> promise;
  AtAnEnd([&] {
    const uint64_t number = Watch(std::move(process), Options(), promise);
    watcher_.Stop(number, /*at_once=*/false);
  });
  const ProcessEnd end = promise.get_future().get();
  EXPECT_EQ(end.killed_for, KillCause::kStop);
  EXPECT_TRUE(WIFSIGNALED(end.wait_status) && WTERMSIG(end.wait_status) == SIGTERM);
}

TEST_F(ProcessWatcherTest, NobodyIsWokenBecauseAProcessHasClosedItsOutput) {
  const Process process = Start("exec >&- 2>&-; kill -STOP $$");
  int status = 0;
  ASSERT_EQ(waitpid(process.pid, &status, WUNTRACED), process.pid);
  ASSERT_TRUE(WIFSTOPPED(status));
  pollfd output{process.output.get(), POLLIN, 0};
  EXPECT_EQ(poll(&output, 1, 0), 0);
  kill(process.pid, SIGKILL);
  EXPECT_EQ(waitpid(process.pid, &status, 0), process.pid);
}

// It moves into its child's group, and says so by a file with the child's number.
constexpr char kLeavesItsGroup[] = R"(exec python3 -c '
import os, signal
ready, tell = os.pipe()
child = os.fork()
if child == 0:
    os.setpgid(0, 0)
    os.write(tell, b"x")
else:
    os.read(ready, 1)
    os.setpgid(0, child)
    with open("unfinished", "w") as file:
        file.write(str(child))
    os.rename("unfinished", "moved")
signal.pause()
')";

TEST_F(ProcessWatcherTest, AProcessThatHasLeftItsGroupIsKilled) {
  Process process = Start(kLeavesItsGroup);
  const pid_t pid = process.pid;
  std::promise<ProcessEnd> promise;
  const uint64_t number = Watch(std::move(process), Options(), promise);
  absl::StatusOr<std::string> child = ReadFile(dir_.File("moved"));
  const absl::Time give_up = absl::Now() + absl::Seconds(60);
  while (!child.ok() && absl::Now() < give_up) {
    std::this_thread::yield();
    child = ReadFile(dir_.File("moved"));
  }
  EXPECT_OK(child.status());
  watcher_.Stop(number, /*at_once=*/true);
  std::future<ProcessEnd> end = promise.get_future();
  const bool has_ended = end.wait_for(std::chrono::seconds(30)) == std::future_status::ready;
  EXPECT_TRUE(has_ended);
  if (!has_ended) {
    kill(pid, SIGKILL);
  }
  EXPECT_EQ(end.get().killed_for, KillCause::kStop);
  int orphan = 0;
  if (absl::SimpleAtoi(child.value_or(""), &orphan)) {
    kill(orphan, SIGKILL);
  }
}

TEST_F(ProcessWatcherTest, AProcessThatEndedBeforeItWasStoppedWasNotStopped) {
  Process process = Start("exit 3");
  std::promise<ProcessEnd> promise;
  AtAnEnd([&] {
    siginfo_t info{};
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(process.pid), &info, WEXITED | WNOWAIT), 0);
    const uint64_t number = Watch(std::move(process), Options(), promise);
    watcher_.Stop(number, /*at_once=*/true);
  });
  const ProcessEnd end = promise.get_future().get();
  EXPECT_EQ(end.killed_for, KillCause::kNone);
  EXPECT_TRUE(WIFEXITED(end.wait_status) && WEXITSTATUS(end.wait_status) == 3);
}

TEST_F(ProcessWatcherTest, ATimeOutHoldsForAProcessThatIsAddedMeanwhile) {
  Process process = Start("exec sleep 1000");
  WatchOptions options = Options();
  options.timeout = absl::Milliseconds(20);
  std::promise<ProcessEnd> promise;
  AtAnEnd([&] { Watch(std::move(process), options, promise); });
  EXPECT_EQ(promise.get_future().get().killed_for, KillCause::kTimeout);
}

TEST_F(ProcessWatcherTest, ATimeOutHoldsForAProcessThatIsAddedToAnIdleWatcher) {
  std::promise<ProcessEnd> promise;
  WatchOptions options = Options();
  options.timeout = absl::Milliseconds(20);
  Watch(Start("exec sleep 1000"), options, promise);
  EXPECT_EQ(promise.get_future().get().killed_for, KillCause::kTimeout);
}

TEST_F(ProcessWatcherTest, OutputOfManyProcessesIsWhole) {
  for (int round = 0; round < 50; ++round) {
    std::promise<ProcessEnd> first;
    std::promise<ProcessEnd> second;
    WatchOptions options = Options();
    options.log_path = dir_.File("a");
    Watch(Start("echo one; exec >&- 2>&-; exit 0"), options, first);
    options.log_path = dir_.File("b");
    Watch(Start("echo two"), options, second);
    EXPECT_EQ(first.get_future().get().log_last, "one\n");
    EXPECT_EQ(second.get_future().get().log_last, "two\n");
  }
}

TEST_F(ProcessWatcherTest, WhatAClosedWatcherGetsIsKilledWithIt) {
  Process process = Start("exec sleep 1000");
  const pid_t pid = process.pid;
  {
    ProcessWatcher closed(absl::Milliseconds(50), table_);
    closed.Close();
    closed.Watch(1, std::move(process), Options(), [](ProcessEnd) { FAIL() << "nobody waits"; });
    EXPECT_EQ(kill(pid, 0), 0);
  }
  EXPECT_EQ(waitpid(pid, nullptr, 0), -1) << "it was waited for";
}

TEST(ProcessTableTest, ALookIsSharedUntilItIsTooOld) {
  ProcessTable table;
  const auto first = table.Recent(absl::Hours(1));
  EXPECT_EQ(table.Recent(absl::Hours(1)), first);
  const auto second = table.Recent(-absl::Nanoseconds(1));
  EXPECT_NE(second, first);
  EXPECT_EQ(table.Recent(absl::Hours(1)), second);
  const auto is_own = [](const ProcessInfo& process) { return process.pid == getpid(); };
  EXPECT_TRUE(std::any_of(second->begin(), second->end(), is_own));
}

}  // namespace
}  // namespace concur::process
