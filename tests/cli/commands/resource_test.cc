// SPDX-License-Identifier: Apache-2.0
// Named resources as `concur resource` sets, shows and deletes them.

#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/commands_fixture.h"
#include "tests/testing/test.h"

namespace concur::cli {
namespace {

class ResourceCommandTest : public CommandsFixture {};

TEST_F(ResourceCommandTest, AResourceIsSetListedAndDeleted) {
  EXPECT_THAT(Concur({"resource", "list"}).err, HasSubstr("concur resource set NAME N"));
  const Output set = Concur({"resource", "set", "openai", "16"});
  EXPECT_EQ(set.code, 0) << set.err;
  EXPECT_THAT(set.out, ContainsRegex("amount +16"));
  EXPECT_THAT(Concur({"resource", "list"}).out, ContainsRegex("openai +16 +16 +1,234"));
  const auto listed = nlohmann::ordered_json::parse(Concur({"resource", "list", "-o", "json"}).out);
  EXPECT_EQ(listed.at(0).at("in_use"), 16);
  EXPECT_EQ(Concur({"resource", "delete", "openai"}).code, 0);
  EXPECT_TRUE(fake_.resources.empty());
}

TEST_F(ResourceCommandTest, AResourceMayHaveARate) {
  EXPECT_EQ(Concur({"resource", "set", "openai", "16", "--per-minute", "3000"}).code, 0);
  EXPECT_EQ(fake_.per_minute, 3000);
  EXPECT_THAT(Concur({"resource", "list"}).out, ContainsRegex("openai +16 +16 +1,234 +3,000"));
  const auto listed = nlohmann::ordered_json::parse(Concur({"resource", "list", "-o", "json"}).out);
  EXPECT_EQ(listed.at(0).at("per_minute"), 3000);
  EXPECT_EQ(Concur({"resource", "set", "openai", "16", "--per-minute", "-1"}).code, 2);
  EXPECT_EQ(Concur({"resource", "set", "openai", "16"}).code, 0);
  EXPECT_EQ(fake_.per_minute, 0);
}

TEST_F(ResourceCommandTest, AMisspelledNameIsCorrectedAndABadAmountRefused) {
  Concur({"resource", "set", "openai", "16"});
  const Output drop = Concur({"resource", "delete", "opnai"});
  EXPECT_NE(drop.code, 0);
  EXPECT_THAT(drop.err, HasSubstr("did you mean"));
  for (const char* amount : {"-1", "1000001", "many"}) {
    EXPECT_EQ(Concur({"resource", "set", "openai", amount}).code, 2) << amount;
  }
  EXPECT_EQ(fake_.resources.at("openai"), 16);
}

}  // namespace
}  // namespace concur::cli
