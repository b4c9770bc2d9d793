// SPDX-License-Identifier: Apache-2.0
// Code of approaches on a worker: unpacked once, read-only, and never other than its key says.
#include "worker/inputs/code_folders.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/archive/directory_tar.h"
#include "base/check.h"
#include "base/file.h"
#include "base/process/remove_tree.h"
#include "tests/testing/mount.h"
#include "tests/testing/test.h"
#include "tests/worker/execution/executor_fixture.h"
#include "worker/inputs/inputs.h"

namespace concur::worker {
namespace {

struct CodeText {
  std::string path;
  std::string text;
  bool is_executable = false;
};

class CodeFoldersTest : public ExecutorFixture {
 protected:
  void TearDown() override {
    executor_.reset();
    ASSERT_OK(process::RemoveTree(temp_.File("work")));  // with its read-only folders
  }

  // Code of these files, which the coordinator has.
  JobOrder::CodeInput Pack(const std::vector<CodeText>& files) {
    std::string tar;
    auto writer = DirectoryTarWriter::Open([&tar](absl::string_view data) {
      tar.append(data.data(), data.size());
      return absl::OkStatus();
    });
    CONCUR_CHECK_OK(writer.status());
    CONCUR_CHECK_OK((*writer)->AddFolder("lib"));
    std::vector<CodeFile> listed;
    for (const CodeText& file : files) {
      const auto bytes = static_cast<int64_t>(file.text.size());
      CONCUR_CHECK_OK((*writer)->AddFile(file.path, file.is_executable, bytes));
      CONCUR_CHECK_OK((*writer)->Append(file.text));
      listed.push_back({file.path, Sha256Of(file.text), bytes, file.is_executable});
    }
    CONCUR_CHECK_OK((*writer)->Finish());
    return {transfer_.Add(tar), static_cast<int64_t>(tar.size()), KeyOfCode(listed)};
  }
  JobOrder::CodeInput Hello(const std::string& text = "echo hello from $0 with $1 > $2\n") {
    return Pack({{"lib/hello.sh", absl::StrCat("#!/bin/sh\n", text), true}});
  }
  std::string FolderOf(const JobOrder::CodeInput& code) {
    return temp_.File(absl::StrCat("work/code/", CodeFolders::NameOf(code.key)));
  }
  JobOrder WithCode(const JobOrder::CodeInput& code, std::vector<std::string> command) {
    JobOrder order = Train("");
    order.code = code;
    order.command = std::move(command);
    return order;
  }
};

TEST_F(CodeFoldersTest, ACommandRunsWhatItsCodeHolds) {
  const JobOrder::CodeInput good = Hello(
      "test -d \"$CONCUR_CODE\" && test \"$CONCUR_CODE/lib/hello.sh\" -ef \"$0\" && "
      "test \"$2\" = \"$CONCUR_CODE\" && pwd > $1");
  const JobResult result = Run(WithCode(good, {"{code}/lib/hello.sh", "{model}", "{code}"}));
  EXPECT_TRUE(result.succeeded) << result.message;
  // A program with a relative path is one of the code; it still runs in the run directory.
  JobOrder relative = WithCode(good, {"./lib/hello.sh", "{model}", "{code}"});
  const JobResult started = Run(relative);
  EXPECT_TRUE(started.succeeded) << started.message;
  EXPECT_THAT(ReadArtifact(started, ArtifactKind::kSystem),
              HasSubstr(absl::StrCat("s1-", relative.id.job.index, "-a1")));
}

TEST_F(CodeFoldersTest, CodeIsUnpackedOnceAndReadOnly) {
  const JobOrder::CodeInput code = Hello("pwd > $1");
  ASSERT_TRUE(Run(WithCode(code, {"./lib/hello.sh", "{model}"})).succeeded);
  const int downloads = transfer_.downloads();
  ASSERT_TRUE(Run(WithCode(code, {"./lib/hello.sh", "{model}"})).succeeded);
  EXPECT_EQ(transfer_.downloads(), downloads);
  for (const char* path : {"", "/lib", "/lib/hello.sh"}) {
    struct stat info {};
    ASSERT_EQ(stat((FolderOf(code) + path).c_str(), &info), 0) << path;
    EXPECT_EQ(info.st_mode & 0222, 0u) << path;
  }
  // Another worker process finds it again.
  Reopen();
  ASSERT_TRUE(Run(WithCode(code, {"./lib/hello.sh", "{model}"})).succeeded);
  EXPECT_EQ(transfer_.downloads(), downloads);
}

TEST_F(CodeFoldersTest, WhatWasChangedIsUnpackedAnew) {
  const JobOrder::CodeInput code = Hello("echo good > $1");
  ASSERT_TRUE(Run(WithCode(code, {"./lib/hello.sh", "{model}"})).succeeded);
  const std::string script = FolderOf(code) + "/lib/hello.sh";
  ASSERT_EQ(chmod((FolderOf(code) + "/lib").c_str(), 0700), 0);
  ASSERT_EQ(unlink(script.c_str()), 0);
  ASSERT_OK(WriteFileAtomically(script, "#!/bin/sh\necho bad > $1\n", 0755));
  // A folder that a killed worker left half unpacked goes, too.
  const std::string half = FolderOf(code) + ".new";
  ASSERT_OK(MakeDirectories(half));
  Reopen();
  EXPECT_FALSE(std::filesystem::exists(half));
  const JobResult result = Run(WithCode(code, {"./lib/hello.sh", "{model}"}));
  ASSERT_TRUE(result.succeeded) << result.message;
  EXPECT_EQ(ReadArtifact(result, ArtifactKind::kSystem), "good\n");
}

TEST_F(CodeFoldersTest, CodeThatIsNotWhatItsKeySaysIsRefused) {
  JobOrder::CodeInput code = Hello();
  code.key = Sha256Of("another");
  const JobResult result = Run(WithCode(code, {"./lib/hello.sh", "{model}"}));
  EXPECT_FALSE(result.succeeded);
  EXPECT_THAT(result.message, HasSubstr("not those that the sweep's code names"));
  EXPECT_FALSE(std::filesystem::exists(FolderOf(code)));
}

// A job may leave in its code's folder what cannot be removed once nobody has used it for days.
TEST_F(CodeFoldersTest, AWorkerStartsBesideCodeThatCannotBeRemovedAndSaysSo) {
  const JobOrder::CodeInput code = Hello();
  EXPECT_TRUE(Run(WithCode(code, {"./lib/hello.sh", "{model}", "{model}"})).succeeded);
  executor_.reset();
  testing::Mount mount(FolderOf(code) + "/lib/mount");
  if (!mount.mounted()) {
    GTEST_SKIP() << "mounts need root";
  }
  options_.cache_age_max = -absl::Hours(1);
  Reopen();
  mount.MovedTo(temp_.File("work/code.kept-1/lib/mount"));
  ASSERT_NE(executor_, nullptr);
  EXPECT_THAT(executor_->notices(), ElementsAre(AllOf(HasSubstr("/lib/mount"), HasSubstr("busy"))));
  EXPECT_TRUE(Run(WithCode(code, {"./lib/hello.sh", "{model}", "{model}"})).succeeded)
      << "it is unpacked anew";
  mount.Unmount();
  Reopen();
  EXPECT_THAT(executor_->notices(), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(temp_.File("work/code.kept-1")));
}

TEST_F(CodeFoldersTest, CodeThatWasChangedAndCannotBeRemovedIsUnpackedAnew) {
  const JobOrder::CodeInput code = Hello();
  EXPECT_TRUE(Run(WithCode(code, {"./lib/hello.sh", "{model}", "{model}"})).succeeded);
  testing::Mount mount(FolderOf(code) + "/lib/mount");
  if (!mount.mounted()) {
    GTEST_SKIP() << "mounts need root";
  }
  ASSERT_OK(WriteFileAtomically(FolderOf(code) + "/lib/mount/more", "x"));
  Reopen();  // the unpacked code is checked again
  EXPECT_TRUE(Run(WithCode(code, {"./lib/hello.sh", "{model}", "{model}"})).succeeded);
  mount.MovedTo(temp_.File("work/code.kept-1/lib/mount"));
  EXPECT_TRUE(std::filesystem::exists(temp_.File("work/code.kept-1")));
  mount.Unmount();
}

TEST_F(CodeFoldersTest, AProgramThatIsNotInTheCodeIsNamed) {
  const JobResult result = Run(WithCode(Hello(), {"./absent.sh", "{model}"}));
  EXPECT_EQ(result.failure, FailureClass::kSpawn);
  EXPECT_THAT(result.message, HasSubstr("/code/./absent.sh"));
}

TEST_F(CodeFoldersTest, UnpackedCodeIsPartOfTheCachesLimit) {
  std::vector<std::string> notices;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Artifacts> artifacts,
                       Artifacts::Open(temp_.File("work"), temp_.File("work/own-links"),
                                       {.bytes_max = 1}, {}, transfer_, notices));
  const auto never = [] { return false; };
  const JobOrder::CodeInput first = Hello("echo 1 > $1");
  const JobOrder::CodeInput second = Hello("echo 2 > $1");
  {
    ASSERT_OK_AND_ASSIGN(const HeldFile held, artifacts->Code(first, never));
    EXPECT_EQ(held.path, FolderOf(first));
    ASSERT_OK_AND_ASSIGN(const HeldFile other, artifacts->Code(second, never));
    EXPECT_TRUE(std::filesystem::exists(FolderOf(first))) << "a job runs it";
  }
  ASSERT_OK(artifacts->Code(second, never));
  EXPECT_FALSE(std::filesystem::exists(FolderOf(first)));
  ASSERT_OK(artifacts->Code(first, never));
  EXPECT_TRUE(std::filesystem::exists(FolderOf(first)));
}

}  // namespace
}  // namespace concur::worker
