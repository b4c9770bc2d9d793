// SPDX-License-Identifier: Apache-2.0
#include "coordinator/page/assets.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/digest.h"
#include "coordinator/page/bundle.h"

namespace concur::page {
namespace {

struct Asset {
  absl::string_view path;
  absl::string_view type;
  absl::string_view contents;
};

constexpr char kHtml[] = "text/html; charset=utf-8";
constexpr char kScript[] = "text/javascript; charset=utf-8";
constexpr char kCss[] = "text/css; charset=utf-8";

}  // namespace

http::HttpResponse MissingBundleResponse(absl::string_view problem) {
  const std::string reason = absl::StrReplaceAll(problem, {{"&", "&amp;"}, {"<", "&lt;"}});
  return {503, kHtml,
          absl::StrCat("<!doctype html><html lang=\"en\"><title>Concur</title>"
                       "<h1>Concur</h1><p>This coordinator was built without its page: ",
                       reason,
                       "</p><p>Everything else works; <code>concur top</code> and the other "
                       "commands show the same.</p></html>\n")};
}

http::HttpResponse AssetResponse(const http::HttpRequest& request, Site site) {
  std::vector<Asset> assets = {{"/page.css", kCss, kPageCss},
                               {"/icon.svg", "image/svg+xml", kIconSvg}};
  if (site == Site::kCoordinator) {
    assets.push_back({"/", kHtml, kIndexHtml});
    assets.push_back({"/page.js", kScript, kPageJs});
  } else {
    assets.push_back({"/", kHtml, kAnnotateHtml});
    assets.push_back({"/annotate.js", kScript, kAnnotateJs});
    assets.push_back({"/annotate.css", kCss, kAnnotateCss});
  }
  for (const Asset& asset : assets) {
    if (request.path != asset.path) {
      continue;
    }
    if (asset.path == "/" && kBundleProblem[0] != '\0') {
      return MissingBundleResponse(kBundleProblem);
    }
    const std::string tag =
        absl::StrCat("\"", Sha256Of(asset.contents).ToHex().substr(0, 32), "\"");
    if (request.if_none_match == tag) {
      return {304, std::string(asset.type), "", {{"ETag", tag}}};
    }
    return {200, std::string(asset.type), std::string(asset.contents), {{"ETag", tag}}};
  }
  return {404, "text/plain; charset=utf-8", "no such page\n"};
}

}  // namespace concur::page
