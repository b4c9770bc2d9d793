// SPDX-License-Identifier: Apache-2.0
#include "qa/builders/text.h"

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/random.h"
#include "tests/testing/test.h"

namespace concur::qa {
namespace {

std::vector<std::string> SentencesOf(const std::string& text) {
  const auto document = SplitText(text, "t.txt");
  EXPECT_OK(document.status());
  std::vector<std::string> sentences;
  for (const Sentence& sentence : document->sentences) {
    sentences.push_back(sentence.text);
  }
  return sentences;
}

std::vector<std::string> WordsOf(const std::string& text) {
  const auto document = SplitText(text, "t.txt");
  EXPECT_OK(document.status());
  std::vector<std::string> words;
  for (const Sentence& sentence : document->sentences) {
    for (size_t w = 0; w < sentence.words.size(); ++w) {
      words.emplace_back(sentence[w]);
    }
  }
  return words;
}

TEST(TextTest, SentencesEndAtFullStopsQuestionsAndExclamations) {
  EXPECT_THAT(SentencesOf("He came. Did he go? Yes! \"So be it.\" They left."),
              ElementsAre("He came.", "Did he go?", "Yes!", "\"So be it.\"", "They left."));
}

TEST(TextTest, AbbreviationsInitialsAndDecimalsEndNoSentence) {
  EXPECT_THAT(SentencesOf("Mr. Smith met J. Doe at 3.5 miles. It rained."),
              ElementsAre("Mr. Smith met J. Doe at 3.5 miles.", "It rained."));
  EXPECT_THAT(SentencesOf("So said I. Then he went."), ElementsAre("So said I.", "Then he went."));
}

TEST(TextTest, SentencesOfTokenizedTextBeginInLowerCase) {
  EXPECT_THAT(SentencesOf("`` who is it ? '' ann asked . mr. bob came ."),
              ElementsAre("`` who is it ? ''", "ann asked .", "mr. bob came ."));
}

TEST(TextTest, BlankLinesEndSentencesAndSingleOnesDoNot) {
  EXPECT_THAT(SentencesOf("a title\r\n\r\nfirst  line\r\nsecond\tline\n\n\n"),
              ElementsAre("a title", "first line second line"));
}

TEST(TextTest, WordsKeepInnerApostrophesAndHyphens) {
  EXPECT_THAT(WordsOf("'Don't' well-known rock-'n'-roll, a.b 12x"),
              ElementsAre("Don't", "well-known", "rock", "n", "roll", "a", "b", "x"));
}

TEST(TextTest, LettersBeyondAsciiAreLetters) {
  EXPECT_THAT(WordsOf("\xEF\xBB\xBFÉmile’s naïve Über-café — 東京"),
              ElementsAre("Émile’s", "naïve", "Über-café", "東京"));
}

TEST(TextTest, CapitalsAndBreaksAreMarked) {
  const auto document = SplitText("And God said, Let Moab be.", "t");
  ASSERT_OK(document.status());
  const auto& words = document->sentences[0].words;
  ASSERT_EQ(words.size(), 6U);
  EXPECT_TRUE(words[0].capitalised && words[0].after_break);   // And
  EXPECT_TRUE(words[1].capitalised && !words[1].after_break);  // God
  EXPECT_TRUE(words[3].capitalised && words[3].after_break);   // Let
  EXPECT_TRUE(words[4].capitalised && !words[4].after_break);  // Moab
  EXPECT_FALSE(words[5].capitalised);
}

TEST(TextTest, BytesThatAreNoTextAreRefusedWithTheirLine) {
  EXPECT_THAT(SplitText("one\ntwo \xFF\n", "t.txt"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("t.txt:2: expected UTF-8")));
  EXPECT_THAT(SplitText(absl::string_view("a\n\nb\0c", 6), "t.txt"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("t.txt:3: expected text")));
}

TEST(TextTest, VersesOfABookAreOneDocument) {
  const auto books =
      SplitBible("Ge1:1 In the beginning\nGe50:2 was the word.\n1Ki2:10 So David slept.\n");
  ASSERT_OK(books.status());
  ASSERT_EQ(books->size(), 2U);
  EXPECT_EQ((*books)[0].title, "Ge");
  EXPECT_EQ((*books)[0].sentences[0].text, "In the beginning was the word.");
  EXPECT_EQ((*books)[1].title, "1Ki");
}

Document LongDocument(int sentences) {
  std::string text;
  for (int i = 0; i < sentences; ++i) {
    text += "The sentence goes on.\n\n";
  }
  return *SplitText(text, "long");
}

TEST(TextTest, RegionsCoverEverySentenceOnceInTheAskedRatio) {
  std::vector<Document> documents;
  documents.push_back(LongDocument(1005));
  documents.push_back(LongDocument(7));
  Random random(1, "test");
  const RegionSplit split = SplitRegions(documents, 10, 2, 1, random);
  std::set<std::pair<uint32_t, uint32_t>> seen;
  int64_t train = 0;
  for (const auto* regions : {&split.train, &split.test}) {
    for (const Region& region : *regions) {
      for (uint32_t s = region.begin; s < region.end; ++s) {
        EXPECT_TRUE(seen.emplace(region.document, s).second);
        train += regions == &split.train ? 1 : 0;
      }
    }
  }
  EXPECT_EQ(seen.size(), 1012U);
  EXPECT_NEAR(static_cast<double>(train), 1012 * 2.0 / 3, 11);
}

TEST(TextTest, WindowsShareNoSentenceUnlessStepped) {
  std::vector<Document> documents;
  documents.push_back(LongDocument(20));
  const std::vector<Region> regions = {{0, 0, 10}, {0, 10, 20}};
  const auto choose = [](const Document&, uint32_t begin, uint32_t end, TextWindow& window) {
    window.last = begin + 3;
    return window.last < end;
  };
  const auto apart = FindWindows(documents, regions, 0, choose);
  ASSERT_EQ(apart.size(), 4U);
  EXPECT_EQ(apart[1].begin, 4U);
  EXPECT_EQ(apart[2].begin, 10U);
  EXPECT_EQ(FindWindows(documents, regions, 1, choose).size(), 14U);
}

TEST(TextTest, FunctionWordsOfBothAgesAreKnown) {
  EXPECT_TRUE(IsFunctionWord("the"));
  EXPECT_TRUE(IsFunctionWord("thou"));
  EXPECT_FALSE(IsFunctionWord("lord"));
}

}  // namespace
}  // namespace concur::qa
