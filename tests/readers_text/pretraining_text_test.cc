// SPDX-License-Identifier: Apache-2.0
#include "readers/text/pretraining_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/check.h"
#include "base/file.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace concur::readers {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::StatusIs;

class PretrainingTextTest : public ::testing::Test {
 protected:
  std::string File(const std::string& name, absl::string_view text) {
    CONCUR_CHECK_OK(WriteFileAtomically(directory_.File(name), text));
    return directory_.File(name);
  }
  static absl::StatusOr<std::vector<std::string>> Texts(const TextSources& sources) {
    std::vector<std::string> texts;
    const absl::Status status =
        ForEachText(sources, [&](absl::string_view text) { texts.emplace_back(text); });
    return status.ok() ? absl::StatusOr<std::vector<std::string>>(texts) : status;
  }

  testing::TempDir directory_;
};

TEST_F(PretrainingTextTest, LinesOfFilesComeBeforePassagesOfDataSets) {
  const std::string lines = File("a.txt", "One two .\n \n\nthree");
  const std::string data =
      File("b.jsonl", R"({"context": "A passage .", "qas": [{"qid": "q", "question": "What ?",)"
                      R"( "answers": ["passage"]}]})"
                      "\n");
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> texts, Texts({{lines}, {data}}));
  EXPECT_THAT(texts, ElementsAre("One two .", "three", "A passage ."));
}

TEST_F(PretrainingTextTest, WhatCannotBeReadIsRefusedWithItsPlace) {
  EXPECT_THAT(Texts({{File("bad.txt",
                           "good\nb\xff"
                           "d\n")},
                     {}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("bad.txt:2: not UTF-8 at byte 2"), HasSubstr("iconv"))));
  EXPECT_THAT(Texts({{File("empty.txt", "\n \t\n")}, {}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no text")));
  EXPECT_THAT(Texts({}), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--text")));
  EXPECT_THAT(Texts({{directory_.File("absent")}, {}}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("absent")));
  EXPECT_THAT(Texts({{}, {File("no.jsonl", "{}\n")}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no.jsonl:1")));
}

TEST_F(PretrainingTextTest, SpecialTokensOfATextAreNotRead) {
  ASSERT_OK_AND_ASSIGN(
      const WordPiece tokenizer,
      WordPiece::Parse("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n", "vocab.txt", {}));
  const std::string text = File("t.txt", "[CLS] a [MASK] [UNK] b [SEP]\nzzz [PAD] a\n");
  ASSERT_OK_AND_ASSIGN(const std::vector<int32_t> ids, PiecesOfTexts({{text}, {}}, tokenizer));
  EXPECT_THAT(ids, ElementsAre(5, 1, 6, 1, 5));
}

}  // namespace
}  // namespace concur::readers
