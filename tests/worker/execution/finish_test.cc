// SPDX-License-Identifier: Apache-2.0
#include "worker/execution/finish.h"

#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "base/file.h"
#include "tests/testing/test.h"

namespace concur::worker {
namespace {

class OutputsTest : public ::testing::Test {
 protected:
  OutputsTest() {
    paths_.model = dir_.File("model");
    paths_.checkpoint = dir_.File("checkpoint");
    paths_.predictions = dir_.File("predictions.json");
    paths_.metrics = dir_.File("metrics.json");
    paths_.examples = dir_.File("examples.jsonl");
  }
  Outputs Look(bool is_train) const {
    JobOrder order;
    order.is_train = is_train;
    return LookAtOutputs(order, paths_);
  }

  TempDir dir_;
  RunPaths paths_;
};

TEST_F(OutputsTest, OfAPredictJobAreItsThreeFilesAndNotWhatALinkPointsTo) {
  ASSERT_OK(WriteFileAtomically(paths_.model, "of no concern"));
  ASSERT_OK(WriteFileAtomically(paths_.metrics, "{}"));
  ASSERT_EQ(symlink(paths_.metrics.c_str(), paths_.predictions.c_str()), 0);
  const Outputs outputs = Look(/*is_train=*/false);
  EXPECT_EQ(outputs.model, Outputs::Type::kMissing);
  EXPECT_EQ(outputs.metrics, Outputs::Type::kFile);
  EXPECT_EQ(outputs.predictions, Outputs::Type::kOther);
  EXPECT_EQ(outputs.examples, Outputs::Type::kMissing);
}

TEST_F(OutputsTest, AreSmallWithTheirLog) {
  ASSERT_OK(WriteFileAtomically(paths_.metrics, std::string(60, ' ')));
  ASSERT_OK(WriteFileAtomically(paths_.examples, std::string(30, ' ')));
  const Outputs outputs = Look(/*is_train=*/false);
  EXPECT_EQ(outputs.file_bytes, 90);
  process::ProcessEnd end;
  end.log_bytes = 10;
  EXPECT_TRUE(outputs.AreSmall(end, 100));
  end.log_bytes = 11;
  EXPECT_FALSE(outputs.AreSmall(end, 100));
}

TEST_F(OutputsTest, ACheckpointIsWhateverIsNoEmptyDirectory) {
  const auto has_checkpoint = [&] { return Look(/*is_train=*/true).has_checkpoint; };
  EXPECT_FALSE(has_checkpoint());
  ASSERT_EQ(mkdir(paths_.checkpoint.c_str(), 0700), 0);
  EXPECT_FALSE(has_checkpoint());
  EXPECT_TRUE(Look(/*is_train=*/true).AreSmall({}, 100));
  ASSERT_OK(WriteFileAtomically(paths_.checkpoint + "/step", "7"));
  EXPECT_TRUE(has_checkpoint());
  EXPECT_FALSE(Look(/*is_train=*/true).AreSmall({}, 100));
  EXPECT_TRUE(Look(/*is_train=*/false).has_checkpoint);
  // A link that the job put in its place is looked at later, and not followed: its end says why
  // it is lost.
  ASSERT_EQ(mkdir(dir_.File("empty").c_str(), 0700), 0);
  paths_.checkpoint = dir_.File("link");
  ASSERT_EQ(symlink(dir_.File("empty").c_str(), paths_.checkpoint.c_str()), 0);
  EXPECT_TRUE(has_checkpoint());
}

TEST_F(OutputsTest, ADirectoryIsNeverSmall) {
  EXPECT_TRUE(Look(/*is_train=*/true).AreSmall({}, 100));
  ASSERT_EQ(mkdir(paths_.model.c_str(), 0700), 0);
  const Outputs outputs = Look(/*is_train=*/true);
  EXPECT_EQ(outputs.model, Outputs::Type::kDirectory);
  EXPECT_FALSE(outputs.AreSmall({}, int64_t{1} << 40));
}

}  // namespace
}  // namespace concur::worker
