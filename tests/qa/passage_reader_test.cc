// SPDX-License-Identifier: Apache-2.0
#include "qa/passage_reader.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/file.h"
#include "tests/testing/test.h"

namespace concur::qa {
namespace {

class PassageReaderTest : public ::testing::Test {
 protected:
  // Reads `contents` with kPassOn into passages_, places_ and notes_.
  absl::Status PassOn(const std::string& contents, bool is_squad) {
    EXPECT_OK(WriteFileAtomically(path_, contents));
    ReadPolicy policy;
    policy.bad_records = ReadPolicy::BadRecords::kPassOn;
    policy.note = [this](absl::string_view what, absl::string_view place) {
      notes_.push_back(absl::StrCat(place.substr(path_.size()), " ", what.substr(0, 9)));
    };
    const OnPassage keep = [this](Passage passage, const std::string& place) {
      passages_.push_back(std::move(passage));
      places_.push_back(place.substr(path_.size()));
      return absl::OkStatus();
    };
    return is_squad ? ReadSquad(path_, policy, keep) : ReadMrqa(path_, policy, keep);
  }

  TempDir directory_;
  const std::string path_ = directory_.File("data");
  std::vector<Passage> passages_;
  std::vector<std::string> places_;
  std::vector<std::string> notes_;
};

TEST_F(PassageReaderTest, BadSquadQuestionsArePassedOnWithWhatTheyHave) {
  ASSERT_OK(PassOn(R"({"data": [{"title": "T", "paragraphs": [{"context": "a b", "qas": [
{"id": "x", "question": "?"},
{"id": "x", "question": "?", "answers": []},
{"id": "", "question": "?", "answers": [{"text": "b", "answer_start": 0}, {"text": "b", "answer_start": 9}]},
{"id": "y", "question": "?", "answers": [{"text": "b", "answer_start": 2}]}]}]}]})",
                   /*is_squad=*/true));
  ASSERT_EQ(passages_.size(), 1);
  EXPECT_EQ(passages_[0].title, "T");
  const std::vector<Question>& questions = passages_[0].questions;
  ASSERT_EQ(questions.size(), 4);
  EXPECT_THAT(questions[0].answers, IsEmpty());
  EXPECT_THAT(questions[1].answers, IsEmpty());
  EXPECT_THAT(questions[2].answers, ElementsAre("b", "b"));
  EXPECT_THAT(questions[2].spans, IsEmpty());
  EXPECT_THAT(questions[3].spans, ElementsAre(Span{2, 3}));
  EXPECT_THAT(places_, ElementsAre(":1: data[0].paragraphs[0]"));
  EXPECT_THAT(notes_, ElementsAre(":1: data[0].paragraphs[0].qas[2] an answer",
                                  ":1: data[0].paragraphs[0].qas[2] an answer"));
}

TEST_F(PassageReaderTest, BadMrqaQuestionsArePassedOnWithWhatTheyHave) {
  ASSERT_OK(PassOn(
      R"({"header": {}}
{"title": "T", "context": "a b", "qas": [{"qid": "x", "question": "?", "answers": []}, {"id": "x", "question": "?", "answers": ["b"], "detected_answers": [{"char_spans": [[2, 2], [2, 3], [1, 0]]}]}]}
{"header": "late"}
)",
      /*is_squad=*/false));
  ASSERT_EQ(passages_.size(), 1);
  EXPECT_EQ(passages_[0].title, "");
  EXPECT_THAT(passages_[0].questions[0].answers, IsEmpty());
  EXPECT_THAT(passages_[0].questions[1].spans, ElementsAre(Span{2, 3}));
  EXPECT_THAT(places_, ElementsAre(":2"));
  EXPECT_THAT(notes_, ElementsAre(":2: qas[1] a span th", ":2: qas[1] a span th"));
}

TEST_F(PassageReaderTest, RowsOfOneContextAreOnePassage) {
  const std::string rows[] = {
      R"({"id":262,"title":"T","context":"a b","question":"?","answers":{"text":["b"],"answer_start":[2]}})",
      R"({"id":"2","title":"T","context":"a b","question":"?","answers":{"text":["a","b"],"answer_start":[0,2]}})",
      R"({"id":"3","title":"T","context":"c","question":"?","answers":{"text":[],"answer_start":[]}})"};
  for (const std::string& text :
       {absl::StrJoin(rows, "\n"), absl::StrCat("{\"data\":[", absl::StrJoin(rows, ","), "]}")}) {
    passages_.clear();
    ASSERT_OK(PassOn(text, /*is_squad=*/true));
    ASSERT_EQ(passages_.size(), 2);
    EXPECT_EQ(passages_[0].title, "T");
    ASSERT_EQ(passages_[0].questions.size(), 2);
    EXPECT_EQ(passages_[0].questions[0].id, "262");
    EXPECT_THAT(passages_[0].questions[1].answers, ElementsAre("a", "b"));
    EXPECT_THAT(passages_[0].questions[1].spans, ElementsAre(Span{0, 1}, Span{2, 3}));
    EXPECT_THAT(passages_[1].questions[0].answers, IsEmpty());
    EXPECT_THAT(notes_, IsEmpty());
  }
  EXPECT_THAT(
      PassOn(
          R"({"id":"1","context":"a","question":"?","answers":{"text":["a"],"answer_start":[]}})",
          /*is_squad=*/true),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("answers: expected as many places as texts, got 0 and 1")));
  ReadPolicy refuse;
  EXPECT_THAT(ReadMrqa(path_, refuse, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("concur data import squad")));
}

TEST_F(PassageReaderTest, FormsOfRowsThatAreNotReadAreRefusedWithThoseThatAre) {
  // The error spoke of the list "data" of SQuAD alone, or of a string.
  for (const char* text :
       {R"([{"id": "1", "context": "a", "question": "?", "answers": {}}])",
        R"({"id": ["1"], "context": ["a"], "question": ["?"], "answers": [{}]})",
        R"({"rows": [{"row": {"id": "1", "context": "a", "question": "?"}}]})"}) {
    EXPECT_THAT(
        PassOn(text, /*is_squad=*/true),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("are not read; write a row a line")))
        << text;
  }
}

TEST_F(PassageReaderTest, PassingOnStillNeedsTheLayoutAndAnswerSpans) {
  EXPECT_THAT(PassOn(R"({"data": [{"paragraphs": [{"context": "a", "qas": [
{"id": "x", "question": "?", "answers": [{"text": "a"}]}]}]}]})",
                     /*is_squad=*/true),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr(":1: data[0].paragraphs[0].qas[0] (id \"x\"): "
                                 "answers.answer_start: missing; expected a whole number")));
  EXPECT_THAT(
      PassOn(R"({"context": "a", "qas": [{"qid": "x", "question": "?", "answers": ["a"]}]})",
             /*is_squad=*/false),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr(":1: qas[0]: detected_answers: missing; expected a list")));
  EXPECT_THAT(PassOn(R"({"name": "x"})", /*is_squad=*/false),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(":1: context: missing")));
}

}  // namespace
}  // namespace concur::qa
