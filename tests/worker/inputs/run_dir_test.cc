// SPDX-License-Identifier: Apache-2.0
// Run directories: what the next attempt finds, and where they are when not in the work directory.
#include "worker/inputs/run_dir.h"

#include <sys/types.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/file.h"
#include "tests/testing/test.h"
#include "tests/worker/execution/executor_fixture.h"

namespace concur::worker {
namespace {

TEST(RunDirectoriesTest, ANameThatComesAgainIsGivenToNobodyElse) {
  TempDir temp;
  ASSERT_OK_AND_ASSIGN(const auto directories, RunDirectories::Open(temp.File("work")));
  const auto paths_of = [&](uint32_t job) {
    JobOrder order;
    order.id = AttemptId{{{1}, job}, {1}};
    order.is_train = true;
    return directories->PathsOf(order);
  };
  const RunPaths again = paths_of(0);
  const RunPaths other = paths_of(1);
  ASSERT_OK(directories->Make(again));
  ASSERT_OK(directories->Make(other));
  ASSERT_OK(directories->Remove(again));
  ASSERT_OK(directories->Remove(other));

  ASSERT_OK(directories->Make(again));
  ASSERT_OK(WriteFileAtomically(again.model, "weights"));
  for (const uint32_t job : {2, 3, 4}) {
    const RunPaths next = paths_of(job);
    ASSERT_OK(directories->Make(next));
    EXPECT_FALSE(std::filesystem::exists(next.model));
  }
  EXPECT_TRUE(std::filesystem::exists(again.model));
}

// A worker did not leave within 40 s of SIGTERM: it removed the 27,000 folders that a job had made.
TEST(RunDirectoriesTest, AWorkerThatLeavesRemovesNothingMoreAndTheNextOneDoes) {
  TempDir temp;
  JobOrder order;
  order.id = AttemptId{{{1}, 0}, {1}};
  std::string left;
  {
    ASSERT_OK_AND_ASSIGN(const auto directories, RunDirectories::Open(temp.File("work")));
    const RunPaths paths = directories->PathsOf(order);
    ASSERT_OK(directories->Make(paths));
    left = paths.output + "/folder";
    ASSERT_TRUE(std::filesystem::create_directory(left));
    const std::string stray = directories->runs() + "/stray";
    ASSERT_TRUE(std::filesystem::create_directory(stray));
    directories->StopRemoving();
    EXPECT_EQ(directories->Remove(paths).code(), absl::StatusCode::kCancelled);
    directories->RemoveStrays();
    EXPECT_TRUE(std::filesystem::exists(left) && std::filesystem::exists(stray));
  }
  ASSERT_OK_AND_ASSIGN(const auto directories, RunDirectories::Open(temp.File("work")));
  EXPECT_TRUE(std::filesystem::is_empty(directories->runs()));
}

// The run directory of the next attempt, after one whose command was `script`: what a listing of it
// with rights and names gives.
class RunDirectoryTest : public ExecutorFixture, public ::testing::WithParamInterface<const char*> {
 protected:
  std::string ListingAfter(const std::string& script) {
    const JobOrder first = Train(script);
    Run(first);
    executor_->Forget(first.id);
    // Forgetting takes place in the background: its directory goes, or gets the next one's name.
    const absl::Time deadline = absl::Now() + kDeadline;
    std::string listing;
    for (int i = 0; i < 3; ++i) {
      const JobOrder next = Train(
          "stat -c '%n %F %a %s' .; find . | sort; find . -type d -printf "
          "'%m %p\\n' | sort; printf x > \"$2\"");
      const JobResult result = Run(next);
      listing = ReadArtifact(result, ArtifactKind::kLog);
      executor_->Forget(next.id);
      CONCUR_CHECK(absl::Now() < deadline);
    }
    return listing;
  }
};

TEST_P(RunDirectoryTest, IsTheSameWhateverTheLastCommandLeftInItsOwn) {
  const std::string fresh = ListingAfter("printf x > \"$2\"");
  EXPECT_THAT(fresh, HasSubstr("./output"));
  EXPECT_EQ(ListingAfter(GetParam()), fresh);
}

INSTANTIATE_TEST_SUITE_P(
    All, RunDirectoryTest,
    ::testing::Values("touch \"$3/left\"; printf x > \"$2\"", "chmod 700 \"$3\"; printf x > \"$2\"",
                      "mkdir \"$2\"; touch \"$2/m\" .hidden", "rmdir \"$3\"; printf x > \"$2\"",
                      "rmdir \"$3\"; ln -s /tmp \"$3\"; exit 3",
                      "touch $CONCUR_CHECKPOINT/left; exit 1",
                      "rmdir $CONCUR_CHECKPOINT; ln -s /tmp $CONCUR_CHECKPOINT; exit 1",
                      "mkdir more; exit 1", "chmod 500 .; exit 1",
                      "for i in $(seq 100); do : > $i; done; exit 1"));

// --- elsewhere -----------------------------------------------------------------------------------

class ScratchTest : public ExecutorFixture {
 protected:
  void SetUp() override {
    options_.run_directory = temp_.File("scratch");
    Reopen();
  }
  std::vector<std::string> InScratch() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(temp_.File("scratch"))) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }
};

TEST_F(ScratchTest, JobsRunThereAndTheirResultsDoNotStay) {
  const JobResult result = Run(Train("pwd; readlink -f $1; pwd > $2"));
  ASSERT_TRUE(result.succeeded) << result.message;
  ASSERT_THAT(InScratch(), SizeIs(1));
  EXPECT_THAT(ReadArtifact(result, ArtifactKind::kSystem),
              StartsWith(absl::StrCat(temp_.File("scratch/"), InScratch()[0], "/runs/")));
  EXPECT_THAT(ReadArtifact(result, ArtifactKind::kLog), HasSubstr(temp_.File("work/cache/")));
  executor_.reset();
  EXPECT_THAT(InScratch(), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::symlink_status(temp_.File("work/runs"))));
}

TEST_F(ScratchTest, WhatAKilledWorkerLeftThereIsRemovedWhereverTheNextOneRuns) {
  executor_.reset();
  // As it would lie there, beside somebody else's.
  const std::string left = temp_.File("scratch/concur-runs-abcdef");
  const std::string other = temp_.File("scratch/concur-runs-uvwxyz");
  std::filesystem::create_directories(left + "/runs/s1-0-a1");
  std::filesystem::create_directories(other);
  std::filesystem::create_directory_symlink(left + "/runs", temp_.File("work/runs"));
  options_.run_directory = "";
  Reopen();
  EXPECT_FALSE(std::filesystem::exists(left));
  EXPECT_TRUE(std::filesystem::exists(other));
  EXPECT_FALSE(std::filesystem::is_symlink(temp_.File("work/runs")));
  EXPECT_TRUE(Run(Train("touch $2")).succeeded);
}

TEST_F(ScratchTest, ADaemonThatAKilledWorkerLeftThereIsKilled) {
  // The daemon leaves its job's process group, and the worker is not there to sweep after it: a
  // process of this test stands in for it.
  executor_.reset();
  const std::string left = temp_.File("scratch/concur-runs-abcdef");
  std::filesystem::create_directories(left + "/runs/s1-0-a1");
  std::filesystem::create_directory_symlink(left + "/runs", temp_.File("work/runs"));
  const std::string pid_file = temp_.File("pid");
  const std::string command = absl::StrCat(
      "cd ", left, "/runs/s1-0-a1 && { setsid sleep 1000 >/dev/null & } && echo $! >", pid_file);
  ASSERT_EQ(std::system(command.c_str()), 0);  // NOLINT(concurrency-mt-unsafe)
  ASSERT_OK_AND_ASSIGN(const std::string text, ReadFile(pid_file));
  pid_t pid = 0;
  ASSERT_TRUE(absl::SimpleAtoi(text, &pid)) << text;
  Reopen();
  EXPECT_TRUE(IsGone(pid));
}

TEST_F(ScratchTest, ALinkThatSomebodyElseMadeIsRemovedAloneWithoutWhatItPointsTo) {
  executor_.reset();
  const std::string precious = temp_.File("precious");
  std::filesystem::create_directories(precious + "/runs/data");
  std::filesystem::create_directory_symlink(precious + "/runs", temp_.File("work/runs"));
  Reopen();
  EXPECT_TRUE(std::filesystem::exists(precious + "/runs/data"));
  EXPECT_TRUE(Run(Train("touch $2")).succeeded);
}

TEST_F(ScratchTest, WhatSomebodyElsePutInItsPlaceIsLeftAlone) {
  executor_.reset();
  const std::string taken = temp_.File("scratch/concur-runs-abcdef");
  ASSERT_OK(WriteFileAtomically(taken, "not a directory", 0600));
  std::filesystem::create_directory_symlink(taken + "/runs", temp_.File("work/runs"));
  Reopen();
  EXPECT_EQ(ReadFile(taken).value_or(""), "not a directory");
  EXPECT_TRUE(Run(Train("touch $2")).succeeded);
}

TEST_F(ScratchTest, APlaceWhereAnybodyMayRenameIsRefused) {
  executor_.reset();
  std::filesystem::permissions(temp_.File("scratch"), std::filesystem::perms::all);
  EXPECT_THAT(RunDirectories::Open(temp_.File("work"), temp_.File("scratch")).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("sticky bit")));
  std::filesystem::permissions(temp_.File("scratch"),
                               std::filesystem::perms::all | std::filesystem::perms::sticky_bit);
  EXPECT_OK(RunDirectories::Open(temp_.File("work"), temp_.File("scratch")).status());
}

TEST_F(ScratchTest, APlaceThatIsNoDirectoryIsNamed) {
  executor_.reset();
  ASSERT_OK(WriteFileAtomically(temp_.File("file"), "x", 0600));
  EXPECT_THAT(RunDirectories::Open(temp_.File("work"), temp_.File("file")).status(),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr(temp_.File("file"))));
}

}  // namespace
}  // namespace concur::worker
