// SPDX-License-Identifier: Apache-2.0
// WatchSweep over a socket: many watchers, slow ones, and those that come back.
#include <grpcpp/client_context.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "tests/coordinator/server/server_fixture.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

// One stream, read by whoever asks.
class WatchStream {
 public:
  WatchStream(v1::Coordinator::Stub& stub, const std::string& sweep,
              const std::string& cursor = "") {
    v1::WatchSweepRequest request;
    request.set_sweep(sweep);
    request.set_cursor(cursor);
    reader_ = stub.WatchSweep(&context_, request);
  }
  ~WatchStream() {
    if (reader_ != nullptr) {
      context_.TryCancel();
      Finish();
    }
  }
  // False at the end.
  bool Read() {
    message.Clear();
    if (!reader_->Read(&message)) {
      return false;
    }
    for (const v1::JobEvent& event : message.events()) {
      events.push_back(absl::StrCat(event.job(), " ", event.state()));
      EXPECT_TRUE(event.has_time());
    }
    return true;
  }
  grpc::Status Finish() {
    const grpc::Status status = reader_->Finish();
    reader_.reset();
    return status;
  }

  v1::WatchSweepResponse message;
  std::vector<std::string> events;

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<v1::WatchSweepResponse>> reader_;
};

using WatchTest = ServerTest;

TEST_F(WatchTest, EveryoneSeesEveryChangeOnceWhenTheyComeBackToo) {
  Sync(absl::ZeroDuration());
  const std::string id = Submit(Spec("a", 20));
  WatchStream whole(client(), id);
  ASSERT_TRUE(whole.Read());
  EXPECT_TRUE(whole.message.reset());
  EXPECT_FALSE(whole.message.has_earliest_change_time());
  std::vector<std::string> heard;
  std::string cursor = whole.message.cursor();
  for (int visit = 0; visit < 5; ++visit) {
    Sync(absl::ZeroDuration());
    WatchStream part(client(), id, cursor);
    ASSERT_TRUE(part.Read());
    EXPECT_FALSE(part.message.reset());
    EXPECT_TRUE(part.message.has_earliest_change_time());
    cursor = part.message.cursor();
    heard.insert(heard.end(), part.events.begin(), part.events.end());
  }
  RunAll(absl::ZeroDuration());
  WatchStream last(client(), id, cursor);
  while (last.Read()) {
  }
  EXPECT_TRUE(last.Finish().ok());
  heard.insert(heard.end(), last.events.begin(), last.events.end());
  while (whole.Read()) {
  }
  EXPECT_TRUE(whole.Finish().ok());
  EXPECT_EQ(heard, whole.events);
  EXPECT_EQ(heard.size(), 80u);  // 40 jobs, each started and succeeded
}

TEST_F(WatchTest, ACursorFromBeforeARestartGivesASnapshot) {
  Sync(absl::ZeroDuration());
  const std::string id = Submit(Spec("a", 1));
  std::string cursor;
  {
    WatchStream stream(client(), id);
    ASSERT_TRUE(stream.Read());
    cursor = stream.message.cursor();
  }
  Restart();
  WatchStream again(client(), id, cursor);
  ASSERT_TRUE(again.Read());
  EXPECT_TRUE(again.message.reset());
}

TEST_F(WatchTest, ACanceledSweepEndsItsWatchersAndADeletedOneIsNotFound) {
  const std::string id = Submit(Spec("a", 1));
  WatchStream stream(client(), id);
  ASSERT_TRUE(stream.Read());
  {
    v1::CancelSweepRequest request;
    request.set_sweep(id);
    v1::Sweep sweep;
    grpc::ClientContext context;
    ASSERT_TRUE(client().CancelSweep(&context, request, &sweep).ok());
  }
  while (stream.Read()) {
  }
  EXPECT_TRUE(stream.Finish().ok());
  {
    v1::DeleteSweepRequest request;
    request.set_sweep(id);
    v1::DeleteSweepResponse response;
    grpc::ClientContext context;
    ASSERT_TRUE(client().DeleteSweep(&context, request, &response).ok());
  }
  WatchStream late(client(), id);
  EXPECT_FALSE(late.Read());
  const grpc::Status status = late.Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(status.error_message(), HasSubstr("no sweep"));
}

TEST_F(WatchTest, AReaderThatNeverReadsHoldsUpNobodyAndCatchesUp) {
  Sync(absl::ZeroDuration());
  const std::string id = Submit(Spec("a", 2'000));
  const auto other = Connect();
  WatchStream slow(*other, id);
  ASSERT_TRUE(slow.Read());
  WatchStream fast(client(), id, slow.message.cursor());
  RunAll(absl::ZeroDuration());
  while (fast.Read()) {
  }
  EXPECT_TRUE(fast.Finish().ok());
  EXPECT_EQ(fast.events.size(), 8'000u);
  EXPECT_EQ(GetSweep(id).counts().succeeded(), 4'000u);
  while (slow.Read()) {
  }
  EXPECT_TRUE(slow.Finish().ok());
  EXPECT_EQ(slow.events, fast.events);
}

TEST_F(WatchTest, AThousandWatchersOnTwoConnectionsAllSeeTheEnd) {
  Sync(absl::ZeroDuration());
  const std::string id = Submit(Spec("a", 50));
  std::vector<std::unique_ptr<v1::Coordinator::Stub>> stubs;
  std::vector<std::unique_ptr<WatchStream>> streams;
  for (int i = 0; i < 1'000; ++i) {
    if (i % 500 == 0) {
      stubs.push_back(Connect());
    }
    streams.push_back(std::make_unique<WatchStream>(*stubs.back(), id));
  }
  for (const auto& stream : streams) {
    ASSERT_TRUE(stream->Read());
  }
  // Some leave while they are written to.
  for (size_t i = 0; i < 100; ++i) {
    streams.pop_back();
    Sync(absl::ZeroDuration());
  }
  RunAll(absl::ZeroDuration());
  for (const auto& stream : streams) {
    while (stream->Read()) {
      EXPECT_EQ(stream->message.sweep().id(), id);
    }
    EXPECT_TRUE(stream->Finish().ok());
  }
}

TEST_F(WatchTest, AnAnswerIsNeverBehindWhatWasAcknowledged) {
  Sync(absl::ZeroDuration());
  const std::string id = Submit(Spec("a", 100));
  uint32_t handed_in = 0;
  do {
    handed_in += static_cast<uint32_t>(running());
    Sync(absl::ZeroDuration());
    EXPECT_EQ(GetSweep(id).counts().succeeded(), handed_in);
    v1::ListJobsRequest request;
    request.set_sweep(id);
    request.set_page_size(1000);
    request.add_states(v1::Job::STATE_SUCCEEDED);
    v1::ListJobsResponse page;
    grpc::ClientContext context;
    ASSERT_TRUE(client().ListJobs(&context, request, &page).ok());
    EXPECT_EQ(page.jobs_size(), static_cast<int>(handed_in));
  } while (running() > 0);
  EXPECT_EQ(handed_in, 200u);
}

TEST_F(WatchTest, PagesOfJobsHoldEveryJobOnceWhateverTheirSize) {
  const std::string id = Submit(Spec("a", 15'000));  // more jobs than one look takes in
  for (const int size : {1000, 999}) {
    v1::ListJobsRequest request;
    request.set_sweep(id);
    request.set_page_size(size);
    request.set_benchmark("y");
    uint32_t seen = 0;
    std::string last;
    do {
      v1::ListJobsResponse page;
      grpc::ClientContext context;
      ASSERT_TRUE(client().ListJobs(&context, request, &page).ok());
      for (const v1::Job& job : page.jobs()) {
        EXPECT_EQ(job.test_benchmark(), "y");
        EXPECT_NE(job.id(), last);
        last = job.id();
      }
      seen += static_cast<uint32_t>(page.jobs_size());
      request.set_page_token(page.next_page_token());
    } while (!request.page_token().empty());
    EXPECT_EQ(seen, 15'000u);
  }
}

// A name that the sweep does not have was answered with an empty list.
TEST_F(WatchTest, AFilterThatNamesNothingIsNotFoundWithTheNearest) {
  const std::string id = Submit(Spec("a", 3));
  const auto list = [&](const std::function<void(v1::ListJobsRequest&)>& ask) {
    v1::ListJobsRequest request;
    request.set_sweep(id);
    ask(request);
    v1::ListJobsResponse page;
    grpc::ClientContext context;
    const grpc::Status status = client().ListJobs(&context, request, &page);
    return std::make_pair(status, page.jobs_size());
  };
  const auto refused = [&](const std::function<void(v1::ListJobsRequest&)>& ask) {
    const grpc::Status status = list(ask).first;
    EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
    return status.error_message();
  };
  EXPECT_THAT(refused([](auto& r) { r.set_approach("nobody"); }),
              HasSubstr("the sweep has no approach \"nobody\""));
  EXPECT_THAT(refused([](auto& r) { r.set_benchmark("yy"); }),
              HasSubstr("the sweep has no benchmark \"yy\""));
  EXPECT_THAT(refused([](auto& r) { r.set_setting_index(1); }),
              HasSubstr("no setting 1: the only one is 0"));
  EXPECT_THAT(refused([](auto& r) { r.set_seed(77); }), HasSubstr("the sweep has no seed 77: "));
  EXPECT_EQ(list([](auto& r) { r.set_seed(2); }).second,
            list([](auto& r) { r.set_setting_index(0); }).second / 3);
  EXPECT_EQ(list([](auto& r) { r.set_worker("w-77"); }).second, 0) << "it ran nothing";
}

}  // namespace
}  // namespace concur::testing
