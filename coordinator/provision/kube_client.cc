// SPDX-License-Identifier: Apache-2.0
#include "coordinator/provision/kube_client.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/check.h"
#include "base/status_macros.h"

namespace concur::provision {
namespace {

constexpr absl::Duration kCallTimeout = absl::Seconds(20);
constexpr absl::Duration kConnectTimeout = absl::Seconds(5);
constexpr int64_t kAnswerBytesMax = int64_t{256} << 20;  // a list of all pilots and their pods
constexpr int64_t kLineBytesMax = int64_t{4} << 20;      // one event
constexpr int64_t kErrorBytesMax = int64_t{64} << 10;
constexpr int64_t kPieceBytes = int64_t{64} << 10;
constexpr size_t kMessageBytesMax = 1000;

constexpr KubeRight kRights[] = {
    {KubeVerb::kCreateJob, "batch", "jobs", "create"},
    {KubeVerb::kDeleteJob, "batch", "jobs", "delete"},
    {KubeVerb::kListJobs, "batch", "jobs", "list"},
    {KubeVerb::kWatchJobs, "batch", "jobs", "watch"},
    {KubeVerb::kListPods, "", "pods", "list"},
    {KubeVerb::kWatchPods, "", "pods", "watch"},
    {KubeVerb::kListEvents, "", "events", "list"},
    {KubeVerb::kCreateSecret, "", "secrets", "create"},
};

const KubeRight& RightOf(KubeVerb verb) {
  for (const KubeRight& right : kRights) {
    if (right.verb == verb) {
      return right;
    }
  }
  CONCUR_CHECK(false);
}

// The server's own message: that of a Status object, or else the first line.
std::string MessageOf(const std::string& body) {
  const auto json = nlohmann::json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (json.is_object() && json.contains("message") && json["message"].is_string()) {
    return json["message"].get<std::string>().substr(0, kMessageBytesMax);
  }
  return body.substr(0, std::min<size_t>(body.find('\n'), 200));
}

absl::Status StatusOf(int code, const KubeRight& right, const KubeConfig& config,
                      const std::string& body) {
  const std::string said = MessageOf(body);
  const std::string message = absl::StrCat("kubernetes: ", config.server, " answers ", code,
                                           said.empty() ? "" : ": ", said);
  switch (code) {
    case 400:
    case 405:
    case 415:
    case 422:
      return absl::InvalidArgumentError(message);
    case 401:
      return absl::UnauthenticatedError(absl::StrCat(message, "; the token of ", config.origin,
                                                     " is wrong or expired: renew it"));
    case 403:
      if (absl::StrContains(said, "exceeded quota")) {
        return absl::ResourceExhaustedError(message);
      }
      return absl::PermissionDeniedError(absl::StrCat(message, "; the role of ", config.origin,
                                                      " must have the verb ", right.name, " on ",
                                                      right.resource, " (k8s/base/rbac.yaml)"));
    case 404:
      return absl::NotFoundError(message);
    case 409:
      return absl::AlreadyExistsError(message);
    case 410:
      return absl::OutOfRangeError(message);
    case 429:
      return absl::ResourceExhaustedError(message);
    default:
      return absl::UnavailableError(message);
  }
}

absl::Status AnswerTooLong() {
  return absl::ResourceExhaustedError("kubernetes: the server's answer is too long");
}

http::ClientOptions HttpOptions(const KubeConfig& config) {
  http::ClientOptions options;
  options.connect_timeout = kConnectTimeout;
  options.ca_pem = config.ca_pem;
  options.certificate_pem = config.certificate_pem;
  options.key_pem = config.key_pem;
  options.verify_server = !config.insecure_skip_verify;
  return options;
}

}  // namespace

absl::Span<const KubeRight> KubeRights() { return kRights; }

KubeClient::KubeClient(Clock& clock, KubeConfig config)
    : config_(std::move(config)),
      http_(std::make_unique<http::Client>(clock, HttpOptions(config_))) {}

std::string KubeClient::Url(KubeVerb verb, const std::string& name_space, const std::string& name,
                            const std::string& query) const {
  const KubeRight& right = RightOf(verb);
  return absl::StrCat(config_.server, right.group.empty() ? "/api/v1" : "/apis/batch/v1",
                      "/namespaces/", name_space, "/", right.resource, name.empty() ? "" : "/",
                      name, query.empty() ? "" : "?", query);
}

absl::Status KubeClient::TransportError(const absl::Status& status, absl::string_view url) const {
  if (absl::IsCancelled(status)) {
    return absl::CancelledError("stopped");
  }
  absl::string_view reason = status.message();
  absl::ConsumePrefix(&reason, absl::StrCat(url, ": "));
  const std::string message =
      absl::StrCat("kubernetes: ", config_.server, " (from ", config_.origin, "): ", reason);
  return http::NothingSent(status) ? absl::FailedPreconditionError(message)
                                   : absl::DeadlineExceededError(message);
}

// Returns an answer of success (2xx).
absl::StatusOr<std::unique_ptr<http::Exchange>> KubeClient::Send(KubeVerb verb,
                                                                 http::Request request) const {
  CONCUR_ASSIGN_OR_RETURN(const std::string token, config_.CurrentToken());
  const KubeRight& right = RightOf(verb);
  request.method = right.name == "create" ? "POST" : right.name == "delete" ? "DELETE" : "GET";
  request.fresh_connection = request.method != "GET";
  request.headers = {"Content-Type: application/json"};
  if (!token.empty()) {
    request.headers.push_back(absl::StrCat("Authorization: Bearer ", token));
  }
  absl::StatusOr<std::unique_ptr<http::Exchange>> exchange = http_->Send(request);
  if (!exchange.ok()) {
    return TransportError(exchange.status(), request.url);
  }
  const int code = (*exchange)->code();
  if (code >= 200 && code < 300) {
    return exchange;
  }
  std::string said;
  (*exchange)->Read(kErrorBytesMax, &said).IgnoreError();  // the code counts without it
  return StatusOf(code, right, config_, said);
}

absl::StatusOr<std::string> KubeClient::Call(KubeVerb verb, const std::string& name_space,
                                             const std::string& name, const std::string& query,
                                             const std::string& body) const {
  const std::string url = Url(verb, name_space, name, query);
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<http::Exchange> exchange,
                          Send(verb, {.url = url, .body = body, .timeout = kCallTimeout}));
  std::string answer;
  for (size_t before = 1; before != answer.size();) {
    before = answer.size();
    if (const absl::Status status = exchange->Read(kPieceBytes, &answer); !status.ok()) {
      return TransportError(status, url);
    }
    if (static_cast<int64_t>(answer.size()) > kAnswerBytesMax) {
      return AnswerTooLong();
    }
  }
  return answer;
}

absl::Status KubeClient::Watch(
    KubeVerb verb, const std::string& name_space, const std::string& query,
    absl::Duration silence_max, http::Interrupt& interrupt,
    const std::function<absl::Status(absl::string_view)>& on_line) const {
  const std::string url = Url(verb, name_space, "", query);
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<http::Exchange> exchange,
                          Send(verb, {.url = url, .stall = silence_max, .interrupt = &interrupt}));
  std::string unread;  // a line that is not yet whole, then the bytes that came last
  for (;;) {
    const size_t before = unread.size();
    if (const absl::Status status = exchange->ReadSome(kPieceBytes, &unread); !status.ok()) {
      return TransportError(status, url);
    }
    if (unread.size() == before) {
      return absl::OkStatus();
    }
    size_t begin = 0;
    for (size_t end = unread.find('\n', before); end != unread.npos;
         end = unread.find('\n', begin)) {
      if (end > begin) {
        CONCUR_RETURN_IF_ERROR(on_line(absl::string_view(unread).substr(begin, end - begin)));
      }
      begin = end + 1;
    }
    unread.erase(0, begin);
    if (static_cast<int64_t>(unread.size()) > kLineBytesMax) {
      return AnswerTooLong();
    }
  }
}

}  // namespace concur::provision
