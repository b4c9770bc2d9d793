// SPDX-License-Identifier: Apache-2.0
#include "worker/inputs/verified_inputs.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <string>

#include "base/file.h"
#include "tests/testing/test.h"

namespace concur::worker {
namespace {

constexpr char kName[] = "input";
const AttemptId kFirst{{{1}, 1}, {1}};
const AttemptId kSecond{{{1}, 2}, {1}};

class VerifiedInputsTest : public ::testing::Test {
 protected:
  void SetUp() override { Write("good"); }
  // In place: the same file.
  void Write(const std::string& text) {
    const FileDescriptor file(open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    ASSERT_EQ(pwrite(file.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  }
  absl::StatusOr<uint64_t> Look() {
    return inputs_.Look(kName, path_, [this]() -> absl::Status {
      ++verified_;
      while_compared_();
      if (!broken_.ok()) {
        return broken_;
      }
      return ReadFile(path_).value_or("") == "good" ? absl::OkStatus() : absl::DataLossError("bad");
    });
  }
  // Until the file needs no further comparison, which never comes on a file system in memory.
  uint64_t Settle() {
    uint64_t generation = *Look();
    for (int i = 0; i < 10'000 && !inputs_.IsSame(kName, path_, generation); ++i) {
      generation = *Look();
    }
    return generation;
  }

  TempDir dir_;
  const std::string path_ = dir_.File("input");
  VerifiedInputs inputs_;
  int verified_ = 0;
  std::function<void()> while_compared_ = [] {};
  absl::Status broken_;  // the disk, which then says nothing of the bytes
};

TEST_F(VerifiedInputsTest, AChangeRightAfterTheComparisonIsSeen) {
  for (int i = 0; i < 300; ++i) {
    Write("good");
    ASSERT_OK_AND_ASSIGN(const uint64_t generation, Look());
    Write("baad");
    ASSERT_FALSE(inputs_.IsSame(kName, path_, generation)) << "time " << i;
    ASSERT_THAT(Look(), StatusIs(absl::StatusCode::kDataLoss, "bad")) << "time " << i;
  }
}

TEST_F(VerifiedInputsTest, WritesThroughAMappingThatWasThereBeforeAreSeen) {
  const FileDescriptor file(open(path_.c_str(), O_RDWR | O_CLOEXEC));
  void* mapped = mmap(nullptr, 4, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  ASSERT_NE(mapped, MAP_FAILED);
  // Not only for reading: pages that were written are not watched until they are written back.
  Settle();
  std::memcpy(mapped, "good", 4);
  const uint64_t generation = Settle();
  std::memcpy(mapped, "baad", 4);
  EXPECT_FALSE(inputs_.IsSame(kName, path_, generation));
  EXPECT_THAT(Look(), StatusIs(absl::StatusCode::kDataLoss, "bad"));
  munmap(mapped, 4);
}

TEST_F(VerifiedInputsTest, AChangeThatWasUndoneIsAnotherGeneration) {
  const uint64_t before = Settle();
  Write("baad");
  Write("good");
  ASSERT_OK_AND_ASSIGN(const uint64_t after, Look());
  EXPECT_NE(before, after);
  EXPECT_FALSE(inputs_.HasDiffered(kName, before)) << "as far as anybody can tell";
}

// A read error passed for a change, which was then held against whoever ran.
TEST_F(VerifiedInputsTest, AnErrorOfTheDiskIsNoChange) {
  broken_ = absl::UnknownError("EIO");
  EXPECT_THAT(Look(), StatusIs(absl::StatusCode::kUnknown, "EIO"));
  broken_ = absl::OkStatus();
  ASSERT_OK_AND_ASSIGN(const uint64_t generation, Look());
  broken_ = absl::UnknownError("EIO");
  for (int i = 0; i < 3; ++i) {
    if (!inputs_.IsSame(kName, path_, generation)) {
      EXPECT_THAT(Look(), StatusIs(absl::StatusCode::kUnknown, "EIO"));
    }
    EXPECT_TRUE(inputs_.IsLatest(kName, generation));
  }
  broken_ = absl::OkStatus();
  ASSERT_OK_AND_ASSIGN(const uint64_t again, Look());
  EXPECT_EQ(again, generation);
  // A change meanwhile is not hidden by the error.
  broken_ = absl::UnknownError("EIO");
  Write("baad");
  EXPECT_THAT(Look(), StatusIs(absl::StatusCode::kUnknown, "EIO"));
  broken_ = absl::OkStatus();
  EXPECT_FALSE(inputs_.HasDiffered(kName, generation));
  EXPECT_THAT(Look(), StatusIs(absl::StatusCode::kDataLoss, "bad"));
  EXPECT_TRUE(inputs_.HasDiffered(kName, generation));
}

// As by jobs that end at the same moment with the same bytes.
TEST_F(VerifiedInputsTest, AFileThatIsReplacedWhileItIsComparedIsComparedAgain) {
  while_compared_ = [&] {
    if (verified_ <= 8) {
      ASSERT_OK(WriteFileAtomically(path_, "good", 0600));
    }
  };
  EXPECT_OK(Look());
  EXPECT_GE(verified_, 9);
  // Written anew before each look: else a file that has stayed for a while is not compared.
  while_compared_ = [&] { ASSERT_OK(WriteFileAtomically(path_, "good", 0600)); };
  while_compared_();
  EXPECT_THAT(Look(), StatusIs(absl::StatusCode::kUnavailable, path_ + ": somebody writes to it"));
  ASSERT_OK(WriteFileAtomically(path_, "good", 0600));
  while_compared_ = [&] { ASSERT_OK(WriteFileAtomically(path_, "baad", 0600)); };
  EXPECT_THAT(Look(), StatusIs(absl::StatusCode::kDataLoss, "bad"));
}

TEST_F(VerifiedInputsTest, WhatIsAsItWasIsComparedOnce) {
  const uint64_t generation = Settle();
  if (!inputs_.IsSame(kName, path_, generation)) {
    GTEST_SKIP() << "a file system in memory";
  }
  const int before = verified_;
  for (int i = 0; i < 10; ++i) {
    ASSERT_OK_AND_ASSIGN(const uint64_t again, Look());
    EXPECT_EQ(again, generation);
  }
  EXPECT_EQ(verified_, before);
}

TEST_F(VerifiedInputsTest, AFolderIsAllThatIsInIt) {
  ASSERT_OK(MakeDirectories(dir_.File("folder/a")));
  ASSERT_OK(WriteFileAtomically(dir_.File("folder/a/b"), "1"));
  const auto look = [&] {
    return *inputs_.Look("folder", dir_.File("folder"), [] { return absl::OkStatus(); });
  };
  const uint64_t first = look();
  EXPECT_EQ(look(), first);
  const FileDescriptor file(open(dir_.File("folder/a/b").c_str(), O_WRONLY | O_CLOEXEC));
  ASSERT_EQ(pwrite(file.get(), "2", 1, 0), 1);
  const uint64_t second = look();
  EXPECT_NE(second, first);
  ASSERT_OK(WriteFileAtomically(dir_.File("folder/a/added"), ""));
  EXPECT_NE(look(), second);
}

TEST_F(VerifiedInputsTest, WhoReadWhatWasChangedIsNamedToTheOthers) {
  ASSERT_OK(Look());
  inputs_.Begin(kName, kFirst);
  inputs_.Begin(kName, kSecond);
  Write("baad");
  EXPECT_FALSE(Look().ok());
  EXPECT_THAT(inputs_.End(kName, kFirst), ElementsAre(kSecond));
  Write("good");
  ASSERT_OK(Look());
  EXPECT_THAT(inputs_.End(kName, kSecond), ElementsAre(kFirst)) << "it has ended before";
  inputs_.Begin(kName, kSecond);
  Write("baad");
  EXPECT_FALSE(Look().ok());
  EXPECT_THAT(inputs_.End(kName, kSecond), IsEmpty()) << "it was alone";
}

}  // namespace
}  // namespace concur::worker
