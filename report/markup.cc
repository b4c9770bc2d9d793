// SPDX-License-Identifier: Apache-2.0
#include "report/markup.h"

#include <string>

#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "report/text.h"

namespace concur::analysis {

std::string EscapeMarkdown(absl::string_view text) {
  return absl::StrReplaceAll(Printable(text), {{"\\", "\\\\"},
                                               {"|", "\\|"},
                                               {"*", "\\*"},
                                               {"_", "\\_"},
                                               {"`", "\\`"},
                                               {"[", "\\["},
                                               {"<", "&lt;"},
                                               {"&", "&amp;"}});
}

std::string EscapeLatex(absl::string_view text) {
  return absl::StrReplaceAll(Printable(text), {{"\\", "\\textbackslash{}"},
                                               {"&", "\\&"},
                                               {"%", "\\%"},
                                               {"$", "\\$"},
                                               {"#", "\\#"},
                                               {"_", "\\_"},
                                               {"{", "\\{"},
                                               {"}", "\\}"},
                                               {"~", "\\textasciitilde{}"},
                                               {"^", "\\textasciicircum{}"},
                                               {"±", "$\\pm$"},
                                               {"—", "---"},
                                               {"–", "--"},
                                               {"→", "$\\rightarrow$"},
                                               {"←", "$\\leftarrow$"}});
}

std::string EscapeXml(absl::string_view text) {
  return absl::StrReplaceAll(
      Printable(text),
      {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&#39;"}});
}

}  // namespace concur::analysis
