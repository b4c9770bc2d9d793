// SPDX-License-Identifier: Apache-2.0
#include "qa/builders/passages.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/random.h"
#include "tests/testing/test.h"

namespace concur::qa {
namespace {

std::string Text(PassageSource& source, const TokenTable& table, Random& random,
                 Split split = Split::kTrain) {
  std::vector<uint32_t> tokens;
  EXPECT_OK(source.Next(split, random, tokens));
  return absl::StrJoin(tokens, " ",
                       [&](std::string* out, uint32_t token) { out->append(table[token]); });
}

TEST(UniformPassagesTest, EveryTokenIsAboutEquallyFrequent) {
  Random random(1, "test");
  const auto source = UniformPassages(10, 10'000);
  std::vector<uint32_t> tokens;
  ASSERT_OK(source->Next(Split::kTrain, random, tokens));
  std::map<uint32_t, int> counts;
  for (const uint32_t token : tokens) {
    ++counts[token];
  }
  ASSERT_EQ(counts.size(), 10U);
  for (const auto& [token, count] : counts) {
    EXPECT_NEAR(count, 1000, 150);  // five standard deviations
  }
}

TEST(TrigramPassagesTest, EveryThreeTokensStandInTheText) {
  const std::vector<std::string> words = absl::StrSplit("a b c a b d a b c b a", ' ');
  std::set<std::string> trigrams;
  for (size_t i = 0; i + 2 < words.size(); ++i) {
    trigrams.insert(absl::StrCat(words[i], " ", words[i + 1], " ", words[i + 2]));
  }
  TokenTable table;
  const auto source = TrigramPassages(words, 200, table);
  ASSERT_OK(source.status());
  Random random(1, "test");
  const std::vector<std::string> text = absl::StrSplit(Text(**source, table, random), ' ');
  ASSERT_EQ(text.size(), 200U);
  int known = 0;
  int after_ab_c = 0;
  int after_ab = 0;
  for (size_t i = 0; i + 2 < text.size(); ++i) {
    known += trigrams.contains(absl::StrCat(text[i], " ", text[i + 1], " ", text[i + 2])) ? 1 : 0;
    if (text[i] == "a" && text[i + 1] == "b") {
      ++after_ab;
      after_ab_c += text[i + 2] == "c" ? 1 : 0;
    }
  }
  // Where the text's end is reached, passages go on elsewhere.
  EXPECT_GT(known, 150);
  // Two of the three places of "a b" go on with "c".
  EXPECT_NEAR(static_cast<double>(after_ab_c) / after_ab, 2.0 / 3, 0.3);
  EXPECT_THAT(TrigramPassages({"a", "b", "c"}, 5, table),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("got 3")));
}

TEST(GrammarPassagesTest, DerivationsFollowTheProbabilities) {
  TokenTable table;
  const auto source = GrammarPassages(
      "# a comment\nS -> NP 'saw' NP [1.0]\nNP -> \"the\" N [0.75] | 'Mary' [0.25]\nN -> 'dog' "
      "[1]\n",
      "g", 40'000, table);
  ASSERT_OK(source.status());
  Random random(1, "test");
  const std::vector<std::string> text = absl::StrSplit(Text(**source, table, random), ' ');
  ASSERT_EQ(text.size(), 40'000U);
  double the = 0;
  double mary = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    the += text[i] == "the" ? 1 : 0;
    mary += text[i] == "Mary" ? 1 : 0;
    if (text[i] == "dog") {
      EXPECT_EQ(text[i - 1], "the");
    }
  }
  EXPECT_NEAR(mary / (the + mary), 0.25, 0.02);
}

TEST(GrammarPassagesTest, MalformedGrammarsAreRefusedWithTheLine) {
  struct Case {
    std::string grammar;
    std::string message;
  };
  const std::vector<Case> cases = {
      {"", "g: expected rules, got none"},
      {"S 'a' [1]", "g:1: expected SYMBOL -> items"},
      {"S -> 'a'", "g:1: expected [probability]"},
      {"\nS -> 'a [1]", "g:2: expected a closing quote"},
      {"S -> 'a' [1", "g:1: expected a closing ]"},
      {"S -> 'a' [x]", "expected a probability from 0 to 1, got [x]"},
      {"S -> 'a' [1.5]", "expected a probability from 0 to 1, got [1.5]"},
      {"S -> 'a' [0.5]", "g:1: the probabilities of S sum to 0.5"},
      {"S -> 'a' [1] 'b' [0]", "expected | or the end"},
      {"S -> N [1]", "g:1: the symbol N has no rule"},
      {"S -> 'a' S [1]", "g:1: no derivation of S ever ends"},
      {"S -> ] [1]", "expected a symbol"},
  };
  for (const Case& c : cases) {
    TokenTable table;
    EXPECT_THAT(GrammarPassages(c.grammar, "g", 10, table),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(c.message)))
        << c.grammar;
  }
}

TEST(GrammarPassagesTest, GrammarThatMakesNoTokenEndsWithAnError) {
  TokenTable table;
  const auto source = GrammarPassages("S -> [1]\n", "g", 10, table);
  ASSERT_OK(source.status());
  Random random(1, "test");
  std::vector<uint32_t> tokens;
  EXPECT_THAT((*source)->Next(Split::kTrain, random, tokens),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("derivation steps")));
}

TEST(FilePassagesTest, LinesAreUsedOnceAndInOneSplitOnly) {
  std::string lines;
  for (int i = 0; i < 30; ++i) {
    absl::StrAppend(&lines, "passage number w", i, " goes\r\n", i % 3 == 0 ? "same same\n" : "\n");
  }
  TokenTable table;
  const auto source = FilePassages(lines, "p", 100, 2, 1, 1, table);
  ASSERT_OK(source.status());
  Random random(1, "test");
  std::multiset<std::string> seen;
  for (int i = 0; i < 20; ++i) {
    seen.insert(Text(**source, table, random, Split::kTrain));
  }
  for (int i = 0; i < 11; ++i) {
    seen.insert(Text(**source, table, random, Split::kTest));
  }
  EXPECT_EQ(std::set<std::string>(seen.begin(), seen.end()).size(), 31U);
  std::vector<uint32_t> tokens;
  EXPECT_THAT((*source)->Next(Split::kTest, random, tokens),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("11 test passages")));
}

TEST(FilePassagesTest, PunctuationAtEdgesBecomesTokens) {
  TokenTable table;
  const auto source = FilePassages("(\"So,\" it's well-known ... 東京)", "p", 100, 1, 0, 1, table);
  ASSERT_OK(source.status());
  Random random(1, "test");
  EXPECT_EQ(Text(**source, table, random), "( \" So , \" it's well-known . . . 東京 )");
}

TEST(FilePassagesTest, InvalidUtf8IsRefusedWithTheLine) {
  TokenTable table;
  EXPECT_THAT(FilePassages("fine line\nbad \xC0 line\n", "p", 100, 1, 1, 1, table),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("p:2: expected UTF-8")));
}

}  // namespace
}  // namespace concur::qa
