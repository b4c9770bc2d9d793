// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
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

class CurlTransport : public Transport {
 public:
  CurlTransport(Clock& clock, absl::Duration stall) : client_(clock, {.stall = stall}) {}

  absl::Status Get(const std::string& url, int64_t offset, const OnReply& on_reply,
                   const OnBytes& on_bytes) override {
    CONCUR_ASSIGN_OR_RETURN(
        const auto exchange,
        client_.Send({.url = url, .offset = offset, .redirects_max = kRedirectsMax}));
    CONCUR_RETURN_IF_ERROR(StatusOfCode(exchange->code(), url));
    CONCUR_RETURN_IF_ERROR(on_reply({exchange->code() == 206, exchange->bytes()}));
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
