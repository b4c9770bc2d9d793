// SPDX-License-Identifier: Apache-2.0
// Jobs that try to take more than they asked for, or to outlive their end, under each kind of
// containment that this machine has.
#include "base/process/containment.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "base/file.h"
#include "base/process/cgroup.h"
#include "base/process/process.h"
#include "tests/testing/test.h"
#include "tests/worker/execution/executor_fixture.h"
#include "worker/execution/subprocess_executor.h"

namespace concur::worker {
namespace {

enum class Kind { kProcesses, kVersion1, kVersion2 };

std::string KindName(const ::testing::TestParamInfo<Kind>& kind) {
  return kind.param == Kind::kProcesses  ? "Processes"
         : kind.param == Kind::kVersion1 ? "CgroupV1"
                                         : "CgroupV2";
}

class ContainmentTest : public ExecutorFixture, public ::testing::WithParamInterface<Kind> {
 protected:
  void SetUp() override {
    if (GetParam() != Kind::kProcesses) {
      ASSERT_OK(MakeDirectories(temp_.File("work"), 0700));
      const bool v2 = GetParam() == Kind::kVersion2;
      auto opened = process::Cgroups::Open({.work_directory = temp_.File("work"), .prefer_v2 = v2});
      if (!opened.ok()) {
        GTEST_SKIP() << "no control groups for this user: " << opened.status().message();
      }
      cgroups_ = *std::move(opened);
      if (cgroups_->version() != (v2 ? 2 : 1)) {
        GTEST_SKIP() << "this machine has control groups of another version only";
      }
      options_.cgroups = cgroups_.get();
      for (const std::string& name : cgroups_->Names()) {
        counts_memory_ = counts_memory_ || name == "memory";
        counts_processes_ = counts_processes_ || name == "pids";
      }
    }
    options_.memory_interval = absl::Milliseconds(10);
    options_.processes_max = 200;
    Reopen();
  }
  void TearDown() override {
    executor_.reset();
    cgroups_.reset();
  }

  // The number that a job's process wrote into `file`.
  static pid_t PidIn(const std::string& file) {
    const absl::StatusOr<std::string> text = ReadFile(file, 100);
    pid_t pid = 0;
    CONCUR_CHECK(text.ok() && absl::SimpleAtoi(absl::StripAsciiWhitespace(*text), &pid));
    return pid;
  }

  std::unique_ptr<process::Cgroups> cgroups_;
  bool counts_memory_ = false;
  bool counts_processes_ = false;
};

INSTANTIATE_TEST_SUITE_P(Kinds, ContainmentTest,
                         ::testing::Values(Kind::kProcesses, Kind::kVersion1, Kind::kVersion2),
                         KindName);

TEST_P(ContainmentTest, AChildInASessionOfItsOwnEndsWithItsJob) {
  const std::string pid = temp_.File("pid");
  const JobResult result = Run(Train(absl::StrCat(
      "setsid sh -c 'echo $$ >", pid, "; touch ", pid, ".set; exec sleep 1000' >/dev/null 2>&1 & ",
      "until [ -e ", pid, ".set ]; do sleep 0.01; done; touch $2")));
  ASSERT_TRUE(result.succeeded) << result.message;
  WaitUntilGone(PidIn(pid));
}

// A double-forked child without its job's environment or directory outlived job and worker.
TEST_P(ContainmentTest, ADoubleForkWithAClearedEnvironmentEndsWithItsJob) {
  if (GetParam() == Kind::kProcesses) {
    GTEST_SKIP() << "without control groups nothing tells whose process that is";
  }
  const std::string pid = temp_.File("pid");
  const JobResult result = Run(Train(absl::StrCat(
      "(cd / && setsid env -i /bin/sh -c '(echo $$ >", pid, "; /bin/touch ", pid,
      ".set; exec /bin/sleep 1000) & exit 0' >/dev/null 2>&1 </dev/null &) ; until [ -e ", pid,
      ".set ]; do sleep 0.01; done; touch $2")));
  ASSERT_TRUE(result.succeeded) << result.message;
  WaitUntilGone(PidIn(pid));
}

// A child in a session of its own took 913 MiB under a limit of 400 MiB: the job succeeded.
TEST_P(ContainmentTest, MemoryOfAChildInASessionOfItsOwnCounts) {
  JobOrder order = Train(
      "setsid sh -c 'x=$(head -c 150000000 /dev/zero | tr \"\\0\" x); sleep 1000' & wait; touch "
      "$2");
  order.resources.memory_bytes = 60 << 20;
  const JobResult result = Run(order);
  EXPECT_EQ(FailureClassName(result.failure), "oom") << result.message;
  EXPECT_THAT(result.message, HasSubstr("more than the 60 MiB that it asked for"));
  EXPECT_GT(result.memory_bytes_peak, 40 << 20);
}

// A hog reached 613 MiB under 400 MiB before it was seen.
TEST_P(ContainmentTest, AHogStaysWithinItsLimitUntilItIsKilled) {
  if (!counts_memory_) {
    GTEST_SKIP() << "without a controller of memory a hog is seen when it is next measured";
  }
  JobOrder order = Train("x=$(head -c 300000000 /dev/zero | tr '\\0' x); touch $2");
  order.resources.memory_bytes = 60 << 20;
  const JobResult result = Run(order);
  EXPECT_EQ(FailureClassName(result.failure), "oom") << result.message;
  EXPECT_LE(result.memory_bytes_peak, 60 << 20);
  EXPECT_GT(result.memory_bytes_peak, 40 << 20);
}

// 700 MB of shared memory were nobody's.
TEST_P(ContainmentTest, SharedMemoryCounts) {
  if (!counts_memory_) {
    GTEST_SKIP() << "without a controller of memory, files in /dev/shm are nobody's";
  }
  const std::string file = absl::StrCat("/dev/shm/concur-test-", getpid());
  JobOrder order =
      Train(absl::StrCat("head -c 150000000 /dev/zero > ", file, "; echo $?; sleep 1000"));
  order.resources.memory_bytes = 60 << 20;
  const JobResult result = Run(order);
  unlink(file.c_str());
  EXPECT_EQ(FailureClassName(result.failure), "oom") << result.message;
}

TEST_P(ContainmentTest, WhatAJobLeavesInSharedMemoryIsNotTheNextJobs) {
  if (!counts_memory_) {
    GTEST_SKIP() << "without a controller of memory, files in /dev/shm are nobody's";
  }
  const std::string file = absl::StrCat("/dev/shm/concur-test-", getpid());
  JobOrder first = Train(absl::StrCat("head -c 40000000 /dev/zero > ", file, "; touch $2"));
  first.resources.memory_bytes = 60 << 20;
  EXPECT_TRUE(Run(first).succeeded);
  JobOrder second = Train("x=$(head -c 12000000 /dev/zero | tr '\\0' x); touch $2");
  second.resources.memory_bytes = 60 << 20;
  const JobResult result = Run(second);
  unlink(file.c_str());
  EXPECT_TRUE(result.succeeded) << result.message;
  EXPECT_LT(result.memory_bytes_peak, 50 << 20);
}

TEST_P(ContainmentTest, AForkBombEndsAtItsLimitOfProcesses) {
  if (!counts_processes_) {
    GTEST_SKIP() << "without a controller of pids nothing limits processes";
  }
  const JobResult result =
      Run(Train("i=0; while [ $i -lt 400 ]; do sleep 1000 & i=$((i+1)); done; touch $2"));
  EXPECT_FALSE(result.succeeded);
  EXPECT_THAT(ReadArtifact(result, ArtifactKind::kLog), HasSubstr("fork"));
}

TEST_P(ContainmentTest, ATimeOutEndsWhatLeftTheJob) {
  options_.grace = absl::Milliseconds(50);
  Reopen();
  const std::string pid = temp_.File("pid");
  JobOrder order = Train(absl::StrCat("setsid sh -c 'echo $$ >", pid,
                                      "; exec sleep 1000' >/dev/null 2>&1 & wait; touch $2"));
  order.timeout = absl::Milliseconds(500);
  EXPECT_EQ(FailureClassName(Run(order).failure), "timeout");
  WaitUntilGone(PidIn(pid));
}

TEST_P(ContainmentTest, AKillByTheJobItselfIsNotTakenForLackOfMemory) {
  JobOrder order = Train("kill -9 $$");
  order.resources.memory_bytes = 1 << 30;
  const JobResult result = Run(order);
  EXPECT_EQ(FailureClassName(result.failure), "failed") << result.message;
}

// A hundred jobs with eight descriptors each for their groups were all that 1024 had room for.
TEST_F(ExecutorFixture, TheWorkerMayOpenMoreFilesAndItsJobsMayNot) {
  JobOrder order = Train("ulimit -Sn; ulimit -Hn; touch $2");
  const std::string before = ReadArtifact(Run(order), ArtifactKind::kLog);
  rlimit own{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &own), 0);
  process::RaiseOpenFiles();
  rlimit raised{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &raised), 0);
  EXPECT_GE(raised.rlim_cur, std::min<rlim_t>(own.rlim_max, 65'536));
  order.id.attempt = {2};
  EXPECT_EQ(ReadArtifact(Run(order), ArtifactKind::kLog), before);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &own), 0);
}

class PrivateTmpTest : public ExecutorFixture {
 protected:
  void SetUp() override {
    const std::string here = std::filesystem::current_path().string();
    if (const absl::Status status = process::TryPrivateFiles(here); !status.ok()) {
      GTEST_SKIP() << "no namespaces for this user: " << status.message();
    }
    options_.private_tmp = true;
    // Outside of what is hidden.
    options_.run_directory = absl::StrCat(here, "/private-tmp-", getpid());
    ASSERT_OK(MakeDirectories(options_.run_directory, 0700));
    Reopen();
  }
  void TearDown() override {
    executor_.reset();
    if (!options_.run_directory.empty()) {
      std::filesystem::remove_all(options_.run_directory);
    }
  }
};

TEST_F(PrivateTmpTest, TemporaryFilesAndSharedMemoryAreTheJobsOwn) {
  const std::string name = absl::StrCat("concur-own-", getpid());
  const JobResult result = Run(
      Train(absl::StrCat("for d in /tmp /var/tmp /dev/shm; do echo x > $d/", name,
                         " || exit 1; done; ls $TMPDIR; ls /dev/shm | wc -l; id -u; touch $2")));
  ASSERT_TRUE(result.succeeded) << result.message;
  EXPECT_EQ(ReadArtifact(result, ArtifactKind::kLog), absl::StrCat(name, "\n1\n", geteuid(), "\n"));
  for (const char* directory : {"/tmp/", "/var/tmp/", "/dev/shm/"}) {
    EXPECT_NE(access((directory + name).c_str(), F_OK), 0) << directory;
  }
}

TEST_F(PrivateTmpTest, SharedMemoryHasTheJobsLimit) {
  JobOrder order = Train("head -c 30000000 /dev/zero > /dev/shm/x; echo $?; touch $2");
  order.resources.memory_bytes = 10 << 20;
  const JobResult result = Run(order);
  EXPECT_THAT(ReadArtifact(result, ArtifactKind::kLog), HasSubstr("No space left"));
}

TEST(SetUpContainmentTest, ProcessesAloneAreAWish) {
  TempDir dir;
  ASSERT_OK_AND_ASSIGN(const process::Containment made,
                       process::SetUpContainment({.groups = false, .work_directory = dir.path()}));
  EXPECT_EQ(made.cgroups, nullptr);
  EXPECT_THAT(made.names, ElementsAre("processes"));
}

TEST(SetUpContainmentTest, APrivateTmpThatWouldHideTheWorkDirectoryIsRefused) {
  TempDir dir;
  EXPECT_THAT(
      process::SetUpContainment(
          {.groups = false, .private_tmp = true, .work_directory = "/var/tmp/w"}),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("choose another work_directory")));
}

}  // namespace
}  // namespace concur::worker
