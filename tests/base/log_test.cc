// SPDX-License-Identifier: Apache-2.0
// The log, whatever programs and peers put into it.
#include "base/log.h"

#include <nlohmann/json.hpp>
#include <string>

#include "tests/testing/test.h"

namespace concur {
namespace {

// SetLog is for the whole process: the JSON test comes last.
TEST(LogTest, ALineOfTextIsOneLine) {
  ::testing::internal::CaptureStderr();
  LogInfo("two\nlines\x1b[31m", {{"job", "s1/4"}});
  const std::string line = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_NE(line.find("two\\nlines\\x1b[31m job=s1/4"), std::string::npos) << line;
}

TEST(LogTest, JsonStaysJsonWhateverTheMessageIs) {
  SetLog(LogLevel::kInfo, LogFormat::kJson);
  for (const std::string& text :
       {std::string("caf\xc3\xa9 \xe4\xb8\xad \xf0\x9f\x98\x80"), std::string("\xff\xfe a\x80"),
        std::string("cut \xe4\xb8"), std::string("overlong \xc0\xaf \xe0\x80\xaf"),
        std::string("surrogate \xed\xa0\x80"), std::string("beyond \xf4\x90\x80\x80"),
        std::string("nul \0 \"quoted\" \\ \t", 17)}) {
    ::testing::internal::CaptureStderr();
    LogWarning(text, {{"worker", text}, {"attempt", "2"}});
    const std::string line = ::testing::internal::GetCapturedStderr();
    const auto object = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    ASSERT_TRUE(object.is_object()) << line;
    EXPECT_EQ(object.at("level"), "warning");
    EXPECT_EQ(object.at("message"), object.at("worker"));
    EXPECT_EQ(object.at("attempt"), "2");
  }
  ::testing::internal::CaptureStderr();
  LogInfo("caf\xc3\xa9");
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("caf\xc3\xa9"), std::string::npos);
}

}  // namespace
}  // namespace concur
