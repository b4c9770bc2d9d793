// SPDX-License-Identifier: Apache-2.0
#include "base/process/process.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process/process_tree.h"
#include "tests/testing/test.h"

namespace concur::process {
namespace {

TEST(ProcessTest, APatternOfVariablesMeansANameOrItsBeginning) {
  EXPECT_TRUE(EnvPatternMatches("PYTHONPATH", "PYTHONPATH"));
  EXPECT_FALSE(EnvPatternMatches("PYTHONPATH", "PYTHONPATH2"));
  EXPECT_TRUE(EnvPatternMatches("CUDA_*", "CUDA_HOME"));
  EXPECT_FALSE(EnvPatternMatches("CUDA_*", "CUD"));
  EXPECT_FALSE(EnvPatternMatches("C*", "CONCUR_TOKEN")) << "nobody passes the worker's token on";
}

// A service that had lost its port to another one was ready, and its jobs asked the other one.
TEST(ProcessTreeTest, AListenerOfAnotherAttemptIsKnownByItsRunDirectory) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);  // inherited
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(bind(listener, generic, size), 0);
  ASSERT_EQ(listen(listener, 1), 0);
  ASSERT_EQ(getsockname(listener, generic, &size), 0);
  const uint16_t port = ntohs(address.sin_port);
  EXPECT_FALSE(AnotherAttemptListens(port, "/runs/a")) << "this process is none of a job's";

  int ready[2];
  ASSERT_EQ(pipe2(ready, O_CLOEXEC), 0);
  const pid_t child = fork();
  if (child == 0) {
    const char* const environment[] = {"CONCUR_RUN_DIRECTORY=/runs/b", nullptr};
    execle("/bin/sleep", "sleep", "1000", nullptr, environment);
    _exit(1);
  }
  close(ready[1]);
  char byte = 0;
  EXPECT_EQ(read(ready[0], &byte, 1), 0);  // it runs its program
  close(ready[0]);
  close(listener);
  EXPECT_TRUE(AnotherAttemptListens(port, "/runs/a"));
  EXPECT_FALSE(AnotherAttemptListens(port, "/runs/b"));
  EXPECT_FALSE(AnotherAttemptListens(port, "/runs")) << "the attempt's own job of a job";
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(AnotherAttemptListens(port, "/runs/a")) << "nobody listens";
}

}  // namespace
}  // namespace concur::process
