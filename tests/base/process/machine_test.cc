// SPDX-License-Identifier: Apache-2.0
#include "base/process/machine.h"

#include <string>

#include "base/file.h"
#include "tests/testing/test.h"

namespace concur::process {
namespace {

TEST(MachineTest, ControlGroupsLimitWhatTheHardwareHas) {
  TempDir temp;
  const Machine bare = DetectMachine(temp.path());
  EXPECT_GE(bare.cpu_millis, 1000);
  EXPECT_GT(bare.memory_bytes, 1 << 20);

  ASSERT_OK(MakeDirectories(temp.File("proc/self")));
  ASSERT_OK(MakeDirectories(temp.File("sys/fs/cgroup/pod/box")));
  ASSERT_OK(WriteFileAtomically(temp.File("proc/self/cgroup"), "0::/pod/box\n"));
  ASSERT_OK(WriteFileAtomically(temp.File("sys/fs/cgroup/pod/box/cpu.max"), "max 100000\n"));
  ASSERT_OK(WriteFileAtomically(temp.File("sys/fs/cgroup/pod/cpu.max"), "50000 100000\n"));
  ASSERT_OK(WriteFileAtomically(temp.File("sys/fs/cgroup/pod/box/memory.max"), "1048576\n"));
  ASSERT_OK(WriteFileAtomically(temp.File("sys/fs/cgroup/pod/memory.max"), "max\n"));
  const Machine limited = DetectMachine(temp.path());
  EXPECT_EQ(limited.cpu_millis, 500);
  EXPECT_EQ(limited.memory_bytes, 1 << 20);
}

TEST(MachineTest, VersionOneGroupsLimitToo) {
  TempDir temp;
  ASSERT_OK(MakeDirectories(temp.File("proc/self")));
  ASSERT_OK(MakeDirectories(temp.File("sys/fs/cgroup/cpu/a")));
  ASSERT_OK(MakeDirectories(temp.File("sys/fs/cgroup/memory")));
  ASSERT_OK(WriteFileAtomically(temp.File("proc/self/cgroup"), "4:memory:/\n3:cpu,cpuacct:/a\n"));
  ASSERT_OK(WriteFileAtomically(temp.File("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us"), "25000\n"));
  ASSERT_OK(WriteFileAtomically(temp.File("sys/fs/cgroup/cpu/a/cpu.cfs_period_us"), "100000\n"));
  ASSERT_OK(
      WriteFileAtomically(temp.File("sys/fs/cgroup/memory/memory.limit_in_bytes"), "2097152\n"));
  const Machine limited = DetectMachine(temp.path());
  EXPECT_EQ(limited.cpu_millis, 250);
  EXPECT_EQ(limited.memory_bytes, 2 << 20);
}

TEST(MachineTest, HiddenGpusAreNone) {
  EXPECT_THAT(VisibleGpus(""), IsEmpty());
  EXPECT_THAT(VisibleGpus("-1"), IsEmpty());
  EXPECT_THAT(VisibleGpus("NoDevFiles"), IsEmpty());
  EXPECT_THAT(VisibleGpus("0,2,-1,3"), ElementsAre("0", "2"));
  EXPECT_THAT(VisibleGpus("GPU-8932f937,MIG-1"), ElementsAre("GPU-8932f937", "MIG-1"));
}

}  // namespace
}  // namespace concur::process
