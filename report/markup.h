// SPDX-License-Identifier: Apache-2.0
// Text escaped for Markdown, LaTeX, and XML or HTML; control characters become U+FFFD.
//
// Thread-safe (stateless).
#ifndef CONCUR_REPORT_MARKUP_H_
#define CONCUR_REPORT_MARKUP_H_

#include <string>

#include "absl/strings/string_view.h"

namespace concur::analysis {

std::string EscapeMarkdown(absl::string_view text);
std::string EscapeLatex(absl::string_view text);
std::string EscapeXml(absl::string_view text);

}  // namespace concur::analysis

#endif  // CONCUR_REPORT_MARKUP_H_
