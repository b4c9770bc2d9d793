// SPDX-License-Identifier: Apache-2.0
#include "worker/inputs/input_links.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/testing/test.h"

namespace concur::worker {
namespace {

class InputLinksTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK(links_.Open()); }
  std::string TargetOf(const std::string& name) const {
    return std::filesystem::read_symlink(dir_.File(name)).string();
  }
  ino_t InodeOf(const std::string& name) const {
    struct stat info {};
    EXPECT_EQ(lstat(dir_.File(name).c_str(), &info), 0);
    return info.st_ino;
  }

  TempDir dir_;
  InputLinks links_{dir_.File("links")};
};

TEST_F(InputLinksTest, LinksToOneTargetAreOneInode) {
  ASSERT_OK(links_.Make("/data/a", dir_.File("1")));
  ASSERT_OK(links_.Make("/data/a", dir_.File("2")));
  ASSERT_OK(links_.Make("/data/b", dir_.File("3")));
  EXPECT_EQ(TargetOf("1"), "/data/a");
  EXPECT_EQ(TargetOf("2"), "/data/a");
  EXPECT_EQ(TargetOf("3"), "/data/b");
  EXPECT_EQ(InodeOf("1"), InodeOf("2"));
  EXPECT_NE(InodeOf("1"), InodeOf("3"));
}

TEST_F(InputLinksTest, ALinkThatIsRemovedLeavesTheOthers) {
  ASSERT_OK(links_.Make("/data/a", dir_.File("1")));
  ASSERT_OK(links_.Make("/data/a", dir_.File("2")));
  ASSERT_EQ(unlink(dir_.File("1").c_str()), 0);
  EXPECT_EQ(TargetOf("2"), "/data/a");
  ASSERT_OK(links_.Make("/data/a", dir_.File("1")));
  EXPECT_EQ(TargetOf("1"), "/data/a");
}

TEST_F(InputLinksTest, ManyTargetsAreLinkedAndFewAreKept) {
  for (int i = 0; i < 2500; ++i) {
    const std::string name = absl::StrCat("link-", i);
    ASSERT_OK(links_.Make(absl::StrCat("/data/", i), dir_.File(name)));
    ASSERT_EQ(TargetOf(name), absl::StrCat("/data/", i));
  }
  int kept = 0;
  for (const auto& entry : std::filesystem::directory_iterator(dir_.File("links"))) {
    kept += entry.is_symlink() ? 1 : 0;
  }
  EXPECT_LE(kept, 1000);
}

TEST_F(InputLinksTest, EachLinkIsToItsOwnTargetWhileManyThreadsMakeThem) {
  InputLinks links(dir_.File("few"), /*targets_max=*/2);
  ASSERT_OK(links.Open());
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 1000; ++i) {
        const std::string name = absl::StrCat("link-", t, "-", i);
        const std::string target = absl::StrCat("/data/", (t * 7 + i) % 11);
        ASSERT_OK(links.Make(target, dir_.File(name)));
        ASSERT_EQ(TargetOf(name), target);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

TEST_F(InputLinksTest, WithoutItsDirectoryLinksAreMadeAllTheSame) {
  ASSERT_EQ(rmdir(dir_.File("links").c_str()), 0);
  ASSERT_OK(links_.Make("/data/a", dir_.File("1")));
  EXPECT_EQ(TargetOf("1"), "/data/a");
}

TEST_F(InputLinksTest, WhatIsInTheWayIsAnError) {
  ASSERT_OK(links_.Make("/data/a", dir_.File("1")));
  EXPECT_FALSE(links_.Make("/data/b", dir_.File("1")).ok());
  EXPECT_EQ(TargetOf("1"), "/data/a");
}

TEST_F(InputLinksTest, OpenEmptiesWhatAnEarlierWorkerLeft) {
  ASSERT_OK(links_.Make("/data/a", dir_.File("1")));
  InputLinks next(dir_.File("links"));
  ASSERT_OK(next.Open());
  EXPECT_TRUE(std::filesystem::is_empty(dir_.File("links")));
  ASSERT_OK(next.Make("/data/b", dir_.File("2")));
  EXPECT_EQ(TargetOf("2"), "/data/b");
}

}  // namespace
}  // namespace concur::worker
