// SPDX-License-Identifier: Apache-2.0
// The style sheet and the script of the HTML report, taken from analysis/report/ by the build.
//
// Constants; thread-safe.
#ifndef CONCUR_ANALYSIS_REPORT_ASSETS_H_
#define CONCUR_ANALYSIS_REPORT_ASSETS_H_

namespace concur::analysis {

extern const char kReportCss[];
extern const char kReportJs[];

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_REPORT_ASSETS_H_
