// SPDX-License-Identifier: Apache-2.0
#include "base/http/request_guard.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/http/listener.h"

namespace concur::http {
namespace {

// Without its port and brackets.
absl::string_view NameInHost(absl::string_view host) {
  if (absl::StartsWith(host, "[")) {
    const size_t end = host.find(']');
    return end == absl::string_view::npos ? host : host.substr(1, end - 1);
  }
  return host.substr(0, host.find(':'));
}

}  // namespace

absl::Status CheckHost(absl::string_view host) {
  const absl::string_view name = NameInHost(host);
  http::Endpoint endpoint;
  endpoint.host = std::string(name);
  if (absl::EqualsIgnoreCase(name, "localhost") || endpoint.IsLoopback()) {
    return absl::OkStatus();
  }
  return absl::PermissionDeniedError(
      "the page answers to localhost and 127.0.0.1 only; from another machine, forward its port: "
      "ssh -L");
}

absl::Status CheckOrigin(const HttpRequest& request) {
  const bool is_foreign_origin =
      !request.origin.empty() && request.origin != absl::StrCat("http://", request.host);
  // "none": typed in, or a bookmark.
  const bool is_foreign_site = !request.fetch_site.empty() && request.fetch_site != "same-origin" &&
                               request.fetch_site != "none";
  return is_foreign_origin || is_foreign_site
             ? absl::PermissionDeniedError("another site's page sent this request")
             : absl::OkStatus();
}

std::string CookieValue(absl::string_view cookies, absl::string_view name) {
  std::string found;
  for (absl::string_view pair : absl::StrSplit(cookies, ';')) {
    pair = absl::StripAsciiWhitespace(pair);
    const size_t equals = pair.find('=');
    if (equals != absl::string_view::npos && pair.substr(0, equals) == name) {
      if (!found.empty()) {
        return "";
      }
      found = std::string(pair.substr(equals + 1));
    }
  }
  return found;
}

std::vector<std::pair<std::string, std::string>> SecurityHeaders() {
  return {
      {"Content-Security-Policy",
       "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
       "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
      {"X-Content-Type-Options", "nosniff"},
      {"X-Frame-Options", "DENY"},
      {"Referrer-Policy", "no-referrer"},
      {"Cross-Origin-Opener-Policy", "same-origin"},
      {"Cross-Origin-Resource-Policy", "same-origin"},
      {"Cache-Control", "no-store"},
  };
}

HttpResponse Secured(HttpResponse response) {
  bool may_be_kept = false;
  for (const auto& [name, value] : response.headers) {
    may_be_kept = may_be_kept || name == "ETag";
  }
  for (auto& [name, value] : SecurityHeaders()) {
    if (name == "Cache-Control" && may_be_kept) {
      value = "no-cache";  // kept, and asked for again each time
    }
    response.headers.emplace_back(name, value);
  }
  return response;
}

}  // namespace concur::http
