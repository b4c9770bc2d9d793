// SPDX-License-Identifier: Apache-2.0
// The page's files, made from coordinator/page/web/ by the build (scripts/page).
//
// Constants; thread-safe.
#ifndef CONCUR_COORDINATOR_PAGE_BUNDLE_H_
#define CONCUR_COORDINATOR_PAGE_BUNDLE_H_

namespace concur::page {

extern const char kIndexHtml[];
extern const char kPageJs[];
extern const char kPageCss[];
extern const char kIconSvg[];
extern const char kAnnotateHtml[];
extern const char kAnnotateJs[];
extern const char kAnnotateCss[];
// Why there is no script; "" when there is one.
extern const char kBundleProblem[];

}  // namespace concur::page

#endif  // CONCUR_COORDINATOR_PAGE_BUNDLE_H_
