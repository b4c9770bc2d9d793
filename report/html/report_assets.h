// SPDX-License-Identifier: Apache-2.0
// The style sheet and the script of the HTML report, taken from report/assets/ by the build.
//
// Constants; thread-safe.
#ifndef CONCUR_REPORT_HTML_REPORT_ASSETS_H_
#define CONCUR_REPORT_HTML_REPORT_ASSETS_H_

namespace concur::analysis {

extern const char kReportCss[];
extern const char kReportJs[];

}  // namespace concur::analysis

#endif  // CONCUR_REPORT_HTML_REPORT_ASSETS_H_
