// SPDX-License-Identifier: Apache-2.0
#include "cli/client/server_address.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cstdlib>
#include <sstream>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/check.h"
#include "base/data_directory.h"
#include "base/file.h"
#include "tests/testing/test.h"

namespace concur::cli {
namespace {

class ServerAddressTest : public ::testing::Test {
 protected:
  ServerAddressTest() {
    const char* before = std::getenv("XDG_DATA_HOME");  // NOLINT(concurrency-mt-unsafe)
    before_ = before == nullptr ? "" : before;
    setenv("XDG_DATA_HOME", dir_.path().c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
    CONCUR_CHECK_OK(MakeDirectories(DefaultDataDirectory()));
  }
  ~ServerAddressTest() override {
    before_.empty() ? unsetenv("XDG_DATA_HOME")                     // NOLINT(concurrency-mt-unsafe)
                    : setenv("XDG_DATA_HOME", before_.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  }
  void Write(const std::string& name, const std::string& text) {
    CONCUR_CHECK_OK(WriteFileAtomically(DefaultDataDirectory() + "/" + name, text));
  }

  TempDir dir_;
  std::string before_;
  std::ostringstream out_;
  std::ostringstream err_;
  CommandContext context_{.out = out_, .err = err_};
};

TEST_F(ServerAddressTest, WithoutAFileItIsTheDefaultAddress) {
  ASSERT_OK_AND_ASSIGN(std::string address, AwaitServerAddress(context_));
  EXPECT_EQ(address, "127.0.0.1:7447");
  Write("address", "127.0.0.1:1234\n");
  ASSERT_OK_AND_ASSIGN(address, AwaitServerAddress(context_));
  EXPECT_EQ(address, "127.0.0.1:1234");
  context_.server = "127.0.0.1:99";
  ASSERT_OK_AND_ASSIGN(address, AwaitServerAddress(context_));
  EXPECT_EQ(address, "127.0.0.1:99");
  EXPECT_EQ(err_.str(), "");
}

TEST_F(ServerAddressTest, WhileUpStartsNobodyElseIsAsked) {
  Write(kUpLockFile, "");
  const FileDescriptor lock(
      open((DefaultDataDirectory() + "/" + kUpLockFile).c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(flock(lock.get(), LOCK_EX | LOCK_NB), 0);
  EXPECT_THAT(AwaitServerAddress(context_, absl::ZeroDuration()).status(),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr("has no address in"), HasSubstr("starting or ending"))));
  EXPECT_EQ(err_.str(), "");
  Write("address", "127.0.0.1:1234\n");
  ASSERT_OK_AND_ASSIGN(const std::string address,
                       AwaitServerAddress(context_, absl::ZeroDuration()));
  EXPECT_EQ(address, "127.0.0.1:1234");
}

}  // namespace
}  // namespace concur::cli
