// SPDX-License-Identifier: Apache-2.0
#include "tests/readers_text/originals.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace concur::readers {
namespace {

// How many code points begin before each byte of the text, and in all of it.
std::vector<uint32_t> CodePointsBefore(const std::string& text) {
  std::vector<uint32_t> before(1, 0);
  for (size_t i = 0; i < text.size(); ++i) {
    const bool ends = i + 1 == text.size() || (text[i + 1] & '\xC0') != '\x80';
    before.push_back(before.back() + (ends ? 1 : 0));
  }
  return before;
}

}  // namespace

void ExpectOriginals(const std::string& file, const std::vector<std::string>& vocabularies,
                     const std::string& offsets_field,
                     const std::function<TokenizeText(const std::vector<std::string>& paths)>& make,
                     const std::string& ids_field) {
  const char* given = std::getenv("CONCUR_FIXTURES");     // NOLINT(concurrency-mt-unsafe)
  const char* source = std::getenv("CONCUR_SOURCE_DIR");  // NOLINT(concurrency-mt-unsafe)
  const std::string folder =
      (given != nullptr ? given
                        : std::string(source == nullptr ? "." : source) + "/../shared/fixtures") +
      "/tokenizers/";
  std::vector<std::string> paths = {folder + file};
  for (const std::string& name : vocabularies) {
    paths.push_back(folder + name);
  }
  for (const std::string& path : paths) {
    if (!std::filesystem::exists(path)) {
      GTEST_SKIP() << "no fixtures of the originals: " << path << " does not exist";
    }
  }
  paths.erase(paths.begin());
  const TokenizeText tokenize = make(paths);
  std::ifstream lines(folder + file);
  size_t compared = 0;
  for (std::string line; std::getline(lines, line); ++compared) {
    const nlohmann::json expected = nlohmann::json::parse(line);
    const auto text = expected["text"].get<std::string>();
    const std::vector<uint32_t> place = CodePointsBefore(text);
    nlohmann::json ids = nlohmann::json::array();
    nlohmann::json offsets = nlohmann::json::array();
    for (const Piece& piece : tokenize(text)) {
      ids.push_back(piece.id);
      offsets.push_back({place[piece.begin], place[piece.end]});
    }
    EXPECT_EQ(ids, expected[expected.contains(ids_field) ? ids_field : "ids"]) << line;
    if (expected.contains(offsets_field)) {
      EXPECT_EQ(offsets, expected[offsets_field]) << line;
    } else if (expected.contains("begin")) {
      for (size_t i = 0; i < offsets.size() && i < expected["begin"].size(); ++i) {
        EXPECT_EQ(offsets[i][0], expected["begin"][i]) << line;
        EXPECT_EQ(offsets[i][1], expected["end"][i]) << line;
      }
    }
  }
  EXPECT_GT(compared, 0u);
}

}  // namespace concur::readers
