// SPDX-License-Identifier: Apache-2.0
#include "coordinator/page/page_server.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/http/request_guard.h"
#include "base/status_macros.h"
#include "coordinator/page/assets.h"
#include "coordinator/page/openapi.h"

namespace concur::page {
namespace {

constexpr char kApiPrefix[] = "/api/v1/";
constexpr char kJsonType[] = "application/json";

http::HttpResponse ErrorResponse(const absl::Status& status) {
  return {HttpStatusOf(status), kJsonType, ErrorJson(status)};
}

void Answer(const std::shared_ptr<http::HttpExchange>& exchange, http::HttpResponse response) {
  exchange->Answer(http::Secured(std::move(response)));
}

absl::Status WrongMethod(const char* expected) {
  return absl::InvalidArgumentError(absl::StrCat("expected ", expected));
}

http::HttpResponse NotAllowed(const char* expected) {
  http::HttpResponse response = ErrorResponse(WrongMethod(expected));
  response.status = 405;
  response.headers.emplace_back("Allow", expected);
  return response;
}

std::string Bearer(const std::string& token) { return absl::StrCat("Bearer ", token); }

bool IsJson(const http::HttpRequest& request) {
  return absl::StartsWithIgnoreCase(request.content_type, kJsonType);
}

}  // namespace

std::string PageServer::LinkPath(const std::string& data_directory) {
  return data_directory + "/page";
}

absl::StatusOr<std::unique_ptr<PageServer>> PageServer::Start(
    Clock& clock, PageOptions options, std::shared_ptr<grpc::Channel> channel) {
  CONCUR_ASSIGN_OR_RETURN(const http::Endpoint endpoint,
                          http::ParseEndpoint("page_listen", options.listen));
  if (!endpoint.IsLoopback()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "page_listen: expected an address of the loopback device, such as 127.0.0.1:7449, got ",
        options.listen, "; other machines reach it by ssh -L"));
  }
  absl::StatusOr<http::Listener> listener = http::Listen(endpoint);
  if (!listener.ok()) {
    return absl::UnavailableError(
        absl::StrCat("cannot serve the page on ", options.listen,
                     ": the address is taken; choose another with --page-listen"));
  }
  CONCUR_ASSIGN_OR_RETURN(std::string key,
                          http::EnsurePageKey(options.data_directory + "/page-key"));
  const http::HttpLimits limits = options.http;
  std::unique_ptr<PageServer> server(new PageServer(clock, std::move(options), std::move(channel),
                                                    std::move(key), listener->endpoint));
  CONCUR_RETURN_IF_ERROR(server->link_.Write());
  CONCUR_ASSIGN_OR_RETURN(server->http_,
                          http::HttpServer::Start(*std::move(listener), limits,
                                                  [page = server.get()](const Exchange& exchange) {
                                                    page->Handle(exchange);
                                                  }));
  return server;
}

PageServer::PageServer(Clock& clock, PageOptions options, std::shared_ptr<grpc::Channel> channel,
                       std::string key, const http::Endpoint& endpoint)
    : clock_(clock),
      options_(std::move(options)),
      address_(absl::StrCat("http://", endpoint.ToString(), "/")),
      // Named by the port: cookies of two coordinators on one machine must not replace each other.
      cookie_name_(absl::StrCat("concur_session_", endpoint.port)),
      sealer_(std::move(key)),
      link_(address_, LinkPath(options_.data_directory), !options_.without_authentication),
      api_(channel, options_.methods),
      tables_(clock, std::move(channel)) {}

PageServer::~PageServer() {
  api_.CancelAll();
  tables_.Stop();
  http_.reset();
}

void PageServer::Handle(const Exchange& exchange) {
  const http::HttpRequest& request = exchange->request();
  if (const absl::Status status = http::CheckHost(request.host); !status.ok()) {
    Answer(exchange, ErrorResponse(status));
    return;
  }
  absl::string_view name = request.path;
  if (absl::ConsumePrefix(&name, kApiPrefix)) {
    if (const absl::Status status = http::CheckOrigin(request); !status.ok()) {
      Answer(exchange, ErrorResponse(status));
      return;
    }
    HandleApi(exchange, std::string(name));
  } else if (request.method == "GET" || request.method == "HEAD") {
    Answer(exchange, AssetResponse(request));
  } else {
    Answer(exchange, NotAllowed("GET"));
  }
}

void PageServer::HandleApi(const Exchange& exchange, const std::string& name) {
  const http::HttpRequest& request = exchange->request();
  const ApiMethod* method = api_.Find(name);
  const bool is_login = name == "login";
  const bool is_logout = name == "logout";
  const std::optional<TableKind> table = TableKindOf(name);
  if (method == nullptr && !is_login && !is_logout && !table.has_value() && name != "session" &&
      name != "openapi.json") {
    Answer(exchange, ErrorResponse(absl::NotFoundError(
                         "no such method; /api/v1/openapi.json lists those that there are")));
    return;
  }
  const bool posts = is_login || is_logout || (method != nullptr && method->kind == ApiKind::kPost);
  if (request.method != (posts ? "POST" : "GET")) {
    Answer(exchange, NotAllowed(posts ? "POST" : "GET"));
    return;
  }
  if (posts && !IsJson(request)) {
    Answer(exchange,
           ErrorResponse(absl::InvalidArgumentError("Content-Type: expected application/json")));
    return;
  }
  if (name == "openapi.json") {
    Answer(exchange, {200, kJsonType, OpenApiJson(api_.methods())});
    return;
  }
  if (is_login) {
    Answer(exchange, LogIn(request));
    return;
  }
  const absl::StatusOr<ApiCaller> caller = CallerOf(request);
  if (!caller.ok()) {
    Answer(exchange, ErrorResponse(caller.status()));
  } else if (is_logout) {
    Answer(exchange, LogOut());
  } else if (method != nullptr) {
    CallMethod(exchange, *method, *caller);
  } else if (table.has_value()) {
    absl::StatusOr<TableQuery> query = ParseTableQuery(*table, request);
    if (!query.ok()) {
      Answer(exchange, ErrorResponse(query.status()));
      return;
    }
    tables_.Make(*std::move(query), *caller, [exchange](absl::StatusOr<http::HttpResponse> made) {
      Answer(exchange, made.ok() ? *std::move(made) : ErrorResponse(made.status()));
    });
  } else {
    const absl::StatusOr<Viewer> viewer = options_.authenticate(*caller);
    Answer(exchange, viewer.ok()
                         ? http::HttpResponse{200, kJsonType,
                                              nlohmann::json({{"user", viewer->user},
                                                              {"role", viewer->role},
                                                              {"version", options_.version}})
                                                  .dump()}
                         : ErrorResponse(viewer.status()));
  }
}

void PageServer::CallMethod(const Exchange& exchange, const ApiMethod& method,
                            const ApiCaller& caller) {
  const http::HttpRequest& http = exchange->request();
  const absl::StatusOr<std::string> request = method.kind == ApiKind::kPost
                                                  ? Api::RequestFromJson(method, http.body)
                                                  : Api::RequestFromQuery(method, http);
  if (!request.ok()) {
    Answer(exchange, ErrorResponse(request.status()));
  } else if (method.kind == ApiKind::kEvents) {
    OpenStream(exchange, method, caller, *request);
  } else {
    api_.Call(method, caller, *request, [exchange](absl::StatusOr<std::string> json) {
      Answer(exchange, json.ok() ? http::HttpResponse{200, kJsonType, *std::move(json)}
                                 : ErrorResponse(json.status()));
    });
  }
}

void PageServer::OpenStream(const Exchange& exchange, const ApiMethod& method,
                            const ApiCaller& caller, const std::string& request) {
  const absl::StatusOr<Viewer> viewer = options_.authenticate(caller);
  if (!viewer.ok()) {
    Answer(exchange, ErrorResponse(viewer.status()));
    return;
  }
  {
    MutexLock lock(mutex_);
    size_t& count = streams_[viewer->user];
    if (count >= options_.streams_per_user_max) {
      Answer(exchange, ErrorResponse(absl::ResourceExhaustedError(
                           absl::StrCat(viewer->user, " has ", count,
                                        " streams of events open, as many as one user may have"))));
      return;
    }
    ++count;
  }
  auto events = std::make_shared<http::EventOutlet>();  // shared by the call and the server
  api_.Stream(method, caller, request, events, [this, user = viewer->user] {
    MutexLock lock(mutex_);
    if (--streams_[user] == 0) {
      streams_.erase(user);
    }
  });
  exchange->AnswerWithEvents(http::Secured({200, "text/event-stream; charset=utf-8"}), events);
}

absl::StatusOr<std::string> PageServer::TokenFrom(const http::HttpRequest& request) {
  const nlohmann::json body =
      nlohmann::json::parse(request.body, nullptr, /*allow_exceptions=*/false);
  const auto text = [&body](const char* name) {
    const auto found = body.is_object() ? body.find(name) : body.end();
    return found != body.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  const std::string code = text("code");
  if (!code.empty()) {
    CONCUR_RETURN_IF_ERROR(link_.Redeem(code));
    return options_.local_token();
  }
  const std::string token = text("token");
  if (token.empty()) {
    return absl::InvalidArgumentError(R"(expected {"code":"…"} or {"token":"…"})");
  }
  return token;
}

http::HttpResponse PageServer::LogIn(const http::HttpRequest& request) {
  const absl::StatusOr<std::string> token = TokenFrom(request);
  if (!token.ok()) {
    return ErrorResponse(token.status());
  }
  const absl::StatusOr<Viewer> viewer = options_.authenticate({Bearer(*token), request.peer});
  if (!viewer.ok()) {
    return ErrorResponse(viewer.status());
  }
  const std::string cookie = sealer_.Seal(*token, clock_.Now() + options_.session);
  http::HttpResponse response = {200, kJsonType,
                                 nlohmann::json({{"user", viewer->user},
                                                 {"role", viewer->role},
                                                 {"version", options_.version},
                                                 {"csrf", sealer_.CsrfOf(cookie)}})
                                     .dump()};
  response.headers.emplace_back("Set-Cookie", SessionCookie(cookie, options_.session));
  return response;
}

http::HttpResponse PageServer::LogOut() const {
  http::HttpResponse response = {200, kJsonType, "{}"};
  response.headers.emplace_back("Set-Cookie", SessionCookie("", absl::ZeroDuration()));
  return response;
}

std::string PageServer::SessionCookie(const std::string& value, absl::Duration age) const {
  return absl::StrCat(cookie_name_, "=", value, "; Path=/api/; HttpOnly; SameSite=Strict; Max-Age=",
                      absl::ToInt64Seconds(age));
}

absl::StatusOr<ApiCaller> PageServer::CallerOf(const http::HttpRequest& request) const {
  if (!request.authorization.empty()) {
    // gRPC ends the process when metadata has others.
    if (!std::all_of(request.authorization.begin(), request.authorization.end(),
                     [](char c) { return c >= ' ' && c <= '~'; })) {
      return absl::UnauthenticatedError("Authorization: expected printable ASCII characters");
    }
    return ApiCaller{request.authorization, request.peer};
  }
  if (options_.without_authentication) {
    // No page can send this header to another origin without being asked for by the browser first.
    return request.csrf.empty() ? absl::StatusOr<ApiCaller>(absl::PermissionDeniedError(
                                      "X-Concur-CSRF: expected a value"))
                                : ApiCaller{"", request.peer};
  }
  const std::string cookie = http::CookieValue(request.cookies, cookie_name_);
  CONCUR_ASSIGN_OR_RETURN(const std::string token, sealer_.Open(cookie, clock_.Now()));
  if (!http::SameSecret(request.csrf, sealer_.CsrfOf(cookie))) {
    return absl::PermissionDeniedError("X-Concur-CSRF: expected the value given at login");
  }
  return ApiCaller{Bearer(token), request.peer};
}

}  // namespace concur::page
