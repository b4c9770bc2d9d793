// SPDX-License-Identifier: Apache-2.0
// Where control groups are found, and what they are from one job to the next. With those of this
// machine, if it gives any to this user.
#include "base/process/cgroup.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "base/process/process.h"
#include "base/thread_pool.h"
#include "tests/testing/test.h"

namespace concur::process {
namespace {

MATCHER_P2(IsGroup, controller, directory, "") {
  *result_listener << arg.controller << " " << arg.directory;
  return arg.controller == controller && arg.directory == directory;
}

class OwnGroupsTest : public ::testing::Test {
 protected:
  std::vector<OwnGroup> Find(const std::string& mounts, const std::string& groups) {
    CONCUR_CHECK_OK(MakeDirectories(dir_.File("proc/self")));
    CONCUR_CHECK_OK(WriteFileAtomically(dir_.File("proc/self/mountinfo"), mounts));
    CONCUR_CHECK_OK(WriteFileAtomically(dir_.File("proc/self/cgroup"), groups));
    return FindOwnGroups(dir_.path());
  }
  std::string At(const std::string& path) const { return dir_.path() + path; }

  TempDir dir_;
};

TEST_F(OwnGroupsTest, TheUnifiedHierarchyIsFoundUnderItsPath) {
  EXPECT_THAT(Find("25 1 0:22 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n",
                   "0::/system.slice/concur-worker.service\n"),
              ElementsAre(IsGroup("", At("/sys/fs/cgroup/system.slice/concur-worker.service"))));
}

TEST_F(OwnGroupsTest, ControllersThatShareAHierarchyShareADirectory) {
  EXPECT_THAT(Find("30 25 0:26 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
                   "31 25 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
                   "5:cpu,cpuacct:/\n4:memory:/a/b\n"),
              ElementsAre(IsGroup("cpu", At("/sys/fs/cgroup/cpu,cpuacct")),
                          IsGroup("cpuacct", At("/sys/fs/cgroup/cpu,cpuacct")),
                          IsGroup("memory", At("/sys/fs/cgroup/memory/a/b"))));
}

TEST_F(OwnGroupsTest, AContainerThatIsShownTheMachinesPathsFindsItsMount) {
  EXPECT_THAT(Find("31 25 0:27 /docker/c1 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
                   "4:memory:/docker/c1/job\n"),
              ElementsAre(IsGroup("memory", At("/sys/fs/cgroup/memory/job"))));
  EXPECT_THAT(Find("31 25 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "0::/../../other\n"),
              ElementsAre(IsGroup("", At("/sys/fs/cgroup"))));
}

TEST_F(OwnGroupsTest, BrokenLinesAreLeftOut) {
  EXPECT_THAT(Find("31 25\n\n1 2 3 - cgroup2\n - \n", "x\n0::/\n4:memory\n"), IsEmpty());
}

TEST_F(OwnGroupsTest, WithoutGroupsTheReasonIsTold) {
  Find("", "0::/\n");
  EXPECT_THAT(
      Cgroups::Open({.work_directory = dir_.path(), .root = dir_.path()}),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("no control groups are mounted")));
}

// Both versions, each where this machine has it.
class CgroupsTest : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    auto opened = Cgroups::Open(Options());
    if (!opened.ok()) {
      GTEST_SKIP() << "no control groups for this user: " << opened.status().message();
    }
    cgroups_ = *std::move(opened);
    if (cgroups_->version() != GetParam()) {
      cgroups_.reset();
      GTEST_SKIP() << "this machine has control groups of another version only";
    }
  }
  Cgroups::Options Options() const {
    return {.work_directory = dir_.path(), .prefer_v2 = GetParam() == 2};
  }
  // On a thread that lives as long as the processes do.
  Process Start(const std::string& script, const JobGroup& group) {
    std::promise<Process> started;
    pool_.Submit([&] {
      Command command;
      command.program = "/bin/sh";
      command.argv = {"sh", "-c", script};
      command.env = {"PATH=/usr/bin:/bin"};
      command.directory = dir_.path();
      command.group = &group;
      absl::StatusOr<Process> process = StartProcess(command);
      CONCUR_CHECK_OK(process.status());
      started.set_value(*std::move(process));
    });
    return started.get_future().get();
  }
  static int Wait(const Process& process) {
    int status = 0;
    while (waitpid(process.pid, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
  }
  std::string Recorded() const {
    const absl::StatusOr<std::string> text = ReadFile(dir_.File("control-groups"), 4096);
    return text.ok() ? text->substr(0, text->find('\n')) : "";
  }

  TempDir dir_;
  ThreadPool pool_{1};
  std::unique_ptr<Cgroups> cgroups_;
};

INSTANTIATE_TEST_SUITE_P(Versions, CgroupsTest, ::testing::Values(1, 2));

TEST_P(CgroupsTest, AProcessBeginsInItsGroup) {
  ASSERT_OK_AND_ASSIGN(const JobGroupPtr group, cgroups_->Take({}));
  const Process process = Start("exec sleep 1000", *group);
  EXPECT_THAT(group->Pids(), ElementsAre(process.pid));
  EXPECT_TRUE(group->Kill());
  EXPECT_THAT(group->Pids(), IsEmpty());
  EXPECT_EQ(Wait(process), SIGKILL);
}

TEST_P(CgroupsTest, AGroupIsUsedAgainForTheNextJob) {
  for (int i = 0; i < 5; ++i) {
    ASSERT_OK_AND_ASSIGN(const JobGroupPtr group, cgroups_->Take({.memory_bytes_max = 64 << 20}));
    EXPECT_EQ(Wait(Start("exit 3", *group)), 3 << 8);
  }
  if (GetParam() == 1) {
    EXPECT_EQ(cgroups_->made_for_test(), 1u);
  }
}

TEST_P(CgroupsTest, WhatIsGivenBackFullIsEmptied) {
  Process process;
  {
    ASSERT_OK_AND_ASSIGN(const JobGroupPtr group, cgroups_->Take({}));
    process = Start("trap '' TERM; while :; do sleep 1; done", *group);
  }
  EXPECT_EQ(Wait(process), SIGKILL);
}

TEST_P(CgroupsTest, WhatForksAllTheTimeIsKilledWhole) {
  // A few processes that replace themselves by children again and again: never more of them.
  ASSERT_OK_AND_ASSIGN(const JobGroupPtr group, cgroups_->Take({.processes_max = 200}));
  const std::string again = dir_.File("again");
  ASSERT_OK(WriteFileAtomically(again, "exec >/dev/null 2>&1\n/bin/sh $0 &\nexit 0\n"));
  const Process process = Start(
      absl::StrCat("for i in 1 2 3 4; do /bin/sh ", again, " & done; exec sleep 1000"), *group);
  while (group->Pids().size() < 3) {
  }
  EXPECT_TRUE(group->Kill());
  EXPECT_THAT(group->Pids(), IsEmpty());
  EXPECT_EQ(Wait(process), SIGKILL);
}

TEST_P(CgroupsTest, TheNextWorkerEndsWhatACrashedOneLeft) {
  const std::string directory = Recorded();
  ASSERT_THAT(directory, HasSubstr("/concur-"));
  ASSERT_OK_AND_ASSIGN(JobGroupPtr group, cgroups_->Take({}));
  const Process process = Start("exec sleep 1000", *group);
  // As after a crash: nobody gives anything back.
  ASSERT_OK_AND_ASSIGN(const auto next, Cgroups::Open(Options()));
  EXPECT_EQ(Wait(process), SIGKILL);
  ASSERT_OK(next->Take({}).status());
  group.reset();
}

TEST_P(CgroupsTest, NothingIsLeftAtTheEnd) {
  const std::string directory = Recorded();
  ASSERT_OK(cgroups_->Take({}).status());
  EXPECT_TRUE(std::filesystem::exists(directory));
  cgroups_.reset();
  EXPECT_FALSE(std::filesystem::exists(directory));
  EXPECT_EQ(Recorded(), "");
}

TEST_P(CgroupsTest, WhatMovedIntoASpareGroupEndsWithTheWorker) {
  const absl::StatusOr<std::string> record = ReadFile(dir_.File("control-groups"), 4096);
  ASSERT_OK(record);
  ASSERT_OK_AND_ASSIGN(JobGroupPtr spare, cgroups_->Take({}));
  ASSERT_OK_AND_ASSIGN(JobGroupPtr own, cgroups_->Take({}));
  spare.reset();
  std::string script;
  std::string last;
  for (const absl::string_view directory : absl::StrSplit(*record, '\n', absl::SkipEmpty())) {
    last = absl::StrCat(directory, "/job-1/cgroup.procs");
    absl::StrAppend(&script, "echo $$ > ", last, " || exit 1; ");
  }
  const Process process = Start(script + "exec sleep 1000", *own);
  absl::StatusOr<std::string> moved = "";
  while (moved.ok() && moved->empty() && waitpid(process.pid, nullptr, WNOHANG) == 0) {
    moved = ReadFile(last, 4096);
  }
  ASSERT_OK(moved);
  EXPECT_NE(*moved, "") << "it could not move";
  own.reset();
  cgroups_.reset();
  EXPECT_EQ(Recorded(), "") << "its group is still used";
  kill(process.pid, SIGKILL);
  Wait(process);
}

TEST_P(CgroupsTest, OnlyWhatBearsItsMarkIsEndedAtAStart) {
  ASSERT_OK_AND_ASSIGN(const JobGroupPtr group, cgroups_->Take({}));
  const Process process = Start("exec sleep 1000", *group);
  const std::string parent = Recorded();
  TempDir other;
  // Another worker's file that names this one's groups.
  ASSERT_OK(WriteFileAtomically(other.File("control-groups"), parent + "\n"));
  ASSERT_OK(Cgroups::Open({.work_directory = other.path(), .prefer_v2 = GetParam() == 2}).status());
  EXPECT_THAT(group->Pids(), ElementsAre(process.pid));
  group->Kill();
  Wait(process);
}

// With the weight of one process for all jobs together, short jobs took three times as long beside
// a compiler.
TEST_P(CgroupsTest, AllJobsTogetherWeighAsMuchAsTheMachinesCpus) {
  ASSERT_OK_AND_ASSIGN(const std::string record, ReadFile(dir_.File("control-groups"), 4096));
  for (const std::string& directory :
       std::vector<std::string>(absl::StrSplit(record, '\n', absl::SkipEmpty()))) {
    const absl::StatusOr<std::string> shares = ReadFile(directory + "/cpu.shares", 100);
    if (shares.ok()) {
      EXPECT_EQ(*shares, absl::StrCat(1024 * sysconf(_SC_NPROCESSORS_ONLN), "\n"));
      return;
    }
  }
  GTEST_SKIP() << "this machine's groups do not control CPUs by shares";
}

TEST_P(CgroupsTest, NamesSayWhatIsControlled) {
  EXPECT_EQ(cgroups_->Names()[0], absl::StrCat("cgroup-v", GetParam()));
  EXPECT_THAT(cgroups_->Names(), Not(Contains("shm")));
}

TEST_P(CgroupsTest, MemoryIsCountedAndThePeakBeginsAnew) {
  ASSERT_OK_AND_ASSIGN(JobGroupPtr group, cgroups_->Take({.memory_bytes_max = 256 << 20}));
  if (!group->has_memory()) {
    GTEST_SKIP() << "this hierarchy does not control memory";
  }
  // A shell variable of some 40 MB.
  Wait(Start("x=$(head -c 40000000 /dev/zero | tr '\\0' x); test ${#x} = 40000000", *group));
  EXPECT_GT(group->MemoryPeak(), 35 << 20);
  EXPECT_EQ(group->OomKills(), 0);
  EXPECT_FALSE(group->ReachedMemoryMax());
  // As it is used for a job: what was read once nothing runs in it is read once, and is not the
  // next job's.
  EXPECT_TRUE(group->Kill());
  const int64_t peak = group->MemoryPeak();
  EXPECT_GT(peak, 35 << 20);
  EXPECT_EQ(group->MemoryPeak(), peak);
  EXPECT_EQ(group->OomKills(), 0);
  group.reset();
  ASSERT_OK_AND_ASSIGN(group, cgroups_->Take({.memory_bytes_max = 256 << 20}));
  EXPECT_EQ(cgroups_->made_for_test(), 1U);
  Wait(Start("exit 0", *group));
  EXPECT_LT(group->MemoryPeak(), 20 << 20);
  EXPECT_TRUE(group->Kill());
  EXPECT_LT(group->MemoryPeak(), 20 << 20);
}

TEST_P(CgroupsTest, WhatRunsInAGroupThatIsUsedAgainIsKilled) {
  ASSERT_OK_AND_ASSIGN(JobGroupPtr group, cgroups_->Take({}));
  Wait(Start("exit 0", *group));
  EXPECT_TRUE(group->Kill());
  group.reset();
  ASSERT_OK_AND_ASSIGN(group, cgroups_->Take({}));
  const Process process = Start("exec sleep 1000", *group);
  EXPECT_TRUE(group->Kill());
  EXPECT_EQ(Wait(process), SIGKILL);
  EXPECT_THAT(group->Pids(), IsEmpty());
}

TEST_P(CgroupsTest, PageCacheIsNoPeak) {
  ASSERT_OK_AND_ASSIGN(const JobGroupPtr group, cgroups_->Take({.memory_bytes_max = 256 << 20}));
  if (!group->has_memory()) {
    GTEST_SKIP() << "this hierarchy does not control memory";
  }
  Wait(Start("head -c 80000000 /dev/zero > file", *group));
  EXPECT_LT(group->MemoryPeak(), 30 << 20);
}

}  // namespace
}  // namespace concur::process
