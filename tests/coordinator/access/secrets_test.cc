// SPDX-License-Identifier: Apache-2.0
#include "coordinator/access/secrets.h"

#include <sys/stat.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "tests/testing/simulated_clock.h"
#include "tests/testing/test.h"

namespace concur {
namespace {

using ::testing::Field;

class SecretsTest : public ::testing::Test {
 protected:
  std::unique_ptr<Secrets> Open(bool may_send = true) {
    absl::StatusOr<std::unique_ptr<Secrets>> secrets = Secrets::Open(clock_, dir_.path(), may_send);
    EXPECT_OK(secrets);
    return *std::move(secrets);
  }
  std::string Path() const { return dir_.File("secrets.json"); }

  TempDir dir_;
  testing::SimulatedClock clock_;
};

TEST_F(SecretsTest, AreTheirOwnersAloneAndStayAfterARestart) {
  {
    const auto secrets = Open();
    EXPECT_OK(secrets->Set("ada", "openai", "sk-first-of-ada"));
    EXPECT_OK(secrets->Set("bob", "openai", "sk-of-bob"));
    EXPECT_OK(secrets->Set("ada", "judge", "another-key"));
    EXPECT_OK(secrets->Set("ada", "openai", "sk-of-ada \"quoted\" é"));
  }
  struct stat info {};
  ASSERT_EQ(stat(Path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
  const auto secrets = Open();
  EXPECT_EQ(secrets->Find("ada", "openai"), "sk-of-ada \"quoted\" é");
  EXPECT_EQ(secrets->Find("bob", "openai"), "sk-of-bob");
  EXPECT_EQ(secrets->Find("bob", "judge"), "");
  EXPECT_THAT(secrets->List("ada"),
              ElementsAre(Field(&Secrets::Named::name, "judge"),
                          AllOf(Field(&Secrets::Named::name, "openai"),
                                Field(&Secrets::Named::set_time, clock_.Now()))));
  EXPECT_OK(secrets->Delete("ada", "openai"));
  EXPECT_THAT(secrets->Delete("ada", "openai"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("\"openai\"")));
  EXPECT_EQ(Open()->Find("ada", "openai"), "");
  EXPECT_THAT(Open()->List("eve"), IsEmpty());
}

TEST_F(SecretsTest, WhatNoLogCouldMaskIsRefused) {
  const auto secrets = Open();
  for (const std::string& value :
       {std::string("short"), std::string("two\nlines of it"), std::string(16'385, 'x'),
        std::string("nul\0in the middle", 17), std::string("\xff\xff\xff\xff\xff\xff\xff\xff")}) {
    EXPECT_THAT(secrets->Set("ada", "key", value),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("value: expected one line of 8 to 16384 bytes")));
  }
  EXPECT_THAT(secrets->Set("ada", "a/b", "long enough"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("name: ")));
  EXPECT_THAT(secrets->List("ada"), IsEmpty());
}

TEST_F(SecretsTest, AMissingOneIsNamedWithTheCommandThatSetsIt) {
  const auto secrets = Open();
  EXPECT_OK(secrets->Set("ada", "openai", "sk-of-ada"));
  EXPECT_OK(secrets->CheckHas("ada", {"openai"}));
  EXPECT_THAT(
      secrets->CheckHas("bob", {"openai"}),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("\"concur secret set openai\"")));
}

TEST_F(SecretsTest, NothingIsTakenOrGivenWhereTheNetworkWouldReadIt) {
  EXPECT_OK(Open()->Set("ada", "openai", "sk-of-ada"));
  const auto secrets = Open(/*may_send=*/false);
  EXPECT_EQ(secrets->Find("ada", "openai"), "");
  EXPECT_THAT(secrets->Set("ada", "openai", "sk-of-ada-2"),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("without TLS")));
}

TEST_F(SecretsTest, ADamagedFileIsAnErrorThatNamesIt) {
  for (const char* text :
       {"", "[]", "{}", R"({"secrets": {}})", R"({"secrets": [1]})",
        R"({"secrets": [{"owner": "a", "name": "b", "value": 1, "set_time": ""}]})",
        R"({"secrets": [{"owner": "a", "name": "b", "value": "c", "set_time": "now"}]})"}) {
    ASSERT_OK(WriteFileAtomically(Path(), text, 0600));
    EXPECT_THAT(Secrets::Open(clock_, dir_.path(), true),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr(Path())))
        << text;
  }
}

}  // namespace
}  // namespace concur
