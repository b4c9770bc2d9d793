// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/options.h"

#include <string>

#include "tests/testing/test.h"

namespace concur::readers {
namespace {

class OptionsTest : public ::testing::Test {
 protected:
  std::string Error(const char* name, const char* text) {
    return std::string(options_.Parse(name, text).message());
  }
  Options options_ = {
      {"hidden", int64_t{100}}, {"dropout", 0.2}, {"use", true}, {"cell", std::string("lstm")}};
};

TEST_F(OptionsTest, TextTakesTheTypeOfTheOption) {
  ASSERT_TRUE(options_.Parse("hidden", "12").ok());
  ASSERT_TRUE(options_.Parse("dropout", "1").ok());
  ASSERT_TRUE(options_.Parse("use", "false").ok());
  ASSERT_TRUE(options_.Parse("cell", "12").ok());
  EXPECT_EQ(options_.Int("hidden"), 12);
  EXPECT_EQ(options_.Real("dropout"), 1.0);
  EXPECT_FALSE(options_.Flag("use"));
  EXPECT_EQ(options_.Text("cell"), "12");
}

TEST_F(OptionsTest, OtherTypesAndNamesAreRefused) {
  EXPECT_EQ(Error("hidden", "1.5"), "hidden: expected an integer, got \"1.5\"");
  EXPECT_EQ(Error("dropout", "much"), "dropout: expected a number, got \"much\"");
  EXPECT_EQ(Error("use", "1"), "use: expected true or false, got \"1\"");
  EXPECT_THAT(Error("hiden", "1"), HasSubstr("did you mean \"hidden\"?"));
  EXPECT_EQ(options_.Int("hidden"), 100);
}

}  // namespace
}  // namespace concur::readers
