// SPDX-License-Identifier: Apache-2.0
#include "readers/text/pretraining_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace concur::readers {
namespace {

using ::testing::ElementsAre;

// Five special tokens, ".", then 200 words of which every fourth continues.
std::vector<std::string> RowVocabulary() {
  std::vector<std::string> vocabulary = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "."};
  for (int i = 0; i < 200; ++i) {
    vocabulary.push_back(absl::StrCat(i % 4 == 3 ? "##" : "", "w", i));
  }
  return vocabulary;
}

// A text without repetition, so that places are known from the ids.
std::vector<int32_t> CountingText() {
  std::vector<int32_t> pieces;
  for (int32_t id = 6; id < 206; ++id) {
    pieces.push_back(id % 20 == 19 ? 5 : id);
  }
  return pieces;
}

TEST(PretrainingRowsTest, EntriesSayWhatContinuesAndWhatEndsASentence) {
  const RowEntries entries = EntriesOf({"[PAD]", "a", "##a", "##", ".", "?", "...", "!"});
  EXPECT_THAT(entries.kinds.continues,
              ElementsAre(false, false, true, false, false, false, false, false));
  EXPECT_THAT(entries.ends_sentence,
              ElementsAre(false, false, false, false, true, true, false, true));
}

TEST(PretrainingRowsTest, RowsAreTheTextBetweenSpecialTokensMaskedAtTheirSpansAlone) {
  const RowEntries entries = EntriesOf(RowVocabulary());
  const std::vector<int32_t> text = CountingText();
  Random random(2, "rows");
  std::set<int32_t> starts;
  for (const Objective objective :
       {Objective::kTokens, Objective::kWords, Objective::kSpans, Objective::kReplaced}) {
    for (int i = 0; i < 100; ++i) {
      const PretrainingRow row =
          MakeRow(text, {.objective = objective, .length = 32}, entries, random);
      ASSERT_EQ(row.original.size(), 32u);
      EXPECT_EQ(row.original.front(), 2);
      EXPECT_EQ(row.original.back(), 3);
      EXPECT_EQ(row.second_at, 32u);
      const auto at =
          std::search(text.begin(), text.end(), row.original.begin() + 1, row.original.end() - 1);
      ASSERT_NE(at, text.end());
      EXPECT_FALSE(entries.kinds.continues[static_cast<size_t>(*at)]) << "at the start of a word";
      starts.insert(*at);
      ASSERT_FALSE(row.spans.empty());
      std::vector<int32_t> restored = row.ids;
      for (const TokenSpan& span : row.spans) {
        std::copy(row.original.begin() + static_cast<int64_t>(span.begin),
                  row.original.begin() + static_cast<int64_t>(span.end),
                  restored.begin() + static_cast<int64_t>(span.begin));
      }
      EXPECT_EQ(restored, row.original);
      EXPECT_EQ(row.ids.front(), 2);
      EXPECT_EQ(row.ids.back(), 3);
    }
  }
  EXPECT_GT(starts.size(), 80u) << "rows begin anywhere";
}

TEST(PretrainingRowsTest, HalfOfTheRowsHaveTheirSegmentsExchanged) {
  const RowEntries entries = EntriesOf(RowVocabulary());
  const std::vector<int32_t> text = CountingText();
  Random random(3, "order");
  int swapped = 0;
  constexpr int kRows = 2000;
  for (int i = 0; i < kRows; ++i) {
    const PretrainingRow row =
        MakeRow(text, {.length = 45, .sentence_order = true}, entries, random);
    ASSERT_EQ(row.original.size(), 45u);
    EXPECT_EQ(row.original[row.second_at - 1], 3);
    std::vector<int32_t> first(row.original.begin() + 1,
                               row.original.begin() + static_cast<int64_t>(row.second_at) - 1);
    std::vector<int32_t> second(row.original.begin() + static_cast<int64_t>(row.second_at),
                                row.original.end() - 1);
    EXPECT_EQ(first.size() + second.size(), 42u);
    EXPECT_GE(std::min(first.size(), second.size()), 10u);
    std::vector<int32_t> joined = row.swapped ? second : first;
    const std::vector<int32_t>& after = row.swapped ? first : second;
    EXPECT_EQ(joined.back(), 5) << "a segment ends with a sentence";
    joined.insert(joined.end(), after.begin(), after.end());
    EXPECT_NE(std::search(text.begin(), text.end(), joined.begin(), joined.end()), text.end());
    swapped += row.swapped ? 1 : 0;
  }
  EXPECT_NEAR(swapped, kRows / 2, 100);  // a deviation of 22
}

TEST(PretrainingRowsTest, TheSameRandomNumbersGiveTheSameRow) {
  const RowEntries entries = EntriesOf(RowVocabulary());
  const std::vector<int32_t> text = CountingText();
  std::set<std::vector<int32_t>> different;
  for (const uint64_t seed : {1, 2, 3, 1, 2, 3}) {
    Random random(seed, "row");
    different.insert(MakeRow(text, {.objective = Objective::kSpans}, entries, random).ids);
  }
  EXPECT_EQ(different.size(), 3u);
  // A text that just fills the row.
  Random random(1, "whole");
  const std::vector<int32_t> short_text(text.begin(), text.begin() + 30);
  EXPECT_EQ(MakeRow(short_text, {.length = 32}, entries, random).original[1], text[0]);
}

}  // namespace
}  // namespace concur::readers
