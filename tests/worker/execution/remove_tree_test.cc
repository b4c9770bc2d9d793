// SPDX-License-Identifier: Apache-2.0
// Removing what jobs left, and what cannot be removed.
#include "base/process/remove_tree.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "tests/testing/mount.h"
#include "tests/testing/test.h"
#include "tests/worker/execution/executor_fixture.h"

namespace concur::worker {
namespace {

using testing::Mount;

bool Exists(const std::string& path) {
  return std::filesystem::exists(std::filesystem::symlink_status(path));
}

TEST(RemoveTreeTest, GoesIntoWhatWasClosedAndDoesNotFollowLinks) {
  const TempDir temp;
  const std::string tree = temp.File("tree");
  std::filesystem::create_directories(tree + "/closed/within");
  ASSERT_OK(WriteFileAtomically(tree + "/closed/within/file", "x"));
  ASSERT_OK(WriteFileAtomically(temp.File("precious"), "x"));
  std::filesystem::create_symlink(temp.File("precious"), tree + "/link");
  std::filesystem::create_directory_symlink(temp.path(), tree + "/up");
  ASSERT_EQ(chmod((tree + "/closed/within").c_str(), 0), 0);
  ASSERT_EQ(chmod((tree + "/closed").c_str(), 0500), 0);
  EXPECT_OK(process::RemoveTree(tree));
  EXPECT_FALSE(Exists(tree));
  EXPECT_TRUE(Exists(temp.File("precious")));
  EXPECT_OK(process::RemoveTree(tree));  // there is none
}

// A job that nested 20,000 directories left a tree that could not be removed: each level took a
// file descriptor. 2,000 are more than a process has, and take a tenth of the time.
TEST(RemoveTreeTest, RemovesATreeOfAnyDepth) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{std::min<rlim_t>(before.rlim_cur, 1'024), before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  const TempDir temp;
  const std::string tree = temp.File("tree");
  ASSERT_OK(MakeDirectories(tree, 0700));
  FileDescriptor at(open(tree.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int i = 0; i < 2'000; ++i) {
    ASSERT_EQ(mkdirat(at.get(), "d", 0700), 0);
    at = FileDescriptor(openat(at.get(), "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_TRUE(at.valid());
  }
  at.Reset();
  EXPECT_OK(process::RemoveTree(tree));
  EXPECT_FALSE(Exists(tree));
  EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(RemoveTreeTest, WhatCannotBeRemovedIsNamedAndTheRestGoes) {
  const TempDir temp;
  const std::string tree = temp.File("tree");
  Mount mount(tree + "/a/mount");
  if (!mount.mounted()) {
    GTEST_SKIP() << "mounts need root";
  }
  std::filesystem::create_directories(tree + "/b/c");
  ASSERT_OK(WriteFileAtomically(tree + "/a/file", "x"));
  EXPECT_THAT(std::string(process::RemoveTree(tree).message()),
              AllOf(HasSubstr(tree + "/a/mount: "), HasSubstr("busy")));
  EXPECT_FALSE(Exists(tree + "/b"));
  EXPECT_FALSE(Exists(tree + "/a/file"));
  std::vector<std::string> notices;
  ASSERT_OK(process::RemoveOrSetAside(tree, tree, notices));
  mount.MovedTo(tree + ".kept-1/a/mount");
  EXPECT_FALSE(Exists(tree));
  EXPECT_THAT(notices, ElementsAre(AllOf(HasSubstr(tree + ".kept-1"), HasSubstr("/a/mount"))));
  notices.clear();
  process::RemoveKept(tree, notices);
  EXPECT_THAT(notices, ElementsAre(HasSubstr("since an earlier start")));
  mount.Unmount();
  notices.clear();
  process::RemoveKept(tree, notices);
  EXPECT_THAT(notices, IsEmpty());
  EXPECT_FALSE(Exists(tree + ".kept-1"));
}

class LeftoverTest : public ExecutorFixture {};

// A root-owned directory, an immutable file or a mount that a job left kept the worker from ever
// starting again: 249 restarts with "remove: Permission denied", which named no path.
TEST_F(LeftoverTest, AWorkerStartsBesideWhatCannotBeRemovedAndSaysSo) {
  executor_.reset();
  const std::string runs = temp_.File("work/runs");
  Mount mount(runs + "/s1-0-a1/mount");
  if (!mount.mounted()) {
    GTEST_SKIP() << "mounts need root";
  }
  Reopen();
  mount.MovedTo(runs + ".kept-1/s1-0-a1/mount");
  ASSERT_NE(executor_, nullptr);
  EXPECT_THAT(executor_->notices(), ElementsAre(HasSubstr("s1-0-a1/mount")));
  EXPECT_TRUE(Run(Train("touch $2")).succeeded);
  Reopen();
  EXPECT_THAT(executor_->notices(), ElementsAre(HasSubstr("s1-0-a1/mount")));
  mount.Unmount();
  Reopen();
  EXPECT_THAT(executor_->notices(), IsEmpty());
  EXPECT_FALSE(Exists(runs + ".kept-1"));
}

}  // namespace
}  // namespace concur::worker
