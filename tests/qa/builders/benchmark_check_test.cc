// SPDX-License-Identifier: Apache-2.0
#include "qa/builders/benchmark_check.h"

#include <string>

#include "base/file.h"
#include "tests/testing/test.h"

namespace concur::qa {
namespace {

TEST(BenchmarkCheckTest, RepeatedAndUnanswerableQuestionsAreCounted) {
  const concur::testing::TempDir dir;
  ASSERT_OK(WriteFileAtomically(
      dir.File("a.jsonl"),
      R"({"context": "The party went on.", "qas": [{"qid": "1", "question": "What?", "answers": ["Party"]},)"
      R"( {"qid": "2", "question": "what", "answers": ["art"]}]})"
      "\n"));
  ASSERT_OK_AND_ASSIGN(const QuestionCounts counts, CountQuestions(dir.File("a.jsonl")));
  EXPECT_EQ(counts.passages, 1);
  EXPECT_EQ(counts.questions, 2);
  EXPECT_EQ(counts.repeated, 1) << "after normalization";
  EXPECT_EQ(counts.answerable, 1) << "art is no word of party";
}

TEST(BenchmarkCheckTest, ThirteenWordsInARowAreSharedAndTwelveAreNot) {
  const concur::testing::TempDir dir;
  const auto write = [&](const std::string& name, const std::string& context) {
    EXPECT_OK(WriteFileAtomically(dir.File(name), R"({"context": ")" + context +
                                                      R"(", "qas": [{"qid": "1", "question": "q", )"
                                                      R"("answers": ["b"]}]})"
                                                      "\n"));
    return dir.File(name);
  };
  const std::string twelve = "b c d e f g h i j k l m";
  const std::string whole = write("whole.jsonl", "x " + twelve + " n y");
  ASSERT_OK_AND_ASSIGN(SharedPassages counts,
                       CountSharedPassages(whole, write("more.jsonl", "z " + twelve + " n")));
  EXPECT_EQ(counts.shared, 1);
  EXPECT_EQ(counts.passages, 1);
  ASSERT_OK_AND_ASSIGN(counts,
                       CountSharedPassages(whole, write("less.jsonl", "z " + twelve + " o")));
  EXPECT_EQ(counts.shared, 0);
  ASSERT_OK_AND_ASSIGN(counts, CountSharedPassages(write("short.jsonl", "b c"), whole));
  EXPECT_EQ(counts.shared, 0) << "a short passage is compared as a whole";
}

}  // namespace
}  // namespace concur::qa
