// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/text/checkpoint_tokenizer.h"

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/file.h"
#include "tests/studies/readers/check/originals/data_check.h"
#include "tests/testing/test.h"

namespace concur::readers {
namespace {

std::string FixturesFolder() {
  const char* given = std::getenv("CONCUR_FIXTURES");     // NOLINT(concurrency-mt-unsafe)
  const char* source = std::getenv("CONCUR_SOURCE_DIR");  // NOLINT(concurrency-mt-unsafe)
  return given != nullptr ? given
                          : std::string(source == nullptr ? "." : source) + "/../shared/fixtures";
}

void ExpectEqualToOriginals(const std::string& folder, size_t files) {
  const std::string path = FixturesFolder() + "/" + folder;
  if (!std::filesystem::exists(path)) {
    GTEST_SKIP() << "no fixtures of the originals: " << path << " does not exist";
  }
  const auto results = CheckData(path, "");
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(results->size(), files);
  for (const DataCheckResult& result : *results) {
    EXPECT_GT(result.compared, 0) << result.name;
    EXPECT_EQ(result.different, 0) << result.name << ": " << result.first_difference;
  }
}

TEST(OriginalsTest, TokenizersEqualTheOriginals) { ExpectEqualToOriginals("tokenizers", 10); }
TEST(OriginalsTest, WindowsLabelsAndAnswersEqualTheOriginals) {
  ExpectEqualToOriginals("squad-features", 20);
}

// A tokenizer.json of WordPiece as the original writes it.
std::string WordsJson(const std::string& normalizer) {
  return R"({"normalizer": )" + normalizer + R"(, "pre_tokenizer": {"type": "BertPreTokenizer"},
    "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
    "max_input_chars_per_word": 8, "vocab": {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3,
    "[MASK]": 4, "caf": 5, "##e": 6, "##é": 7, "Caf": 8}}})";
}

std::vector<int32_t> IdsFrom(const std::string& json, const std::string& text) {
  const auto tokenizer = CheckpointTokenizer::ParseJson(json, "t.json", Implementation::kRust);
  CONCUR_CHECK_OK(tokenizer.status());
  std::vector<int32_t> ids;
  for (const Piece& piece : tokenizer->Tokenize(text)) {
    ids.push_back(piece.id);
  }
  return ids;
}

TEST(TokenizerJsonTest, CaseAndAccentsAreAsTheNormalizerSays) {
  using ::testing::ElementsAre;
  EXPECT_THAT(IdsFrom(WordsJson(R"({"type": "BertNormalizer", "lowercase": true})"), "Café"),
              ElementsAre(5, 6));
  EXPECT_THAT(IdsFrom(WordsJson(R"({"type": "BertNormalizer", "lowercase": true,
                                    "strip_accents": false})"),
                      "Café"),
              ElementsAre(5, 7));
  EXPECT_THAT(IdsFrom(WordsJson(R"({"type": "BertNormalizer", "lowercase": false})"), "Café"),
              ElementsAre(8, 7));
  // A word of more characters than the file allows is unknown.
  EXPECT_THAT(IdsFrom(WordsJson(R"({"type": "BertNormalizer"})"), "cafeeeeee"), ElementsAre(1));
}

TEST(TokenizerJsonTest, WhatWouldCutTextsOtherwiseIsRefused) {
  const auto error = [](const std::string& json) {
    return std::string(
        CheckpointTokenizer::ParseJson(json, "t.json", Implementation::kRust).status().message());
  };
  using ::testing::HasSubstr;
  EXPECT_THAT(error("[]"), HasSubstr("t.json: expected a JSON object"));
  EXPECT_THAT(error("{}"), HasSubstr("t.json: model.type: expected WordPiece, BPE or Unigram"));
  EXPECT_THAT(error(WordsJson(R"({"type": "NFC"})")), HasSubstr("normalizer: expected a Bert"));
  EXPECT_THAT(error(R"({"model": {"type": "Unigram", "vocab": [["a", 0]], "unk_id": 1}})"),
              HasSubstr("its unk_id"));
  EXPECT_THAT(error(R"({"model": {"type": "Unigram", "vocab": [["a", -1]], "unk_id": 0},
                        "normalizer": {"type": "NFD"}})"),
              HasSubstr("normalizer"));
  EXPECT_THAT(error(R"({"model": {"type": "WordPiece", "vocab": {"a": 0, "b": 2}}})"),
              HasSubstr("ids from 0 on"));
}

// The same pieces from spiece.model and from a tokenizer.json with what is in it.
TEST(TokenizerJsonTest, AUnigramModelIsReadWithItsSteps) {
  const std::string json = R"({"normalizer": {"type": "Sequence", "normalizers": [
    {"type": "Replace", "pattern": {"String": "``"}, "content": "\""}, {"type": "NFKD"},
    {"type": "StripAccents"}, {"type": "Lowercase"},
    {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}]},
    "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "add_prefix_space": true},
    "model": {"type": "Unigram", "unk_id": 1, "vocab": [["<pad>", 0], ["<unk>", 0], ["[CLS]", 0],
    ["[SEP]", 0], ["[MASK]", 0], ["▁", -3], ["▁ab", -1], ["a", -2], ["b", -2], ["c", -2],
    ["\"", -2]]}})";
  using ::testing::ElementsAre;
  EXPECT_THAT(IdsFrom(json, "Áb  ab``c"), ElementsAre(6, 6, 10, 9));
  EXPECT_THAT(IdsFrom(json, "ab "), ElementsAre(6, 5));
  EXPECT_THAT(IdsFrom(json, "ab[SEP]xyz"), ElementsAre(6, 3, 5, 1));
}

}  // namespace
}  // namespace concur::readers
