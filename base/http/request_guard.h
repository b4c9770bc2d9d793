// SPDX-License-Identifier: Apache-2.0
// Which requests are refused before anything is done for them, by their headers alone: those that a
// foreign page made a browser send.
//
// A browser is the confused deputy of every page that it shows. Three headers tell: Host, which a
// foreign site has even after it rebound its name to the loopback device (DNS rebinding); Origin
// and Sec-Fetch-Site, which browsers set and pages cannot.
//
// Pure functions.
#ifndef CONCUR_BASE_HTTP_REQUEST_GUARD_H_
#define CONCUR_BASE_HTTP_REQUEST_GUARD_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/http/http_exchange.h"

namespace concur::http {

// PermissionDenied unless the Host header names this machine: an address of the loopback device or
// "localhost", with any port, since `ssh -L` may have changed it.
absl::Status CheckHost(absl::string_view host);

// PermissionDenied when a browser says that another site is behind the request.
absl::Status CheckOrigin(const HttpRequest& request);

// The cookie of that name; "" when there is none, or more than one.
std::string CookieValue(absl::string_view cookies, absl::string_view name);

// Headers of every response: no scripts but the page's own files, no frames, no guessing of types,
// nothing kept by caches.
std::vector<std::pair<std::string, std::string>> SecurityHeaders();

// `response` with these headers; one with an ETag may be kept, and is asked for again each time.
HttpResponse Secured(HttpResponse response);

}  // namespace concur::http

#endif  // CONCUR_BASE_HTTP_REQUEST_GUARD_H_
