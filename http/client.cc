#include "http/client.h"

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
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/mutex.h"
#include "base/status_macros.h"

namespace concur::http {
namespace {

constexpr long kConnectSeconds = 30;
constexpr int kPollMilliseconds = 100;              // how often a silent transfer is looked at
constexpr size_t kAheadBytesMax = size_t{1} << 20;  // that came before they were asked for
constexpr long kReceiveBytes = 256L * 1024;         // at a time
constexpr long kSendBytes = 1024L * 1024;
constexpr size_t kIdleMax = 16;  // connections kept

struct EasyDeleter {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct MultiDeleter {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};
struct ListDeleter {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

// A multi handle keeps the connections of what ran on it.
struct Handles {
  std::unique_ptr<CURLM, MultiDeleter> multi;
  std::unique_ptr<CURL, EasyDeleter> easy;
};

// Children of this process are not to inherit connections.
curl_socket_t OpenSocket(void* /*user*/, curlsocktype /*purpose*/, curl_sockaddr* address) {
  return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

absl::Status StatusOf(CURLcode code, const char* detail, absl::string_view url) {
  const std::string message =
      absl::StrCat(url, ": ", detail[0] == '\0' ? curl_easy_strerror(code) : detail);
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

}  // namespace

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

// A request under way. At its address until its end: libcurl points to it.
struct Exchange::Transfer {
  Clock& clock;
  const absl::Duration stall;
  Client::Pool& pool;
  std::string url;
  Handles handles;
  std::unique_ptr<curl_slist, ListDeleter> headers = nullptr;
  char detail[CURL_ERROR_SIZE] = "";
  std::string ahead = {};       // came before it was asked for
  size_t ahead_taken = 0;       // of those
  std::string* sink = nullptr;  // where bytes go while somebody asks for them
  size_t sink_bytes_max = 0;
  bool paused = false;
  bool ended = false;
  absl::Status status = absl::OkStatus();  // of the end
  absl::Time heard = {};
  curl_off_t moved = 0;  // bytes, when something was last heard

  Transfer(Clock& c, absl::Duration s, Client::Pool& p, std::string u)
      : clock(c), stall(s), pool(p), url(std::move(u)), handles(p.Take()) {}
  ~Transfer() {
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

  // Lets libcurl work until something changes that the callers wait for; sets `ended`.
  void Step() {
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
      End(message->data.result == CURLE_OK ? absl::OkStatus()
                                           : StatusOf(message->data.result, detail, url));
    }
  }
  void End(absl::Status how) {
    ended = true;
    status = std::move(how);
  }
  void Wait() {
    curl_multi_poll(handles.multi.get(), nullptr, 0, kPollMilliseconds, nullptr);
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
  // Until `is_enough` or the end. What the caller did since the last call is not the server's
  // silence.
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
  Transfer& transfer = *transfer_;
  const size_t before = data->size();
  const size_t wanted = before + static_cast<size_t>(bytes_max);
  const size_t there =
      std::min(transfer.ahead.size() - transfer.ahead_taken, static_cast<size_t>(bytes_max));
  data->append(transfer.ahead, transfer.ahead_taken, there);
  transfer.ahead_taken += there;
  if (transfer.ahead_taken == transfer.ahead.size()) {
    transfer.ahead.clear();
    transfer.ahead_taken = 0;
  }
  transfer.sink = data;
  transfer.sink_bytes_max = wanted;
  transfer.RunUntil([&transfer] { return !transfer.Wants(); });
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
  if (request.method == "PUT" || request.method == "POST") {
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request.body.size()));
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request.body.empty() ? "" : request.body.data());
    curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, kSendBytes);
    // Large bodies are announced, and servers that do not answer that are not waited for.
    curl_easy_setopt(easy, CURLOPT_EXPECT_100_TIMEOUT_MS, 1L);
  }
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
  auto owned = std::make_unique<Exchange::Transfer>(clock_, options_.stall, *pool_, request.url);
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
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_USERAGENT, "concur");
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer.detail);
  curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, kReceiveBytes);
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, OpenSocket);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &Exchange::Transfer::OnBytes);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &transfer);
  if (!options_.ca_file.empty()) {
    curl_easy_setopt(easy, CURLOPT_CAINFO, options_.ca_file.c_str());
  }
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
  // libcurl keeps the bodies of redirects that it follows to itself: bytes are the answer's.
  transfer.RunUntil([&transfer] { return !transfer.ahead.empty(); });
  if (transfer.ahead.empty()) {
    CONCUR_RETURN_IF_ERROR(transfer.status);
  }
  return std::unique_ptr<Exchange>(new Exchange(std::move(owned)));
}

}  // namespace concur::http
