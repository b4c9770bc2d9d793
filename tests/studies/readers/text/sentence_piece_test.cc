// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/text/sentence_piece.h"

#include <cstring>
#include <string>
#include <vector>

#include "base/check.h"
#include "studies/readers/text/albert_tokenizer.h"
#include "tests/testing/test.h"

namespace concur::readers {
namespace {

std::string Message(int number, const std::string& bytes) {
  std::string message(1, static_cast<char>(number << 3 | 2));
  for (size_t size = bytes.size();; size >>= 7) {
    message += static_cast<char>((size & 0x7F) | (size > 0x7F ? 0x80 : 0));
    if (size <= 0x7F) {
      break;
    }
  }
  return message + bytes;
}

std::string Number(int number, int value) {
  return std::string{static_cast<char>(number << 3), static_cast<char>(value)};
}

std::string PieceMessage(const std::string& text, float score, int kind = 1) {
  std::string bytes(sizeof(score), '\0');
  std::memcpy(bytes.data(), &score, sizeof(score));
  return Message(1, Message(1, text) + static_cast<char>(2 << 3 | 5) + bytes + Number(3, kind));
}

std::string SmallModel() {
  return PieceMessage("<unk>", 0, 2) + PieceMessage("\u2581the", -1) + PieceMessage("\u2581", -2) +
         PieceMessage("c", -3) + PieceMessage("at", -3) + PieceMessage("cat", -7) +
         PieceMessage("s", -4) + PieceMessage("-", 0, 4);
}

std::vector<std::string> ShownPieces(const std::string& text) {
  const auto tokenizer = SentencePiece::Parse(SmallModel(), "a.model");
  CONCUR_CHECK_OK(tokenizer.status());
  std::vector<std::string> shown;
  for (const Piece& piece : tokenizer->Tokenize(text)) {
    shown.push_back(tokenizer->Entry(piece.id) + "@" +
                    text.substr(piece.begin, piece.end - piece.begin));
  }
  return shown;
}

TEST(SentencePieceTest, TheMostProbableCutIsTaken) {
  EXPECT_THAT(ShownPieces("the cats"),
              ElementsAre("\u2581the@the", "\u2581@ ", "c@c", "at@at", "s@s"));
  EXPECT_THAT(ShownPieces("  the  "), ElementsAre("\u2581the@the"));
  EXPECT_THAT(ShownPieces(" "), IsEmpty());
  EXPECT_THAT(ShownPieces(""), IsEmpty());
}

TEST(SentencePieceTest, UnknownNeighboursAreOnePieceAndUserDefinedOnesStandAlone) {
  EXPECT_THAT(ShownPieces("xy-s"), ElementsAre("\u2581@", "<unk>@xy", "-@-", "s@s"));
  EXPECT_THAT(ShownPieces("\u732b\xff"
                          "s"),
              ElementsAre("\u2581@", "<unk>@\u732b\xff", "s@s"));
}

TEST(SentencePieceTest, DamagedModelsAreRefused) {
  const auto error = [](const std::string& model) {
    const auto made = SentencePiece::Parse(model, "a.model");
    EXPECT_TRUE(absl::IsInvalidArgument(made.status()));
    return std::string(made.status().message());
  };
  EXPECT_THAT(error(""), HasSubstr("a.model: not a model of SentencePiece: no piece of the type"));
  EXPECT_THAT(error("text"), HasSubstr("a damaged message"));
  EXPECT_THAT(error(SmallModel() + "\x0a\x7f"), HasSubstr("a damaged message"));
  EXPECT_THAT(error(PieceMessage("a", 0, 9)), HasSubstr("piece 0 has the unknown type 9"));
  EXPECT_THAT(error(PieceMessage("", 0)), HasSubstr("piece 0: expected text of 1 to 1024 bytes"));
  EXPECT_THAT(error(PieceMessage("\xff", 0)), HasSubstr("piece 0: expected text"));
  EXPECT_THAT(error(PieceMessage("a", 0) + PieceMessage("a", 0)),
              HasSubstr("piece 1 is also piece 0"));
  EXPECT_THAT(error(SmallModel() + Message(2, Number(3, 2))),
              HasSubstr("expected a unigram model"));
  std::string many = SmallModel();  // 1 MB, whose beginnings would take 500 MB
  for (int i = 0; i < 1000; ++i) {
    many += PieceMessage(std::to_string(1000 + i) + std::string(1000, 'a'), 0);
  }
  EXPECT_THAT(error(many), HasSubstr("a table of more than 268435456 bytes"));
  // A table of rules that says it is larger than it is, and one whose node points out of it.
  EXPECT_THAT(error(SmallModel() + Message(3, Message(2,
                                                      "\xff\xff\xff\x7f"
                                                      "abcd"))),
              HasSubstr("a cut table of replacements"));
  const auto wild = SentencePiece::Parse(
      SmallModel() + Message(3, Message(2, std::string("\x04\0\0\0", 4) + "\xff\xff\xff\x7f")),
      "a.model");
  ASSERT_TRUE(wild.ok()) << wild.status();
  EXPECT_EQ(wild->Tokenize("s").size(), 2u);
}

std::vector<std::string> ShownAlbert(const std::string& text, const AlbertOptions& options = {}) {
  const auto model = SentencePiece::Parse(SmallModel() + PieceMessage("[CLS]", 0, 3) +
                                              PieceMessage("\u25811", -2) + PieceMessage("1", -2) +
                                              PieceMessage(",", -2) + PieceMessage("1,", -1),
                                          "a.model");
  CONCUR_CHECK_OK(model.status());
  const AlbertTokenizer tokenizer(*model, options);
  std::vector<std::string> shown;
  for (const Piece& piece : tokenizer.Tokenize(text)) {
    shown.push_back(model->Entry(piece.id) + "@" +
                    text.substr(piece.begin, piece.end - piece.begin));
  }
  return shown;
}

TEST(AlbertTokenizerTest, PiecesHaveThePlacesOfTheTextBeforeItWasPrepared) {
  EXPECT_THAT(ShownAlbert("THE \n c\u00C1ts"),
              ElementsAre("\u2581the@THE", "\u2581@", "c@c", "at@\u00C1t", "s@s"));
  EXPECT_THAT(ShownAlbert("the[CLS]s"),
              ElementsAre("\u2581the@the", "[CLS]@[CLS]", "\u2581@", "s@s"));
  EXPECT_THAT(ShownAlbert("the T", {.lower_case = false}),
              ElementsAre("\u2581the@the", "\u2581@", "<unk>@T"));
  EXPECT_THAT(ShownAlbert(" \n"), IsEmpty());
}

TEST(AlbertTokenizerTest, ANumberIsCutFromTheCommaAfterIt) {
  EXPECT_THAT(ShownAlbert("s1,"), ElementsAre("\u2581@", "s@s", "1@1", ",@,"));
}

// A rule makes "A" to "1,-": the piece "1," then has no place of its own.
TEST(AlbertTokenizerTest, ANumberThatARuleMadeStaysWithinTheText) {
  constexpr uint32_t kLeaf = 1 << 8;
  std::vector<uint32_t> units(512);
  units[0] = 256 << 10;
  units[256 ^ 'A'] = 1 << 10 | kLeaf | 'A';
  units[(256 ^ 'A') ^ 1] = 1u << 31;
  std::string table(units.size() * sizeof(uint32_t), '\0');
  std::memcpy(table.data(), units.data(), table.size());
  const auto size = static_cast<uint32_t>(table.size());
  std::string rules(reinterpret_cast<const char*>(&size), sizeof(size));
  rules += table + std::string("1,-\0", 4);
  const auto model = SentencePiece::Parse(
      SmallModel() + PieceMessage("1,", -1) + Message(3, Message(2, rules) + Number(3, 0)),
      "a.model");
  ASSERT_TRUE(model.ok()) << model.status();
  const AlbertTokenizer tokenizer(*model, {.lower_case = false});
  const std::vector<Piece> pieces = tokenizer.Tokenize("A");
  ASSERT_EQ(pieces.size(), 3u);  // the number, the comma, "-"
  for (const Piece& piece : pieces) {
    EXPECT_LE(piece.begin, piece.end);
    EXPECT_LE(piece.end, 1u);
  }
}

}  // namespace
}  // namespace concur::readers
