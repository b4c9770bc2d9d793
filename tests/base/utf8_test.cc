// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"

#include <string>

#include "tests/testing/test.h"

namespace concur {
namespace {

TEST(Utf8Test, OnlyWellFormedUtf8IsUtf8) {
  EXPECT_TRUE(IsUtf8(""));
  EXPECT_TRUE(IsUtf8("aé漢😀\xF4\x8F\xBF\xBF"));
  for (const char* bad :
       {"\x80", "\xC0\x80", "\xC3", "\xE0\x80\x80", "\xED\xA0\x80", "\xF0\x80\x80\x80",
        "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "a\xE6\xBC"}) {
    EXPECT_FALSE(IsUtf8(bad));
    EXPECT_TRUE(IsUtf8(CleanUtf8(bad)));
  }
  EXPECT_EQ(FindInvalidUtf8("123456789é\xFFz"), 11u);
}

TEST(Utf8Test, IllFormedBytesAreReplacedAndTextIsCutBetweenCharacters) {
  EXPECT_EQ(CleanUtf8("a\xFFz"), "a\xEF\xBF\xBDz");
  EXPECT_EQ(CleanUtf8("aéé", 4), "aé");
  EXPECT_EQ(CleanUtf8("aé", 3), "aé");
  EXPECT_EQ(CleanUtf8("a\xFFz", 3), "a") << "the replacement has three bytes";
  EXPECT_EQ(CleanUtf8("abc", 0), "");
}

TEST(Utf8Test, CodePointsAreReadOneAfterAnother) {
  const std::string text = "aé漢😀\xF0\x9F\xFFz\xC3";
  std::u32string read;
  for (size_t at = 0; at < text.size();) {
    read += NextCodePoint(text, at);
  }
  EXPECT_EQ(read, U"aé漢😀\uFFFD\uFFFD\uFFFDz\uFFFD");
}

}  // namespace
}  // namespace concur
