// SPDX-License-Identifier: Apache-2.0
#include "studies/annotation/server.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/notification.h"
#include "base/digest.h"
#include "base/http/request_guard.h"
#include "base/status_macros.h"
#include "coordinator/page/api.h"
#include "coordinator/page/assets.h"

namespace concur::annotation {
namespace {

using http::HttpExchange;
using http::HttpRequest;
using http::HttpResponse;

constexpr char kApi[] = "/api/v1/";
constexpr char kJsonType[] = "application/json";
constexpr size_t kCodeBytes = 32;
// A question of kQuestionBytesMax with every byte escaped takes a tenth of it.
constexpr size_t kBodyBytesMax = size_t{64} << 10;

HttpResponse ErrorOf(const absl::Status& status) {
  return {page::HttpStatusOf(status), kJsonType, page::ErrorJson(status)};
}

void Respond(const std::shared_ptr<HttpExchange>& exchange, HttpResponse response) {
  exchange->Answer(http::Secured(std::move(response)));
}

void Respond(const std::shared_ptr<HttpExchange>& exchange,
             const absl::StatusOr<std::string>& json) {
  Respond(exchange, json.ok() ? HttpResponse{200, kJsonType, *json} : ErrorOf(json.status()));
}

}  // namespace

absl::StatusOr<http::Listener> AnnotationServer::ListenOn(const std::string& address) {
  CONCUR_ASSIGN_OR_RETURN(const http::Endpoint endpoint, http::ParseEndpoint("--listen", address));
  if (!endpoint.IsLoopback()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--listen: expected an address of the loopback device, such as 127.0.0.1:7450, got ",
        address, "; other machines reach it by ssh -L"));
  }
  absl::StatusOr<http::Listener> listener = http::Listen(endpoint);
  return listener.ok() ? std::move(listener)
                       : absl::UnavailableError(
                             absl::StrCat("--listen: ", address, " is taken; choose another"));
}

absl::StatusOr<std::unique_ptr<AnnotationServer>> AnnotationServer::Start(
    Clock& clock, std::unique_ptr<LiveRoom> room, std::vector<std::unique_ptr<System>> systems,
    ServerOptions options) {
  CONCUR_ASSIGN_OR_RETURN(http::Listener listener, ListenOn(options.listen));
  CONCUR_ASSIGN_OR_RETURN(std::string key, http::EnsurePageKey(options.key_path));
  std::unique_ptr<AnnotationServer> server(
      new AnnotationServer(clock, std::move(room), std::move(systems), std::move(options),
                           std::move(key), listener.endpoint));
  http::HttpLimits limits;
  limits.body_bytes_max = kBodyBytesMax;
  CONCUR_ASSIGN_OR_RETURN(server->http_,
                          http::HttpServer::Start(std::move(listener), limits,
                                                  [self = server.get()](const Exchange& exchange) {
                                                    self->Handle(exchange);
                                                  }));
  return server;
}

AnnotationServer::AnnotationServer(Clock& clock, std::unique_ptr<LiveRoom> room,
                                   std::vector<std::unique_ptr<System>> systems,
                                   ServerOptions options, std::string key,
                                   const http::Endpoint& endpoint)
    : clock_(clock),
      room_(std::move(room)),
      systems_(std::move(systems)),
      options_(std::move(options)),
      address_(absl::StrCat("http://", endpoint.ToString(), "/")),
      // Named after the port: rooms on one machine must not replace each other's cookies.
      cookie_name_(absl::StrCat("concur_annotation_", endpoint.port)),
      sealer_(std::move(key)),
      api_(room_->room(), [this](const Event& event) { return room_->CommitChecked(event); }),
      room_thread_(1),
      system_thread_(1) {}

AnnotationServer::~AnnotationServer() {
  is_stopping_ = true;
  http_.reset();  // every request is answered, by the threads below
}

// Milliseconds, as the log has them: what is in memory is what a restart would read.
absl::Time AnnotationServer::Now() const {
  return absl::FromUnixMillis(absl::ToUnixMillis(clock_.Now()));
}

absl::StatusOr<std::string> AnnotationServer::MakeLink(const std::string& annotator,
                                                       bool is_reviewer) {
  absl::Status status;
  const std::string code = http::RandomText(kCodeBytes);
  absl::Notification done;
  room_thread_.Submit([&] {
    Event event;
    event.kind = EventKind::kAnnotator;
    event.time = Now();
    event.annotator = annotator;
    event.is_reviewer = is_reviewer;
    event.code_digest = Sha256Of(code).ToHex();
    status = room_->Commit(event);
    done.Notify();
  });
  done.WaitForNotification();
  CONCUR_RETURN_IF_ERROR(status);
  return absl::StrCat(address_, "#login=", code);
}

void AnnotationServer::Handle(const Exchange& exchange) {
  const HttpRequest& request = exchange->request();
  if (const absl::Status status = http::CheckHost(request.host); !status.ok()) {
    Respond(exchange, ErrorOf(status));
    return;
  }
  absl::string_view method = request.path;
  if (!absl::ConsumePrefix(&method, kApi)) {
    if (request.method == "GET" || request.method == "HEAD") {
      Respond(exchange, page::AssetResponse(request, page::Site::kAnnotation));
    } else {
      HttpResponse response = ErrorOf(absl::InvalidArgumentError("expected GET"));
      response.status = 405;
      Respond(exchange, std::move(response));
    }
    return;
  }
  if (const absl::Status status = http::CheckOrigin(request); !status.ok()) {
    Respond(exchange, ErrorOf(status));
    return;
  }
  room_thread_.Submit([this, exchange, name = std::string(method)] { HandleCall(exchange, name); });
}

void AnnotationServer::HandleCall(const Exchange& exchange, const std::string& method) {
  const HttpRequest& request = exchange->request();
  const bool is_read = method == "state";
  if (request.method != (is_read ? "GET" : "POST") ||
      (!is_read && !absl::StartsWithIgnoreCase(request.content_type, kJsonType))) {
    HttpResponse response = ErrorOf(absl::InvalidArgumentError(
        is_read ? "expected GET" : "expected POST with Content-Type: application/json"));
    response.status = request.method == "POST" && !is_read ? 400 : 405;
    Respond(exchange, std::move(response));
    return;
  }
  if (method == "login") {
    Respond(exchange, LogIn(request));
    return;
  }
  const absl::StatusOr<std::string> annotator = AnnotatorOf(request);
  if (!annotator.ok()) {
    Respond(exchange, ErrorOf(annotator.status()));
  } else if (is_read) {
    Respond(exchange, api_.State(*annotator));
  } else if (method == "task") {
    Respond(exchange, api_.TakeTask(*annotator, request.body, Now()));
  } else if (method == "attempt") {
    TakeAttempt(exchange, *annotator);
  } else if (method == "validation") {
    Respond(exchange, api_.TakeValidation(*annotator, request.body, Now()));
  } else if (method == "answer") {
    Respond(exchange, api_.TakeAnswer(*annotator, request.body, Now()));
  } else if (method == "review") {
    Respond(exchange, api_.TakeReview(*annotator, request.body, Now()));
  } else if (method == "onboarding") {
    Respond(exchange, api_.TakeOnboarding(*annotator, request.body, Now()));
  } else if (method == "logout") {
    HttpResponse response = {200, kJsonType, "{}"};
    response.headers.emplace_back("Set-Cookie", SessionCookie("", absl::ZeroDuration()));
    Respond(exchange, std::move(response));
  } else {
    Respond(exchange, ErrorOf(absl::NotFoundError("no such method")));
  }
}

// --- who it is -----------------------------------------------------------------------------------

std::string AnnotationServer::SessionCookie(const std::string& value, absl::Duration age) const {
  return absl::StrCat(cookie_name_, "=", value, "; Path=/api/; HttpOnly; SameSite=Strict; Max-Age=",
                      absl::ToInt64Seconds(age));
}

HttpResponse AnnotationServer::LogIn(const HttpRequest& request) {
  const absl::StatusOr<std::string> annotator = api_.LogIn(request.body, Now());
  if (!annotator.ok()) {
    return ErrorOf(annotator.status());
  }
  const int64_t links = room_->room().annotators().at(*annotator).links;
  const std::string cookie =
      sealer_.Seal(absl::StrCat(*annotator, "\n", links), clock_.Now() + options_.session);
  const nlohmann::ordered_json session = {{"user", *annotator}, {"csrf", sealer_.CsrfOf(cookie)}};
  HttpResponse response = {200, kJsonType, session.dump()};
  response.headers.emplace_back("Set-Cookie", SessionCookie(cookie, options_.session));
  return response;
}

absl::StatusOr<std::string> AnnotationServer::AnnotatorOf(const HttpRequest& request) const {
  const std::string cookie = http::CookieValue(request.cookies, cookie_name_);
  CONCUR_ASSIGN_OR_RETURN(const std::string token, sealer_.Open(cookie, clock_.Now()));
  if (!http::SameSecret(request.csrf, sealer_.CsrfOf(cookie))) {
    return absl::PermissionDeniedError("X-Concur-CSRF: expected the value given at login");
  }
  const std::vector<std::string> parts = absl::StrSplit(token, '\n');
  const auto found = room_->room().annotators().find(parts[0]);
  return found != room_->room().annotators().end() &&
                 token == absl::StrCat(found->first, "\n", found->second.links)
             ? absl::StatusOr<std::string>(found->first)
             : absl::UnauthenticatedError("the session has ended: a newer login link was made");
}

// --- attempts ------------------------------------------------------------------------------------

void AnnotationServer::TakeAttempt(const Exchange& exchange, const std::string& annotator) {
  absl::StatusOr<AnnotationApi::Begun> begun =
      api_.BeginAttempt(annotator, exchange->request().body, Now());
  if (!begun.ok()) {
    Respond(exchange, ErrorOf(begun.status()));
  } else if (!begun->question.has_value()) {
    Respond(exchange, std::move(begun->response));
  } else {
    AskSystems(exchange, *std::move(begun->question));
  }
}

// One after the other: they may share a GPU.
absl::StatusOr<std::vector<std::string>> AnnotationServer::AnswersTo(
    const AnnotationApi::Question& question) {
  std::vector<std::string> answers;
  for (const std::unique_ptr<System>& system : systems_) {
    if (is_stopping_) {
      return absl::UnavailableError("the server is being stopped");
    }
    CONCUR_ASSIGN_OR_RETURN(answers.emplace_back(),
                            system->Answer(question.passage, question.attempt.question));
  }
  return answers;
}

void AnnotationServer::AskSystems(const Exchange& exchange, AnnotationApi::Question question) {
  system_thread_.Submit([this, exchange, question = std::move(question)]() mutable {
    absl::StatusOr<std::vector<std::string>> answers = AnswersTo(question);
    room_thread_.Submit([this, exchange, attempt = std::move(question.attempt),
                         answers = std::move(answers)]() mutable {
      Respond(exchange, api_.EndAttempt(std::move(attempt), std::move(answers), Now()));
    });
  });
}

}  // namespace concur::annotation
