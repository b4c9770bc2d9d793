// SPDX-License-Identifier: Apache-2.0
#include "base/process/sandbox.h"

#include <poll.h>
#include <sys/wait.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/process/process.h"
#include "tests/testing/test.h"

namespace concur::process {
namespace {

// Runs commands without a root of their own.
class NoSandbox : public Sandbox {
 public:
  absl::string_view name() const override { return "none"; }
  absl::StatusOr<Command> Wrap(const SandboxRun& run) const override {
    Command command;
    command.program = run.argv[0];
    command.argv = run.argv;
    command.directory = run.directory;
    return command;
  }
};

// bubblewrap's child, when the worker was killed while it tried the sandbox.
TEST(SandboxTest, WhatAnEarlierTrialLeftIsEnded) {
  const TempDir dir;
  const std::string scratch = dir.File("try");
  ASSERT_OK(MakeDirectories(absl::StrCat(scratch, "/tmp"), 0700));
  Command command;
  command.program = "/bin/sleep";
  command.argv = {"/bin/sleep", "1000"};
  command.directory = absl::StrCat(scratch, "/tmp");
  ASSERT_OK_AND_ASSIGN(const Process left, StartProcess(command));
  EXPECT_OK(TrySandbox(NoSandbox(), scratch));
  pollfd ended{left.pidfd.get(), POLLIN, 0};
  EXPECT_EQ(poll(&ended, 1, 0), 1) << "it still runs";
  waitpid(left.pid, nullptr, 0);
}

}  // namespace
}  // namespace concur::process
