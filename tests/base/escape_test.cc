// SPDX-License-Identifier: Apache-2.0
#include "base/escape.h"

#include <exception>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/testing/test.h"

namespace concur {
namespace {

TEST(EscapeTest, ALineHasNoControlCharactersAndIsUtf8) {
  EXPECT_EQ(OneLine("say \"né\"\n\x1b[31m\x7f \\ \xFF"),
            "say \"né\"\\n\\x1b[31m\\x7f \\ \xEF\xBF\xBD");
  EXPECT_EQ(OneLine("aéé", 4), "aé");
}

TEST(EscapeTest, QuotedTextIsEscapedAndCutBetweenCharacters) {
  EXPECT_EQ(Quoted("a \"b\" é\t"), "\"a \\\"b\\\" é\\t\"");
  EXPECT_EQ(Quoted(std::string(100, 'x')), "\"" + std::string(100, 'x') + "\"");
  EXPECT_EQ(Quoted("aéé", 4), "\"aé…\"");
}

TEST(EscapeTest, AJsonStringReadsBack) {
  std::string text;
  for (int c = 0; c < 128; ++c) {
    text += static_cast<char>(c);
  }
  text += "é漢😀";
  std::string json;
  AppendJsonString(text, json);
  EXPECT_EQ(nlohmann::json::parse(json).get<std::string>(), text);
  EXPECT_EQ(json.find('\x7f'), std::string::npos);
}

TEST(EscapeTest, AJsonErrorIsShownWithoutTheLibrarysWords) {
  const auto reason = [](const std::string& text) -> std::string {
    try {
      (void)nlohmann::json::parse(text).at("a").get<int>();
    } catch (const std::exception& error) {
      return JsonReason(error.what());
    }
    return "";
  };
  EXPECT_EQ(reason(R"({"b": 1})"), "key 'a' not found");
  EXPECT_EQ(reason(R"({"a": "x - y"})"), "type must be number, but is string");
  EXPECT_THAT(reason("{]"), StartsWith("unexpected ']'"));
  EXPECT_EQ(JsonReason("[json. - "), "");
  EXPECT_EQ(JsonReason("disk full - now"), "disk full - now");
}

}  // namespace
}  // namespace concur
