// SPDX-License-Identifier: Apache-2.0
// Windows, labels and answers by hand; the comparison with the originals is in
// checkpoint_tokenizer_test.cc.
#include "studies/readers/text/windows.h"

#include <string>
#include <vector>

#include "base/check.h"
#include "studies/readers/text/best_answers.h"
#include "tests/testing/test.h"

namespace concur::readers {
namespace {

constexpr char kLetters[] = R"({"normalizer": {"type": "BertNormalizer"},
  "pre_tokenizer": {"type": "BertPreTokenizer"}, "model": {"type": "WordPiece", "vocab": {
  "[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4, "a": 5, "b": 6, "c": 7, "d": 8,
  "e": 9, "q": 10}}})";

CheckpointTokenizer Letters(Generation generation) {
  auto made = CheckpointTokenizer::ParseJson(kLetters, "t.json", ImplementationOf(generation));
  CONCUR_CHECK_OK(made.status());
  return *std::move(made);
}

// The windows of "a b c d e", asked "q": the pieces of each.
std::vector<std::pair<int64_t, int64_t>> Ranges(const WindowOptions& options) {
  const CheckpointTokenizer letters = Letters(options.generation);
  const auto windows =
      MakeWindows(letters, options, TokenizePassage(letters, options.generation, "a b c d e"), "q");
  CONCUR_CHECK_OK(windows.status());
  std::vector<std::pair<int64_t, int64_t>> ranges;
  for (const Window& window : *windows) {
    ranges.emplace_back(window.first_piece, window.pieces);
  }
  return ranges;
}

TEST(WindowsTest, TheStrideIsAStepInOneGenerationAndAnOverlapInTheOther) {
  using Range = std::pair<int64_t, int64_t>;
  // [CLS] q [SEP] and [SEP] leave room for three.
  EXPECT_THAT(Ranges({Generation::kRunSquad, 7, 1, 64}),
              ElementsAre(Range{0, 3}, Range{1, 3}, Range{2, 3}));
  EXPECT_THAT(Ranges({Generation::kRunQa, 7, 1, 64}), ElementsAre(Range{0, 3}, Range{2, 3}));
  EXPECT_THAT(Ranges({Generation::kRunQa, 7, 2, 64}),
              ElementsAre(Range{0, 3}, Range{1, 3}, Range{2, 3}));
  EXPECT_THAT(Ranges({Generation::kRunQa, 20, 2, 64}), ElementsAre(Range{0, 5}));
}

TEST(WindowsTest, AnAnswerIsLabelledInTheWindowsThatHaveAllOfIt) {
  for (const Generation generation : {Generation::kRunSquad, Generation::kRunQa}) {
    const CheckpointTokenizer letters = Letters(generation);
    const WindowOptions options = {generation, 7, 2, 64};
    const TokenizedPassage passage = TokenizePassage(letters, generation, "a b c d e");
    const auto windows = MakeWindows(letters, options, passage, "q");
    const auto labels = LabelWindows(letters, options, passage, *windows, {4, 7});  // "c d"
    EXPECT_EQ(labels.front(), Label()) << "begins in the window, but ends behind it";
    EXPECT_EQ(labels.back(), (Label{3, 4, false}));
  }
}

TEST(WindowsTest, AQuestionThatLeavesNoRoomIsCutAndHostileSizesAreRefused) {
  const CheckpointTokenizer letters = Letters(Generation::kRunQa);
  const TokenizedPassage passage = TokenizePassage(letters, Generation::kRunQa, "a b c d e");
  const WindowOptions options = {Generation::kRunQa, 8, 2, 0};
  const auto windows = MakeWindows(letters, options, passage, "q q q q q q q q q q q q q");
  ASSERT_TRUE(windows.ok());
  for (const Window& window : *windows) {
    EXPECT_LE(window.ids.size(), 8u);
    EXPECT_GT(window.pieces, 0);
  }
  for (const WindowOptions& wrong :
       {WindowOptions{Generation::kRunQa, 8, 5, 0}, WindowOptions{Generation::kRunQa, 8, -1, 0},
        WindowOptions{Generation::kRunSquad, 8, 0, 0},
        WindowOptions{Generation::kRunQa, 2, 0, 0}}) {
    EXPECT_TRUE(absl::IsInvalidArgument(MakeWindows(letters, wrong, passage, "q").status()));
  }
}

TEST(WindowsTest, AnEmptyPassageAnswersNothing) {
  for (const Generation generation : {Generation::kRunSquad, Generation::kRunQa}) {
    const CheckpointTokenizer letters = Letters(generation);
    const TokenizedPassage passage = TokenizePassage(letters, generation, " ");
    const auto windows = MakeWindows(letters, {generation, 8, 2, 0}, passage, "q");
    ASSERT_TRUE(windows.ok());
    const std::vector<float> zeros(8, 0);
    const std::vector<WindowScores> scores(windows->size(), {zeros, zeros});
    const auto answers =
        BestAnswers(letters, {.generation = generation}, passage, *windows, scores);
    ASSERT_EQ(answers.size(), 1u);
    EXPECT_EQ(answers[0].text, "empty");
  }
}

TEST(BestAnswersTest, ThePieceOfTheTextThatTokensStandForIsFound) {
  EXPECT_EQ(FinalText("steve smith", "Steve Smith's", true), "Steve Smith");
  EXPECT_EQ(FinalText("cafe", "(Café)", true), "Café");
  EXPECT_EQ(FinalText("nowhere", "(Café)", true), "(Café)");
  EXPECT_EQ(FinalText("", "(Café)", true), "(Café)");
}

}  // namespace
}  // namespace concur::readers
