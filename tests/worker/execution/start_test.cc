// SPDX-License-Identifier: Apache-2.0
// A train job finds the system that it starts from.

#include <string>

#include "tests/testing/test.h"
#include "tests/worker/execution/executor_fixture.h"

namespace concur::worker {
namespace {

class StartTest : public ExecutorFixture {
 protected:
  // $4 is the system that it starts from.
  JobOrder Stage(const std::string& script) {
    JobOrder order = Train(script);
    order.command.emplace_back("{start}");
    return order;
  }
};

TEST_F(StartTest, ATrainJobReadsTheSystemThatItStartsFrom) {
  JobOrder order = Stage("test \"$(cat $4)\" = weights && (cat $4; echo more) > $2");
  order.system = transfer_.Add("weights\n");
  const JobResult result = Run(order);
  ASSERT_TRUE(result.succeeded) << result.message;
  EXPECT_EQ(ReadArtifact(result, ArtifactKind::kSystem), "weights\nmore\n");
}

TEST_F(StartTest, AFolderIsACopyOfTheJobsOwn) {
  const JobResult first = Run(Train("mkdir -p $2/a && echo 1 > $2/a/b"));
  ASSERT_TRUE(first.succeeded) << first.message;
  transfer_.Add(ReadArtifact(first, ArtifactKind::kSystem));
  for (int i = 0; i < 2; ++i) {  // the second one does not see what the first one writes
    JobOrder order = Stage("test \"$(cat $4/a/b)\" = 1 && echo 2 > $4/a/b && cp $4/a/b $2");
    order.system = first.artifacts[0].digest;
    const JobResult result = Run(order);
    ASSERT_TRUE(result.succeeded) << result.message;
    EXPECT_EQ(ReadArtifact(result, ArtifactKind::kSystem), "2\n");
  }
}

TEST_F(StartTest, WithoutASystemThePlaceholderHasNoValue) {
  const JobResult result = Run(Stage("true"));
  EXPECT_EQ(result.failure, FailureClass::kConfig);
  EXPECT_THAT(result.message, HasSubstr("{start}"));
}

TEST_F(StartTest, ASystemThatIsGoneIsTheWorkersFailure) {
  JobOrder order = Stage("true");
  order.system = Sha256Of("gone");
  const JobResult result = Run(order);
  EXPECT_EQ(result.failure, FailureClass::kWorker);
  EXPECT_THAT(result.message, HasSubstr("no such artifact"));
}

}  // namespace
}  // namespace concur::worker
