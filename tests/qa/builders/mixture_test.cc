// SPDX-License-Identifier: Apache-2.0
#include "qa/builders/mixture.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "qa/dataset_io.h"
#include "qa/example.h"
#include "tests/testing/test.h"

namespace concur::qa {
namespace {

// `passages` passages of two questions each, with ids PREFIX-p-q.
std::string WriteSet(const TempDir& dir, const std::string& name, const std::string& prefix,
                     int passages) {
  std::string path = dir.File(name);
  auto writer = DatasetWriter::Create(path, Header{{"dataset", name}});
  EXPECT_OK(writer.status());
  for (int p = 0; p < passages; ++p) {
    Passage passage;
    passage.context = absl::StrCat("passage ", p, " of ", name);
    for (int q = 0; q < 2; ++q) {
      Question question;
      question.id = absl::StrCat(prefix, "-", p, "-", q);
      question.text = "which?";
      question.answers = {"passage"};
      question.spans = {Span{0, 7}};
      passage.questions.push_back(question);
    }
    EXPECT_OK((*writer)->Write(passage));
  }
  EXPECT_OK((*writer)->Finish());
  return path;
}

std::vector<std::string> IdsOfMixture(const std::string& path) {
  std::vector<std::string> ids;
  const auto data = ReadDataset(path);
  EXPECT_OK(data.status());
  for (const Passage& passage : data->passages) {
    for (const Question& question : passage.questions) {
      ids.push_back(question.id);
    }
  }
  return ids;
}

TEST(MixtureTest, CapKeepsExactlySoManyQuestionsOfThatPart) {
  TempDir dir;
  const std::vector<MixturePart> parts = {{"a", WriteSet(dir, "a.jsonl", "a", 50), 7},
                                          {"b", WriteSet(dir, "b.jsonl", "b", 5), 0},
                                          {"c", WriteSet(dir, "c.jsonl", "c", 3), 100}};
  ASSERT_OK(BuildMixture(parts, 1, dir.File("out.jsonl")));
  const auto ids = IdsOfMixture(dir.File("out.jsonl"));
  const auto count = [&](char part) {
    return std::count_if(ids.begin(), ids.end(),
                         [&](const std::string& id) { return id[0] == part; });
  };
  EXPECT_EQ(count('a'), 7);
  EXPECT_EQ(count('b'), 10);
  EXPECT_EQ(count('c'), 6);
}

TEST(MixtureTest, SameSeedGivesSameBytesAndAnotherSeedOthers) {
  TempDir dir;
  const std::vector<MixturePart> parts = {{"a", WriteSet(dir, "a.jsonl", "a", 50), 20},
                                          {"b", WriteSet(dir, "b.jsonl", "b", 50), 20}};
  ASSERT_OK(BuildMixture(parts, 1, dir.File("1.jsonl")));
  ASSERT_OK(BuildMixture(parts, 1, dir.File("2.jsonl")));
  ASSERT_OK(BuildMixture(parts, 2, dir.File("3.jsonl")));
  EXPECT_EQ(*ReadFile(dir.File("1.jsonl")), *ReadFile(dir.File("2.jsonl")));
  EXPECT_NE(IdsOfMixture(dir.File("1.jsonl")), IdsOfMixture(dir.File("3.jsonl")));
}

TEST(MixtureTest, LargerCapKeepsAllQuestionsOfASmallerOne) {
  TempDir dir;
  const std::string path = WriteSet(dir, "a.jsonl", "a", 50);
  ASSERT_OK(BuildMixture({{"a", path, 10}}, 3, dir.File("10.jsonl")));
  ASSERT_OK(BuildMixture({{"a", path, 30}}, 3, dir.File("30.jsonl")));
  auto small = IdsOfMixture(dir.File("10.jsonl"));
  auto large = IdsOfMixture(dir.File("30.jsonl"));
  std::sort(small.begin(), small.end());
  std::sort(large.begin(), large.end());
  EXPECT_TRUE(std::includes(large.begin(), large.end(), small.begin(), small.end()));
}

TEST(MixtureTest, WhatIsDrawnHasALimitOfMemoryAndWhatIsNotTakesNone) {
  TempDir dir;
  const std::string path = WriteSet(dir, "a.jsonl", "a", 50);
  EXPECT_THAT(
      BuildMixture({{"a", path, 0}}, 3, dir.File("o.jsonl"), 4000),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(path + ": the data takes more than")));
  EXPECT_FALSE(std::filesystem::exists(dir.File("o.jsonl")));
  EXPECT_OK(BuildMixture({{"a", path, 3}}, 3, dir.File("o.jsonl"), 4000));
}

TEST(MixtureTest, EveryQuestionIsDrawnAboutEquallyOften) {
  TempDir dir;
  const std::string path = WriteSet(dir, "a.jsonl", "a", 5);
  std::map<std::string, int> drawn;
  constexpr uint64_t kBuilds = 80;
  for (uint64_t seed = 0; seed < kBuilds; ++seed) {
    ASSERT_OK(BuildMixture({{"a", path, 3}}, seed, dir.File("o.jsonl")));
    for (const std::string& id : IdsOfMixture(dir.File("o.jsonl"))) {
      ++drawn[id];
    }
  }
  ASSERT_EQ(drawn.size(), 10U);
  for (const auto& [id, count] : drawn) {
    // 24 expected, standard deviation 4.1; the bound is five of them.
    EXPECT_NEAR(count, 24, 20) << id;
  }
}

TEST(MixtureTest, OnlyCollidingIdsGetTheirPartsName) {
  TempDir dir;
  const std::vector<MixturePart> parts = {{"a", WriteSet(dir, "a.jsonl", "x", 1), 0},
                                          {"b", WriteSet(dir, "b.jsonl", "x", 2), 0}};
  ASSERT_OK(BuildMixture(parts, 1, dir.File("out.jsonl")));
  EXPECT_THAT(IdsOfMixture(dir.File("out.jsonl")),
              UnorderedElementsAre("a:x-0-0", "a:x-0-1", "b:x-0-0", "b:x-0-1", "x-1-0", "x-1-1"));
}

TEST(MixtureTest, OrderMixesTheParts) {
  TempDir dir;
  const std::vector<MixturePart> parts = {{"a", WriteSet(dir, "a.jsonl", "a", 50), 0},
                                          {"b", WriteSet(dir, "b.jsonl", "b", 50), 0}};
  ASSERT_OK(BuildMixture(parts, 1, dir.File("out.jsonl")));
  const auto ids = IdsOfMixture(dir.File("out.jsonl"));
  const auto middle = ids.begin() + static_cast<int64_t>(ids.size() / 2);
  const auto early =
      std::count_if(ids.begin(), middle, [](const std::string& id) { return id[0] == 'a'; });
  EXPECT_GT(early, 30);
  EXPECT_LT(early, 70);
}

TEST(MixtureTest, ImpossibleRequestsAreRefusedAndLeaveNothing) {
  TempDir dir;
  const std::string path = WriteSet(dir, "a.jsonl", "a", 1);
  const std::string out = dir.File("out.jsonl");
  EXPECT_THAT(BuildMixture({}, 1, out),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("at least one part")));
  EXPECT_THAT(BuildMixture({{"a", path, 0}, {"a", path, 0}}, 1, out),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("\"a\" occurs twice")));
  EXPECT_THAT(BuildMixture({{"a", path, -1}}, 1, out),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("cap")));
  EXPECT_THAT(BuildMixture({{"a", dir.File("absent"), 0}}, 1, out),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("absent")));
  ASSERT_OK(WriteFileAtomically(dir.File("broken"), "{\"context\": \"a\", \"qas\": [\n"));
  EXPECT_THAT(BuildMixture({{"a", path, 0}, {"b", dir.File("broken"), 0}}, 1, out),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("broken:1")));
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(dir.path())) {
    if (entry.path().filename().string().find("out") != std::string::npos) {
      left.push_back(entry.path().filename().string());
    }
  }
  EXPECT_THAT(left, IsEmpty());
}

}  // namespace
}  // namespace concur::qa
