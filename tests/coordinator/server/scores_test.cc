// SPDX-License-Identifier: Apache-2.0
// ListScores: what the score table of a sweep is made from.
#include <grpcpp/client_context.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "core/job_score.h"
#include "core/result.h"
#include "proto/rpc/convert_score.h"
#include "tests/coordinator/server/server_fixture.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

using ::testing::Field;

class ScoresTest : public ServerTest {
 protected:
  std::vector<JobScore> ListAll(const std::string& sweep, const std::string& metric,
                                int page_size) {
    std::vector<JobScore> scores;
    v1::ListScoresRequest request;
    request.set_sweep(sweep);
    request.set_metric(metric);
    request.set_page_size(page_size);
    do {
      grpc::ClientContext context;
      v1::ListScoresResponse page;
      const grpc::Status status = client().ListScores(&context, request, &page);
      EXPECT_TRUE(status.ok()) << status.error_message();
      EXPECT_LE(page.scores_size(), page_size);
      for (const v1::Score& proto : page.scores()) {
        absl::StatusOr<JobScore> score = rpc::FromProto(proto, FieldPath("score"));
        EXPECT_OK(score);
        scores.push_back(score.value_or(JobScore()));
      }
      request.set_page_token(page.next_page_token());
    } while (!request.page_token().empty());
    return scores;
  }
};

TEST_F(ScoresTest, EveryEvalJobHasAScoreOrTheStateThatItIsIn) {
  const std::string sweep = Submit(Spec("fast", 2));
  const std::vector<JobScore> before = ListAll(sweep, "", 10);
  EXPECT_THAT(before, SizeIs(4));
  EXPECT_THAT(before, Each(Field(&JobScore::state, JobState::kReady)));
  EXPECT_THAT(before, Each(Field(&JobScore::value, std::nullopt)));
  RunAll(absl::Milliseconds(10));
  for (const int page_size : {1, 3, 10}) {
    const std::vector<JobScore> scores = ListAll(sweep, "f1", page_size);
    ASSERT_THAT(scores, SizeIs(4)) << "pages of " << page_size;
    for (size_t i = 0; i < scores.size(); ++i) {
      const JobScore& score = scores[i];
      EXPECT_EQ(score.job.ToString(), sweep + "/" + std::to_string(i));
      EXPECT_EQ(score.state, JobState::kSucceeded);
      EXPECT_EQ(score.approach, "fast");
      EXPECT_EQ(score.train_set, "");
      EXPECT_EQ(score.metric, "f1");
      EXPECT_EQ(score.value, 50);
      EXPECT_EQ(score.examples, 10);
    }
  }
  EXPECT_THAT(ListAll(sweep, "accuracy", 10), Each(Field(&JobScore::value, std::nullopt)));
}

TEST_F(ScoresTest, PartsComeWithTheirJobAndCountAsRowsOfAPage) {
  for (const char* name : {"art", "law", "math"}) {
    v1::Part& part = *result_.add_parts();
    part.set_name(name);
    for (const char* metric : {"f1", "loss"}) {
      part.add_metrics()->set_name(metric);
      part.mutable_metrics()->rbegin()->set_value(25);
      part.mutable_metrics()->rbegin()->set_examples(3);
    }
  }
  const std::string sweep = Submit(Spec("fast", 2));
  RunAll(absl::Milliseconds(10));
  const std::vector<JobScore> scores = ListAll(sweep, "f1", 5);
  ASSERT_THAT(scores, SizeIs(4));
  EXPECT_THAT(scores, Each(Field(&JobScore::value, 50)));
  EXPECT_THAT(scores[3].parts, ElementsAre(Metric{"f1", 25, 3, std::nullopt, "art"},
                                           Metric{"f1", 25, 3, std::nullopt, "law"},
                                           Metric{"f1", 25, 3, std::nullopt, "math"}));
  grpc::ClientContext context;
  v1::ListScoresRequest request;
  request.set_sweep(sweep);
  request.set_metric("f1");
  request.set_page_size(5);
  v1::ListScoresResponse page;
  ASSERT_TRUE(client().ListScores(&context, request, &page).ok());
  EXPECT_EQ(page.scores_size(), 2) << "the second one passes the page's size";
  EXPECT_EQ(page.next_page_token(), "2");
}

TEST_F(ScoresTest, UnknownSweepsAreNotFound) {
  grpc::ClientContext context;
  v1::ListScoresRequest request;
  request.set_sweep("nothing");
  v1::ListScoresResponse page;
  EXPECT_EQ(client().ListScores(&context, request, &page).error_code(),
            grpc::StatusCode::NOT_FOUND);
}

}  // namespace
}  // namespace concur::testing
