// SPDX-License-Identifier: Apache-2.0
#include "qa/builders/inspect.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "tests/testing/test.h"

namespace concur::qa {
namespace {

std::vector<std::string> ProblemsOf(const std::string& contents) {
  TempDir dir;
  EXPECT_OK(WriteFileAtomically(dir.File("d"), contents));
  const auto validation = ValidateDataset(dir.File("d"), 100);
  EXPECT_OK(validation.status());
  std::vector<std::string> problems;
  for (const Problem& problem : validation->problems) {
    problems.push_back(absl::StrCat(problem.place, " (", problem.id, ") ", problem.what));
  }
  return problems;
}

constexpr char kGood[] =
    R"({"context": "Zoë saw a dog", "qas": [{"qid": "a", "question": "who?", "answers": ["zoë"],)"
    R"( "detected_answers": [{"text": "Zoë", "char_spans": [[0, 2]]}]}]})";

TEST(ValidateTest, AGoodSetHasNoProblem) {
  EXPECT_THAT(ProblemsOf(absl::StrCat("\xEF\xBB\xBF{\"header\": {}}\r\n", kGood, "\r\n\n")),
              IsEmpty());
  EXPECT_THAT(ProblemsOf(R"({"data": [{"title": "t", "paragraphs": [{"context": "é dog", "qas": [)"
                         R"({"id": "a", "question": "who?", "answers": [{"text": "dog",)"
                         R"( "answer_start": 2}]}]}]}], "version": "1.1"})"),
              IsEmpty());
}

TEST(ValidateTest, EveryProblemOfALineIsFoundWithItsPlace) {
  EXPECT_THAT(
      ProblemsOf(absl::StrCat(
          kGood, "\n",
          R"({"context": "abc", "qas": [{"qid": "a", "question": " ", "answers": []},)"
          R"( {"qid": "b", "question": "q", "answers": ["", "the"], "detected_answers":)"
          R"( [{"char_spans": [[0, 0], [2, 3], [1], 7]}, {}]}, {"question": 3}, 4]})",
          "\n")),
      ElementsAre("2: qas[0] (a) qid: repeats the id at 1: qas[0]", "2: qas[0] (a) question: empty",
                  "2: qas[0] (a) answers: none", "2: qas[1] (b) answers: empty answer",
                  "2: qas[1] (b) answers: nothing is left of \"the\" when it is normalized for "
                  "scoring",
                  "2: qas[1] (b) char_spans: [0, 0] holds \"a\", none of the answers",
                  "2: qas[1] (b) char_spans: [2, 3] is outside the context's 3 characters",
                  "2: qas[1] (b) char_spans: expected [first, last]",
                  "2: qas[1] (b) char_spans: expected [first, last]",
                  "2: qas[1] (b) detected_answers: expected objects with char_spans",
                  "2: qas[2] () qid: expected a string", "2: qas[2] () question: expected a string",
                  "2: qas[2] () answers: expected a list", "2: qas[3] () expected an object"));
}

TEST(ValidateTest, BadLinesDoNotHideThoseBehindThem) {
  const auto problems =
      ProblemsOf(absl::StrCat("{\"context\": \n[]\n{}\n", kGood, "\n{\"header\": {}}\n"));
  ASSERT_EQ(problems.size(), 5U);
  EXPECT_THAT(problems[0], StartsWith("1 () not valid JSON"));
  EXPECT_EQ(problems[1], "2 () expected an object");
  EXPECT_EQ(problems[2], "3 () context: expected a string");
  EXPECT_EQ(problems[3], "3 () qas: expected a list");
  EXPECT_EQ(problems[4], "5 () header: expected on the first line only");
}

// The place was line 8, and the problem "line 1, column 241".
TEST(ValidateTest, TheLineOfBadJsonIsThatOfTheFile) {
  EXPECT_THAT(ProblemsOf(absl::StrCat(kGood, "\n", kGood, "\n{\"context\": \"ab")),
              Contains(StartsWith("3 () not valid JSON: line 3, column ")));
}

// A CSV of 41 lines had 41 problems, and none said what was wrong.
TEST(ValidateTest, AFileInAnotherFormIsOneProblem) {
  for (const char* text : {"id,question\n1,2\n3,4\n", "\n\nid,question\n1,2\n"}) {
    EXPECT_THAT(ProblemsOf(text),
                ElementsAre(HasSubstr("() \"id,question\", which is no JSON: expected "
                                      "SQuAD JSON or MRQA JSON lines; concur data "
                                      "import writes them")));
  }
}

TEST(ValidateTest, ARecordOfMoreThan32MiBIsAProblemOfItsLine) {
  const std::string context(size_t{33} << 20, 'a');
  EXPECT_THAT(
      ProblemsOf(absl::StrCat(kGood, "\n", R"({"context": ")", context, R"(", "qas": []})", "\n")),
      ElementsAre(HasSubstr("2 () the line has more than 32 MiB")));
}

TEST(ValidateTest, MisalignedSquadAnswersAreFoundInCodePoints) {
  EXPECT_THAT(
      ProblemsOf(R"({"data": [{"paragraphs": [{"context": "éé dog", "qas": [)"
                 R"({"id": "a", "question": "q", "answers": [{"text": "dog", "answer_start": 4},)"
                 R"( {"text": "ég", "answer_start": 0}, {"text": "x", "answer_start": 9},)"
                 R"( {"text": "x"}]}]}]}, {}]})"),
      ElementsAre("data[0].paragraphs[0].qas[0] (a) answer_start: 4 holds \"og\", not the answer "
                  "\"dog\"",
                  "data[0].paragraphs[0].qas[0] (a) answer_start: 0 holds \"éé\", not the answer "
                  "\"ég\"",
                  "data[0].paragraphs[0].qas[0] (a) answer_start: 9 is outside the context's 6 "
                  "characters",
                  "data[0].paragraphs[0].qas[0] (a) answer_start: expected a number",
                  "data[1] () paragraphs: expected a list"));
}

TEST(ValidateTest, OtherFilesAreOneProblem) {
  EXPECT_THAT(ProblemsOf(""), ElementsAre("1 () the file is empty"));
  EXPECT_THAT(
      ProblemsOf("{\n\"a\": 1\n}\n"),
      ElementsAre("1 () expected SQuAD JSON or MRQA JSON lines, got another JSON document"));
}

// 60 kB of gzip that unpack to one record of 60 MiB took 940 MB and had no problem, though every
// reader refuses it.
TEST(ValidateTest, ARecordBeyondTheLimitIsAProblem) {
  const std::string long_text(size_t{33} << 20, 'x');
  EXPECT_THAT(ProblemsOf(absl::StrCat(R"({"context": ")", long_text, R"(", "qas": []})")),
              ElementsAre("1 () the line has more than 32 MiB; expected one record a line (is this "
                          "file of another format?)"));
  EXPECT_THAT(ProblemsOf(absl::StrCat(R"({"data": [{"title": ")", long_text, R"("}]})")),
              ElementsAre("1 () data[0]: the item has more than 32 MiB"));
}

TEST(ValidateTest, ALargeDocumentIsCheckedByArticles) {
  const std::string text(size_t{1} << 20, 'x');
  std::string document = R"({"version": "1.1", "data": [)";
  for (int i = 0; i < 34; ++i) {
    absl::StrAppend(&document, R"({"paragraphs": [{"context": ")", text, R"(", "qas": []}]},)",
                    "\n");
  }
  EXPECT_THAT(ProblemsOf(document + R"({"paragraphs": 3}]})"),
              ElementsAre("data[34] () paragraphs: expected a list"));
  EXPECT_THAT(ProblemsOf(document + "{}"), ElementsAre(HasSubstr("35 () ")));
}

TEST(ValidateTest, ListedProblemsAreLimitedAndAllAreCounted) {
  TempDir dir;
  std::string lines;
  for (int i = 0; i < 50; ++i) {
    lines += "{x\n";
  }
  ASSERT_OK(WriteFileAtomically(dir.File("d"), lines));
  ASSERT_OK_AND_ASSIGN(const Validation validation, ValidateDataset(dir.File("d"), 7));
  EXPECT_EQ(validation.problem_count, 50);
  EXPECT_EQ(validation.problems.size(), 7U);
  EXPECT_THAT(ValidateDataset(dir.File("absent"), 7),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("absent")));
}

TEST(StatsTest, MeansAreOverQuestions) {
  TempDir dir;
  ASSERT_OK(WriteFileAtomically(
      dir.File("d"),
      R"({"context": "one two  three", "qas": [{"qid": "a", "question": "q r", "answers": ["x"]},)"
      R"( {"qid": "b", "question": "q r s t", "answers": ["x y", "z"]}]})"
      "\n"
      R"({"context": " one ", "qas": [{"qid": "c", "question": "q r s", "answers": ["one"],)"
      R"( "detected_answers": [{"char_spans": [[1, 3]]}]}]})"
      "\n"));
  ASSERT_OK_AND_ASSIGN(const DatasetStats stats, ComputeStats(dir.File("d")));
  EXPECT_EQ(stats.passages, 2);
  EXPECT_EQ(stats.questions, 3);
  EXPECT_EQ(stats.answers, 4);
  EXPECT_EQ(stats.questions_with_spans, 1);
  EXPECT_DOUBLE_EQ(stats.question_tokens_mean, 3);
  EXPECT_DOUBLE_EQ(stats.context_tokens_mean, 7.0 / 3);
  EXPECT_DOUBLE_EQ(stats.answer_tokens_mean, 4.0 / 3);
}

}  // namespace
}  // namespace concur::qa
