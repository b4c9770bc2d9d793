// SPDX-License-Identifier: Apache-2.0
// Properties of what is masked, over many random sequences.
#include "readers/text/masking.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace concur::readers {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Ids below 5 are special, odd ids continue a word.
EntryKinds Kinds(int32_t size = 205) {
  EntryKinds kinds;
  kinds.specials = 5;
  kinds.mask = 4;
  for (int32_t id = 0; id < size; ++id) {
    kinds.continues.push_back(id >= 5 && id % 2 == 1);
  }
  return kinds;
}

// [CLS], `length` - 2 tokens, [SEP].
std::vector<int32_t> RandomSequence(const EntryKinds& kinds, size_t length, Random& random) {
  std::vector<int32_t> ids = {2};
  while (ids.size() + 1 < length) {
    ids.push_back(static_cast<int32_t>(random.Between(5, kinds.size() - 1)));
  }
  ids.push_back(3);
  return ids;
}

size_t Sum(const std::vector<TokenSpan>& spans) {
  size_t sum = 0;
  for (const TokenSpan& span : spans) {
    sum += span.size();
  }
  return sum;
}

TEST(MaskingTest, WordsAreTokensWithWhatContinuesThem) {
  const std::vector<int32_t> ids = {2, 7, 6, 9, 11, 1, 9, 8, 3};
  EXPECT_THAT(WordsOf(ids, Kinds()),
              ElementsAre(TokenSpan{1, 2}, TokenSpan{2, 5}, TokenSpan{6, 7}, TokenSpan{7, 8}));
}

TEST(MaskingTest, TheBudgetIsTheShareRoundedAndAtLeastOne) {
  EXPECT_EQ(BudgetOf(126, 0.15), 19u);
  EXPECT_EQ(BudgetOf(3, 0.15), 1u);
  EXPECT_EQ(BudgetOf(0, 0.15), 0u);
}

// Each way of choosing, over 400 sequences: the share, no special token, whole words.
TEST(MaskingTest, ChosenTokensAreTheShareAndNeverSpecial) {
  const EntryKinds kinds = Kinds();
  for (const auto& [name, choose, whole, share_least] :
       {std::make_tuple("tokens", &ChooseTokens, false, 0.149),
        std::make_tuple("words", &ChooseWords, true, 0.149),
        std::make_tuple("spans", &ChooseSpans, true, 0.14)}) {
    Random random(3, name);
    double chosen_tokens = 0;
    double all_tokens = 0;
    for (int round = 0; round < 400; ++round) {
      const std::vector<int32_t> ids = RandomSequence(kinds, 128, random);
      const std::vector<TokenSpan> words = WordsOf(ids, kinds);
      const std::vector<TokenSpan> spans = choose(words, 0.15, random);
      chosen_tokens += static_cast<double>(Sum(spans));
      all_tokens += 126;
      EXPECT_LE(Sum(spans), BudgetOf(126, 0.15)) << name;
      size_t end = 0;
      for (const TokenSpan& span : spans) {
        EXPECT_LE(end, span.begin) << name << ": disjoint and in order";
        EXPECT_LT(span.begin, span.end) << name;
        EXPECT_TRUE(span.begin >= 1 && span.end <= 127) << name;
        end = span.end;
        const auto edge = [&](size_t at) {
          return std::any_of(words.begin(), words.end(), [at](const TokenSpan& word) {
            return word.begin == at || word.end == at;
          });
        };
        EXPECT_TRUE(!whole || (edge(span.begin) && edge(span.end))) << name;
      }
    }
    EXPECT_NEAR(chosen_tokens / all_tokens, 0.15, 0.15 - share_least) << name;
  }
}

TEST(MaskingTest, EveryTokenIsChosenEquallyOften) {
  const EntryKinds kinds = Kinds();
  Random random(9, "places");
  const std::vector<int32_t> ids = RandomSequence(kinds, 42, random);
  std::array<int, 42> count{};
  constexpr int kRounds = 5000;
  for (int round = 0; round < kRounds; ++round) {
    for (const TokenSpan& span : ChooseTokens(WordsOf(ids, kinds), 0.15, random)) {
      ++count[span.begin];
    }
  }
  for (size_t i = 1; i < 41; ++i) {  // 750 expected, with a deviation of 25
    EXPECT_NEAR(count[i], kRounds * 0.15, 130) << i;
  }
}

TEST(MaskingTest, LengthsOfSpansAreGeometricCutAtTen) {
  Random random(5, "lengths");
  std::array<double, kSpanWordsMax + 1> count{};
  constexpr int kDraws = 100000;
  double sum = 0;
  for (int i = 0; i < kDraws; ++i) {
    const int64_t words = DrawSpanWords(random);
    ASSERT_TRUE(words >= 1 && words <= kSpanWordsMax);
    count[static_cast<size_t>(words)] += 1;
    sum += static_cast<double>(words);
  }
  EXPECT_NEAR(sum / kDraws, 3.797, 0.03);
  for (size_t words = 1; words <= kSpanWordsMax; ++words) {
    const double expected = 0.2 * std::pow(0.8, words - 1) / (1 - std::pow(0.8, 10));
    EXPECT_NEAR(count[words] / kDraws, expected, 0.006) << words;
  }
}

TEST(MaskingTest, SpansNeverTouchAndNeverCrossASpecialToken) {
  const EntryKinds kinds = Kinds();
  Random random(6, "spans");
  bool several_words = false;
  for (int round = 0; round < 300; ++round) {
    std::vector<int32_t> ids = RandomSequence(kinds, 64, random);
    ids[32] = 3;
    const std::vector<TokenSpan> spans = ChooseSpans(WordsOf(ids, kinds), 0.3, random);
    for (size_t i = 0; i < spans.size(); ++i) {
      EXPECT_TRUE(i == 0 || spans[i - 1].end < spans[i].begin);
      EXPECT_TRUE(spans[i].end <= 32 || spans[i].begin > 32);
      several_words |= spans[i].size() > 4;
    }
  }
  EXPECT_TRUE(several_words);
}

TEST(MaskingTest, ReplacementsAreEightyTenTenPercentAndChangeNothingElse) {
  const EntryKinds kinds = Kinds(2005);
  Random random(7, "replaced");
  double masks = 0;
  double kept = 0;
  double others = 0;
  for (int round = 0; round < 1000; ++round) {
    const std::vector<int32_t> before = RandomSequence(kinds, 128, random);
    std::vector<int32_t> ids = before;
    const std::vector<TokenSpan> spans = ChooseTokens(WordsOf(ids, kinds), 0.15, random);
    ReplaceTokens(spans, kBertReplacement, false, kinds, random, ids);
    for (const TokenSpan& span : spans) {
      const int32_t id = ids[span.begin];
      EXPECT_TRUE(id == 4 || id >= 5) << "no special token but the mask is drawn";
      (id == 4 ? masks : id == before[span.begin] ? kept : others) += 1;
      ids[span.begin] = before[span.begin];
    }
    EXPECT_EQ(ids, before);
  }
  const double all = masks + kept + others;  // 19,000: deviations below 0.003
  EXPECT_NEAR(masks / all, 0.8, 0.012);
  EXPECT_NEAR(kept / all, 0.1, 0.012);
  EXPECT_NEAR(others / all, 0.1, 0.012);
}

TEST(MaskingTest, ASpanIsReplacedAsAWhole) {
  const EntryKinds kinds = Kinds(2005);
  Random random(8, "whole");
  int whole = 0;
  for (int round = 0; round < 500; ++round) {
    const std::vector<int32_t> before = RandomSequence(kinds, 12, random);
    std::vector<int32_t> ids = before;
    const std::vector<TokenSpan> spans = {{2, 9}};
    ReplaceTokens(spans, kBertReplacement, true, kinds, random, ids);
    const auto masks = std::count(ids.begin() + 2, ids.begin() + 9, 4);
    EXPECT_TRUE(masks == 0 || masks == 7) << masks;
    whole += masks == 7 ? 1 : 0;
  }
  EXPECT_NEAR(whole, 400, 40);
}

TEST(MaskingTest, GeneratorsNeverReadRandomTokens) {
  const EntryKinds kinds = Kinds();
  Random random(8, "generator");
  for (int round = 0; round < 200; ++round) {
    const std::vector<int32_t> before = RandomSequence(kinds, 32, random);
    std::vector<int32_t> ids = before;
    ReplaceTokens(ChooseTokens(WordsOf(ids, kinds), 0.5, random), kElectraReplacement, false, kinds,
                  random, ids);
    for (size_t i = 0; i < ids.size(); ++i) {
      EXPECT_TRUE(ids[i] == 4 || ids[i] == before[i]);
    }
  }
}

TEST(MaskingTest, SequencesWithoutWordsHaveNothingToPredict) {
  const EntryKinds kinds = Kinds(5);
  Random random(1, "none");
  std::vector<int32_t> ids = {2, 3};
  const std::vector<TokenSpan> words = WordsOf(ids, kinds);
  EXPECT_THAT(words, IsEmpty());
  for (const auto choose : {&ChooseTokens, &ChooseWords, &ChooseSpans}) {
    EXPECT_THAT(choose(words, 0.15, random), IsEmpty());
  }
  ids = {4, 4};
  const std::vector<TokenSpan> spans = {{0, 2}};
  ReplaceTokens(spans, {0, 1}, false, kinds, random, ids);
  EXPECT_THAT(ids, ElementsAre(4, 4)) << "no entry could be drawn";
}

// Id 6 ends a sentence.
TEST(MaskingTest, SegmentsAreCutAfterASentenceElseBeforeAWord) {
  const EntryKinds kinds = Kinds();
  std::vector<bool> ends(kinds.continues.size(), false);
  ends[6] = true;
  const auto cut = [&](const std::vector<int32_t>& ids) { return SegmentCut(ids, kinds, ends); };
  EXPECT_EQ(cut({8, 8, 6, 8, 8, 8, 8, 8}), 3u);
  EXPECT_EQ(cut({8, 8, 6, 8, 6, 8, 8, 8}), 3u) << "of two as near the first counts";
  EXPECT_EQ(cut({6, 8, 8, 8, 8, 8, 8, 6}), 4u) << "both are too near to an end";
  EXPECT_EQ(cut({8, 9, 9, 8, 9, 9, 9, 9}), 3u);
  EXPECT_EQ(cut({8, 9, 9, 9, 9, 9, 9, 9}), 4u) << "no word begins near the middle";
  EXPECT_EQ(cut({8, 8}), 1u);
}

}  // namespace
}  // namespace concur::readers
