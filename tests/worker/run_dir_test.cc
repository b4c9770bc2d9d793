// SPDX-License-Identifier: Apache-2.0
// Run directories: what the next attempt finds, and where they are when not in the work directory.
#include "worker/run_dir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/check.h"
#include "base/digest.h"
#include "base/file.h"
#include "core/job_order.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "tests/worker/executor_fixture.h"

namespace concur::worker {
namespace {

using ::concur::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

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
                      "rmdir \"$3\"; ln -s /tmp \"$3\"; exit 3", "mkdir more; exit 1",
                      "chmod 500 .; exit 1", "for i in $(seq 100); do : > $i; done; exit 1"));

// --- used again ----------------------------------------------------------------------------------

// One attempt after the other, without processes: this test does what their commands would.
class UsedAgainTest : public ::testing::Test {
 protected:
  static constexpr char kTarget[] = "/data/a";

  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(directories_, RunDirectories::Open(temp_.File("work")));
  }

  static JobOrder Eval(const std::string& data, const std::string& suffix = ".jsonl") {
    JobOrder order;
    order.is_train = false;
    order.test.digest = Sha256Of(data);
    order.test.suffix = suffix;
    return order;
  }

  // The next attempt's, and what is known of it.
  void Begin(JobOrder order) {
    order.id = AttemptId{{{1}, next_job_++}, {1}};
    paths_ = directories_->PathsOf(order);
    ASSERT_OK_AND_ASSIGN(contents_, directories_->Make(paths_, order));
  }
  // Another one, beside those of a test: links are kept while there are attempts.
  void BeginBeside() {
    Begin(Eval("beside"));
    beside_ = paths_;
  }
  // As its inputs are linked.
  void Link() {
    ASSERT_EQ(symlink(kTarget, paths_.test.c_str()), 0);
    contents_.target = kTarget;
  }
  void End() { ASSERT_OK(directories_->Remove(paths_, contents_)); }

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(paths_.directory)) {
      names.push_back(entry.path().lexically_relative(paths_.directory).string());
    }
    return names;
  }

  // Until the folders of the directory that is used again are known by their change times.
  bool Settle() {
    const absl::Time deadline = absl::Now() + absl::Seconds(5);
    while (absl::Now() < deadline) {
      Begin(Eval("a"));
      if (contents_.output.settled && contents_.temporary.settled) {
        return true;
      }
      End();
    }
    return false;
  }

  testing::TempDir temp_;
  std::unique_ptr<RunDirectories> directories_;
  uint32_t next_job_ = 1;
  RunPaths paths_;
  RunPaths beside_;
  RunContents contents_;
};

TEST_F(UsedAgainTest, TheNextAttemptWithTheSameDataFindsItsLink) {
  BeginBeside();
  Begin(Eval("a"));
  EXPECT_EQ(contents_.target, "");
  Link();
  ASSERT_OK(WriteFileAtomically(paths_.metrics, "{}", 0600));
  const std::string first = paths_.test;
  End();
  Begin(Eval("a"));
  EXPECT_EQ(contents_.target, kTarget);
  EXPECT_NE(paths_.test, first);
  EXPECT_EQ(std::filesystem::read_symlink(paths_.test), kTarget);
  EXPECT_THAT(Names(), UnorderedElementsAre("output", "tmp", "test.jsonl"));
}

TEST_F(UsedAgainTest, WhenTheLastAttemptGoesNoLinksStay) {
  BeginBeside();
  Begin(Eval("a"));
  Link();
  EXPECT_TRUE(directories_->Recycle(paths_, contents_));
  EXPECT_EQ(std::filesystem::read_symlink(paths_.test), kTarget);
  // An attempt whose inputs could not be fetched has its directory made again.
  for (int i = 0; i < 2; ++i) {
    Begin(Eval("b"));
    --next_job_;
  }
  End();
  EXPECT_TRUE(std::filesystem::exists(beside_.directory));
  ASSERT_OK(directories_->Remove(beside_, {}));
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directories_->runs())) {
    EXPECT_TRUE(entry.is_directory() && !entry.is_symlink()) << entry.path();
  }
  Begin(Eval("a"));
  EXPECT_EQ(contents_.target, "");
}

TEST_F(UsedAgainTest, OfSeveralDirectoriesTheOneWithTheSameDataIsTaken) {
  BeginBeside();
  std::vector<std::pair<RunPaths, RunContents>> all;
  for (const char* data : {"b", "a", "c"}) {
    Begin(Eval(data));
    Link();
    all.emplace_back(paths_, contents_);
  }
  for (const auto& [paths, contents] : all) {
    ASSERT_OK(directories_->Remove(paths, contents));
  }
  Begin(Eval("a"));
  EXPECT_EQ(contents_.target, kTarget);
}

TEST_F(UsedAgainTest, OtherDataOrAnotherNameOfItLeavesNoLink) {
  BeginBeside();
  JobOrder train;
  train.is_train = true;
  train.train.push_back({.name = "a", .digest = Sha256Of("a"), .suffix = ".jsonl"});
  JobOrder mixture = train;
  mixture.is_mixture = true;
  for (const JobOrder& next : {Eval("b"), Eval("a", ".txt"), train, mixture}) {
    Begin(Eval("a"));
    if (contents_.target.empty()) {
      Link();
    }
    End();
    Begin(next);
    EXPECT_EQ(contents_.target, "");
    EXPECT_THAT(Names(), UnorderedElementsAre("output", "tmp"));
    End();
  }
}

TEST_F(UsedAgainTest, ALinkThatTheCommandReplacedIsNotKept) {
  BeginBeside();
  const std::vector<std::function<void()>> commands = {
      [&] { unlink(paths_.test.c_str()); },
      [&] { ASSERT_OK(WriteFileAtomically(paths_.test, "mine", 0600)); },
      [&] {
        unlink(paths_.test.c_str());
        ASSERT_EQ(symlink("/data/ab", paths_.test.c_str()), 0);
      },
  };
  for (const auto& command : commands) {
    Begin(Eval("a"));
    if (contents_.target.empty()) {
      Link();
    }
    command();
    End();
    Begin(Eval("a"));
    EXPECT_EQ(contents_.target, "");
    EXPECT_THAT(Names(), UnorderedElementsAre("output", "tmp"));
    End();
  }
}

TEST_F(UsedAgainTest, WhatIsLeftInAFolderThatIsKnownByItsChangeTimeIsRemoved) {
  if (!Settle()) {
    GTEST_SKIP() << "the file system of " << temp_.path() << " keeps no exact change times";
  }
  const std::vector<std::function<void(const std::string&)>> commands = {
      [](const std::string& folder) {
        ASSERT_OK(WriteFileAtomically(folder + "/left", "x", 0600));
      },
      [](const std::string& folder) { std::filesystem::create_directory(folder + "/left"); },
      [](const std::string& folder) { ASSERT_EQ(chmod(folder.c_str(), 0700), 0); },
      [](const std::string& folder) {
        std::filesystem::remove(folder);
        std::filesystem::create_directory_symlink("/tmp", folder);
      },
      [](const std::string& folder) {
        std::filesystem::remove(folder);
        std::filesystem::create_directory(folder);
        ASSERT_OK(WriteFileAtomically(folder + "/left", "x", 0600));
      },
  };
  for (size_t i = 0; i < 2 * commands.size(); ++i) {
    commands[i / 2](i % 2 == 0 ? paths_.output : paths_.temporary);
    End();
    Begin(Eval("a"));
    EXPECT_THAT(Names(), UnorderedElementsAre("output", "tmp")) << i;
    for (const std::string& folder : {paths_.output, paths_.temporary}) {
      struct stat info {};
      ASSERT_EQ(lstat(folder.c_str(), &info), 0);
      EXPECT_EQ(info.st_mode, mode_t{S_IFDIR | 0755}) << i;
    }
    End();
    ASSERT_TRUE(Settle()) << i;
  }
}

TEST_F(UsedAgainTest, AFolderThatChangedALittleAgoIsNotKnownByItsChangeTime) {
  Begin(Eval("a"));
  for (int i = 0; i < 50; ++i) {
    ASSERT_OK(WriteFileAtomically(paths_.output + "/left", "x", 0600));
    ASSERT_TRUE(std::filesystem::remove(paths_.output + "/left"));
    End();
    Begin(Eval("a"));
    EXPECT_FALSE(contents_.output.settled);
    // In the same tick of the kernel's clock, it may be.
    ASSERT_OK(WriteFileAtomically(paths_.output + "/left", "x", 0600));
    End();
    Begin(Eval("a"));
    EXPECT_THAT(Names(), UnorderedElementsAre("output", "tmp"));
  }
}

TEST_F(UsedAgainTest, ADirectoryWithNothingButNamedFilesIsRecycled) {
  BeginBeside();
  Begin(Eval("a"));
  Link();
  for (const std::string& path : {paths_.metrics, paths_.predictions, paths_.examples}) {
    ASSERT_OK(WriteFileAtomically(path, "{}", 0600));
  }
  EXPECT_TRUE(directories_->Recycle(paths_, contents_));
  Begin(Eval("a"));
  EXPECT_EQ(contents_.target, kTarget);
  EXPECT_THAT(Names(), UnorderedElementsAre("output", "tmp", "test.jsonl"));
}

TEST_F(UsedAgainTest, ADirectoryWithOtherFilesStaysAsItIsUntilItIsRemoved) {
  for (const char* other : {"notes", "output/notes", "tmp/notes", "model"}) {
    Begin(Eval("a"));
    const bool is_folder = std::string(other) == "model";  // a copy of a system
    ASSERT_OK(is_folder ? MakeDirectories(paths_.model, 0700)
                        : WriteFileAtomically(paths_.directory + "/" + other, "x", 0600));
    ASSERT_OK(WriteFileAtomically(paths_.metrics, "{}", 0600));
    EXPECT_FALSE(directories_->Recycle(paths_, contents_)) << other;
    EXPECT_TRUE(std::filesystem::exists(paths_.directory + "/" + other)) << other;
    EXPECT_TRUE(is_folder || std::filesystem::exists(paths_.metrics)) << other;
    End();
    EXPECT_FALSE(std::filesystem::exists(paths_.directory + "/" + other)) << other;
  }
}

class RecycledTest : public ExecutorFixture {
 protected:
  std::vector<std::string> Runs() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(temp_.File("work/runs"))) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }
};

TEST_F(RecycledTest, TheNextAttemptHasASuccessfulOnesDirectoryBeforeThatIsForgotten) {
  const JobOrder first = Eval("echo first; printf '{\"accuracy\": 1}' > \"$3\"");
  ASSERT_TRUE(Run(first).succeeded);
  const JobOrder second = Eval(
      "echo second; until [ -e go ]; do sleep 0.01; done; printf '{\"accuracy\": 1}' > \"$3\"");
  executor_->Start(second);
  WaitForLog(second.id, "second");
  EXPECT_THAT(Runs(), ElementsAre(RunName(second.id)));
  // The first one's log stays until it is forgotten, and then the second one's directory stays.
  EXPECT_EQ(executor_->ReadLog(first.id, 0, 100), "first\n");
  executor_->Forget(first.id);
  const absl::Time deadline = absl::Now() + kDeadline;
  while (std::filesystem::exists(temp_.File("work/logs/" + RunName(first.id) + ".log"))) {
    ASSERT_LT(absl::Now(), deadline);
    waker_.Wait(absl::Milliseconds(2));
  }
  ASSERT_OK(WriteFileAtomically(temp_.File("work/runs/" + RunName(second.id) + "/go"), "", 0600));
  EXPECT_TRUE(Next().finished.result.succeeded);
}

TEST_F(RecycledTest, WhatAFailedAttemptLeftAndOtherFilesStayUntilItIsForgotten) {
  const JobOrder failed = Eval("echo x > \"$3\"; exit 1");
  ASSERT_FALSE(Run(failed).succeeded);
  const JobOrder other = Eval("echo x > output/notes; printf '{\"accuracy\": 1}' > \"$3\"");
  ASSERT_TRUE(Run(other).succeeded);
  ASSERT_TRUE(Run(Eval("printf '{\"accuracy\": 1}' > \"$3\"")).succeeded);
  EXPECT_THAT(Runs(), SizeIs(3));
  EXPECT_TRUE(
      std::filesystem::exists(temp_.File("work/runs/" + RunName(failed.id) + "/metrics.json")));
  EXPECT_TRUE(
      std::filesystem::exists(temp_.File("work/runs/" + RunName(other.id) + "/output/notes")));
}

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
