// SPDX-License-Identifier: Apache-2.0
// `--watch` said nothing of a quarantine.
#include "cli/output/worker_news.h"

#include <string>
#include <vector>

#include "tests/testing/test.h"

namespace concur::cli {
namespace {

v1::Worker AWorker(const std::string& name, int64_t quarantine_end = 0) {
  v1::Worker worker;
  worker.set_name(name);
  worker.set_state(v1::Worker::STATE_LIVE);
  if (quarantine_end != 0) {
    worker.set_state(v1::Worker::STATE_QUARANTINED);
    worker.set_quarantine_reason("failed 17 times at what succeeds on b");
    worker.mutable_quarantine_end_time()->set_seconds(quarantine_end);
  }
  return worker;
}

TEST(WorkerNewsTest, EachQuarantineIsToldOnceWithItsEndAndReason) {
  WorkerNews news;
  EXPECT_THAT(news.Update({AWorker("a"), AWorker("b")}), IsEmpty());
  EXPECT_THAT(
      news.Update({AWorker("a", 1'700'000'000), AWorker("b")}),
      ElementsAre("a is in quarantine until 2023-11-14T22:13:20Z: it failed 17 times at what "
                  "succeeds on b; end it: concur worker drain a --undo"));
  EXPECT_THAT(news.Update({AWorker("a", 1'700'000'000), AWorker("b")}), IsEmpty());
  EXPECT_THAT(news.Update({AWorker("a"), AWorker("b")}),
              ElementsAre("a is no longer in quarantine"));
  EXPECT_THAT(news.Update({AWorker("a", 1'700'000'100), AWorker("b")}).size(), 1u);
  EXPECT_THAT(news.Update({AWorker("b")}), IsEmpty()) << "gone";
}

// `--watch` just after a coordinator's start waited without a word.
TEST(WorkerNewsTest, ThatNoWorkerIsLiveIsToldOnceWhenItStaysSo) {
  WorkerNews news;
  v1::Worker lost = AWorker("a");
  lost.set_state(v1::Worker::STATE_LOST);
  EXPECT_THAT(news.Update({}), IsEmpty());
  EXPECT_THAT(news.Update({lost}), ElementsAre("no worker is live: jobs wait until one joins"));
  EXPECT_THAT(news.Update({}), IsEmpty());
  EXPECT_THAT(news.Update({AWorker("a")}), IsEmpty());
  EXPECT_THAT(news.Update({lost}), IsEmpty());
  EXPECT_THAT(news.Update({lost}), ElementsAre("no worker is live: jobs wait until one joins"));
}

}  // namespace
}  // namespace concur::cli
