// SPDX-License-Identifier: Apache-2.0
// Input of a browser, or somebody else, to the page. The first byte says how the rest is read: as
// bytes on a socket of the whole server, as the JSON body or the query of a method, or as cookies.
//
// Whatever comes over the socket, each answer is one of HTTP with the headers that forbid foreign
// scripts, JSON is JSON, nobody without the token learns the secret or changes a sweep, and the
// next request is answered. A request that is accepted means the same after it was written and read
// again.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/util/json_util.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/http/request_guard.h"
#include "base/http/session.h"
#include "concur/v1/coordinator.grpc.pb.h"
#include "coordinator/page/api.h"
#include "coordinator/page/page_server.h"
#include "tests/fuzz/fuzz.h"
#include "tests/testing/http_client.h"
#include "tests/testing/temp_dir.h"

namespace {

using concur::page::Api;
using concur::page::ApiKind;
using concur::page::ApiMethod;

constexpr char kToken[] = "right-token";
constexpr char kSecret[] = "the-secret-of-a-sweep";

std::vector<ApiMethod> Methods() {
  return {{"/concur.v1.Coordinator/GetSweep", ApiKind::kGet},
          {"/concur.v1.Coordinator/ListJobs", ApiKind::kGet},
          {"/concur.v1.Coordinator/ListAuditEntries", ApiKind::kGet},
          {"/concur.v1.Coordinator/PauseSweep", ApiKind::kPost},
          {"/concur.v1.Coordinator/RetryJobs", ApiKind::kPost},
          {"/concur.v1.Coordinator/WatchSweep", ApiKind::kEvents}};
}

// Knows one sweep, and tells of it to the token's owner.
class Coordinator final : public concur::v1::Coordinator::Service {
 private:
  static grpc::Status Admit(const grpc::ServerContext& context) {
    const auto found = context.client_metadata().find("authorization");
    const bool knows = found != context.client_metadata().end() &&
                       found->second == grpc::string_ref(absl::StrCat("Bearer ", kToken));
    return knows ? grpc::Status::OK : grpc::Status(grpc::StatusCode::UNAUTHENTICATED, "no");
  }
  grpc::Status GetSweep(grpc::ServerContext* context, const concur::v1::GetSweepRequest* request,
                        concur::v1::Sweep* sweep) override {
    sweep->set_id(request->sweep());
    sweep->set_name(kSecret);
    return Admit(*context);
  }
  grpc::Status PauseSweep(grpc::ServerContext* context, const concur::v1::PauseSweepRequest*,
                          concur::v1::Sweep* sweep) override {
    sweep->set_name(kSecret);
    return Admit(*context);
  }
  grpc::Status WatchSweep(grpc::ServerContext* context, const concur::v1::WatchSweepRequest*,
                          grpc::ServerWriter<concur::v1::WatchSweepResponse>* writer) override {
    if (const grpc::Status status = Admit(*context); !status.ok()) {
      return status;
    }
    concur::v1::WatchSweepResponse message;
    message.mutable_sweep()->set_name(kSecret);
    writer->Write(message);
    return grpc::Status::OK;
  }
};

// The page of that coordinator.
class Stand {
 public:
  Stand() {
    grpc::ServerBuilder builder;
    builder.RegisterService(&service_);
    coordinator_ = builder.BuildAndStart();
    concur::page::PageOptions options;
    options.listen = "127.0.0.1:0";
    options.data_directory = directory_.path();
    options.methods = Methods();
    options.authenticate =
        [](const concur::page::ApiCaller& caller) -> absl::StatusOr<concur::page::Viewer> {
      if (caller.authorization != absl::StrCat("Bearer ", kToken)) {
        return absl::UnauthenticatedError("no such token");
      }
      return concur::page::Viewer{"ada", "admin"};
    };
    options.local_token = []() -> absl::StatusOr<std::string> { return std::string(kToken); };
    auto page = concur::page::PageServer::Start(
        clock_, std::move(options), coordinator_->InProcessChannel(grpc::ChannelArguments()));
    CONCUR_CHECK_OK(page.status());
    page_ = *std::move(page);
    const std::vector<std::string> parts = absl::StrSplit(page_->address(), '/');
    address_ = parts[2];
  }
  const std::string& address() const { return address_; }

 private:
  concur::testing::TempDir directory_;
  concur::SystemClock clock_;
  Coordinator service_;
  std::unique_ptr<grpc::Server> coordinator_;
  std::unique_ptr<concur::page::PageServer> page_;
  std::string address_;
};

// Sends the bytes, and reads what comes until the server closes the connection. `patience`: how
// long an answer may take; the server waits 15 s for the rest of a request.
std::string Answer(absl::string_view bytes, absl::Duration patience = absl::Seconds(20)) {
  static const Stand& stand = *new Stand;
  const concur::FileDescriptor fd = concur::testing::ConnectTo(stand.address());
  const timeval timeout = absl::ToTimeval(patience);
  setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  for (size_t sent = 0; sent < bytes.size();) {
    const ssize_t now = send(fd.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (now < 0 && errno == EINTR) {  // libFuzzer's alarm
      continue;
    }
    if (now <= 0) {
      break;
    }
    sent += static_cast<size_t>(now);
  }
  std::string answer;
  char buffer[65536];
  for (ssize_t got = 0;
       (got = recv(fd.get(), buffer, sizeof buffer, 0)) > 0 || (got < 0 && errno == EINTR);) {
    answer.append(buffer, static_cast<size_t>(std::max<ssize_t>(got, 0)));
  }
  return answer;
}

// An answer that the page's handlers made; libmicrohttpd makes others of what is no HTTP.
void CheckAnswer(absl::string_view answer) {
  const size_t end = answer.find("\r\n\r\n");
  if (!absl::StartsWith(answer, "HTTP/1.") || end == absl::string_view::npos) {
    CONCUR_CHECK_OK(absl::InternalError(
        absl::StrCat("an answer of ", answer.size(), " bytes: ", answer.substr(0, 200))));
  }
  const absl::string_view head = answer.substr(0, end);
  if (absl::StrContains(head, "Content-Security-Policy")) {
    CONCUR_CHECK(absl::StrContains(head, "frame-ancestors 'none'"));
    CONCUR_CHECK(absl::StrContains(head, "nosniff"));
    CONCUR_CHECK(!absl::StrContains(head, "unsafe-inline"));
  }
  CONCUR_CHECK(!absl::StrContains(head, "Access-Control-Allow"));
}

void CheckSocket(absl::string_view bytes) {
  const std::string answer = Answer(bytes, absl::Milliseconds(100));
  if (absl::StrContains(answer, "\r\n\r\n")) {
    CheckAnswer(answer);
  }
  if (!absl::StrContains(bytes, kToken)) {
    CONCUR_CHECK(!absl::StrContains(answer, kSecret));
    CONCUR_CHECK(!absl::StrContains(answer, "Set-Cookie: concur_session_") ||
                 absl::StrContains(answer, "Max-Age=0"));
  }
  const std::string probe =
      Answer(absl::StrCat("GET /api/v1/GetSweep?sweep=s1 HTTP/1.1\r\nHost: localhost\r\n",
                          "Authorization: Bearer ", kToken, "\r\nConnection: close\r\n\r\n"));
  CheckAnswer(probe);
  CONCUR_CHECK(absl::StartsWith(probe, "HTTP/1.1 200 "));
  const nlohmann::json json =
      nlohmann::json::parse(probe.substr(probe.find("\r\n\r\n") + 4), nullptr, false);
  CONCUR_CHECK(json.is_object() && json["id"] == "s1" && json["name"] == kSecret);
}

// `bytes`: a request as protobuf writes it. It is the same after a way through JSON.
void CheckSame(const ApiMethod& method, const std::string& bytes) {
  const auto* descriptor = google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(
      absl::StrReplaceAll(method.path.substr(1), {{"/", "."}}));
  CONCUR_CHECK(descriptor != nullptr);
  const std::unique_ptr<google::protobuf::Message> message(
      google::protobuf::MessageFactory::generated_factory()
          ->GetPrototype(descriptor->input_type())
          ->New());
  CONCUR_CHECK(message->ParseFromString(bytes));
  std::string json;
  CONCUR_CHECK(google::protobuf::util::MessageToJsonString(*message, &json).ok());
  const absl::StatusOr<std::string> again = Api::RequestFromJson(method, json);
  CONCUR_CHECK_OK(again.status());
  CONCUR_CHECK(*again == bytes);
}

void CheckRequest(const ApiMethod& method, const absl::StatusOr<std::string>& request) {
  if (request.ok()) {
    CheckSame(method, *request);
    return;
  }
  CONCUR_CHECK(absl::IsInvalidArgument(request.status()));
  CONCUR_CHECK(absl::StartsWith(request.status().message(), method.name()));
  const nlohmann::json error =
      nlohmann::json::parse(concur::page::ErrorJson(request.status()), nullptr, false);
  CONCUR_CHECK(error["error"]["code"] == "INVALID_ARGUMENT");
}

// name=value&name=value, decoded already.
void CheckQuery(const ApiMethod& method, absl::string_view text) {
  concur::http::HttpRequest request;
  for (const absl::string_view field : absl::StrSplit(text, '&')) {
    const std::pair<std::string, std::string> parts =
        absl::StrSplit(field, absl::MaxSplits('=', 1));
    request.query.push_back(parts);
  }
  CheckRequest(method, Api::RequestFromQuery(method, request));
  for (const char* name : {"scores", "matrix", "rank"}) {
    const auto query =
        concur::page::ParseTableQuery(concur::page::TableKindOf(name).value(), request);
    CONCUR_CHECK(query.ok() ? !query->sweep.empty() : absl::IsInvalidArgument(query.status()));
  }
}

// A header with cookies: no value that was not sealed here opens a session.
void CheckCookies(absl::string_view text) {
  static const concur::http::SessionSealer& sealer =
      *new concur::http::SessionSealer(std::string(concur::http::kPageKeyBytes, 'k'));
  const absl::Time now = absl::FromUnixSeconds(1'700'000'000);
  const std::string value = concur::http::CookieValue(text, "concur_session_7447");
  CONCUR_CHECK(absl::StrContains(text, value));
  CONCUR_CHECK(!sealer.Open(value, now).ok());
  CONCUR_CHECK(!sealer.Open(text, now).ok());
  constexpr size_t kTokenBytes = 200;  // more than any token has; Open refuses long cookies
  const std::string token(text.substr(0, kTokenBytes));
  const std::string sealed = sealer.Seal(token, now + absl::Hours(1));
  const auto opened = sealer.Open(sealed, now);
  CONCUR_CHECK(opened.ok() && *opened == token);
  CONCUR_CHECK(concur::http::CookieValue(absl::StrCat("a=b; concur_session_7447=", sealed),
                                         "concur_session_7447") == sealed);
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes = concur::testing::Text(data, size);
  if (bytes.size() < 2) {
    return 0;
  }
  static const std::vector<ApiMethod>& methods = *new std::vector<ApiMethod>(Methods());
  const ApiMethod& method = methods[static_cast<unsigned char>(bytes[1]) % methods.size()];
  switch (bytes[0]) {
    case 's':  // the whole server costs more than the others together
      CheckSocket(bytes.substr(1));
      break;
    case 'c':
      CheckCookies(bytes.substr(1));
      break;
    case 'q':
      CheckQuery(method, bytes.substr(2));
      break;
    default:
      CheckRequest(method, Api::RequestFromJson(method, bytes.substr(2)));
  }
  return 0;
}
