// SPDX-License-Identifier: Apache-2.0
// $CONCUR_CHECKPOINT: what an attempt without success leaves there, and the next one finds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/worker/executor_fixture.h"

namespace concur::worker {
namespace {

using ::testing::HasSubstr;

class CheckpointTest : public ExecutorFixture {
 protected:
  FinishedAttempt RunToEnd(const JobOrder& order) {
    executor_->Start(order);
    return Next().finished;
  }
  // Starts the job, and stops it once it has said "go".
  ExecutorReport RunAndStop(const JobOrder& order, StopCause cause) {
    executor_->Start(order);
    WaitForLog(order.id, "go");
    executor_->Stop(order.id, cause, /*at_once=*/false);
    return Next();
  }
};

// Saves when it is told to end, as a training does.
constexpr char kSavesAtEnd[] =
    "mkdir $CONCUR_CHECKPOINT/weights; trap 'echo 7 > $CONCUR_CHECKPOINT/step; exit 0' TERM; "
    "echo go; while :; do sleep 0.02; done";

TEST_F(CheckpointTest, WhatAStoppedAttemptLeftIsLaidOutForTheNext) {
  for (const StopCause cause : {StopCause::kPreempted, StopCause::kEarlyStop}) {
    const JobOrder first = Train(kSavesAtEnd);
    ExecutorReport report = RunAndStop(first, cause);
    EXPECT_EQ(report.finished.result.failure, FailureClass::kPreempted);
    ASSERT_TRUE(report.finished.checkpoint.has_value()) << report.finished.result.message;
    EXPECT_EQ(report.finished.checkpoint->attempt, 1u);
    EXPECT_FALSE(report.published);
    executor_->Publish(report.finished);
    report = Next();
    EXPECT_TRUE(report.published);
    ASSERT_TRUE(transfer_.Has(report.finished.checkpoint->digest));
    EXPECT_EQ(transfer_.Get(report.finished.checkpoint->digest).size(),
              static_cast<size_t>(report.finished.checkpoint->bytes));
    executor_->Forget(first.id);

    JobOrder second = Train("test -d $CONCUR_CHECKPOINT/weights && mv $CONCUR_CHECKPOINT/step $2");
    second.checkpoint = report.finished.checkpoint;
    const FinishedAttempt finished = RunToEnd(second);
    EXPECT_TRUE(finished.result.succeeded) << finished.result.message;
    EXPECT_EQ(finished.result.resumed_from, 1u);
    EXPECT_EQ(ReadArtifact(finished.result, ArtifactKind::kSystem), "7\n");
    EXPECT_EQ(finished.checkpoint, std::nullopt) << "a success leaves none";
  }
}

TEST_F(CheckpointTest, AnAttemptThatChangesNothingLeavesTheSameBytes) {
  const FinishedAttempt first = RunToEnd(Train("echo 7 > $CONCUR_CHECKPOINT/step; exit 1"));
  ASSERT_TRUE(first.checkpoint.has_value());
  transfer_.Add("");
  ASSERT_OK_AND_ASSIGN(auto store, DirectoryStore::Open(temp_.File("work/cache")));
  ASSERT_OK_AND_ASSIGN(const std::string bytes, store->Read(first.checkpoint->digest, 1 << 20));
  transfer_.Add(bytes);
  JobOrder second = Train("exit 75");
  second.checkpoint = first.checkpoint;
  const FinishedAttempt again = RunToEnd(second);
  EXPECT_EQ(again.result.failure, FailureClass::kTemporary);
  EXPECT_EQ(again.result.resumed_from, 1u);
  ASSERT_TRUE(again.checkpoint.has_value());
  EXPECT_EQ(again.checkpoint->digest, first.checkpoint->digest);
}

TEST_F(CheckpointTest, AnEmptyDirectoryIsNoCheckpoint) {
  const FinishedAttempt finished =
      RunToEnd(Train("test -d $CONCUR_CHECKPOINT || exit 2; ls -A $CONCUR_CHECKPOINT; exit 1"));
  EXPECT_EQ(finished.result.exit_code, 1);
  EXPECT_EQ(finished.checkpoint, std::nullopt);
  EXPECT_TRUE(RunToEnd(Train("rmdir $CONCUR_CHECKPOINT; touch $2")).result.succeeded);
  EXPECT_EQ(RunToEnd(Train("rmdir $CONCUR_CHECKPOINT; exit 1")).checkpoint, std::nullopt);
}

TEST_F(CheckpointTest, ACanceledAttemptLeavesNone) {
  EXPECT_EQ(RunAndStop(Train(kSavesAtEnd), StopCause::kCanceled).finished.checkpoint, std::nullopt);
  EXPECT_EQ(RunAndStop(Train(kSavesAtEnd), StopCause::kFenced).finished.checkpoint, std::nullopt);
}

TEST_F(CheckpointTest, OneThatIsTooLargeOrHasALinkIsDroppedAndTheMessageSaysSo) {
  options_.checkpoint_bytes_max = 1 << 20;
  Reopen();
  FinishedAttempt finished =
      RunToEnd(Train("head -c 3000000 /dev/zero > $CONCUR_CHECKPOINT/a; exit 1"));
  EXPECT_EQ(finished.checkpoint, std::nullopt);
  EXPECT_THAT(finished.result.message,
              HasSubstr("exit code 1; its checkpoint was not kept: $CONCUR_CHECKPOINT has 3 MiB, "
                        "more than this worker's checkpoint_bytes_max of 1 MiB"));
  finished = RunToEnd(Train("ln -s /etc/passwd $CONCUR_CHECKPOINT/x; exit 1"));
  EXPECT_EQ(finished.checkpoint, std::nullopt);
  EXPECT_THAT(finished.result.message, HasSubstr("its checkpoint was not kept: "));
  EXPECT_THAT(finished.result.message, HasSubstr("symbolic link"));
  finished = RunToEnd(Train("rmdir $CONCUR_CHECKPOINT; echo > $CONCUR_CHECKPOINT; exit 1"));
  EXPECT_THAT(finished.result.message, HasSubstr("expected the directory that was there"));
}

TEST_F(CheckpointTest, AJobWhoseCheckpointIsGoneOrDamagedBeginsAnew) {
  for (const Digest& digest : {Sha256Of("gone"), transfer_.Add("not a tar")}) {
    JobOrder order = Train("test -z \"$(ls -A $CONCUR_CHECKPOINT)\" && touch $2");
    order.checkpoint = {digest, 9, 3};
    const JobResult result = Run(order);
    EXPECT_TRUE(result.succeeded) << result.message;
    EXPECT_EQ(result.resumed_from, 0u);
  }
}

}  // namespace
}  // namespace concur::worker
