// Tables for papers and pages: Markdown, LaTeX (booktabs) and an SVG heat map.
//
// Thread-safe (stateless). Like the forms of writers.h these show every missing, failed and pending
// score and every undefined pair. Names are escaped for their format; control characters become
// U+FFFD.
#ifndef CONCUR_ANALYSIS_MARKUP_H_
#define CONCUR_ANALYSIS_MARKUP_H_

#include <string>

#include "absl/strings/string_view.h"
#include "analysis/matrix.h"
#include "analysis/score_table.h"
#include "analysis/writers.h"

namespace concur::analysis {

std::string EscapeMarkdown(absl::string_view text);
std::string EscapeLatex(absl::string_view text);
std::string EscapeXml(absl::string_view text);

// A pipe table: the lower triangle; notes as paragraphs below it.
std::string MatrixMarkdown(const ConcurrenceMatrix& matrix, const TextOptions& options = {});
std::string ScoresMarkdown(const ScoreTable& table, const TextOptions& options = {});

// A tabular environment with booktabs rules; notes in its last rows. Columns are numbered, as
// benchmark names rarely fit across a page.
std::string MatrixLatex(const ConcurrenceMatrix& matrix, const TextOptions& options = {});
std::string ScoresLatex(const ScoreTable& table, const TextOptions& options = {});

// A self-contained SVG document: the lower triangle coloured from -1 over 0 to 1, each cell with
// its value and, with intervals, a line from low to high on the cell's own scale of -1 to 1. Text
// has a contrast of at least 4.5 : 1 to its cell.
std::string MatrixSvg(const ConcurrenceMatrix& matrix, const TextOptions& options = {});

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_MARKUP_H_
