#include <curl/curl.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "fetch/transport.h"

namespace concur::fetch {
namespace {

constexpr long kRedirectsMax = 10;
constexpr long kConnectSeconds = 30;
constexpr int kPollMilliseconds = 100;  // how often a silent transfer is looked at

struct EasyDeleter {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct MultiDeleter {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};
using Easy = std::unique_ptr<CURL, EasyDeleter>;
using Multi = std::unique_ptr<CURLM, MultiDeleter>;

// A transfer while it runs.
struct Transfer {
  CURL* easy = nullptr;
  Clock& clock;
  int64_t offset = 0;
  const Transport::OnReply& on_reply;
  const Transport::OnBytes& on_bytes;
  bool replied = false;
  absl::Status status = absl::OkStatus();  // of the callbacks
  absl::Time heard;                        // when the last byte came
};

long ResponseCode(CURL* easy) {
  long code = 0;
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &code);
  return code;
}

absl::Status StatusOfCode(long code, absl::string_view url) {
  const std::string message = absl::StrCat(url, ": the server answers ", code);
  switch (code) {
    case 200:
    case 206:
      return absl::OkStatus();
    case 401:
    case 403:
      return absl::PermissionDeniedError(message);
    case 404:
    case 410:
      return absl::NotFoundError(message);
    case 416:
      return absl::OutOfRangeError(message);
    case 408:
    case 425:
    case 429:
      return absl::UnavailableError(message);
    default:
      return code >= 500 ? absl::UnavailableError(message) : absl::FailedPreconditionError(message);
  }
}

absl::Status StatusOfCurl(CURLcode code, const char* detail, absl::string_view url) {
  const std::string message =
      absl::StrCat(url, ": ", detail[0] == '\0' ? curl_easy_strerror(code) : detail);
  switch (code) {
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
      return absl::InvalidArgumentError(message);
    case CURLE_TOO_MANY_REDIRECTS:
    case CURLE_PEER_FAILED_VERIFICATION:
      return absl::FailedPreconditionError(message);
    default:
      return absl::UnavailableError(message);
  }
}

// Tells of the reply before the first byte, or at the end of an empty one.
void TellReply(Transfer& transfer) {
  if (transfer.replied || !transfer.status.ok()) {
    return;
  }
  transfer.replied = true;
  curl_off_t bytes = -1;
  curl_easy_getinfo(transfer.easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &bytes);
  transfer.status = transfer.on_reply({ResponseCode(transfer.easy) == 206, bytes});
}

// Bodies of errors are read and forgotten.
size_t TakeBytes(char* data, size_t size, size_t count, void* user) {
  Transfer& transfer = *static_cast<Transfer*>(user);
  const size_t bytes = size * count;
  transfer.heard = transfer.clock.Now();
  const long code = ResponseCode(transfer.easy);
  if (code != 200 && code != 206) {
    return bytes;
  }
  TellReply(transfer);
  if (transfer.status.ok()) {
    transfer.status = transfer.on_bytes({data, bytes});
  }
  return transfer.status.ok() ? bytes : CURL_WRITEFUNC_ERROR;
}

class CurlTransport : public Transport {
 public:
  CurlTransport(Clock& clock, absl::Duration stall) : clock_(clock), stall_(stall) {
    static std::once_flag once;
    std::call_once(once, [] { CONCUR_CHECK(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK); });
  }

  absl::Status Get(const std::string& url, int64_t offset, const OnReply& on_reply,
                   const OnBytes& on_bytes) override {
    const Multi multi(curl_multi_init());
    const Easy easy(curl_easy_init());
    if (multi == nullptr || easy == nullptr) {
      return absl::ResourceExhaustedError(absl::StrCat(url, ": out of memory"));
    }
    char detail[CURL_ERROR_SIZE] = "";
    Transfer transfer{.easy = easy.get(),
                      .clock = clock_,
                      .offset = offset,
                      .on_reply = on_reply,
                      .on_bytes = on_bytes,
                      .heard = clock_.Now()};
    SetOptions(url, detail, transfer);
    curl_multi_add_handle(multi.get(), easy.get());
    const absl::Status status = Run(multi.get(), transfer, url, detail);
    curl_multi_remove_handle(multi.get(), easy.get());
    return status;
  }

 private:
  static void SetOptions(const std::string& url, char* detail, Transfer& transfer) {
    CURL* const easy = transfer.easy;
    curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(easy, CURLOPT_MAXREDIRS, kRedirectsMax);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "concur");
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, detail);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, TakeBytes);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &transfer);
    if (transfer.offset > 0) {
      curl_easy_setopt(easy, CURLOPT_RANGE, absl::StrCat(transfer.offset, "-").c_str());
    }
  }

  absl::Status Run(CURLM* multi, Transfer& transfer, const std::string& url, const char* detail) {
    int running = 1;
    while (running > 0) {
      if (curl_multi_perform(multi, &running) != CURLM_OK) {
        return absl::UnavailableError(absl::StrCat(url, ": the transfer failed"));
      }
      if (running > 0) {
        curl_multi_poll(multi, nullptr, 0, kPollMilliseconds, nullptr);
        if (clock_.Now() - transfer.heard > stall_) {
          return absl::UnavailableError(
              absl::StrCat(url, ": nothing came for ", absl::FormatDuration(stall_)));
        }
      }
    }
    int left = 0;
    const CURLMsg* const message = curl_multi_info_read(multi, &left);
    CONCUR_CHECK(message != nullptr && message->msg == CURLMSG_DONE);
    CONCUR_RETURN_IF_ERROR(transfer.status);
    if (message->data.result != CURLE_OK) {
      return StatusOfCurl(message->data.result, detail, url);
    }
    CONCUR_RETURN_IF_ERROR(StatusOfCode(ResponseCode(transfer.easy), url));
    TellReply(transfer);
    return transfer.status;
  }

  Clock& clock_;
  const absl::Duration stall_;
};

}  // namespace

std::unique_ptr<Transport> MakeCurlTransport(Clock& clock, absl::Duration stall) {
  return std::make_unique<CurlTransport>(clock, stall);
}

}  // namespace concur::fetch
