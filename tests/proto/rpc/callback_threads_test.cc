// SPDX-License-Identifier: Apache-2.0
#include "proto/rpc/callback_threads.h"

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/testing/test.h"

namespace concur::rpc {
namespace {

TEST(CallbackThreadsTest, ThreadsForCallbacksGetEvents) {
  const CallbackThreads threads;
  const absl::Time deadline = absl::Now() + absl::Minutes(1);
  while (threads.events() < 2 && absl::Now() < deadline) {
    absl::SleepFor(absl::Milliseconds(1));
  }
  EXPECT_GE(threads.events(), 2);
}

TEST(CallbackThreadsTest, MayEndAtAnyTime) {
  for (int i = 0; i < 100; ++i) {
    const CallbackThreads threads;
  }
}

}  // namespace
}  // namespace concur::rpc
