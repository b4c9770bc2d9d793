// SPDX-License-Identifier: Apache-2.0
// Tables and cells written in LaTeX, as plain text. Thread-safe (stateless).
#ifndef CONCUR_BASE_TABLE_LATEX_TABLE_H_
#define CONCUR_BASE_TABLE_LATEX_TABLE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/csv.h"

namespace concur {

// True if a name or a cell has a command with an argument, "\pm", an escaped sign or mathematics.
bool IsLatex(absl::string_view text);

// `text` without commands: "\textbf{71.2}" is "71.2", "$71.2_{\pm 0.3}$" is "71.2 (± 0.3)". Rules,
// citations and colors are nothing.
std::string PlainLatex(absl::string_view text);

// The rows of the first tabular or longtable, in plain text, if there is one; a cell over several
// columns is followed by empty ones. InvalidArgument, as `FILE:LINE: …`, for a second table, and
// one without an end.
bool HasLatexTable(absl::string_view text);
absl::StatusOr<std::vector<CsvRecord>> ParseLatexTable(absl::string_view text,
                                                       absl::string_view file);

}  // namespace concur

#endif  // CONCUR_BASE_TABLE_LATEX_TABLE_H_
