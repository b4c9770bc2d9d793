// SPDX-License-Identifier: Apache-2.0
#include "annotation/server.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/notification.h"
#include "base/digest.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "page/api.h"
#include "page/assets.h"
#include "page/request_guard.h"
#include "qa/utf8.h"

namespace concur::annotation {
namespace {

using Json = nlohmann::ordered_json;
using page::HttpExchange;
using page::HttpRequest;
using page::HttpResponse;

constexpr char kApi[] = "/api/v1/";
constexpr char kJsonType[] = "application/json";
constexpr size_t kCodeBytes = 32;
// A question of kQuestionBytesMax with every byte escaped takes a tenth of it.
constexpr size_t kBodyBytesMax = size_t{64} << 10;

HttpResponse ErrorOf(const absl::Status& status) {
  return {page::HttpStatusOf(status), kJsonType, page::ErrorJson(status)};
}

void Respond(const std::shared_ptr<HttpExchange>& exchange, HttpResponse response) {
  exchange->Answer(page::Secured(std::move(response)));
}

void Respond(const std::shared_ptr<HttpExchange>& exchange,
             const absl::StatusOr<std::string>& json) {
  Respond(exchange, json.ok() ? HttpResponse{200, kJsonType, *json} : ErrorOf(json.status()));
}

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// A request's body: an object whose fields have the right types.
class Body {
 public:
  static absl::StatusOr<Body> Parse(const std::string& text) {
    Body body;
    body.json_ = std::make_unique<Json>(Json::parse(text, nullptr, /*allow_exceptions=*/false));
    return body.json_->is_object() ? absl::StatusOr<Body>(std::move(body))
                                   : absl::InvalidArgumentError("expected a JSON object in UTF-8");
  }

  absl::StatusOr<std::string> Text(const char* name) const {
    const auto found = json_->find(name);
    return found != json_->end() && found->is_string()
               ? absl::StatusOr<std::string>(found->get<std::string>())
               : absl::InvalidArgumentError(absl::StrCat(name, ": expected text"));
  }
  absl::StatusOr<int64_t> Integer(const char* name) const {
    const auto found = json_->find(name);
    return found != json_->end() && found->is_number_integer()
               ? absl::StatusOr<int64_t>(found->get<int64_t>())
               : absl::InvalidArgumentError(absl::StrCat(name, ": expected an integer"));
  }
  bool IsTrue(const char* name) const {
    const auto found = json_->find(name);
    return found != json_->end() && found->is_boolean() && found->get<bool>();
  }
  // Code points [begin, end) of `passage` as bytes.
  absl::StatusOr<qa::Span> SpanIn(const std::string& passage) const {
    CONCUR_ASSIGN_OR_RETURN(const int64_t begin, Integer("begin"));
    CONCUR_ASSIGN_OR_RETURN(const int64_t end, Integer("end"));
    const qa::CodePointMap map(passage);
    if (begin < 0 || begin > end || end > map.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("end: expected a part of the passage's ", map.size(), " characters"));
    }
    return qa::Span{map.ByteOf(begin), map.ByteOf(end)};
  }

 private:
  std::unique_ptr<Json> json_;  // moved without an exception
};

Json PassageJson(const SourcePassage& passage) {
  return {{"id", passage.id}, {"title", passage.title}, {"text", passage.text}};
}

std::string ValidationJson(const Attempt& attempt, const Validation& validation,
                           const std::string& passage) {
  return Dump({{"saved", true},
               {"agrees", validation.agrees},
               {"author_answer", std::string(qa::TextOf(passage, attempt.answer))}});
}

std::string KnownJson(const KnownQuestion& known, const Annotator& annotator) {
  return Dump({{"saved", true},
               {"answers", known.answers},
               {"onboarded", annotator.onboarded},
               {"again", !annotator.onboarded && annotator.onboarding_f1.empty()}});
}

Json Share(int64_t part, int64_t all) {
  return all == 0 ? Json() : Json(static_cast<double>(part) / static_cast<double>(all));
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
    Clock& clock, std::unique_ptr<LiveRoom> room, std::unique_ptr<System> system,
    ServerOptions options) {
  CONCUR_ASSIGN_OR_RETURN(http::Listener listener, ListenOn(options.listen));
  CONCUR_ASSIGN_OR_RETURN(std::string key, page::EnsurePageKey(options.key_path));
  std::unique_ptr<AnnotationServer> server(
      new AnnotationServer(clock, std::move(room), std::move(system), std::move(options),
                           std::move(key), listener.endpoint));
  page::HttpLimits limits;
  limits.body_bytes_max = kBodyBytesMax;
  CONCUR_ASSIGN_OR_RETURN(server->http_,
                          page::HttpServer::Start(std::move(listener), limits,
                                                  [self = server.get()](const Exchange& exchange) {
                                                    self->Handle(exchange);
                                                  }));
  return server;
}

AnnotationServer::AnnotationServer(Clock& clock, std::unique_ptr<LiveRoom> room,
                                   std::unique_ptr<System> system, ServerOptions options,
                                   std::string key, const http::Endpoint& endpoint)
    : clock_(clock),
      room_(std::move(room)),
      system_(std::move(system)),
      options_(std::move(options)),
      address_(absl::StrCat("http://", endpoint.ToString(), "/")),
      // Of the port: rooms on one machine must not replace each other's cookies.
      cookie_name_(absl::StrCat("concur_annotation_", endpoint.port)),
      sealer_(std::move(key)),
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

absl::StatusOr<std::string> AnnotationServer::MakeLink(const std::string& annotator) {
  absl::Status status;
  const std::string code = page::RandomText(kCodeBytes);
  absl::Notification done;
  room_thread_.Submit([&] {
    Event event;
    event.kind = EventKind::kAnnotator;
    event.time = Now();
    event.annotator = annotator;
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
  if (const absl::Status status = page::CheckHost(request.host); !status.ok()) {
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
  if (const absl::Status status = page::CheckOrigin(request); !status.ok()) {
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
    Respond(exchange, StateJson(*annotator));
  } else if (method == "task") {
    Respond(exchange, TakeTask(*annotator, request.body));
  } else if (method == "attempt") {
    TakeAttempt(exchange, *annotator);
  } else if (method == "validation") {
    Respond(exchange, TakeValidation(*annotator, request.body));
  } else if (method == "onboarding") {
    Respond(exchange, TakeOnboarding(*annotator, request.body));
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
  const absl::StatusOr<Body> body = Body::Parse(request.body);
  const absl::StatusOr<std::string> code =
      body.ok() ? body->Text("code") : absl::StatusOr<std::string>(body.status());
  if (!code.ok()) {
    return ErrorOf(code.status());
  }
  Event event;
  event.kind = EventKind::kLogin;
  event.time = Now();
  event.code_digest = Sha256Of(*code).ToHex();
  for (const auto& [name, annotator] : room_->room().annotators()) {
    if (annotator.code_digest == event.code_digest) {
      event.annotator = name;
    }
  }
  if (event.annotator.empty()) {
    return ErrorOf(absl::UnauthenticatedError(
        "this link was used, or replaced by another; ask for a new one"));
  }
  if (const absl::Status saved = Save(event); !saved.ok()) {
    return ErrorOf(saved);
  }
  const int64_t links = room_->room().annotators().at(event.annotator).links;
  const std::string cookie =
      sealer_.Seal(absl::StrCat(event.annotator, "\n", links), clock_.Now() + options_.session);
  HttpResponse response = {200, kJsonType,
                           Dump({{"user", event.annotator}, {"csrf", sealer_.CsrfOf(cookie)}})};
  response.headers.emplace_back("Set-Cookie", SessionCookie(cookie, options_.session));
  return response;
}

absl::StatusOr<std::string> AnnotationServer::AnnotatorOf(const HttpRequest& request) const {
  const std::string cookie = page::CookieValue(request.cookies, cookie_name_);
  CONCUR_ASSIGN_OR_RETURN(const std::string token, sealer_.Open(cookie, clock_.Now()));
  if (!page::SameSecret(request.csrf, sealer_.CsrfOf(cookie))) {
    return absl::PermissionDeniedError("X-Concur-CSRF: expected the value given at login");
  }
  const std::vector<std::string> parts = absl::StrSplit(token, '\n');
  const auto found = room_->room().annotators().find(parts[0]);
  return found != room_->room().annotators().end() &&
                 token == absl::StrCat(found->first, "\n", found->second.links)
             ? absl::StatusOr<std::string>(found->first)
             : absl::UnauthenticatedError("the session has ended: a newer login link was made");
}

// --- what is asked -------------------------------------------------------------------------------

std::string AnnotationServer::StateJson(const std::string& name) const {
  const Room& room = room_->room();
  const Annotator& annotator = room.annotators().at(name);
  const Progress& progress = room.progress();
  return Dump(
      {{"user", name},
       {"has_system", !room.system().empty()},
       {"onboarded", annotator.onboarded},
       {"f1_win_max", room.settings().f1_win_max},
       {"validators", room.settings().validators},
       {"question_bytes_max", kQuestionBytesMax},
       {"mine",
        {{"attempts", annotator.attempts},
         {"wins", annotator.wins},
         {"kept", annotator.kept},
         {"dropped", annotator.dropped},
         {"agreement", Share(annotator.agreements_received, annotator.validations_received)},
         {"validations", annotator.validations},
         {"validator_agreement", Share(annotator.agreements, annotator.validations)}}},
       {"all",
        {{"passages", progress.passages},
         {"passages_done", progress.passages_done},
         {"attempts", progress.attempts},
         {"system_won", progress.system_won},
         {"waiting", progress.waiting},
         {"kept", progress.kept},
         {"dropped", progress.dropped},
         {"agreement", Share(progress.agreements, progress.validations)}}}});
}

std::string AnnotationServer::TaskJson(const Task& task) const {
  const Room& room = room_->room();
  switch (task.kind) {
    case TaskKind::kOnboarding: {
      const KnownQuestion& known = room.onboarding()[static_cast<size_t>(task.number)];
      return Dump({{"kind", "onboarding"},
                   {"number", task.number},
                   {"of", room.onboarding().size()},
                   {"question", known.question},
                   {"passage", PassageJson(known.passage)}});
    }
    case TaskKind::kValidating:
      // Neither who asked nor what was answered: the validator is to find the answer.
      return Dump({{"kind", "validating"},
                   {"number", task.number},
                   {"question", room.attempts()[static_cast<size_t>(task.number - 1)].question},
                   {"passage", PassageJson(room.passages()[task.passage])}});
    case TaskKind::kWriting:
      return Dump({{"kind", "writing"}, {"passage", PassageJson(room.passages()[task.passage])}});
  }
  return "{}";
}

absl::StatusOr<std::string> AnnotationServer::TakeTask(const std::string& annotator,
                                                       const std::string& text) {
  CONCUR_ASSIGN_OR_RETURN(const Body body, Body::Parse(text));
  CONCUR_ASSIGN_OR_RETURN(const std::string kind, body.Text("kind"));
  if (kind != "writing" && kind != "validating") {
    return absl::InvalidArgumentError(R"(kind: expected "writing" or "validating")");
  }
  const absl::Time now = Now();
  CONCUR_ASSIGN_OR_RETURN(
      const Task task,
      room_->room().NextTask(annotator,
                             kind == "writing" ? TaskKind::kWriting : TaskKind::kValidating,
                             body.IsTrue("skip"), now));
  if (!room_->room().HasTask(annotator, task, now)) {
    Event event;
    event.kind = EventKind::kAssignment;
    event.time = now;
    event.annotator = annotator;
    event.passage = room_->room().passages()[task.passage].id;
    event.number = task.number;
    CONCUR_RETURN_IF_ERROR(Save(event));
  }
  return TaskJson(task);
}

std::string AnnotationServer::AttemptJson(const Attempt& attempt) const {
  Json json = {{"saved", true},
               {"number", attempt.number},
               {"winner", attempt.state == QuestionState::kSystemWon ? "system" : "person"}};
  if (!attempt.system.empty()) {
    json["system_answer"] = attempt.system_answer;
    json["f1"] = attempt.f1;
  }
  return Dump(json);
}

void AnnotationServer::TakeAttempt(const Exchange& exchange, const std::string& annotator) {
  const Room& room = room_->room();
  Event event;
  event.kind = EventKind::kAttempt;
  event.time = Now();
  event.annotator = annotator;
  event.system = room.system();
  const SourcePassage* passage = nullptr;
  const auto read = [&]() -> absl::Status {
    CONCUR_ASSIGN_OR_RETURN(const Body body, Body::Parse(exchange->request().body));
    CONCUR_ASSIGN_OR_RETURN(event.key, body.Text("key"));
    CONCUR_ASSIGN_OR_RETURN(event.passage, body.Text("passage"));
    CONCUR_ASSIGN_OR_RETURN(event.question, body.Text("question"));
    CONCUR_ASSIGN_OR_RETURN(passage, room.FindPassage(event.passage));
    CONCUR_ASSIGN_OR_RETURN(event.answer, body.SpanIn(passage->text));
    return absl::OkStatus();
  };
  absl::Status status = read();
  if (status.ok()) {
    // Sent again, since its answer was lost: the answer is given again.
    if (const Attempt* saved = room.FindAttempt(annotator, event.key)) {
      Respond(exchange, AttemptJson(*saved));
      return;
    }
    status = room.Check(event);
  }
  if (status.ok() && being_answered_.contains(annotator)) {
    status = absl::ResourceExhaustedError("your last question is being answered; wait for it");
  }
  if (status.ok() && !event.system.empty()) {
    status = Renew(event);
  }
  if (!status.ok()) {
    Respond(exchange, ErrorOf(status));
  } else if (event.system.empty()) {
    SaveAttempt(exchange, std::move(event));
  } else {
    being_answered_.insert(annotator);
    AskSystem(exchange, event, passage->text);
  }
}

// The passage stays with its annotator while the system answers.
absl::Status AnnotationServer::Renew(const Event& attempt) {
  Event event;
  event.kind = EventKind::kAssignment;
  event.time = attempt.time;
  event.annotator = attempt.annotator;
  event.passage = attempt.passage;
  return Save(event);
}

void AnnotationServer::AskSystem(const Exchange& exchange, const Event& event,
                                 const std::string& passage) {
  system_thread_.Submit([this, exchange, event, passage] {
    absl::StatusOr<std::string> answer = is_stopping_
                                             ? absl::UnavailableError("the server is being stopped")
                                             : system_->Answer(passage, event.question);
    room_thread_.Submit([this, exchange, event = event, answer = std::move(answer)]() mutable {
      being_answered_.erase(event.annotator);
      if (!answer.ok()) {
        // What the system did, with paths of this machine, is for who runs it.
        LogWarning(answer.status().message(), {{"annotator", event.annotator}});
        Respond(exchange, ErrorOf(absl::UnavailableError(
                              "the system did not answer; submit the question again")));
        return;
      }
      event.system_answer = *std::move(answer);
      SaveAttempt(exchange, std::move(event));
    });
  });
}

absl::Status AnnotationServer::Save(const Event& event) {
  CONCUR_RETURN_IF_ERROR(room_->room().Check(event));
  absl::Status saved = room_->Commit(event);
  if (saved.ok()) {
    return saved;
  }
  LogError(saved.message(), {{"annotator", event.annotator}});
  return absl::UnavailableError("this cannot be saved now; tell who runs concur annotate");
}

void AnnotationServer::SaveAttempt(const Exchange& exchange, Event event) {
  event.time = Now();
  const absl::Status saved = Save(event);
  const Attempt* attempt = room_->room().FindAttempt(event.annotator, event.key);
  // The same one may have been saved meanwhile.
  if (!saved.ok() && !(absl::IsAlreadyExists(saved) && attempt != nullptr)) {
    Respond(exchange, ErrorOf(saved));
    return;
  }
  Respond(exchange, AttemptJson(*attempt));
}

absl::StatusOr<std::string> AnnotationServer::TakeValidation(const std::string& annotator,
                                                             const std::string& text) {
  const Room& room = room_->room();
  CONCUR_ASSIGN_OR_RETURN(const Body body, Body::Parse(text));
  Event event;
  event.kind = EventKind::kValidation;
  event.time = Now();
  event.annotator = annotator;
  CONCUR_ASSIGN_OR_RETURN(event.number, body.Integer("number"));
  if (event.number < 1 || static_cast<uint64_t>(event.number) > room.attempts().size()) {
    return absl::NotFoundError("number: there is no such question");
  }
  const Attempt& attempt = room.attempts()[static_cast<size_t>(event.number - 1)];
  const SourcePassage& passage = room.passages()[attempt.passage];
  if (!body.IsTrue("unanswerable")) {
    CONCUR_ASSIGN_OR_RETURN(event.answer, body.SpanIn(passage.text));
  }
  // Sent again, since its answer was lost.
  for (const Validation& saved : attempt.validations) {
    if (saved.annotator == annotator && saved.answer == event.answer) {
      return ValidationJson(attempt, saved, passage.text);
    }
  }
  CONCUR_RETURN_IF_ERROR(Save(event));
  return ValidationJson(attempt, attempt.validations.back(), passage.text);
}

absl::StatusOr<std::string> AnnotationServer::TakeOnboarding(const std::string& annotator,
                                                             const std::string& text) {
  const Room& room = room_->room();
  CONCUR_ASSIGN_OR_RETURN(const Body body, Body::Parse(text));
  Event event;
  event.kind = EventKind::kOnboarding;
  event.time = Now();
  event.annotator = annotator;
  CONCUR_ASSIGN_OR_RETURN(event.number, body.Integer("number"));
  if (event.number < 0 || static_cast<uint64_t>(event.number) >= room.onboarding().size()) {
    return absl::NotFoundError("number: there is no such question");
  }
  const KnownQuestion& known = room.onboarding()[static_cast<size_t>(event.number)];
  CONCUR_ASSIGN_OR_RETURN(event.answer, body.SpanIn(known.passage.text));
  const Annotator& known_annotator = room.annotators().at(annotator);
  const absl::Status saved = Save(event);
  // Sent again, since its answer was lost.
  const bool was_saved =
      known_annotator.known_number == event.number && event.answer == known_annotator.known_answer;
  return saved.ok() || was_saved ? absl::StatusOr<std::string>(KnownJson(known, known_annotator))
                                 : saved;
}

}  // namespace concur::annotation
