// SPDX-License-Identifier: Apache-2.0
#include "coordinator/access/access.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "tests/testing/simulated_clock.h"
#include "tests/testing/test.h"

namespace concur {
namespace {

constexpr char kGetSweep[] = "/concur.v1.Coordinator/GetSweep";
constexpr char kCancelSweep[] = "/concur.v1.Coordinator/CancelSweep";
constexpr char kDrainWorker[] = "/concur.v1.Coordinator/DrainWorker";
constexpr char kSync[] = "/concur.v1.WorkerGateway/Sync";

class AccessTest : public ::testing::Test {
 protected:
  std::string Bearer(const std::string& user, Role role,
                     absl::Time expire_time = absl::InfiniteFuture()) {
    absl::StatusOr<NewToken> made = CreateToken(dir_.path(), user, role, expire_time, clock_.Now());
    EXPECT_OK(made);
    return absl::StrCat("Bearer ", made->token);
  }

  // OK if the caller with this header may call the method.
  absl::Status Check(absl::string_view method, const std::string& authorization) {
    const absl::StatusOr<Caller> caller = access_.Authenticate(authorization);
    return caller.ok() ? CheckMayCall(*caller, *FindMethodRule(method)) : caller.status();
  }

  TempDir dir_;
  testing::SimulatedClock clock_;
  Access access_{clock_, dir_.path()};
};

TEST_F(AccessTest, ATokenTellsItsUserAndRole) {
  const std::string bearer = Bearer("ada", Role::kSubmitter);
  ASSERT_OK_AND_ASSIGN(const Caller caller, access_.Authenticate(bearer));
  EXPECT_EQ(caller.user, "ada");
  EXPECT_EQ(caller.role, Role::kSubmitter);
  EXPECT_EQ(caller.token, "t1");
}

TEST_F(AccessTest, WhileTheServerStartsClientsAreToComeBack) {
  const std::string bearer = Bearer("ada", Role::kSubmitter);
  access_.set_admits(false);
  for (const std::string& header : {bearer, std::string()}) {
    EXPECT_THAT(access_.Authenticate(header),
                StatusIs(absl::StatusCode::kUnavailable, HasSubstr("starts or stops")));
  }
  access_.set_admits(true);
  EXPECT_OK(access_.Authenticate(bearer));
}

TEST_F(AccessTest, CallsWithOneTokenHaveOneSenderAndOthersAnother) {
  const std::string first = Bearer("ada", Role::kSubmitter);
  const std::string second = Bearer("ada", Role::kSubmitter);
  ASSERT_OK_AND_ASSIGN(const Caller caller, access_.Authenticate(first));
  ASSERT_OK_AND_ASSIGN(const Caller again, access_.Authenticate(first));
  ASSERT_OK_AND_ASSIGN(const Caller other, access_.Authenticate(second));
  EXPECT_EQ(caller.sender, again.sender);
  EXPECT_NE(caller.sender, other.sender);
  Access open = Access::Open(clock_, "ada");
  EXPECT_NE(open.Authenticate(first)->sender, open.Authenticate(second)->sender);
}

// Streams ask so whether their token is still good.
TEST_F(AccessTest, ATokenIsValidUntilItExpiresOrIsRevoked) {
  ASSERT_OK_AND_ASSIGN(const Caller ada, access_.Authenticate(Bearer(
                                             "ada", Role::kViewer, clock_.Now() + absl::Hours(1))));
  ASSERT_OK_AND_ASSIGN(const Caller bob, access_.Authenticate(Bearer("bob", Role::kViewer)));
  EXPECT_OK(access_.CheckStillValid(ada.sender));
  clock_.Advance(absl::Hours(2));
  EXPECT_THAT(access_.CheckStillValid(ada.sender),
              StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("expired")));
  EXPECT_OK(access_.CheckStillValid(bob.sender));
  ASSERT_OK(RevokeToken(dir_.path(), bob.token, clock_.Now()));
  EXPECT_THAT(access_.CheckStillValid(bob.sender),
              StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("revoked")));
}

TEST_F(AccessTest, NoTokenAndAWrongOneAreUnauthenticated) {
  const std::string bearer = Bearer("ada", Role::kAdmin);
  EXPECT_THAT(Check(kGetSweep, ""),
              StatusIs(absl::StatusCode::kUnauthenticated,
                       AllOf(HasSubstr("--token-file"), HasSubstr("token create"))));
  for (const std::string& wrong : {bearer + "0", bearer.substr(0, bearer.size() - 1),
                                   std::string("Bearer "), std::string("Bearer concur_0000")}) {
    EXPECT_THAT(Check(kGetSweep, wrong),
                StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("does not know the token")))
        << wrong;
  }
  for (const std::string& malformed :
       {bearer.substr(7), "bearer " + bearer.substr(7), "Basic " + bearer.substr(7),
        "Bearer " + std::string(5000, 'x')}) {
    EXPECT_THAT(Check(kGetSweep, malformed),
                StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("Bearer TOKEN")))
        << malformed.substr(0, 100);
  }
}

TEST_F(AccessTest, AnExpiredTokenAndARevokedOneSaySo) {
  const std::string short_lived = Bearer("ada", Role::kAdmin, clock_.Now() + absl::Hours(1));
  const std::string revoked = Bearer("bob", Role::kAdmin);
  EXPECT_OK(Check(kGetSweep, short_lived));
  EXPECT_OK(Check(kGetSweep, revoked));
  // By another process, while this one runs.
  ASSERT_OK(RevokeToken(dir_.path(), "t2", clock_.Now()));
  EXPECT_THAT(Check(kGetSweep, revoked),
              StatusIs(absl::StatusCode::kUnauthenticated,
                       AllOf(HasSubstr("t2 of bob was revoked on 2023-11-14T22:13:20Z"),
                             HasSubstr("ask for a new one"))));
  clock_.Advance(absl::Hours(1));
  EXPECT_THAT(Check(kGetSweep, short_lived),
              StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("t1 of ada expired on")));
}

TEST_F(AccessTest, ARoleThatDoesNotSufficeIsDenied) {
  const std::string viewer = Bearer("eve", Role::kViewer);
  const std::string submitter = Bearer("ada", Role::kSubmitter);
  const std::string worker = Bearer("w", Role::kWorker);
  EXPECT_OK(Check(kGetSweep, viewer));
  EXPECT_THAT(Check(kCancelSweep, viewer),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       HasSubstr("role viewer; CancelSweep asks for submitter")));
  EXPECT_OK(Check(kSync, worker));
  EXPECT_THAT(Check(kGetSweep, worker),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("role worker")));
  EXPECT_THAT(Check(kSync, submitter),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("asks for worker")));
  EXPECT_THAT(Check(kDrainWorker, submitter),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("asks for admin")));
}

TEST_F(AccessTest, TokensThatCannotBeReadLetNobodyIn) {
  const std::string bearer = Bearer("ada", Role::kAdmin);
  EXPECT_OK(Check(kGetSweep, bearer));
  ASSERT_OK(WriteFileAtomically(TokensPath(dir_.path()), "{broken"));
  EXPECT_THAT(Check(kGetSweep, bearer),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("see its log")));
}

TEST_F(AccessTest, OpenAccessTakesAnybodyForItsUser) {
  Access open = Access::Open(clock_, "ada");
  ASSERT_OK_AND_ASSIGN(const Caller caller, open.Authenticate(""));
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
