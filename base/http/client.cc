// SPDX-License-Identifier: Apache-2.0
#include "base/http/client.h"

#include <curl/curl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/mutex.h"
#include "base/status_macros.h"

namespace concur::http {
namespace {

// Interval at which a transfer without traffic is checked for a stall.
constexpr absl::Duration kPollMin = absl::Milliseconds(100);
constexpr absl::Duration kPollMax = absl::Seconds(1);
constexpr size_t kAheadBytesMax = size_t{1} << 20;  // received before the caller reads them
constexpr long kReceiveBytes = 256L * 1024;         // at a time
constexpr long kSendBytes = 1024L * 1024;
constexpr size_t kIdleMax = 16;  // connections kept
constexpr char kNothingSentPayload[] = "concur/http/nothing-sent";

struct EasyDeleter {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct MultiDeleter {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};
struct ListDeleter {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

// A multi handle keeps the connections of its transfers.
struct Handles {
  std::unique_ptr<CURLM, MultiDeleter> multi;
  std::unique_ptr<CURL, EasyDeleter> easy;
};

// Child processes must not inherit connections.
curl_socket_t OpenSocket(void* /*user*/, curlsocktype /*purpose*/, curl_sockaddr* address) {
  return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

bool IsBeforeSending(CURLcode code) {
  return code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL ||
         code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_CONNECT ||
         code == CURLE_SSL_CONNECT_ERROR || code == CURLE_PEER_FAILED_VERIFICATION ||
         code == CURLE_SSL_CACERT_BADFILE || code == CURLE_SSL_CERTPROBLEM;
}

absl::Status StatusOfCode(CURLcode code, const std::string& message) {
  switch (code) {
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
      return absl::InvalidArgumentError(message);
    case CURLE_TOO_MANY_REDIRECTS:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
      return absl::FailedPreconditionError(message);
    default:
      return absl::UnavailableError(message);
  }
}

absl::Status StatusOf(CURL* easy, CURLcode code, const char* detail, absl::string_view url) {
  absl::Status status = StatusOfCode(
      code, absl::StrCat(url, ": ", detail[0] == '\0' ? curl_easy_strerror(code) : detail));
  // After a redirect, the first server has had the request.
  long redirects = 0;
  curl_easy_getinfo(easy, CURLINFO_REDIRECT_COUNT, &redirects);
  if (IsBeforeSending(code) && redirects == 0) {
    status.SetPayload(kNothingSentPayload, absl::Cord());
  }
  return status;
}

}  // namespace

bool NothingSent(const absl::Status& status) {
  return status.GetPayload(kNothingSentPayload).has_value();
}

void Interrupt::Set() {
  MutexLock lock(mutex_);
  set_ = true;
  if (multi_ != nullptr) {
    curl_multi_wakeup(multi_);
  }
}

void Interrupt::Clear() {
  MutexLock lock(mutex_);
  set_ = false;
}

bool Interrupt::IsSet() {
  MutexLock lock(mutex_);
  return set_;
}

void Interrupt::Attach(void* multi) {
  MutexLock lock(mutex_);
  multi_ = multi;
}

// Connections that wait for the next request.
struct Client::Pool {
  Mutex mu;
  std::vector<Handles> idle ABSL_GUARDED_BY(mu);

  Handles Take() {
    {
      MutexLock lock(mu);
      if (!idle.empty()) {
        Handles handles = std::move(idle.back());
        idle.pop_back();
        curl_easy_reset(handles.easy.get());
        return handles;
      }
    }
    Handles handles;
    handles.multi.reset(curl_multi_init());
    handles.easy.reset(curl_easy_init());
    return handles;
  }
  void Give(Handles handles) {
    MutexLock lock(mu);
    if (idle.size() < kIdleMax) {
      idle.push_back(std::move(handles));
    }
  }
};

// A request in progress. It is never moved: libcurl has its address.
struct Exchange::Transfer {
  Clock& clock;
  const absl::Duration stall;
  Client::Pool& pool;
  std::string url;
  Interrupt* const interrupt;  // may be null
  Handles handles;
  std::unique_ptr<curl_slist, ListDeleter> headers = nullptr;
  char detail[CURL_ERROR_SIZE] = "";
  std::string ahead = {};       // received before the caller reads them
  size_t ahead_taken = 0;       // bytes of `ahead` that were read
  std::string* sink = nullptr;  // where bytes go during a Read
  size_t sink_bytes_max = 0;
  bool paused = false;
  bool ended = false;
  absl::Status status = absl::OkStatus();  // result at the end
  absl::Time heard = {};                   // when bytes were last transferred
  curl_off_t moved = 0;                    // bytes transferred by then

  Transfer(Clock& c, absl::Duration s, Client::Pool& p, const Request& request)
      : clock(c),
        stall(request.stall.value_or(s)),
        pool(p),
        url(request.url),
        interrupt(request.interrupt),
        handles(p.Take()) {
    if (interrupt != nullptr) {
      interrupt->Attach(handles.multi.get());
    }
  }
  ~Transfer() {
    if (interrupt != nullptr) {
      interrupt->Attach(nullptr);
    }
    if (handles.multi != nullptr && handles.easy != nullptr) {
      curl_multi_remove_handle(handles.multi.get(), handles.easy.get());
      pool.Give(std::move(handles));
    }
  }
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  bool Wants() const { return sink != nullptr && sink->size() < sink_bytes_max; }

  static size_t OnBytes(char* data, size_t size, size_t count, void* user) {
    Transfer& transfer = *static_cast<Transfer*>(user);
    absl::string_view bytes(data, size * count);
    if (transfer.ahead.size() - transfer.ahead_taken >= kAheadBytesMax) {
      transfer.paused = true;
      return CURL_WRITEFUNC_PAUSE;
    }
    if (transfer.Wants()) {
      const size_t room = transfer.sink_bytes_max - transfer.sink->size();
      const size_t taken = std::min(room, bytes.size());
      transfer.sink->append(bytes.data(), taken);
      bytes.remove_prefix(taken);
    }
    transfer.ahead.append(bytes.data(), bytes.size());
    return size * count;
  }

  // Lets libcurl do what can be done without waiting; sets `ended`.
  void Step() {
    if (interrupt != nullptr && interrupt->IsSet()) {
      End(absl::CancelledError(absl::StrCat(url, ": interrupted")));
      return;
    }
    int running = 0;
    if (paused) {
      paused = false;
      curl_easy_pause(handles.easy.get(), CURLPAUSE_CONT);
    }
    if (curl_multi_perform(handles.multi.get(), &running) != CURLM_OK) {
      End(absl::UnavailableError(absl::StrCat(url, ": the transfer failed")));
      return;
    }
    if (running == 0) {
      int left = 0;
      const CURLMsg* const message = curl_multi_info_read(handles.multi.get(), &left);
      CONCUR_CHECK(message != nullptr && message->msg == CURLMSG_DONE);
      End(message->data.result == CURLE_OK
              ? absl::OkStatus()
              : StatusOf(handles.easy.get(), message->data.result, detail, url));
    }
  }
  void End(absl::Status how) {
    ended = true;
    status = std::move(how);
  }
  void Wait() {
    const absl::Duration poll = std::clamp(stall / 200, kPollMin, kPollMax);
    curl_multi_poll(handles.multi.get(), nullptr, 0,
                    static_cast<int>(absl::ToInt64Milliseconds(poll)), nullptr);
    curl_off_t down = 0;
    curl_off_t up = 0;
    curl_easy_getinfo(handles.easy.get(), CURLINFO_SIZE_DOWNLOAD_T, &down);
    curl_easy_getinfo(handles.easy.get(), CURLINFO_SIZE_UPLOAD_T, &up);
    const absl::Time now = clock.Now();
    if (down + up != moved) {
      moved = down + up;
      heard = now;
    } else if (now - heard > stall) {
      End(absl::UnavailableError(
          absl::StrCat(url, ": nothing came for ", absl::FormatDuration(stall))));
    }
  }
  // Until `is_enough` or the end. Time that the caller spent since the last call does not count as
  // a stall.
  template <typename Condition>
  void RunUntil(Condition is_enough) {
    heard = clock.Now();
    while (!ended && !is_enough()) {
      Step();
      if (!ended && !is_enough()) {
        Wait();
      }
    }
  }
};

Exchange::Exchange(std::unique_ptr<Transfer> transfer) : transfer_(std::move(transfer)) {}
Exchange::~Exchange() = default;

int Exchange::code() const {
  long code = 0;
  curl_easy_getinfo(transfer_->handles.easy.get(), CURLINFO_RESPONSE_CODE, &code);
  return static_cast<int>(code);
}

int64_t Exchange::bytes() const {
  curl_off_t bytes = -1;
  curl_easy_getinfo(transfer_->handles.easy.get(), CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &bytes);
  return bytes;
}

std::string Exchange::Header(const std::string& name) const {
  curl_header* header = nullptr;
  const CURLHcode found = curl_easy_header(transfer_->handles.easy.get(), name.c_str(), 0,
                                           CURLH_HEADER, /*request=*/-1, &header);
  return found == CURLHE_OK ? header->value : "";
}

absl::Status Exchange::Read(int64_t bytes_max, std::string* data) {
  return Read(static_cast<size_t>(bytes_max), static_cast<size_t>(bytes_max), data);
}

absl::Status Exchange::ReadSome(int64_t bytes_max, std::string* data) {
  return Read(1, static_cast<size_t>(bytes_max), data);
}

absl::Status Exchange::Read(size_t bytes_min, size_t bytes_max, std::string* data) {
  Transfer& transfer = *transfer_;
  const size_t before = data->size();
  const size_t there = std::min(transfer.ahead.size() - transfer.ahead_taken, bytes_max);
  data->append(transfer.ahead, transfer.ahead_taken, there);
  transfer.ahead_taken += there;
  if (transfer.ahead_taken == transfer.ahead.size()) {
    transfer.ahead.clear();
    transfer.ahead_taken = 0;
  }
  transfer.sink = data;
  transfer.sink_bytes_max = before + bytes_max;
  transfer.RunUntil([=] { return data->size() >= before + bytes_min; });
  transfer.sink = nullptr;
  return data->size() > before ? absl::OkStatus() : transfer.status;
}

Client::Client(Clock& clock, ClientOptions options)
    : clock_(clock), options_(std::move(options)), pool_(std::make_unique<Pool>()) {
  static std::once_flag once;
  std::call_once(once, [] { CONCUR_CHECK(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK); });
}

Client::~Client() = default;

namespace {

void SetBody(CURL* easy, const Request& request) {
  if (request.method == "HEAD") {
    curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
  } else if (request.method != "GET") {
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  }
  if (request.method == "PUT" || request.method == "POST" || !request.body.empty()) {
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request.body.size()));
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request.body.empty() ? "" : request.body.data());
    curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, kSendBytes);
    // libcurl announces large bodies by "Expect: 100-continue"; do not wait for that answer.
    curl_easy_setopt(easy, CURLOPT_EXPECT_100_TIMEOUT_MS, 1L);
  }
}

void SetBlob(CURL* easy, CURLoption option, const std::string& pem) {
  if (!pem.empty()) {
    curl_blob blob{const_cast<char*>(pem.data()), pem.size(), CURL_BLOB_COPY};  // NOLINT
    curl_easy_setopt(easy, option, &blob);
  }
}

void SetTls(CURL* easy, const ClientOptions& options) {
  if (!options.ca_file.empty()) {
    curl_easy_setopt(easy, CURLOPT_CAINFO, options.ca_file.c_str());
  }
  SetBlob(easy, CURLOPT_CAINFO_BLOB, options.ca_pem);
  SetBlob(easy, CURLOPT_SSLCERT_BLOB, options.certificate_pem);
  SetBlob(easy, CURLOPT_SSLKEY_BLOB, options.key_pem);
  if (!options.certificate_pem.empty()) {
    curl_easy_setopt(easy, CURLOPT_SSLCERTTYPE, "PEM");
    curl_easy_setopt(easy, CURLOPT_SSLKEYTYPE, "PEM");
  }
  if (!options.verify_server) {
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
  }
}

void SetTimes(CURL* easy, const ClientOptions& options, absl::Duration timeout) {
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                   static_cast<long>(absl::ToInt64Milliseconds(options.connect_timeout)));
  if (timeout != absl::InfiniteDuration()) {
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS,
                     static_cast<long>(absl::ToInt64Milliseconds(timeout)));
  }
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, 20L);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, 10L);
}

void Sign(CURL* easy, const Signature& signature) {
  curl_easy_setopt(easy, CURLOPT_AWS_SIGV4,
                   absl::StrCat("aws:amz:", signature.region, ":", signature.service).c_str());
  // Not CURLOPT_USERPWD: keys of some servers have a colon.
  curl_easy_setopt(easy, CURLOPT_USERNAME, signature.access_key.c_str());
  curl_easy_setopt(easy, CURLOPT_PASSWORD, signature.secret_key.c_str());
}

}  // namespace

absl::StatusOr<std::unique_ptr<Exchange>> Client::Send(const Request& request) {
  auto owned = std::make_unique<Exchange::Transfer>(clock_, options_.stall, *pool_, request);
  Exchange::Transfer& transfer = *owned;
  CURL* const easy = transfer.handles.easy.get();
  if (easy == nullptr || transfer.handles.multi == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat(request.url, ": out of memory"));
  }
  curl_easy_setopt(easy, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, request.redirects_max > 0 ? 1L : 0L);
  curl_easy_setopt(easy, CURLOPT_MAXREDIRS, static_cast<long>(request.redirects_max));
  curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, request.fresh_connection ? 1L : 0L);
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_USERAGENT, "concur");
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer.detail);
  curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, kReceiveBytes);
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, OpenSocket);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &Exchange::Transfer::OnBytes);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &transfer);
  SetTls(easy, options_);
  SetTimes(easy, options_, request.timeout);
  for (const std::string& header : request.headers) {
    transfer.headers.reset(curl_slist_append(transfer.headers.release(), header.c_str()));
  }
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, transfer.headers.get());
  if (request.offset > 0) {
    curl_easy_setopt(easy, CURLOPT_RANGE, absl::StrCat(request.offset, "-").c_str());
  }
  SetBody(easy, request);
  if (request.signature.has_value()) {
    Sign(easy, *request.signature);
  }
  if (curl_multi_add_handle(transfer.handles.multi.get(), easy) != CURLM_OK) {
    return absl::ResourceExhaustedError(absl::StrCat(request.url, ": out of memory"));
  }
  // libcurl drops the bodies of redirects that it follows: these bytes are the answer's.
  transfer.RunUntil([&transfer] { return !transfer.ahead.empty(); });
  if (transfer.ahead.empty()) {
    CONCUR_RETURN_IF_ERROR(transfer.status);
  }
  return std::unique_ptr<Exchange>(new Exchange(std::move(owned)));
}

}  // namespace concur::http
