// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/text/word_piece.h"

#include <string>
#include <vector>

#include "base/check.h"
#include "tests/testing/test.h"

namespace concur::readers {
namespace {

constexpr char kVocabulary[] =
    "[PAD]\n[UNK]\n[SEP]\nthe\ncat\n##s\n##at\nca\n,\n.\nnai\n##ve\n\u732b\nSt\n##raße\n";

WordPiece Small(const WordPieceOptions& options = {}) {
  auto made = WordPiece::Parse(kVocabulary, "vocab.txt", options);
  CONCUR_CHECK_OK(made.status());
  return *std::move(made);
}

// "entry@text" of each piece.
std::vector<std::string> Shown(const WordPiece& tokenizer, const std::string& text) {
  std::vector<std::string> shown;
  for (const Piece& piece : tokenizer.Tokenize(text)) {
    shown.push_back(tokenizer.Entry(piece.id) + "@" +
                    text.substr(piece.begin, piece.end - piece.begin));
  }
  return shown;
}

TEST(WordPieceTest, WordsAreCutIntoTheLongestEntriesFromTheirStart) {
  const WordPiece small = Small();
  EXPECT_THAT(Shown(small, "The cats,cat."),
              ElementsAre("the@The", "cat@cat", "##s@s", ",@,", "cat@cat", ".@."));
  EXPECT_THAT(Shown(small, "caats dog"), ElementsAre("ca@ca", "##at@at", "##s@s", "[UNK]@dog"));
  EXPECT_THAT(Shown(small, "catx"), ElementsAre("[UNK]@catx"));
  EXPECT_THAT(Shown(small, " \t\n"), IsEmpty());
  EXPECT_THAT(Shown(small, std::string(101, 'c')), ElementsAre("[UNK]@" + std::string(101, 'c')));
}

TEST(WordPieceTest, AccentsCaseAndCharactersWithoutALookAreDroppedButKeepTheirPlace) {
  const WordPiece small = Small();
  EXPECT_THAT(Shown(small, "NA\u00CFVE"), ElementsAre("nai@NA\u00CF", "##ve@VE"));
  EXPECT_THAT(Shown(small, "nai\u0308ve"), ElementsAre("nai@nai", "##ve@ve"));
  EXPECT_THAT(Shown(small, "ca\u200Bt"), ElementsAre("cat@ca\u200Bt"));
  EXPECT_THAT(Shown(small, "cat\u732bcat"), ElementsAre("cat@cat", "\u732b@\u732b", "cat@cat"));
  EXPECT_THAT(Shown(small, "cat\u2014cat"), ElementsAre("cat@cat", "[UNK]@\u2014", "cat@cat"));
  EXPECT_THAT(Shown(small, "the\u00A0cat"), ElementsAre("the@the", "cat@cat"));
  const WordPiece cased = Small({.words = {.lower_case = false}});
  EXPECT_THAT(Shown(cased, "Straße THE"), ElementsAre("St@St", "##raße@raße", "[UNK]@THE"));
}

TEST(WordPieceTest, SpecialTokensAreFoundInTheTextAsTheyStand) {
  EXPECT_THAT(Shown(Small(), "cat[SEP]cat [sep] [CLS]"),
              ElementsAre("cat@cat", "[SEP]@[SEP]", "cat@cat", "[UNK]@[", "[UNK]@sep", "[UNK]@]",
                          "[UNK]@[", "[UNK]@CLS", "[UNK]@]"));
}

TEST(WordPieceTest, PythonKeepsASpecialTokenThatADroppedCharacterHid) {
  const std::string text = "[S\u200BEP]";
  EXPECT_THAT(Shown(Small({.words = {.lower_case = false}}), text), ElementsAre("[SEP]@" + text));
  EXPECT_EQ(Small().Tokenize(text).size(), 3u);
  EXPECT_EQ(Small({.words = {.lower_case = false, .implementation = Implementation::kRust}})
                .Tokenize(text)
                .size(),
            3u);
}

// Canonical order swaps these two marks, which have different places in the text.
TEST(WordPieceTest, PiecesBeginInTheOrderOfTheTextWhenMarksAreSwapped) {
  const auto made = WordPiece::Parse("[UNK]\nx\n##\U0001D165\n##\u302E\n", "vocab.txt", {});
  const std::vector<Piece> pieces = made->Tokenize("x\u302E\U0001D165");
  EXPECT_THAT(pieces, ElementsAre(Piece{1, 0, 1}, Piece{2, 1, 8}, Piece{3, 1, 4}));
}

// Each mark of the second kind stands before all of the first in canonical order.
TEST(WordPieceTest, ManyMarksOutOfOrderTakeNoQuadraticTime) {
  constexpr int kMarks = 200'000;
  std::string text = "x";
  for (const char* mark : {"\u302E", "\U0001D165"}) {
    for (int i = 0; i < kMarks; ++i) {
      text += mark;
    }
  }
  const auto size = static_cast<uint32_t>(text.size());
  // The word's last mark is the last of the first kind, which ends before the others begin.
  EXPECT_THAT(Small().Tokenize(text), ElementsAre(Piece{1, 0, size - 4 * kMarks}));
}

TEST(WordPieceTest, BytesThatAreNotUtf8AreDropped) {
  EXPECT_THAT(Shown(Small(), "the\xff cat\xe7\x8c"), ElementsAre("the@the", "cat@cat"));
}

TEST(WordPieceTest, DamagedVocabulariesAreRefusedWithTheLine) {
  const auto error = [](const std::string& text) {
    return std::string(WordPiece::Parse(text, "vocab.txt", {}).status().message());
  };
  EXPECT_THAT(error(""), HasSubstr("vocab.txt: no entry [UNK]"));
  EXPECT_THAT(error("[UNK]\n\xff\n"), HasSubstr("vocab.txt:2: not UTF-8"));
  EXPECT_THAT(error("[UNK]\n" + std::string(2000, 'a')),
              HasSubstr("vocab.txt:2: an entry of 2000 bytes"));
  EXPECT_TRUE(absl::IsNotFound(WordPiece::Read("/nonexistent/vocab.txt", {}).status()));
}

}  // namespace
}  // namespace concur::readers
