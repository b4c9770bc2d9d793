// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "fetch/transport.h"
#include "http/client.h"

namespace concur::fetch {
namespace {

constexpr int kRedirectsMax = 10;
constexpr int64_t kPieceBytes = int64_t{1} << 18;

absl::Status StatusOfCode(int code, absl::string_view url) {
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

// What an answer says that names the version of its file (RFC 9110, 13.1.5: weak ETags do not).
std::string VersionOf(const http::Exchange& exchange) {
  const std::string etag = exchange.Header("ETag");
  return !etag.empty() && !absl::StartsWith(etag, "W/") ? etag : exchange.Header("Last-Modified");
}

class CurlTransport : public Transport {
 public:
  CurlTransport(Clock& clock, absl::Duration stall) : client_(clock, {.stall = stall}) {}

  absl::Status Get(const std::string& url, int64_t offset, const std::string& version,
                   const OnReply& on_reply, const OnBytes& on_bytes) override {
    http::Request request{.url = url, .offset = offset, .redirects_max = kRedirectsMax};
    if (offset > 0 && !version.empty()) {
      request.headers.push_back(absl::StrCat("If-Range: ", version));
    }
    CONCUR_ASSIGN_OR_RETURN(const auto exchange, client_.Send(request));
    CONCUR_RETURN_IF_ERROR(StatusOfCode(exchange->code(), url));
    const bool from_offset = exchange->code() == 206;
    const std::string range = exchange->Header("Content-Range");
    if (from_offset && !absl::StartsWith(range, absl::StrCat("bytes ", offset, "-"))) {
      return absl::OutOfRangeError(absl::StrCat(url, ": expected bytes from ", offset,
                                                " on, got Content-Range \"",
                                                absl::Utf8SafeCEscape(range.substr(0, 100)), "\""));
    }
    CONCUR_RETURN_IF_ERROR(on_reply({from_offset, exchange->bytes(), VersionOf(*exchange)}));
    std::string piece;
    for (;;) {
      piece.clear();
      CONCUR_RETURN_IF_ERROR(exchange->Read(kPieceBytes, &piece));
      if (piece.empty()) {
        return absl::OkStatus();
      }
      CONCUR_RETURN_IF_ERROR(on_bytes(piece));
    }
  }

 private:
  http::Client client_;
};

}  // namespace

std::unique_ptr<Transport> MakeCurlTransport(Clock& clock, absl::Duration stall) {
  return std::make_unique<CurlTransport>(clock, stall);
}

}  // namespace concur::fetch
