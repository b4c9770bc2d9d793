// SPDX-License-Identifier: Apache-2.0
// The page's files as responses.
//
// Immutable; thread-safe.
#ifndef CONCUR_COORDINATOR_PAGE_ASSETS_H_
#define CONCUR_COORDINATOR_PAGE_ASSETS_H_

#include "absl/strings/string_view.h"
#include "base/http/http_exchange.h"

namespace concur::page {

// Whose page it is.
enum class Site { kCoordinator, kAnnotation };

// For "/", "/icon.svg", "/page.css" and the site's own files: "/page.js", or "/annotate.js" and
// "/annotate.css"; 404 for other paths; 304 when the browser has the file. Without a script "/"
// says what is missing.
http::HttpResponse AssetResponse(const http::HttpRequest& request, Site site = Site::kCoordinator);

// The page without its script, which says why that is missing.
http::HttpResponse MissingBundleResponse(absl::string_view problem);

}  // namespace concur::page

#endif  // CONCUR_COORDINATOR_PAGE_ASSETS_H_
