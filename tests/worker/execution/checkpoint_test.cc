// SPDX-License-Identifier: Apache-2.0
// $CONCUR_CHECKPOINT: what an attempt without success leaves there, and the next one finds.
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/archive/directory_tar.h"
#include "base/file.h"
#include "tests/testing/read_artifact.h"
#include "tests/testing/test.h"
#include "tests/worker/execution/executor_fixture.h"
#include "worker/inputs/inputs.h"

namespace concur::worker {
namespace {

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
    EXPECT_EQ(finished.result.message, "");
  }
}

TEST_F(CheckpointTest, AnAttemptThatChangesNothingLeavesTheSameBytes) {
  const FinishedAttempt first = RunToEnd(Train("echo 7 > $CONCUR_CHECKPOINT/step; exit 1"));
  ASSERT_TRUE(first.checkpoint.has_value());
  transfer_.Add("");
  ASSERT_OK_AND_ASSIGN(auto store, DirectoryStore::Open(temp_.File("work/cache")));
  ASSERT_OK_AND_ASSIGN(const std::string bytes,
                       testing::ReadArtifact(*store, first.checkpoint->digest));
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

// An evaluation asked everything again after one refused call.
TEST_F(CheckpointTest, AnEvaluationGoesOnFromTheAnswersItHas) {
  constexpr char kAsks[] =
      "answers=$CONCUR_CHECKPOINT/answers; "
      "for i in 1 2 3 4 5 6; do grep -qx $i $answers 2>/dev/null && continue; "
      "echo asked $i; echo $i >> $answers; [ $((i % 2)) = 1 ] || exit 1; done; "
      "echo '{\"bleu\": 1}' > $3";
  JobOrder order = Eval(kAsks);
  order.format = DataFormat::kFile;
  const FinishedAttempt first = RunToEnd(order);
  ASSERT_TRUE(first.checkpoint.has_value()) << first.result.message;
  ++order.id.attempt.number;
  order.checkpoint = first.checkpoint;
  const FinishedAttempt second = RunToEnd(order);
  EXPECT_EQ(second.result.resumed_from, 1u);
  EXPECT_EQ(executor_->ReadLog(order.id, 0, 4096), "asked 3\nasked 4\n");
  ++order.id.attempt.number;
  order.checkpoint = second.checkpoint;
  const FinishedAttempt third = RunToEnd(order);
  ++order.id.attempt.number;
  order.checkpoint = third.checkpoint;
  const FinishedAttempt last = RunToEnd(order);
  EXPECT_TRUE(last.result.succeeded) << last.result.message;
  EXPECT_EQ(executor_->ReadLog(order.id, 0, 4096), "");
  EXPECT_EQ(last.checkpoint, std::nullopt);
}

TEST_F(CheckpointTest, ACanceledAttemptLeavesNone) {
  EXPECT_EQ(RunAndStop(Train(kSavesAtEnd), StopCause::kCanceled).finished.checkpoint, std::nullopt);
  EXPECT_EQ(RunAndStop(Train(kSavesAtEnd), StopCause::kFenced).finished.checkpoint, std::nullopt);
}

// Up to checkpoint_bytes_max went up for nobody.
TEST_F(CheckpointTest, ACancelEndsTheUpload) {
  int held = 0;
  for (const StopCause cause : {StopCause::kCanceled, StopCause::kFenced}) {
    const JobOrder order = Train("echo 7 > $CONCUR_CHECKPOINT/step; exit 1");
    const FinishedAttempt finished = RunToEnd(order);
    ASSERT_TRUE(finished.checkpoint.has_value());
    transfer_.Hold(finished.checkpoint->digest);
    executor_->Publish(finished);
    const absl::Time deadline = absl::Now() + kDeadline;
    while (transfer_.held() == held) {
      ASSERT_LT(absl::Now(), deadline);
      waker_.Wait(absl::Milliseconds(2));
    }
    held = transfer_.held();
    // The next attempt of a setting that was only stopped early wants it.
    executor_->Stop(order.id, StopCause::kEarlyStop, /*at_once=*/false);
    EXPECT_TRUE(executor_->Poll().empty());
    executor_->Stop(order.id, cause, /*at_once=*/false);
    const ExecutorReport report = Next();
    EXPECT_TRUE(report.published);
    EXPECT_EQ(report.finished.checkpoint, std::nullopt);
    EXPECT_EQ(report.finished.result.message, "exit code 1");
    executor_->Publish(finished);
    EXPECT_EQ(Next().finished.checkpoint, std::nullopt) << "nor is it begun again";
    EXPECT_EQ(transfer_.held(), held);
    executor_->Forget(order.id);
  }
}

TEST_F(CheckpointTest, ACancelAfterAnEarlyStopCountsToo) {
  const JobOrder order = Train(
      "trap 'echo 7 > $CONCUR_CHECKPOINT/step; while test ! -e $3/go; do sleep 0.02; done; exit 0' "
      "TERM; echo go; while :; do sleep 0.02; done");
  executor_->Start(order);
  WaitForLog(order.id, "go");
  executor_->Stop(order.id, StopCause::kEarlyStop, /*at_once=*/false);
  const std::string directory = absl::StrCat(temp_.File("work/runs/"), RunName(order.id));
  const absl::Time deadline = absl::Now() + kDeadline;
  while (access(absl::StrCat(directory, "/checkpoint/step").c_str(), F_OK) != 0) {
    ASSERT_LT(absl::Now(), deadline);
    waker_.Wait(absl::Milliseconds(2));
  }
  executor_->Stop(order.id, StopCause::kCanceled, /*at_once=*/false);
  ASSERT_OK(WriteFileAtomically(absl::StrCat(directory, "/output/go"), ""));
  EXPECT_EQ(Next().finished.checkpoint, std::nullopt);
}

TEST_F(CheckpointTest, ALogThatIsRefusedDoesNotTakeTheCheckpointWithIt) {
  const FinishedAttempt finished =
      RunToEnd(Train("echo said; echo 7 > $CONCUR_CHECKPOINT/step; exit 1"));
  ASSERT_EQ(finished.result.artifacts.size(), 1u);
  ASSERT_TRUE(finished.checkpoint.has_value());
  transfer_.Refuse(finished.result.artifacts[0].digest, absl::FailedPreconditionError("refused"));
  executor_->Publish(finished);
  const ExecutorReport report = Next();
  EXPECT_TRUE(report.published);
  EXPECT_EQ(report.finished.result.failure, FailureClass::kWorker);
  EXPECT_THAT(report.finished.result.message, HasSubstr("could not be handed in: refused"));
  EXPECT_EQ(report.finished.checkpoint, finished.checkpoint);
  EXPECT_TRUE(transfer_.Has(finished.checkpoint->digest));
}

// The disk has fewer bytes of it than its tar would have.
TEST_F(CheckpointTest, AFileWithHolesCountsWhole) {
  options_.checkpoint_bytes_max = 1 << 20;
  Reopen();
  const FinishedAttempt finished =
      RunToEnd(Train("truncate -s 3000000 $CONCUR_CHECKPOINT/a; exit 1"));
  EXPECT_EQ(finished.checkpoint, std::nullopt);
  EXPECT_THAT(finished.result.message,
              HasSubstr("exit code 1; its checkpoint was not kept: $CONCUR_CHECKPOINT has more "
                        "than this worker's checkpoint_bytes_max of 1 MiB"));
}

TEST_F(CheckpointTest, OneThatIsTooLargeOrHasALinkIsDroppedAndTheMessageSaysSo) {
  options_.checkpoint_bytes_max = 1 << 20;
  Reopen();
  FinishedAttempt finished =
      RunToEnd(Train("head -c 3000000 /dev/zero > $CONCUR_CHECKPOINT/a; exit 1"));
  EXPECT_EQ(finished.checkpoint, std::nullopt);
  EXPECT_THAT(finished.result.message,
              HasSubstr("exit code 1; its checkpoint was not kept: $CONCUR_CHECKPOINT has more "
                        "than this worker's checkpoint_bytes_max of 1 MiB"));
  finished = RunToEnd(Train("ln -s /etc/passwd $CONCUR_CHECKPOINT/x; exit 1"));
  EXPECT_EQ(finished.checkpoint, std::nullopt);
  EXPECT_THAT(finished.result.message, HasSubstr("its checkpoint was not kept: "));
  EXPECT_THAT(finished.result.message, HasSubstr("symbolic link"));
  finished = RunToEnd(Train("rmdir $CONCUR_CHECKPOINT; echo > $CONCUR_CHECKPOINT; exit 1"));
  EXPECT_THAT(finished.result.message, HasSubstr("expected the directory that was there"));
}

TEST_F(CheckpointTest, AJobWhoseCheckpointIsGoneOrDamagedBeginsAnew) {
  const auto tar_of = [&](const std::vector<std::string>& names) {
    std::string bytes;
    const auto writer = DirectoryTarWriter::Open([&bytes](absl::string_view data) {
      absl::StrAppend(&bytes, data);
      return absl::OkStatus();
    });
    CONCUR_CHECK_OK(writer.status());
    for (const std::string& name : names) {
      CONCUR_CHECK_OK((*writer)->AddFile(name, /*is_executable=*/false, 0));
    }
    CONCUR_CHECK_OK((*writer)->Finish());
    return transfer_.Add(bytes);
  };
  for (const Digest& digest : {Sha256Of("gone"), transfer_.Add("not a tar"), tar_of({"a", "a"}),
                               tar_of({"a", std::string(300, 'b')})}) {
    JobOrder order = Train("test -z \"$(ls -A $CONCUR_CHECKPOINT)\" && touch $2");
    order.checkpoint = {digest, 9, 3};
    const JobResult result = Run(order);
    EXPECT_TRUE(result.succeeded) << result.message;
    EXPECT_EQ(result.resumed_from, 0u);
  }
}

// One machine may be able to do what another one cannot.
TEST_F(CheckpointTest, ItIsNotTheCheckpointsFaultWhenTheMachineFails) {
  for (const int error : {EIO, EACCES, EROFS, EMFILE, ENOSPC, ENOMEM}) {
    EXPECT_FALSE(IsFaultOfCheckpoint(ErrnoStatus(error, "run", "create"))) << error;
  }
  // A name that comes twice, is too long, or lies below a file.
  for (const int error : {EEXIST, ENAMETOOLONG, ENOTDIR}) {
    EXPECT_TRUE(IsFaultOfCheckpoint(ErrnoStatus(error, "run", "create"))) << error;
  }
  EXPECT_TRUE(IsFaultOfCheckpoint(absl::DataLossError("cut")));
}

}  // namespace
}  // namespace concur::worker
