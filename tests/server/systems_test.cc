// SPDX-License-Identifier: Apache-2.0
// A trained system answers over the server: a client asks, and a worker of the test's own serves.
#include <gmock/gmock.h>
#include <grpcpp/client_context.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "concur/v1/coordinator.pb.h"
#include "concur/v1/worker.pb.h"
#include "core/serve_order.h"
#include "tests/core/sweep_builder.h"
#include "tests/server/server_fixture.h"

namespace concur::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Progress = v1::AskSystemResponse::Status;

class SystemsTest : public ServerTest {
 protected:
  // A sweep whose train job 0 has succeeded. Its id.
  std::string Train() {
    SweepSpec spec = Spec("a", 1);
    spec.approaches = {TrainedApproach("a")};
    spec.benchmarks = {Benchmark("x")};
    spec.train_sets = {PlainTrainSet(spec, 0)};
    Upload("x-train");
    Upload("weights");
    v1::Artifact& artifact = *result_.add_artifacts();
    artifact.set_kind(v1::Artifact::KIND_SYSTEM);
    artifact.set_digest(Sha256Of("weights").ToBytes());
    artifact.set_size_bytes(7);
    std::string id = Submit(spec);
    RunAll(absl::Seconds(1));
    return id;
  }

  // One who asks.
  struct Asker {
    explicit Asker(v1::Coordinator::Stub& stub) : stream(stub.AskSystem(&context)) {}
    void Open(const std::string& job, const std::string& argument = "{model}") {
      v1::AskSystemRequest request;
      request.mutable_open()->set_job(job);
      request.mutable_open()->add_command("serve");
      request.mutable_open()->add_command(argument);
      EXPECT_TRUE(stream->Write(request));
    }
    void Ask(uint64_t number, const std::string& question) {
      v1::AskSystemRequest request;
      request.mutable_question()->set_number(number);
      request.mutable_question()->set_passage("Ada lives in Bern.");
      request.mutable_question()->set_question(question);
      EXPECT_TRUE(stream->Write(request));
    }
    // The next status with this state.
    Progress Await(Progress::State state) {
      return AwaitThat([state](const Progress& status) { return status.state() == state; });
    }
    // The next status that says what happened.
    Progress AwaitDetail() {
      return AwaitThat([](const Progress& status) { return !status.detail().empty(); });
    }
    template <typename Condition>
    Progress AwaitThat(const Condition& condition) {
      v1::AskSystemResponse response;
      while (stream->Read(&response)) {
        if (response.has_status() && condition(response.status())) {
          return response.status();
        }
      }
      ADD_FAILURE() << "the stream has ended";
      return {};
    }
    v1::ServedAnswer AwaitAnswer() {
      v1::AskSystemResponse response;
      while (stream->Read(&response)) {
        if (response.has_answer()) {
          return response.answer();
        }
      }
      ADD_FAILURE() << "the stream has ended";
      return {};
    }
    grpc::Status End(bool done = true) {
      if (done) {
        stream->WritesDone();
      }
      v1::AskSystemResponse response;
      while (stream->Read(&response)) {
      }
      return stream->Finish();
    }
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReaderWriter<v1::AskSystemRequest, v1::AskSystemResponse>> stream;
  };

  // A worker's place.
  struct Place {
    Place(v1::WorkerGateway::Stub& stub, const std::string& worker)
        : stream(stub.ServeSystem(&context)) {
      v1::ServeSystemRequest request;
      request.mutable_offer()->set_worker(worker);
      request.mutable_offer()->mutable_capacity()->set_cpu_millis(4000);
      EXPECT_TRUE(stream->Write(request));
    }
    v1::ServeSystemResponse Read() {
      v1::ServeSystemResponse response;
      EXPECT_TRUE(stream->Read(&response));
      return response;
    }
    // Takes the order and is prepared.
    v1::ServeOrder Prepare() {
      const v1::ServeSystemResponse response = Read();
      v1::ServeSystemRequest request;
      request.mutable_prepared();
      EXPECT_TRUE(stream->Write(request));
      return response.order();
    }
    void Answer(uint64_t number, bool answered, const std::string& text) {
      v1::ServeSystemRequest request;
      request.mutable_answer()->set_number(number);
      request.mutable_answer()->set_answered(answered);
      request.mutable_answer()->set_text(text);
      EXPECT_TRUE(stream->Write(request));
    }
    grpc::Status End() {
      v1::ServeSystemResponse response;
      while (stream->Read(&response)) {
      }
      return stream->Finish();
    }
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReaderWriter<v1::ServeSystemRequest, v1::ServeSystemResponse>>
        stream;
  };

  grpc::Status Refusal(const std::string& job, const std::string& argument = "{model}") {
    Asker asker(client());
    asker.Open(job, argument);
    return asker.End();
  }
};

TEST_F(SystemsTest, AQuestionIsAnsweredOnAWorkerAndAudited) {
  const std::string job = Train() + "/0";
  Asker asker(client());
  asker.Open(job);
  EXPECT_EQ(asker.Await(Progress::STATE_WAITING).places(), 0u);
  Place place(gateway(), "w");
  const v1::ServeOrder order = place.Prepare();
  EXPECT_EQ(order.system(), Sha256Of("weights").ToBytes());
  EXPECT_THAT(order.command(), ElementsAre("serve", "{model}"));
  EXPECT_TRUE(order.train().is_train());
  EXPECT_EQ(order.train().approach(), "a");
  EXPECT_EQ(asker.Await(Progress::STATE_STARTING).worker(), "w");

  asker.Ask(1, "Where does Ada live?");
  EXPECT_EQ(place.Read().question().question(), "Where does Ada live?");
  place.Answer(1, true, "Bern");
  EXPECT_EQ(asker.AwaitAnswer().text(), "Bern");
  asker.Await(Progress::STATE_READY);
  asker.Ask(2, "Why?");
  EXPECT_EQ(place.Read().question().number(), 2u);
  place.Answer(2, false, "the system ended with exit code 9");
  EXPECT_THAT(asker.AwaitAnswer().text(), HasSubstr("exit code 9"));
  EXPECT_EQ(asker.Await(Progress::STATE_FAILED).worker(), "w");

  grpc::ClientContext context;
  v1::ListWorkersResponse workers;
  EXPECT_TRUE(client().ListWorkers(&context, {}, &workers).ok());
  ASSERT_EQ(workers.workers_size(), 1);
  EXPECT_EQ(workers.workers(0).serve_places(), 1u);
  EXPECT_THAT(workers.workers(0).serving(), ElementsAre(job));

  EXPECT_TRUE(asker.End().ok());
  EXPECT_TRUE(place.End().ok()) << "nobody asks any more";
  v1::ListAuditEntriesRequest list;
  list.set_method("AskSystem");
  v1::ListAuditEntriesResponse audited;
  grpc::ClientContext audit_context;
  EXPECT_TRUE(client().ListAuditEntries(&audit_context, list, &audited).ok());
  ASSERT_EQ(audited.entries_size(), 2);
  EXPECT_EQ(audited.entries(0).target(), job);
  EXPECT_EQ(audited.entries(1).target(), job + ", begins");
}

TEST_F(SystemsTest, AWorkerThatGoesAwayIsReplacedAndAskedAgain) {
  const std::string job = Train() + "/0";
  Asker asker(client());
  auto first = std::make_unique<Place>(gateway(), "w");
  asker.Open(job);
  first->Prepare();
  asker.Ask(1, "Where?");
  EXPECT_EQ(first->Read().question().number(), 1u);
  first->context.TryCancel();
  EXPECT_FALSE(first->End().ok());
  EXPECT_THAT(asker.AwaitDetail().detail(), HasSubstr("w went away"));
  Place second(gateway(), "v");
  second.Prepare();
  EXPECT_EQ(second.Read().question().number(), 1u);
  second.Answer(1, true, "Bern");
  EXPECT_EQ(asker.AwaitAnswer().text(), "Bern");
}

TEST_F(SystemsTest, AWorkerThatCannotPrepareItSaysWhy) {
  const std::string job = Train() + "/0";
  Asker asker(client());
  Place place(gateway(), "w");
  asker.Open(job);
  EXPECT_TRUE(place.Read().has_order());
  v1::ServeSystemRequest request;
  request.set_failure("no python3.99 here");
  place.stream->Write(request);
  EXPECT_TRUE(place.End().ok());
  EXPECT_THAT(asker.AwaitDetail().detail(), HasSubstr("w: no python3.99 here"));
}

TEST_F(SystemsTest, WhatCannotBeServedIsRefused) {
  const std::string sweep = Train();
  const auto expect = [&](const grpc::Status& status, grpc::StatusCode code,
                          const std::string& why) {
    EXPECT_EQ(status.error_code(), code) << why;
    EXPECT_THAT(status.error_message(), HasSubstr(why));
  };
  expect(Refusal(sweep + "/1"), grpc::StatusCode::FAILED_PRECONDITION, "no trained system");
  expect(Refusal(sweep + "/99"), grpc::StatusCode::NOT_FOUND, "/99");
  expect(Refusal(sweep + "/0", "{test}"), grpc::StatusCode::INVALID_ARGUMENT,
         "open.command[1]: expected a placeholder of the serve command");
  Asker hasty(client());
  hasty.Ask(1, "Who?");
  expect(hasty.End(), grpc::StatusCode::INVALID_ARGUMENT, "open: expected");
  Asker slow(client());
  v1::AskSystemRequest request;
  request.mutable_open()->set_job(sweep + "/0");
  request.mutable_open()->add_command("serve");
  request.mutable_open()->mutable_answer_timeout()->set_seconds(3600);
  slow.stream->Write(request);
  expect(slow.End(), grpc::StatusCode::INVALID_ARGUMENT, "answer_max");
}

TEST_F(SystemsTest, AStreamHasToBeginAndMayBeSilentThen) {
  options_.connections.streams.stalled_max = absl::Milliseconds(500);
  options_.connections.streams.check_interval = absl::Milliseconds(50);
  Restart();
  const std::string job = Train() + "/0";
  Place place(gateway(), "w");
  Asker silent(client());
  EXPECT_EQ(silent.End(/*done=*/false).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  Asker again(client());
  EXPECT_EQ(again.End(/*done=*/false).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  // The place is older than both of those together.
  Asker asker(client());
  asker.Open(job);
  EXPECT_TRUE(place.Prepare().train().is_train());
  EXPECT_EQ(asker.Await(Progress::STATE_STARTING).worker(), "w");
}

TEST_F(SystemsTest, HostileMessagesEndTheirStreamAlone) {
  const std::string job = Train() + "/0";
  Asker asker(client());
  asker.Open(job);
  asker.Await(Progress::STATE_WAITING);
  {
    Asker other(client());
    other.Open(job);
    other.Ask(1, std::string(kServedQuestionBytesMax + 1, 'x'));
    EXPECT_THAT(other.End().error_message(), HasSubstr("question.question"));
  }
  {
    Place place(gateway(), "w");
    place.Prepare();
    place.Answer(7, true, "to nothing");
    EXPECT_EQ(place.End().error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  }
  asker.Ask(1, "Where?");
  {
    Place place(gateway(), "w");
    place.Prepare();
    EXPECT_EQ(place.Read().question().number(), 1u);
    place.Answer(1, true, std::string(kServedAnswerBytesMax + 1, 'x'));
    EXPECT_EQ(place.End().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  }
  Place place(gateway(), "w");
  place.Prepare();
  EXPECT_EQ(place.Read().question().number(), 1u);
  place.Answer(1, true, "Bern");
  EXPECT_EQ(asker.AwaitAnswer().text(), "Bern");
}

}  // namespace
}  // namespace concur::testing
