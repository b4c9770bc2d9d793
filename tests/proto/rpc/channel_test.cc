// SPDX-License-Identifier: Apache-2.0
#include "proto/rpc/channel.h"

#include <grpcpp/client_context.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "concur/v1/coordinator.grpc.pb.h"
#include "proto/rpc/call.h"
#include "proto/rpc/coordinators.h"
#include "proto/rpc/status.h"
#include "tests/testing/test.h"

namespace concur::rpc {
namespace {

using ::testing::_;

CallOptions Quick() {
  CallOptions options;
  options.backoff_min = absl::Milliseconds(1);
  options.backoff_max = absl::Milliseconds(2);
  return options;
}

TEST(ChannelTest, AddressesThatAreNoneAreRefused) {
  for (const char* good : {"localhost:7070", "127.0.0.1:0", "[::1]:65535", "unix:/run/concur"}) {
    EXPECT_OK(ParseAddress(good)) << good;
  }
  for (const char* bad : {"", "localhost", ":7070", "host:", "host:x", "host:65536", "host:-1",
                          "http://host:80", "::1:70", "unix:", "unix:relative", "a b:7", "h\n:7"}) {
    EXPECT_THAT(ParseAddress(bad),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expected")))
        << bad;
  }
  EXPECT_THAT(ParseAddress("unix:/" + std::string(200, 'x')),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("107")));
}

TEST(ChannelTest, AnUnavailableServerIsAskedAgain) {
  int calls = 0;
  EXPECT_OK(CallWithRetry(Quick(), [&](grpc::ClientContext& context) {
    EXPECT_LT(context.deadline(), std::chrono::system_clock::time_point::max());
    return ++calls < 4 ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "down") : grpc::Status::OK;
  }));
  EXPECT_EQ(calls, 4);
}

// gRPC's server cancels a call that comes when it has begun to stop.
TEST(ChannelTest, ACallThatTheServerCanceledIsAskedAgain) {
  int calls = 0;
  const auto call = [&](grpc::ClientContext&) {
    return ++calls < 3 ? grpc::Status(grpc::StatusCode::CANCELLED, "CANCELLED") : grpc::Status::OK;
  };
  EXPECT_THAT(CallOnce(Quick(), call), StatusIs(absl::StatusCode::kUnavailable, "CANCELLED"));
  EXPECT_OK(CallWithRetry(Quick(), call));
  EXPECT_EQ(calls, 3);
}

TEST(ChannelTest, OtherAnswersAreFinal) {
  int calls = 0;
  EXPECT_THAT(CallWithRetry(Quick(),
                            [&](grpc::ClientContext&) {
                              ++calls;
                              return grpc::Status(grpc::StatusCode::NOT_FOUND, "no sweep s9");
                            }),
              StatusIs(absl::StatusCode::kNotFound, "no sweep s9"));
  EXPECT_EQ(calls, 1);
}

TEST(ChannelTest, RepeatsEndWithTheTotalTime) {
  CallOptions options = Quick();
  options.total_timeout = absl::Milliseconds(20);
  int calls = 0;
  EXPECT_THAT(CallWithRetry(options,
                            [&](grpc::ClientContext&) {
                              ++calls;
                              return grpc::Status(grpc::StatusCode::UNAVAILABLE, "down");
                            }),
              StatusIs(absl::StatusCode::kUnavailable, "down"));
  EXPECT_GT(calls, 1);
}

TEST(ChannelTest, RepeatsEndWhenCanceled) {
  CallOptions options = Quick();
  int calls = 0;
  options.is_canceled = [&] { return calls == 2; };
  EXPECT_THAT(CallWithRetry(options,
                            [&](grpc::ClientContext&) {
                              ++calls;
                              return grpc::Status(grpc::StatusCode::UNAVAILABLE, "down");
                            }),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("interrupted")));
  EXPECT_EQ(calls, 2);
}

TEST(ChannelTest, PausesDoubleUpToTheirLimit) {
  CallOptions options;
  options.backoff_min = absl::Milliseconds(100);
  options.backoff_max = absl::Seconds(5);
  EXPECT_EQ(BackoffBefore(options, 1, 0), absl::Milliseconds(50));
  EXPECT_EQ(BackoffBefore(options, 2, 0), absl::Milliseconds(100));
  EXPECT_LE(BackoffBefore(options, 2, 0.999), absl::Milliseconds(200));
  EXPECT_EQ(BackoffBefore(options, 1'000'000, 0), absl::Seconds(2.5));
}

class Echo : public v1::Coordinator::Service {
  grpc::Status GetSweep(grpc::ServerContext*, const v1::GetSweepRequest* request,
                        v1::Sweep* sweep) override {
    sweep->set_id(request->sweep());
    return grpc::Status::OK;
  }
};

// A server at `address`; with port 0 the one that it got is added to *port.
std::unique_ptr<grpc::Server> Serve(Echo* service, const std::string& address, int* port) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), port);
  builder.RegisterService(service);
  return builder.BuildAndStart();
}

TEST(ChannelTest, ACallReachesAServerOnAUnixSocket) {
  const TempDir dir;
  Echo service;
  int port = 0;
  const std::unique_ptr<grpc::Server> server = Serve(&service, "unix:" + dir.File("s"), &port);
  ASSERT_OK_AND_ASSIGN(const auto channel, MakeChannel("unix:" + dir.File("s")));
  const auto stub = v1::Coordinator::NewStub(channel);
  v1::Sweep sweep;
  EXPECT_OK(CallWithRetry(CallOptions(), [&](grpc::ClientContext& context) {
    v1::GetSweepRequest request;
    request.set_sweep("s4");
    return stub->GetSweep(&context, request, &sweep);
  }));
  EXPECT_EQ(sweep.id(), "s4");
}

TEST(ChannelTest, AServerThatStartsAgainIsFoundSoon) {
  const TempDir dir;
  for (const std::string host : {"127.0.0.1", "localhost", "unix"}) {
    SCOPED_TRACE(host);
    Echo service;
    int port = 0;
    std::string address = host == "unix" ? "unix:" + dir.File("s") : host + ":0";
    std::unique_ptr<grpc::Server> server = Serve(&service, address, &port);
    if (host != "unix") {
      address = absl::StrCat(host, ":", port);
    }
    ASSERT_OK_AND_ASSIGN(const auto coordinators, Coordinators::Make(address, {}));
    const auto stub = v1::Coordinator::NewStub(coordinators->current()->channel);
    const auto call = [&](grpc::ClientContext& context) {
      v1::Sweep sweep;
      return stub->GetSweep(&context, v1::GetSweepRequest(), &sweep);
    };
    ASSERT_OK(CallWithRetry(CallOptions(), call));
    server->Shutdown();
    server.reset();
    EXPECT_THAT(CallOnce(CallOptions(), call), StatusIs(absl::StatusCode::kUnavailable, _));
    // A channel that never was connected, too.
    ASSERT_OK_AND_ASSIGN(const auto fresh, Coordinators::Make(address, {}));
    const auto fresh_stub = v1::Coordinator::NewStub(fresh->current()->channel);
    const auto fresh_call = [&](grpc::ClientContext& context) {
      v1::Sweep sweep;
      return fresh_stub->GetSweep(&context, v1::GetSweepRequest(), &sweep);
    };
    EXPECT_THAT(CallOnce(CallOptions(), fresh_call), StatusIs(absl::StatusCode::kUnavailable, _));
    server = Serve(&service, address, &port);
    ASSERT_NE(server, nullptr);
    const absl::Time start = absl::Now();
    CallOptions options;
    options.coordinators = coordinators.get();
    EXPECT_OK(CallWithRetry(options, call));
    options.coordinators = fresh.get();
    EXPECT_OK(CallWithRetry(options, fresh_call));
    EXPECT_LT(absl::Now() - start, absl::Seconds(10));
  }
}

TEST(StatusTest, CodesAndMessagesSurvive) {
  for (int code = 1; code <= 16; ++code) {
    const absl::Status status(static_cast<absl::StatusCode>(code), "spec.name: expected \"é\"");
    EXPECT_EQ(FromGrpcStatus(ToGrpcStatus(status)), status);
  }
  EXPECT_OK(FromGrpcStatus(ToGrpcStatus(absl::OkStatus())));
  const grpc::Status cut = ToGrpcStatus(absl::InternalError(std::string(100'000, '\xff')));
  EXPECT_LT(cut.error_message().size(), 8'000);
  EXPECT_THAT(cut.error_message(), HasSubstr("(cut)"));
}

}  // namespace
}  // namespace concur::rpc
