// SPDX-License-Identifier: Apache-2.0
// Sweeps with a search over the wire, and from the disk.

#include <string>

#include "proto/rpc/convert_sweep.h"
#include "tests/coordinator/server/server_fixture.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

class SearchTest : public ServerTest {
 protected:
  SweepSpec Searched() {
    SweepSpec spec = Spec("fast", 1);
    spec.approaches[0].hyperparameters.defaults = {{"lr", 0.1}};
    spec.approaches[0].hyperparameters.space = {{"lr", LogUniformRange{0.001, 1.0}}};
    spec.random_settings = 11;
    spec.search = SearchSpec{.on_test = true, .parallel = 2};
    return spec;
  }
  v1::Search SearchOf(const std::string& sweep) {
    v1::GetSweepRequest request;
    request.set_sweep(sweep);
    request.set_include_spec(true);
    v1::Sweep answer;
    grpc::ClientContext context;
    EXPECT_TRUE(client().GetSweep(&context, request, &answer).ok());
    return answer.spec().search();
  }
};

TEST_F(SearchTest, WhoeverSubmitsChoosesNothing) {
  v1::CreateSweepRequest request;
  SweepSpec spec = Searched();
  spec.search->proposals = {{0, 1, {{"lr", 0.5}}}};
  *request.mutable_spec() = rpc::ToProto(spec);
  request.set_request_id("r");
  v1::CreateSweepResponse answer;
  grpc::ClientContext context;
  const grpc::Status status = client().CreateSweep(&context, request, &answer);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("spec.search.proposals: expected none"));
}

TEST_F(SearchTest, WhatASearchChoseIsThereAfterARestart) {
  const std::string id = Submit(Searched());
  EXPECT_EQ(GetSweep(id).trials(), 12u);
  EXPECT_EQ(GetSweep(id).trials_chosen(), 2u);
  Sync(absl::ZeroDuration());
  Sync(absl::Milliseconds(1));
  Sync(absl::Milliseconds(1));
  const v1::Search before = SearchOf(id);
  EXPECT_GT(before.proposals_size(), 1);
  EXPECT_LT(before.proposals_size(), 11);
  Restart();
  const v1::Search after = SearchOf(id);
  ASSERT_GE(after.proposals_size(), before.proposals_size());
  for (int i = 0; i < before.proposals_size(); ++i) {
    EXPECT_EQ(after.proposals(i).SerializeAsString(), before.proposals(i).SerializeAsString());
  }
  RunAll(absl::Milliseconds(1));
  EXPECT_EQ(GetSweep(id).state(), v1::Sweep::STATE_SUCCEEDED);
  EXPECT_EQ(GetSweep(id).trials_chosen(), 12u);
}

}  // namespace
}  // namespace concur::testing
