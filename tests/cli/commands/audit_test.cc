// SPDX-License-Identifier: Apache-2.0
// The audit log as `concur audit` shows it.

#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/cli/commands_fixture.h"
#include "tests/testing/test.h"

namespace concur::cli {
namespace {

using TestJson = nlohmann::ordered_json;

class AuditCommandTest : public CommandsFixture {
 protected:
  void SetUp() override {
    CommandsFixture::SetUp();
    for (int i = 0; i < 3; ++i) {
      v1::AuditEntry entry;
      entry.mutable_time()->set_seconds(1'700'000'000 - i);
      entry.set_user("ada");
      entry.set_peer("ipv4:10.0.0.7:4");
      entry.set_method("PauseSweep");
      entry.set_target(absl::StrCat("s", i));
      entry.set_outcome(i == 1 ? "permission_denied" : "ok");
      fake_.audit.push_back(entry);
    }
  }
};

TEST_F(AuditCommandTest, EntriesAreListedAndAskedForByFilter) {
  const Output output = Concur({"audit", "--user", "ada", "--method", "PauseSweep", "--target",
                                "s1", "--failed", "--strangers"});
  EXPECT_THAT(output.out, HasSubstr("2023-11-14T22:13:20Z  ada"));
  EXPECT_THAT(output.out, HasSubstr("permission_denied"));
  ASSERT_THAT(fake_.audit_requests, Not(IsEmpty()));
  EXPECT_EQ(fake_.audit_requests[0].user(), "ada");
  EXPECT_EQ(fake_.audit_requests[0].method(), "PauseSweep");
  EXPECT_EQ(fake_.audit_requests[0].target(), "s1");
  EXPECT_TRUE(fake_.audit_requests[0].failed_only());
  EXPECT_TRUE(fake_.audit_requests[0].strangers());
}

TEST_F(AuditCommandTest, ALimitSaysThatThereAreMore) {
  const Output few = Concur({"audit", "--limit", "2", "-o", "json"});
  EXPECT_THAT(TestJson::parse(few.out), SizeIs(2));
  EXPECT_THAT(few.err, HasSubstr("only the newest 2 are shown"));
  for (const char* limit : {"3", "0"}) {
    const Output all = Concur({"audit", "--limit", limit});
    EXPECT_THAT(all.out, HasSubstr("s2"));
    EXPECT_THAT(all.err, Not(HasSubstr("only the newest")));
  }
}

}  // namespace
}  // namespace concur::cli
