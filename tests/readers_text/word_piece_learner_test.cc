// SPDX-License-Identifier: Apache-2.0
#include "readers/text/word_piece_learner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/random.h"
#include "readers/text/piece.h"
#include "readers/text/word_piece.h"
#include "tests/testing/status_matchers.h"

namespace concur::readers {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::StatusIs;

WordPieceLearner LearnerOf(absl::string_view text) {
  WordPieceLearner learner({});
  learner.Add(text);
  return learner;
}

// "hug" 10 times, "pug" 5, "pun" 12, "bun" 4, "hugs" 5: by hand, ##u ##g occurs 20 times, ##u ##n
// 16, then h ##ug 15, p ##un 12, hug ##s and p ##ug 5 each.
TEST(WordPieceLearnerTest, TheMostFrequentPairsBecomeEntries) {
  std::string text;
  for (const auto& [word, count] : std::vector<std::pair<const char*, int>>{
           {"hug", 10}, {"pug", 5}, {"pun", 12}, {"bun", 4}, {"hugs", 5}}) {
    for (int i = 0; i < count; ++i) {
      absl::StrAppend(&text, word, " ");
    }
  }
  const WordPieceLearner learner = LearnerOf(text);
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> entries, learner.Learn(18));
  EXPECT_THAT(entries,
              ElementsAre("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "##u", "##g", "p", "##n",
                          "h", "##s", "b", "##ug", "##un", "hug", "pun", "hugs", "pug"));
  EXPECT_THAT(learner.Learn(20),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("the text gives, 19")));
  EXPECT_THAT(learner.Learn(11), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(", 12")));
}

TEST(WordPieceLearnerTest, TextsAreCutIntoWhatTheyTaught) {
  std::string text;
  Random random(4, "words");
  for (int i = 0; i < 3000; ++i) {
    const auto length = random.Between(1, 9);
    for (int64_t k = 0; k < length; ++k) {
      text += static_cast<char>('a' + random.Below(1 + random.Below(26)));
    }
    text += ' ';
  }
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> entries, LearnerOf(text).Learn(1000));
  EXPECT_EQ(std::set<std::string>(entries.begin(), entries.end()).size(), 1000u);
  ASSERT_OK_AND_ASSIGN(const WordPiece tokenizer, WordPiece::FromEntries(entries, "learned", {}));
  const std::vector<Piece> pieces = tokenizer.Tokenize(text);
  std::set<int32_t> used;
  for (const Piece& piece : pieces) {
    EXPECT_GE(piece.id, kLearnedSpecials) << "nothing is unknown";
    used.insert(piece.id);
  }
  EXPECT_GT(used.size(), 800u);
  EXPECT_LT(pieces.size(), text.size() / 2);
}

TEST(WordPieceLearnerTest, MoreDifferentWordsThanMayBeAreRefused) {
  WordPieceLearner learner({}, 3);
  learner.Add("aa ab ac aa");
  learner.Add("ac ab");
  EXPECT_OK(learner.Learn(9));
  learner.Add("ad");
  EXPECT_THAT(learner.Learn(9), StatusIs(absl::StatusCode::kInvalidArgument,
                                         HasSubstr("more than 3 different words: give less text")));
}

TEST(WordPieceLearnerTest, HostileTextsAreLearnedFrom) {
  std::string characters;  // more than become entries
  for (int32_t c = 0x3400; c < 0x3400 + 3000; ++c) {
    AppendCodePoint(c, characters);
  }
  WordPieceLearner learner({});
  learner.Add(characters);
  learner.Add(std::string(5000, 'x'));
  learner.Add(std::string(100, 'x'));
  learner.Add(std::string("\0\xff [MASK] ab ab", 15));
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> entries,
                       learner.Learn(kLearnedSpecials + kLearnedCharactersMax + 1));
  EXPECT_EQ(entries.back(), "##xx");
  EXPECT_OK(WordPieceLearner({}).Learn(5));
  EXPECT_THAT(WordPieceLearner({}).Learn(6),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("the text gives, 5")));
}

}  // namespace
}  // namespace concur::readers
