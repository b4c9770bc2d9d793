// SPDX-License-Identifier: Apache-2.0
#include "cli/app/child_process.h"

#include <signal.h>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/file.h"
#include "tests/testing/test.h"

namespace concur::cli {
namespace {

TEST(ChildProcessTest, AProgramThatIsNotThereIsNotFound) {
  const TempDir dir;
  EXPECT_THAT(ChildProcess::Start({dir.File("nothing")}, dir.File("log"), "/bin"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("nothing: start")));
}

TEST(ChildProcessTest, OutputGoesToTheLogAndThePathIsLonger) {
  const TempDir dir;
  ASSERT_OK_AND_ASSIGN(
      ChildProcess child,
      ChildProcess::Start({"/bin/sh", "-c", "echo $PATH; echo to stderr >&2; exit 3"},
                          dir.File("log"), "/first"));
  ASSERT_TRUE(child.WaitUntil(absl::InfiniteFuture()));
  EXPECT_EQ(child.Ended(), "exit code 3");
  ASSERT_OK_AND_ASSIGN(const std::string log, ReadFile(dir.File("log")));
  EXPECT_THAT(log, StartsWith("/first:"));
  EXPECT_THAT(log, HasSubstr("to stderr"));
}

TEST(ChildProcessTest, ASignalIsNamed) {
  const TempDir dir;
  ASSERT_OK_AND_ASSIGN(ChildProcess child, ChildProcess::Start({"/bin/sh", "-c", "exec sleep 1000"},
                                                               dir.File("log"), "/bin"));
  EXPECT_TRUE(child.running());
  EXPECT_FALSE(child.WaitUntil(absl::InfinitePast()));
  child.Signal(SIGKILL);
  ASSERT_TRUE(child.WaitUntil(absl::InfiniteFuture()));
  EXPECT_EQ(child.Ended(), "signal 9 (Killed)");
  child.Signal(SIGTERM);  // does nothing
}

}  // namespace
}  // namespace concur::cli
