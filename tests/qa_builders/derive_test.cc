// SPDX-License-Identifier: Apache-2.0
#include "qa/builders/derive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "qa/dataset_io.h"
#include "qa/example.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace concur::qa {
namespace {

using ::concur::testing::StatusIs;
using ::concur::testing::TempDir;
using ::testing::HasSubstr;

struct Made {
  std::string title;
  std::string context;
  int questions = 2;
};

std::string Write(const TempDir& dir, const std::vector<Made>& passages) {
  std::string path = dir.File("in.jsonl");
  auto writer = DatasetWriter::Create(path, Header{});
  EXPECT_OK(writer.status());
  int id = 0;
  for (const Made& made : passages) {
    Passage passage;
    passage.title = made.title;
    passage.context = made.context;
    for (int q = 0; q < made.questions; ++q) {
      passage.questions.push_back(Question{absl::StrCat("q", id++), "which?", {"x"}, {}});
    }
    EXPECT_OK((*writer)->Write(passage));
  }
  EXPECT_OK((*writer)->Finish());
  return path;
}

std::vector<Made> Many(int passages) {
  std::vector<Made> made;
  for (int p = 0; p < passages; ++p) {
    made.push_back({absl::StrCat("title ", p / 4), absl::StrCat("context x ", p)});
  }
  return made;
}

std::vector<std::string> IdsOf(const std::string& path) {
  std::vector<std::string> ids;
  EXPECT_OK(ForEachPassage(path, [&](const Passage& passage) {
    for (const Question& question : passage.questions) {
      ids.push_back(question.id);
    }
    return absl::OkStatus();
  }));
  return ids;
}

TEST(DownsampleTest, LargerSubsetsHoldSmallerOnesInTheInputsOrder) {
  TempDir dir;
  const std::string in = Write(dir, Many(100));
  const std::vector<std::string> all = IdsOf(in);
  std::set<std::string> smaller;
  for (const int count : {1, 20, 50, 200}) {
    const std::string out = dir.File(absl::StrCat(count, ".jsonl"));
    ASSERT_OK_AND_ASSIGN(const DerivedFile file, Downsample(in, count, 5, out));
    EXPECT_EQ(file.questions, count);
    const std::vector<std::string> ids = IdsOf(out);
    const std::set<std::string> larger(ids.begin(), ids.end());
    ASSERT_EQ(larger.size(), static_cast<size_t>(count));
    EXPECT_TRUE(std::includes(larger.begin(), larger.end(), smaller.begin(), smaller.end()));
    size_t next = 0;
    for (const std::string& id : all) {
      next += next < ids.size() && ids[next] == id ? 1 : 0;
    }
    EXPECT_EQ(next, ids.size());
    smaller = larger;
  }
}

TEST(DownsampleTest, SeedFixesTheBytes) {
  TempDir dir;
  const std::string in = Write(dir, Many(50));
  ASSERT_OK(Downsample(in, 20, 1, dir.File("a")).status());
  ASSERT_OK(Downsample(in, 20, 1, dir.File("b")).status());
  ASSERT_OK(Downsample(in, 20, 2, dir.File("c")).status());
  EXPECT_EQ(*ReadFile(dir.File("a")), *ReadFile(dir.File("b")));
  EXPECT_NE(IdsOf(dir.File("a")), IdsOf(dir.File("c")));
}

TEST(DownsampleTest, CountsThatTheInputLacksAreRefused) {
  TempDir dir;
  const std::string in = Write(dir, Many(5));
  for (const int count : {0, -1, 11}) {
    EXPECT_THAT(Downsample(in, count, 1, dir.File("out")),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expected 1 to 10")));
  }
  EXPECT_FALSE(std::filesystem::exists(dir.File("out")));
}

TEST(SplitTest, NoTitleAndNoContextIsInBothAndNoneIsLost) {
  TempDir dir;
  const std::string in = Write(dir, Many(100));
  for (const SplitBy by : {SplitBy::kTitle, SplitBy::kContext}) {
    ASSERT_OK_AND_ASSIGN(const SplitResult result, SplitDataset(in, by, 0.3, 1, dir.File("out")));
    EXPECT_EQ(result.train.questions + result.test.questions, 200);
    EXPECT_GE(result.test.questions, 60);
    EXPECT_LE(result.test.questions, 60 + 8);
    std::set<std::string> sides[2];
    for (const int side : {0, 1}) {
      EXPECT_OK(ForEachPassage(
          side == 0 ? result.train.path : result.test.path, [&](const Passage& passage) {
            sides[side].insert(by == SplitBy::kTitle ? passage.title : passage.context);
            return absl::OkStatus();
          }));
    }
    for (const std::string& name : sides[0]) {
      EXPECT_FALSE(sides[1].contains(name)) << name;
    }
  }
}

TEST(SplitTest, ImpossibleSplitsAreRefusedAndLeaveNothing) {
  TempDir dir;
  const std::string out = dir.File("out");
  const std::string one = Write(dir, {{"t", "x", 5}});
  EXPECT_THAT(SplitDataset(one, SplitBy::kTitle, 0.5, 1, out),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("do not split into two")));
  EXPECT_THAT(SplitDataset(one, SplitBy::kTitle, 1.0, 1, out),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("between 0 and 1")));
  const std::string untitled = Write(dir, {{"", "x"}, {"", "y"}});
  EXPECT_THAT(SplitDataset(untitled, SplitBy::kTitle, 0.5, 1, out),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("has no title")));
  const std::string shared = Write(dir, {{"a", "x"}, {"b", "x"}});
  EXPECT_THAT(SplitDataset(shared, SplitBy::kTitle, 0.5, 1, out),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("repeats the context")));
  EXPECT_FALSE(std::filesystem::exists(out + "/train.jsonl"));
  EXPECT_FALSE(std::filesystem::exists(out + "/test.jsonl"));
}

}  // namespace
}  // namespace concur::qa
