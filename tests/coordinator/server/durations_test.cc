// SPDX-License-Identifier: Apache-2.0
// ListDurations: what jobs took, as `concur sweep plan` reads it.
#include <grpcpp/client_context.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "tests/coordinator/server/server_fixture.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

class DurationsTest : public ServerTest {
 protected:
  grpc::Status List(int page_size, const std::string& token, v1::ListDurationsResponse* page) {
    grpc::ClientContext context;
    v1::ListDurationsRequest request;
    request.set_page_size(page_size);
    request.set_page_token(token);
    return client().ListDurations(&context, request, page);
  }
  // Every page's groups, as text.
  std::vector<std::string> ListAll(int page_size) {
    std::vector<std::string> groups;
    std::string token;
    do {
      v1::ListDurationsResponse page;
      const grpc::Status status = List(page_size, token, &page);
      EXPECT_TRUE(status.ok()) << status.error_message();
      EXPECT_LE(page.durations_size(), page_size);
      for (const v1::JobDuration& one : page.durations()) {
        groups.push_back(absl::StrCat(one.approach(), " ", one.benchmark(),
                                      one.is_train() ? " train " : " eval ", one.count(), " x ",
                                      one.mean().seconds(), ".", one.mean().nanos() / 1'000'000));
      }
      token = page.next_page_token();
    } while (!token.empty());
    return groups;
  }
};

TEST_F(DurationsTest, NobodyHasRunAnythingYet) {
  Submit(Spec("fast", 1));
  EXPECT_THAT(ListAll(10), IsEmpty());
}

TEST_F(DurationsTest, MeansAreOfWhatWorkersReportedAndSurviveARestart) {
  Submit(Spec("fast", 2));
  Sync(absl::ZeroDuration());
  ASSERT_EQ(running(), 4u);
  RunAll(absl::Milliseconds(250));
  Submit(Spec("slow", 3));
  RunAll(absl::Milliseconds(3'500));
  // Seed 3 is new, the others share results: these do not count again.
  SweepSpec more = Spec("fast", 3);
  more.name = "more";
  Submit(more);
  RunAll(absl::Milliseconds(1'000));
  const auto expected = ElementsAre("fast x eval 3 x 0.500", "fast y eval 3 x 0.500",
                                    "slow x eval 3 x 3.500", "slow y eval 3 x 3.500");
  for (const int page_size : {1, 2, 3, 10}) {
    EXPECT_THAT(ListAll(page_size), expected) << "pages of " << page_size;
  }
  Restart();
  EXPECT_THAT(ListAll(2), expected);
}

TEST_F(DurationsTest, AStrangePageIsRefused) {
  v1::ListDurationsResponse page;
  grpc::Status status = List(-1, "", &page);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("page_size: expected 0 to 1000, got -1"));
  status = List(1, "x", &page);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("page_token"));
}

TEST_F(DurationsTest, ASweepWithAHistoryHasAForecastThatStays) {
  EXPECT_FALSE(GetSweep(Submit(Spec("fast", 8))).has_forecast());  // nothing is known yet
  Sync(absl::ZeroDuration());
  RunAll(absl::Milliseconds(400));
  SweepSpec next = Spec("fast", 0);
  next.name = "next";
  for (int seed = 101; seed <= 108; ++seed) {
    next.seeds.push_back(seed);
  }
  const std::string id = Submit(next);
  v1::Sweep sweep = GetSweep(id);
  while (!sweep.has_forecast()) {
    sweep = GetSweep(id);  // it is worked out beside
  }
  // 16 jobs of 0.4 s on four slots.
  const double seconds =
      static_cast<double>(sweep.forecast().seconds()) + sweep.forecast().nanos() / 1e9;
  EXPECT_GE(seconds, 1.6);
  EXPECT_LE(seconds, 1.8);
  RunAll(absl::Milliseconds(900));  // and so it errs
  Restart();
  sweep = GetSweep(id);
  EXPECT_EQ(sweep.state(), v1::Sweep::STATE_SUCCEEDED);
  EXPECT_NEAR(static_cast<double>(sweep.forecast().seconds()) + sweep.forecast().nanos() / 1e9,
              seconds, 1e-9);
  // A sweep of which a part is finished already has none: it takes less than all of it would.
  SweepSpec again = next;
  again.name = "again";
  again.seeds.push_back(109);
  EXPECT_FALSE(GetSweep(Submit(again)).has_forecast());
}

}  // namespace
}  // namespace concur::testing
