#include "provision/kube_client.h"

#include <curl/curl.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"

namespace concur::provision {
namespace {

constexpr absl::Duration kCallTimeout = absl::Seconds(20);
constexpr long kConnectSeconds = 5;
constexpr int kPollMilliseconds = 1000;                // a silent watch looks at its time so often
constexpr size_t kAnswerBytesMax = size_t{256} << 20;  // a list of all pilots and their pods
constexpr size_t kLineBytesMax = size_t{4} << 20;      // one event
constexpr size_t kErrorBytesMax = size_t{64} << 10;
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

// The server's own words: a Status object's message, or what there is.
std::string MessageOf(const std::string& body) {
  const auto json = nlohmann::json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (json.is_object() && json.contains("message") && json["message"].is_string()) {
    return json["message"].get<std::string>().substr(0, kMessageBytesMax);
  }
  return body.substr(0, std::min<size_t>(body.find('\n'), 200));
}

absl::Status StatusOf(long code, const KubeRight& right, const std::string& server,
                      const KubeConfig& config, const std::string& body) {
  const std::string said = MessageOf(body);
  const std::string message =
      absl::StrCat("kubernetes: ", server, " answers ", code, said.empty() ? "" : ": ", said);
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

// Whether the request cannot have reached the server.
bool NothingSent(CURLcode code) {
  return code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_CONNECT ||
         code == CURLE_SSL_CONNECT_ERROR || code == CURLE_PEER_FAILED_VERIFICATION ||
         code == CURLE_SSL_CACERT_BADFILE || code == CURLE_SSL_CERTPROBLEM;
}

struct EasyDeleter {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct MultiDeleter {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};
struct ListDeleter {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

void SetBlob(CURL* easy, CURLoption option, const std::string& pem) {
  if (!pem.empty()) {
    curl_blob blob{const_cast<char*>(pem.data()), pem.size(), CURL_BLOB_COPY};
    curl_easy_setopt(easy, option, &blob);
  }
}

void SetCredentials(CURL* easy, const KubeConfig& config) {
  SetBlob(easy, CURLOPT_CAINFO_BLOB, config.ca_pem);
  SetBlob(easy, CURLOPT_SSLCERT_BLOB, config.certificate_pem);
  SetBlob(easy, CURLOPT_SSLKEY_BLOB, config.key_pem);
  if (!config.certificate_pem.empty()) {
    curl_easy_setopt(easy, CURLOPT_SSLCERTTYPE, "PEM");
    curl_easy_setopt(easy, CURLOPT_SSLKEYTYPE, "PEM");
  }
  if (config.insecure_skip_verify) {
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
  }
}

}  // namespace

void KubeInterrupt::Set() {
  MutexLock lock(mutex_);
  set_ = true;
  if (multi_ != nullptr) {
    curl_multi_wakeup(multi_);
  }
}

void KubeInterrupt::Clear() {
  MutexLock lock(mutex_);
  set_ = false;
}

bool KubeInterrupt::IsSet() {
  MutexLock lock(mutex_);
  return set_;
}

void KubeInterrupt::Attach(void* multi) {
  MutexLock lock(mutex_);
  multi_ = multi;
}

absl::Span<const KubeRight> KubeRights() { return kRights; }

// One request and what comes back.
struct KubeClient::Exchange {
  CURL* easy = nullptr;
  std::string body;  // all of it, or of a watch the line that is not yet whole
  const std::function<absl::Status(absl::string_view)>* on_line = nullptr;
  KubeInterrupt* interrupt = nullptr;
  absl::Status status;  // of taking the bytes

  static CURLcode PerformUntil(KubeInterrupt& interrupt, CURL* easy);

  long Code() const {
    long code = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &code);
    return code;
  }

  void Take(absl::string_view bytes) {
    const bool is_lines = on_line != nullptr && Code() == 200;
    const size_t bytes_max = is_lines       ? kLineBytesMax
                             : Code() < 300 ? kAnswerBytesMax
                                            : kErrorBytesMax;
    while (is_lines && status.ok()) {
      const size_t end = bytes.find('\n');
      if (end == bytes.npos) {
        break;
      }
      body.append(bytes.data(), end);
      bytes.remove_prefix(end + 1);
      if (!body.empty()) {
        status = (*on_line)(body);
      }
      body.clear();
    }
    if (body.size() + bytes.size() > bytes_max) {
      if (Code() < 300) {
        status = absl::ResourceExhaustedError("kubernetes: the server's answer is too long");
      }
      return;
    }
    body.append(bytes.data(), bytes.size());
  }

  static size_t OnBytes(char* data, size_t size, size_t count, void* self) {
    auto& exchange = *static_cast<Exchange*>(self);
    exchange.Take({data, size * count});
    return exchange.status.ok() ? size * count : CURL_WRITEFUNC_ERROR;
  }
};

KubeClient::KubeClient(KubeConfig config) : config_(std::move(config)) {
  static std::once_flag once;
  std::call_once(once, [] { CONCUR_CHECK(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK); });
}

std::string KubeClient::Url(KubeVerb verb, const std::string& name_space, const std::string& name,
                            const std::string& query) const {
  const KubeRight& right = RightOf(verb);
  return absl::StrCat(config_.server, right.group.empty() ? "/api/v1" : "/apis/batch/v1",
                      "/namespaces/", name_space, "/", right.resource, name.empty() ? "" : "/",
                      name, query.empty() ? "" : "?", query);
}

// As curl_easy_perform; CURLE_ABORTED_BY_CALLBACK when it was interrupted.
CURLcode KubeClient::Exchange::PerformUntil(KubeInterrupt& interrupt, CURL* easy) {
  const std::unique_ptr<CURLM, MultiDeleter> multi(curl_multi_init());
  if (multi == nullptr || curl_multi_add_handle(multi.get(), easy) != CURLM_OK) {
    return CURLE_OUT_OF_MEMORY;
  }
  interrupt.Attach(multi.get());
  CURLcode code = CURLE_OK;
  for (int running = 1; running > 0;) {
    if (interrupt.IsSet()) {
      code = CURLE_ABORTED_BY_CALLBACK;
      break;
    }
    if (curl_multi_perform(multi.get(), &running) != CURLM_OK ||
        (running > 0 &&
         curl_multi_poll(multi.get(), nullptr, 0, kPollMilliseconds, nullptr) != CURLM_OK)) {
      code = CURLE_FAILED_INIT;
      break;
    }
  }
  interrupt.Attach(nullptr);
  int left = 0;
  if (const CURLMsg* message = curl_multi_info_read(multi.get(), &left);
      message != nullptr && code == CURLE_OK) {
    code = message->data.result;
  }
  curl_multi_remove_handle(multi.get(), easy);
  return code;
}

absl::Status KubeClient::Perform(KubeVerb verb, const std::string& url, const std::string& body,
                                 absl::Duration timeout, Exchange& exchange) const {
  CONCUR_ASSIGN_OR_RETURN(const std::string token, config_.CurrentToken());
  const std::unique_ptr<CURL, EasyDeleter> easy(curl_easy_init());
  if (easy == nullptr) {
    return absl::ResourceExhaustedError("kubernetes: out of memory");
  }
  exchange.easy = easy.get();
  const KubeRight& right = RightOf(verb);
  char detail[CURL_ERROR_SIZE] = "";
  std::unique_ptr<curl_slist, ListDeleter> headers(
      curl_slist_append(nullptr, "Content-Type: application/json"));
  if (!token.empty()) {
    headers.reset(curl_slist_append(headers.release(),
                                    absl::StrCat("Authorization: Bearer ", token).c_str()));
  }
  const auto set = [&easy](CURLoption option, auto value) {
    curl_easy_setopt(easy.get(), option, value);
  };
  set(CURLOPT_URL, url.c_str());
  set(CURLOPT_HTTPHEADER, headers.get());
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_ERRORBUFFER, detail);
  set(CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  set(CURLOPT_WRITEFUNCTION, &Exchange::OnBytes);
  set(CURLOPT_WRITEDATA, &exchange);
  set(CURLOPT_USERAGENT, "concur");
  set(CURLOPT_TCP_KEEPALIVE, 1L);
  set(CURLOPT_TCP_KEEPIDLE, 20L);
  set(CURLOPT_TCP_KEEPINTVL, 10L);
  if (exchange.on_line != nullptr) {
    set(CURLOPT_LOW_SPEED_LIMIT, 1L);
    set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(absl::ToInt64Seconds(timeout)));
  } else {
    set(CURLOPT_TIMEOUT_MS, static_cast<long>(absl::ToInt64Milliseconds(timeout)));
  }
  if (right.name == "create" || right.name == "delete") {
    set(CURLOPT_CUSTOMREQUEST, right.name == "create" ? "POST" : "DELETE");
    set(CURLOPT_POSTFIELDSIZE, static_cast<long>(body.size()));
    set(CURLOPT_POSTFIELDS, body.c_str());
  }
  SetCredentials(easy.get(), config_);
  const CURLcode code = exchange.interrupt == nullptr
                            ? curl_easy_perform(easy.get())
                            : Exchange::PerformUntil(*exchange.interrupt, easy.get());
  if (code == CURLE_ABORTED_BY_CALLBACK) {
    return absl::CancelledError("stopped");
  }
  CONCUR_RETURN_IF_ERROR(exchange.status);
  if (code != CURLE_OK) {
    const std::string message =
        absl::StrCat("kubernetes: ", config_.server, " (from ", config_.origin,
                     "): ", detail[0] == '\0' ? curl_easy_strerror(code) : detail);
    return NothingSent(code) ? absl::FailedPreconditionError(message)
                             : absl::DeadlineExceededError(message);
  }
  const long http = exchange.Code();
  return http >= 200 && http < 300 ? absl::OkStatus()
                                   : StatusOf(http, right, config_.server, config_, exchange.body);
}

absl::StatusOr<std::string> KubeClient::Call(KubeVerb verb, const std::string& name_space,
                                             const std::string& name, const std::string& query,
                                             const std::string& body) const {
  Exchange exchange;
  CONCUR_RETURN_IF_ERROR(
      Perform(verb, Url(verb, name_space, name, query), body, kCallTimeout, exchange));
  return std::move(exchange.body);
}

absl::Status KubeClient::Watch(
    KubeVerb verb, const std::string& name_space, const std::string& query,
    absl::Duration silence_max, KubeInterrupt& interrupt,
    const std::function<absl::Status(absl::string_view)>& on_line) const {
  Exchange exchange;
  exchange.on_line = &on_line;
  exchange.interrupt = &interrupt;
  return Perform(verb, Url(verb, name_space, "", query), "", silence_max, exchange);
}

}  // namespace concur::provision
