#include "coordinator/access.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "concur/v1/coordinator.pb.h"
#include "concur/v1/worker.pb.h"
#include "tests/testing/simulated_clock.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace concur {
namespace {

using ::concur::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kGetSweep[] = "/concur.v1.Coordinator/GetSweep";
constexpr char kCancelSweep[] = "/concur.v1.Coordinator/CancelSweep";
constexpr char kDrainWorker[] = "/concur.v1.Coordinator/DrainWorker";
constexpr char kSync[] = "/concur.v1.WorkerGateway/Sync";

TEST(MethodRulesTest, EveryMethodOfTheProtosHasOneRuleAndNoOtherHas) {
  std::set<std::string> methods;
  for (const google::protobuf::FileDescriptor* file :
       {v1::CreateSweepRequest::descriptor()->file(), v1::SyncRequest::descriptor()->file()}) {
    for (int i = 0; i < file->service_count(); ++i) {
      for (int j = 0; j < file->service(i)->method_count(); ++j) {
        methods.insert(absl::StrCat("/", file->service(i)->full_name(), "/",
                                    file->service(i)->method(j)->name()));
      }
    }
  }
  EXPECT_GE(methods.size(), 22u);
  std::set<std::string> rules;
  for (const MethodRule& rule : MethodRules()) {
    EXPECT_TRUE(rules.insert(std::string(rule.method)).second) << rule.method << " stands twice";
  }
  EXPECT_EQ(rules, methods);
}

TEST(MethodRulesTest, NoViewerChangesAnything) {
  for (const MethodRule& rule : MethodRules()) {
    EXPECT_FALSE(rule.changes && rule.least == Role::kViewer) << rule.method;
  }
}

class AccessTest : public ::testing::Test {
 protected:
  std::string Bearer(const std::string& user, Role role,
                     absl::Time expire_time = absl::InfiniteFuture()) {
    absl::StatusOr<NewToken> made = CreateToken(dir_.path(), user, role, expire_time, clock_.Now());
    EXPECT_OK(made);
    return absl::StrCat("Bearer ", made->token);
  }

  testing::TempDir dir_;
  testing::SimulatedClock clock_;
  Access access_{clock_, dir_.path()};
};

TEST_F(AccessTest, ATokenTellsItsUserAndRole) {
  const std::string bearer = Bearer("ada", Role::kSubmitter);
  ASSERT_OK_AND_ASSIGN(const Caller caller, access_.Check(kCancelSweep, bearer));
  EXPECT_EQ(caller.user, "ada");
  EXPECT_EQ(caller.role, Role::kSubmitter);
  EXPECT_EQ(caller.token, "t1");
}

TEST_F(AccessTest, NoTokenAndAWrongOneAreUnauthenticated) {
  const std::string bearer = Bearer("ada", Role::kAdmin);
  EXPECT_THAT(access_.Check(kGetSweep, ""),
              StatusIs(absl::StatusCode::kUnauthenticated,
                       AllOf(HasSubstr("--token-file"), HasSubstr("token create"))));
  for (const std::string& wrong : {bearer + "0", bearer.substr(0, bearer.size() - 1),
                                   std::string("Bearer "), std::string("Bearer concur_0000")}) {
    EXPECT_THAT(access_.Check(kGetSweep, wrong),
                StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("does not know the token")))
        << wrong;
  }
  for (const std::string& malformed :
       {bearer.substr(7), "bearer " + bearer.substr(7), "Basic " + bearer.substr(7),
        "Bearer " + std::string(5000, 'x')}) {
    EXPECT_THAT(access_.Check(kGetSweep, malformed),
                StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("Bearer TOKEN")))
        << malformed.substr(0, 100);
  }
}

TEST_F(AccessTest, AnExpiredTokenAndARevokedOneSaySo) {
  const std::string short_lived = Bearer("ada", Role::kAdmin, clock_.Now() + absl::Hours(1));
  const std::string revoked = Bearer("bob", Role::kAdmin);
  EXPECT_OK(access_.Check(kGetSweep, short_lived));
  EXPECT_OK(access_.Check(kGetSweep, revoked));
  // By another process, while this one runs.
  ASSERT_OK(RevokeToken(dir_.path(), "t2", clock_.Now()));
  EXPECT_THAT(access_.Check(kGetSweep, revoked),
              StatusIs(absl::StatusCode::kUnauthenticated,
                       AllOf(HasSubstr("t2 of bob was revoked on 2023-11-14T22:13:20Z"),
                             HasSubstr("ask for a new one"))));
  clock_.Advance(absl::Hours(1));
  EXPECT_THAT(access_.Check(kGetSweep, short_lived),
              StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("t1 of ada expired on")));
}

TEST_F(AccessTest, ARoleThatDoesNotSufficeIsDenied) {
  const std::string viewer = Bearer("eve", Role::kViewer);
  const std::string submitter = Bearer("ada", Role::kSubmitter);
  const std::string worker = Bearer("w", Role::kWorker);
  EXPECT_OK(access_.Check(kGetSweep, viewer));
  EXPECT_THAT(access_.Check(kCancelSweep, viewer),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       HasSubstr("role viewer; CancelSweep asks for submitter")));
  EXPECT_OK(access_.Check(kSync, worker));
  EXPECT_THAT(access_.Check(kGetSweep, worker),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("role worker")));
  EXPECT_THAT(access_.Check(kSync, submitter),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("asks for worker")));
  EXPECT_THAT(access_.Check(kDrainWorker, submitter),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("asks for admin")));
}

TEST_F(AccessTest, AMethodWithoutARuleIsClosedToAll) {
  EXPECT_THAT(access_.Check("/concur.v1.Coordinator/Format", Bearer("root", Role::kAdmin)),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("in no rule")));
}

TEST_F(AccessTest, TokensThatCannotBeReadLetNobodyIn) {
  const std::string bearer = Bearer("ada", Role::kAdmin);
  EXPECT_OK(access_.Check(kGetSweep, bearer));
  ASSERT_OK(WriteFileAtomically(TokensPath(dir_.path()), "{broken"));
  EXPECT_THAT(access_.Check(kGetSweep, bearer),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("see its log")));
}

TEST_F(AccessTest, OpenAccessTakesAnybodyForItsUser) {
  Access open = Access::Open(clock_, "ada");
  ASSERT_OK_AND_ASSIGN(const Caller caller, open.Check(kDrainWorker, ""));
  EXPECT_EQ(caller.user, "ada");
  EXPECT_EQ(caller.role, Role::kAdmin);
}

TEST(CheckMayChangeTest, OnlyTheOwnerAndAdmins) {
  EXPECT_OK(CheckMayChange({"ada", Role::kSubmitter, "t1"}, "s1", "ada"));
  EXPECT_OK(CheckMayChange({"root", Role::kAdmin, "t1"}, "s1", "ada"));
  EXPECT_THAT(CheckMayChange({"bob", Role::kSubmitter, "t1"}, "s1", "ada"),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       HasSubstr("s1 belongs to ada: only ada or an admin")));
}

}  // namespace
}  // namespace concur
