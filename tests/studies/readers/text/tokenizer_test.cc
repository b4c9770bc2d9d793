// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/text/tokenizer.h"

#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "base/random.h"
#include "tests/testing/test.h"

namespace concur::readers {
namespace {

std::string Tokens(absl::string_view text) {
  std::vector<std::string> words;
  for (const Token& token : Tokenize(text)) {
    words.emplace_back(token.In(text));
  }
  return absl::StrJoin(words, " | ");
}

TEST(TokenizerTest, CutsWhereAnswersEnd) {
  struct Case {
    absl::string_view text, tokens;
  };
  const std::vector<Case> cases = {
      {"", ""},
      {"The cat sat.", "The | cat | sat | ."},
      {"(in 1990-1995)", "( | in | 1990 | - | 1995 | )"},
      {"3.5 1,000 at 10:30.", "3.5 | 1,000 | at | 10:30 | ."},
      {"the U.S. army", "the | U.S. | army"},
      {"Mr. Smith et al.", "Mr. | Smith | et | al | ."},
      {"Ann's dogs' don't we'll CAN'T", "Ann | 's | dogs | ' | do | n't | we | 'll | CA | N'T"},
      {"Ann\u2019s isn\u2019t O\u2019Brien", "Ann | \u2019s | is | n\u2019t | O\u2019Brien"},
      {"O'Brien 'quoted'", "O'Brien | ' | quoted | '"},
      {"wait... -- ``so''", "wait | ... | -- | `` | so | ''"},
      {"$5 10% C++", "$ | 5 | 10 | % | C | + | +"},
      {"@entity12 met @placeholder , a@b.c", "@entity12 | met | @placeholder | , | a | @ | b.c"},
      {"<P> one </P> <3 a<b", "<P> | one | </P> | < | 3 | a | < | b"},
      {"caf\u00e9 na\u0303o \u4e2d\u6587\u3002", "caf\u00e9 | na\u0303o | \u4e2d\u6587 | \u3002"},
      {"a\u00a0b\u200bc", "a | b | c"},
      {"x\xff\xfey", "x | \xff | \xfe | y"},
      {"XXXXX ____", "XXXXX | ____"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(Tokens(c.text), c.tokens) << c.text;
  }
}

TEST(TokenizerTest, OnlyWhiteSpaceLiesBetweenTokens) {
  const std::vector<std::string> pieces = {
      "a",      "Mr", ".", "'", "\u2019", "s",      "n't",  " ",      "1", ",",      "-", "@",
      "entity", "<",  ">", "/", "\n",     "\u00e9", "\xff", "\u4e2d", "U", "\u0301", "_"};
  Random random(7, "tokenizer");
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (uint64_t i = random.Below(12); i > 0; --i) {
      text += pieces[random.Below(pieces.size())];
    }
    uint32_t at = 0;
    for (const Token& token : Tokenize(text)) {
      ASSERT_LT(token.begin, token.end) << text;
      ASSERT_LE(at, token.begin) << text;
      ASSERT_EQ(text.substr(at, token.begin - at).find_first_not_of(" \n"), std::string::npos)
          << text;
      at = token.end;
    }
    ASSERT_EQ(text.substr(at).find_first_not_of(" \n"), std::string::npos) << text;
  }
}

TEST(TokenizerTest, MarkersAreKnown) {
  EXPECT_TRUE(IsMarker("@entity0"));
  EXPECT_TRUE(IsMarker("@placeholder"));
  EXPECT_TRUE(IsMarker("XXXXX"));
  EXPECT_FALSE(IsMarker("XX"));
  EXPECT_FALSE(IsMarker("@ann"));
  EXPECT_FALSE(IsMarker("entity0"));
}

}  // namespace
}  // namespace concur::readers
