// SPDX-License-Identifier: Apache-2.0
#include "worker/environments/environment_cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "tests/testing/test.h"

namespace concur::worker {
namespace {

using ::testing::_;

class EnvironmentCacheTest : public ::testing::Test {
 protected:
  void SetUp() override { Reopen(0); }
  void Reopen(int64_t bytes_max) {
    ASSERT_OK_AND_ASSIGN(cache_, EnvironmentCache::Open(temp_.File("cache"), bytes_max));
  }
  // Gets an environment that is one file of so many bytes.
  absl::StatusOr<HeldEnvironmentPtr> Get(const std::string& name, int bytes = 10) {
    return cache_->Get(Sha256Of(name), [&](const std::string& directory, const std::string&) {
      ++builds_;
      return WriteFileAtomically(directory + "/file", std::string(bytes, 'x'));
    });
  }
  std::string PathOf(const std::string& name) const {
    return absl::StrCat(temp_.File("cache"), "/", Sha256Of(name).ToHex());
  }
  bool IsThere(const std::string& name) const { return std::filesystem::exists(PathOf(name)); }
  // The environment was used so long ago.
  void Age(const std::string& name, int seconds) {
    const timespec times[2] = {{1'000'000'000 - seconds, 0}, {1'000'000'000 - seconds, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, (PathOf(name) + "/done").c_str(), times, 0), 0);
  }

  TempDir temp_;
  std::unique_ptr<EnvironmentCache> cache_;
  int builds_ = 0;
};

TEST_F(EnvironmentCacheTest, AnEnvironmentIsBuiltOnceForAllWorkers) {
  ASSERT_OK_AND_ASSIGN(const HeldEnvironmentPtr first, Get("a"));
  EXPECT_TRUE(std::filesystem::exists(first->directory() + "/file"));
  ASSERT_OK(Get("a"));
  Reopen(0);  // as another worker
  ASSERT_OK(Get("a"));
  EXPECT_EQ(builds_, 1);
}

TEST_F(EnvironmentCacheTest, AHalfOneNeverCounts) {
  // A worker died in the middle of it.
  ASSERT_OK(MakeDirectories(PathOf("a") + "/root/bin"));
  ASSERT_OK(WriteFileAtomically(PathOf("a") + "/root/bin/half", "x"));
  ASSERT_OK(Get("a"));
  EXPECT_EQ(builds_, 1);
  EXPECT_FALSE(std::filesystem::exists(PathOf("a") + "/root"));

  ASSERT_OK(WriteFileAtomically(PathOf("a") + "/done", "not a number"));
  ASSERT_OK(Get("a"));
  EXPECT_EQ(builds_, 2);
}

TEST_F(EnvironmentCacheTest, AHalfOneGoesWhenAnotherIsBuiltUnlessItIsBeingBuilt) {
  ASSERT_OK(MakeDirectories(PathOf("left") + "/root"));
  ASSERT_OK(cache_->Get(Sha256Of("slow"), [&](const std::string& directory, const std::string&) {
    EXPECT_OK(Get("a"));
    EXPECT_FALSE(IsThere("left"));
    EXPECT_TRUE(IsThere("slow"));
    return WriteFileAtomically(directory + "/file", "x");
  }));
  EXPECT_TRUE(IsThere("slow"));
}

TEST_F(EnvironmentCacheTest, AFailedBuildLeavesItsLogAndNothingElse) {
  const auto fail = [](const std::string& directory, const std::string& log) {
    CONCUR_CHECK_OK(WriteFileAtomically(directory + "/file", "x"));
    CONCUR_CHECK_OK(WriteFileAtomically(log, "no such package\n"));
    return absl::UnknownError("pip failed");
  };
  EXPECT_THAT(cache_->Get(Sha256Of("a"), fail).status(),
              StatusIs(absl::StatusCode::kUnknown, HasSubstr("pip failed")));
  EXPECT_FALSE(IsThere("a"));
  EXPECT_EQ(ReadFile(PathOf("a") + ".log").value_or(""), "no such package\n");
  ASSERT_OK(Get("a"));
}

TEST_F(EnvironmentCacheTest, WhoFindsItBeingBuiltAsksAgainLater) {
  const absl::Status during = cache_
                                  ->Get(Sha256Of("a"),
                                        [&](const std::string&, const std::string&) {
                                          return Get("a").status();  // as another worker
                                        })
                                  .status();
  EXPECT_THAT(during, StatusIs(absl::StatusCode::kUnavailable, _));
  EXPECT_EQ(builds_, 0);
  ASSERT_OK(Get("a"));
}

TEST_F(EnvironmentCacheTest, WhatWasUsedLongestAgoGoesButNothingInUse) {
  Reopen(150'000);
  ASSERT_OK_AND_ASSIGN(HeldEnvironmentPtr held, Get("held", 40'000));
  ASSERT_OK(Get("old", 40'000));
  ASSERT_OK(Get("new", 40'000));
  Age("held", 3);
  Age("old", 2);
  Age("new", 1);
  ASSERT_OK(Get("last", 40'000));
  EXPECT_TRUE(IsThere("held")) << "the oldest, in use";
  EXPECT_FALSE(IsThere("old"));
  EXPECT_TRUE(IsThere("new"));
  EXPECT_TRUE(IsThere("last"));

  held.reset();
  Age("held", 3);
  ASSERT_OK(Get("more", 40'000));
  EXPECT_FALSE(IsThere("held"));
  ASSERT_OK(Get("old", 40'000)) << "it can come back";
  EXPECT_EQ(builds_, 6);
}

TEST_F(EnvironmentCacheTest, ADirectoryThatOthersMayEnterIsRefused) {
  const std::string open = temp_.File("open");
  ASSERT_OK(MakeDirectories(open, 0755));
  ASSERT_OK(WriteFileAtomically(open + "/theirs", "x"));
  ASSERT_EQ(chmod(open.c_str(), 0777), 0);
  EXPECT_THAT(EnvironmentCache::Open(open, 0).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("chmod 700")));
}

}  // namespace
}  // namespace concur::worker
