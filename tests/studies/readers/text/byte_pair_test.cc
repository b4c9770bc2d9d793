// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/text/byte_pair.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/check.h"
#include "tests/testing/test.h"

namespace concur::readers {
namespace {

constexpr char kMerges[] = "#version: 0.2\nt h\nth e\n\u0120 the\n\u0120 c\na t\n\u0120c at\n";

// All bytes, what kMerges makes of them, and two special tokens.
nlohmann::json SmallVocabulary() {
  std::vector<std::string> entries = {"<s>", "<mask>"};
  int others = 0;
  for (int byte = 0; byte < 256; ++byte) {
    const bool prints = (byte > 32 && byte < 127) || (byte > 160 && byte < 256 && byte != 0xAD);
    const int c = prints ? byte : 256 + others++;
    entries.push_back(c < 128 ? std::string(1, static_cast<char>(c))
                              : std::string{static_cast<char>(0xC0 | (c >> 6)),
                                            static_cast<char>(0x80 | (c & 0x3F))});
  }
  for (const char* merged : {"th", "the", "\u0120the", "\u0120c", "at", "\u0120cat"}) {
    entries.emplace_back(merged);
  }
  nlohmann::json vocabulary;
  for (size_t id = 0; id < entries.size(); ++id) {
    vocabulary[entries[id]] = id;
  }
  return vocabulary;
}

absl::StatusOr<BytePair> MakeSmall(const BytePairOptions& options = {}) {
  return BytePair::Parse(SmallVocabulary().dump(), "vocab.json", kMerges, "merges.txt", options);
}

// "entry@text" of each piece.
std::vector<std::string> ShownPairs(const std::string& text, const BytePairOptions& options = {}) {
  const auto tokenizer = MakeSmall(options);
  CONCUR_CHECK_OK(tokenizer.status());
  const nlohmann::json vocabulary = SmallVocabulary();
  std::vector<std::string> shown;
  for (const Piece& piece : tokenizer->Tokenize(text)) {
    for (const auto& [entry, id] : vocabulary.items()) {
      if (id == piece.id) {
        shown.push_back(entry + "@" + text.substr(piece.begin, piece.end - piece.begin));
      }
    }
  }
  return shown;
}

TEST(BytePairTest, PairsAreMergedInTheOrderOfTheirRanks) {
  EXPECT_THAT(ShownPairs("the cat"), ElementsAre("the@the", "\u0120cat@cat"));
  EXPECT_THAT(ShownPairs("thth"), ElementsAre("th@th", "th@th"));
  EXPECT_THAT(ShownPairs("cats"), ElementsAre("c@c", "at@at", "s@s"));
  EXPECT_THAT(ShownPairs("cat", {.prefix_space = true}), ElementsAre("\u0120cat@cat"));
  EXPECT_THAT(ShownPairs(" cat", {.prefix_space = true}), ElementsAre("\u0120cat@cat"));
}

TEST(BytePairTest, TheLastSpaceGoesWithTheWordAndHasNoPlace) {
  EXPECT_THAT(ShownPairs("a  cat "), ElementsAre("a@a", "\u0120@", "\u0120cat@cat", "\u0120@"));
  EXPECT_THAT(ShownPairs("it's a1!"),
              ElementsAre("i@i", "t@t", "'@'", "s@s", "\u0120@", "a@a", "1@1", "!@!"));
}

TEST(BytePairTest, PartsOfACharacterHaveItsPlace) {
  EXPECT_THAT(ShownPairs("\u732b"), ElementsAre("\u00E7@\u732b", "\u012E@\u732b", "\u00AB@\u732b"));
  EXPECT_EQ(ShownPairs("a\xff\x80").size(), 3u);
  // A byte that goes on with no character took the space before it, too.
  EXPECT_THAT(ShownPairs("a \xa0"), ElementsAre("a@a", "\u0120@", "\u0142@\xa0"));
}

TEST(BytePairTest, SpecialTokensAreFoundAndTheMaskTakesTheSpaceBeforeIt) {
  EXPECT_THAT(ShownPairs("a <s>a <mask> cat"),
              ElementsAre("a@a", "\u0120@", "<s>@<s>", "a@a", "<mask>@<mask>", "\u0120cat@cat"));
}

TEST(BytePairTest, WhiteSpaceAloneIsNothingInPython) {
  EXPECT_THAT(ShownPairs(" \n"), IsEmpty());
  EXPECT_EQ(ShownPairs(" \n", {.implementation = Implementation::kRust}).size(), 2u);
  EXPECT_THAT(ShownPairs("", {.prefix_space = true}), IsEmpty());
}

// Merging the pairs of a word one after the other took quadratic time.
TEST(BytePairTest, AWordOfAMillionLettersIsReadInTimeThatHardlyGrowsFaster) {
  const auto tokenizer = MakeSmall();
  EXPECT_EQ(tokenizer->Tokenize(std::string(1'000'000, 't')).size(), 1'000'000u);
  std::string text;
  for (int i = 0; i < 300'000; ++i) {
    text += "the";
  }
  EXPECT_EQ(tokenizer->Tokenize(text).size(), 300'000u);
}

TEST(BytePairTest, DamagedFilesAreRefusedWithThePlace) {
  const auto error = [](const nlohmann::json& vocabulary, const std::string& merges) {
    const auto made =
        BytePair::Parse(vocabulary.dump(), "vocab.json", merges, "merges.txt", BytePairOptions());
    EXPECT_TRUE(absl::IsInvalidArgument(made.status())) << merges;
    return std::string(made.status().message());
  };
  EXPECT_THAT(error(nlohmann::json::array(), ""), HasSubstr("vocab.json: expected a JSON object"));
  nlohmann::json vocabulary = SmallVocabulary();
  EXPECT_THAT(error(vocabulary, "t h\nt\n"), HasSubstr("merges.txt:2: expected two entries"));
  EXPECT_THAT(error(vocabulary, "h t\n"), HasSubstr("merges.txt:1: expected two entries"));
  EXPECT_THAT(error(vocabulary, "\n\n"), HasSubstr("merges.txt:1: "));
  vocabulary["the"] = 1'000'000'000;
  EXPECT_THAT(error(vocabulary, ""), HasSubstr("\"the\": expected an id from 0 to below"));
  vocabulary["the"] = "x";
  EXPECT_THAT(error(vocabulary, ""), HasSubstr("\"the\": expected an id"));
  vocabulary["the"] = 5;
  EXPECT_THAT(error(vocabulary, ""), HasSubstr("two entries have the id 5"));
  vocabulary.erase("!");
  vocabulary.erase("the");
  EXPECT_THAT(error(vocabulary, ""), HasSubstr("no entry for byte 33, !"));
}

}  // namespace
}  // namespace concur::readers
