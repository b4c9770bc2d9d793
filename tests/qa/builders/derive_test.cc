// SPDX-License-Identifier: Apache-2.0
#include "qa/builders/derive.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/file.h"
#include "qa/dataset_io.h"
#include "qa/example.h"
#include "tests/testing/test.h"

namespace concur::qa {
namespace {

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

TEST(DownsampleTest, OnlyPassagesThatOtherSetsHaveCountWhenAsked) {
  TempDir dir;
  const std::string few = Write(dir, {{"t", "context x 3"}, {"t", "context x 7"}, {"t", "other"}});
  std::filesystem::rename(few, dir.File("few.jsonl"));
  const std::string in = Write(dir, Many(20));
  ASSERT_OK(Downsample(in, 4, 1, dir.File("out"), {dir.File("few.jsonl")}).status());
  std::set<std::string> contexts;
  EXPECT_OK(ForEachPassage(dir.File("out"), [&](const Passage& passage) {
    contexts.insert(passage.context);
    return absl::OkStatus();
  }));
  EXPECT_EQ(contexts, (std::set<std::string>{"context x 3", "context x 7"}));
  EXPECT_THAT(Downsample(in, 5, 1, dir.File("out"), {dir.File("few.jsonl")}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expected 1 to 4")));
}

TEST(MajorityTest, TheAnswerThatMostEqualStaysWithItsSpans) {
  TempDir dir;
  auto writer = DatasetWriter::Create(dir.File("in.jsonl"), Header{});
  ASSERT_OK(writer.status());
  Passage passage;
  passage.context = "The cat and a cat saw the dog";
  passage.questions = {
      Question{"1", "who?", {"dog", "The cat", "cat"}, {{26, 29}, {0, 7}, {4, 7}, {14, 17}}},
      Question{"2", "who?", {"dog", "cat"}, {{26, 29}, {4, 7}}},
      Question{"3", "who?", {"dog"}, {}}};
  ASSERT_OK((*writer)->Write(passage));
  ASSERT_OK((*writer)->Finish());
  ASSERT_OK_AND_ASSIGN(const DerivedFile file,
                       KeepMajorityAnswers(dir.File("in.jsonl"), dir.File("out.jsonl")));
  EXPECT_EQ(file.questions, 3);
  std::vector<Question> kept;
  EXPECT_OK(ForEachPassage(dir.File("out.jsonl"), [&](const Passage& read) {
    kept = read.questions;
    return absl::OkStatus();
  }));
  ASSERT_EQ(kept.size(), 3u);
  EXPECT_EQ(kept[0].answers, std::vector<std::string>{"The cat"});
  EXPECT_EQ(kept[0].spans, (std::vector<Span>{{0, 7}}));
  EXPECT_EQ(kept[1].answers, std::vector<std::string>{"dog"}) << "of equally many the first";
  EXPECT_EQ(kept[2].answers, std::vector<std::string>{"dog"});
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

TEST(SplitTest, AStoryThatGrowsIsOnOneSide) {
  TempDir dir;
  std::string lines = "{\"header\": {\"dataset\": \"x\"}}\n";
  for (int story = 0; story < 30; ++story) {
    for (const char* more : {"", " Bob sat.", " Bob sat. Cy ran."}) {
      absl::StrAppend(&lines, R"({"context": "Ann)", story, "x went.", more,
                      R"(", "qas": [{"qid": "q)", story, more, R"(", "question": "who", )",
                      R"("answers": ["went"]}]})", "\n");
    }
  }
  const std::string in = dir.File("in.jsonl");
  ASSERT_OK(WriteFileAtomically(in, lines));
  ASSERT_OK_AND_ASSIGN(const SplitResult result,
                       SplitDataset(in, SplitBy::kContext, 0.3, 1, dir.File("out")));
  EXPECT_EQ(result.train.questions % 3, 0);
  EXPECT_EQ(result.test.questions, 27);
}

TEST(SplitTest, WhatIsHeldOutDependsOnTheBytesShareAndSeedAlone) {
  TempDir dir;
  const std::string in = Write(dir, Many(100));
  const std::string copy = dir.File("copy.jsonl");
  std::filesystem::copy_file(in, copy);
  const auto digest = [](const std::string& path) { return DigestFile(path)->digest; };
  ASSERT_OK_AND_ASSIGN(const SplitResult first, HoldOutValidation(in, 0.1, 1, dir.File("a")));
  ASSERT_OK_AND_ASSIGN(const SplitResult again, HoldOutValidation(copy, 0.1, 1, dir.File("b")));
  EXPECT_EQ(digest(first.train.path), digest(again.train.path));
  EXPECT_EQ(digest(first.test.path), digest(again.test.path));
  EXPECT_EQ(first.test.path, dir.File("a/validation.jsonl"));
  EXPECT_EQ(first.train.questions + first.test.questions, 200);
  EXPECT_GE(first.test.questions, 20);
  EXPECT_LE(first.test.questions, 28);
  ASSERT_OK_AND_ASSIGN(const SplitResult other, HoldOutValidation(in, 0.1, 2, dir.File("c")));
  EXPECT_NE(digest(first.test.path), digest(other.test.path));
  EXPECT_FALSE(HoldOutValidation(in, 1, 1, dir.File("d")).ok());
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
