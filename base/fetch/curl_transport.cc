// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/fetch/transport.h"
#include "base/http/client.h"
#include "base/status_macros.h"

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

// Minimum time from a date of change to the answer to tell versions apart: a file may change
// twice in its second (RFC 9110, 8.8.2.2; a minute allows for two clocks that differ).
constexpr absl::Duration kDateAge = absl::Minutes(1);

std::optional<absl::Time> ParseDate(const std::string& text) {
  absl::Time time;
  std::string error;
  return absl::ParseTime("%a, %d %b %E4Y %H:%M:%S GMT", text, absl::UTCTimeZone(), &time, &error)
             ? std::make_optional(time)
             : std::nullopt;
}

// Value that may be sent as If-Range (RFC 9110, 13.1.5); a weak tag forbids the date, too.
std::string ValidatorOf(const http::Exchange& exchange) {
  std::string tag = exchange.Header("ETag");
  if (!tag.empty()) {
    return tag.size() >= 2 && tag.front() == '"' && tag.back() == '"' ? tag : "";
  }
  std::string changed = exchange.Header("Last-Modified");
  const std::optional<absl::Time> then = ParseDate(changed);
  const std::optional<absl::Time> now = ParseDate(exchange.Header("Date"));
  return then && now && *then + kDateAge <= *now ? changed : "";
}

// Content-Range, "bytes FIRST-LAST/TOTAL", where TOTAL may be "*".
struct ContentRange {
  int64_t first = 0;
  int64_t total = -1;
};
std::optional<ContentRange> ParseContentRange(absl::string_view text) {
  ContentRange range;
  int64_t last = 0;
  if (!absl::ConsumePrefix(&text, "bytes ")) {
    return std::nullopt;
  }
  const std::vector<absl::string_view> parts = absl::StrSplit(text, absl::ByAnyChar("-/"));
  if (parts.size() != 3 || !absl::SimpleAtoi(parts[0], &range.first) ||
      !absl::SimpleAtoi(parts[1], &last) || range.first < 0 || last < range.first) {
    return std::nullopt;
  }
  if (parts[2] != "*" && (!absl::SimpleAtoi(parts[2], &range.total) || range.total <= last)) {
    return std::nullopt;
  }
  return range;
}

// OutOfRange when the body is not the file from its start or from the offset on.
absl::StatusOr<Reply> ReplyOf(const http::Exchange& exchange, const std::string& url,
                              int64_t offset) {
  Reply reply = {
      exchange.code() == 206, exchange.bytes(), {ValidatorOf(exchange), exchange.bytes()}};
  if (reply.from_offset) {
    const std::string text = exchange.Header("Content-Range");
    const std::optional<ContentRange> range = ParseContentRange(text);
    if (!range.has_value() || range->first != offset) {
      return absl::OutOfRangeError(absl::StrCat(url, ": asked for the bytes from ", offset,
                                                " on, got Content-Range ", Quoted(text)));
    }
    reply.version.bytes = range->total;
  }
  return reply;
}

class CurlTransport : public Transport {
 public:
  CurlTransport(Clock& clock, absl::Duration stall) : client_(clock, {.stall = stall}) {}

  absl::Status Get(const std::string& url, int64_t offset, const std::string& validator,
                   const OnReply& on_reply, const OnBytes& on_bytes) override {
    http::Request request = {.url = url, .offset = offset, .redirects_max = kRedirectsMax};
    if (offset > 0 && !validator.empty()) {
      request.headers = {absl::StrCat("If-Range: ", validator)};
    }
    CONCUR_ASSIGN_OR_RETURN(const auto exchange, client_.Send(request));
    CONCUR_RETURN_IF_ERROR(StatusOfCode(exchange->code(), url));
    CONCUR_ASSIGN_OR_RETURN(const Reply reply, ReplyOf(*exchange, url, offset));
    CONCUR_RETURN_IF_ERROR(on_reply(reply));
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
